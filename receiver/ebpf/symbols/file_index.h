/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory in which a worker writes the index of a file's functions (worker/function_index.h), kept
 * for the next worker that is asked. What is in it is never looked at here. One thread at a time.
 */
#pragma once

#include "../worker/worker.h"

/* Empty memory of WORKER_INDEX_BYTES, of which only what is written to takes any. The descriptor or
 * a negative errno. */
int file_index_begin(void);

/* A worker says that it has written @bytes: the rest goes, and nobody can change it any more. 0 or
 * a negative errno. */
int file_index_finish(int fd, uint64_t bytes);

/* What it takes of memory. */
uint64_t file_index_memory(uint64_t bytes);
