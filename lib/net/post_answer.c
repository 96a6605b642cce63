// SPDX-License-Identifier: Apache-2.0
#include "post_answer.h"

#include "status.h"

#include "base/base.h"
#include "profile/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define SECOND_NS UINT64_C(1000000000)

enum {
	RETRY_MAX_SECONDS = 24 * 60 * 60,
	TEXT_SHOWN = 256, /* of a body that is no Status */
};

bool post_body_take(void *context, const char *bytes, size_t length)
{
	struct post_body *body = context;
	size_t part = sizeof(body->bytes) - body->length;

	if (part > length)
		part = length;
	memcpy(body->bytes + body->length, bytes, part);
	body->length += part;
	body->is_long = part < length;
	return !body->is_long;
}

/* Is it of @type, with or without parameters? */
static bool has_type(const struct http_client_response *response, const char *type)
{
	const char *value;
	size_t length = http_client_response_header(response, "Content-Type", &value);
	size_t own = strlen(type);

	return length >= own && !strncasecmp(value, type, own) &&
	       (length == own || value[own] == ';' || value[own] == ' ');
}

static bool is_protobuf(const struct http_client_response *response)
{
	return has_type(response, "application/x-protobuf");
}

static bool is_json(const struct http_client_response *response)
{
	return has_type(response, "application/json");
}

/* ---- when to try again ---- */

/* Retry-After: seconds, or a date. False without one. */
static bool find_delay(const struct http_client_response *response, uint64_t *delay_ns_ret)
{
	const char *value, *end;
	size_t length = http_client_response_header(response, "Retry-After", &value);
	char text[64];
	struct tm moment = { 0 };
	long long seconds;

	if (!length || length >= sizeof(text))
		return false;
	memcpy(text, value, length);
	text[length] = '\0';
	if (strspn(text, "0123456789") == length) {
		seconds = length > 9 ? RETRY_MAX_SECONDS : atoll(text);
	} else {
		end = strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &moment);
		if (!end || *end)
			return false;
		seconds = (long long)timegm(&moment) - (long long)time(NULL);
	}
	if (seconds < 0)
		seconds = 0;
	if (seconds > RETRY_MAX_SECONDS)
		seconds = RETRY_MAX_SECONDS;
	*delay_ns_ret = (uint64_t)seconds * SECOND_NS;
	return true;
}

/* ---- what it means ---- */

static enum net_code code_of(int status)
{
	switch (status) {
	case 400:
		return NET_INVALID_ARGUMENT;
	case 401:
	case 407:
		return NET_UNAUTHENTICATED;
	case 403:
		return NET_PERMISSION_DENIED;
	case 404:
	case 405:
	case 415:
		return NET_UNIMPLEMENTED;
	case 413:
	case 429:
		return NET_RESOURCE_EXHAUSTED;
	case 500:
		return NET_INTERNAL;
	case 502:
	case 503:
	case 504:
		return NET_UNAVAILABLE;
	default:
		return NET_UNKNOWN;
	}
}

static const char *hint_of(int status)
{
	if (status == 404)
		return "; the peer takes no profiles there: it has no profiles pipeline, its "
		       "feature "
		       "gate service.profilesSupport is off, or the path is another one "
		       "(profiles_endpoint)";
	if (status >= 300 && status < 400)
		return "; profcol follows no redirects: write the URL that it leads to";
	if (status == 407)
		return "; the proxy wants a user and a password, which proxy_url may have";
	return "";
}

/* The message of a Status in JSON; NULL when it is none. */
static char *find_json_message(const char *text, size_t length)
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	size_t count;

	error = otlp_status_from_json(text, length, &bytes, &count);
	return error ? NULL : status_find_message(bytes, count);
}

/* The peer's words: of a Status its message, else what there is of the text. */
static char *find_words(const struct http_client_response *response)
{
	size_t length = response->length;
	char *words = NULL;

	if (is_protobuf(response))
		words = status_find_message((const uint8_t *)response->body, length);
	else if (is_json(response))
		words = find_json_message(response->body, length);
	if (!words && !is_protobuf(response))
		words = status_copy_text(response->body, length < TEXT_SHOWN ? length : TEXT_SHOWN);
	for (size_t end = words ? strlen(words) : 0; end && words[end - 1] == ' '; end--)
		words[end - 1] = '\0';
	return words;
}

static void read_refusal(struct net_answer *answer, const struct http_client_response *response)
{
	CLEANUP_FREE char *words = find_words(response);
	int status = response->status;

	answer->code = code_of(status);
	// The Collector's receiver calls it a bad request.
	if (status == 400 && words && strstr(words, "request body too large"))
		answer->code = NET_RESOURCE_EXHAUSTED;
	answer->has_retry = find_delay(response, &answer->retry_delay_ns) || status == 429;
	if (answer->has_retry && status != 429 && status != 503) {
		answer->has_retry = false;
		answer->retry_delay_ns = 0;
	}
	if (asprintf(&answer->message, "HTTP status %d%s%s%s", status,
		     words && words[0] ? ": " : "", words ? words : "", hint_of(status)) < 0)
		answer->message = NULL;
}

/* The peer has the request, so an answer that cannot be read is only said. */
static void read_json(struct net_answer *answer, const struct post_body *body)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	if (body->length)
		error = otlp_response_from_json((const char *)body->bytes, body->length,
						&answer->bytes, &answer->length);
	if (error && asprintf(&answer->message, "the answer cannot be read: %s",
			      profcol_error_message(error)) < 0)
		answer->message = NULL;
}

static void read_success(struct net_answer *answer, const struct http_client_response *response,
			 const struct post_body *body)
{
	answer->code = NET_OK;
	// Who says OK in other words has taken it as well.
	if (!is_protobuf(response) && !is_json(response))
		return;
	if (body->is_long) {
		answer->message = strdup("the answer cannot be read: it is too long");
		return;
	}
	if (is_json(response)) {
		read_json(answer, body);
		return;
	}
	answer->bytes = body->length ? malloc(body->length) : NULL;
	if (!answer->bytes)
		return;
	memcpy(answer->bytes, body->bytes, body->length);
	answer->length = body->length;
}

void post_answer_read(struct net_answer *answer, const struct http_client_response *response,
		      const struct post_body *body)
{
	answer->from_peer = true;
	if (response->status >= 200 && response->status < 300)
		read_success(answer, response, body);
	else
		read_refusal(answer, response);
}

void post_answer_unsent(struct net_answer *answer, struct profcol_error *fault)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = fault;

	answer->has_retry = profcol_error_code(error) == PROFCOL_NO_MEMORY;
	answer->code = answer->has_retry ? NET_RESOURCE_EXHAUSTED : NET_INTERNAL;
	answer->message = strdup(profcol_error_message(error));
}

void post_answer_fault(struct net_answer *answer, struct profcol_error *fault, const char *url)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = fault;
	const char *text = profcol_error_message(error);
	size_t length = strlen(url);

	switch (profcol_error_code(error)) {
	case PROFCOL_SHUTDOWN:
		answer->code = NET_CANCELED;
		break;
	case PROFCOL_CONFIG:
		answer->code = NET_INTERNAL;
		break;
	default:
		answer->code = NET_UNAVAILABLE;
		break;
	}
	// Whoever reports it names the URL.
	if (text[0] == '\'' && !strncmp(text + 1, url, length) &&
	    !strncmp(text + 1 + length, "': ", 3))
		text += length + 4;
	answer->message = strdup(text);
}
