/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much the cache takes of the disk, and which files go when that is too much: those that were
 * used longest ago. Goes through the directory in small steps, since it may be a slow one. One
 * thread at a time.
 */
#pragma once

#include "cache_directory.h"

#include "base/base.h"

#include <dirent.h>

struct cache_file {
	int64_t modified_ns;
	uint64_t disk_bytes;
};

struct cache_sweep {
	DIR *listing;           /* owned; NULL: not under way */
	bool removes;           /* in the second round, which begins when there is too much */
	int64_t removed_to_ns;  /* files modified before it go, */
	uint64_t removed_bytes; /* and of those modified just then as many as this is of */
	VECTOR(struct cache_file) files;
	uint64_t bytes;   /* of entries, all that were seen and kept */
	uint64_t removed; /* entries, by this sweep */
};

/* Begin, unless that has been done. False when the directory cannot be listed. */
bool cache_sweep_begin(struct cache_sweep *sweep, const struct cache_directory *directory);
void cache_sweep_deinit(struct cache_sweep *sweep);

/* Look at some more files. True when it is over: then @bytes is what the cache takes, below
 * @limit_bytes unless there was something that could not be removed. */
bool cache_sweep_step(struct cache_sweep *sweep, const struct cache_directory *directory,
		      uint64_t limit_bytes);
