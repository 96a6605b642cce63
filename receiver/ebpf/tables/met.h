/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that samples have met in processes, or mappings, that the kernel side did not know then.
 * Its pages are asked for as soon as it is known which file lies there, lest the first walk by
 * tables should miss them. What stays unknown is forgotten after some seconds. One thread at a
 * time.
 */
#pragma once

#include "pages.h"

#include "processes/processes.h"

struct met;

struct met_address {
	struct process_key key;
	uint64_t address;
};

/* NULL without memory. Both are borrowed until destroy; of one process so many mappings are looked
 * at as @code_most. */
struct met *met_create(struct processes *processes, struct pages *pages, size_t code_most);
void met_destroy(struct met *met); /* accepts NULL */

/* Miss the pages at @count addresses, now or when their files are known. Returns of how many there
 * is no room to remember them. */
size_t met_take(struct met *met, const struct met_address *addresses, size_t count,
		uint64_t now_ns);

/* Try again what is due. */
void met_retry(struct met *met, uint64_t now_ns);

bool met_waits(const struct met *met); /* is there anything to try again? */
