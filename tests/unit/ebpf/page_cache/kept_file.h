/* SPDX-License-Identifier: Apache-2.0 */
/* ELF files as a profiled program has them, and what a worker would say of each. */
#pragma once

#include "receiver/ebpf/page_cache/page_cache.h"

#include <stdbool.h>

struct kept_file {
	char path[256];
	struct page_cache_request request; /* about what the file is */
	/* What a worker answers to it: */
	void *body; /* owned */
	size_t body_bytes;
	struct worker_page pages[WORKER_MAX_PAGES];
	struct worker_answer answer;
};

/* A copy of the file @from at @path; all of these fail the test when they cannot. */
void kept_file_copy(struct kept_file *file, const char *from, const char *path);

void kept_file_deinit(struct kept_file *file);

/* Turn request and answer to pages @numbers of the group that begins with the first of them. */
void kept_file_ask_group(struct kept_file *file, const uint64_t *numbers, size_t count);

/* Do both say the same of segments, pages and rules? */
bool kept_file_agrees(const struct kept_file *file, const struct worker_answer *answer);

int kept_file_open(const struct kept_file *file);
