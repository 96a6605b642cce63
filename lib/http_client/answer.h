/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server sends back, read piece by piece: a head, then a body by its length, in chunks, or
 * up to the end of the connection. The bytes are hostile. Private to lib/http_client; one thread.
 */
#pragma once

#include "http_client.h"

enum {
	HTTP_ANSWER_HEAD_MAX = 16 << 10, /* bytes */
	HTTP_ANSWER_LINE_MAX = 256,      /* of a chunk's size, or of a trailer */
};

enum http_answer_state {
	HTTP_ANSWER_HEAD,
	HTTP_ANSWER_BODY,       /* `left` bytes of it */
	HTTP_ANSWER_ENDLESS,    /* until the connection ends */
	HTTP_ANSWER_CHUNK_SIZE, /* a line */
	HTTP_ANSWER_CHUNK,      /* `left` bytes of it */
	HTTP_ANSWER_CHUNK_END,  /* an empty line */
	HTTP_ANSWER_TRAILER,    /* lines up to an empty one */
	HTTP_ANSWER_DONE,
};

struct http_answer {
	const struct http_client_request *request; /* borrowed: where the body goes */
	enum http_answer_state state;
	struct http_client_response response; /* owned */
	size_t head_length;
	uint64_t left;
	size_t line_length, trailer_length;
	unsigned int interim; /* heads with a status of 1xx before */
	bool ambiguous;       /* it has a length and chunks */
	bool whole; /* it has come to the end that it names; nothing was cut off or follows */
	char line[HTTP_ANSWER_LINE_MAX];
};

/* False without memory. */
bool http_answer_init(struct http_answer *answer, const struct http_client_request *request);
void http_answer_deinit(struct http_answer *answer);

/*
 * Take the next bytes; all that follow the end of the answer are dropped (it is not whole then).
 * BAD_DATA, or NO_MEMORY; nothing may be fed after an error.
 */
PROFCOL_MUST_CHECK struct profcol_error *http_answer_feed(struct http_answer *answer,
							  const char *bytes, size_t length);

/* May another answer follow on the same connection? */
bool http_answer_leaves_connection(const struct http_answer *answer);

/* The connection has ended: UNAVAILABLE when the answer has not. */
PROFCOL_MUST_CHECK struct profcol_error *http_answer_end(struct http_answer *answer);
