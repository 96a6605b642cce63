// SPDX-License-Identifier: Apache-2.0
#include "callee_saved.h"

#include "window.h"

#include <elf.h>
#include <string.h>

enum {
	RBX = 3,          /* DWARF number: System V ABI AMD64, figure 3.36 */
	FRAME_BYTES = 32, /* from rbx to the CFA: rbx, two arguments, the return address */
	CALL = 0xe8,      /* near, relative */
	CALL_INDIRECT = 0xff,
	JUMP = 0xe9,
	MOST_CALLS = 64,
	MOST_CALLEE_BYTES = 1 << 13,
};

/* mov 16(%rbx), %rsi; mov 8(%rbx), %rdi; call: the arguments that the linkage table has pushed. */
static const uint8_t form[] = { 0x48, 0x8b, 0x73, 0x10, 0x48, 0x8b, 0x7b, 0x08, CALL };

enum { FORM_BYTES = sizeof(form) + sizeof(int32_t) };

bool callee_saved_is_base(const struct unwind_machine *machine, const struct unwind_rule *rule)
{
	return rule->cfa == UNWIND_CFA_REGISTER && machine->elf_machine == EM_X86_64 &&
	       rule->cfa_register == RBX && rule->cfa_offset == FRAME_BYTES;
}

/* ---- the callee ---- */

struct search {
	const struct elf_view *view;
	uint64_t target;
	int32_t offset; /* from the callee's CFA, which is the caller's stack pointer */
	bool is_entry, found, fails;
};

/* Could it call or leave the function? Displacements that look so do no harm. */
static bool may_call(const struct elf_view *view, uint64_t start, uint64_t limit)
{
	struct elf_piece code = elf_view_code(view, start, limit - start);

	if (code.length != limit - start)
		return true;
	for (size_t i = 0; i < code.length; i++)
		if (code.bytes[i] == CALL || code.bytes[i] == CALL_INDIRECT ||
		    code.bytes[i] == JUMP)
			return true;
	return false;
}

static void take_callee(void *context, uint64_t start, uint64_t limit,
			const struct unwind_rule *rule)
{
	struct search *search = context;

	if (start == search->target)
		search->is_entry = rule->cfa == UNWIND_CFA_REGISTER && rule->cfa_offset == 8 &&
				   rule->fp == UNWIND_SAME;
	if (rule->cfa == UNWIND_CFA_REGISTER && rule->fp == UNWIND_AT_CFA) {
		search->fails |= search->found && search->offset != rule->fp_offset;
		search->offset = rule->fp_offset;
		search->found = true;
		return;
	}
	// Here the register is where it was: nothing may be called that changes it.
	search->fails |= rule->fp != UNWIND_SAME || may_call(search->view, start, limit);
}

/* Where the function at @target saves rbx, whatever it does while it runs. */
static bool find_saved(const struct callee_saved *callee_saved, const struct cfi *cfi,
		       uint64_t target, int32_t *ret)
{
	// A rule has the place of one register beside the return address: that of the frame
	// pointer.
	struct unwind_machine machine = *cfi->machine;
	struct search search = { .view = callee_saved->view, .target = target };
	struct cfi other = *cfi;
	struct cfi_fde fde;

	machine.fp = RBX;
	other.machine = &machine;
	if (!cfi_find(cfi, target, &fde) || fde.limit - fde.start > MOST_CALLEE_BYTES)
		return false;
	cfi_visit(&other, fde.start, fde.limit, callee_saved->effort, take_callee, &search);
	*ret = search.offset;
	return search.is_entry && search.found && !search.fails;
}

/* ---- the caller ---- */

/* Where the call of the form at @at leads; 0 when it is not there. */
static uint64_t target_at(const struct elf_piece *code, size_t at)
{
	int32_t distance;

	if (memcmp(code->bytes + at, form, sizeof(form)) != 0)
		return 0;
	memcpy(&distance, code->bytes + at + sizeof(form), sizeof(distance));
	return code->address + at + FORM_BYTES + (uint64_t)(int64_t)distance;
}

/* The stack pointer, when a return address leads here, is the callee's CFA. */
static struct unwind_rule rule_by_callee(const struct cfi *cfi, const struct unwind_rule *rule,
					 int32_t offset)
{
	struct unwind_rule by_callee = *rule;

	by_callee.cfa = UNWIND_CFA_DEREFERENCED;
	by_callee.cfa_register = cfi->machine->sp;
	by_callee.cfa_offset = offset;
	by_callee.cfa_addend = rule->cfa_offset;
	return by_callee;
}

void callee_saved_visit(struct callee_saved *callee_saved, const struct cfi *cfi, uint64_t start,
			uint64_t limit, const struct unwind_rule *rule, unwind_take_function take,
			void *context)
{
	struct unwind_window window = { start, limit, take, context };
	// What begins before may end in here.
	uint64_t from = start > FORM_BYTES - 1 ? start - (FORM_BYTES - 1) : start;
	struct elf_piece code = elf_view_code(callee_saved->view, from, limit - from);

	if (!code.bytes)
		code = elf_view_code(callee_saved->view, start, limit - start);
	for (size_t at = 0; at + FORM_BYTES <= code.length && callee_saved->calls < MOST_CALLS;
	     at++) {
		uint64_t target = target_at(&code, at), last = code.address + at + FORM_BYTES - 1;
		struct unwind_rule by_callee;
		int32_t offset;

		if (!target || last < start)
			continue;
		callee_saved->calls++;
		if (!find_saved(callee_saved, cfi, target, &offset))
			continue;
		by_callee = rule_by_callee(cfi, rule, offset);
		unwind_window_give(&window, last, rule);
		unwind_window_give(&window, last + 1, &by_callee);
	}
	unwind_window_give(&window, limit, rule);
}
