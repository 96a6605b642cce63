/* SPDX-License-Identifier: Apache-2.0 */
/* Code that no symbol names, told apart by the entries of the unwind tables. One thread at a time.
 */
#pragma once

#include "elf_facts.h"
#include "function_ranges.h"

#include "unwind/unwind.h"

/*
 * Add to @ranges what @source's entries have outside of them, each piece with FUNCTION_UNNAMED and
 * how far behind the begin of its entry it lies. 0 or -ENOMEM: then @ranges is as it was.
 */
int unnamed_add(struct function_ranges *ranges, const struct unwind_source *source,
		const struct elf_facts *facts);
