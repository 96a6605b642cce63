// SPDX-License-Identifier: Apache-2.0
/* Folded stacks: what a flame graph is made of. */
#include "pprof_directory.h"

#include "base/base.h"
#include "profile/profile.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct making {
	struct profcol_builder *builder;
	uint32_t frame_types[2]; /* attribute lists: native, kernel */
};

static struct making begin(const char *executable)
{
	struct making making = { .builder = profcol_builder_create() };
	static const char *const types[] = { "native", "kernel" };
	uint32_t attribute;

	for (size_t i = 0; i < 2; i++) {
		attribute = profcol_builder_attribute_string(making.builder, "profile.frame.type",
							     types[i], strlen(types[i]));
		making.frame_types[i] =
			profcol_builder_attribute_list(making.builder, &attribute, 1);
	}
	attribute = profcol_builder_attribute_string(making.builder, "process.executable.name",
						     executable, strlen(executable));
	profcol_builder_add_resource(
		making.builder, &(struct profcol_resource){
					.attributes = profcol_builder_attribute_list(
						making.builder, &attribute, executable[0] != 0) });
	profcol_builder_add_scope(making.builder, &(struct profcol_scope){ 0 });
	return making;
}

static void add_profile(struct making *making, const char *type, const char *unit)
{
	profcol_builder_add_profile(
		making->builder,
		&(struct profcol_profile){
			.sample_type = profcol_builder_cstring(making->builder, type),
			.sample_unit = profcol_builder_cstring(making->builder, unit),
		});
}

/* "name" at @address of /lib/x/libc.so.6; no name when it is empty. */
static uint32_t location(struct making *making, const char *name, uint64_t address, bool kernel)
{
	struct profcol_builder *builder = making->builder;
	const char *path = "/lib/x/libc.so.6";
	struct profcol_line line = {
		.function = profcol_builder_function(
			builder, &(struct profcol_function){ .name = profcol_builder_cstring(
								     builder, name) }),
	};

	return profcol_builder_location(
		builder, &(struct profcol_location){
				 .mapping = profcol_builder_mapping(
					 builder,
					 &(struct profcol_mapping){
						 .memory_limit = 1 << 20,
						 .filename = profcol_builder_cstring(builder, path),
					 }),
				 .attributes = making->frame_types[kernel],
				 .address = address,
				 .lines = &line,
				 .line_count = name[0] != '\0',
			 });
}

static void add_sample(struct making *making, const uint32_t *locations, uint32_t count,
		       int64_t value)
{
	uint32_t stack = profcol_builder_stack(making->builder, locations, count);

	profcol_builder_add_sample(making->builder, &(struct profcol_sample){
							    .stack = stack,
							    .value_count = 1,
							    .values = &value,
						    });
}

static void assert_folded(struct making *making, const char *expected)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	CLEANUP_FREE uint8_t *bytes = NULL;
	CLEANUP_FREE char *text = NULL;
	size_t length;

	assert_no_error(profcol_builder_seal(making->builder, &batch));
	assert_no_error(folded_encode(batch, &bytes, &length));
	text = strndup((char *)bytes, length);
	assert_string_equal(text, expected);
}

static void test_frames_go_from_the_root_to_the_leaf(void **state)
{
	struct making making = begin("shop");

	(void)state;
	add_profile(&making, "samples", "count");
	add_sample(&making,
		   (uint32_t[]){ location(&making, "vfs_read", 1, true),
				 location(&making, "serve", 2, false),
				 location(&making, "main", 3, false) },
		   3, 12);
	assert_folded(&making, "shop;main;serve;vfs_read_[k] 12\n");
}

/* Where there is no function, but something that stands for it. */
static void test_functions_without_a_name_are_their_place(void **state)
{
	static const char place[] = "libc.so.6+0x8a2c0";
	struct making making = begin("shop");
	struct profcol_location unnamed = { .address = 7 };
	uint32_t attributes[2], labelled;

	(void)state;
	attributes[0] =
		profcol_builder_attribute_string(making.builder, "profile.frame.type", "native", 6);
	attributes[1] = profcol_builder_attribute_string(making.builder, PROFCOL_FRAME_LABEL, place,
							 sizeof(place) - 1);
	unnamed.attributes = profcol_builder_attribute_list(making.builder, attributes, 2);
	labelled = profcol_builder_location(making.builder, &unnamed);
	add_profile(&making, "samples", "count");
	add_sample(&making, (uint32_t[]){ labelled, location(&making, "", 3, false) }, 2, 5);
	assert_folded(&making, "shop;[libc.so.6];libc.so.6+0x8a2c0 5\n");
}

static void test_equal_stacks_are_one_line(void **state)
{
	struct making making = begin("shop");

	(void)state;
	add_profile(&making, "samples", "count");
	// The same by name, at other addresses.
	add_sample(&making, (uint32_t[]){ location(&making, "b", 1, false) }, 1, 2);
	add_sample(&making, (uint32_t[]){ location(&making, "a", 5, false) }, 1, 1);
	add_sample(&making, (uint32_t[]){ location(&making, "b", 9, false) }, 1, 3);
	assert_folded(&making, "shop;a 1\nshop;b 5\n");
}

static void test_names_cannot_break_a_line(void **state)
{
	struct making making = begin("a;b\nc");

	(void)state;
	add_profile(&making, "samples", "count");
	add_sample(&making,
		   (uint32_t[]){ location(&making, "thread 7", 1, false),
				 location(&making, "<[u8; 4]>::f\r", 2, false),
				 location(&making, "", 3, false) },
		   3, 1);
	assert_folded(&making, "a:b?c;[libc.so.6];<[u8: 4]>::f?;thread_7 1\n");
}

static void test_what_is_counted_is_kept_apart(void **state)
{
	struct making making = begin("");

	(void)state;
	add_profile(&making, "samples", "count");
	add_sample(&making, (uint32_t[]){ location(&making, "f", 1, false) }, 1, 2);
	add_profile(&making, "off_cpu", "nanoseconds");
	add_sample(&making, (uint32_t[]){ location(&making, "f", 1, false) }, 1, 700);
	assert_folded(&making, "off_cpu nanoseconds;[unknown];f 700\n"
			       "samples count;[unknown];f 2\n");
}

static void test_the_exporter_writes_it(void **state)
{
	struct pprof_directory directory;
	CLEANUP_FREE char *text = NULL;
	char name[256];
	size_t length;

	(void)state;
	pprof_directory_init(&directory);
	fake_host_set_int(&directory.fake, "format", 1);
	fake_host_start(&directory.fake);
	fake_host_consume(&directory.fake, test_batch(1, 2, 1000));
	fake_host_shutdown(&directory.fake);
	pprof_directory_first(&directory, ".folded", name);
	assert_int_equal(file_read(AT_FDCWD, pprof_directory_file(&directory, name), 1 << 20, &text,
				   &length),
			 0);
	assert_int_equal(text[length - 1], '\n');
	assert_non_null(strstr(text, " 1\n"));
	pprof_directory_deinit(&directory);
}

/* Its batches are joined meanwhile, and still make one file. */
static void test_a_whole_run_is_one_file(void **state)
{
	enum { BATCHES = 60, SAMPLES = 2000 };
	struct pprof_directory directory;

	(void)state;
	pprof_directory_init(&directory);
	fake_host_set_int(&directory.fake, "interval", 0);
	fake_host_start(&directory.fake);
	for (uint32_t i = 0; i < BATCHES; i++)
		fake_host_consume(&directory.fake, test_batch(i % 3, SAMPLES, 1000 + i));
	assert_int_equal(pprof_directory_count(&directory, ".pb.gz"), 0);
	fake_host_shutdown(&directory.fake);
	assert_int_equal(pprof_directory_count(&directory, ".pb.gz"), 1);
	assert_int_equal(pprof_directory_samples(&directory), BATCHES * SAMPLES);
	assert_int_equal(directory.fake.exported, BATCHES * SAMPLES);
	assert_int_equal(directory.fake.lost, 0);
	pprof_directory_deinit(&directory);
}

static void test_a_whole_run_keeps_its_beginning(void **state)
{
	struct pprof_directory directory;

	(void)state;
	pprof_directory_init(&directory);
	fake_host_set_int(&directory.fake, "interval", 0);
	fake_host_set_int(&directory.fake, "max_pending_bytes", 1 << 20);
	fake_host_start(&directory.fake);
	for (uint32_t i = 0; i < 20; i++)
		fake_host_consume(&directory.fake, test_batch(i, 1000, 1000 + i));
	fake_host_shutdown(&directory.fake);
	assert_int_equal(pprof_directory_count(&directory, ".pb.gz"), 1);
	assert_true(directory.fake.exported >= 1000);
	assert_int_equal(directory.fake.exported + directory.fake.lost, 20000);
	assert_int_equal(fake_host_lost_by(&directory.fake, "pending_full"), directory.fake.lost);
	assert_int_equal(pprof_directory_samples(&directory), directory.fake.exported);
	assert_int_equal(fake_host_log_count(&directory.fake, "dropping the newest"), 1);
	pprof_directory_deinit(&directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions_without_a_name_are_their_place),
		cmocka_unit_test(test_frames_go_from_the_root_to_the_leaf),
		cmocka_unit_test(test_equal_stacks_are_one_line),
		cmocka_unit_test(test_names_cannot_break_a_line),
		cmocka_unit_test(test_what_is_counted_is_kept_apart),
		cmocka_unit_test(test_the_exporter_writes_it),
		cmocka_unit_test(test_a_whole_run_is_one_file),
		cmocka_unit_test(test_a_whole_run_keeps_its_beginning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
