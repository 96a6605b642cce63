// SPDX-License-Identifier: Apache-2.0
/*
 * Functions, files and lines of Go's function table: in all its layouts, and of tables that lie.
 * That they are those of real programs tests/e2e/go_names_test.py shows.
 */
#include "receiver/ebpf/runtimes/go/lines.h"
#include "receiver/ebpf/unwind/source.h"
#include "tests/unit/ebpf/unwind/made_elf.h"
#include "tests/unit/ebpf/unwind/made_pclntab.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum {
	TEXT = 0x401000,
	TABLE = 0x500000,
	DATA = 0x600000,
	RELOCATIONS = 0x700000,
	DYNAMIC = 0x710000,
	FUNCTION_BYTES = 64,
	MODULEDATA_WORDS = 64,
	BROKEN_ROUNDS = 4000,
};

/* How a moduledata has its addresses. */
enum made_module { IN_DATA, IN_RELOCATIONS, NOWHERE };

/* The moduledata is that of Go 1.27. */
static bool is_127;
/* The table has no section of its own. */
static bool is_among_data;
static struct made_elf elf;
static struct unwind_source source;

/* main.outer has main.middle inlined at 16 to 40, and main.inner in that at 24 to 32. */
static const struct made_source outer = {
	.start_line = 10,
	.files = { { 24, 0 }, { 32, 1 }, { FUNCTION_BYTES, 0 } },
	.lines = { { 8, 11 },
		   { 16, 12 },
		   { 24, 31 },
		   { 32, 51 },
		   { 40, 32 },
		   { FUNCTION_BYTES, 13 } },
	.inlined = { { 16, -1 }, { 24, 0 }, { 32, 1 }, { 40, 0 }, { FUNCTION_BYTES, -1 } },
	.calls = { { "main.middle", 9, 0, 30 }, { "main.inner[go.shape.int]", 17, 0, 50 } },
	.call_count = 2,
};

/* A wrapper, with main.value.run inlined at 16 to 32. */
static struct made_source wrapper = {
	.start_line = 1,
	.files = { { FUNCTION_BYTES, 1 } },
	.lines = { { 16, 1 }, { 32, 20 }, { FUNCTION_BYTES, 1 } },
	.inlined = { { 16, -1 }, { 32, 0 }, { FUNCTION_BYTES, -1 } },
	.calls = { { "main.value.run", 4, 0, 20 } },
	.call_count = 1,
};

static const struct made_source plain = {
	.start_line = 70,
	.files = { { FUNCTION_BYTES, 0 } },
	.lines = { { FUNCTION_BYTES, 71 } },
};

static const struct made_function functions[] = {
	{ "main.outer", TEXT, 0, { { FUNCTION_BYTES, 8 } }, &outer },
	{ "main.(*value).run", TEXT + FUNCTION_BYTES, 0, { { FUNCTION_BYTES, 8 } }, &wrapper },
	{ "runtime.panicwrap", TEXT + 2 * FUNCTION_BYTES, 0, { { FUNCTION_BYTES, 8 } }, &plain },
	{ "main.bare", TEXT + 3 * FUNCTION_BYTES, 0, { { FUNCTION_BYTES, 8 } }, NULL },
};

enum { FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

/* The words of a moduledata that matter: the table, the first pc, the text, gofunc. */
static void fill_module(enum pclntab_version version, uint64_t function_data,
			uint64_t module[MODULEDATA_WORDS])
{
	module[0] = TABLE;
	module[20] = module[22] = TEXT;
	module[is_127 ? 43 : version == PCLNTAB_120 ? 40 : 38] = function_data;
	if (is_127)
		module[44] = function_data + 1024;
}

static void add_module(enum pclntab_version version, uint64_t function_data, enum made_module how)
{
	uint64_t module[MODULEDATA_WORDS] = { 0 }, empty[MODULEDATA_WORDS] = { 0 };
	Elf64_Rela relocations[5] = { 0 };
	Elf64_Dyn dynamic[3] = { { DT_RELA, { RELOCATIONS } },
				 { DT_RELASZ, { sizeof(relocations) } },
				 { DT_NULL, { 0 } } };
	size_t count = 0;

	fill_module(version, function_data, module);
	made_elf_add(&elf, ".noptrdata", DATA, how == IN_DATA ? module : empty, sizeof(module),
		     SHF_WRITE);
	if (how != IN_RELOCATIONS)
		return;
	for (size_t i = 0; i < MODULEDATA_WORDS; i++)
		if (module[i])
			relocations[count++] =
				(Elf64_Rela){ DATA + 8 * i, R_X86_64_RELATIVE, (int64_t)module[i] };
	assert_int_equal(count, is_127 ? 5 : 4);
	made_elf_add(&elf, ".rela.dyn", RELOCATIONS, relocations, sizeof(relocations), 0);
	made_elf_add_typed(&elf, ".dynamic", DYNAMIC, dynamic, sizeof(dynamic), 0, PT_DYNAMIC);
}

static void make_with(enum pclntab_version version, enum made_module how, bool with_sections)
{
	static uint8_t table[MADE_PCLNTAB_BYTES];
	uint8_t text[FUNCTIONS * FUNCTION_BYTES] = { 0x90 };
	uint64_t function_data;
	size_t length;

	wrapper.id = version == PCLNTAB_116 ? 22 : 21;
	length = made_pclntab_write_sources(table, version, functions, FUNCTIONS,
					    TEXT + sizeof(text), TEXT, TABLE, &function_data);
	made_elf_begin(&elf, EM_X86_64);
	made_elf_add(&elf, ".text", TEXT, text, sizeof(text), SHF_EXECINSTR);
	if (is_among_data) {
		static uint8_t data[64 + MADE_PCLNTAB_BYTES];

		memcpy(data + 64, table, length);
		made_elf_add(&elf, ".data.rel.ro", TABLE - 64, data, 64 + length, SHF_WRITE);
		made_elf_add(&elf, ".go.buildinfo", DATA + 0x1000, "\xff Go buildinf:", 14,
			     SHF_WRITE);
	} else {
		made_elf_add(&elf, ".gopclntab", TABLE, table, length, 0);
	}
	add_module(version, function_data, how);
	made_elf_finish(&elf, with_sections);
	unwind_source_init_functions(&source, &elf.view);
}

/* ---- what is given ---- */

struct given {
	char text[1024];
	size_t lines;
	bool full; /* takes no more */
};

static bool take(void *context, const struct runtime_line *line)
{
	struct given *given = context;
	size_t at = strlen(given->text);

	assert_true(given->lines < RUNTIME_LINES && line->function_bytes);
	given->lines++;
	snprintf(given->text + at, sizeof(given->text) - at, "%s%.*s %.*s:%u (%u)", at ? "; " : "",
		 (int)line->function_bytes, line->function, (int)line->file_bytes,
		 line->file ? line->file : "", line->line, line->start_line);
	return !given->full;
}

static bool lines_at(uint64_t address, struct given *given, uint32_t *trace)
{
	const struct runtime_file file = { .view = &elf.view, .source = &source };
	const struct runtime_lines to = { take, given };

	return go_lines(&file, address, &to, trace);
}

static void expect(uint64_t address, const char *wanted, uint32_t wanted_trace)
{
	struct given given = { 0 };
	uint32_t trace;

	assert_true(lines_at(address, &given, &trace));
	assert_string_equal(given.text, wanted);
	assert_int_equal(trace, wanted_trace);
}

/* ---- tests ---- */

static void expect_all(bool has_starts, bool has_calls)
{
	const char *inner = has_starts ? "main.inner[...] /src/b.go:51 (50); "
					 "main.middle /src/a.go:31 (30); "
					 "main.outer /src/a.go:12 (10)"
				       : "main.inner[...] /src/b.go:51 (0); "
					 "main.middle /src/a.go:31 (0); "
					 "main.outer /src/a.go:12 (0)";

	if (!has_calls)
		inner = has_starts ? "main.outer /src/b.go:51 (10)" : "main.outer /src/b.go:51 (0)";
	expect(TEXT, has_starts ? "main.outer /src/a.go:11 (10)" : "main.outer /src/a.go:11 (0)",
	       0);
	expect(TEXT + 24, inner, 0);
	expect(TEXT + 31, inner, 0);
	expect(TEXT + 3 * FUNCTION_BYTES, has_starts ? "main.bare :0 (1)" : "main.bare :0 (0)", 0);
}

static void test_every_layout_says_the_same(void **state)
{
	(void)state;
	for (enum pclntab_version version = PCLNTAB_116; version <= PCLNTAB_120; version++) {
		make_with(version, IN_DATA, true);
		expect_all(version == PCLNTAB_120, true);
	}
}

static void test_a_file_without_section_headers_says_the_same(void **state)
{
	(void)state;
	make_with(PCLNTAB_120, IN_DATA, false);
	expect_all(true, true);
}

/* As other linkers leave it in position-independent programs. */
static void test_a_table_among_other_data_says_the_same(void **state)
{
	(void)state;
	is_among_data = true;
	for (enum pclntab_version version = PCLNTAB_116; version <= PCLNTAB_120; version++) {
		make_with(version, IN_DATA, true);
		expect_all(version == PCLNTAB_120, true);
	}
	is_among_data = false;
}

static void test_inlined_calls_are_found_by_relocations(void **state)
{
	(void)state;
	for (enum pclntab_version version = PCLNTAB_118; version <= PCLNTAB_120; version++) {
		make_with(version, IN_RELOCATIONS, true);
		expect_all(version == PCLNTAB_120, true);
	}
}

/* Its layout has words more, which nothing but their values tells. */
static void test_the_moduledata_of_1_27_is_told_by_what_it_has(void **state)
{
	static const enum made_module how[] = { IN_DATA, IN_RELOCATIONS };

	(void)state;
	is_127 = true;
	for (size_t i = 0; i < 2; i++) {
		make_with(PCLNTAB_120, how[i], true);
		expect_all(true, true);
	}
	is_127 = false;
}

static void test_without_a_moduledata_there_are_no_inlined_calls(void **state)
{
	(void)state;
	make_with(PCLNTAB_120, NOWHERE, true);
	expect_all(true, false);
}

static void test_wrappers_are_left_out_unless_they_are_alone(void **state)
{
	(void)state;
	make_with(PCLNTAB_120, IN_DATA, true);
	expect(TEXT + FUNCTION_BYTES, "main.(*value).run /src/b.go:1 (1)", RUNTIME_WRAPPER);
	expect(TEXT + FUNCTION_BYTES + 16, "main.value.run /src/b.go:20 (20)", 0);
	expect(TEXT + 2 * FUNCTION_BYTES, "runtime.panicwrap /src/a.go:71 (70)",
	       RUNTIME_SHOWS_WRAPPERS);
}

static void test_other_places_have_no_lines(void **state)
{
	struct given given = { 0 };
	uint32_t trace;

	(void)state;
	make_with(PCLNTAB_120, IN_DATA, true);
	assert_false(lines_at(TEXT - 1, &given, &trace));
	assert_false(lines_at(TEXT + FUNCTIONS * FUNCTION_BYTES, &given, &trace));
	assert_false(lines_at(0, &given, &trace));
	assert_false(lines_at(UINT64_MAX, &given, &trace));
	assert_int_equal(given.lines, 0);
	given.full = true;
	assert_false(lines_at(TEXT, &given, &trace));
}

static void test_calls_in_a_circle_end(void **state)
{
	struct made_source circle = outer;
	struct made_function lying = functions[0];
	static uint8_t table[MADE_PCLNTAB_BYTES];
	uint8_t text[FUNCTION_BYTES] = { 0x90 };
	struct given given = { 0 };
	uint64_t function_data;
	uint32_t trace;
	size_t length;

	(void)state;
	circle.calls[0].parent = 24;
	circle.calls[1].parent = 16;
	lying.source = &circle;
	length = made_pclntab_write_sources(table, PCLNTAB_120, &lying, 1, TEXT + FUNCTION_BYTES,
					    TEXT, TABLE, &function_data);
	made_elf_begin(&elf, EM_X86_64);
	made_elf_add(&elf, ".text", TEXT, text, sizeof(text), SHF_EXECINSTR);
	made_elf_add(&elf, ".gopclntab", TABLE, table, length, 0);
	add_module(PCLNTAB_120, function_data, IN_DATA);
	made_elf_finish(&elf, true);
	unwind_source_init_functions(&source, &elf.view);
	assert_false(lines_at(TEXT + 24, &given, &trace));
}

/* With some bytes of the table changed it says something else, or nothing. */
static void test_broken_tables_end(void **state)
{
	static struct made_elf whole;
	uint32_t random = 1;

	(void)state;
	make_with(PCLNTAB_120, IN_DATA, true);
	whole = elf;
	for (size_t round = 0; round < BROKEN_ROUNDS; round++) {
		memcpy(elf.bytes, whole.bytes, whole.size);
		for (size_t i = 0; i < 1 + round % 4; i++) {
			random = random * 1664525 + 1013904223;
			elf.bytes[random % whole.size] = (uint8_t)(random >> 24);
		}
		if (!elf_view_init(&elf.view, elf.bytes, elf.size))
			continue;
		unwind_source_init_functions(&source, &elf.view);
		for (uint64_t at = 0; at < FUNCTIONS * FUNCTION_BYTES; at += 7) {
			struct given given = { 0 };
			uint32_t trace;

			if (lines_at(TEXT + at, &given, &trace))
				assert_true(given.lines > 0 && trace < RUNTIME_TRACES);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_layout_says_the_same),
		cmocka_unit_test(test_a_file_without_section_headers_says_the_same),
		cmocka_unit_test(test_a_table_among_other_data_says_the_same),
		cmocka_unit_test(test_inlined_calls_are_found_by_relocations),
		cmocka_unit_test(test_the_moduledata_of_1_27_is_told_by_what_it_has),
		cmocka_unit_test(test_without_a_moduledata_there_are_no_inlined_calls),
		cmocka_unit_test(test_wrappers_are_left_out_unless_they_are_alone),
		cmocka_unit_test(test_other_places_have_no_lines),
		cmocka_unit_test(test_calls_in_a_circle_end),
		cmocka_unit_test(test_broken_tables_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
