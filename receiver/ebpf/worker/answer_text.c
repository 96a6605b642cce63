// SPDX-License-Identifier: Apache-2.0
#include "answer_text.h"

#include "base/base.h"
#include "printable.h"
#include "protocol.h"

#include <string.h>

bool answer_text_check(char *text, size_t bytes)
{
	if (!bytes || bytes > PROTOCOL_MAX_TEXT || text[0] || text[bytes - 1])
		return false;
	for (size_t at = 0; at < bytes;) {
		size_t length = strlen(text + at);

		if (length >= WORKER_MAX_NAME)
			return false;
		strings_sanitize_utf8(text + at, text + at, length);
		printable_strip_controls(text + at, length);
		at += length + 1;
	}
	return true;
}

bool answer_text_begins_at(const char *text, size_t bytes, uint32_t at)
{
	return !at || (at < bytes && !text[at - 1]);
}
