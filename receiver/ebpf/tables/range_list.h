/* SPDX-License-Identifier: Apache-2.0 */
/* The ranges of one process at a time, as the kernel side searches them, made of its executable
 * memory. One thread at a time. */
#pragma once

#include "attached.h"
#include "code_copy.h"
#include "pages.h"

#include "base/base.h"

struct range_list {
	VECTOR(struct unwind_range) ranges; /* by address */
};

/*
 * Make them of @code, @most at most; @attached are the process's runtimes. Returns how many
 * mappings were left out.
 */
size_t range_list_make(struct range_list *list, const struct code_copy *code,
		       const struct pages *pages, const struct attached_list *attached,
		       size_t most);

/* Room as for few mappings is kept for the next, more is given back. */
void range_list_clear(struct range_list *list);
void range_list_deinit(struct range_list *list);
