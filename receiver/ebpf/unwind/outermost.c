// SPDX-License-Identifier: Apache-2.0
#include "outermost.h"

#include "entry.h"

#include <elf.h>
#include <string.h>

enum {
	FOLLOW_BYTES = 64, /* within these it goes on to the next function */
	NEAR_BYTES = 1024, /* between two functions of one small source file */
	CALL_BYTES = 5,
	INSTRUCTION_BYTES = 4, /* arm64 */
};

static uint32_t instruction_at(const uint8_t *bytes)
{
	uint32_t instruction;

	memcpy(&instruction, bytes, sizeof(instruction));
	return instruction;
}

static bool begins_with(const struct elf_piece *code, size_t at, const void *form, size_t length)
{
	return at <= code->length && length <= code->length - at &&
	       !memcmp(code->bytes + at, form, length);
}

#define BEGINS_WITH(code, at, ...)                                                                 \
	begins_with((code), (at), (const uint8_t[]){ __VA_ARGS__ },                                \
		    sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* ---- where a call leads to ---- */

/* Of the call or jump of known target at @at; 0 when there is none. */
static uint64_t target_at(const struct elf_piece *code, size_t at, bool arm64)
{
	if (arm64) {
		uint32_t word;

		if (code->length < INSTRUCTION_BYTES || at > code->length - INSTRUCTION_BYTES)
			return 0;
		word = instruction_at(code->bytes + at);
		if ((word & 0x7c000000) != 0x14000000) // b, bl
			return 0;
		return code->address + at + (uint64_t)(((int64_t)(word & 0x03ffffff) << 38) >> 36);
	} else {
		int32_t distance;

		if (code->length < CALL_BYTES || at > code->length - CALL_BYTES ||
		    (code->bytes[at] != 0xe8 && code->bytes[at] != 0xe9))
			return 0;
		memcpy(&distance, code->bytes + at + 1, sizeof(distance));
		return code->address + at + CALL_BYTES + (uint64_t)(int64_t)distance;
	}
}

/* The first function that the code at @address goes on to. */
static uint64_t follow(const struct elf_view *view, uint64_t address, bool arm64)
{
	struct elf_piece code = elf_view_code(view, address, FOLLOW_BYTES);

	for (size_t at = 0; at < code.length; at += arm64 ? INSTRUCTION_BYTES : 1) {
		uint64_t target = target_at(&code, at, arm64);

		if (target && elf_view_code(view, target, 1).bytes)
			return target;
	}
	return 0;
}

/* What holds a C library: the file of musl's, which Debian gives no name, or a static program. */
static bool may_hold_musl(const struct elf_view *view)
{
	const char *name = elf_view_soname(view);

	return !view->has_interpreter &&
	       (!name || !strcmp(name, "libc.so") || !strncmp(name, "libc.musl-", 10));
}

struct outermost outermost_find(const struct elf_view *view, const struct unwind_machine *machine)
{
	bool arm64 = machine->elf_machine == EM_AARCH64;
	size_t bytes = entry_bytes(view);
	struct outermost found = {
		.machine = machine,
		.entry = view->entry,
		.entry_limit = view->entry + bytes,
	};
	uint64_t start_c;

	if (!may_hold_musl(view))
		return found;
	found.exit = elf_view_function(view, "exit");
	found.thread_exit = elf_view_function(view, "pthread_exit");
	// Stripped: _start, _start_c (crt/crt1.c), __libc_start_main (src/env/__libc_start_main.c).
	start_c = bytes && !found.exit ? follow(view, view->entry, arm64) : 0;
	if (start_c)
		found.start_main = follow(view, start_c, arm64);
	return found;
}

/* ---- calls that are followed by an exit ---- */

/* Length of the indirect call at the start of @code; 0. */
static size_t indirect_call_bytes(const struct elf_piece *code)
{
	static const uint8_t displacement[] = { 0, 1, 4, 0 };
	size_t at = code->length && code->bytes[0] == 0x41;
	uint8_t modrm, mode;

	if (at + 3 > code->length || code->bytes[at] != 0xff)
		return 0;
	modrm = code->bytes[at + 1];
	mode = modrm >> 6;
	if ((modrm & 0x38) != 0x10)
		return 0;
	if (mode == 0 && (modrm & 7) == 5)
		return at + 6;
	return at + 2 + displacement[mode] + (mode != 3 && (modrm & 7) == 4);
}

static bool is_close(uint64_t left, uint64_t right)
{
	return left - right < NEAR_BYTES || right - left < NEAR_BYTES;
}

/* exit(main()): its result is an int, which pthread_exit(function())'s is not. */
static bool ends_all(const struct outermost *outermost, uint64_t at, uint64_t target, bool is_int)
{
	if (!target)
		return false;
	if (is_int && outermost->start_main && is_close(at, outermost->start_main))
		return true;
	return target == (is_int ? outermost->exit : outermost->thread_exit);
}

/* musl: src/env/__libc_start_main.c, src/thread/pthread_create.c, src/thread/x86_64/clone.s. */
static size_t call_bytes_amd64(const struct outermost *outermost, const struct elf_piece *code)
{
	size_t at = indirect_call_bytes(code);
	bool is_int = BEGINS_WITH(code, at, 0x89, 0xc7); // mov %eax, %edi

	if (!at || (!is_int && !BEGINS_WITH(code, at, 0x48, 0x89, 0xc7) && // mov %rax, %rdi
		    !BEGINS_WITH(code, at, 0x48, 0x63, 0xf8)))             // movslq %eax, %rdi
		return 0;
	at += is_int ? 2 : 3;
	// xor %eax, %eax; mov $SYS_exit, %al; syscall
	if (BEGINS_WITH(code, at, 0x31, 0xc0, 0xb0, 0x3c, 0x0f, 0x05))
		return at + 6;
	if (!BEGINS_WITH(code, at, 0xe8) ||
	    !ends_all(outermost, code->address, target_at(code, at, false), is_int))
		return 0;
	return at + CALL_BYTES;
}

/* The same, and src/thread/aarch64/clone.s. The result is where the argument goes. */
static size_t call_bytes_arm64(const struct outermost *outermost, const struct elf_piece *code)
{
	enum { MOV = 4, SVC = 8, END = 12 };
	uint64_t target;

	if (code->length < END || (instruction_at(code->bytes) & 0xfffffc1f) != 0xd63f0000) // blr
		return 0;
	// mov x8, #SYS_exit; svc #0
	if (instruction_at(code->bytes + MOV) == 0xd2800ba8 &&
	    instruction_at(code->bytes + SVC) == 0xd4000001)
		return END;
	target = target_at(code, MOV, true);
	return ends_all(outermost, code->address, target, true) ||
			       ends_all(outermost, code->address, target, false)
		       ? SVC
		       : 0;
}

size_t outermost_call_bytes(const struct outermost *outermost, const struct elf_piece *code)
{
	return outermost->machine->elf_machine == EM_AARCH64 ? call_bytes_arm64(outermost, code)
							     : call_bytes_amd64(outermost, code);
}

/*
 * glibc's sysdeps/unix/sysv/linux/aarch64/setcontext.S: nop, or bti; mov x0, x19;
 * cbnz x0, setcontext; b exit. It has a table entry from there on.
 */
static size_t context_bytes_arm64(const struct elf_piece *code)
{
	static const uint32_t words[] = { 0xd503201f, 0xaa1303e0, 0xb5000000, 0x14000000 };
	static const uint32_t masks[] = { 0xfffff01f, UINT32_MAX, 0xff00001f, 0xfc000000 };

	if (code->length < sizeof(words))
		return 0;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if ((instruction_at(code->bytes + i * INSTRUCTION_BYTES) & masks[i]) != words[i])
			return 0;
	return sizeof(words);
}

/* Its sysdeps/unix/sysv/linux/x86_64/__start_context.S, which has a table entry from there on. */
static size_t context_bytes_amd64(const struct elf_piece *code)
{
	static const uint8_t form[] = {
		0x48, 0x89, 0xdc,       // mov %rbx, %rsp
		0x48, 0x8b, 0x3c, 0x24, // mov (%rsp), %rdi
		0x48, 0x85, 0xff,       // test %rdi, %rdi
	};

	return begins_with(code, 0, form, sizeof(form)) ? sizeof(form) : 0;
}

size_t outermost_context_bytes(const struct outermost *outermost, const struct elf_piece *code)
{
	return outermost->machine->elf_machine == EM_AARCH64 ? context_bytes_arm64(code)
							     : context_bytes_amd64(code);
}
