// SPDX-License-Identifier: Apache-2.0
#include "go_frame.h"

#include <elf.h>
#include <string.h>

enum {
	SCANNED_BYTES = 1024, /* of a function that switches stacks */
	PROLOGUE_BYTES = 24,
	POINTER_BYTES = 8,
	INSTRUCTION_BYTES = 4, /* arm64 */
	ARM64_FRAME_BYTES = 8,
};

/* ---- which functions ---- */

/*
 * By name, since their numbers (funcID) change from version to version: runtime/asm_amd64.s,
 * asm_arm64.s, sys_linux_*.s and proc.go of Go 1.16 to 1.26. What calls into the vDSO or into C,
 * and other functions that set the stack pointer, have a flag since 1.17.
 */
static const struct {
	const char *name;
	enum go_kind kind;
} known[] = {
	{ "runtime.goexit", GO_TOP },
	{ "runtime.mstart", GO_TOP },
	{ "runtime.rt0_go", GO_TOP },
	{ "runtime.mcall", GO_TOP_AFTERWARDS },
	{ "runtime.morestack", GO_TOP_AFTERWARDS },
	{ "runtime.gogo", GO_TOP_AFTERWARDS },
	{ "gogo", GO_TOP_AFTERWARDS },
	{ "runtime.clone", GO_TOP_AFTERWARDS },
	{ "runtime.systemstack", GO_SWITCHES },
	{ "runtime.asmcgocall", GO_SWITCHES },
	{ "runtime.cgocallback", GO_SWITCHES },
	{ "runtime.nanotime1", GO_SWITCHES },
	{ "runtime.walltime1", GO_SWITCHES },
	{ "runtime.sigfwd", GO_SWITCHES },
	{ "runtime.callCgoMmap", GO_SWITCHES },
	{ "runtime.callCgoMunmap", GO_SWITCHES },
	// It has the flag of a top frame, but the kernel called it: what was interrupted follows.
	{ "runtime.sigtramp", GO_PLAIN },
	// The handler pushes the address that it has interrupted, and goes on here (signal_*.go).
	{ "runtime.asyncPreempt", GO_INTERRUPTS },
	{ "runtime.sigpanic", GO_INTERRUPTS },
	{ "runtime.sigreturn", GO_SIGNAL_RETURN },
	{ "runtime.sigreturn__sigaction", GO_SIGNAL_RETURN },
};

static bool is_called(const char *name, const char *wanted)
{
	size_t length = strlen(wanted);

	return !strncmp(name, wanted, length) && (!name[length] || !strcmp(name + length, ".abi0"));
}

enum go_kind go_frame_kind(const struct go_function *function)
{
	for (size_t i = 0; function->name && i < sizeof(known) / sizeof(known[0]); i++)
		if (is_called(function->name, known[i].name))
			return known[i].kind;
	if (function->top_frame)
		return GO_TOP;
	return function->writes_stack_pointer ? GO_SWITCHES : GO_PLAIN;
}

/* ---- amd64 ---- */

static bool has(const struct elf_piece *code, size_t at, size_t length, uint32_t form)
{
	return at + length <= code->length && !memcmp(code->bytes + at, &form, length);
}

/*
 * What the assembler writes (cmd/internal/obj/x86/obj6.go, preprocess): push %rbp; mov %rsp, %rbp,
 * and until Go 1.20 sub $n, %rsp; mov %rbp, n-8(%rsp); lea n-8(%rsp), %rbp. Functions of the
 * runtime without either keep or save the frame pointer elsewhere.
 */
static void read_prologue_amd64(const struct elf_view *view, const struct go_function *function,
				struct go_frame *frame)
{
	struct elf_piece code = elf_view_code(view, function->framed - 1, PROLOGUE_BYTES);
	uint64_t from = function->framed;

	if (has(&code, 0, 1, 0x55)) {
		frame->saves_pointer = true;
		from += has(&code, 1, 3, 0xe58948) ? 3 : 0;
	} else if (has(&code, 1, 4, 0x246c8948)) {
		frame->saves_pointer = true;
		from += 5 + (has(&code, 6, 4, 0x246c8d48) ? 5 : 0);
	} else if (has(&code, 1, 4, 0x24ac8948)) {
		frame->saves_pointer = true;
		from += 8 + (has(&code, 9, 4, 0x24ac8d48) ? 8 : 0);
	}
	if (frame->saves_pointer)
		frame->points_from = from;
}

/* A move to %rsp of anything but %rbp and itself: 3 bytes or more; returns how many, at least. */
static size_t stack_load_amd64(const uint8_t *bytes)
{
	uint8_t modrm = bytes[2], from;

	if (bytes[1] == 0x8b && (bytes[0] & 0xfe) == 0x48 && (modrm & 0x38) == 0x20 &&
	    modrm >> 6 != 3) // from memory, as wide as its displacement is
		return 3u + (modrm >> 6 == 1 ? 1 : modrm >> 6 == 2 ? 4 : 0);
	if (bytes[1] != 0x89 || (bytes[0] & 0xfb) != 0x48 || (modrm & 0xc7) != 0xc4)
		return 0;
	from = (uint8_t)((modrm >> 3 & 7) | (bytes[0] & 4) << 1);
	return from == 4 || from == 5 ? 0 : 3;
}

static void find_switch_amd64(const struct elf_piece *code, struct go_frame *frame)
{
	for (size_t at = 0; at + 3 <= code->length; at++) {
		size_t bytes = stack_load_amd64(code->bytes + at);

		if (!bytes)
			continue;
		frame->switched_from = code->address + at + bytes;
		return;
	}
}

static uint64_t find_system_call_amd64(const struct elf_piece *code)
{
	static const uint8_t call[] = { 0x0f, 0x05 };
	const uint8_t *at =
		code->length ? memmem(code->bytes, code->length, call, sizeof(call)) : NULL;

	return at ? code->address + (uint64_t)(at - code->bytes) : UINT64_MAX;
}

/* ---- arm64 ---- */

static uint32_t instruction_at(const struct elf_piece *code, size_t at)
{
	uint32_t instruction = 0;

	if (at + INSTRUCTION_BYTES <= code->length)
		memcpy(&instruction, code->bytes + at, sizeof(instruction));
	return instruction;
}

/* str x30, [sp, #-n]!, which is before; stur x29, [sp, #-8]; sub x29, sp, #8. */
static void read_prologue_arm64(const struct elf_view *view, const struct go_function *function,
				struct go_frame *frame)
{
	struct elf_piece code = elf_view_code(view, function->framed, ARM64_FRAME_BYTES);
	bool usual = instruction_at(&code, 0) == 0xf81f83fd &&
		     instruction_at(&code, INSTRUCTION_BYTES) == 0xd10023fd;

	frame->saves_pointer = true;
	frame->points_from = function->framed + (usual ? code.length : 0);
}

static void find_switch_arm64(const struct elf_piece *code, struct go_frame *frame)
{
	for (size_t at = 0; at < code->length; at += INSTRUCTION_BYTES) {
		uint32_t instruction = instruction_at(code, at);

		// mov sp, xn
		if ((instruction & 0xfffffc1f) != 0x9100001f || (instruction >> 5 & 31) == 31)
			continue;
		frame->switched_from = code->address + at + INSTRUCTION_BYTES;
		// ldr x29, [xn, #m]: the other stack's
		frame->pointer_lost =
			(instruction_at(code, at + INSTRUCTION_BYTES) & 0xffc0001f) == 0xf940001d;
		return;
	}
}

static uint64_t find_system_call_arm64(const struct elf_piece *code)
{
	for (size_t at = 0; at < code->length; at += INSTRUCTION_BYTES)
		if (instruction_at(code, at) == 0xd4000001) // svc #0
			return code->address + at;
	return UINT64_MAX;
}

/* ---- both ---- */

struct go_frame go_frame_read(const struct elf_view *view, const struct unwind_machine *machine,
			      const struct go_function *function)
{
	struct go_frame frame = {
		.kind = go_frame_kind(function),
		.has_frame = function->framed < function->limit,
		.points_from = UINT64_MAX,
		.switched_from = UINT64_MAX,
		.started_from = UINT64_MAX,
	};
	bool arm64 = machine->elf_machine == EM_AARCH64;
	uint64_t bytes = function->limit - function->start;
	struct elf_piece code;

	if (frame.has_frame && arm64)
		read_prologue_arm64(view, function, &frame);
	else if (frame.has_frame)
		read_prologue_amd64(view, function, &frame);
	if (frame.kind != GO_SWITCHES && frame.kind != GO_TOP_AFTERWARDS)
		return frame;
	code = elf_view_code(view, function->start, bytes < SCANNED_BYTES ? bytes : SCANNED_BYTES);
	if (arm64)
		find_switch_arm64(&code, &frame);
	else
		find_switch_amd64(&code, &frame);
	// The thread that it starts is there on its own stack, and has no caller.
	if (function->name && is_called(function->name, "runtime.clone"))
		frame.started_from =
			arm64 ? find_system_call_arm64(&code) : find_system_call_amd64(&code);
	return frame;
}

struct unwind_rule go_frame_pointer_rule(const struct unwind_machine *machine, int32_t depth)
{
	bool arm64 = machine->elf_machine == EM_AARCH64;
	// amd64: the frame pointer lies below the return address, at the upper end of the frame.
	// arm64: it lies below the frame, and the return address at its lower end.
	int32_t offset = arm64 ? depth + POINTER_BYTES : 2 * POINTER_BYTES;

	return (struct unwind_rule){
		.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = machine->fp,
		.cfa_offset = offset,
		.ra = UNWIND_AT_CFA,
		.ra_offset = arm64 ? -depth : -POINTER_BYTES,
		.fp = UNWIND_AT_CFA,
		.fp_offset = -offset,
		.stack_switch = 1,
	};
}

bool go_frame_popped(const struct elf_view *view, const struct unwind_machine *machine,
		     uint64_t address, struct unwind_rule *ret)
{
	enum { REX_B = 0x41, POP = 0x58, R8 = 8, POP_BYTES = 2 };
	struct elf_piece code = elf_view_code(view, address - POP_BYTES, POP_BYTES);

	// pop %r8 to %r15, whose DWARF numbers are theirs
	if (machine->elf_machine != EM_X86_64 || code.length < POP_BYTES ||
	    code.bytes[0] != REX_B || (code.bytes[1] & 0xf8) != POP)
		return false;
	*ret = (struct unwind_rule){
		.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = machine->sp,
		.ra = UNWIND_IN_REGISTER,
		.ra_offset = R8 + (code.bytes[1] & 7),
		.fp = UNWIND_SAME,
	};
	return true;
}
