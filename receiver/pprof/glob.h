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
	GLOB_STOPPED,    /* by @goes_on */
	GLOB_TOO_MANY,   /* more than a million names were looked at */
	GLOB_INCOMPLETE, /* what is there could not be read or reached */
};

struct glob_visitor {
	/* A path that matches, whatever is there; some come twice where `**` comes twice. */
	void (*visit)(void *context, const char *path);
	/* Asked before each name that is looked at; false ends it. */
	bool (*goes_on)(void *context);
	void *context;
};

/* Call @visitor with each path that @pattern matches. Any thread. */
enum glob_end glob_visit(const char *pattern, const struct glob_visitor *visitor);
