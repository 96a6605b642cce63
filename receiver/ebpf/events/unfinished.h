/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits that have not ended (bpf/events/unfinished.bpf.h): a pass over all threads tells how long
 * those that sleep have done so since the last one. Of very many some are kept by lot, like other
 * waits.
 *
 * Threads: one at a time.
 */
#pragma once

#include "event.h"

struct unfinished {
	struct bpf_link *link;     /* owned; NULL: there is nothing to tell */
	struct off_cpu_pass *pass; /* the program's variable, borrowed */
	uint32_t share;            /* that waits are kept with, in 2^-32; 0: by a threshold */
	int status;                /* why there is nothing to tell: 0 or a negative errno */
};

/* After load, and after the program at switches runs: threads that sleep already are noted. Of a
 * failure unfinished_tell() says. */
void unfinished_init(struct unfinished *unfinished, const struct bpf_program *look,
		     struct off_cpu_pass *pass, uint32_t share);
void unfinished_deinit(struct unfinished *unfinished); /* also of a zeroed one; idempotent */

/* Adds about @most records to @records at most, each of a thread whose stack is unread (struct
 * sample_unread). 0 or a negative errno. */
int unfinished_tell(struct unfinished *unfinished, uint64_t most, struct event_records *records);

/* The threshold by which about @most are kept of the parts that were counted, by the bits of their
 * lengths: parts of 2^(n - 1) up to 2^n - 1 at n. Nanoseconds. */
uint64_t unfinished_threshold(const __u64 lengths[OFF_CPU_PASS_LENGTHS], uint64_t most);

/* @share, or as much of it that about @most are kept, in 2^-32. */
uint32_t unfinished_share(const __u64 lengths[OFF_CPU_PASS_LENGTHS], uint64_t most, uint32_t share);
