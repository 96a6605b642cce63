// SPDX-License-Identifier: Apache-2.0
/* Code that calls is never taken for code that does not. */
#include "receiver/ebpf/unwind/calls.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 64, PADDING = 0xcc };

/* Is there a call in @length bytes that have these at @distance? */
static bool ends_in(const uint8_t *bytes, size_t byte_count, size_t distance, size_t length)
{
	uint8_t code[ROOM];

	memset(code, PADDING, sizeof(code));
	memcpy(code + distance, bytes, byte_count);
	return calls_may_end_in(code, length, EM_X86_64);
}

static const struct form {
	uint8_t bytes[8];
	size_t length;
} forms[] = {
	{ { 0xe8, 1, 2, 3, 4 }, 5 },
	{ { 0x66, 0xe8, 1, 2 }, 4 },
	{ { 0xff, 0xd0 }, 2 },                   // call *%rax
	{ { 0x41, 0xff, 0xd7 }, 3 },             // call *%r15
	{ { 0xff, 0x50, 0x18 }, 3 },             // call *0x18(%rax)
	{ { 0xff, 0x54, 0x24, 0x08 }, 4 },       // call *8(%rsp)
	{ { 0xff, 0x15, 1, 2, 3, 4 }, 6 },       // call *0x04030201(%rip)
	{ { 0xff, 0x94, 0xc4, 1, 2, 3, 4 }, 7 }, // call *0x04030201(%rsp,%rax,8)
	{ { 0x42, 0xff, 0x94, 0xc4, 1, 2, 3, 4 }, 8 },
	{ { 0x48, 0xff, 0x1c, 0x24 }, 4 }, // lcall *(%rsp)
};

static void test_each_form_of_a_call(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		for (size_t distance = 0; distance < 20; distance++)
			for (size_t end = distance + forms[i].length; end <= ROOM; end++)
				assert_true(
					ends_in(forms[i].bytes, forms[i].length, distance, end));
}

static void test_prologues_call_nothing(void **state)
{
	// push %rbp; mov %rsp,%rbp; push %r15; push %r14; push %rbx; sub $0x18,%rsp
	static const uint8_t prologue[] = { 0x55, 0x48, 0x89, 0xe5, 0x41, 0x57, 0x41,
					    0x56, 0x53, 0x48, 0x83, 0xec, 0x18 };
	// add $0x18,%rsp; pop %rbx; pop %r14; pop %rbp; ret
	static const uint8_t epilogue[] = { 0x48, 0x83, 0xc4, 0x18, 0x5b, 0x41, 0x5e, 0x5d, 0xc3 };

	(void)state;
	assert_false(ends_in(prologue, sizeof(prologue), 0, sizeof(prologue)));
	assert_false(ends_in(epilogue, sizeof(epilogue), 0, sizeof(epilogue)));
	assert_false(ends_in(epilogue, 0, 0, 1));
}

static void test_room_for_a_call_may_be_one(void **state)
{
	static const uint8_t nops[] = { 0x90, 0x90, 0x90, 0x90, 0x90 };
	static const uint8_t nop[] = { 0x0f, 0x1f, 0x44, 0, 0 };
	static const uint8_t aligning[] = { 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 };
	static const uint8_t sled[] = { 0x66, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0 };

	(void)state;
	assert_true(ends_in(nops, sizeof(nops), 2, 16));
	assert_true(ends_in(nop, sizeof(nop), 2, 16));
	assert_true(ends_in(sled, sizeof(sled), 2, 16));
	assert_false(ends_in(nops, 3, 2, 16));
	assert_false(ends_in(aligning, sizeof(aligning), 2, 16));
}

static bool arm64_ends_in(uint32_t instruction, size_t length)
{
	uint32_t code[8] = { 0 };

	code[1] = instruction;
	return calls_may_end_in((const uint8_t *)code, length, EM_AARCH64);
}

static void test_arm64(void **state)
{
	(void)state;
	assert_true(arm64_ends_in(0x94000010, 8));  // bl
	assert_true(arm64_ends_in(0xd63f0200, 8));  // blr x16
	assert_true(arm64_ends_in(0xd73f0a11, 8));  // blraa x16, x17
	assert_false(arm64_ends_in(0x94000010, 4)); // beyond
	assert_false(arm64_ends_in(0xd65f03c0, 8)); // ret
	assert_false(arm64_ends_in(0xd61f0200, 8)); // br x16
	assert_false(arm64_ends_in(0xa9bf7bfd, 8)); // stp x29, x30, [sp, #-16]!
	assert_true(arm64_ends_in(0xa9bf7bfd, 6));  // no whole instructions
}

static void test_other_machines_call_anywhere(void **state)
{
	static const uint8_t nothing[4];

	(void)state;
	assert_true(calls_may_end_in(nothing, 4, EM_RISCV));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_form_of_a_call),
		cmocka_unit_test(test_prologues_call_nothing),
		cmocka_unit_test(test_room_for_a_call_may_be_one),
		cmocka_unit_test(test_arm64),
		cmocka_unit_test(test_other_machines_call_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
