// SPDX-License-Identifier: Apache-2.0
/* What a frame of V8's is called, by memory that may hold anything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "v8_forged.h"

#include <stdio.h>
#include <string.h>

enum { LITERAL = 7, SCRIPT_ID = 42, OPTIMIZED = 12, BASELINE = 10, MOST_LINES = 8 };

static const char source[] = "function a() {\n"   // 0
			     "  b();\n"           // 15
			     "  function b() {\n" // 22
			     "    c()\n"          // 39
			     "  }\n"
			     "}\n";

/* Instructions from byte 0 on are of character 17, those from 5 on of character 43. */
static const uint8_t positions[] = { 2, 2 * 2 * 18, 2 * 5, 2 * 2 * 26 };

static struct v8_forged forged;
static uint64_t script;

/* What was resolved last. */
static struct {
	char function[V8_FORGED_TYPES * 512], file[4097];
	uint32_t line, column, start_line;
} named[MOST_LINES];
static size_t count;

static bool take_line(void *context, const struct runtime_line *line)
{
	(void)context;
	if (count == MOST_LINES)
		return false;
	snprintf(named[count].function, sizeof(named[count].function), "%.*s",
		 (int)line->function_bytes, line->function);
	snprintf(named[count].file, sizeof(named[count].file), "%.*s", (int)line->file_bytes,
		 line->file);
	named[count].line = line->line;
	named[count].column = line->column;
	named[count++].start_line = line->start_line;
	return true;
}

static enum runtime_outcome resolve_frame(const struct runtime_frame *frame)
{
	const struct runtime_memory memory = v8_forged_memory(&forged);
	const struct runtime_lines lines = { take_line, NULL };
	struct runtime_process process = { 0 };

	count = 0;
	memset(named, 0, sizeof(named));
	memcpy(process.layout, &forged.layout, sizeof(forged.layout));
	return v8_resolve(&process, &memory, frame, &lines);
}

static enum runtime_outcome resolve(uint64_t function, uint32_t kind, uint32_t position)
{
	const struct runtime_frame frame = {
		.object = function - V8_TAG,
		.kind = kind,
		.position = position,
		.check = v8_check(LITERAL, SCRIPT_ID),
	};

	return resolve_frame(&frame);
}

static struct runtime_frame made_frame(uint64_t function, uint64_t address)
{
	return (struct runtime_frame){
		.object = function - V8_TAG,
		.kind = V8_COMPILED | (uint32_t)(address >> 32 & 31) << V8_KIND_BITS,
		.position = (uint32_t)address,
		.check = v8_check_part(v8_check(LITERAL, SCRIPT_ID) ^
				       v8_forged_check(&forged, address)) |
			 (uint32_t)(address >> 37),
	};
}

static enum runtime_outcome resolve_made(uint64_t function, uint64_t address)
{
	const struct runtime_frame frame = made_frame(function, address);

	return resolve_frame(&frame);
}

static void begin(void)
{
	v8_forged_init(&forged);
	script = v8_forged_script(&forged, v8_forged_text(&forged, "/srv/shop.js"),
				  v8_forged_text(&forged, source), SCRIPT_ID);
}

static uint64_t make_function(const char *name, int32_t start, uint64_t data)
{
	uint64_t scope = v8_forged_scope(&forged, v8_forged_text(&forged, name), 0, start);

	return v8_forged_function(&forged, script, scope, data, LITERAL);
}

static uint64_t make_bytecode(void)
{
	static const uint8_t code[16] = { 4, 5, 6 };

	return v8_forged_bytecode(&forged, code, sizeof(code),
				  v8_forged_bytes(&forged, positions, sizeof(positions)));
}

static void expect(size_t at, const char *function, uint32_t line, uint32_t column)
{
	assert_string_equal(named[at].function, function);
	assert_string_equal(named[at].file, "/srv/shop.js");
	assert_int_equal(named[at].line, line);
	assert_int_equal(named[at].column, column);
}

static void interpreted_frames_have_functions_lines_and_columns(void **state)
{
	uint64_t function;

	(void)state;
	begin();
	function = make_function("open", 22, make_bytecode());
	// What a frame has counts from the object's tagged address on.
	assert_int_equal(resolve(function, V8_INTERPRETED, 63 + 2), RUNTIME_NAMED);
	assert_int_equal(count, 1);
	expect(0, "open", 2, 3);
	assert_int_equal(named[0].start_line, 3);
	assert_int_equal(resolve(function, V8_INTERPRETED, 63 + 5), RUNTIME_NAMED);
	expect(0, "open", 4, 5);
}

static void where_there_is_no_table_it_is_the_functions_own_line(void **state)
{
	static const uint8_t code[16] = { 4 };
	uint64_t function;

	(void)state;
	begin();
	function = make_function("open", 22, v8_forged_bytecode(&forged, code, sizeof(code), 0));
	assert_int_equal(resolve(function, V8_INTERPRETED, 63 + 2), RUNTIME_NAMED);
	expect(0, "open", 3, 0);
	// So where there is no bytecode any more, or the place is beyond it.
	function = make_function("open", 22, 0);
	assert_int_equal(resolve(function, V8_INTERPRETED, 63 + 2), RUNTIME_NAMED);
	expect(0, "open", 3, 0);
	function = make_function("open", 22, make_bytecode());
	assert_int_equal(resolve(function, V8_INTERPRETED, 63 + 16), RUNTIME_NAMED);
	expect(0, "open", 3, 0);
	assert_int_equal(resolve(function, V8_INTERPRETED, 0), RUNTIME_NAMED);
	expect(0, "open", 3, 0);
}

static void another_function_at_its_address_is_not_named(void **state)
{
	uint64_t function;

	(void)state;
	begin();
	function = make_function("open", 22, make_bytecode());
	v8_forged_put_half(&forged, function, 52, LITERAL + 1);
	assert_int_equal(resolve(function, V8_INTERPRETED, 65), RUNTIME_GONE);
	v8_forged_put_half(&forged, function, 52, LITERAL);
	v8_forged_put(&forged, script, 64, v8_forged_number(SCRIPT_ID + 1));
	assert_int_equal(resolve(function, V8_INTERPRETED, 65), RUNTIME_GONE);
	v8_forged_put(&forged, script, 64, v8_forged_number(SCRIPT_ID));
	assert_int_equal(resolve(function, V8_INTERPRETED, 65), RUNTIME_NAMED);
	v8_forged_put(&forged, function, 0, forged.maps[V8_FORGED_ARRAY]);
	assert_int_equal(resolve(function, V8_INTERPRETED, 65), RUNTIME_GONE);
	assert_int_equal(resolve(0x7f0000000001, V8_INTERPRETED, 65), RUNTIME_UNREADABLE);
	assert_int_equal(resolve(function, V8_KINDS, 65), RUNTIME_MALFORMED);
	assert_int_equal(resolve(function, 0, 65), RUNTIME_MALFORMED);
}

static uint64_t becoming;
static size_t becomes_before; /* that read */

static void become_another(struct v8_forged *memory, size_t number)
{
	if (number == becomes_before)
		v8_forged_put_half(memory, becoming, 52, LITERAL + 1);
}

static void a_function_that_changes_while_it_is_read_is_gone(void **state)
{
	// From the one that compares it last on.
	enum { LAST_READS = 6 };
	size_t reads;

	(void)state;
	begin();
	becoming = make_function("open", 22, make_bytecode());
	forged.reads = 0;
	assert_int_equal(resolve(becoming, V8_INTERPRETED, 65), RUNTIME_NAMED);
	reads = forged.reads;
	forged.before = become_another;
	for (becomes_before = 1; becomes_before <= reads - LAST_READS; becomes_before++) {
		v8_forged_put_half(&forged, becoming, 52, LITERAL);
		forged.reads = 0;
		assert_int_equal(resolve(becoming, V8_INTERPRETED, 65), RUNTIME_GONE);
	}
}

/* Two calls that were inlined: `open` calls `find` at character 17, and that `look` at 43. */
static uint64_t make_optimized(uint64_t *function_ret)
{
	struct {
		uint64_t position;
		uint32_t function, padding;
	} calls[] = { { 18 << 1, 0, 0 }, { (uint64_t)1 << 31 | 44 << 1, 1, 0 } };
	uint64_t inlined[2], words[8] = { 0 }, start, data;
	uint8_t table[16];
	size_t bytes = 0;

	*function_ret = make_function("open", 0, make_bytecode());
	inlined[0] = make_function("find", 22, 0);
	inlined[1] = make_function("look", 22, 0) | 2; // weak
	words[2] = v8_forged_array(&forged, inlined, 2);
	words[6] = *function_ret;
	words[7] = v8_forged_bytes(&forged, calls, sizeof(calls));
	// At byte 0 character 17 of itself; from 8 on character 0 in the second call.
	table[bytes++] = 2;
	table[bytes++] = 2 * 2 * 18;
	table[bytes++] = 2 * 8 + 1; // an expression
	for (uint64_t left = 2 * (((uint64_t)2 << 31 | 1 << 1) - 18 * 2); left; left >>= 7)
		table[bytes++] = (left & 0x7f) | (left >> 7 ? 0x80 : 0);
	data = v8_forged_array(&forged, words, 8);
	v8_forged_code(&forged, OPTIMIZED, 64, data, v8_forged_bytes(&forged, table, bytes),
		       &start);
	return start;
}

static void compiled_frames_have_the_functions_that_were_inlined(void **state)
{
	uint64_t function, start;

	(void)state;
	begin();
	start = make_optimized(&function);
	assert_int_equal(resolve_made(function, start + 3), RUNTIME_NAMED);
	assert_int_equal(count, 1);
	expect(0, "open", 2, 3);
	assert_int_equal(resolve_made(function, start + 63), RUNTIME_NAMED);
	assert_int_equal(count, 3);
	expect(0, "look", 1, 1);
	expect(1, "find", 4, 5);
	expect(2, "open", 2, 3);
	// Beyond it there is none: the function itself is known all the same.
	assert_int_equal(resolve_made(function, start + 64), RUNTIME_NAMED);
	assert_int_equal(count, 1);
	expect(0, "open", 1, 0);
}

static void code_of_another_function_says_nothing_of_places(void **state)
{
	uint64_t function, start, other;

	(void)state;
	begin();
	start = make_optimized(&function);
	other = make_function("close", 22, 0);
	assert_int_equal(resolve_made(other, start + 63), RUNTIME_NAMED);
	assert_int_equal(count, 1);
	expect(0, "close", 3, 0);
}

static void calls_that_were_inlined_into_each_other_end(void **state)
{
	struct {
		uint64_t position;
		uint32_t function, padding;
	} calls[] = { { (uint64_t)1 << 31 | 18 << 1, 0, 0 } };
	uint64_t words[8] = { 0 }, start, function, data;
	uint8_t table[16] = { 0 };
	size_t bytes = 1;

	(void)state;
	begin();
	function = make_function("open", 0, make_bytecode());
	words[2] = v8_forged_array(&forged, &function, 1);
	words[6] = function;
	words[7] = v8_forged_bytes(&forged, calls, sizeof(calls));
	for (uint64_t left = 2 * ((uint64_t)1 << 31 | 18 << 1); left; left >>= 7)
		table[bytes++] = (left & 0x7f) | (left >> 7 ? 0x80 : 0);
	data = v8_forged_array(&forged, words, 8);
	v8_forged_code(&forged, OPTIMIZED, 64, data, v8_forged_bytes(&forged, table, bytes),
		       &start);
	assert_int_equal(resolve_made(function, start + 1), RUNTIME_NAMED);
	assert_int_equal(count, 1);
	expect(0, "open", 1, 0);
}

/* 4 takes two bytes, 5 and 6 one. */
static const uint8_t sizes[3 * 7] = {
	1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 4, 2, 2, 1, 1, 1, 1, 8, 4, 4
};

static void baseline_code_has_the_lines_of_its_bytecode(void **state)
{
	// `5` twice; a wide `4`; `6`.
	static const uint8_t code[] = { 5, 5, 0, 4, 0, 0, 0, 6 }, offsets[] = { 10, 4, 4, 6, 2 };
	uint64_t bytecode, function, start, table;

	(void)state;
	begin();
	table = v8_forged_bytes(&forged, sizes, sizeof(sizes));
	forged.layout.bytecode_sizes = table - V8_TAG + 16;
	forged.layout.bytecode_count = 7;
	bytecode = v8_forged_bytecode(&forged, code, sizeof(code),
				      v8_forged_bytes(&forged, positions, sizeof(positions)));
	v8_forged_code(&forged, BASELINE, 32, bytecode,
		       v8_forged_bytes(&forged, offsets, sizeof(offsets)), &start);
	function = make_function("open", 22, start - 32 + V8_TAG);
	v8_forged_put(&forged, function, 8, bytecode);
	for (uint64_t at = 0; at < 24; at++) {
		assert_int_equal(resolve_made(function, start + at), RUNTIME_NAMED);
		if (at < 10)
			expect(0, "open", 3, 0); // enters it
		else
			expect(0, "open", 2, 3);
	}
	assert_int_equal(resolve_made(function, start + 24), RUNTIME_NAMED);
	expect(0, "open", 4, 5);
	assert_int_equal(resolve_made(function, start + 25), RUNTIME_NAMED);
	expect(0, "open", 4, 5);
	// An instruction that is none.
	forged.layout.bytecode_count = 5;
	assert_int_equal(resolve_made(function, start + 24), RUNTIME_NAMED);
	expect(0, "open", 3, 0);
}

static void functions_without_a_name_have_the_inferred_one_or_none(void **state)
{
	uint64_t scope, function;

	(void)state;
	begin();
	scope = v8_forged_scope(&forged, 0, v8_forged_text(&forged, "shop.counter.open"), 22);
	function = v8_forged_function(&forged, script, scope, make_bytecode(), LITERAL);
	assert_int_equal(resolve(function, V8_INTERPRETED, 65), RUNTIME_NAMED);
	expect(0, "shop.counter.open", 2, 3);
	assert_int_equal(named[0].start_line, 3);
	scope = v8_forged_scope(&forged, v8_forged_text(&forged, ""), 0, 22);
	function = v8_forged_function(&forged, script, scope, make_bytecode(), LITERAL);
	assert_int_equal(resolve(function, V8_INTERPRETED, 65), RUNTIME_NAMED);
	expect(0, "(anonymous)", 2, 3);
	// A builtin, or one that has never run, has its name in the place of a scope.
	function = v8_forged_function(&forged, 0, v8_forged_text(&forged, "map"),
				      v8_forged_number(300), LITERAL);
	assert_int_equal(resolve(function, V8_BUILTIN, 0), RUNTIME_GONE);
	v8_forged_put(&forged, function, 32, script);
	assert_int_equal(resolve(function, V8_BUILTIN, 0), RUNTIME_NAMED);
	expect(0, "map", 0, 0);
}

static void files_are_paths(void **state)
{
	static const struct {
		const char *name, *shown;
	} files[] = {
		{ "file:///srv/a%20b/%c3%a4.mjs", "/srv/a b/ä.mjs" },
		{ "file:///srv/a%00b", "/srv/a%00b" },
		{ "file:///srv/a%ff", "file:///srv/a%ff" },
		{ "file:///srv/a%2", "/srv/a%2" },
		{ "file://host/srv", "file://host/srv" },
		{ "node:internal/timers", "node:internal/timers" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		uint64_t function;

		begin();
		v8_forged_put(&forged, script, 16, v8_forged_text(&forged, files[i].name));
		function = make_function("open", 22, make_bytecode());
		assert_int_equal(resolve(function, V8_INTERPRETED, 65), RUNTIME_NAMED);
		assert_string_equal(named[0].file, files[i].shown);
	}
}

static void scripts_may_say_where_they_begin_and_where_lines_end(void **state)
{
	uint64_t function, ends[] = { v8_forged_number(14), v8_forged_number(21),
				      v8_forged_number(38), v8_forged_number(46) };

	(void)state;
	begin();
	v8_forged_put(&forged, script, 24, v8_forged_number(100));
	v8_forged_put(&forged, script, 32, v8_forged_number(50));
	function = make_function("open", 3, make_bytecode());
	assert_int_equal(resolve(function, V8_INTERPRETED, 65), RUNTIME_NAMED);
	expect(0, "open", 102, 3);
	assert_int_equal(named[0].start_line, 101);
	// Without the source.
	v8_forged_put(&forged, script, 8, 0);
	v8_forged_put(&forged, script, 56, v8_forged_array(&forged, ends, 4));
	assert_int_equal(resolve(function, V8_INTERPRETED, 65), RUNTIME_NAMED);
	expect(0, "open", 102, 3);
	assert_int_equal(resolve(function, V8_INTERPRETED, 63 + 5), RUNTIME_NAMED);
	expect(0, "open", 104, 5);
}

static void code_alone_is_told_from_other_code(void **state)
{
	struct runtime_frame frame = { .kind = V8_CODE, .position = 29 };
	uint64_t function, start;

	(void)state;
	begin();
	start = make_optimized(&function);
	frame.object = start + 16;
	frame.check = v8_forged_check(&forged, start + 16);
	assert_int_equal(resolve_frame(&frame), RUNTIME_NAMED);
	assert_int_equal(count, 3);
	expect(2, "open", 2, 3);
	*v8_forged_at(&forged, start + 20) = 0x90;
	assert_int_equal(resolve_frame(&frame), RUNTIME_GONE);
	frame.object = 0x7f0000000000;
	assert_int_equal(resolve_frame(&frame), RUNTIME_UNREADABLE);
}

static void functions_are_told_by_the_code_that_they_run(void **state)
{
	struct runtime_frame frame;
	uint64_t function, start;

	(void)state;
	begin();
	start = make_optimized(&function);
	frame = made_frame(function, start + 40);
	assert_int_equal(resolve_frame(&frame), RUNTIME_NAMED);
	// Other code of the same function lies there now.
	*v8_forged_at(&forged, start + 41) = 0x90;
	assert_int_equal(resolve_frame(&frame), RUNTIME_GONE);
}

static void functions_that_their_script_has_forgotten_are_gone(void **state)
{
	uint64_t words[LITERAL + 1] = { 0 }, function, list;

	(void)state;
	begin();
	function = make_function("open", 22, make_bytecode());
	words[LITERAL] = function | V8_WEAK;
	list = v8_forged_array(&forged, words, LITERAL + 1);
	v8_forged_put(&forged, script, forged.layout.offsets.script_functions, list);
	// What may be there in versions that are laid out otherwise.
	v8_forged_put(&forged, list, 16 + 8 * LITERAL, 3);
	assert_int_equal(resolve(function, V8_INTERPRETED, 63), RUNTIME_NAMED);
	forged.layout.types.weak_array = forged.layout.types.array;
	assert_int_equal(resolve(function, V8_INTERPRETED, 63), RUNTIME_GONE);
	v8_forged_put(&forged, list, 16 + 8 * LITERAL, function | V8_WEAK);
	assert_int_equal(resolve(function, V8_INTERPRETED, 63), RUNTIME_NAMED);
	// Another one that was compiled of the same text.
	v8_forged_put(&forged, list, 16 + 8 * LITERAL, script | V8_WEAK);
	assert_int_equal(resolve(function, V8_INTERPRETED, 63), RUNTIME_GONE);
}

static void functions_with_code_but_without_a_script_are_gone(void **state)
{
	uint64_t function;

	(void)state;
	begin();
	function = make_function("open", 22, make_bytecode());
	v8_forged_put(&forged, script, 0, forged.maps[V8_FORGED_ARRAY]);
	assert_int_equal(resolve(function, V8_INTERPRETED, 63), RUNTIME_GONE);
}

static void memory_that_has_become_something_else_is_no_name(void **state)
{
	static const uint16_t words[] = { 'o', 0, 0xd801, 7 };
	uint64_t scope, function;

	(void)state;
	begin();
	scope = v8_forged_scope(&forged, v8_forged_wide(&forged, words, 4), 0, 22);
	function = v8_forged_function(&forged, script, scope, make_bytecode(), LITERAL);
	assert_int_equal(resolve(function, V8_INTERPRETED, 63), RUNTIME_GONE);
}

static void reading_has_a_bound(void **state)
{
	uint64_t function;

	(void)state;
	begin();
	function = make_function("open", 22, make_bytecode());
	forged.reads = forged.read_bytes = 0;
	// An address in a megabyte of nothing.
	v8_forged_object(&forged, 0, 900000);
	resolve_made(function, forged.start + forged.used - 8);
	assert_in_range(forged.reads, 1, 500);
	assert_in_range(forged.read_bytes, 1, 2 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interpreted_frames_have_functions_lines_and_columns),
		cmocka_unit_test(where_there_is_no_table_it_is_the_functions_own_line),
		cmocka_unit_test(another_function_at_its_address_is_not_named),
		cmocka_unit_test(a_function_that_changes_while_it_is_read_is_gone),
		cmocka_unit_test(compiled_frames_have_the_functions_that_were_inlined),
		cmocka_unit_test(code_of_another_function_says_nothing_of_places),
		cmocka_unit_test(calls_that_were_inlined_into_each_other_end),
		cmocka_unit_test(baseline_code_has_the_lines_of_its_bytecode),
		cmocka_unit_test(functions_without_a_name_have_the_inferred_one_or_none),
		cmocka_unit_test(files_are_paths),
		cmocka_unit_test(scripts_may_say_where_they_begin_and_where_lines_end),
		cmocka_unit_test(code_alone_is_told_from_other_code),
		cmocka_unit_test(functions_are_told_by_the_code_that_they_run),
		cmocka_unit_test(functions_that_their_script_has_forgotten_are_gone),
		cmocka_unit_test(functions_with_code_but_without_a_script_are_gone),
		cmocka_unit_test(memory_that_has_become_something_else_is_no_name),
		cmocka_unit_test(reading_has_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
