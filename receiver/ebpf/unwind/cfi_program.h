/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the instructions of one FDE (DWARF 5, section 6.4.2). One thread at a time. */
#pragma once

#include "cfi_entry.h"
#include "effort.h"
#include "rule.h"

/* What @take is to get: [start, limit) of the code; the rest is run, but not given. */
struct cfi_window {
	uint64_t start, limit;
	unwind_take_function take;
	void *context;
	struct effort *effort; /* borrowed; each byte of instructions is one */
};

/*
 * Give the rules of @fde inside @window. Where the program is malformed, or takes more than is left
 * of the effort, the rules up to there are given, and the rest of the range is UNSUPPORTED.
 */
void cfi_program_run(const struct cfi_fde *fde, const struct cfi_section *section,
		     const struct unwind_machine *machine, const struct cfi_window *window);
