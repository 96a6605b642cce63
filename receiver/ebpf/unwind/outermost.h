/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that no frame stands above: the first ones of a program and of a thread, in C libraries
 * without tables. Any thread.
 */
#pragma once

#include "elf_view.h"
#include "rule.h"

#include <stddef.h>

struct outermost {
	const struct unwind_machine *machine;
	uint64_t entry, entry_limit; /* the program's first code; equal: there is none */
	/* musl's libc, in a file of its own or in a static program; 0 where it is not known. */
	uint64_t start_main; /* close to what calls main() */
	uint64_t exit, thread_exit;
};

struct outermost outermost_find(const struct elf_view *view, const struct unwind_machine *machine);

/*
 * Is there such a call at the start of @code? It is one when what comes behind it is: an exit of
 * the thread or of the program. Returns the length of both, 0 when not.
 */
size_t outermost_call_bytes(const struct outermost *outermost, const struct elf_piece *code);

/*
 * Is @code what makecontext(3) leaves as the return address of a context's function? Nobody calls
 * it, so that it is looked up one byte before. Returns its length, 0 when not.
 */
size_t outermost_context_bytes(const struct outermost *outermost, const struct elf_piece *code);
