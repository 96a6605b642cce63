// SPDX-License-Identifier: Apache-2.0
/* The debug exporter, driven through its descriptor. */
#include "fake_host.h"

#include "base/base.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

extern const struct profcol_component profcol_exporter_debug;

enum { BASIC, NORMAL, DETAILED };

/* The exporter counts lines by the second of a clock that a test may stop. */
static uint64_t stands_at_ns;

uint64_t __real_clock_monotonic_ns(void);
uint64_t __wrap_clock_monotonic_ns(void);

uint64_t __wrap_clock_monotonic_ns(void)
{
	return stands_at_ns ? stands_at_ns : __real_clock_monotonic_ns();
}

struct output {
	struct fake_host fake;
	char directory[32];
	char path[64];
	const char *paths[1];
	char *text; /* after output_read() */
};

static void output_init(struct output *output, int64_t verbosity, int64_t top)
{
	*output = (struct output){ .directory = "/tmp/debug_test.XXXXXX" };
	assert_non_null(mkdtemp(output->directory));
	snprintf(output->path, sizeof(output->path), "%s/out", output->directory);
	output->paths[0] = output->path;
	fake_host_init(&output->fake, &profcol_exporter_debug);
	fake_host_set_int(&output->fake, "verbosity", verbosity);
	fake_host_set_int(&output->fake, "top", top);
	fake_host_set_int(&output->fake, "sampling_initial", 2);
	fake_host_set_int(&output->fake, "sampling_thereafter", 1);
	fake_host_set_int(&output->fake, "use_internal_logger", false);
	fake_host_set_list(&output->fake, "output_paths", output->paths, 1);
}

static void output_read(struct output *output)
{
	free(output->text);
	assert_int_equal(file_read(AT_FDCWD, output->path, 64 << 20, &output->text, NULL), 0);
}

static void output_deinit(struct output *output)
{
	fake_host_shutdown(&output->fake);
	fake_host_deinit(&output->fake);
	unlink(output->path);
	rmdir(output->directory);
	free(output->text);
}

static uint32_t add_function(struct profcol_builder *builder, const char *name, const char *file,
			     uint64_t address)
{
	struct profcol_function function = { .name = profcol_builder_cstring(builder, name) };
	struct profcol_line line = { .function = profcol_builder_function(builder, &function) };
	struct profcol_mapping mapping = {
		.memory_start = 0x1000,
		.memory_limit = 0x2000,
		.filename = profcol_builder_cstring(builder, file),
	};
	struct profcol_location location = {
		.mapping = profcol_builder_mapping(builder, &mapping),
		.address = address,
		.lines = &line,
		.line_count = 1,
	};

	return profcol_builder_location(builder, &location);
}

static void add_profile(struct profcol_builder *builder, const char *type, const char *unit)
{
	struct profcol_profile profile = {
		.sample_type = profcol_builder_cstring(builder, type),
		.sample_unit = profcol_builder_cstring(builder, unit),
		.period_type = profcol_builder_cstring(builder, "cpu"),
		.period_unit = profcol_builder_cstring(builder, "nanoseconds"),
		.period = 50000000,
		.time_unix_ns = UINT64_C(1581452772000000321),
		.duration_ns = UINT64_C(5000000000),
		.profile_id = { 0x01, 0x02, 0x03, 0x0a, [15] = 0xff },
	};

	profcol_builder_add_profile(builder, &profile);
}

static void add_tree(struct profcol_builder *builder)
{
	uint32_t attributes[2] = {
		profcol_builder_attribute_string(builder, "service.name", "shop", 4),
		profcol_builder_attribute_int(builder, "process.pid", 4711),
	};
	struct profcol_resource resource = {
		.attributes = profcol_builder_attribute_list(builder, attributes, 2),
		.schema_url = profcol_builder_cstring(builder, "https://example.com/resource"),
	};
	struct profcol_scope scope = {
		.name = profcol_builder_cstring(builder, "profcol"),
		.version = profcol_builder_cstring(builder, "1.2.3"),
	};

	profcol_builder_add_resource(builder, &resource);
	profcol_builder_add_scope(builder, &scope);
}

static void add_sample(struct profcol_builder *builder, const uint32_t *locations, uint32_t count,
		       int64_t value)
{
	struct profcol_sample sample = {
		.stack = profcol_builder_stack(builder, locations, count),
		.values = &value,
		.value_count = 1,
	};

	profcol_builder_add_sample(builder, &sample);
}

static struct profcol_batch *seal(struct profcol_builder *builder)
{
	struct profcol_batch *batch = NULL;

	assert_no_error(profcol_builder_seal(builder, &batch));
	return batch;
}

/* One resource, one profile of two samples; one with timestamps, a link and an attribute. */
static struct profcol_batch *small_batch(void)
{
	struct profcol_builder *builder = profcol_builder_create();
	uint32_t locations[2], attribute;
	uint64_t timestamps[2] = { 1581452772000000321, 1581452773000000000 };
	struct profcol_link link = { .trace_id = { 0xaa, 0xbb }, .span_id = { 0xcc } };

	add_tree(builder);
	add_profile(builder, "samples", "count");
	locations[0] = add_function(builder, "leaf", "/usr/lib/libc.so.6", 0x1234);
	locations[1] = add_function(builder, "main", "/usr/bin/shop", 0x40);
	attribute = profcol_builder_attribute_string(builder, "thread.name", "worker", 6);
	add_sample(builder, locations, 2, 3);
	profcol_builder_add_sample(
		builder,
		&(struct profcol_sample){
			.stack = profcol_builder_stack(builder, locations + 1, 1),
			.attributes = profcol_builder_attribute_list(builder, &attribute, 1),
			.link = profcol_builder_link(builder, &link),
			.timestamps_unix_ns = timestamps,
			.timestamp_count = 2,
		});
	return seal(builder);
}

/* Compare with tests/unit/exporters/golden/@name; PROFCOL_UPDATE_GOLDEN=1 writes it instead. */
static void assert_golden(const char *text, const char *name)
{
	CLEANUP_FREE char *expected = NULL;
	char path[512];

	snprintf(path, sizeof(path), "%s/tests/unit/exporters/golden/%s", PROFCOL_SOURCE_DIR, name);
	if (getenv("PROFCOL_UPDATE_GOLDEN")) {
		CLEANUP_FILE FILE *file = fopen(path, "w");

		assert_non_null(file);
		assert_int_equal(fputs(text, file) >= 0, 1);
		return;
	}
	assert_int_equal(file_read(AT_FDCWD, path, 1 << 20, &expected, NULL), 0);
	assert_string_equal(text, expected);
}

static void check_golden(int64_t verbosity, int64_t top, const char *name)
{
	struct output output;

	output_init(&output, verbosity, top);
	fake_host_start(&output.fake);
	fake_host_consume(&output.fake, small_batch());
	output_read(&output);
	assert_golden(output.text, name);
	assert_int_equal(output.fake.exported, 5); // three samples, of which one counts 3
	assert_int_equal(output.fake.lost, 0);
	output_deinit(&output);
}

static void test_basic_is_one_line(void **state)
{
	(void)state;
	check_golden(BASIC, 0, "debug_basic.txt");
}

static void test_normal_has_the_collectors_lines(void **state)
{
	(void)state;
	check_golden(NORMAL, 0, "debug_normal.txt");
}

static void test_detailed_has_the_collectors_layout(void **state)
{
	(void)state;
	check_golden(DETAILED, 0, "debug_detailed.txt");
}

static void test_log_gets_a_record_for_each_text(void **state)
{
	struct output output;

	(void)state;
	output_init(&output, NORMAL, 0);
	fake_host_set_int(&output.fake, "use_internal_logger", true);
	fake_host_set_list(&output.fake, "output_paths", NULL, 0);
	fake_host_start(&output.fake);
	fake_host_consume(&output.fake, small_batch());
	assert_golden(output.fake.log, "debug_normal_log.txt");
	output_deinit(&output);
}

/*
 * recurse > recurse > leaf 6, leaf alone 1, kernel > main 2, nothing known 1: the
 * recursion counts once, the same name in two programs stays two functions.
 */
static struct profcol_batch *hot_batch(void)
{
	struct profcol_builder *builder = profcol_builder_create();
	uint32_t leaf, recurse, again, other_leaf, kernel, main_function, stack[3];
	struct profcol_location bare = { .address = 0x99 };

	add_tree(builder);
	add_profile(builder, "samples", "count");
	leaf = add_function(builder, "leaf", "/usr/bin/shop", 1);
	recurse = add_function(builder, "recurse", "/usr/bin/shop", 2);
	again = add_function(builder, "recurse", "/usr/bin/shop", 3);
	other_leaf = add_function(builder, "leaf", "/usr/bin/other", 1);
	kernel = add_function(builder, "do_syscall_64", "[kernel.kallsyms]", 9);
	main_function = add_function(builder, "main", "/usr/bin/shop", 4);
	memcpy(stack, (uint32_t[]){ leaf, recurse, again }, sizeof(stack));
	add_sample(builder, stack, 3, 6);
	add_sample(builder, &other_leaf, 1, 1);
	memcpy(stack, (uint32_t[]){ kernel, main_function }, 2 * sizeof(uint32_t));
	add_sample(builder, stack, 2, 2);
	bare.mapping = 0;
	stack[0] = profcol_builder_location(builder, &bare);
	add_sample(builder, stack, 1, 1);
	add_profile(builder, "off_cpu", "nanoseconds");
	add_sample(builder, &main_function, 1, 123456789);
	return seal(builder);
}

static void test_top_counts_recursion_once(void **state)
{
	struct output output;

	(void)state;
	output_init(&output, BASIC, 10);
	fake_host_start(&output.fake);
	fake_host_consume(&output.fake, hot_batch());
	output_read(&output);
	assert_golden(output.text, "debug_top.txt");
	output_deinit(&output);
}

static void test_top_lists_no_more_than_asked(void **state)
{
	struct output output;

	(void)state;
	output_init(&output, BASIC, 1);
	fake_host_start(&output.fake);
	fake_host_consume(&output.fake, hot_batch());
	output_read(&output);
	assert_non_null(strstr(output.text, "60.00%  leaf (shop)\n"));
	assert_null(strstr(output.text, "do_syscall_64"));
	output_deinit(&output);
}

/* A name with an escape sequence, a line break, C1 controls and broken UTF-8. */
static void test_hostile_names_cannot_drive_the_terminal(void **state)
{
	static const char hostile[] = "a\x1b[31m\nb\xc2\x9b"
				      "31m\xff\xc3(\xc3\xa9\tend\x7f";
	struct profcol_builder *builder = profcol_builder_create();
	struct output output;
	uint32_t location;

	(void)state;
	add_tree(builder);
	add_profile(builder, "samples", "count");
	location = add_function(builder, hostile, "/x/\x1b]0;title\a", 1);
	add_sample(builder, &location, 1, 1);
	output_init(&output, DETAILED, 5);
	fake_host_start(&output.fake);
	fake_host_consume(&output.fake, seal(builder));
	output_read(&output);
	for (const char *at = output.text; *at; at++)
		assert_true((unsigned char)*at >= 0x20 || *at == '\n');
	assert_non_null(strstr(output.text,
			       "a\\x1b[31m\\nb\\xc2\\x9b31m\\xff\\xc3(\xc3\xa9\\tend\\x7f "
			       "(\\x1b]0;title\\x07)\n"));
	output_deinit(&output);
}

static void test_long_strings_are_cut(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	char name[5001];
	struct output output;
	uint32_t location;

	(void)state;
	memset(name, 'x', 5000);
	name[5000] = '\0';
	add_tree(builder);
	add_profile(builder, "samples", "count");
	location = add_function(builder, name, "/x", 1);
	add_sample(builder, &location, 1, 1);
	output_init(&output, BASIC, 5);
	fake_host_start(&output.fake);
	fake_host_consume(&output.fake, seal(builder));
	output_read(&output);
	assert_non_null(strstr(output.text, "x... (3976 more bytes) (x)\n"));
	assert_true(strlen(output.text) < 2000);
	output_deinit(&output);
}

static void test_sampling_prints_every_third_after_two(void **state)
{
	struct output output;
	unsigned int lines = 0;

	(void)state;
	output_init(&output, BASIC, 0);
	fake_host_set_int(&output.fake, "sampling_thereafter", 3);
	fake_host_start(&output.fake);
	stands_at_ns = clock_monotonic_ns(); // all within one second
	for (int i = 0; i < 10; i++)
		fake_host_consume(&output.fake, small_batch());
	stands_at_ns = 0;
	output_read(&output);
	for (const char *at = output.text; (at = strstr(at, "Profiles {")); at++)
		lines++;
	assert_int_equal(lines, 2 + 2);
	assert_int_equal(output.fake.exported, 10 * 5); // not printed, but neither lost
	output_deinit(&output);
}

static void test_paths_need_the_logger_off(void **state)
{
	struct output output;
	struct profcol_error *error;

	(void)state;
	output_init(&output, BASIC, 0);
	fake_host_set_int(&output.fake, "use_internal_logger", true);
	error = fake_host_try_start(&output.fake);
	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_CONFIG);
	assert_string_equal(profcol_error_message(error),
			    "output_paths is not supported when use_internal_logger is true; set "
			    "use_internal_logger to false");
	profcol_error_destroy(error);
	output_deinit(&output);
}

static void test_path_that_cannot_be_opened_is_an_error_at_start(void **state)
{
	struct output output;
	struct profcol_error *error;

	(void)state;
	output_init(&output, BASIC, 0);
	output.paths[0] = "/nowhere/at/all";
	error = fake_host_try_start(&output.fake);
	assert_non_null(error);
	assert_non_null(strstr(profcol_error_message(error),
			       "cannot open '/nowhere/at/all': No such file or directory; "));
	profcol_error_destroy(error);
	output_deinit(&output);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_basic_is_one_line),
		cmocka_unit_test(test_normal_has_the_collectors_lines),
		cmocka_unit_test(test_detailed_has_the_collectors_layout),
		cmocka_unit_test(test_log_gets_a_record_for_each_text),
		cmocka_unit_test(test_top_counts_recursion_once),
		cmocka_unit_test(test_top_lists_no_more_than_asked),
		cmocka_unit_test(test_hostile_names_cannot_drive_the_terminal),
		cmocka_unit_test(test_long_strings_are_cut),
		cmocka_unit_test(test_sampling_prints_every_third_after_two),
		cmocka_unit_test(test_paths_need_the_logger_off),
		cmocka_unit_test(test_path_that_cannot_be_opened_is_an_error_at_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
