/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When to take what is not in use of the program out of memory (base/residency.h): once after the
 * start, and when much has come into it since. Not regularly: each time the breakpoints go that a
 * tracer has set in it (uprobes), and come back only when that tracer sets them again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct trimming {
	bool begun;             /* it has been done */
	uint64_t settled_bytes; /* what was back some seconds later; 0: not known yet */
};

/* Is it time, with @file_bytes of files in memory? To be asked every few seconds. */
bool trimming_is_due(struct trimming *trimming, uint64_t file_bytes);

/* Look, and do it. */
void trimming_look(struct trimming *trimming);
