/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames whose canonical frame address hangs on a register that callees keep, but no walk carries:
 * where the register is while a call is under way, the callee's table says, since it has saved it.
 * That is certain of a callee only that saves it before all else, so that it is done for the one
 * frame that needs it: glibc's lazy binding (sysdeps/x86_64/dl-trampoline.h), amd64 only. One
 * thread at a time.
 */
#pragma once

#include "cfi.h"
#include "elf_view.h"

/* What a visit of any range shares. */
struct callee_saved {
	const struct elf_view *view;
	size_t calls;          /* looked at: foreign files are bounded */
	struct effort *effort; /* borrowed */
};

/* May @rule be of that frame? Without a machine that we know there are no rules, so that it may be
 * NULL. */
bool callee_saved_is_base(const struct unwind_machine *machine, const struct unwind_rule *rule);

/*
 * Give @rule for [start, limit), which @cfi said, but for the last byte of the call of that frame:
 * there, where return addresses are looked up, by the place where the callee saves the register.
 */
void callee_saved_visit(struct callee_saved *callee_saved, const struct cfi *cfi, uint64_t start,
			uint64_t limit, const struct unwind_rule *rule, unwind_take_function take,
			void *context);
