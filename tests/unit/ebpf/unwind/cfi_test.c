// SPDX-License-Identifier: Apache-2.0
/* Call frame information from made sections: what compilers write, and what nobody should. */
#include "rules.h"

#include "receiver/ebpf/unwind/cfi.h"
#include "receiver/ebpf/unwind/cfi_program.h"

#include <dwarf.h>
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { CODE = 0x401000, CODE_BYTES = 0x100, SECTION = 0x500000 };

/* ---- sections ---- */

struct bytes {
	uint8_t bytes[4096];
	size_t count;
};

static struct bytes section;
static struct rules rules;

static void put(const void *bytes, size_t count)
{
	assert_true(count <= sizeof(section.bytes) - section.count);
	memcpy(section.bytes + section.count, bytes, count);
	section.count += count;
}

#define PUT(...) put((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void put_u32(uint32_t value)
{
	put(&value, sizeof(value));
}

static void put_u64(uint64_t value)
{
	put(&value, sizeof(value));
}

/* What was put since @start, which was its length, is one entry. */
static void close_entry(size_t start)
{
	uint32_t length;

	while ((section.count - start) % 8 != 4)
		PUT(DW_CFA_nop);
	length = (uint32_t)(section.count - start - 4);
	memcpy(section.bytes + start, &length, sizeof(length));
}

/* As GCC writes it for amd64: addresses relative to themselves; CFA = sp + 8, ra at CFA - 8. */
static void put_cie(const char *augmentation)
{
	size_t start = section.count;

	put_u32(0);
	put_u32(0);
	PUT(1);
	put(augmentation, strlen(augmentation) + 1);
	PUT(1, 0x78, 16); // alignments 1 and -8, the return address is register 16
	PUT(1, DW_EH_PE_pcrel | DW_EH_PE_sdata4);
	PUT(DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1);
	close_entry(start);
}

static void put_fde(uint64_t code, uint32_t length, const void *program, size_t program_length)
{
	size_t start = section.count;

	put_u32(0);
	put_u32((uint32_t)section.count); // back to the CIE, at 0
	put_u32((uint32_t)(code - SECTION - section.count));
	put_u32(length);
	PUT(0);
	put(program, program_length);
	close_entry(start);
}

static void begin(const char *augmentation)
{
	section.count = 0;
	put_cie(augmentation);
}

static struct cfi_section as_section(void)
{
	return (struct cfi_section){
		.piece = { .bytes = section.bytes, .length = section.count, .address = SECTION }
	};
}

/* The rules of the second entry, all of its code. */
static void run(void)
{
	struct effort effort = { EFFORT_PAGE };
	struct cfi_section from = as_section();
	struct cfi_window window = {
		.start = CODE,
		.limit = CODE + CODE_BYTES,
		.take = rules_take,
		.context = &rules,
		.effort = &effort,
	};
	struct cfi_fde fde;
	size_t next = 0;

	assert_int_equal(cfi_entry_read(&from, 0, &fde, &next), CFI_ENTRY_OTHER);
	assert_int_equal(cfi_entry_read(&from, next, &fde, &next), CFI_ENTRY_FDE);
	assert_int_equal(fde.start, CODE);
	assert_int_equal(fde.limit, CODE + CODE_BYTES);
	rules_begin(&rules, CODE);
	cfi_program_run(&fde, &from, unwind_machine_find(EM_X86_64), &window);
	assert_int_equal(rules.at, CODE + CODE_BYTES);
}

#define RUN(...)                                                                                   \
	do {                                                                                       \
		begin("zR");                                                                       \
		put_fde(CODE, CODE_BYTES, (const uint8_t[]){ __VA_ARGS__ },                        \
			sizeof((const uint8_t[]){ __VA_ARGS__ }));                                 \
		run();                                                                             \
	} while (0)

/* ---- what compilers write ---- */

static void test_a_function_with_a_frame_pointer(void **state)
{
	struct unwind_rule expected = rule_of(AMD64_SP, 8, -8);

	(void)state;
	RUN(DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16, DW_CFA_offset | 6, 2,
	    DW_CFA_advance_loc | 3, DW_CFA_def_cfa_register, 6, DW_CFA_remember_state,
	    DW_CFA_advance_loc1, 0x80, DW_CFA_restore | 6, DW_CFA_def_cfa, 7, 8,
	    DW_CFA_advance_loc | 1, DW_CFA_restore_state);
	assert_rule_equal(rules_at(&rules, CODE), &expected);
	expected.cfa_offset = 16;
	expected.fp = UNWIND_AT_CFA;
	expected.fp_offset = -16;
	assert_rule_equal(rules_at(&rules, CODE + 1), &expected);
	expected.cfa_register = AMD64_FP;
	assert_rule_equal(rules_at(&rules, CODE + 4), &expected);
	assert_rule_equal(rules_at(&rules, CODE + 0x83), &expected);
	assert_rule_equal(rules_at(&rules, CODE + 0x85), &expected);
	expected = rule_of(AMD64_SP, 8, -8);
	assert_rule_equal(rules_at(&rules, CODE + 0x84), &expected);
}

static void test_the_outermost_frame_is_the_end(void **state)
{
	(void)state;
	RUN(DW_CFA_undefined, 16);
	assert_rule_kind(rules_at(&rules, CODE), UNWIND_CFA_END);
}

static void test_a_linkage_table_of_gnu_ld(void **state)
{
	(void)state;
	// breg7+8; breg16+0; lit15; and; lit11; ge; lit3; shl; plus
	RUN(DW_CFA_def_cfa_expression, 11, DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and,
	    DW_OP_lit11, DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus);
	assert_rule_kind(rules_at(&rules, CODE), UNWIND_CFA_PLT);
	assert_int_equal(rules_at(&rules, CODE)->cfa_offset, 8);
	assert_int_equal(rules_at(&rules, CODE)->cfa_addend, 11);
}

static void test_a_realigned_stack(void **state)
{
	(void)state;
	// GCC's: CFA = *(fp - 8), the frame pointer at fp + 0
	RUN(DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x78, DW_OP_deref, DW_CFA_expression, 6, 2,
	    DW_OP_breg6, 0);
	assert_rule_kind(rules_at(&rules, CODE), UNWIND_CFA_DEREFERENCED);
	assert_int_equal(rules_at(&rules, CODE)->cfa_register, AMD64_FP);
	assert_int_equal(rules_at(&rules, CODE)->cfa_offset, -8);
	assert_int_equal(rules_at(&rules, CODE)->fp, UNWIND_AT_FP);
}

static void test_a_signal_frame_is_marked(void **state)
{
	(void)state;
	begin("zRS");
	put_fde(CODE, CODE_BYTES, "", 0);
	run();
	assert_int_equal(rules_at(&rules, CODE)->signal, 1);
}

/* ---- what nobody should write ---- */

static void test_what_no_rule_can_say_is_told_by_kind(void **state)
{
	(void)state;
	RUN(DW_CFA_def_cfa_expression, 2, DW_OP_lit1, DW_OP_lit2);
	assert_int_equal(rules_at(&rules, CODE)->unsupported, UNWIND_CFA_EXPRESSION);
	RUN(DW_CFA_expression, 16, 2, DW_OP_breg3, 0);
	assert_int_equal(rules_at(&rules, CODE)->unsupported, UNWIND_RA_EXPRESSION);
	RUN(DW_CFA_val_expression, 6, 2, DW_OP_breg3, 0);
	assert_int_equal(rules_at(&rules, CODE)->unsupported, UNWIND_FP_EXPRESSION);
	RUN(DW_CFA_def_cfa_offset, 0xff, 0xff, 0xff, 0xff, 0x7f);
	assert_int_equal(rules_at(&rules, CODE)->unsupported, UNWIND_RANGE);
}

/* @first holds up to @from; from there on the program is known to be broken. */
static void expect_broken(uint64_t from)
{
	if (from > CODE)
		assert_rule_kind(rules_at(&rules, CODE), UNWIND_CFA_REGISTER);
	assert_int_equal(rules_at(&rules, from)->unsupported, UNWIND_BAD_PROGRAM);
	assert_int_equal(rules_at(&rules, CODE + CODE_BYTES - 1)->unsupported, UNWIND_BAD_PROGRAM);
}

/* Whether a return address is signed, and with what, does not say where it is. */
static void test_signed_return_addresses_are_passed_over(void **state)
{
	(void)state;
	RUN(0x2d, DW_CFA_advance_loc | 4, DW_CFA_def_cfa_offset, 32);
	assert_rule_kind(rules_at(&rules, CODE + 4), UNWIND_CFA_REGISTER);
	assert_int_equal(rules_at(&rules, CODE + 4)->cfa_offset, 32);
	RUN(0x2c, DW_CFA_advance_loc | 4, DW_CFA_def_cfa_offset, 32);
	assert_rule_kind(rules_at(&rules, CODE + 4), UNWIND_CFA_REGISTER);
	assert_int_equal(rules_at(&rules, CODE + 4)->cfa_offset, 32);
}

static void test_a_broken_program_gives_rules_up_to_where_it_breaks(void **state)
{
	uint8_t deep[64];

	(void)state;
	RUN(DW_CFA_advance_loc | 4, 0x3f); // no such instruction
	expect_broken(CODE + 4);
	RUN(DW_CFA_restore_state);
	expect_broken(CODE);
	RUN(DW_CFA_advance_loc | 4, DW_CFA_def_cfa_offset, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
	    0x80, 0x80, 0x80, 0x80);
	expect_broken(CODE + 4);
	begin("zR");
	memset(deep, DW_CFA_remember_state, sizeof(deep));
	put_fde(CODE, CODE_BYTES, deep, sizeof(deep));
	run();
	expect_broken(CODE);
}

static void test_code_behind_the_function_is_not_its_own(void **state)
{
	(void)state;
	RUN(DW_CFA_advance_loc4, 0xff, 0xff, 0xff, 0x7f, DW_CFA_def_cfa_offset, 64);
	assert_int_equal(rules_at(&rules, CODE + CODE_BYTES - 1)->cfa_offset, 8);
}

static void test_lengths_that_lie_end_the_section(void **state)
{
	struct cfi_section from;
	struct cfi_fde fde;
	size_t next = 0;

	(void)state;
	begin("zR");
	put_fde(CODE, CODE_BYTES, "", 0);
	from = as_section();
	for (size_t length = 0; length < section.count; length++) {
		size_t offset = 0, entries = 0;

		from.piece.length = length;
		while (cfi_entry_read(&from, offset, &fde, &next) != CFI_ENTRY_END) {
			assert_true(next > offset && next <= length);
			offset = next;
			entries++;
		}
		assert_true(entries < 2);
	}
	// An FDE that points to itself, and one that points outside.
	section.count = 0;
	put_u32(12);
	put_u32(4);
	put_u64(0);
	from = as_section();
	assert_int_equal(cfi_entry_read(&from, 0, &fde, &next), CFI_ENTRY_OTHER);
	section.bytes[4] = 0xff;
	assert_int_equal(cfi_entry_read(&from, 0, &fde, &next), CFI_ENTRY_OTHER);
}

/* ---- by address ---- */

/* .debug_frame: absolute addresses, and the CIE by its offset. Its program is of @bytes more. */
static void begin_debug(size_t bytes)
{
	section.count = 0;
	put_u32((uint32_t)(20 + bytes));
	put_u32(UINT32_MAX);
	PUT(4, 0, 8, 0, 1, 0x78, 16, DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1, 0, 0, 0, 0);
	for (size_t i = 0; i < bytes; i++)
		PUT(DW_CFA_nop);
}

static void put_debug_fde(uint64_t code, uint8_t cfa_offset)
{
	put_u32(24);
	put_u32(0);
	put_u64(code);
	put_u64(0x20);
	PUT(DW_CFA_def_cfa_offset, cfa_offset, 0, 0);
}

static void index_debug(struct cfi *cfi)
{
	struct elf_piece piece = { .bytes = section.bytes, .length = section.count };

	assert_int_equal(cfi_init_debug_frame(cfi, EM_X86_64, &piece), 0);
}

static void test_entries_in_any_order_are_found(void **state)
{
	struct cfi cfi;

	(void)state;
	begin_debug(0);
	for (int i = 2; i >= 0; i--)
		put_debug_fde(CODE + (uint64_t)i * 0x40, (uint8_t)(16 * (i + 1)));
	index_debug(&cfi);
	assert_int_equal(cfi.count, 3);
	rules_begin(&rules, CODE - 0x10);
	cfi_visit(&cfi, CODE - 0x10, CODE + CODE_BYTES, &(struct effort){ EFFORT_PAGE }, rules_take,
		  &rules);
	assert_int_equal(rules.at, CODE + CODE_BYTES);
	for (uint64_t at = CODE - 0x10; at < CODE + CODE_BYTES; at++) {
		const struct unwind_rule *rule = rules_at(&rules, at);
		uint64_t distance = at - CODE;

		if (at < CODE || distance >= 0xc0 || distance % 0x40 >= 0x20)
			assert_rule_kind(rule, UNWIND_CFA_UNKNOWN);
		else
			assert_int_equal(rule->cfa_offset, 16 * (distance / 0x40 + 1));
	}
	cfi_deinit(&cfi);
}

/* Each function runs the program of its CIE: a small file could keep a reader for hours. */
static void test_many_functions_of_a_long_program_end_the_effort(void **state)
{
	enum { FUNCTIONS = 50, PROGRAM = 1000, RUN = 4 };
	struct effort effort = { RUN * (PROGRAM + EFFORT_ENTRY + 16) + PROGRAM / 2 };
	uint64_t limit = CODE + FUNCTIONS * 0x20;
	struct cfi cfi;

	(void)state;
	begin_debug(PROGRAM);
	for (uint64_t i = 0; i < FUNCTIONS; i++)
		put_debug_fde(CODE + i * 0x20, 16);
	index_debug(&cfi);
	assert_int_equal(cfi.count, FUNCTIONS);
	rules_begin(&rules, CODE);
	cfi_visit(&cfi, CODE, limit, &effort, rules_take, &rules);
	assert_int_equal(rules.at, limit);
	assert_int_equal(effort.left, 0);
	for (uint64_t i = 0; i < FUNCTIONS; i++)
		assert_rule_kind(rules_at(&rules, CODE + i * 0x20), i < RUN ? UNWIND_CFA_REGISTER
								    : i == RUN
									    ? UNWIND_CFA_UNSUPPORTED
									    : UNWIND_CFA_UNKNOWN);
	// What is asked of the same page after that has none left.
	rules_begin(&rules, CODE);
	cfi_visit(&cfi, CODE, limit, &effort, rules_take, &rules);
	assert_rule_kind(rules_at(&rules, CODE), UNWIND_CFA_UNKNOWN);
	cfi_deinit(&cfi);
}

static void test_an_augmentation_without_an_end_is_none(void **state)
{
	char letters[200];
	struct cfi_section from;
	struct cfi_fde fde;
	size_t next = 0;

	(void)state;
	memset(letters, 'B', sizeof(letters));
	memcpy(letters, "zR", 2);
	letters[sizeof(letters) - 1] = '\0';
	begin(letters);
	put_fde(CODE, CODE_BYTES, "", 0);
	from = as_section();
	assert_int_equal(cfi_entry_read(&from, 0, &fde, &next), CFI_ENTRY_OTHER);
	assert_int_equal(cfi_entry_read(&from, next, &fde, &next), CFI_ENTRY_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_function_with_a_frame_pointer),
		cmocka_unit_test(test_the_outermost_frame_is_the_end),
		cmocka_unit_test(test_a_linkage_table_of_gnu_ld),
		cmocka_unit_test(test_a_realigned_stack),
		cmocka_unit_test(test_a_signal_frame_is_marked),
		cmocka_unit_test(test_what_no_rule_can_say_is_told_by_kind),
		cmocka_unit_test(test_signed_return_addresses_are_passed_over),
		cmocka_unit_test(test_a_broken_program_gives_rules_up_to_where_it_breaks),
		cmocka_unit_test(test_code_behind_the_function_is_not_its_own),
		cmocka_unit_test(test_lengths_that_lie_end_the_section),
		cmocka_unit_test(test_entries_in_any_order_are_found),
		cmocka_unit_test(test_many_functions_of_a_long_program_end_the_effort),
		cmocka_unit_test(test_an_augmentation_without_an_end_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
