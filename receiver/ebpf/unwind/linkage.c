// SPDX-License-Identifier: Apache-2.0
#include "linkage.h"

#include "base/base.h"

#include <elf.h>
#include <string.h>

enum {
	SLOT_BYTES = 16,
	HEADER_PUSHES = 2,
	MAX_HEADER_BYTES = 2 * SLOT_BYTES,
	WORD_BYTES = 8,
	INSTRUCTION_BYTES = 4, /* arm64 */
	ARM64_HEADER_BYTES = 32,
	ARM64_PUSH_BEFORE = 8, /* is within its first two instructions */
	MAX_SLOTS = 1 << 20,
};

static const uint32_t arm64_push = 0xa9bf7bf0; /* stp x16, x30, [sp, #-16]! */

/* ---- where they are ---- */

static bool is_inside(const struct elf_piece *code, size_t length)
{
	return code->bytes && code->length >= length;
}

static uint32_t instruction_at(const uint8_t *bytes)
{
	uint32_t instruction;

	memcpy(&instruction, bytes, sizeof(instruction));
	return instruction;
}

/* Where the table begins whose first lazy entry's slot points to @target. */
static uint64_t start_amd64(const struct elf_view *view, uint64_t target)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	struct elf_piece code = elf_view_code(view, target, SLOT_BYTES);
	struct elf_piece entry = elf_view_code(view, target - 6, SLOT_BYTES);

	// With branch tracking the slot points to the entry, otherwise to its second instruction.
	if (is_inside(&code, SLOT_BYTES) && !memcmp(code.bytes, endbr64, sizeof(endbr64)) &&
	    code.bytes[4] == 0x68)
		return target - SLOT_BYTES;
	if (is_inside(&entry, SLOT_BYTES) && entry.bytes[0] == 0xff && entry.bytes[1] == 0x25 &&
	    entry.bytes[6] == 0x68 && entry.bytes[11] == 0xe9)
		return target - 6 - SLOT_BYTES;
	return 0;
}

/* The slots point to the table's header. */
static uint64_t start_arm64(const struct elf_view *view, uint64_t target)
{
	struct elf_piece code = elf_view_code(view, target, ARM64_HEADER_BYTES);

	if (is_inside(&code, ARM64_HEADER_BYTES) &&
	    (instruction_at(code.bytes) == arm64_push ||
	     instruction_at(code.bytes + INSTRUCTION_BYTES) == arm64_push))
		return target;
	return 0;
}

/* By the relocations of lazy binding, which name the slots that the entries jump through. */
static size_t find_dynamic(const struct elf_view *view, bool arm64, struct linkage_area *ret)
{
	struct elf_piece relocations = elf_view_at(view, elf_view_dynamic(view, DT_JMPREL));
	uint64_t count = elf_view_dynamic(view, DT_PLTRELSZ) / sizeof(Elf64_Rela);
	struct elf_piece slot;
	Elf64_Rela first;
	uint64_t target, start;

	if (!count || count > MAX_SLOTS || !is_inside(&relocations, sizeof(first)))
		return 0;
	memcpy(&first, relocations.bytes, sizeof(first));
	slot = elf_view_at(view, first.r_offset);
	if (!is_inside(&slot, sizeof(target)))
		return 0;
	memcpy(&target, slot.bytes, sizeof(target));
	start = arm64 ? start_arm64(view, target) : start_amd64(view, target);
	if (!start)
		return 0;
	*ret = (struct linkage_area){
		.start = start,
		.limit = start + (arm64 ? ARM64_HEADER_BYTES : SLOT_BYTES) + count * SLOT_BYTES,
	};
	return 1;
}

size_t linkage_find(const struct elf_view *view, const struct unwind_machine *machine,
		    struct linkage_area *ret, size_t count)
{
	static const char *const names[] = { ".plt", ".plt.got", ".plt.sec", ".iplt" };
	size_t found = 0;

	if (!view->has_sections)
		return count ? find_dynamic(view, machine->elf_machine == EM_AARCH64, ret) : 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && found < count; i++) {
		struct elf_piece piece = elf_view_section(view, names[i]);

		if (piece.bytes && piece.length && piece.address &&
		    piece.length <= UINT64_MAX - piece.address)
			ret[found++] = (struct linkage_area){ piece.address,
							      piece.address + piece.length };
	}
	return found;
}

/* ---- amd64 ---- */

struct instruction {
	uint8_t bytes;
	bool pushes, jumps;
};

/* 0F 1F /0: a no-operation as long as its operand. */
static size_t nop_bytes(uint8_t modrm)
{
	static const uint8_t displacement[] = { 0, 1, 4 };
	unsigned int mode = modrm >> 6;

	return mode == 3 ? 3 : 3u + ((modrm & 7) == 4) + displacement[mode];
}

/*
 * What linkage tables are made of: System V ABI AMD64 5.2 and its appendix on branch tracking,
 * GNU ld's elf64-x86-64.c, lld's X86_64.cpp, mold's arch-x86-64.cc. 0 bytes: nothing of that.
 */
static struct instruction read_instruction(const uint8_t *bytes, size_t length)
{
	uint8_t code[SLOT_BYTES] = { 0 };

	memcpy(code, bytes, length < sizeof(code) ? length : sizeof(code));
	switch (code[0]) {
	case 0xf3: // endbr64
		return (struct instruction){ .bytes = code[1] == 0x0f && code[2] == 0x1e ? 4 : 0 };
	case 0xf2: // bnd
	case 0x66: // a longer no-operation
	case 0x2e:
	case 0x90:
	case 0xcc:
		return (struct instruction){ .bytes = 1 };
	case 0x0f:
		return (struct instruction){
			.bytes = code[1] == 0x1f ? (uint8_t)nop_bytes(code[2]) : 0,
		};
	case 0x68: // push $n
		return (struct instruction){ .bytes = 5, .pushes = true };
	case 0xe9:
		return (struct instruction){ .bytes = 5, .jumps = true };
	case 0xff: // jmp *n(%rip), push n(%rip)
		if (code[1] == 0x25)
			return (struct instruction){ .bytes = 6, .jumps = true };
		return (struct instruction){ .bytes = code[1] == 0x35 ? 6 : 0, .pushes = true };
	case 0x41: // push %r11; mov $n, %r11d
		if (code[1] == 0x53)
			return (struct instruction){ .bytes = 2, .pushes = true };
		return (struct instruction){ .bytes = code[1] == 0xbb ? 6 : 0 };
	default:
		return (struct instruction){ 0 };
	}
}

static struct unwind_rule rule_amd64(const struct unwind_machine *machine, int32_t depth)
{
	return (struct unwind_rule){
		.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = machine->sp,
		.cfa_offset = depth,
		.ra = UNWIND_AT_CFA,
		.ra_offset = -WORD_BYTES,
	};
}

/*
 * What entries jump to when they are not bound yet: pushes a second word, or both, and jumps to
 * the dynamic linker. Returns its size, 0 where the table has none.
 */
static size_t visit_header_amd64(const struct elf_piece *code, const struct unwind_machine *machine,
				 struct unwind_window *window)
{
	// GNU's is entered with the first word pushed.
	int32_t depth = code->length >= 2 && code->bytes[0] == 0xff ? 2 * WORD_BYTES : WORD_BYTES;
	struct unwind_rule rules[HEADER_PUSHES + 1];
	size_t ends[HEADER_PUSHES + 1], count = 0, at = 0, size;

	for (;;) {
		struct instruction next;

		if (at >= code->length)
			return 0;
		next = read_instruction(code->bytes + at, code->length - at);
		at += next.bytes;
		if (!next.bytes || at > MAX_HEADER_BYTES)
			return 0;
		if (next.jumps)
			break;
		if (!next.pushes)
			continue;
		if (count == HEADER_PUSHES)
			return 0;
		rules[count] = rule_amd64(machine, depth);
		ends[count++] = at;
		depth += WORD_BYTES;
	}
	// An entry pushes one word after its jump, or none.
	if (depth != 3 * WORD_BYTES)
		return 0;
	size = (at + SLOT_BYTES - 1) / SLOT_BYTES * SLOT_BYTES;
	if (size > code->length)
		size = code->length;
	rules[count] = rule_amd64(machine, depth);
	ends[count] = size;
	for (size_t i = 0; i <= count; i++)
		unwind_window_give(window, code->address + ends[i], &rules[i]);
	return size;
}

/*
 * One entry. Nothing but a push moves the stack pointer, once at most; so that all entries of a
 * table have one rule, which asks where in its 16 bytes the entry was left.
 */
static struct unwind_rule rule_of_slot_amd64(const uint8_t *bytes, size_t length,
					     const struct unwind_machine *machine)
{
	struct unwind_rule rule = rule_amd64(machine, WORD_BYTES);
	size_t at = 0;

	if (length > SLOT_BYTES)
		length = SLOT_BYTES;
	while (at < length) {
		struct instruction next = read_instruction(bytes + at, length - at);

		if (!next.bytes || (next.pushes && rule.cfa == UNWIND_CFA_PLT))
			return (struct unwind_rule){ .cfa = UNWIND_CFA_UNKNOWN };
		at += next.bytes;
		if (next.pushes) {
			rule.cfa = UNWIND_CFA_PLT;
			rule.cfa_addend = (int32_t)at;
		}
	}
	return rule;
}

static void visit_amd64(const struct elf_piece *code, const struct unwind_machine *machine,
			struct unwind_window *window)
{
	size_t at;

	// The rule of entries goes by the address modulo 16.
	if (code->address % SLOT_BYTES)
		return;
	at = visit_header_amd64(code, machine, window);
	if (window->at > code->address + at)
		at = (window->at - code->address) / SLOT_BYTES * SLOT_BYTES;
	for (; at < code->length && window->at < window->limit; at += SLOT_BYTES) {
		size_t left = code->length - at;
		struct unwind_rule rule = rule_of_slot_amd64(code->bytes + at, left, machine);

		unwind_window_give(window,
				   code->address + at + (left < SLOT_BYTES ? left : SLOT_BYTES),
				   &rule);
	}
}

/* ---- arm64 ---- */

/* Nothing but the header moves the stack pointer, and the return address is in its register. */
static void visit_arm64(const struct elf_piece *code, const struct unwind_machine *machine,
			struct unwind_window *window)
{
	struct unwind_rule leaf = { .cfa = UNWIND_CFA_REGISTER, .cfa_register = machine->sp };
	struct unwind_rule pushed = {
		.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = machine->sp,
		.cfa_offset = 2 * WORD_BYTES,
		.ra = UNWIND_AT_CFA,
		.ra_offset = -WORD_BYTES,
	};

	for (size_t at = 0; at < ARM64_PUSH_BEFORE && code->length >= ARM64_HEADER_BYTES;
	     at += INSTRUCTION_BYTES) {
		if (instruction_at(code->bytes + at) != arm64_push)
			continue;
		unwind_window_give(window, code->address + at + INSTRUCTION_BYTES, &leaf);
		unwind_window_give(window, code->address + ARM64_HEADER_BYTES, &pushed);
	}
	unwind_window_give(window, code->address + code->length, &leaf);
}

void linkage_visit(const struct elf_view *view, const struct unwind_machine *machine,
		   const struct linkage_area *area, struct unwind_window *window)
{
	struct elf_piece code = elf_view_code(view, area->start, area->limit - area->start);

	if (!code.bytes)
		return;
	if (machine->elf_machine == EM_AARCH64)
		visit_arm64(&code, machine, window);
	else
		visit_amd64(&code, machine, window);
}
