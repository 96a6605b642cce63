// SPDX-License-Identifier: Apache-2.0
#include "pod_tokens.h"

#include <string.h>

/* Inside a text: is this byte to be passed on? */
static bool pass_text(struct pod_tokens *tokens, char byte)
{
	bool inside = tokens->escaped || tokens->digits_left;

	// What is escaped is not torn apart.
	if (tokens->digits_left) {
		tokens->digits_left--;
	} else if (tokens->escaped) {
		tokens->escaped = false;
		tokens->digits_left = byte == 'u' ? 4 : 0;
	} else if (byte == '"') {
		tokens->in_text = false;
		tokens->length = 0;
		return true;
	} else {
		tokens->escaped = byte == '\\';
	}
	if (!inside && tokens->length >= POD_TOKENS_TEXT_MAX) {
		tokens->length = SIZE_MAX;
		return false;
	}
	if (tokens->length == SIZE_MAX)
		return false;
	tokens->length++;
	return true;
}

/* Outside of texts. False when a word is too long. */
static bool pass_word(struct pod_tokens *tokens, char byte)
{
	tokens->in_text = byte == '"';
	if (byte && strchr("\"{}[]:, \t\r\n", byte))
		tokens->length = 0;
	else
		tokens->length++;
	return tokens->length <= POD_TOKENS_WORD_MAX;
}

bool pod_tokens_feed(struct pod_tokens *tokens, const char *bytes, size_t length, size_t *used_ret)
{
	size_t i = 0;

	for (; i < length && tokens->used < POD_TOKENS_PIECE_BYTES; i++) {
		if (tokens->in_text) {
			if (!pass_text(tokens, bytes[i]))
				continue;
		} else if (!pass_word(tokens, bytes[i])) {
			return false;
		}
		tokens->piece[tokens->used++] = bytes[i];
	}
	*used_ret = i;
	return true;
}
