/* SPDX-License-Identifier: Apache-2.0 */
/* Converters, each by itself, for the table; and how they get at their arguments. */
#pragma once

#include "functions.h"

/* The argument of that index, a string. False with a message when it is something else. */
bool argument_string(struct evaluation *evaluation, const struct node *node, uint32_t index,
		     struct profcol_text *ret);

/* Room for a text of @length bytes in scratch memory; NULL with a message. */
char *text_create(struct evaluation *evaluation, const struct node *node, size_t length);

bool call_is_match(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_is_string(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_int(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_double(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_string(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_len(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_concat(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_substring(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_to_lower_case(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_has_prefix(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_has_suffix(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_split(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_index(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_is_bool(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_is_int(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_is_double(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_is_map(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_is_list(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_is_empty(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_bool(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_trim(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_trim_prefix(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_trim_suffix(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_to_upper_case(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_convert_case(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_extract_patterns(struct evaluation *evaluation, const struct node *node,
			   struct value *ret);
bool call_md5(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_sha1(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_sha256(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_sha512(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_fnv(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_hex(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_keys(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_contains_value(struct evaluation *evaluation, const struct node *node, struct value *ret);
bool call_coalesce(struct evaluation *evaluation, const struct node *node, struct value *ret);
