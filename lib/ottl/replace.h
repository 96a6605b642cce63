/* SPDX-License-Identifier: Apache-2.0 */
/* Texts with what a regular expression finds replaced, as Go's regexp does it. */
#pragma once

#include "evaluate.h"

/* How a match is replaced. */
struct replacement {
	struct profcol_text text;     /* with $1, ${name} and $$ */
	const struct node *converter; /* of what @text has become; NULL without: its `converter` */
	struct profcol_text format;   /* with %s for what the converter gives; empty without */
};

/*
 * @text with all matches of @pattern, that of the call @node, replaced; *@found_ret says whether
 * there is one, and *@ret is written only then. It may be @text's memory, or scratch memory. False
 * with a message when it cannot be made: too slow, too long, a converter that gives no string.
 */
bool replace_matches(struct evaluation *evaluation, const struct node *node,
		     const struct ottl_pattern *pattern, struct profcol_text text,
		     const struct replacement *replacement, bool *found_ret,
		     struct profcol_text *ret);

/* @text by the converter and the format of @replacement, if it has them. */
bool replace_convert(struct evaluation *evaluation, const struct node *node,
		     const struct replacement *replacement, struct profcol_text text,
		     struct profcol_text *ret);

/* Has @format one %s, and no other '%'? */
bool replace_format_is_valid(struct profcol_text format);
