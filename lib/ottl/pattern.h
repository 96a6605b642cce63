/* SPDX-License-Identifier: Apache-2.0 */
/* What regular expressions share inside this folder; ottl.h has what others may use of them. */
#pragma once

#include "ottl.h"
#include "scratch.h"

#include <profcol/batch.h>
#include <profcol/errors.h>

#include <stdbool.h>
#include <stddef.h>

/*
 * The regular expression @text, in the syntax of RE2 as Go has it, in that of PCRE2. What the two
 * do not share is written otherwise, or refused: CONFIG, worded as Go does, with the offset.
 * *@ret is the caller's to free().
 */
PROFCOL_MUST_CHECK struct profcol_error *pattern_translate(const char *text, size_t length,
							   char **ret, size_t *length_ret);

enum pattern_outcome {
	PATTERN_FALSE,
	PATTERN_TRUE,
	PATTERN_TOO_SLOW,
	PATTERN_TOO_LONG, /* the text */
	PATTERN_NO_MEMORY,
};

/* As ottl_pattern_match(), and why. */
enum pattern_outcome pattern_match(const struct ottl_pattern *pattern, struct profcol_text text,
				   struct ottl_budget *budget);

/*
 * As pattern_match(), of what is at @begin or behind it; with PATTERN_TRUE @captures_ret has the
 * whole match and ottl_pattern_capture_count() groups, parts of @text: those without a match are
 * empty, with bytes NULL.
 */
enum pattern_outcome pattern_capture(const struct ottl_pattern *pattern, struct profcol_text text,
				     size_t begin, struct ottl_budget *budget,
				     struct profcol_text *captures_ret);

/*
 * @text, which is UTF-8, with its upper-case letters replaced, or with @to_upper its lower-case
 * ones. False without memory.
 */
bool pattern_change_case(struct profcol_text text, bool to_upper, struct scratch *scratch,
			 struct profcol_text *ret);
