// SPDX-License-Identifier: Apache-2.0
/* Go's table of functions in all its layouts, and the functions that leave the stack. */
#include "made_elf.h"
#include "made_pclntab.h"
#include "rules.h"

#include "receiver/ebpf/unwind/pclntab.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum {
	TEXT = 0x401000,
	TABLE = 0x500000,
	FUNCTION_BYTES = 64,
	TOP = 1,
	STACK_POINTER = 2,
	PADDING = 0xcc,
};

static struct made_elf elf;
static struct rules rules;

/* What the code of a function begins with. */
struct code {
	uint8_t bytes[FUNCTION_BYTES];
	size_t count;
};

#define CODE(...)                                                                                  \
	((struct code){ .bytes = { __VA_ARGS__ },                                                  \
			.count = sizeof((const uint8_t[]){ __VA_ARGS__ }) })

static void make(uint16_t machine, enum pclntab_version version,
		 const struct made_function *functions, const struct code *codes, size_t count)
{
	uint8_t quantum = machine == EM_AARCH64 ? 4 : 1, table[MADE_PCLNTAB_BYTES];
	uint64_t limit = TEXT + count * FUNCTION_BYTES;
	uint8_t text[16 * FUNCTION_BYTES];
	size_t length =
		made_pclntab_write(table, version, quantum, functions, count, limit, TEXT, true);

	memset(text, PADDING, sizeof(text));
	for (size_t i = 0; i < count; i++)
		memcpy(text + i * FUNCTION_BYTES, codes[i].bytes, codes[i].count);
	made_elf_begin(&elf, machine);
	made_elf_add(&elf, ".text", TEXT, text, count * FUNCTION_BYTES, SHF_EXECINSTR);
	made_elf_add(&elf, ".gopclntab", TABLE, table, length, 0);
}

static void visit(size_t count)
{
	struct pclntab table;

	pclntab_init(&table, &elf.view);
	rules_begin(&rules, TEXT - 16);
	pclntab_visit(&table, TEXT - 16, TEXT + count * FUNCTION_BYTES + 16,
		      &(struct effort){ EFFORT_PAGE }, rules_take, &rules);
	assert_int_equal(rules.at, TEXT + count * FUNCTION_BYTES + 16);
	assert_rule_kind(rules_at(&rules, TEXT - 1), UNWIND_CFA_UNKNOWN);
	assert_rule_kind(rules_at(&rules, rules.at - 1), UNWIND_CFA_UNKNOWN);
}

static struct unwind_rule saved(struct unwind_rule rule, int32_t offset)
{
	rule.fp = UNWIND_AT_CFA;
	rule.fp_offset = offset;
	return rule;
}

static struct unwind_rule by_pointer(void)
{
	struct unwind_rule rule = saved(rule_of(AMD64_FP, 16, -8), -16);

	rule.stack_switch = 1;
	return rule;
}

/* push %rbp; mov %rsp, %rbp; sub $16, %rsp; ... add $16, %rsp; pop %rbp; ret */
#define FRAMED_STEPS { { 1, 0 }, { 8, 8 }, { 40, 24 }, { 41, 8 }, { FUNCTION_BYTES, 0 } }

static const struct made_function work[] = {
	{ "main.work", TEXT, 0, FRAMED_STEPS },
	{ "main.leaf", TEXT + FUNCTION_BYTES, 0, { { FUNCTION_BYTES, 0 } } },
	{ "main.none", TEXT + 2 * FUNCTION_BYTES, 0, { { 0 } } },
};

static void expect_work(void)
{
	const struct unwind_rule bare = rule_of(AMD64_SP, 8, -8);
	const struct unwind_rule pushed = saved(rule_of(AMD64_SP, 16, -8), -16);
	const struct unwind_rule full = saved(rule_of(AMD64_SP, 32, -8), -16);

	visit(3);
	assert_rule_equal(rules_at(&rules, TEXT), &bare);
	assert_rule_equal(rules_at(&rules, TEXT + 1), &pushed);
	assert_rule_equal(rules_at(&rules, TEXT + 8), &full);
	assert_rule_equal(rules_at(&rules, TEXT + 39), &full);
	assert_rule_equal(rules_at(&rules, TEXT + 40), &pushed);
	assert_rule_equal(rules_at(&rules, TEXT + 41), &bare);
	assert_rule_equal(rules_at(&rules, TEXT + FUNCTION_BYTES), &bare);
	assert_rule_kind(rules_at(&rules, TEXT + 2 * FUNCTION_BYTES), UNWIND_CFA_UNKNOWN);
}

static const struct code framed = { { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10 }, 8 };

static void test_every_layout_says_the_same(void **state)
{
	const struct code codes[] = { framed, CODE(0xc3), CODE(0xc3) };

	(void)state;
	for (enum pclntab_version version = PCLNTAB_116; version <= PCLNTAB_120; version++) {
		make(EM_X86_64, version, work, codes, 3);
		made_elf_finish(&elf, true);
		expect_work();
	}
}

static void test_without_sections_the_table_is_found_by_its_magic(void **state)
{
	const struct code codes[] = { framed, CODE(0xc3), CODE(0xc3) };
	uint8_t decoy[] = { 0, 0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8, 0xff, 0xff, 0xff, 0, 0 };

	(void)state;
	for (enum pclntab_version version = PCLNTAB_116; version <= PCLNTAB_120; version++) {
		make(EM_X86_64, version, work, codes, 3);
		made_elf_add(&elf, ".rodata", TEXT + 0x10000, decoy, sizeof(decoy), 0);
		made_elf_finish(&elf, false);
		expect_work();
	}
}

/* Go 1.26: the table does not say where the text is. */
static void test_the_text_is_found_by_the_moduledata(void **state)
{
	const struct code codes[] = { framed, CODE(0xc3), CODE(0xc3) };
	uint64_t moduledata[26] = { [0] = TABLE, [20] = TEXT, [21] = TEXT + 192, [22] = TEXT };
	uint8_t table[MADE_PCLNTAB_BYTES];
	size_t length;

	(void)state;
	make(EM_X86_64, PCLNTAB_120, work, codes, 3);
	length = made_pclntab_write(table, PCLNTAB_120, 1, work, 3, TEXT + 192, TEXT, false);
	memcpy(elf.bytes + elf.sections[1].offset, table, length);
	made_elf_add(&elf, ".go.module", 0x600000, moduledata, sizeof(moduledata), SHF_WRITE);
	made_elf_finish(&elf, false);
	expect_work();
}

/* ---- the runtime's own ---- */

static void test_where_a_stack_is_left_the_frame_pointer_leads_back(void **state)
{
	// push %rbp; mov %rsp, %rbp; nop; mov 0x38(%rdx), %rsp; call *%rdi
	const struct code codes[] = { CODE(0x55, 0x48, 0x89, 0xe5, 0x90, 0x90, 0x90, 0x90, 0x48,
					   0x8b, 0x62, 0x38, 0xff, 0xd7) };
	const struct made_function functions[] = {
		{ "runtime.systemstack",
		  TEXT,
		  STACK_POINTER,
		  { { 1, 0 }, { 41, 8 }, { FUNCTION_BYTES, 0 } } },
	};
	const struct unwind_rule bare = rule_of(AMD64_SP, 8, -8), back = by_pointer();
	const struct unwind_rule pushed = saved(rule_of(AMD64_SP, 16, -8), -16);

	(void)state;
	make(EM_X86_64, PCLNTAB_120, functions, codes, 1);
	made_elf_finish(&elf, true);
	visit(1);
	assert_rule_equal(rules_at(&rules, TEXT), &bare);
	assert_rule_equal(rules_at(&rules, TEXT + 1), &pushed); // %rbp is still the caller's
	assert_rule_equal(rules_at(&rules, TEXT + 4), &back);
	assert_rule_equal(rules_at(&rules, TEXT + 13), &back);
	assert_rule_equal(rules_at(&rules, TEXT + 41), &bare);
}

static void test_the_prologue_of_go_before_1_21(void **state)
{
	// sub $16, %rsp; mov %rbp, 8(%rsp); lea 8(%rsp), %rbp; mov 0x38(%rdx), %rsp
	const struct code codes[] = { CODE(0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0x6c, 0x24, 0x08,
					   0x48, 0x8d, 0x6c, 0x24, 0x08, 0x48, 0x8b, 0x62, 0x38),
				      CODE(0x90, 0x90, 0x48, 0x89, 0xdc, 0xff, 0xd7) };
	const struct made_function functions[] = {
		{ "runtime.nanotime1", TEXT, 0, { { 4, 0 }, { FUNCTION_BYTES, 16 } } },
		// systemstack had no frame of its own: mov %rbx, %rsp; call *%rdi
		{ "runtime.systemstack", TEXT + FUNCTION_BYTES, 0, { { FUNCTION_BYTES, 0 } } },
	};
	const struct unwind_rule bare = rule_of(AMD64_SP, 8, -8), back = by_pointer();
	const struct unwind_rule full = saved(rule_of(AMD64_SP, 24, -8), -16);

	(void)state;
	make(EM_X86_64, PCLNTAB_116, functions, codes, 2);
	made_elf_finish(&elf, true);
	visit(2);
	assert_rule_equal(rules_at(&rules, TEXT + 4), &full);
	assert_rule_equal(rules_at(&rules, TEXT + 13), &full);
	assert_rule_equal(rules_at(&rules, TEXT + 14), &back);
	assert_rule_equal(rules_at(&rules, TEXT + FUNCTION_BYTES + 4), &bare);
	assert_rule_equal(rules_at(&rules, TEXT + FUNCTION_BYTES + 5), &back);
}

static void test_stacks_end_where_the_runtime_begins_them(void **state)
{
	// push %rbp; mov %rsp, %rbp; mov 0x38(%r14), %rsp; call *%r12
	const struct code codes[] = { CODE(0x55, 0x48, 0x89, 0xe5, 0x49, 0x8b, 0x66, 0x38, 0x41,
					   0xff, 0xd4),
				      CODE(0x90), CODE(0x90), CODE(0x90), CODE(0x90) };
	const struct made_function functions[] = {
		{ "runtime.mcall", TEXT, STACK_POINTER, { { 1, 0 }, { FUNCTION_BYTES, 8 } } },
		{ "runtime.goexit", TEXT + FUNCTION_BYTES, 0, { { FUNCTION_BYTES, 0 } } },
		{ "runtime.other", TEXT + 2 * FUNCTION_BYTES, TOP, { { FUNCTION_BYTES, 0 } } },
		// Where nothing is seen of the switch, the flag says whether there is one.
		{ "runtime.gogo", TEXT + 3 * FUNCTION_BYTES, 0, { { FUNCTION_BYTES, 0 } } },
		{ "gogo", TEXT + 4 * FUNCTION_BYTES, STACK_POINTER, { { FUNCTION_BYTES, 0 } } },
	};
	const struct unwind_rule bare = rule_of(AMD64_SP, 8, -8);
	const struct unwind_rule pushed = saved(rule_of(AMD64_SP, 16, -8), -16);

	(void)state;
	make(EM_X86_64, PCLNTAB_118, functions, codes, 5);
	made_elf_finish(&elf, true);
	visit(5);
	// Up to the switch it has a caller.
	assert_rule_equal(rules_at(&rules, TEXT + 7), &pushed);
	assert_rule_kind(rules_at(&rules, TEXT + 8), UNWIND_CFA_END);
	assert_rule_kind(rules_at(&rules, TEXT + FUNCTION_BYTES), UNWIND_CFA_END);
	assert_rule_kind(rules_at(&rules, TEXT + 2 * FUNCTION_BYTES), UNWIND_CFA_END);
	assert_rule_equal(rules_at(&rules, TEXT + 3 * FUNCTION_BYTES), &bare);
	assert_rule_kind(rules_at(&rules, TEXT + 4 * FUNCTION_BYTES), UNWIND_CFA_END);
}

/* Between the system call and its own stack only the result tells a new thread from its parent. */
static void test_a_thread_may_begin_behind_a_system_call(void **state)
{
	// mov $56, %eax; syscall; cmp $0, %rax; je +5; mov %eax, 0x30(%rsp); ret; mov %rsi, %rsp
	const struct code codes[] = { CODE(0xb8, 0x38, 0, 0, 0, 0x0f, 0x05, 0x48, 0x83, 0xf8, 0,
					   0x74, 0x05, 0x89, 0x44, 0x24, 0x30, 0xc3, 0x48, 0x89,
					   0xf4),
				      CODE(0x0f, 0x05) };
	const struct made_function functions[] = {
		{ "runtime.clone.abi0", TEXT, 0, { { FUNCTION_BYTES, 0 } } },
		{ "runtime.gogo", TEXT + FUNCTION_BYTES, 0, { { FUNCTION_BYTES, 0 } } },
	};
	const struct unwind_rule bare = rule_of(AMD64_SP, 8, -8);
	struct unwind_rule begins = bare;

	(void)state;
	begins.new_thread = 1;
	make(EM_X86_64, PCLNTAB_120, functions, codes, 2);
	made_elf_finish(&elf, true);
	visit(2);
	assert_rule_equal(rules_at(&rules, TEXT + 4), &bare);
	assert_rule_equal(rules_at(&rules, TEXT + 5), &begins);
	assert_rule_equal(rules_at(&rules, TEXT + 20), &begins);
	assert_rule_kind(rules_at(&rules, TEXT + 21), UNWIND_CFA_END);
	assert_rule_equal(rules_at(&rules, TEXT + FUNCTION_BYTES + 2), &bare);
}

/* Signal handlers of amd64 make it look as if these had been called. */
static void test_what_a_handler_has_pushed_was_interrupted(void **state)
{
	const struct code codes[] = { CODE(0x55), CODE(0x55), CODE(0x55) };
	const struct made_function functions[] = {
		{ "runtime.asyncPreempt.abi0", TEXT, 0, { { 1, 0 }, { FUNCTION_BYTES, 8 } } },
		{ "runtime.sigpanic", TEXT + FUNCTION_BYTES, 0, { { FUNCTION_BYTES, 0 } } },
		{ "runtime.sigpanic0", TEXT + 2 * FUNCTION_BYTES, 0, { { FUNCTION_BYTES, 0 } } },
	};

	(void)state;
	make(EM_X86_64, PCLNTAB_120, functions, codes, 3);
	made_elf_finish(&elf, true);
	visit(3);
	assert_int_equal(rules_at(&rules, TEXT)->signal, UNWIND_INTERRUPTS);
	assert_int_equal(rules_at(&rules, TEXT + 8)->signal, UNWIND_INTERRUPTS);
	assert_int_equal(rules_at(&rules, TEXT + 8)->cfa_offset, 16);
	assert_int_equal(rules_at(&rules, TEXT + FUNCTION_BYTES)->signal, UNWIND_INTERRUPTS);
	assert_int_equal(rules_at(&rules, TEXT + 2 * FUNCTION_BYTES)->signal, 0);
	make(EM_AARCH64, PCLNTAB_120, functions, codes, 3);
	made_elf_finish(&elf, true);
	visit(3);
	assert_int_equal(rules_at(&rules, TEXT + 8)->signal, 0);
}

static void test_a_signal_handler_leads_to_what_was_interrupted(void **state)
{
	// pushf; cld; sub $224, %rsp: the frame pointer is saved elsewhere
	const struct code codes[] = { CODE(0x9c, 0xfc, 0x48, 0x81, 0xec, 0xe0, 0, 0, 0),
				      CODE(0x48) };
	const struct made_function functions[] = {
		{ "runtime.sigtramp.abi0",
		  TEXT,
		  TOP,
		  { { 1, 0 }, { 9, 8 }, { FUNCTION_BYTES, 232 } } },
		{ "runtime.sigreturn__sigaction",
		  TEXT + FUNCTION_BYTES,
		  0,
		  { { FUNCTION_BYTES, 0 } } },
	};
	const struct unwind_rule handler = rule_of(AMD64_SP, 240, -8);

	(void)state;
	make(EM_X86_64, PCLNTAB_120, functions, codes, 2);
	made_elf_finish(&elf, true);
	visit(2);
	assert_rule_equal(rules_at(&rules, TEXT + 9), &handler);
	// A return address is looked up one byte before.
	assert_rule_equal(rules_at(&rules, TEXT + FUNCTION_BYTES - 2), &handler);
	for (uint64_t at = TEXT + FUNCTION_BYTES - 1; at < TEXT + 2 * FUNCTION_BYTES; at++) {
		assert_rule_kind(rules_at(&rules, at), UNWIND_CFA_DEREFERENCED);
		assert_int_equal(rules_at(&rules, at)->signal, 1);
	}
}

/* syscall.rawVforkSyscall: a child would overwrite it on the stack. */
static void test_a_return_address_may_be_in_a_register(void **state)
{
	// pop %r12; syscall; push %r12
	const struct code codes[] = { CODE(0x41, 0x5c, 0x0f, 0x05, 0x41, 0x54, 0x90),
				      CODE(0x90, 0x90, 0x0f, 0x05) };
	const struct made_function functions[] = {
		{ "syscall.rawVforkSyscall",
		  TEXT,
		  0,
		  { { 2, 0 }, { 6, -8 }, { FUNCTION_BYTES, 0 } } },
		// The same depth for another reason.
		{ "main.odd", TEXT + FUNCTION_BYTES, 0, { { 2, 0 }, { FUNCTION_BYTES, -8 } } },
	};
	const struct unwind_rule bare = rule_of(AMD64_SP, 8, -8);
	const struct unwind_rule popped = { .cfa = UNWIND_CFA_REGISTER,
					    .cfa_register = AMD64_SP,
					    .ra = UNWIND_IN_REGISTER,
					    .ra_offset = 12 };

	(void)state;
	make(EM_X86_64, PCLNTAB_120, functions, codes, 2);
	made_elf_finish(&elf, true);
	visit(2);
	assert_rule_equal(rules_at(&rules, TEXT + 1), &bare);
	assert_rule_equal(rules_at(&rules, TEXT + 2), &popped);
	assert_rule_equal(rules_at(&rules, TEXT + 5), &popped);
	assert_rule_equal(rules_at(&rules, TEXT + 6), &bare);
	assert_rule_kind(rules_at(&rules, TEXT + FUNCTION_BYTES + 2), UNWIND_CFA_UNSUPPORTED);
}

static void test_arm64(void **state)
{
	// str x30, [sp, #-16]!; stur x29, [sp, #-8]; sub x29, sp, #8; mov sp, x3; blr
	static const uint32_t words[] = { 0xf81f0ffe, 0xf81f83fd, 0xd10023fd, 0x9100007f,
					  0xd63f0060 };
	// The same, but the frame pointer is loaded anew: mov sp, x0; ldr x29, [x28, #104]
	static const uint32_t lost[] = { 0xf81f0ffe, 0xf81f83fd, 0xd10023fd, 0x9100001f,
					 0xf940379d };
	const struct made_function functions[] = {
		{ "runtime.systemstack",
		  TEXT,
		  STACK_POINTER,
		  { { 4, 0 }, { FUNCTION_BYTES, 16 } } },
		{ "runtime.asmcgocall",
		  TEXT + FUNCTION_BYTES,
		  STACK_POINTER,
		  { { 4, 0 }, { FUNCTION_BYTES, 16 } } },
	};
	const struct unwind_rule entry = { .cfa = UNWIND_CFA_REGISTER, .cfa_register = ARM64_SP };
	const struct unwind_rule pushed = saved(rule_of(ARM64_SP, 16, -16), -24);
	struct unwind_rule back = saved(rule_of(ARM64_FP, 24, -16), -24);
	struct code codes[2] = { { .count = sizeof(words) }, { .count = sizeof(lost) } };

	(void)state;
	back.stack_switch = 1;
	memcpy(codes[0].bytes, words, sizeof(words));
	memcpy(codes[1].bytes, lost, sizeof(lost));
	make(EM_AARCH64, PCLNTAB_120, functions, codes, 2);
	made_elf_finish(&elf, true);
	visit(2);
	assert_rule_equal(rules_at(&rules, TEXT), &entry);
	assert_rule_equal(rules_at(&rules, TEXT + 4), &pushed);
	assert_rule_equal(rules_at(&rules, TEXT + 12), &back);
	assert_rule_equal(rules_at(&rules, TEXT + FUNCTION_BYTES + 12), &pushed);
	assert_int_equal(rules_at(&rules, TEXT + FUNCTION_BYTES + 16)->unsupported,
			 UNWIND_OTHER_STACK);
}

/* ---- hostile ---- */

static void test_any_byte_may_be_wrong(void **state)
{
	const struct code codes[] = { framed, CODE(0xc3), CODE(0xc3) };
	struct made_section *section;

	(void)state;
	make(EM_X86_64, PCLNTAB_120, work, codes, 3);
	made_elf_finish(&elf, true);
	section = &elf.sections[1];
	for (size_t i = 0; i < section->length; i++) {
		uint8_t *byte = elf.bytes + section->offset + i, kept = *byte;
		static const uint8_t wrong[] = { 0xff, 0x80, 0x00, 0x7f };

		for (size_t j = 0; j < sizeof(wrong); j++) {
			struct pclntab table;

			*byte = wrong[j];
			pclntab_init(&table, &elf.view);
			rules_begin(&rules, TEXT - 16);
			pclntab_visit(&table, TEXT - 16, TEXT + 256,
				      &(struct effort){ EFFORT_PAGE }, rules_take, &rules);
			assert_int_equal(rules.at, TEXT + 256);
		}
		*byte = kept;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_layout_says_the_same),
		cmocka_unit_test(test_without_sections_the_table_is_found_by_its_magic),
		cmocka_unit_test(test_the_text_is_found_by_the_moduledata),
		cmocka_unit_test(test_where_a_stack_is_left_the_frame_pointer_leads_back),
		cmocka_unit_test(test_the_prologue_of_go_before_1_21),
		cmocka_unit_test(test_stacks_end_where_the_runtime_begins_them),
		cmocka_unit_test(test_a_thread_may_begin_behind_a_system_call),
		cmocka_unit_test(test_what_a_handler_has_pushed_was_interrupted),
		cmocka_unit_test(test_a_signal_handler_leads_to_what_was_interrupted),
		cmocka_unit_test(test_a_return_address_may_be_in_a_register),
		cmocka_unit_test(test_arm64),
		cmocka_unit_test(test_any_byte_may_be_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
