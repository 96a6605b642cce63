// SPDX-License-Identifier: Apache-2.0
/*
 * What gRPC says over HTTP/2, as of its document "gRPC over HTTP2" (PROTOCOL-HTTP2.md): the head of
 * a call, and its answer.
 */
#include "server.h"

#include "status.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	TIMEOUT_DIGITS_MOST = 8,
	PREFIX_BYTES = 5,
	HTTP_OK = 200,
	HTTP_NOT_ALLOWED = 405,
	HTTP_UNSUPPORTED = 415,
};

#define TIMEOUT_MOST_NS UINT64_C(31536000000000000)

static const char content_type[] = "application/grpc";

/* ---- responses ---- */

bool response_add(struct response *response, bool trailer, const char *name, const char *format,
		  ...)
{
	struct response_field *fields = trailer ? response->trailers : response->headers;
	size_t *count = trailer ? &response->trailer_count : &response->header_count;
	va_list arguments;
	char *value;
	int length;

	if (*count == RESPONSE_FIELDS_MAX)
		return false;
	va_start(arguments, format);
	length = vasprintf(&value, format, arguments);
	va_end(arguments);
	if (length < 0)
		return false;
	fields[(*count)++] = (struct response_field){ name, value };
	return true;
}

void response_deinit(struct response *response)
{
	for (size_t i = 0; i < response->header_count; i++)
		free(response->headers[i].value);
	for (size_t i = 0; i < response->trailer_count; i++)
		free(response->trailers[i].value);
	free(response->body);
	*response = (struct response){ 0 };
}

/* ---- the head ---- */

/* "100m": ASCII digits, at most eight, and a unit. False for what is none. */
static bool parse_timeout(const char *text, size_t length, uint64_t *ns_ret)
{
	static const struct {
		char unit;
		uint64_t ns;
	} units[] = {
		{ 'H', UINT64_C(3600000000000) },
		{ 'M', UINT64_C(60000000000) },
		{ 'S', 1000000000 },
		{ 'm', 1000000 },
		{ 'u', 1000 },
		{ 'n', 1 },
	};
	uint64_t value = 0;

	if (length < 2 || length > TIMEOUT_DIGITS_MOST + 1)
		return false;
	for (size_t i = 0; i < length - 1; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		value = value * 10 + (uint64_t)(text[i] - '0');
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (units[i].unit == text[length - 1]) {
			// A year is as good as no end: its sum with the clock does not overflow.
			*ns_ret = value < TIMEOUT_MOST_NS / units[i].ns ? value * units[i].ns
									: TIMEOUT_MOST_NS;
			return true;
		}
	return false;
}

static bool refuse_request(struct net_call *call, unsigned int status, const char *text)
{
	struct response *response = &call->response;

	response->status = status;
	// As gRPC's other servers: for who is no client of gRPC's, and for one that is.
	if (!response_add(response, false, "content-type", "%s", content_type) ||
	    !response_add(response, false, "grpc-status", "%d", NET_INTERNAL) ||
	    !response_add(response, false, "grpc-message", "%s", text))
		response->header_count = 0;
	return false;
}

static bool is_grpc(const char *type, size_t length)
{
	size_t own = sizeof(content_type) - 1;

	return length >= own && !strncasecmp(type, content_type, own) &&
	       (length == own || type[own] == '+' || type[own] == ';');
}

bool grpc_call_read_head(struct net_call *call)
{
	const char *value = "";
	uint64_t timeout_ns;
	size_t length = 0;

	call_head_find(call, "content-type", &value, &length);
	if (!is_grpc(value, length))
		return refuse_request(call, HTTP_UNSUPPORTED,
				      "profcol speaks gRPC here: the content-type has to be "
				      "application/grpc");
	call_head_find(call, ":method", &value, &length);
	if (length != 4 || memcmp(value, "POST", 4) != 0)
		return refuse_request(call, HTTP_NOT_ALLOWED, "a call of gRPC is a POST");
	length = 0;
	call_head_find(call, ":path", &value, &length);
	call->method = strndup(value, length);
	if (!call->method) {
		call->answer.code = NET_UNAVAILABLE;
		return true;
	}
	if (call_head_find(call, "grpc-timeout", &value, &length)) {
		if (parse_timeout(value, length, &timeout_ns)) {
			call->deadline_ns = clock_monotonic_ns() + timeout_ns;
		} else {
			call->answer.code = NET_INTERNAL;
			call->answer.message = strdup("the header grpc-timeout is malformed");
		}
	}
	length = 0;
	call_head_find(call, "grpc-encoding", &value, &length);
	call->compression = inflate_recognize(value, length);
	return true;
}

/* ---- the answer ---- */

/* Percent-encoding, as gRPC has it for status messages: of all but printable ASCII, and of '%'. */
static char *encode_message(const char *text)
{
	static const char digits[] = "0123456789ABCDEF";
	char *encoded = malloc(strlen(text) * 3 + 1), *to = encoded;

	if (!encoded)
		return NULL;
	for (const char *at = text; *at; at++) {
		unsigned char byte = (unsigned char)*at;

		if (byte >= ' ' && byte <= '~' && byte != '%') {
			*to++ = (char)byte;
			continue;
		}
		*to++ = '%';
		*to++ = digits[byte >> 4];
		*to++ = digits[byte & 15];
	}
	*to = '\0';
	return encoded;
}

static bool add_retry(struct net_call *call, bool trailer)
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	CLEANUP_FREE char *text = NULL;
	size_t length;

	bytes = status_encode(&call->answer, &length);
	text = bytes ? malloc(STRINGS_BASE64_SIZE(length)) : NULL;
	if (text)
		strings_base64(text, bytes, length);
	return text &&
	       response_add(&call->response, trailer, "grpc-status-details-bin", "%s", text);
}

/* Without a message: all that is said is in the headers. With one, in the trailers. */
static bool add_status(struct net_call *call, bool trailer)
{
	const struct net_answer *answer = &call->answer;
	CLEANUP_FREE char *text = NULL;

	if (!response_add(&call->response, trailer, "grpc-status", "%d", (int)answer->code))
		return false;
	if (answer->message && answer->message[0]) {
		text = encode_message(answer->message);
		if (!text || !response_add(&call->response, trailer, "grpc-message", "%s", text))
			return false;
	}
	return !answer->has_retry || add_retry(call, trailer);
}

bool grpc_call_make_response(struct net_call *call)
{
	struct response *response = &call->response;
	const struct net_answer *answer = &call->answer;
	bool has_message = answer->code == NET_OK;

	response->status = HTTP_OK;
	if (!response_add(response, false, "content-type", "%s", content_type) ||
	    !add_status(call, has_message))
		return false;
	if (!has_message)
		return true;
	if (!response_add(response, false, "grpc-accept-encoding", "identity,deflate,gzip,zstd"))
		return false;
	response->length = PREFIX_BYTES + answer->length;
	response->body = malloc(response->length);
	if (!response->body)
		return false;
	response->body[0] = 0;
	for (int i = 0; i < 4; i++)
		response->body[1 + i] = (uint8_t)(answer->length >> (24 - 8 * i));
	if (answer->length)
		memcpy(response->body + PREFIX_BYTES, answer->bytes, answer->length);
	return true;
}
