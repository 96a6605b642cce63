// SPDX-License-Identifier: Apache-2.0
/*
 * From a capture to a batch, with a process, a file and a kernel function that
 * the test makes up.
 */
#include "report.h"

#include "sample_record.h"

#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

enum { PROGRAM_START = 0x400000, PROGRAM_LIMIT = 0x500000, PROGRAM_FILE = 3 };
#define KERNEL_START 0xffffffff81000000ull

/* ---- the made-up processes and symbols ---- */

bool processes_describe(struct processes *processes, const struct process_key *key,
			uint64_t time_ns, struct process_description *ret)
{
	(void)processes;
	(void)time_ns;
	*ret = (struct process_description){
		.executable = "/opt/b\xff\x62/server",
		.container_id = key->pid == 7 ? "c0ffee" : "",
	};
	return key->pid != 9;
}

bool processes_find_mapping(struct processes *processes, const struct process_key *key,
			    uint64_t time_ns, uint64_t address, struct process_mapping *ret)
{
	(void)processes;
	(void)key;
	(void)time_ns;
	if (address >= PROGRAM_LIMIT)
		return false;
	*ret = (struct process_mapping){
		.start = PROGRAM_START,
		.limit = PROGRAM_LIMIT,
		.file_offset = 0x1000,
		.file = PROGRAM_FILE,
		.path = "/opt/server",
	};
	return true;
}

const char *processes_file_path(struct processes *processes, uint32_t file)
{
	(void)processes;
	assert_int_equal(file, PROGRAM_FILE);
	return "/opt/b\xff\x62/library.so";
}

void symbols_lookup(struct symbols *symbols, struct symbol_query *queries, size_t count,
		    uint64_t deadline_ns)
{
	(void)symbols;
	(void)deadline_ns;
	for (size_t i = 0; i < count; i++) {
		queries[i].elf_address = queries[i].file_offset + 0x10000;
		if (queries[i].file_offset < 0x2000) {
			queries[i].name = "serve";
			queries[i].system_name = "_Z5servev";
		}
	}
}

bool symbols_file(struct symbols *symbols, uint32_t file, struct symbol_file *ret)
{
	(void)symbols;
	(void)file;
	*ret = (struct symbol_file){ .build_id_gnu = "abcd", .build_id_go = "", .htlhash = "ef" };
	return true;
}

bool symbols_file_segment(struct symbols *symbols, uint32_t file, uint64_t file_offset,
			  uint64_t *elf_start_ret, uint64_t *elf_limit_ret,
			  uint64_t *segment_offset_ret)
{
	(void)symbols;
	(void)file;
	(void)file_offset;
	*elf_start_ret = 0x11000;
	*elf_limit_ret = 0x111000;
	*segment_offset_ret = 0x1000;
	return true;
}

bool symbols_kernel(struct symbols *symbols, uint64_t address, struct kernel_symbol *ret)
{
	(void)symbols;
	*ret = (struct kernel_symbol){
		.name = "do_syscall_64",
		.module = "vmlinux",
		.module_start = KERNEL_START,
		.build_id_gnu = "99",
	};
	return address >= KERNEL_START;
}

/* ---- a report over them ---- */

static struct capture capture;
static struct profcol_host host = { .size = sizeof(host), .version = "0.0.0" };
static const struct profiling_config config = { .samples_per_second = 20 };

static int set_up(void **state)
{
	(void)state;
	capture_init(&capture, 1 << 20);
	capture_clear(&capture, 1000);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	capture_deinit(&capture);
	return 0;
}

static void append(const struct sample_record *record)
{
	uint32_t process;

	assert_int_equal(capture_append(&capture, record, sample_record_length(record), &process),
			 0);
}

static struct profcol_batch *build(void)
{
	struct report *report = report_create(&host, &config, NULL, NULL);
	struct profcol_batch *batch = NULL;
	struct profcol_error *error = report_build(report, &capture, 2000, 0, &batch);

	if (error)
		fail_msg("unexpected: %s", profcol_error_message(error));
	report_destroy(report);
	return batch;
}

static char *print(const struct profcol_batch *batch)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	assert_null(profile_print(batch, stream));
	fclose(stream);
	return text;
}

static void expect_text(const char *text, const char *wanted)
{
	if (!strstr(text, wanted))
		fail_msg("'%s' is missing in:\n%s", wanted, text);
}

static void a_sample_carries_names_and_whose_it_is(void **state)
{
	static const __u64 frames[] = { KERNEL_START + 0x10, 0x400800, 0x401801, 0x600000 };
	struct sample_record record = sample_record_make(7, 8, 1500, frames, 1, 3);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	CLEANUP_FREE char *text = NULL;

	(void)state;
	append(&record);
	batch = build();
	text = print(batch);
	expect_text(text, "do_syscall_64");
	expect_text(text, "serve");
	expect_text(text, "/opt/b?b/library.so");
	expect_text(text, "c0ffee");
	expect_text(text, "server");
	expect_text(text, "worker");
	// Paths are bytes; what leaves is UTF-8.
	expect_text(text, "/opt/b?b/server");
	assert_int_equal(profcol_batch_events(batch), 1);
}

static void a_stack_is_cut_at_a_return_address_that_is_none_and_says_so(void **state)
{
	// 0x600000 is mapped nowhere; what a stray frame pointer finds after it is worth nothing.
	static const __u64 frames[] = { 0x400800, 0x400901, 0x600001, 0x400a01 };
	static const __u64 unmapped_leaf[] = { 0x600000, 0x400901 };
	struct sample_record record = sample_record_make(7, 8, 1500, frames, 0, 4);
	struct sample_record leaf = sample_record_make(7, 9, 1600, unmapped_leaf, 0, 2);
	struct sample_record unknown = sample_record_make(9, 9, 1700, frames, 0, 4);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	CLEANUP_FREE char *text = NULL;
	uint32_t count;

	(void)state;
	append(&record);
	append(&leaf);
	append(&unknown);
	batch = build();
	text = print(batch);
	expect_text(text, "[broken frame pointers]");
	profcol_batch_stack(batch, profcol_batch_sample(batch, 0).stack, &count);
	assert_int_equal(count, 3);
	// Where execution stands is code, known or not.
	profcol_batch_stack(batch, profcol_batch_sample(batch, 1).stack, &count);
	assert_int_equal(count, 2);
	// Of a process nobody knows, nothing can be said.
	profcol_batch_stack(batch, profcol_batch_sample(batch, 2).stack, &count);
	assert_int_equal(count, 4);
}

static void addresses_are_those_of_the_file_not_of_the_process(void **state)
{
	static const __u64 frames[] = { KERNEL_START + 0x10, 0x400800 };
	struct sample_record record = sample_record_make(7, 8, 1500, frames, 1, 1);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_location location;
	const uint32_t *stack;
	uint32_t count;

	(void)state;
	append(&record);
	batch = build();
	stack = profcol_batch_stack(batch, profcol_batch_sample(batch, 0).stack, &count);
	assert_int_equal(count, 2);
	location = profcol_batch_location(batch, stack[0]);
	assert_int_equal(location.address, 0x10);
	location = profcol_batch_location(batch, stack[1]);
	assert_int_equal(location.address, 0x800 + 0x1000 + 0x10000);
	assert_int_equal(profcol_batch_mapping(batch, location.mapping).memory_start, 0x11000);
}

static void equal_samples_become_one_with_their_times_in_order(void **state)
{
	static const __u64 frames[] = { 0x400800 };
	struct sample_record record = sample_record_make(7, 8, 1500, frames, 0, 1);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_sample sample;
	struct profcol_profile profile;
	struct profcol_range range;

	(void)state;
	append(&record);
	record.head.time_ns = 1200;
	append(&record);
	record.head.tid = 10;
	append(&record);
	batch = build();
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SAMPLES), 2);
	assert_int_equal(profcol_batch_events(batch), 3);
	sample = profcol_batch_sample(batch, 0);
	assert_int_equal(sample.value_count, 0);
	assert_int_equal(sample.timestamp_count, 2);
	assert_int_equal(sample.timestamps_unix_ns[1] - sample.timestamps_unix_ns[0], 300);
	profile = profcol_batch_profile(batch, 0, &range);
	assert_int_equal(profile.duration_ns, 1000);
	assert_int_equal(profile.period, 50000000);
	assert_int_equal(sample.timestamps_unix_ns[0] - profile.time_unix_ns, 200);
}

static void every_process_is_a_resource_of_its_own(void **state)
{
	static const __u64 frames[] = { 0x400800 };
	struct sample_record first = sample_record_make(7, 7, 1500, frames, 0, 1);
	struct sample_record second = sample_record_make(9, 9, 1600, frames, 0, 1);
	struct sample_record idle = sample_record_make(0, 0, 1700, frames, 0, 0);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;

	(void)state;
	append(&second);
	append(&first);
	append(&idle);
	append(&second);
	batch = build();
	assert_int_equal(profcol_batch_count(batch, PROFCOL_RESOURCES), 3);
	assert_int_equal(profcol_batch_count(batch, PROFCOL_PROFILES), 3);
	assert_int_equal(profcol_batch_events(batch), 4);
}

static void the_window_holds_every_sample(void **state)
{
	static const __u64 frames[] = { 0x400800 };
	struct sample_record early = sample_record_make(7, 7, 900, frames, 0, 1);
	struct sample_record late = sample_record_make(7, 7, 2000, frames, 0, 1);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_profile profile;
	struct profcol_sample sample;
	struct profcol_range range;

	(void)state;
	append(&early);
	append(&late);
	batch = build();
	profile = profcol_batch_profile(batch, 0, &range);
	sample = profcol_batch_sample(batch, 0);
	assert_true(sample.timestamps_unix_ns[0] >= profile.time_unix_ns);
	assert_true(sample.timestamps_unix_ns[1] < profile.time_unix_ns + profile.duration_ns);
}

#define WITH_CAPTURE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_CAPTURE(a_sample_carries_names_and_whose_it_is),
		WITH_CAPTURE(a_stack_is_cut_at_a_return_address_that_is_none_and_says_so),
		WITH_CAPTURE(addresses_are_those_of_the_file_not_of_the_process),
		WITH_CAPTURE(equal_samples_become_one_with_their_times_in_order),
		WITH_CAPTURE(every_process_is_a_resource_of_its_own),
		WITH_CAPTURE(the_window_holds_every_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
