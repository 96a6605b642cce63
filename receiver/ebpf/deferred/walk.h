/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goes on with a walk that the kernel side has deferred (struct sample_deferred), by the same
 * rules: bpf/unwind_apply.h is the code of both. Reads the copy of the stack that came with the
 * sample; every byte of it may be anything.
 */
#pragma once

#include "sample.h"

#include "tables/tables.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who knows the code. */
struct walk_tables {
	enum tables_found (*find)(void *context, uint64_t address, struct tables_code *ret);
	const struct unwind_rule *(*rule)(void *context, uint32_t number);
	void *context;
};

struct walk_result {
	uint32_t count;          /* frames */
	enum unwind_end end;     /* what the kernel side would have said */
	enum tables_found found; /* of the last frame's code: other than FOUND when it is missing */
	bool guessed;            /* a frame pointer led there */
	bool marked;             /* the leaf's caller was guessed: of its code nothing is at hand */
};

/*
 * Write the frames from @deferred's pc on to @frames, at most @most. The copy of the stack
 * that follows @deferred has @stack_bytes; @is_whole: there was no more to be copied.
 */
struct walk_result walk_finish(const struct sample_deferred *deferred, size_t stack_bytes,
			       bool is_whole, const struct walk_tables *tables, uint64_t *frames,
			       uint32_t most);
