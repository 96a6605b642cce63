// SPDX-License-Identifier: Apache-2.0
/* What the toy interpreter's memory says is found, and named; nothing in there is believed. */
#include "receiver/ebpf/runtimes/toy/toy.h"

#include "runtimes/toy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BASE = 0x100000, ROWS_MOST = 600, TEXT_MOST = 2000, SERIAL = 77, ALWAYS = 1 << 20 };

/* Part of a process. */
struct toy_memory {
	struct toy_about about;
	struct toy_code code;
	struct toy_row rows[ROWS_MOST];
	struct {
		struct toy_text head;
		char text[TEXT_MOST];
	} name, file;
};

struct fixture {
	struct toy_memory memory;
	struct toy_layout layout;
	size_t reads;
	size_t fails; /* the number of the first one that does */
	size_t ends;  /* after so many the function has ended */
	/* The line that was told: */
	size_t told;
	char function[TEXT_MOST + 1], file[TEXT_MOST + 1];
	struct runtime_line line;
};

static uint64_t address_of(const struct fixture *fixture, const void *member)
{
	return BASE + (uint64_t)((const char *)member - (const char *)&fixture->memory);
}

static bool read_own(void *context, uint64_t address, void *to, size_t bytes)
{
	struct fixture *fixture = context;
	const uint64_t size = sizeof(fixture->memory);

	if (fixture->reads++ >= fixture->fails)
		return false;
	if (fixture->reads > fixture->ends)
		fixture->memory.code.serial = SERIAL + 1;
	if (address < BASE || bytes > size || address - BASE > size - bytes)
		return false;
	memcpy(to, (const char *)&fixture->memory + (address - BASE), bytes);
	return true;
}

static void renew(void *context)
{
	(void)context;
}

static struct runtime_memory memory_of(struct fixture *fixture)
{
	fixture->reads = 0;
	return (struct runtime_memory){ read_own, renew, fixture };
}

static bool take_line(void *context, const struct runtime_line *line)
{
	struct fixture *fixture = context;

	fixture->told++;
	fixture->line = *line;
	memcpy(fixture->function, line->function, line->function_bytes);
	fixture->function[line->function_bytes] = '\0';
	memcpy(fixture->file, line->file, line->file_bytes);
	fixture->file[line->file_bytes] = '\0';
	return true;
}

static bool refuse_line(void *context, const struct runtime_line *line)
{
	(void)context;
	(void)line;
	return false;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct toy_memory *memory;

	assert_non_null(fixture);
	memory = &fixture->memory;
	fixture->fails = fixture->ends = ALWAYS;
	fixture->layout =
		(struct toy_layout){ .about = 0x4000, .loop_start = 0x1000, .loop_limit = 0x1100 };
	memcpy(memory->about.magic, TOY_MAGIC, sizeof(memory->about.magic));
	memory->about.version = 1;
	memory->about.threads = 0x7f0000000000;
	memory->code = (struct toy_code){
		.serial = SERIAL,
		.start_line = 10,
		.name = address_of(fixture, &memory->name),
		.file = address_of(fixture, &memory->file),
		.rows = address_of(fixture, memory->rows),
		.row_count = 3,
	};
	memory->rows[0] = (struct toy_row){ 2, 11 };
	memory->rows[1] = (struct toy_row){ 3, 15 };
	memory->rows[2] = (struct toy_row){ 900, 70000 };
	memory->name.head.bytes = (uint32_t)strlen("größe");
	strcpy(memory->name.text, "größe");
	memory->file.head.bytes = (uint32_t)strlen("a/葉.toy");
	strcpy(memory->file.text, "a/葉.toy");
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

/* ---- attach ---- */

static bool attach(struct fixture *fixture, struct runtime_found *ret)
{
	const struct runtime_memory memory = memory_of(fixture);

	memset(ret, 0xff, sizeof(*ret));
	return toy_attach(&fixture->layout, BASE - fixture->layout.about, &memory, ret);
}

static void a_process_with_threads_is_told(void **state)
{
	struct fixture *fixture = *state;
	const struct toy_data *data;
	struct runtime_found found;

	assert_true(attach(fixture, &found));
	data = (const struct toy_data *)found.data;
	assert_int_equal(found.data_bytes, sizeof(*data));
	assert_int_equal(data->threads, BASE + offsetof(struct toy_about, threads));
	assert_int_equal(found.area_count, 0);
	assert_int_equal(found.progress, 1);
	assert_int_equal(found.complete, 1);
	assert_int_equal(found.refused, RUNTIME_ACCEPTED);
	assert_string_equal(found.version, "1");
	assert_true(runtime_found_check(&found));
}

static void before_its_first_thread_there_is_nothing_yet(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_found found;

	fixture->memory.about.threads = 0;
	assert_false(attach(fixture, &found));
	fixture->fails = 0;
	assert_false(attach(fixture, &found));
}

static void other_versions_and_other_things_are_refused(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_found found;

	fixture->memory.about.version = 2;
	assert_true(attach(fixture, &found));
	assert_int_equal(found.refused, RUNTIME_REFUSED_VERSION);
	assert_int_equal(found.data_bytes, 0);
	assert_int_equal(found.progress, 0);
	assert_true(runtime_found_check(&found));
	fixture->memory.about.magic[0] = 'X';
	assert_true(attach(fixture, &found));
	assert_int_equal(found.refused, RUNTIME_REFUSED_LAYOUT);
	assert_true(runtime_found_check(&found));
}

/* ---- resolve ---- */

static enum runtime_outcome resolve_to(struct fixture *fixture, uint32_t position, uint32_t check,
				       bool (*add)(void *, const struct runtime_line *))
{
	const struct runtime_memory memory = memory_of(fixture);
	const struct runtime_process process = { 0 };
	const struct runtime_lines lines = { add, fixture };
	const struct runtime_frame frame = { .object = address_of(fixture, &fixture->memory.code),
					     .position = position,
					     .check = check };

	fixture->told = 0;
	return toy_resolve(&process, &memory, &frame, &lines);
}

static enum runtime_outcome resolve(struct fixture *fixture, uint32_t position)
{
	enum runtime_outcome outcome = resolve_to(fixture, position, SERIAL, take_line);

	assert_int_equal(fixture->told, outcome == RUNTIME_NAMED);
	return outcome;
}

static void a_function_is_named_with_its_line(void **state)
{
	static const struct {
		uint32_t position, line;
	} cases[] = { { 0, 0 },
		      { 1, 0 },
		      { 2, 11 },
		      { 3, 15 },
		      { 899, 15 },
		      { 900, 70000 },
		      { UINT32_MAX, 70000 } };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(resolve(fixture, cases[i].position), RUNTIME_NAMED);
		assert_int_equal(fixture->line.line, cases[i].line);
	}
	assert_string_equal(fixture->function, "größe");
	assert_string_equal(fixture->file, "a/葉.toy");
	assert_int_equal(fixture->line.start_line, 10);
	assert_int_equal(fixture->line.column, 0);
}

static void what_it_has_not_got_is_left_out(void **state)
{
	struct fixture *fixture = *state;

	fixture->memory.file.head.bytes = 0;
	fixture->memory.code.row_count = 0;
	assert_int_equal(resolve(fixture, 3), RUNTIME_NAMED);
	assert_int_equal(fixture->line.file_bytes, 0);
	assert_int_equal(fixture->line.line, 0);
}

static void another_function_has_no_part_in_it(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(resolve_to(fixture, 3, SERIAL - 1, take_line), RUNTIME_GONE);
	fixture->memory.code.serial = 0;
	assert_int_equal(resolve(fixture, 3), RUNTIME_GONE);
	// Two that are none cannot be told apart.
	assert_int_equal(resolve_to(fixture, 3, 0, take_line), RUNTIME_GONE);
	assert_int_equal(fixture->told, 0);
}

/* At whatever moment it ends, its name is told whole, or not at all. */
static void one_that_ends_meanwhile_is_gone(void **state)
{
	struct fixture *fixture = *state;
	size_t most;

	assert_int_equal(resolve(fixture, 3), RUNTIME_NAMED);
	most = fixture->reads;
	for (fixture->ends = 0; fixture->ends < most; fixture->ends++) {
		fixture->memory.code.serial = SERIAL;
		assert_int_equal(resolve(fixture, 3), RUNTIME_GONE);
	}
	// What does not add up is another one's then.
	fixture->memory.name.head.bytes = UINT32_MAX;
	fixture->memory.code.serial = SERIAL;
	fixture->ends = 2;
	assert_int_equal(resolve(fixture, 3), RUNTIME_GONE);
}

static void memory_that_cannot_be_read_names_nothing(void **state)
{
	struct fixture *fixture = *state;
	size_t most;

	assert_int_equal(resolve(fixture, 3), RUNTIME_NAMED);
	most = fixture->reads;
	for (fixture->fails = 0; fixture->fails < most; fixture->fails++)
		assert_int_not_equal(resolve(fixture, 3), RUNTIME_NAMED);
	fixture->fails = ALWAYS;
	fixture->memory.code.rows = 8;
	assert_int_equal(resolve(fixture, 3), RUNTIME_UNREADABLE);
	fixture->memory.code.name = UINT64_MAX - 2;
	assert_int_equal(resolve(fixture, 3), RUNTIME_UNREADABLE);
}

static void lengths_are_not_believed(void **state)
{
	struct fixture *fixture = *state;

	fixture->memory.name.head.bytes = 1024;
	memset(fixture->memory.name.text, 'x', 1024);
	assert_int_equal(resolve(fixture, 3), RUNTIME_NAMED);
	assert_int_equal(fixture->line.function_bytes, 1024);
	fixture->memory.name.head.bytes = 1025;
	assert_int_equal(resolve(fixture, 3), RUNTIME_MALFORMED);
	fixture->memory.name.head.bytes = 1;
	fixture->memory.file.head.bytes = UINT32_MAX;
	assert_int_equal(resolve(fixture, 3), RUNTIME_MALFORMED);
	fixture->memory.file.head.bytes = 1;
	fixture->memory.code.row_count = 512;
	assert_int_equal(resolve(fixture, 3), RUNTIME_NAMED);
	fixture->memory.code.row_count = 513;
	assert_int_equal(resolve(fixture, 3), RUNTIME_MALFORMED);
	fixture->memory.code.row_count = UINT32_MAX;
	assert_int_equal(resolve(fixture, 3), RUNTIME_MALFORMED);
}

static void what_there_is_no_room_for_is_given_up(void **state)
{
	assert_int_equal(resolve_to(*state, 3, SERIAL, refuse_line), RUNTIME_MALFORMED);
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		WITH(a_process_with_threads_is_told),
		WITH(before_its_first_thread_there_is_nothing_yet),
		WITH(other_versions_and_other_things_are_refused),
		WITH(a_function_is_named_with_its_line),
		WITH(what_it_has_not_got_is_left_out),
		WITH(another_function_has_no_part_in_it),
		WITH(one_that_ends_meanwhile_is_gone),
		WITH(memory_that_cannot_be_read_names_nothing),
		WITH(lengths_are_not_believed),
		WITH(what_there_is_no_room_for_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
