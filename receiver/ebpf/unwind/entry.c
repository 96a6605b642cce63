// SPDX-License-Identifier: Apache-2.0
#include "entry.h"

#include <elf.h>
#include <string.h>

enum {
	ENTRY_BYTES = 96,      /* no C library's entry is longer */
	INSTRUCTION_BYTES = 4, /* arm64 */
	ENTRY_WORDS = ENTRY_BYTES / INSTRUCTION_BYTES,
	FORM_WORDS = 3, /* of these one has the form of an entry */
};

/* ---- amd64 ---- */

enum effect {
	GOES_ON,
	CALLS,  /* or jumps to another function */
	LEAVES, /* only entries have it: at their end */
};

struct form {
	uint8_t length; /* with operands */
	uint8_t fixed;  /* the first bytes, which tell it from others */
	enum effect effect;
	uint8_t bytes[5];
};

/*
 * glibc's sysdeps/x86_64/start.S, also as linkers relax it, and dl-machine.h; musl's
 * arch/x86_64/crt_arch.h; Zig's lib/std/start.zig, with and without optimization.
 */
static const struct form forms[] = {
	{ 4, 4, GOES_ON, { 0xf3, 0x0f, 0x1e, 0xfa } },       // endbr64
	{ 2, 2, GOES_ON, { 0x31, 0xed } },                   // xor %ebp, %ebp
	{ 3, 3, GOES_ON, { 0x48, 0x31, 0xed } },             // xor %rbp, %rbp
	{ 2, 2, GOES_ON, { 0x31, 0xc9 } },                   // xor %ecx, %ecx
	{ 3, 3, GOES_ON, { 0x45, 0x31, 0xc0 } },             // xor %r8d, %r8d
	{ 1, 1, GOES_ON, { 0x5e } },                         // pop %rsi
	{ 1, 1, GOES_ON, { 0x5a } },                         // pop %rdx
	{ 1, 1, GOES_ON, { 0x50 } },                         // push %rax
	{ 1, 1, GOES_ON, { 0x52 } },                         // push %rdx
	{ 1, 1, GOES_ON, { 0x54 } },                         // push %rsp
	{ 4, 4, GOES_ON, { 0x48, 0x83, 0xe4, 0xf0 } },       // and $-16, %rsp
	{ 2, 2, GOES_ON, { 0x29, 0xc2 } },                   // sub %eax, %edx
	{ 3, 3, GOES_ON, { 0x48, 0x89, 0xe7 } },             // mov %rsp, %rdi
	{ 3, 3, GOES_ON, { 0x48, 0x89, 0xe2 } },             // mov %rsp, %rdx
	{ 3, 3, GOES_ON, { 0x48, 0x89, 0xd6 } },             // mov %rdx, %rsi
	{ 3, 3, GOES_ON, { 0x49, 0x89, 0xd1 } },             // mov %rdx, %r9
	{ 3, 3, GOES_ON, { 0x49, 0x89, 0xc4 } },             // mov %rax, %r12
	{ 3, 3, GOES_ON, { 0x49, 0x89, 0xe5 } },             // mov %rsp, %r13
	{ 3, 3, GOES_ON, { 0x4c, 0x89, 0xec } },             // mov %r13, %rsp
	{ 4, 4, GOES_ON, { 0x48, 0x8b, 0x14, 0x24 } },       // mov (%rsp), %rdx
	{ 6, 2, GOES_ON, { 0x8b, 0x05 } },                   // mov D(%rip), %eax
	{ 7, 3, GOES_ON, { 0x48, 0x8b, 0x3d } },             // mov D(%rip), %rdi
	{ 7, 3, GOES_ON, { 0x48, 0xc7, 0xc7 } },             // mov $I, %rdi
	{ 7, 3, GOES_ON, { 0x48, 0xc7, 0xc0 } },             // mov $I, %rax
	{ 7, 3, GOES_ON, { 0x48, 0xc7, 0xc1 } },             // mov $I, %rcx
	{ 7, 3, GOES_ON, { 0x49, 0xc7, 0xc0 } },             // mov $I, %r8
	{ 7, 3, GOES_ON, { 0x48, 0x8d, 0x3d } },             // lea D(%rip), %rdi
	{ 7, 3, GOES_ON, { 0x48, 0x8d, 0x35 } },             // lea D(%rip), %rsi
	{ 7, 3, GOES_ON, { 0x48, 0x8d, 0x15 } },             // lea D(%rip), %rdx
	{ 7, 3, GOES_ON, { 0x48, 0x8d, 0x0d } },             // lea D(%rip), %rcx
	{ 7, 3, GOES_ON, { 0x4c, 0x8d, 0x05 } },             // lea D(%rip), %r8
	{ 4, 4, GOES_ON, { 0x48, 0x8d, 0x24, 0xc4 } },       // lea (%rsp,%rax,8), %rsp
	{ 5, 5, GOES_ON, { 0x49, 0x8d, 0x4c, 0xd5, 0x10 } }, // lea 16(%r13,%rdx,8), %rcx
	{ 4, 4, GOES_ON, { 0x49, 0x8d, 0x55, 0x08 } },       // lea 8(%r13), %rdx
	{ 5, 1, CALLS, { 0xe8 } },                           // call D
	{ 6, 2, CALLS, { 0x67, 0xe8 } },                     // addr32 call D
	{ 6, 2, CALLS, { 0xff, 0x15 } },                     // call *D(%rip)
	{ 2, 2, CALLS, { 0xff, 0xd0 } },                     // call *%rax
	{ 5, 1, CALLS, { 0xe9 } },                           // jmp D
	{ 3, 3, LEAVES, { 0x41, 0xff, 0xe4 } },              // jmp *%r12
	{ 1, 1, LEAVES, { 0xf4 } },                          // hlt
};

/* The instruction at @at, if it is one of the above and all there. */
static const struct form *find_form(const struct elf_piece *code, size_t at)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (forms[i].length <= code->length - at &&
		    !memcmp(code->bytes + at, forms[i].bytes, forms[i].fixed))
			return &forms[i];
	return NULL;
}

/* The end of the first call in @code behind @at whose target is code too; 0. */
static size_t find_call(const struct elf_view *view, const struct elf_piece *code, size_t at)
{
	enum { CALL_BYTES = 5 };
	int32_t distance;

	for (; code->length - at >= CALL_BYTES; at++) {
		if (code->bytes[at] != 0xe8)
			continue;
		memcpy(&distance, code->bytes + at + 1, sizeof(distance));
		if (elf_view_code(view,
				  code->address + at + CALL_BYTES + (uint64_t)(int64_t)distance, 1)
			    .bytes)
			return at + CALL_BYTES;
	}
	return 0;
}

/* The frame pointer, unspecified there, is cleared first, or the stack pointer is handed on: the
 * arguments are on the stack (System V ABI AMD64, 3.4.1). */
static bool is_entry_amd64(const struct elf_piece *code)
{
	static const uint8_t starts[][3] = {
		{ 0x31, 0xed },       // xor %ebp, %ebp
		{ 0x48, 0x31, 0xed }, // xor %rbp, %rbp
		{ 0x48, 0x89, 0xe7 }, // mov %rsp, %rdi
	};
	const struct form *first = code->length ? find_form(code, 0) : NULL;
	size_t at = first && first->bytes[0] == 0xf3 ? first->length : 0; // endbr64

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
		size_t length = starts[i][2] ? 3 : 2;

		if (length <= code->length - at && !memcmp(code->bytes + at, starts[i], length))
			return true;
	}
	return false;
}

static size_t entry_bytes_amd64(const struct elf_view *view, const struct elf_piece *code)
{
	size_t at = 0, first_call = 0;
	const struct form *form;

	if (!is_entry_amd64(code))
		return 0;
	while ((form = find_form(code, at))) {
		at += form->length;
		if (form->effect == LEAVES)
			return at;
		if (form->effect == CALLS && !first_call)
			first_call = at;
	}
	if (!first_call)
		first_call = find_call(view, code, at);
	return first_call ? first_call : at;
}

/* ---- arm64 ---- */

static bool is_entry_arm64(const uint32_t *words)
{
	for (size_t i = 0; i < FORM_WORDS; i++) {
		switch (words[i]) {
		case 0xd503245f: // bti c
		case 0xd50324df: // bti jc
			continue;
		case 0xd280001d: // mov x29, #0
		case 0xd280001e: // mov x30, #0
		case 0x910003e0: // mov x0, sp
			return true;
		default:
			return false;
		}
	}
	return false;
}

/*
 * glibc's sysdeps/aarch64/start.S, which calls abort() where main() would return to, and
 * dl-machine.h, which goes to the program at last; musl's arch/aarch64/crt_arch.h.
 */
static size_t entry_bytes_arm64(const struct elf_piece *code)
{
	size_t count = code->length / INSTRUCTION_BYTES, first_call = 0, last_call = 0;
	uint32_t words[ENTRY_WORDS] = { 0 };

	memcpy(words, code->bytes, count * INSTRUCTION_BYTES);
	if (!is_entry_arm64(words))
		return 0;
	for (size_t i = 0; i < count; i++) {
		bool calls = (words[i] & 0xfc000000) == 0x94000000; // bl
		bool jumps = (words[i] & 0xfc000000) == 0x14000000; // b

		if (words[i] == 0xd61f02a0 || // br x21
		    (jumps && !first_call) || (calls && first_call && last_call == i))
			return (i + 1) * INSTRUCTION_BYTES;
		if (calls)
			last_call = i + 1;
		if (!first_call)
			first_call = last_call;
	}
	return (first_call ? first_call : count) * INSTRUCTION_BYTES;
}

size_t entry_bytes(const struct elf_view *view)
{
	struct elf_piece code = elf_view_code(view, view->entry, ENTRY_BYTES);

	if (!code.bytes)
		return 0;
	return view->machine == EM_AARCH64 ? entry_bytes_arm64(&code)
					   : entry_bytes_amd64(view, &code);
}
