/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of the cache. It has to be ours, and nobody else may write to it: what lies there
 * says how stacks are walked. It is held by its descriptor, so that its path may come to mean
 * something else. Files are made beside their place and then moved there: who reads, another
 * profcol too, finds whole ones.
 *
 * May wait for a disk. One thread at a time.
 */
#pragma once

#include "cache_entry.h"

#include <profcol/errors.h>

struct cache_directory {
	const char *path; /* borrowed */
	int fd;           /* owned; -1: not open */
};

/* What a file that is still being made is called. */
#define CACHE_TEMPORARY_PREFIX ".new-"

/* Open it, made if it is missing, and see that it can be written to. */
PROFCOL_MUST_CHECK struct profcol_error *cache_directory_open(struct cache_directory *directory);
void cache_directory_close(struct cache_directory *directory);

/*
 * The file @name, in memory that the caller frees. -ENOENT when there is none; -EINVAL when
 * something else is there: no file, not ours, of a length that no entry has.
 */
int cache_directory_read(const struct cache_directory *directory, const char *name, void **ret,
			 size_t *bytes_ret);

/* Put an entry there as @name. 0 or a negative errno. @disk_bytes_ret: what it takes of the disk.
 */
int cache_directory_write(const struct cache_directory *directory, const char *name,
			  const struct cache_entry_head *head, const uint64_t *asked,
			  const void *body, uint64_t *disk_bytes_ret);

/* Whatever @name is, it goes if that can be; a directory only when it is empty. False: it stays. */
bool cache_directory_remove(const struct cache_directory *directory, const char *name);
