/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Procedure linkage tables. GNU ld and gold describe theirs in .eh_frame on amd64; lld, mold, and
 * all linkers on arm64 do not. One thread at a time.
 */
#pragma once

#include "elf_view.h"
#include "window.h"

#include <stddef.h>

struct linkage_area {
	uint64_t start, limit;
};

/*
 * The tables of a file: its sections of those names, or where it has none the one that the
 * dynamic section leads to. At most @count; returns how many.
 */
size_t linkage_find(const struct elf_view *view, const struct unwind_machine *machine,
		    struct linkage_area *ret, size_t count);

/* Give the rules of @area from where @window stands, as far as the window reaches. */
void linkage_visit(const struct elf_view *view, const struct unwind_machine *machine,
		   const struct linkage_area *area, struct unwind_window *window);
