/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What worker.h promises of an answer, tried out by reading all of it as the profiler and the
 * kernel side would. Shares no code with the checks that let the answer through.
 */
#pragma once

#include "receiver/ebpf/worker/worker.h"

/* The answer as it came. */
struct promised {
	const struct worker_answer *answer;
	const void *body;
	size_t bytes;
	const uint64_t *asked;
	size_t asked_count;
};

/* The first promise that does not hold; NULL when all do. */
const char *promises_of_functions(const struct promised *promised);
const char *promises_of_index(const struct promised *promised);
const char *promises_of_lines(const struct promised *promised);
const char *promises_of_pages(const struct promised *promised);
