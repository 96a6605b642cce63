/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that one file says of its frames. Where two tables have a rule for the same code, the first
 * of these holds: .eh_frame, Go's function table, .debug_frame, known stubs. One thread at a time.
 */
#pragma once

#include "cfi.h"
#include "pclntab.h"
#include "stubs.h"

struct unwind_source {
	struct cfi eh_frame, debug_frame;
	struct pclntab go;
	struct stubs stubs;
	uint8_t *inflated;     /* owned: .debug_frame of a file that has it compressed; or NULL */
	size_t inflated_bytes; /* allocated for it */
	/* There is a .debug_frame that cannot be read: compressed otherwise than by zlib, broken,
	 * or larger than our bounds. */
	bool debug_frame_unreadable;
};

/*
 * @view and its file are borrowed until deinit. 0, also when there is nothing in it, or -ENOMEM.
 */
int unwind_source_init(struct unwind_source *source, const struct elf_view *view);

/* Only what says which functions there are, and nothing of what it takes to unwind them, so that
 * there is nothing to deinit. @view is borrowed. */
void unwind_source_init_functions(struct unwind_source *source, const struct elf_view *view);

void unwind_source_deinit(struct unwind_source *source);

/* No table and no stub: visits would give nothing but UNKNOWN. */
bool unwind_source_is_empty(const struct unwind_source *source);

/* Give the rules of all of [start, limit), ascending; UNKNOWN where nothing is said, or where the
 * effort of one visit (EFFORT_PAGE of effort.h) has ended: ask for a page at a time. */
void unwind_source_visit(const struct unwind_source *source, uint64_t start, uint64_t limit,
			 unwind_take_function take, void *context);
