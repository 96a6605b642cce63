/* SPDX-License-Identifier: Apache-2.0 */
/* What of a batch is not known yet, by file, in the order in which it is asked for. One thread at a
 * time. */
#pragma once

#include "known_files.h"

/* A query that could not be answered from what is known. */
struct miss {
	struct known_file *file;
	uint64_t offset;
	uint32_t query;
};

/* All misses of one file: [first, first + count). */
struct miss_group {
	uint32_t id; /* of the file */
	struct known_file *file;
	size_t first, count;
	uint64_t turn; /* how many of the same owner go before */
};

/* All zero is empty. */
struct symbol_misses {
	VECTOR(struct miss) all;
	VECTOR(struct miss_group) groups;
};

void symbol_misses_deinit(struct symbol_misses *misses);

/* Sort `all` by file and make the groups: one file of each owner, then the next one of each, so
 * that nobody's many keep others waiting. What is known of these files counts for their owners from
 * now on. Without memory some are left out. */
void symbol_misses_group(struct symbol_misses *misses, struct known_files *known,
			 struct processes *processes);

/* Files of the groups may have been dropped since: find them, and leave out those that were. */
void symbol_misses_find(struct symbol_misses *misses, const struct known_files *known);
