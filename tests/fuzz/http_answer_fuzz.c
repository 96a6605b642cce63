// SPDX-License-Identifier: Apache-2.0
/*
 * A server that answers anything, in pieces: what is kept stays within its bound, and what is
 * passed on comes in order. The first byte says how large the pieces are.
 */
#include "http_client/answer.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

enum { BODY_MAX = 256 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static bool take(void *context, const char *piece, size_t length)
{
	size_t *taken = context;

	if (!length || !memchr(piece, piece[length - 1], length))
		abort();
	*taken += length;
	return *taken < BODY_MAX;
}

static void feed(const char *text, size_t length, size_t piece, bool streams)
{
	size_t taken = 0;
	const struct http_client_request request = {
		.max_bytes = BODY_MAX,
		.take = streams ? take : NULL,
		.context = &taken,
	};
	struct profcol_error *error = NULL;
	struct http_answer answer;
	const char *value;

	if (http_answer_init(&answer, &request)) {
		for (size_t at = 0; at < length && !error; at += piece)
			error = http_answer_feed(&answer, text + at,
						 length - at < piece ? length - at : piece);
		if (!error)
			error = http_answer_end(&answer);
		if (!error && (answer.state != HTTP_ANSWER_DONE || answer.response.status < 200 ||
			       answer.response.status > 599))
			abort();
		if (answer.response.length > BODY_MAX ||
		    answer.response.body[answer.response.length] || taken > length)
			abort();
		http_client_response_header(&answer.response, "Content-Type", &value);
	}
	profcol_error_destroy(error);
	http_answer_deinit(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	if (size < 2)
		return 0;
	feed((const char *)bytes + 1, size - 1, bytes[0] + 1u, false);
	feed((const char *)bytes + 1, size - 1, bytes[0] + 1u, true);
	return 0;
}
