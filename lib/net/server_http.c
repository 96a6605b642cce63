// SPDX-License-Identifier: Apache-2.0
/*
 * OTLP over HTTP, whichever version of it: what the head of a request asks for, and the answer.
 * Statuses, texts and bodies are those of the Collector's receiver; opentelemetry-proto,
 * docs/specification.md, "OTLP/HTTP". A service of other bodies is answered in plain text.
 */
#include "server.h"

#include "status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_DIGITS_MOST = 18 };

static const char proto_type[] = "application/x-protobuf";
static const char json_type[] = "application/json";

/* ---- the head ---- */

/* An answer in plain text, for who speaks no OTLP. */
static bool refuse_plain(struct net_call *call, unsigned int status, char *text)
{
	struct response *response = &call->response;

	response->status = status;
	response->body = (uint8_t *)text;
	response->length = text ? strlen(text) : 0;
	if (!response_add(response, false, "content-type", "text/plain") ||
	    !response_add(response, false, "x-content-type-options", "nosniff"))
		response->header_count = 0;
	return false;
}

static bool value_is(const char *value, size_t length, const char *wanted)
{
	return length == strlen(wanted) && !strncasecmp(value, wanted, length);
}

/* Without parameters: "application/json; charset=utf-8". */
static size_t type_length(const char *type, size_t length)
{
	const char *end = memchr(type, ';', length);

	if (end)
		length = (size_t)(end - type);
	while (length && (type[length - 1] == ' ' || type[length - 1] == '\t'))
		length--;
	return length;
}

static bool read_type(struct net_call *call)
{
	const char *value = "";
	size_t length = 0;

	call_head_find(call, "content-type", &value, &length);
	length = type_length(value, length);
	call->is_json = value_is(value, length, json_type);
	return call->is_json || value_is(value, length, proto_type);
}

/* False: malformed, or two of them that differ. */
static bool read_length(struct net_call *call)
{
	const char *value;
	size_t length, count = call_head_find(call, "content-length", &value, &length), bytes = 0;

	call->expected = LENGTH_UNKNOWN;
	if (!count)
		return true;
	if (count > 1 || !length || length > LENGTH_DIGITS_MOST)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (value[i] < '0' || value[i] > '9')
			return false;
		bytes = bytes * 10 + (size_t)(value[i] - '0');
	}
	call->expected = bytes;
	return true;
}

static bool refuse_encoding(struct net_call *call, const char *value, size_t length)
{
	call->answer.code = NET_INVALID_ARGUMENT;
	if (asprintf(&call->answer.message,
		     "unsupported Content-Encoding: %.*s; use gzip, zstd, deflate or none",
		     length < 64 ? (int)length : 64, value) < 0)
		call->answer.message = NULL;
	return true;
}

static bool read_path(struct net_call *call)
{
	const char *value = "", *end;
	size_t length = 0;

	call_head_find(call, ":path", &value, &length);
	end = memchr(value, '?', length);
	call->method = strndup(value, end ? (size_t)(end - value) : length);
	return call->method;
}

bool http_call_read_head(struct net_call *call)
{
	const char *path = call->server->http.path, *value = "";
	size_t length = 0;

	if (!read_path(call))
		return refuse_plain(call, 503, strdup("no memory\n"));
	if (strcmp(call->method, path) != 0)
		return refuse_plain(call, 404, strdup("404 page not found\n"));
	call_head_find(call, ":method", &value, &length);
	if (cors_read_head(call, value_is(value, length, "OPTIONS")))
		return false;
	if (!value_is(value, length, "POST"))
		return refuse_plain(call, 405, strdup("405 method not allowed, supported: [POST]"));
	// A browser asks nobody before it sends a body of any type.
	if (call->server->service.is_plain && !cors_allows_sender(call))
		return refuse_plain(call, 403, strdup("403 scripts of this origin may not send\n"));
	if (!call->server->service.is_plain && !read_type(call))
		return refuse_plain(call, 415,
				    strdup("415 unsupported media type, supported: "
					   "[application/json, application/x-protobuf]"));
	if (!read_length(call))
		return refuse_plain(call, 400, strdup("400 bad content-length\n"));
	value = "";
	length = 0;
	call_head_find(call, "content-encoding", &value, &length);
	call->compression = inflate_recognize(value, length);
	return call->compression == INFLATE_UNKNOWN ? refuse_encoding(call, value, length) : true;
}

/* ---- the answer ---- */

/* As the Collector maps them. */
static unsigned int status_of(const struct net_call *call)
{
	if (call->too_large)
		return 413;
	switch (call->answer.code) {
	case NET_OK:
		return 200;
	case NET_CANCELED:
	case NET_DEADLINE_EXCEEDED:
	case NET_ABORTED:
	case NET_OUT_OF_RANGE:
	case NET_UNAVAILABLE:
	case NET_DATA_LOSS:
		return 503;
	case NET_RESOURCE_EXHAUSTED:
		return 429;
	case NET_INVALID_ARGUMENT:
		return 400;
	case NET_UNAUTHENTICATED:
		return 401;
	case NET_PERMISSION_DENIED:
		return 403;
	case NET_UNIMPLEMENTED:
		return 404;
	default:
		return 500;
	}
}

/* A google.rpc.Status as JSON; status_copy_text() has left no control characters. */
static bool make_json(struct net_call *call)
{
	const char *text = call->answer.message ? call->answer.message : "";
	struct response *response = &call->response;
	char *body = malloc(2 * strlen(text) + 64), *to = body;

	if (!body)
		return false;
	to += sprintf(to, "{\"code\":%d,\"message\":\"", (int)call->answer.code);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			*to++ = '\\';
		*to++ = *text;
	}
	to += sprintf(to, "\"}");
	response->body = (uint8_t *)body;
	response->length = (size_t)(to - body);
	return true;
}

static bool make_body(struct net_call *call)
{
	static const char done[] = "{\"partialSuccess\":{}}";
	struct response *response = &call->response;
	const struct net_answer *answer = &call->answer;

	if (answer->code != NET_OK && call->is_json)
		return make_json(call);
	if (answer->code != NET_OK) {
		response->body = status_encode(answer, &response->length);
		return response->body;
	}
	if (call->is_json) {
		response->body = (uint8_t *)strdup(done);
		response->length = response->body ? sizeof(done) - 1 : 0;
		return response->body;
	}
	// What the service has said is protobuf; of OTLP's it is empty.
	response->length = answer->length;
	response->body = answer->length ? malloc(answer->length) : NULL;
	if (answer->length && !response->body)
		return false;
	if (answer->length)
		memcpy(response->body, answer->bytes, answer->length);
	return true;
}

static bool make_otlp(struct net_call *call)
{
	return response_add(&call->response, false, "content-type", "%s",
			    call->is_json ? json_type : proto_type) &&
	       make_body(call);
}

/* A line of text; nothing where there is nothing to say. */
static bool make_plain(struct net_call *call)
{
	struct response *response = &call->response;
	int length;
	char *text;

	if (response->status == 200) {
		response->status = 204;
		return true;
	}
	length = asprintf(&text, "%s\n", call->answer.message ? call->answer.message : "");
	if (length < 0)
		return false;
	response->body = (uint8_t *)text;
	response->length = (size_t)length;
	return response_add(response, false, "content-type", "text/plain; charset=utf-8") &&
	       response_add(response, false, "x-content-type-options", "nosniff");
}

bool http_call_make_response(struct net_call *call)
{
	const struct net_answer *answer = &call->answer;
	struct response *response = &call->response;
	uint64_t delay_s = (answer->retry_delay_ns + 999999999) / 1000000000;

	response->status = status_of(call);
	if (!(call->server->service.is_plain ? make_plain(call) : make_otlp(call)))
		return false;
	if (response->status != 503)
		return true;
	return response_add(response, false, "retry-after", "%llu",
			    (unsigned long long)(answer->has_retry && delay_s ? delay_s : 1));
}

void http_call_refuse_head(struct net_call *call)
{
	refuse_plain(call, 431, strdup("431 the head of the request has more than 8 KiB\n"));
}
