/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for files of other roots by name: debug files, and what a package manager has written. What
 * is found has been chosen by whoever owns the root: it is a regular file, and nothing more is
 * known of it. Links cannot lead out of the root. Any thread; time-limited as opener.h has it.
 */
#pragma once

#include "process_root.h"
#include "timed_calls.h"

#include <stddef.h>

enum { ROOT_FILES_PATHS = 32 }; /* that are tried in one call */

struct root_files_search {
	uint32_t pid;             /* whose root; 0: the machine's own */
	struct process_root root; /* expected of it */
	struct owner owner;       /* whom it costs when looking there takes long */
	uint64_t place;           /* a hash of where in the machine's root; 0: in what is root's */
	const char *const *paths; /* absolute, in that root */
	size_t count;
};

/*
 * Open the first of @search's paths, from number *@next on, that is a regular file, for reading.
 * *@next becomes the number behind it. -ENOENT when there is none, or another negative errno.
 */
int root_files_open(struct timed_calls *calls, const struct root_files_search *search, size_t *next,
		    uint64_t limit_ns);
