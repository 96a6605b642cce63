// SPDX-License-Identifier: Apache-2.0
/* What regular expressions and functions of WebAssembly are called, by memory that may hold
 * anything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "v8_forged.h"

#include <stdio.h>
#include <string.h>

enum { REGEXP_KIND = 3, CODE_BYTES = 64, PLACE = 24, SOURCE_BYTES = 1024, MARKER_REGEXP = 29 };

static struct v8_forged forged;

/* What was resolved last. */
static struct {
	char function[4097], file[4097];
} named;

static bool take_line(void *context, const struct runtime_line *line)
{
	(void)context;
	snprintf(named.function, sizeof(named.function), "%.*s", (int)line->function_bytes,
		 line->function);
	snprintf(named.file, sizeof(named.file), "%.*s", (int)line->file_bytes, line->file);
	return true;
}

static struct runtime_frame make_frame(uint64_t object, uint32_t kind, uint64_t address)
{
	return (struct runtime_frame){
		.object = object - V8_TAG,
		.kind = kind | (uint32_t)(address >> 32 & 31) << V8_KIND_BITS,
		.position = (uint32_t)address,
		.check = v8_check_part(v8_forged_check(&forged, address)) |
			 (uint32_t)(address >> 37),
	};
}

static enum runtime_outcome resolve_frame(const struct runtime_frame *frame)
{
	const struct runtime_memory memory = v8_forged_memory(&forged);
	const struct runtime_lines lines = { take_line, NULL };
	struct runtime_process process = { 0 };

	memset(&named, 0, sizeof(named));
	memcpy(process.layout, &forged.layout, sizeof(forged.layout));
	return v8_resolve(&process, &memory, frame, &lines);
}

static void expect(uint64_t object, uint32_t kind, uint64_t address, const char *function)
{
	const struct runtime_frame frame = make_frame(object, kind, address);

	assert_int_equal(resolve_frame(&frame), RUNTIME_NAMED);
	assert_string_equal(named.function, function);
}

/* ---- regular expressions ---- */

static uint64_t make_regexp_code(uint64_t *start_ret)
{
	return v8_forged_code(&forged, REGEXP_KIND, CODE_BYTES, 0, 0, start_ret);
}

static void regexps_have_their_source(void **state)
{
	static const uint16_t text[] = { '[', 0xe4, ']', '+', 0x9577, 0xd83d, 0xde00 };
	uint64_t narrow, wide, data, source;

	(void)state;
	v8_forged_init(&forged);
	source = v8_forged_text(&forged, "(a|b)*c");
	data = v8_forged_regexp(&forged, source, make_regexp_code(&narrow),
				make_regexp_code(&wide));
	for (uint32_t kind = V8_REGEXP; kind <= V8_UNSURE; kind += V8_UNSURE - V8_REGEXP) {
		expect(data, kind, narrow + PLACE, "RegExp: (a|b)*c");
		expect(data, kind, wide + CODE_BYTES - 8, "RegExp: (a|b)*c");
	}
	assert_string_equal(named.file, "");
	source = v8_forged_wide(&forged, text, sizeof(text) / sizeof(*text));
	data = v8_forged_regexp(&forged, source, 0, make_regexp_code(&wide));
	expect(data, V8_REGEXP, wide + PLACE, "RegExp: [ä]+長😀");
}

static void long_sources_are_cut(void **state)
{
	char text[3 * SOURCE_BYTES + 1], shown[SOURCE_BYTES + 32];
	uint64_t start, data;

	(void)state;
	v8_forged_init(&forged);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	// The last character that would fit has two bytes of UTF-8.
	text[SOURCE_BYTES - 1] = '\xe4';
	data = v8_forged_regexp(&forged, v8_forged_text(&forged, text), make_regexp_code(&start),
				0);
	snprintf(shown, sizeof(shown), "RegExp: %.*s...", SOURCE_BYTES - 1, text);
	expect(data, V8_REGEXP, start + PLACE, shown);
}

static void code_may_be_behind_a_wrapper(void **state)
{
	uint64_t start, wrapper, data;

	(void)state;
	v8_forged_init(&forged);
	wrapper = v8_forged_object(&forged, forged.maps[V8_FORGED_BYTES_ARRAY], 16);
	v8_forged_put(&forged, wrapper, 8, make_regexp_code(&start));
	data = v8_forged_regexp(&forged, v8_forged_text(&forged, "a"), wrapper, 0);
	expect(data, V8_REGEXP, start + PLACE, "RegExp: a");
}

static void data_of_other_code_name_nothing(void **state)
{
	static const char some[] = "(regular expression)";
	uint64_t start, other, data, source;
	struct runtime_frame frame;

	(void)state;
	v8_forged_init(&forged);
	source = v8_forged_text(&forged, "a");
	make_regexp_code(&other);
	data = v8_forged_regexp(&forged, source, make_regexp_code(&start), 0);
	expect(data, V8_REGEXP, other + PLACE, some);
	expect(data, V8_UNSURE, other + PLACE, "(V8 code)");
	expect(data, V8_REGEXP, start - 8, some);
	expect(source, V8_REGEXP, start + PLACE, some);
	expect(0x7f0000000001, V8_REGEXP, start + PLACE, some);
	// What is no text.
	v8_forged_put(&forged, data, 24, data);
	expect(data, V8_REGEXP, start + PLACE, some);
	// Older versions' frames say nothing, but their code does.
	forged.layout.values.kind_regexp = REGEXP_KIND;
	expect(data, V8_UNSURE, other + PLACE, some);
	// Other code at the address.
	frame = make_frame(data, V8_REGEXP, start + PLACE);
	*v8_forged_at(&forged, start + PLACE) ^= 1;
	assert_int_equal(resolve_frame(&frame), RUNTIME_GONE);
	frame = make_frame(data, V8_REGEXP, 0x7f0000000000);
	assert_int_equal(resolve_frame(&frame), RUNTIME_UNREADABLE);
}

static uint64_t becoming;
static size_t becomes_before; /* that read */

static void become_another(struct v8_forged *memory, size_t number)
{
	if (number == becomes_before)
		v8_forged_put(memory, becoming, 40, v8_forged_number(-1));
}

static void data_that_change_while_they_are_read_are_gone(void **state)
{
	// From the one that compares them last on.
	enum { LAST_READS = 8 };
	uint64_t start, code;
	struct runtime_frame frame;
	size_t reads;

	(void)state;
	v8_forged_init(&forged);
	code = make_regexp_code(&start);
	becoming = v8_forged_regexp(&forged, v8_forged_text(&forged, "a"), code, 0);
	frame = make_frame(becoming, V8_REGEXP, start + PLACE);
	forged.reads = 0;
	assert_int_equal(resolve_frame(&frame), RUNTIME_NAMED);
	reads = forged.reads;
	forged.before = become_another;
	for (becomes_before = 1; becomes_before <= reads - LAST_READS; becomes_before++) {
		v8_forged_put(&forged, becoming, 40, code);
		forged.reads = 0;
		if (resolve_frame(&frame) == RUNTIME_NAMED)
			assert_string_equal(named.function, "(regular expression)");
	}
}

/* ---- WebAssembly ---- */

/* Without a code section: nobody looks for it. Names of functions 1, 2 and 4. */
static const uint8_t names[] = {
	0, 'a', 's', 'm', 1,    0,    0,    0, // what it begins with
	1, 2,   0,   0,                        // some section
	0, 5,   4,   'n', 'o',  't',  'e',     // another one with a name
	0, 29,  4,   'n', 'a',  'm',  'e',     //
	0, 3,   2,   'm', 'o',                 // the module's name
	1, 17,  3,                             // names of functions
	1, 4,   'm', 'a', 'i',  'n',           //
	2, 5,   'g', 'r', 0xc3, 0xb6, 0xc3,    // no UTF-8
	4, 1,   'f',                           //
};

enum { NATIVE_TREE = 408, NATIVE_NEW = 440 };

static void put_native(const struct v8_forged_wasm *wasm, size_t at, uint64_t word)
{
	memcpy(v8_forged_at(&forged, wasm->native + at), &word, sizeof(word));
}

/* A list of @count codes that are in no tree. */
static void put_new(const struct v8_forged_wasm *wasm, const uint64_t *codes, size_t count)
{
	uint64_t list = v8_forged_room(&forged, count * sizeof(*codes));

	memcpy(v8_forged_at(&forged, list), codes, count * sizeof(*codes));
	put_native(wasm, NATIVE_NEW, list);
	put_native(wasm, NATIVE_NEW + 8, list + count * sizeof(*codes));
}

/* Functions 1 to 4, of which 0 is imported; @starts are their code's. */
static struct v8_forged_wasm make_wasm(const void *bytes, size_t count, uint64_t starts[5])
{
	struct v8_forged_wasm wasm;
	uint64_t codes[5], left, right;

	v8_forged_init(&forged);
	wasm = v8_forged_wasm(&forged, bytes, count, 1, 4);
	for (uint32_t i = 0; i < 5; i++)
		codes[i] = v8_forged_wasm_code(&forged, &wasm, i, CODE_BYTES, &starts[i]);
	left = v8_forged_node(&forged, starts[0], codes[0], 0, 0);
	right = v8_forged_node(&forged, starts[2], codes[2], 0, 0);
	put_native(&wasm, NATIVE_TREE, v8_forged_node(&forged, starts[1], codes[1], left, right));
	put_new(&wasm, &codes[3], 2);
	return wasm;
}

static void functions_have_names_or_numbers(void **state)
{
	struct v8_forged_wasm wasm;
	uint64_t starts[5];

	(void)state;
	wasm = make_wasm(names, sizeof(names), starts);
	for (uint32_t kind = V8_WASM; kind <= V8_UNSURE; kind++) {
		expect(wasm.instance, kind, starts[1] + PLACE, "main");
		assert_string_equal(named.file, "wasm://wasm/0123abcd");
		expect(wasm.instance, kind, starts[2] + CODE_BYTES - 1, "wasm-function[2]");
		expect(wasm.instance, kind, starts[3] + PLACE, "wasm-function[3]");
		expect(wasm.instance, kind, starts[4] + PLACE, "f");
	}
	// Without bytes, or with others.
	wasm = make_wasm("", 0, starts);
	expect(wasm.instance, V8_WASM, starts[1] + PLACE, "wasm-function[1]");
	for (size_t cut = 1; cut < sizeof(names); cut++) {
		wasm = make_wasm(names, cut, starts);
		expect(wasm.instance, V8_WASM, starts[1] + PLACE, "wasm-function[1]");
	}
}

static void code_of_no_function_has_no_name(void **state)
{
	static const char some[] = "(WebAssembly)";
	struct v8_forged_wasm wasm, other;
	uint64_t starts[5], start;

	(void)state;
	wasm = make_wasm(names, sizeof(names), starts);
	// That of an imported function; code in no list; what is before and behind.
	expect(wasm.instance, V8_WASM, starts[0] + PLACE, some);
	v8_forged_wasm_code(&forged, &wasm, 1, CODE_BYTES, &start);
	expect(wasm.instance, V8_WASM, start + PLACE, some);
	expect(wasm.instance, V8_UNSURE, start + PLACE, "(V8 code)");
	expect(wasm.instance, V8_WASM, starts[0] - 8, some);
	// Another module's instance.
	other = v8_forged_wasm(&forged, names, sizeof(names), 1, 4);
	expect(other.instance, V8_WASM, starts[1] + PLACE, some);
	put_native(&other, NATIVE_TREE, 0);
	expect(other.instance, V8_WASM, starts[1] + PLACE, some);
	// A number beyond the module's.
	memcpy(v8_forged_at(&forged, wasm.module + 96), &(uint32_t){ 3 }, 4);
	expect(wasm.instance, V8_WASM, starts[4] + PLACE, some);
	expect(wasm.instance, V8_WASM, starts[3] + PLACE, "wasm-function[3]");
	// A version of which nothing is known.
	forged.layout.wasm = (struct v8_wasm){ 0 };
	expect(wasm.instance, V8_WASM, starts[1] + PLACE, some);
}

static void tables_of_jumps_lead_to_what_is_entered(void **state)
{
	struct v8_forged_wasm wasm;
	uint64_t starts[5], jumps, code;
	int32_t distance;

	(void)state;
	wasm = make_wasm(names, sizeof(names), starts);
	code = v8_forged_wasm_code(&forged, &wasm, UINT32_MAX, 16, &jumps);
	put_new(&wasm, &code, 1);
	distance = (int32_t)(starts[1] - (jumps + 5));
	*v8_forged_at(&forged, jumps) = 0xe9;
	memcpy(v8_forged_at(&forged, jumps + 1), &distance, sizeof(distance));
	expect(wasm.instance, V8_UNSURE, jumps, "main");
	// Whatever has a frame is not about to have one.
	expect(wasm.instance, V8_WASM, jumps, "(WebAssembly)");
	// To itself, or to nowhere.
	distance = -5;
	memcpy(v8_forged_at(&forged, jumps + 1), &distance, sizeof(distance));
	expect(wasm.instance, V8_UNSURE, jumps, "(V8 code)");
	distance = INT32_MIN;
	memcpy(v8_forged_at(&forged, jumps + 1), &distance, sizeof(distance));
	expect(wasm.instance, V8_UNSURE, jumps, "(V8 code)");
}

static void the_beginning_of_memory_is_a_place_of_code(void **state)
{
	struct v8_forged_wasm wasm;
	uint64_t starts[5], node, code;

	(void)state;
	wasm = make_wasm(names, sizeof(names), starts);
	code = v8_forged_wasm_code(&forged, &wasm, 1, CODE_BYTES, &starts[1]);
	starts[1] = forged.start;
	memcpy(v8_forged_at(&forged, code + 8), &starts[1], sizeof(uint64_t));
	node = v8_forged_node(&forged, starts[1], code, 0, 0);
	put_native(&wasm, NATIVE_TREE, node);
	expect(wasm.instance, V8_WASM, starts[1], "main");
}

/* A thousand functions, of which each second one has a name. */
static void names_are_found_among_many(void **state)
{
	enum { MANY = 1000, HEAD = 8 + 1 + 3 + 5 + 1 + 3 + 2 };
	static const uint8_t title[] = { 4, 'n', 'a', 'm', 'e', 1 };
	static uint8_t bytes[HEAD + MANY * 16];
	size_t at = HEAD;
	struct v8_forged_wasm wasm;
	uint64_t start, code;

	(void)state;
	memcpy(bytes, names, 8);
	for (uint32_t i = 0; i < MANY; i += 2) {
		char name[16];
		int length = snprintf(name, sizeof(name), "f%u", i);

		bytes[at++] = (uint8_t)(i | 0x80);
		bytes[at++] = (uint8_t)(i >> 7);
		bytes[at++] = (uint8_t)length;
		memcpy(bytes + at, name, (size_t)length);
		at += (size_t)length;
	}
	memcpy(bytes + 12, title, sizeof(title));
	for (int i = 0; i < 3; i++) {
		bytes[9 + i] = (uint8_t)((at - 12) >> 7 * i) | (i < 2 ? 0x80 : 0);
		bytes[18 + i] = (uint8_t)((at - 21) >> 7 * i) | (i < 2 ? 0x80 : 0);
	}
	bytes[21] = (MANY / 2 & 0x7f) | 0x80;
	bytes[22] = MANY / 2 >> 7;
	v8_forged_init(&forged);
	wasm = v8_forged_wasm(&forged, bytes, at, 0, MANY);
	code = v8_forged_wasm_code(&forged, &wasm, 0, CODE_BYTES, &start);
	put_new(&wasm, &code, 1);
	for (uint32_t i = 0; i < MANY; i++) {
		char name[32];

		snprintf(name, sizeof(name), i & 1 ? "wasm-function[%u]" : "f%u", i);
		memcpy(v8_forged_at(&forged, code + 44), &i, sizeof(i));
		expect(wasm.instance, V8_WASM, start + PLACE, name);
	}
}

static void reading_has_a_bound(void **state)
{
	struct v8_forged_wasm wasm;
	struct runtime_frame frame;
	uint64_t starts[5], node;

	(void)state;
	wasm = make_wasm(names, sizeof(names), starts);
	// A node that is its own child; a list without an end.
	node = v8_forged_node(&forged, 0, 0, 0, 0);
	memcpy(v8_forged_at(&forged, node + 24), &node, sizeof(node));
	put_native(&wasm, NATIVE_TREE, node);
	put_native(&wasm, NATIVE_NEW, 0);
	put_native(&wasm, NATIVE_NEW + 8, forged.start + forged.used);
	v8_forged_room(&forged, 100000);
	put_native(&wasm, NATIVE_NEW + 8, forged.start + forged.used);
	frame = make_frame(wasm.instance, V8_WASM, starts[1] + PLACE);
	forged.reads = forged.read_bytes = 0;
	assert_int_equal(resolve_frame(&frame), RUNTIME_NAMED);
	assert_string_equal(named.function, "(WebAssembly)");
	assert_in_range(forged.reads, 1, 10000);
	assert_in_range(forged.read_bytes, 1, 2 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regexps_have_their_source),
		cmocka_unit_test(long_sources_are_cut),
		cmocka_unit_test(code_may_be_behind_a_wrapper),
		cmocka_unit_test(data_of_other_code_name_nothing),
		cmocka_unit_test(data_that_change_while_they_are_read_are_gone),
		cmocka_unit_test(functions_have_names_or_numbers),
		cmocka_unit_test(code_of_no_function_has_no_name),
		cmocka_unit_test(tables_of_jumps_lead_to_what_is_entered),
		cmocka_unit_test(the_beginning_of_memory_is_a_place_of_code),
		cmocka_unit_test(names_are_found_among_many),
		cmocka_unit_test(reading_has_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
