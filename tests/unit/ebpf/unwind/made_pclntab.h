/* SPDX-License-Identifier: Apache-2.0 */
/* Go's table of functions, made as the linkers of its versions write it. */
#pragma once

#include "receiver/ebpf/unwind/pclntab.h"

#include <stddef.h>
#include <stdint.h>

enum { MADE_PCLNTAB_BYTES = 4096, MADE_PCLNTAB_STEPS = 8 };

/* Up to @limit, bytes from the function's start, it has taken @depth bytes off the stack. */
struct made_step {
	uint32_t limit;
	int32_t depth;
};

struct made_function {
	const char *name;
	uint64_t start;
	uint8_t flag;
	struct made_step steps[MADE_PCLNTAB_STEPS]; /* ended by limit 0 */
};

/*
 * Write the table of @count functions, ascending, the last one up to @limit. @text is what entries
 * are relative to; @says_text: the table has it. Returns its length.
 */
size_t made_pclntab_write(uint8_t to[MADE_PCLNTAB_BYTES], enum pclntab_version version,
			  uint8_t quantum, const struct made_function *functions, size_t count,
			  uint64_t limit, uint64_t text, bool says_text);
