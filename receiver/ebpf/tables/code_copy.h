/* SPDX-License-Identifier: Apache-2.0 */
/* The executable memory of one process at a time, read into room that grows with what there is. One
 * thread at a time. */
#pragma once

#include "processes/processes.h"

struct code_copy {
	struct process_code *items; /* owned; by address */
	size_t count, capacity;
	size_t left_out; /* that there was no room for */
};

/* What processes_code says of @key, @most at most. */
void code_copy_read(struct code_copy *copy, struct processes *processes,
		    const struct process_key *key, size_t most);

/* Room as for few mappings is kept for the next, more is given back. */
void code_copy_clear(struct code_copy *copy);
void code_copy_deinit(struct code_copy *copy);
