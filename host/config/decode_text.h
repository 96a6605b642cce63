/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the decoder: texts, the lists and maps of them, values of any type, and lists of
 * sections. */
#pragma once

#include "decode.h"

/* One option on its way into the struct. */
struct target {
	const struct decoding *decoding;
	const struct profcol_option *option;
	const struct yaml_node *node; /* what is given, or the default */
	struct place place;           /* of what is given, else of the map that lacks it */
	const struct path *path;
	void *base; /* the struct that @option's table describes, and its field in it */
	void *field;
};

/* @node, which stands at @path, cannot become an @expected; @remedy begins with "; ". */
void decode_wrong_type(const struct target *target, const struct yaml_node *node,
		       const struct path *path, const char *expected, const char *remedy);

/* The text of @node, in the arena; NULL when it is no text, which is reported. */
const char *decode_take_text(const struct target *target, const struct yaml_node *node,
			     const struct path *path);

/* "a, b" as a list, in @memory. False without memory. */
bool decode_split_list(struct arena *memory, const char *text, struct profcol_list *ret);

void decode_list(const struct target *target);
void decode_map(const struct target *target);
void decode_any(const struct target *target);
void decode_sections(const struct target *target);

/* Print the NULL-terminated @words with @separator between them; cut with "..." at the end. */
void decode_join_words(char *to, size_t size, const char *const *words, const char *separator);
