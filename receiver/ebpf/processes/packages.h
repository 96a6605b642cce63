/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which package of a root has a file: what dpkg has written down there. Names and contents are
 * those of whoever owns the root: all is bounded, and a name is only given out when it is one that
 * a package can have. Any thread; time-limited as opener.h has it.
 */
#pragma once

#include "root_files.h"

enum {
	PACKAGES_PATHS = 8,        /* looked for at a time */
	PACKAGES_NAME_BYTES = 128, /* of a package, with its NUL */
};

enum packages_manager { PACKAGES_UNKNOWN, PACKAGES_DPKG, PACKAGES_RPM };

/* What was found in a root. */
struct packages_found {
	enum packages_manager manager;                   /* whose database there is */
	char names[PACKAGES_PATHS][PACKAGES_NAME_BYTES]; /* of each path, or "" */
};

/*
 * Look for @search's paths (at most PACKAGES_PATHS), as processes see them, in its root. 0, or a
 * negative errno when that took too long or could not be read. Of rpm only that it is there is
 * told.
 */
int packages_find(struct timed_calls *calls, const struct root_files_search *search,
		  uint64_t limit_ns, struct packages_found *ret);

/* Does the list of a package in @text, a path a line, have @path? A path that begins with /usr is
 * also looked for without that: packages are older than the merge of both. */
bool packages_list_has(const char *text, size_t length, const char *path);

/* The name of the package whose list is called @file, "libc6:amd64.list"; false: it is none. */
bool packages_name_of_list(const char *file, char ret[PACKAGES_NAME_BYTES]);
