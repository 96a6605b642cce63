/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer's HTTP answer says in the words of OTLP. Private to lib/net; hostile bytes. */
#pragma once

#include "net.h"

#include "http_client/http_client.h"

/* Of an answer; the Collector's exporter reads as much. */
enum { POST_BODY_MAX_BYTES = 64 << 10 };

/* The body of a success. */
struct post_body {
	uint8_t bytes[POST_BODY_MAX_BYTES];
	size_t length;
	bool is_long; /* there is more, which is not waited for */
};

/* http_client_request.take. */
bool post_body_take(void *context, const char *bytes, size_t length);

/* Fill in @answer, which is zeroed. */
void post_answer_read(struct net_answer *answer, const struct http_client_response *response,
		      const struct post_body *body);

/* There is no answer, because of @error (taken), which may begin with @url. */
void post_answer_fault(struct net_answer *answer, struct profcol_error *error, const char *url);

/* The request could not be made, because of @error (taken): try later if that is NO_MEMORY, else
 * never. */
void post_answer_unsent(struct net_answer *answer, struct profcol_error *error);
