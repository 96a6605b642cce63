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
enum { GO_START = 0x700000, GO_LIMIT = 0x800000, GO_FILE = 4 };
#define KERNEL_START 0xffffffff81000000ull
#define VDSO_START   0x7ffff7fc1000ull
#define JIT_START    0x7fff00000000ull

/* ---- the made-up processes and symbols ---- */

static const char service[] = "service.name\0checkout\0host.name\0mine";

bool processes_describe(struct processes *processes, const struct process_key *key,
			uint64_t time_ns, struct process_description *ret)
{
	(void)processes;
	(void)time_ns;
	*ret = (struct process_description){
		.executable = "/opt/b\xff\x62/server",
		.container_id = key->pid == 7 || key->pid == 8 ? "c0ffee" : "",
		.attributes = key->pid == 8
				      ? (struct process_attributes){ service, sizeof(service) }
				      : (struct process_attributes){ 0 },
	};
	return key->pid != 9;
}

bool processes_find_mapping(struct processes *processes, const struct process_key *key,
			    uint64_t time_ns, uint64_t address, struct process_mapping *ret)
{
	(void)processes;
	(void)key;
	(void)time_ns;
	*ret = (struct process_mapping){
		.start = address & ~0xfffull,
		.limit = (address & ~0xfffull) + 0x1000,
		.file = PROCESS_NO_FILE,
		.path = address >= VDSO_START ? "[vdso]" : "//anon",
	};
	if (address >= GO_START && address < GO_LIMIT) {
		*ret = (struct process_mapping){
			.start = GO_START,
			.limit = GO_LIMIT,
			.file_offset = 0x1000,
			.file = GO_FILE,
			.path = "/opt/gopher",
		};
		return true;
	}
	if (address >= PROGRAM_LIMIT)
		return address >= JIT_START;
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
	if (file == GO_FILE)
		return "/opt/gopher";
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
		if (queries[i].file_offset >= 0x2000)
			continue;
		if (queries[i].file == GO_FILE && queries[i].file_offset < 0x1800) {
			// One that was cut has a system name, as mangled ones have.
			queries[i].name = queries[i].system_name = "main.serve[...";
		} else {
			queries[i].name = "serve";
			queries[i].system_name = "_Z5servev";
		}
	}
}

bool symbols_file(struct symbols *symbols, uint32_t file, struct symbol_file *ret)
{
	(void)symbols;
	*ret = (struct symbol_file){
		.build_id_gnu = "abcd",
		.build_id_go = file == GO_FILE ? "Xk3/q7" : "",
		.htlhash = "ef",
	};
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

bool symbols_vdso(struct symbols *symbols, struct symbol_file *ret)
{
	(void)symbols;
	*ret = (struct symbol_file){ .build_id_gnu = "7d50", .build_id_go = "", .htlhash = "7d51" };
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
		.htlhash = "98",
	};
	return address >= KERNEL_START;
}

/* ---- a report over them ---- */

static struct capture capture;

/* Counters by their label: how user stacks ended. */
static struct {
	char label[64];
	struct profcol_metric metric;
} ends[8];

static struct profcol_metric *end_metric(const struct profcol_host *self,
					 enum profcol_metric_kind kind, const char *name,
					 const char *label, const char *doc)
{
	size_t i = 0;

	(void)self;
	(void)doc;
	assert_int_equal(kind, PROFCOL_COUNTER);
	assert_string_equal(name, "user_stacks");
	while (ends[i].label[0] && strcmp(ends[i].label, label) != 0)
		i++;
	strcpy(ends[i].label, label);
	return &ends[i].metric;
}

/* Since the last call. */
static int64_t stacks_that_ended(const char *label)
{
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!strcmp(ends[i].label, label))
			return atomic_exchange(&ends[i].metric.value, 0);
	fail_msg("no '%s'", label);
	return 0;
}

static struct profcol_host host = { .size = sizeof(host),
				    .version = "0.0.0",
				    .metric = end_metric };
static struct profiling_config config;

static int set_up(void **state)
{
	(void)state;
	config = (struct profiling_config){ .samples_per_second = 20, .timestamps = true };
	capture_init(&capture, 1 << 20);
	capture_clear(&capture, 1000);
	memset(ends, 0, sizeof(ends));
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

static struct profcol_batch *build_until(uint64_t end_ns)
{
	struct report *report = report_create(&host, &config, NULL, NULL);
	struct profcol_batch *batch = NULL;
	struct profcol_error *error = report_build(report, &capture, end_ns, 0, &batch);

	if (error)
		fail_msg("unexpected: %s", profcol_error_message(error));
	report_destroy(report);
	return batch;
}

static struct profcol_batch *build(void)
{
	return build_until(2000);
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
	assert_int_equal(stacks_that_ended("end=broken_frame_pointers"), 1);
	assert_int_equal(stacks_that_ended("end=frame_pointers"), 2);
	assert_int_equal(stacks_that_ended("end=no_user_stack"), 0);
	assert_int_equal(stacks_that_ended("end=perf_event_max_stack"), 0);
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

/* The value of @key in an attribute list: text, or a number in digits; NULL. */
static const char *attribute(const struct profcol_batch *batch, uint32_t list, const char *key)
{
	static char digits[32];
	uint32_t count;
	const uint32_t *ids = profcol_batch_attribute_list(batch, list, &count);
	const char *found = NULL;

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_attribute row = profcol_batch_attribute(batch, ids[i]);

		if (strcmp(profcol_batch_string(batch, row.key).bytes, key))
			continue;
		assert_null(found); // each key once
		snprintf(digits, sizeof(digits), "%ld", (long)row.value.integer);
		found = row.value.type == PROFCOL_VALUE_INT
				? digits
				: profcol_batch_string(batch, row.value.string).bytes;
	}
	return found;
}

static uint32_t resource_attributes(const struct profcol_batch *batch, uint32_t resource)
{
	struct profcol_range scopes;

	return profcol_batch_resource(batch, resource, &scopes).attributes;
}

static const char *of_resource(const struct profcol_batch *batch, uint32_t row, const char *key)
{
	return attribute(batch, resource_attributes(batch, row), key);
}

static const char *of_sample(const struct profcol_batch *batch, uint32_t row, const char *key)
{
	return attribute(batch, profcol_batch_sample(batch, row).attributes, key);
}

/* Two processes in one container, one in none, and an idle CPU. */
static struct profcol_batch *build_four(int resource_by)
{
	static const __u64 frames[] = { 0x400800 };
	struct sample_record records[] = {
		sample_record_make(5, 5, 1500, frames, 0, 1),
		sample_record_make(7, 7, 1500, frames, 0, 1),
		sample_record_make(0, 0, 1500, frames, 0, 0),
		sample_record_make(8, 8, 1500, frames, 0, 1),
		sample_record_make(7, 7, 1600, frames, 0, 1),
	};

	config.resource_by = resource_by;
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++)
		append(&records[i]);
	return build();
}

static void by_process_a_resource_says_all_of_its_process(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = build_four(RESOURCE_BY_PROCESS);
	struct profcol_range range;
	uint32_t schema;

	(void)state;
	assert_int_equal(profcol_batch_count(batch, PROFCOL_RESOURCES), 4);
	assert_string_equal(of_resource(batch, 0, "process.pid"), "5");
	assert_null(of_resource(batch, 0, "container.id"));
	assert_string_equal(of_resource(batch, 1, "container.id"), "c0ffee");
	assert_string_equal(of_resource(batch, 2, "process.pid"), "0");
	assert_null(of_resource(batch, 2, "process.creation.time"));
	assert_string_equal(of_resource(batch, 3, "service.name"), "checkout");
	assert_string_equal(of_resource(batch, 3, "host.name"), "mine");
	assert_string_equal(of_resource(batch, 3, "process.executable.name"), "server");
	assert_non_null(of_resource(batch, 3, "process.creation.time"));
	assert_null(of_sample(batch, 0, "process.pid"));
	assert_string_equal(of_sample(batch, 0, "thread.name"), "worker");
	schema = profcol_batch_resource(batch, 0, &range).schema_url;
	assert_string_equal(profcol_batch_string(batch, schema).bytes,
			    "https://opentelemetry.io/schemas/1.37.0");
	assert_int_equal(profcol_batch_scope(batch, 0, &range).schema_url, schema);
}

static void by_container_samples_say_which_process(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = build_four(RESOURCE_BY_CONTAINER);
	bool checkout = false;

	(void)state;
	assert_int_equal(profcol_batch_count(batch, PROFCOL_RESOURCES), 2);
	assert_int_equal(profcol_batch_count(batch, PROFCOL_PROFILES), 2);
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SAMPLES), 4);
	assert_int_equal(profcol_batch_events(batch), 5);
	// Those in no container come first.
	assert_int_equal(resource_attributes(batch, 0), 0);
	assert_string_equal(of_resource(batch, 1, "container.id"), "c0ffee");
	assert_null(of_resource(batch, 1, "process.pid"));
	for (uint32_t i = 0; i < 4; i++) {
		const char *name = of_sample(batch, i, "service.name");

		assert_non_null(of_sample(batch, i, "process.pid"));
		assert_null(of_sample(batch, i, "container.id"));
		if (name && !strcmp(of_sample(batch, i, "process.pid"), "8"))
			checkout = true;
		else
			assert_null(name);
	}
	assert_true(checkout);
}

static void by_host_there_is_one_resource_without_attributes(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = build_four(RESOURCE_BY_HOST);
	unsigned int in_container = 0;

	(void)state;
	assert_int_equal(profcol_batch_count(batch, PROFCOL_RESOURCES), 1);
	assert_int_equal(resource_attributes(batch, 0), 0);
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SAMPLES), 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_non_null(of_sample(batch, i, "process.pid"));
		in_container += of_sample(batch, i, "container.id") != NULL;
	}
	assert_int_equal(in_container, 2);
}

static void without_timestamps_samples_are_counts(void **state)
{
	static const __u64 frames[] = { 0x400800 }, other[] = { 0x400900 };
	struct sample_record record = sample_record_make(7, 8, 1500, frames, 0, 1);
	struct sample_record elsewhere = sample_record_make(7, 8, 1500, other, 0, 1);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_sample sample;
	int64_t sum = 0;

	(void)state;
	config.timestamps = false;
	append(&record);
	append(&elsewhere);
	// Another time, another CPU, another thread of the same name.
	record.head.time_ns = 1600;
	append(&record);
	record.head.cpu = 5;
	append(&record);
	record.head.tid = 9;
	append(&record);
	batch = build();
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SAMPLES), 2);
	for (uint32_t i = 0; i < 2; i++) {
		sample = profcol_batch_sample(batch, i);
		assert_int_equal(sample.timestamp_count, 0);
		assert_int_equal(sample.value_count, 1);
		sum += sample.values[0];
		assert_null(of_sample(batch, i, "thread.id"));
		assert_null(of_sample(batch, i, "cpu.logical_number"));
		assert_string_equal(of_sample(batch, i, "thread.name"), "worker");
	}
	assert_int_equal(sum, 5);
	assert_int_equal(profcol_batch_events(batch), 5);
	// A thread of another name is not the same.
	memcpy(record.head.comm, "reader", 7);
	append(&record);
	profcol_batch_unref(batch);
	batch = build();
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SAMPLES), 3);
}

static void a_window_ends_after_its_last_sample_and_never_empty(void **state)
{
	static const __u64 frames[] = { 0x400800 };
	struct sample_record at_the_edge = sample_record_make(7, 7, 1000, frames, 0, 1);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_profile profile;
	struct profcol_sample sample;
	struct profcol_range range;

	(void)state;
	// Opened, sampled and closed in the same nanosecond.
	append(&at_the_edge);
	batch = build_until(1000);
	profile = profcol_batch_profile(batch, 0, &range);
	sample = profcol_batch_sample(batch, 0);
	assert_int_equal(profile.duration_ns, 1);
	assert_int_equal(sample.timestamps_unix_ns[0], profile.time_unix_ns);
}

static void code_outside_files_has_a_mapping_only_when_its_build_is_known(void **state)
{
	static const __u64 frames[] = { KERNEL_START + 0x10, VDSO_START + 0x20, JIT_START + 0x30 };
	struct sample_record record = sample_record_make(7, 8, 1500, frames, 1, 2);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_location location;
	struct profcol_mapping mapping;
	const uint32_t *stack;
	uint32_t count;

	(void)state;
	append(&record);
	batch = build();
	stack = profcol_batch_stack(batch, profcol_batch_sample(batch, 0).stack, &count);
	assert_int_equal(count, 3);
	location = profcol_batch_location(batch, stack[0]);
	mapping = profcol_batch_mapping(batch, location.mapping);
	assert_string_equal(profcol_batch_string(batch, mapping.filename).bytes, "vmlinux");
	assert_string_equal(
		attribute(batch, mapping.attributes, "process.executable.build_id.htlhash"), "98");
	location = profcol_batch_location(batch, stack[1]);
	mapping = profcol_batch_mapping(batch, location.mapping);
	assert_int_equal(location.address, 0x20);
	assert_string_equal(profcol_batch_string(batch, mapping.filename).bytes, "linux-vdso.1.so");
	assert_string_equal(
		attribute(batch, mapping.attributes, "process.executable.build_id.htlhash"),
		"7d51");
	location = profcol_batch_location(batch, stack[2]);
	assert_int_equal(location.mapping, 0);
	assert_int_equal(location.address, JIT_START + 0x2f); // a return address
}

static void frames_say_what_kind_of_code_they_are(void **state)
{
	// Kernel, Go, C++ behind cgo, a Go file's code without a symbol, and a library in C of that
	// process.
	static const __u64 frames[] = { KERNEL_START + 0x10, 0x700100, 0x700901, 0x702001, 0x402001,
					VDSO_START + 0x21 };
	static const char *const types[] = { "kernel", "go", "native", "go", "native", "native" };
	struct sample_record record = sample_record_make(7, 8, 1500, frames, 1, 5);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	const uint32_t *stack;
	uint32_t count;

	(void)state;
	append(&record);
	batch = build();
	stack = profcol_batch_stack(batch, profcol_batch_sample(batch, 0).stack, &count);
	assert_int_equal(count, 6);
	for (uint32_t i = 0; i < count; i++) {
		struct profcol_location location = profcol_batch_location(batch, stack[i]);
		struct profcol_mapping mapping = profcol_batch_mapping(batch, location.mapping);
		const char *id =
			attribute(batch, mapping.attributes, "process.executable.build_id.go");

		assert_string_equal(attribute(batch, location.attributes, "profile.frame.type"),
				    types[i]);
		if (i >= 1 && i <= 3)
			assert_string_equal(id, "Xk3/q7");
		else
			assert_null(id);
	}
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
		WITH_CAPTURE(by_process_a_resource_says_all_of_its_process),
		WITH_CAPTURE(by_container_samples_say_which_process),
		WITH_CAPTURE(by_host_there_is_one_resource_without_attributes),
		WITH_CAPTURE(without_timestamps_samples_are_counts),
		WITH_CAPTURE(a_window_ends_after_its_last_sample_and_never_empty),
		WITH_CAPTURE(code_outside_files_has_a_mapping_only_when_its_build_is_known),
		WITH_CAPTURE(frames_say_what_kind_of_code_they_are),
		WITH_CAPTURE(the_window_holds_every_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
