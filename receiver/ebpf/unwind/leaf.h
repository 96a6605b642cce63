/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arm64's vDSO, which Linux builds without tables: which of its functions have no frame, so that
 * their caller is in the link register all the time. Any thread.
 */
#pragma once

#include "elf_view.h"
#include "rule.h"

#include <stddef.h>

struct leaf_area {
	uint64_t start, limit;
};

/* At most @max such functions, in no order. Returns how many; 0 for any other file. */
size_t leaf_find(const struct elf_view *view, const struct unwind_machine *machine,
		 struct leaf_area *ret, size_t max);

struct unwind_rule leaf_rule(const struct unwind_machine *machine);
