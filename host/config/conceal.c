// SPDX-License-Identifier: Apache-2.0
#include "conceal.h"

#include "yaml.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Shorter ones are in everything; "..." takes the place of no less than it has itself. */
enum { PIECE_LEAST = 4, DOTS = 3 };

/* The longest piece at @at, of @length bytes, that @text has. */
static size_t piece_at(const char *at, size_t length, const char *text, size_t text_length)
{
	const char *found = text, *end = text + text_length;
	size_t longest = 0;

	if (length < PIECE_LEAST)
		return 0;
	while ((found = memmem(found, (size_t)(end - found), at, PIECE_LEAST))) {
		size_t same = PIECE_LEAST;

		while (same < length && found + same < end && found[same] == at[same])
			same++;
		if (same > longest)
			longest = same;
		found++;
	}
	return longest;
}

static void mark_text(const char *text, const char *message, size_t length, bool *hidden)
{
	size_t text_length = strlen(text);

	for (size_t i = 0; i < length;) {
		size_t piece = piece_at(message + i, length - i, text, text_length);

		memset(hidden + i, true, piece);
		i += piece ? piece : 1;
	}
}

/* As deep as a file may nest. */
static void mark(const struct yaml_node *node, const char *message, size_t length, bool *hidden)
{
	if (node->concealed && node->text)
		mark_text(node->text, message, length, hidden);
	for (size_t i = 0; node->kind == YAML_LIST && i < node->count; i++)
		mark(node->items[i], message, length, hidden);
	for (size_t i = 0; node->kind == YAML_MAP && i < node->count; i++)
		mark(node->entries[i].value, message, length, hidden);
}

void conceal(const struct yaml_node *body, char *message)
{
	size_t length = strlen(message), to = 0;
	bool *hidden = calloc(length + 1, sizeof(*hidden));

	// Without memory nothing is said rather than too much.
	if (!hidden) {
		*message = '\0';
		return;
	}
	mark(body, message, length, hidden);
	for (size_t i = 0; i < length; i++) {
		if (!hidden[i]) {
			message[to++] = message[i];
			continue;
		}
		for (int dot = 0; dot < DOTS; dot++)
			message[to++] = '.';
		while (i + 1 < length && hidden[i + 1])
			i++;
	}
	message[to] = '\0';
	free(hidden);
}
