/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of another process, read through its /proc/PID/mem page by page: what is read is near
 * to what was read before. In the worker; one thread at a time.
 */
#pragma once

#include "runtimes/runtime.h"

enum {
	FOREIGN_PAGE_BYTES = 4096,
	FOREIGN_PAGES_KEPT = 64,                     /* a power of two */
	FOREIGN_PAGES_MOST = 16384,                  /* that are read for one request: 64 MiB */
	FOREIGN_LONG_BYTES = 4 * FOREIGN_PAGE_BYTES, /* as many are read past the pages */
};

struct foreign_memory {
	int fd;                             /* borrowed */
	bool ended;                         /* the program has, or had no memory to open */
	uint32_t read;                      /* pages so far */
	uint64_t pages[FOREIGN_PAGES_KEPT]; /* their addresses + 1; 0: none */
	uint8_t bytes[FOREIGN_PAGES_KEPT][FOREIGN_PAGE_BYTES];
};

/* Nothing is known yet of the memory of @fd. What is returned borrows @memory. */
struct runtime_memory foreign_memory_begin(struct foreign_memory *memory, int fd);
