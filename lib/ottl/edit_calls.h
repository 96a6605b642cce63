/* SPDX-License-Identifier: Apache-2.0 */
/* Editors, each by itself, for the table: @ret is not written. */
#pragma once

#include "evaluate.h"

#define EDIT_CALL(name_)                                                                           \
	bool edit_##name_(struct evaluation *evaluation, const struct node *node, struct value *ret)

/* edit_values.c */
EDIT_CALL(set);
EDIT_CALL(append);
EDIT_CALL(merge_maps);
EDIT_CALL(flatten);
EDIT_CALL(stringify_all);
EDIT_CALL(truncate_all);

/* edit_keys.c */
EDIT_CALL(delete_key);
EDIT_CALL(delete_matching_keys);
EDIT_CALL(keep_keys);
EDIT_CALL(keep_matching_keys);
EDIT_CALL(limit);

/* edit_texts.c */
EDIT_CALL(replace_pattern);
EDIT_CALL(replace_match);
EDIT_CALL(replace_all_patterns);
EDIT_CALL(replace_all_matches);
