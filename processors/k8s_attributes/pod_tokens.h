/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON text on its way to a parser that keeps a token until it is complete: texts that are too long
 * are cut here, so that it has little to keep, and small pieces become larger ones. Private to the
 * parser.
 */
#pragma once

#include "pod.h"

enum {
	/* Of a text as it is written: what is cut is longer than K8S_TEXT_MAX, whatever the
	 * escapes that it is written in. */
	POD_TOKENS_TEXT_MAX = 6 * (K8S_TEXT_MAX + 1),
	POD_TOKENS_WORD_MAX = 4 << 10, /* a number; true, false, null */
	POD_TOKENS_PIECE_BYTES = 32 << 10,
};

struct pod_tokens {
	bool in_text, escaped;
	unsigned int digits_left; /* of \u1234 */
	size_t length;            /* of the text or word so far */
	size_t used;
	char piece[POD_TOKENS_PIECE_BYTES];
};

/* False when a word has no end. *@used_ret bytes are taken into `piece`: fewer when it is full. */
bool pod_tokens_feed(struct pod_tokens *tokens, const char *bytes, size_t length, size_t *used_ret);
