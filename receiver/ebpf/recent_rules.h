/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives each CPU its table of unwind rules found lately (unwind_recent in bpf/unwind_lookup.bpf.h).
 * One thread at a time.
 */
#pragma once

#include <profcol/errors.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct recent_rules {
	int outer_fd;   /* the array of maps, borrowed */
	uint32_t count; /* of its entries: CPUs */
	bool *made;     /* owned, of each CPU */
	uint64_t bytes; /* of the kernel's memory */
};

/* 0 or -ENOMEM. */
int recent_rules_init(struct recent_rules *rules, int outer_fd, uint32_t count);
void recent_rules_deinit(struct recent_rules *rules); /* also of a zeroed one */

/*
 * Make those of @cpus that are not there, all at once: putting a map into another one waits some
 * milliseconds for the programs that run.
 */
PROFCOL_MUST_CHECK struct profcol_error *recent_rules_make(struct recent_rules *rules,
							   const uint32_t *cpus, size_t count);

/* Put empty tables in the place of all there are. After an error some may still be the old ones. */
PROFCOL_MUST_CHECK struct profcol_error *recent_rules_renew(struct recent_rules *rules);
