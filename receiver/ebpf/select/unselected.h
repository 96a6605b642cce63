/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel side's table of processes that are not to be sampled (bpf/select.bpf.h). A slot is one
 * word, so that the program sees it whole whenever it looks. One thread at a time.
 */
#pragma once

#include "processes/processes.h"
#include "sample.h"

#include <stdbool.h>
#include <stdint.h>

/* Where it is, as the sampler knows. */
struct select_maps {
	int unselected;            /* descriptor, borrowed */
	volatile uint32_t *active; /* borrowed; 0: nothing is looked up */
};

struct unselected {
	struct select_bucket *buckets; /* mapped; SELECT_BUCKETS of them; NULL before init */
	uint64_t displaced;            /* processes that had to make room for another one */
};

/* 0 or a negative errno. */
int unselected_init(struct unselected *unselected, int map);
void unselected_deinit(struct unselected *unselected); /* accepts one that was never initialized */

/*
 * From now on samples of @key's program are dropped. In the place of whatever its process had been;
 * in a full bucket in that of another process, whose samples come again then.
 */
void unselected_add(struct unselected *unselected, const struct process_key *key);
void unselected_remove(struct unselected *unselected, const struct process_key *key);
void unselected_clear(struct unselected *unselected);
