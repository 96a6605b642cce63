// SPDX-License-Identifier: Apache-2.0
#include "report_fixture.h"

#include "otlp_conformance.h"

#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

/* ---- the made-up processes and symbols ---- */

static const char service[] = "service.name\0checkout\0host.name\0mine";

bool processes_describe(struct processes *processes, const struct process_key *key,
			uint64_t time_ns, struct process_description *ret)
{
	(void)processes;
	(void)time_ns;
	*ret = (struct process_description){
		.executable = "/opt/b\xff\x62/server",
		.container_id = key->pid == 7 || key->pid == 8 ? "c0ffee"
				: key->pid == 77               ? "decade"
							       : "",
		.attributes = key->pid == 8
				      ? (struct process_attributes){ service, sizeof(service) }
				      : (struct process_attributes){ 0 },
	};
	if (ret->container_id[0] && key->pid != 77)
		strcpy(ret->pod_uid, FIXTURE_POD);
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

static const char *path_of(uint32_t file)
{
	switch (file) {
	case GO_FILE:
		return "/opt/gopher";
	case GONE_FILE:
		return "/opt/gone";
	default:
		assert_int_equal(file, PROGRAM_FILE);
		return "/opt/b\xff\x62/library.so";
	}
}

char *processes_file_path(struct processes *processes, uint32_t file)
{
	(void)processes;
	return strdup(path_of(file));
}

bool processes_file_htlhash(struct processes *processes, uint32_t file, char ret[33])
{
	(void)processes;
	if (file != GONE_FILE)
		return false;
	strcpy(ret, "0123456789abcdef0123456789abcdef");
	return true;
}

struct owner processes_file_owner(struct processes *processes, uint32_t file)
{
	(void)processes;
	(void)file;
	return OWNER_UNKNOWN;
}

struct processes_files processes_files(struct processes *processes)
{
	(void)processes;
	return (struct processes_files){ 0 };
}

int processes_find_package(struct processes *processes, uint32_t file, struct process_package *ret)
{
	(void)processes;
	(void)file;
	(void)ret;
	return -1;
}

bool processes_catch_up(struct processes *processes, uint64_t deadline_ns)
{
	(void)processes;
	(void)deadline_ns;
	return true;
}

/* ---- the made-up memory ---- */

void process_memory_ask(struct process_memory *memory, const struct frame_question *question)
{
	(void)memory;
	(void)question;
}

void process_memory_settle(struct process_memory *memory, uint64_t deadline_ns)
{
	(void)memory;
	(void)deadline_ns;
}

/* What has check word 1 is called something, with something else inlined into it. */
/* Thread 8 has a name that the system would cut. */
static enum frame_state find_thread_name(const struct frame_question *question,
					 struct frame_name **name_ret)
{
	struct frame_name *name;

	if (question->frame.object != 8)
		return FRAME_GONE;
	name = calloc(1, sizeof(*name) + sizeof(*name->lines));
	assert_non_null(name);
	name->opened_ns = name->read_ns = clock_monotonic_ns();
	name->line_count = 1;
	name->lines[0] = (struct frame_line){ "orders and invoices", "", "", 0, 0, 0, false };
	*name_ret = name;
	return FRAME_NAMED;
}

/* Process 78 runs a jar. */
static enum frame_state find_program(const struct frame_question *question,
				     struct frame_name **name_ret)
{
	struct frame_name *name;

	if (question->key.pid != 78)
		return FRAME_GONE;
	name = calloc(1, sizeof(*name) + sizeof(*name->lines));
	assert_non_null(name);
	name->line_count = 1;
	name->lines[0] = (struct frame_line){ "17.0.15+6", "shop.jar", "", 0, 0, 0, false };
	*name_ret = name;
	return FRAME_NAMED;
}

enum frame_state process_memory_find(struct process_memory *memory,
				     const struct frame_question *question,
				     struct frame_name **name_ret)
{
	struct frame_name *name;

	(void)memory;
	*name_ret = NULL;
	if (question->frame.kind == RUNTIME_PROGRAM)
		return find_program(question, name_ret);
	if (question->frame.kind == RUNTIME_THREAD)
		return find_thread_name(question, name_ret);
	if (question->frame.check != 1)
		return question->frame.check ? FRAME_GONE : FRAME_WANTED;
	name = calloc(1, sizeof(*name) + 2 * sizeof(*name->lines));
	assert_non_null(name);
	name->line_count = 2;
	name->lines[0] = (struct frame_line){
		"inner", "/srv/inner.x", "inner()V", 12, 10, 3, question->frame.position == 99
	};
	name->lines[1] =
		(struct frame_line){ "outer", "", "", question->frame.position, 0, 0, false };
	*name_ret = name;
	return FRAME_NAMED;
}

/* Has the worker read it? */
static bool is_answered(uint32_t file)
{
	return file == PROGRAM_FILE || file == GO_FILE;
}

/* From 0x1c00 on a runtime knows which functions run: two; from 0x1d00 on a wrapper, from 0x1e00 on
 * one that shows wrappers. */
static void answer_with_lines(struct symbol_query *query)
{
	static const struct symbol_line lines[] = {
		{ "main.inlined", "/srv/inlined.go", 7, 5 },
		{ "main.outer", "", 30, 0 },
	};

	query->lines = lines;
	query->line_count = 2;
	query->name = lines[0].function;
	query->runtime = RUNTIME_GO;
	if (query->file_offset >= 0x1d00)
		query->trace =
			query->file_offset < 0x1e00 ? RUNTIME_WRAPPER : RUNTIME_SHOWS_WRAPPERS;
}

void symbols_lookup(struct symbols *symbols, struct symbol_query *queries, size_t count,
		    uint64_t deadline_ns)
{
	(void)symbols;
	(void)deadline_ns;
	for (size_t i = 0; i < count; i++) {
		queries[i].elf_address = queries[i].file_offset;
		if (!is_answered(queries[i].file))
			continue;
		queries[i].elf_address += 0x10000;
		if (queries[i].file_offset >= 0x2000) {
			// Entries of 256 bytes each; there is none from 0x3000 on.
			queries[i].unnamed = queries[i].file_offset < 0x3000;
			queries[i].entry = queries[i].elf_address & ~0xffull;
			continue;
		}
		if (queries[i].file == GO_FILE && queries[i].file_offset >= 0x1c00) {
			answer_with_lines(&queries[i]);
		} else if (queries[i].file == GO_FILE && queries[i].file_offset < 0x1800) {
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
	if (!is_answered(file))
		return false;
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
	(void)file_offset;
	if (!is_answered(file))
		return false;
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

/* Counters by their label. */
static struct {
	char label[64];
	struct profcol_metric metric;
} ends[UNWIND_END_COUNT + CAPTURE_LABELS_FATES];

static struct profcol_metric gaps;

enum { COUNTERS = sizeof(ends) / sizeof(ends[0]) };

static struct profcol_metric *end_metric(const struct profcol_host *self,
					 enum profcol_metric_kind kind, const char *name,
					 const char *label, const char *doc)
{
	size_t i = 0;

	(void)self;
	(void)doc;
	assert_int_equal(kind, PROFCOL_COUNTER);
	if (!strcmp(name, "runtime_gaps"))
		return &gaps;
	if (strcmp(name, "unwind_stacks") != 0)
		assert_string_equal(name, "labelled_samples");
	while (i < COUNTERS && ends[i].label[0] && strcmp(ends[i].label, label) != 0)
		i++;
	assert_true(i < COUNTERS);
	strcpy(ends[i].label, label);
	return &ends[i].metric;
}

static int64_t counted(const char *label)
{
	for (size_t i = 0; i < COUNTERS; i++)
		if (!strcmp(ends[i].label, label))
			return atomic_exchange(&ends[i].metric.value, 0);
	fail_msg("no '%s'", label);
	return 0;
}

int64_t fixture_stacks_that_ended(const char *end)
{
	char label[64];

	snprintf(label, sizeof(label), "end=%s", end);
	return counted(label);
}

int64_t fixture_gaps(void)
{
	return atomic_exchange(&gaps.value, 0);
}

int64_t fixture_labelled(const char *result)
{
	char label[64];

	snprintf(label, sizeof(label), "result=%s", result);
	return counted(label);
}

static struct profcol_host host = { .size = sizeof(host),
				    .version = "0.0.0",
				    .metric = end_metric };
struct profiling_config fixture_config;
struct containers fixture_containers;

int fixture_set_up(void **state)
{
	(void)state;
	fixture_config = (struct profiling_config){ .samples_per_second = 20,
						    .timestamps = true,
						    .system_names = true };
	containers_init(&fixture_containers);
	capture_init(&capture, 1 << 20);
	capture_clear(&capture, 1000);
	capture.period_ns = 50000000;
	memset(ends, 0, sizeof(ends));
	return 0;
}

int fixture_tear_down(void **state)
{
	(void)state;
	capture_deinit(&capture);
	containers_deinit(&fixture_containers);
	return 0;
}

void fixture_append(const struct sample_record *record)
{
	uint32_t process;

	assert_int_equal(capture_append(&capture, record, sample_record_length(record), &process),
			 0);
}

/* The rules of OTLP profiles that are not mere advice. */
static void expect_conforming(const struct profcol_batch *batch)
{
	struct conformance conformance = { .ignored = RULES_RECOMMENDED, .stream = stderr };
	CLEANUP_FREE uint8_t *bytes = NULL;
	size_t length;

	assert_null(otlp_encode(batch, NULL, &bytes, &length));
	assert_true(otlp_conformance_check(&conformance, bytes, length));
	assert_int_equal(conformance.violations, 0);
}

struct profcol_batch *fixture_build_until(uint64_t end_ns)
{
	struct report *report =
		report_create(&host, &fixture_config, NULL, NULL, NULL, &fixture_containers);
	struct profcol_batch *batch = NULL;
	struct profcol_error *error = report_build(report, &capture, end_ns, 0, &batch);

	if (error)
		fail_msg("unexpected: %s", profcol_error_message(error));
	report_destroy(report);
	expect_conforming(batch);
	return batch;
}

struct profcol_batch *fixture_build(void)
{
	return fixture_build_until(2000);
}

char *fixture_print(const struct profcol_batch *batch)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	assert_null(profile_print(batch, stream));
	fclose(stream);
	return text;
}

void fixture_expect_text(const char *text, const char *wanted)
{
	if (!strstr(text, wanted))
		fail_msg("'%s' is missing in:\n%s", wanted, text);
}

/* ---- what is in a batch ---- */

const char *fixture_attribute(const struct profcol_batch *batch, uint32_t list, const char *key)
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

const char *fixture_resource_attribute(const struct profcol_batch *batch, uint32_t resource,
				       const char *key)
{
	struct profcol_range scopes;

	return fixture_attribute(batch, profcol_batch_resource(batch, resource, &scopes).attributes,
				 key);
}

const char *fixture_sample_attribute(const struct profcol_batch *batch, uint32_t sample,
				     const char *key)
{
	return fixture_attribute(batch, profcol_batch_sample(batch, sample).attributes, key);
}

uint32_t fixture_stack_count(const struct profcol_batch *batch, uint32_t sample)
{
	uint32_t count;

	profcol_batch_stack(batch, profcol_batch_sample(batch, sample).stack, &count);
	return count;
}

struct profcol_location fixture_location(const struct profcol_batch *batch, uint32_t sample,
					 uint32_t frame)
{
	uint32_t count;
	const uint32_t *stack =
		profcol_batch_stack(batch, profcol_batch_sample(batch, sample).stack, &count);

	assert_true(frame < count);
	return profcol_batch_location(batch, stack[frame]);
}

const char *fixture_function(const struct profcol_batch *batch, struct profcol_location location)
{
	struct profcol_function function;

	if (!location.line_count)
		return NULL;
	function = profcol_batch_function(batch, location.lines[0].function);
	return profcol_batch_string(batch, function.name).bytes;
}
