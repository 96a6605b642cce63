/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers to queries from what is known of their file, without anybody being asked.
 *
 * Threads: one at a time.
 */
#pragma once

#include "known_files.h"
#include "symbols.h"

/* What a worker might add to the answer. */
enum query_state {
	QUERY_ANSWERED, /* a worker knows no more */
	QUERY_NO_LINES, /* it may know which functions run there, */
	QUERY_NO_NAME,  /* or which one lies there */
};

/* As it is before anything is known. */
void query_reset(struct symbol_query *query);

/* Answer @query, which has been reset or answered before, by @file as it is known in @round. */
enum query_state query_answer(struct symbol_query *query, const struct known_file *file,
			      uint64_t round);
