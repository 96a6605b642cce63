/* SPDX-License-Identifier: Apache-2.0 */
/* From one type of value to another, by the rules of Go. Pure but for the scratch memory. */
#pragma once

#include "value.h"

/* An integer, or nil from nil and from text that is none. False for what cannot be one. */
bool convert_to_int(const struct value *value, struct value *ret);

/* A float, or nil from nil. False for what cannot be one, text that is no number too. */
bool convert_to_double(const struct value *value, struct value *ret);

/* Letters of all alphabets, to upper or lower case. False without memory, or when it is too long.
 */
bool convert_case(struct profcol_text text, bool to_upper, struct scratch *scratch,
		  struct profcol_text *ret);

/*
 * A list of the parts between @delimiter; of characters when that is empty. False when there are
 * more than OTTL_MAX_ITEMS.
 */
bool convert_split(struct profcol_text text, struct profcol_text delimiter, struct scratch *scratch,
		   struct value *ret);
