// SPDX-License-Identifier: Apache-2.0
/* What code of HotSpot's does to the stack between a call of the JVM and where it goes on. */
#include "runtimes/hotspot_code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { LONGEST = 15 };

static uint64_t word_of(const uint8_t *code, size_t bytes)
{
	uint64_t word = 0;

	memcpy(&word, code, bytes < sizeof(word) ? bytes : sizeof(word));
	return word;
}

/* As far as its own first eight bytes tell it, whatever follows. */
static const struct {
	const char *text;
	uint8_t code[LONGEST];
	uint32_t bytes;
	int32_t words;
} known[] = {
	{ "push %rbp", { 0x55 }, 1, -1 },
	{ "push %r11", { 0x41, 0x53 }, 2, -1 },
	{ "pop %rax", { 0x58 }, 1, 1 },
	{ "pop %r13", { 0x41, 0x5d }, 2, 1 },
	{ "add $16, %rsp", { 0x48, 0x83, 0xc4, 0x10 }, 4, 2 },
	{ "add $-128, %rsp is none", { 0x48, 0x83, 0xc4, 0x80 }, 0, 0 },
	{ "add $0x1a0, %rsp", { 0x48, 0x81, 0xc4, 0xa0, 1, 0, 0 }, 7, 52 },
	{ "add $0x2000, %rsp is none", { 0x48, 0x81, 0xc4, 0, 0x20, 0, 0 }, 0, 0 },
	{ "sub $0x28, %rsp", { 0x48, 0x83, 0xec, 0x28 }, 4, -5 },
	{ "sub $8, %rbx", { 0x48, 0x83, 0xeb, 8 }, 0, 0 },
	{ "sub $8, %r12", { 0x49, 0x83, 0xec, 8 }, 0, 0 },
	{ "mov %rax, %r9", { 0x4c, 0x8b, 0xc8 }, 3, 0 },
	{ "mov %rdi, %rax", { 0x48, 0x89, 0xf8 }, 3, 0 },
	{ "mov 0x10(%rsp), %r10", { 0x4c, 0x8b, 0x54, 0x24, 0x10 }, 5, 0 },
	{ "mov (%rsp), %ecx", { 0x8b, 0x0c, 0x24 }, 3, 0 },
	{ "mov 0x80(%rsp), %rsi", { 0x48, 0x8b, 0xb4, 0x24, 0x80, 0, 0, 0 }, 8, 0 },
	{ "mov %rdx, 8(%rsp)", { 0x48, 0x89, 0x54, 0x24, 8 }, 5, 0 },
	{ "mov 8(%rip), %rax", { 0x48, 0x8b, 5, 8, 0, 0, 0 }, 7, 0 },
	{ "mov 0x100(,%rax,8), %rax", { 0x48, 0x8b, 4, 0xc5, 0, 1, 0, 0 }, 8, 0 },
	{ "mov %rbp, %rsp", { 0x48, 0x89, 0xec }, 0, 0 },
	{ "mov %rbx, %rsp", { 0x48, 0x8b, 0xe3 }, 0, 0 },
	{ "mov %rbx, %r12", { 0x4c, 0x8b, 0xe3 }, 3, 0 },
	{ "mov %rbp, %r12", { 0x49, 0x89, 0xec }, 3, 0 },
	{ "lea 8(%rsp), %rsp", { 0x48, 0x8d, 0x64, 0x24, 8 }, 0, 0 },
	{ "lea 0xc(%r10), %rsi", { 0x49, 0x8d, 0x72, 0xc }, 4, 0 },
	{ "xor %esi, %esi", { 0x33, 0xf6 }, 2, 0 },
	{ "xchg %rdi, %rsi", { 0x48, 0x87, 0xfe }, 3, 0 },
	{ "movabs $1, %r10", { 0x49, 0xba, 1 }, 10, 0 },
	{ "mov $1, %eax", { 0xb8, 1 }, 5, 0 },
	{ "call", { 0xe8, 1 }, 5, 0 },
	{ "call *%r10", { 0x41, 0xff, 0xd2 }, 3, 0 },
	{ "call *%rax", { 0xff, 0xd0 }, 2, 0 },
	{ "call *8(%rax)", { 0xff, 0x50, 8 }, 0, 0 },
	{ "lock cmpxchg %rbx, (%rcx)", { 0xf0, 0x48, 0x0f, 0xb1, 0x19 }, 5, 0 },
	{ "nopl 8(%rax,%rax)", { 0x0f, 0x1f, 0x44, 0, 8 }, 5, 0 },
	{ "jmp, forward", { 0xeb, 8 }, 10, 0 },
	{ "jmp, back", { 0xeb, 0xf0 }, 0, 0 },
	{ "jmp, far", { 0xe9, 0xf0 }, 0, 0 },
	{ "je", { 0x74, 8 }, 0, 0 },
	{ "cmpb $0, 8(%r15)", { 0x41, 0x80, 0x7f, 8, 0 }, 0, 0 },
	{ "movdqu 0x70(%rsp), %xmm7", { 0xf3, 0x0f, 0x6f, 0x7c, 0x24, 0x70 }, 6, 0 },
	{ "movsd 8(%rsp), %xmm0", { 0xf2, 0x0f, 0x10, 0x44, 0x24, 8 }, 6, 0 },
	{ "movq 8(%rsp), %xmm9", { 0xf3, 0x44, 0x0f, 0x7e, 0x4c, 0x24, 8 }, 7, 0 },
	{ "vzeroupper", { 0xc5, 0xf8, 0x77 }, 3, 0 },
	{ "vmovdqu 0x20(%rsp), %ymm1", { 0xc5, 0xfe, 0x6f, 0x4c, 0x24, 0x20 }, 6, 0 },
	{ "vmovsd 0x120(%rsp), %xmm1", { 0xc5, 0xfb, 0x10, 0x8c, 0x24, 0x20, 1 }, 9, 0 },
	{ "kmovq 8(%rsp), %k1", { 0xc4, 0xe1, 0xf8, 0x90, 0x4c, 0x24, 8 }, 7, 0 },
	{ "vpxor %xmm1, %xmm1, %xmm1", { 0xc5, 0xf1, 0xef, 0xc9 }, 4, 0 },
	{ "vinserti128 $0, (%rsp), %ymm1, %ymm1", { 0xc4, 0xe3, 0x75, 0x38, 0x0c, 0x24, 0 }, 7, 0 },
	{ "vmovdqu64 0x40(%rsp), %zmm2", { 0x62, 0xf1, 0xfe, 0x48, 0x6f, 0x54, 0x24, 1 }, 8, 0 },
	{ "vpaddd %ymm1, %ymm2, %ymm3", { 0xc5, 0xed, 0xfe, 0xd9 }, 0, 0 },
	{ "vpermd, of another map", { 0xc4, 0xe2, 0x6d, 0x36, 0xd9 }, 0, 0 },
	{ "int3", { 0xcc }, 0, 0 },
};

static void instructions_say_how_long_they_are_and_what_they_take(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		int expected = known[i].bytes ? hotspot_effect(known[i].bytes, known[i].words)
					      : HOTSPOT_OTHER;
		int effect = hotspot_effect_of(word_of(known[i].code, LONGEST));

		if (effect != expected)
			fail_msg("%s: %u bytes, %d words", known[i].text,
				 hotspot_effect_bytes(effect), hotspot_effect_words(effect));
		if (known[i].bytes)
			assert_int_equal(hotspot_effect_words(effect), known[i].words);
	}
}

static void a_frame_that_is_taken_down_is_told_from_registers_taken_back(void **state)
{
	static const uint8_t codes[][3] = {
		{ 0x5d },             // pop %rbp
		{ 0x48, 0x5d },       // the same with a prefix
		{ 0xd5, 0x08, 0x5d }, // and with that for more registers
		{ 0xc3 },             // ret
		{ 0xc9 },             // leave
	};

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		assert_int_equal(hotspot_effect_of(word_of(codes[i], sizeof(codes[i]))),
				 HOTSPOT_TAKES_DOWN);
}

/* No code makes whoever follows it stand still, or takes more than a frame can have. */
static void any_code_leads_on(void **state)
{
	uint64_t code = 1;

	(void)state;
	for (int i = 0; i < 1000000; i++) {
		int effect = hotspot_effect_of(code);

		code = code * 6364136223846793005ull + 1442695040888963407ull;
		if (effect == HOTSPOT_OTHER || effect == HOTSPOT_TAKES_DOWN)
			continue;
		assert_in_range(hotspot_effect_bytes(effect), 1, 131);
		assert_true(hotspot_effect_words(effect) <= HOTSPOT_ADDED / 8);
		assert_true(hotspot_effect_words(effect) >= -HOTSPOT_ADDED / 8);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions_say_how_long_they_are_and_what_they_take),
		cmocka_unit_test(a_frame_that_is_taken_down_is_told_from_registers_taken_back),
		cmocka_unit_test(any_code_leads_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
