// SPDX-License-Identifier: Apache-2.0
/*
 * Linkage tables without call frame information: those of GNU ld, which can write theirs with and
 * without, against what it says itself; those of other linkers from their documented bytes.
 */
#include "made_elf.h"
#include "rules.h"

#include "receiver/ebpf/unwind/cfi.h"
#include "receiver/ebpf/unwind/stubs.h"
#include "tests/unit/ebpf/symbols/elf_files.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct rules ours, theirs;
static struct made_elf elf;

/* ---- GNU ld ---- */

static void visit_stubs(const struct elf_view *view, const struct elf_piece *section)
{
	struct stubs stubs;

	stubs_init(&stubs, view);
	rules_begin(&ours, section->address);
	stubs_visit(&stubs, section->address, section->address + section->length, rules_take,
		    &ours);
}

/* What a rule makes of an address, in offsets from the stack pointer there. */
static int32_t cfa_at(const struct unwind_rule *rule, uint64_t address)
{
	assert_int_equal(rule->cfa_register, AMD64_SP);
	assert_int_equal(rule->ra, UNWIND_AT_CFA);
	assert_int_equal(rule->ra_offset, -8);
	assert_int_equal(rule->fp, UNWIND_SAME);
	if (rule->cfa == UNWIND_CFA_PLT)
		return rule->cfa_offset + ((int32_t)(address & 15) >= rule->cfa_addend ? 8 : 0);
	assert_rule_kind(rule, UNWIND_CFA_REGISTER);
	return rule->cfa_offset;
}

/* In two files that differ in that one of them describes its linkage table. */
static void compare_section(const struct elf_view *with, const struct elf_view *without,
			    const char *name)
{
	struct elf_piece described = elf_view_section(with, name);
	struct elf_piece bare = elf_view_section(without, name);
	struct cfi cfi;

	assert_non_null(described.bytes);
	assert_int_equal(described.length, bare.length);
	visit_stubs(without, &bare);
	assert_int_equal(cfi_init_eh_frame(&cfi, with), 0);
	rules_begin(&theirs, described.address);
	cfi_visit(&cfi, described.address, described.address + described.length,
		  &(struct effort){ EFFORT_PAGE }, rules_take, &theirs);
	cfi_deinit(&cfi);
	for (uint64_t i = 0; i < bare.length; i++)
		assert_int_equal(
			cfa_at(rules_at(&ours, bare.address + i), bare.address + i),
			cfa_at(rules_at(&theirs, described.address + i), described.address + i));
}

static void compare_files(const char *with, const char *without, const char *const *names)
{
	struct elf_file files[2];
	struct elf_view views[2];

	elf_file_read(&files[0], with);
	elf_file_read(&files[1], without);
	for (int i = 0; i < 2; i++)
		assert_true(elf_view_init(&views[i], files[i].bytes, files[i].size));
	for (; *names; names++)
		compare_section(&views[0], &views[1], *names);
	for (int i = 0; i < 2; i++)
		elf_file_deinit(&files[i]);
}

static void test_a_table_of_gnu_ld_is_as_it_says_itself(void **state)
{
	(void)state;
	compare_files(UNWIND_FILES "/plt.so", UNWIND_FILES "/plt_bare.so",
		      (const char *const[]){ ".plt", NULL });
}

static void test_a_table_with_branch_tracking_is_as_gnu_ld_says(void **state)
{
	(void)state;
	compare_files(UNWIND_FILES "/ibt.so", UNWIND_FILES "/ibt_bare.so",
		      (const char *const[]){ ".plt", ".plt.sec", NULL });
}

static void expect_without_sections(const char *path)
{
	struct elf_piece section;
	struct elf_file file;
	struct elf_view view;

	elf_file_read(&file, path);
	assert_true(elf_view_init(&view, file.bytes, file.size));
	section = elf_view_section(&view, ".plt");
	elf_file_drop_sections(&file);
	assert_true(elf_view_init(&view, file.bytes, file.size));
	visit_stubs(&view, &section);
	// The header is entered with one word pushed and pushes another.
	assert_int_equal(cfa_at(rules_at(&ours, section.address), section.address), 16);
	for (uint64_t i = 6; i < 16; i++)
		assert_int_equal(cfa_at(rules_at(&ours, section.address + i), i), 24);
	for (uint64_t at = section.address + 16; at < section.address + section.length; at += 16) {
		assert_int_equal(cfa_at(rules_at(&ours, at), at), 8);
		assert_int_equal(cfa_at(rules_at(&ours, at + 15), at + 15), 16);
	}
	elf_file_deinit(&file);
}

static void test_without_sections_the_relocations_lead_to_the_table(void **state)
{
	(void)state;
	expect_without_sections(UNWIND_FILES "/plt_bare.so");
	expect_without_sections(UNWIND_FILES "/ibt_bare.so");
}

/* ---- others, by their bytes ---- */

enum { PLT = 0x1000 };

static void visit_made(uint16_t machine, const char *name, const void *bytes, size_t length)
{
	struct elf_piece section = { .address = PLT, .length = length };

	made_elf_begin(&elf, machine);
	made_elf_add(&elf, name, PLT, bytes, length, SHF_EXECINSTR);
	made_elf_finish(&elf, true);
	visit_stubs(&elf.view, &section);
}

static void expect_depths(const int32_t *depths, size_t length)
{
	for (size_t i = 0; i < length; i++)
		assert_int_equal(cfa_at(rules_at(&ours, PLT + i), PLT + i), depths[i]);
}

static void test_mold(void **state)
{
	static const uint8_t bytes[48] = {
		0xf3, 0x0f, 0x1e, 0xfa,          // endbr64
		0x41, 0x53,                      // push %r11
		0xff, 0x35, 1,    2,    3,    4, // push GOTPLT+8(%rip)
		0xff, 0x25, 1,    2,    3,    4, // jmp *GOTPLT+16(%rip)
		0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
		0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xf3, 0x0f, 0x1e, 0xfa, // endbr64
		0x41, 0xbb, 0,    0,    0,    0,                      // mov $index, %r11d
		0xff, 0x25, 1,    2,    3,    4,                      // jmp *sym@GOTPLT(%rip)
	};
	int32_t depths[48];

	(void)state;
	for (size_t i = 0; i < 48; i++)
		depths[i] = i < 6 ? 8 : i < 12 ? 16 : i < 32 ? 24 : 8;
	visit_made(EM_X86_64, ".plt", bytes, sizeof(bytes));
	expect_depths(depths, 48);
}

static void test_entries_that_are_bound_at_start(void **state)
{
	static const uint8_t bytes[24] = {
		0xff, 0x25, 1, 2, 3, 4, 0x66, 0x90, // jmp *sym@GOT(%rip); xchg %ax, %ax
		0xff, 0x25, 1, 2, 3, 4, 0x66, 0x90, //
		0xff, 0x25, 1, 2, 3, 4, 0x66, 0x90, //
	};
	int32_t depths[24];

	(void)state;
	for (size_t i = 0; i < 24; i++)
		depths[i] = 8;
	visit_made(EM_X86_64, ".plt.got", bytes, sizeof(bytes));
	expect_depths(depths, 24);
}

static void test_code_that_is_no_linkage_stays_unknown(void **state)
{
	uint8_t bytes[64];

	(void)state;
	memset(bytes, 0x50, sizeof(bytes)); // push %rax
	visit_made(EM_X86_64, ".plt", bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_rule_kind(rules_at(&ours, PLT + i), UNWIND_CFA_UNKNOWN);
	// Two pushes are more than a rule can say.
	memset(bytes, 0x68, 10);
	memset(bytes + 10, 0x90, sizeof(bytes) - 10);
	visit_made(EM_X86_64, ".plt.sec", bytes, sizeof(bytes));
	assert_rule_kind(rules_at(&ours, PLT), UNWIND_CFA_UNKNOWN);
	assert_rule_kind(rules_at(&ours, PLT + 16), UNWIND_CFA_REGISTER);
}

static void test_arm64(void **state)
{
	static const uint32_t words[12] = {
		0xa9bf7bf0, // stp x16, x30, [sp, #-16]!
		0x90000090, 0xf947fe11, 0x913fe210, 0xd61f0220, 0xd503201f, 0xd503201f,
		0xd503201f, 0x90000090, 0xf9400211, 0x91000210, 0xd61f0220,
	};
	const struct unwind_rule leaf = { .cfa = UNWIND_CFA_REGISTER, .cfa_register = ARM64_SP };
	const struct unwind_rule pushed = rule_of(ARM64_SP, 16, -8);

	(void)state;
	visit_made(EM_AARCH64, ".plt", words, sizeof(words));
	assert_rule_equal(rules_at(&ours, PLT), &leaf);
	for (uint64_t at = PLT + 4; at < PLT + 32; at++)
		assert_rule_equal(rules_at(&ours, at), &pushed);
	for (uint64_t at = PLT + 32; at < PLT + 48; at++)
		assert_rule_equal(rules_at(&ours, at), &leaf);
}

/* A large table has a page of rows at most, since all of its entries have one rule. */
static void test_a_large_table_is_of_few_rules(void **state)
{
	static uint8_t bytes[32 << 10];
	size_t changes = 0;

	(void)state;
	for (size_t at = 0; at < sizeof(bytes); at += 16)
		memcpy(bytes + at, "\xff\x25\1\2\3\4\x68\0\0\0\0\xe9\0\0\0", 16);
	visit_made(EM_X86_64, ".plt", bytes, sizeof(bytes));
	for (size_t i = 1; i < ours.count; i++)
		changes += memcmp(&ours.items[i].rule, &ours.items[i - 1].rule,
				  sizeof(struct unwind_rule)) != 0;
	assert_int_equal(changes, 0);
	assert_int_equal(ours.items[0].rule.cfa, UNWIND_CFA_PLT);
	assert_int_equal(ours.items[0].rule.cfa_addend, 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_table_of_gnu_ld_is_as_it_says_itself),
		cmocka_unit_test(test_a_table_with_branch_tracking_is_as_gnu_ld_says),
		cmocka_unit_test(test_without_sections_the_relocations_lead_to_the_table),
		cmocka_unit_test(test_mold),
		cmocka_unit_test(test_entries_that_are_bound_at_start),
		cmocka_unit_test(test_code_that_is_no_linkage_stays_unknown),
		cmocka_unit_test(test_arm64),
		cmocka_unit_test(test_a_large_table_is_of_few_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
