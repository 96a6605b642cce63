// SPDX-License-Identifier: Apache-2.0
/* All tables of one file together: whose word holds, and files that have some of them only. */
#include "made_elf.h"
#include "made_pclntab.h"
#include "rules.h"

#include "receiver/ebpf/unwind/source.h"
#include "tests/unit/ebpf/symbols/elf_files.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cmocka.h>

static struct rules rules;
static struct made_elf elf;

static void visit(const struct unwind_source *source, uint64_t start, uint64_t limit)
{
	rules_begin(&rules, start);
	unwind_source_visit(source, start, limit, rules_take, &rules);
	assert_int_equal(rules.at, limit);
}

struct opened {
	struct elf_file file;
	struct elf_view view;
	struct unwind_source source;
};

static void open_file(struct opened *opened, const char *path, bool with_sections)
{
	elf_file_read(&opened->file, path);
	if (!with_sections)
		elf_file_drop_sections(&opened->file);
	assert_true(elf_view_init(&opened->view, opened->file.bytes, opened->file.size));
	assert_int_equal(unwind_source_init(&opened->source, &opened->view), 0);
}

static void close_file(struct opened *opened)
{
	unwind_source_deinit(&opened->source);
	elf_file_deinit(&opened->file);
}

/* ---- two ways to say the same ---- */

static void compare(const struct unwind_source *a, const struct unwind_source *b, uint64_t start,
		    uint64_t limit)
{
	static struct rules first;

	visit(a, start, limit);
	first = rules;
	visit(b, start, limit);
	for (uint64_t at = start; at < limit; at++)
		assert_rule_equal(rules_at(&rules, at), rules_at(&first, at));
}

static void test_without_section_headers_everything_is_found(void **state)
{
	static const char *const paths[] = { UNWIND_FILES "/plt.so", UNWIND_FILES "/ibt.so" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct opened with, without;
		struct elf_piece text;

		open_file(&with, paths[i], true);
		open_file(&without, paths[i], false);
		text = elf_view_section(&with.view, ".text");
		assert_true(text.length > 64);
		assert_int_equal(without.source.eh_frame.count, with.source.eh_frame.count);
		compare(&with.source, &without.source, text.address, text.address + text.length);
		close_file(&with);
		close_file(&without);
	}
}

/* The same code, told by .debug_frame, also compressed, instead of .eh_frame. */
static void test_debug_frame_says_what_eh_frame_says(void **state)
{
	struct opened eh_frame, debug_frame, compressed;
	struct elf_piece text;

	(void)state;
	open_file(&eh_frame, UNWIND_FILES "/eh_frame.so", true);
	open_file(&debug_frame, UNWIND_FILES "/debug_frame.so", true);
	open_file(&compressed, UNWIND_FILES "/debug_frame_z.so", true);
	assert_int_equal(debug_frame.source.eh_frame.count, 0);
	assert_true(debug_frame.source.debug_frame.count >= 4);
	assert_non_null(compressed.source.inflated);
	assert_int_equal(compressed.source.inflated_bytes,
			 elf_view_section(&debug_frame.view, ".debug_frame").length);
	assert_int_equal(compressed.source.debug_frame.count, debug_frame.source.debug_frame.count);
	text = elf_view_section(&debug_frame.view, ".text");
	compare(&debug_frame.source, &compressed.source, text.address, text.address + text.length);
	// The first file's text lies elsewhere, but is the same.
	visit(&debug_frame.source, text.address, text.address + text.length);
	for (size_t i = 0; i < rules.count; i++) {
		static struct rules other;
		uint64_t start = elf_view_section(&eh_frame.view, ".text").address;
		uint64_t at = rules.items[i].start - text.address + start;

		rules_begin(&other, at);
		unwind_source_visit(&eh_frame.source, at, at + 1, rules_take, &other);
		assert_rule_equal(&other.items[0].rule, &rules.items[i].rule);
	}
	close_file(&eh_frame);
	close_file(&debug_frame);
	close_file(&compressed);
}

static void expect_unreadable(uint32_t type, uint64_t size, const void *body, size_t length)
{
	uint8_t section[256];
	Elf64_Chdr header = { .ch_type = type, .ch_size = size, .ch_addralign = 1 };
	struct unwind_source source;

	memcpy(section, &header, sizeof(header));
	memcpy(section + sizeof(header), body, length);
	made_elf_begin(&elf, EM_X86_64);
	made_elf_add(&elf, ".text", 0x1000, "\xc3", 1, SHF_EXECINSTR);
	made_elf_add(&elf, ".debug_frame", 0, section, sizeof(header) + length, SHF_COMPRESSED);
	made_elf_finish(&elf, true);
	assert_int_equal(unwind_source_init(&source, &elf.view), 0);
	assert_true(source.debug_frame_unreadable);
	assert_null(source.inflated);
	assert_int_equal(source.inflated_bytes, 0);
	assert_true(unwind_source_is_empty(&source));
	unwind_source_deinit(&source);
}

static void test_what_cannot_be_inflated_is_told(void **state)
{
	static const uint8_t empty[] = { 0x78, 0x9c, 0x03, 0, 0, 0, 0, 1 };

	(void)state;
	expect_unreadable(ELFCOMPRESS_ZLIB + 1, 16, empty, sizeof(empty)); // zstd
	expect_unreadable(ELFCOMPRESS_ZLIB, 1ull << 40, empty, sizeof(empty));
	expect_unreadable(ELFCOMPRESS_ZLIB, 16, "not zlib", 8);
	expect_unreadable(ELFCOMPRESS_ZLIB, 0, empty, sizeof(empty));
}

/* ---- precedence ---- */

static const uint8_t restorer[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };

static void test_a_table_holds_before_a_stub(void **state)
{
	enum { TEXT = 0x401000, FUNCTION_BYTES = 64 };
	const struct made_function functions[] = {
		{ "main.odd", TEXT, 0, { { FUNCTION_BYTES, 0 } } },
	};
	uint8_t text[2 * FUNCTION_BYTES] = { 0 }, table[MADE_PCLNTAB_BYTES];
	struct unwind_source source;
	size_t length;

	(void)state;
	// The bytes of a signal return inside of a Go function, and outside.
	memcpy(text + 16, restorer, sizeof(restorer));
	memcpy(text + FUNCTION_BYTES + 16, restorer, sizeof(restorer));
	length = made_pclntab_write(table, PCLNTAB_120, 1, functions, 1, TEXT + FUNCTION_BYTES,
				    TEXT, true);
	made_elf_begin(&elf, EM_X86_64);
	made_elf_add(&elf, ".text", TEXT, text, sizeof(text), SHF_EXECINSTR);
	made_elf_add(&elf, ".gopclntab", 0x500000, table, length, 0);
	made_elf_finish(&elf, true);
	assert_int_equal(unwind_source_init(&source, &elf.view), 0);
	assert_false(unwind_source_is_empty(&source));
	visit(&source, TEXT, TEXT + sizeof(text));
	assert_rule_kind(rules_at(&rules, TEXT + 16), UNWIND_CFA_REGISTER);
	assert_rule_kind(rules_at(&rules, TEXT + FUNCTION_BYTES + 16), UNWIND_CFA_DEREFERENCED);
	assert_rule_kind(rules_at(&rules, TEXT + FUNCTION_BYTES + 40), UNWIND_CFA_UNKNOWN);
	unwind_source_deinit(&source);
}

/* ---- files with little in them ---- */

static bool is_empty(const void *text, size_t length)
{
	struct unwind_source source;
	bool empty;

	made_elf_begin(&elf, EM_X86_64);
	made_elf_add(&elf, ".text", 0x1000, text, length, SHF_EXECINSTR);
	made_elf_finish(&elf, true);
	assert_int_equal(unwind_source_init(&source, &elf.view), 0);
	empty = unwind_source_is_empty(&source);
	unwind_source_deinit(&source);
	return empty;
}

static void test_a_file_without_tables_is_empty_unless_it_has_stubs(void **state)
{
	uint8_t text[256] = { 0 };

	(void)state;
	assert_true(is_empty(text, sizeof(text)));
	memcpy(text + 100, restorer, sizeof(restorer));
	assert_false(is_empty(text, sizeof(text)));
}

static void test_a_machine_we_do_not_know_has_no_rules(void **state)
{
	struct unwind_source source;

	(void)state;
	made_elf_begin(&elf, EM_RISCV);
	made_elf_add(&elf, ".text", 0x1000, "\xc3", 1, SHF_EXECINSTR);
	made_elf_finish(&elf, true);
	assert_int_equal(unwind_source_init(&source, &elf.view), 0);
	assert_true(unwind_source_is_empty(&source));
	visit(&source, 0x1000, 0x1001);
	assert_rule_kind(rules_at(&rules, 0x1000), UNWIND_CFA_UNKNOWN);
	unwind_source_deinit(&source);
}

static void test_the_vdso_has_a_table(void **state)
{
	const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR); // NOLINT
	struct unwind_source source;
	struct elf_view view;
	uint64_t known = 0, start, limit;

	(void)state;
	if (!vdso)
		skip();
	assert_true(elf_view_init(&view, vdso, 2 * 4096));
	assert_int_equal(view.segment_count, 1);
	assert_true(view.segments[0].executable);
	assert_int_equal(unwind_source_init(&source, &view), 0);
	assert_false(unwind_source_is_empty(&source));
	assert_true(source.eh_frame.count >= 4); // clock_gettime, gettimeofday, time, getcpu
	start = view.segments[0].address;
	limit = start + view.segments[0].file_bytes;
	visit(&source, start, limit);
	for (size_t i = 0; i < rules.count; i++)
		if (rules.items[i].rule.cfa == UNWIND_CFA_REGISTER)
			known += rules.items[i].limit - rules.items[i].start;
	assert_true(known > 512);
	unwind_source_deinit(&source);
}

/* ---- files of this machine ---- */

#if defined(__x86_64__)
static void test_the_dynamic_linkers_entry_is_the_end(void **state)
{
	struct opened opened;

	(void)state;
	open_file(&opened, "/lib64/ld-linux-x86-64.so.2", true);
	visit(&opened.source, opened.view.entry, opened.view.entry + 16);
	assert_rule_kind(rules_at(&rules, opened.view.entry), UNWIND_CFA_END);
	assert_rule_kind(rules_at(&rules, opened.view.entry + 15), UNWIND_CFA_END);
	close_file(&opened);
}

static void test_who_clones_has_a_caller(void **state)
{
	struct opened opened;
	struct unwind_rule called = rule_of(AMD64_SP, 8, -8);
	uint64_t clone;
	size_t found = 0;

	(void)state;
	called.new_thread = 1;
	open_file(&opened, "/lib/x86_64-linux-gnu/libc.so.6", true);
	clone = elf_view_function(&opened.view, "clone");
	assert_true(clone != 0);
	visit(&opened.source, clone, clone + 128);
	for (uint64_t at = clone; at < clone + 128; at++) {
		struct elf_piece code = elf_view_code(&opened.view, at, 2);

		if (code.length < 2 || code.bytes[0] != 0x0f || code.bytes[1] != 0x05 || found++)
			continue;
		assert_rule_equal(rules_at(&rules, at), &called);
		assert_rule_equal(rules_at(&rules, at + 1), &called);
	}
	assert_true(found);
	close_file(&opened);
}

/* musl is built without tables: all that is known of it is known by its form. */
static void test_musls_outermost_calls_and_signal_return_are_found(void **state)
{
	const char *path = "/usr/lib/x86_64-linux-musl/libc.so";
	size_t ends = 0, signals = 0;
	struct opened opened;
	struct elf_piece text;

	(void)state;
	if (access(path, R_OK))
		skip();
	open_file(&opened, path, true);
	text = elf_view_section(&opened.view, ".text");
	for (uint64_t at = text.address; at < text.address + text.length; at += 4096) {
		uint64_t left = text.address + text.length - at;

		visit(&opened.source, at, at + (left < 4096 ? left : 4096));
		for (size_t i = 0; i < rules.count; i++) {
			ends += rules.items[i].rule.cfa == UNWIND_CFA_END;
			signals += rules.items[i].rule.signal;
		}
	}
	// main(), a thread's function by either interface, a new thread itself, the entry.
	assert_int_equal(ends, 5);
	assert_int_equal(signals, 1);
	close_file(&opened);
}
#endif

static void test_this_program_has_no_rule_that_is_unsupported(void **state)
{
	struct opened opened;
	uint64_t known = 0;

	(void)state;
	open_file(&opened, "/proc/self/exe", true);
	for (size_t i = 0; i < opened.view.segment_count; i++) {
		const struct elf_view_segment *segment = &opened.view.segments[i];

		for (uint64_t at = segment->address;
		     segment->executable && at < segment->address + segment->file_bytes;
		     at += 1024) {
			visit(&opened.source, at, at + 1024);
			for (size_t j = 0; j < rules.count; j++) {
				assert_int_equal(rules.items[j].rule.unsupported, 0);
				if (rules.items[j].rule.cfa != UNWIND_CFA_UNKNOWN)
					known += rules.items[j].limit - rules.items[j].start;
			}
		}
	}
	assert_true(known > 4096);
	close_file(&opened);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_section_headers_everything_is_found),
		cmocka_unit_test(test_debug_frame_says_what_eh_frame_says),
		cmocka_unit_test(test_what_cannot_be_inflated_is_told),
		cmocka_unit_test(test_a_table_holds_before_a_stub),
		cmocka_unit_test(test_a_file_without_tables_is_empty_unless_it_has_stubs),
		cmocka_unit_test(test_a_machine_we_do_not_know_has_no_rules),
		cmocka_unit_test(test_the_vdso_has_a_table),
#if defined(__x86_64__)
		cmocka_unit_test(test_the_dynamic_linkers_entry_is_the_end),
		cmocka_unit_test(test_who_clones_has_a_caller),
		cmocka_unit_test(test_musls_outermost_calls_and_signal_return_are_found),
#endif
		cmocka_unit_test(test_this_program_has_no_rule_that_is_unsupported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
