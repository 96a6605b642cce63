/* SPDX-License-Identifier: Apache-2.0 */
/* Globs, as replace_match() takes them: the syntax of github.com/gobwas/glob, without separators.
 */
#pragma once

#include "pattern.h"

/*
 * The glob @text, to be matched against whole texts by pattern_match(). `*` stands for any bytes,
 * `?` for a character, `[abc]`, `[a-z]` and `[!a-z]` for one of some, `{a,b*}` for one of several
 * globs; `\` takes the meaning from what follows. CONFIG, with the offset, for what is none.
 * *@ret is the caller's to destroy, and written only on success.
 */
PROFCOL_MUST_CHECK struct profcol_error *glob_create(const char *text, size_t length,
						     struct ottl_pattern **ret);
