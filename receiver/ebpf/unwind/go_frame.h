/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go functions whose callers the function table does not lead to: those that begin a stack, and
 * those that leave the stack they were called on. From there only the frame pointer leads back. Any
 * thread.
 */
#pragma once

#include "elf_view.h"
#include "rule.h"

enum go_kind {
	GO_PLAIN,
	GO_TOP,            /* begins a stack */
	GO_TOP_AFTERWARDS, /* begins one as soon as it has left its caller's */
	GO_SWITCHES,       /* may go on on another stack; comes back */
	GO_SIGNAL_RETURN,  /* returns to what a signal interrupted */
	GO_INTERRUPTS,     /* amd64: a handler has made it look as if it were called */
};

/* What is said of a function in its table. */
struct go_function {
	const char *name; /* NULL: unknown */
	uint64_t start, limit;
	uint64_t framed; /* where it first has taken something off the stack; @limit: nowhere */
	bool top_frame;  /* flags; the second one since Go 1.17 */
	bool writes_stack_pointer;
};

/* What its code says. Addresses from which on something is so; UINT64_MAX: nowhere. */
struct go_frame {
	enum go_kind kind;
	bool saves_pointer; /* the caller's frame pointer lies right below the return address */
	bool has_frame;
	bool pointer_lost;      /* on the other stack its own frame pointer is gone, too */
	uint64_t points_from;   /* the frame pointer points to this frame */
	uint64_t switched_from; /* the stack pointer is another stack's */
	uint64_t started_from;  /* up to there a thread may begin, which the result of its system
				   call tells apart: 0 */
};

enum go_kind go_frame_kind(const struct go_function *function);

struct go_frame go_frame_read(const struct elf_view *view, const struct unwind_machine *machine,
			      const struct go_function *function);

/* By the frame pointer. @depth: bytes that the function has taken off the stack. */
struct unwind_rule go_frame_pointer_rule(const struct unwind_machine *machine, int32_t depth);

/*
 * Has the code before @address popped its return address into a register, of which the rule tells?
 * syscall.rawVforkSyscall keeps it there, since a child overwrites it on the stack. amd64 only.
 */
bool go_frame_popped(const struct elf_view *view, const struct unwind_machine *machine,
		     uint64_t address, struct unwind_rule *ret);
