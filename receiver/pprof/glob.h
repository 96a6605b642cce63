/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files by a pattern: `*` and `?` are any text and any character within a name, `[a-z]` one of
 * several, a whole part `**` any number of folders. Names that begin with a dot are no exception.
 * Symbolic links are followed, but not by `**`.
 */
#pragma once

#include <stdbool.h>

/* What is wrong with @pattern, a literal text; NULL when nothing is. */
const char *glob_fault(const char *pattern);

enum glob_end {
	GLOB_DONE,
	GLOB_STOPPED,    /* by @visit */
	GLOB_TOO_MANY,   /* more than a million names were looked at */
	GLOB_INCOMPLETE, /* a folder is there and could not be read */
};

/*
 * Call @visit with each path that @pattern matches, whatever is there; with some twice where `**`
 * comes twice. It returns false to stop.
 */
enum glob_end glob_visit(const char *pattern, bool (*visit)(void *context, const char *path),
			 void *context);
