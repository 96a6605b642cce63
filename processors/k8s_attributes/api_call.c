// SPDX-License-Identifier: Apache-2.0
#include "api_call.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

enum {
	REFUSAL_MAX_BYTES = 4 << 10,
	DELAY_SECONDS_MAX = 300,
};

struct taking {
	struct api_call *call;
	struct profcol_error *error; /* owned */
};

static bool take(void *context, const char *bytes, size_t length)
{
	struct taking *taking = context;

	taking->call->received += length;
	taking->call->hub->bytes += length;
	taking->error = pod_parse_feed(taking->call->parse, bytes, length);
	return !taking->error && !pod_parse_is_stopped(taking->call->parse) &&
	       hub_wait(taking->call->hub, 0);
}

/* Of "'https://HOST/PATH?QUERY': ..." without the query, which may be long. */
static void shorten(char *reason)
{
	char *query = strncmp(reason, "'http", 5) ? NULL : strchr(reason, '?');
	const char *end = query ? strchr(query, '\'') : NULL;

	if (end)
		memmove(query, end, strlen(end) + 1);
}

static void fail(struct api_outcome *outcome, struct profcol_error *error)
{
	outcome->fine = false;
	outcome->stopped = profcol_error_code(error) == PROFCOL_SHUTDOWN;
	outcome->broken = profcol_error_code(error) == PROFCOL_BAD_DATA;
	snprintf(outcome->reason, sizeof(outcome->reason), "%s", profcol_error_message(error));
	shorten(outcome->reason);
	profcol_error_destroy(error);
}

/* What the server says instead of an answer. */
static void take_refusal(const struct api_call *call, const struct http_client_response *response,
			 struct api_outcome *outcome)
{
	const char *server = credentials_server(call->hub->credentials), *value;
	char message[API_REASON_MAX / 2];
	size_t length;
	int64_t seconds;

	outcome->fine = false;
	pod_parse_status(response->body, response->length, message, sizeof(message));
	snprintf(outcome->reason, sizeof(outcome->reason),
		 "'%s' answers with status %d to %.*s%s%s", server, response->status,
		 (int)strcspn(call->target, "?"), call->target, message[0] ? ": " : "", message);
	length = http_client_response_header(response, "Retry-After", &value);
	if (length && number_parse_int(value, length, &seconds) && seconds > 0)
		outcome->delay_ns =
			SECOND *
			(uint64_t)(seconds < DELAY_SECONDS_MAX ? seconds : DELAY_SECONDS_MAX);
}

static struct profcol_error *ask(struct api_call *call, struct taking *taking,
				 struct http_client_response *response)
{
	CLEANUP(access_deinit) struct access access = { 0 };
	struct http_client_header headers[] = {
		{ "Accept", call->accept },
		{ "User-Agent", "profcol" },
		{ "Authorization", NULL },
	};
	struct http_client_request request = {
		.headers = headers,
		.header_count = 2,
		.deadline_ns = call->deadline_ns,
		.idle_ns = call->idle_ns,
		.cancel_fd = call->hub->stop_fd,
		.max_bytes = REFUSAL_MAX_BYTES,
		.take = take,
		.context = taking,
	};
	struct profcol_error *error = credentials_access(call->hub->credentials, &access);
	CLEANUP_FREE char *url = NULL;

	if (error)
		return error;
	if (asprintf(&url, "%s%s", credentials_server(call->hub->credentials), call->target) < 0) {
		url = NULL;
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory for a request");
	}
	request.url = url;
	headers[2].value = access.authorization;
	request.header_count += access.authorization != NULL;
	return http_client_call(access.client, &request, response);
}

/* Where the body came from that is broken. Takes @error. */
static struct profcol_error *explain(const struct api_call *call, struct profcol_error *error)
{
	return profcol_error_prefix(error, "'%s%.*s'", credentials_server(call->hub->credentials),
				    (int)strcspn(call->target, "?"), call->target);
}

struct api_outcome api_call(struct api_call *call)
{
	CLEANUP(http_client_response_deinit) struct http_client_response response = { 0 };
	struct taking taking = { .call = call };
	struct api_outcome outcome = { .fine = true };
	struct profcol_error *error = ask(call, &taking, &response);

	outcome.status = error ? 0 : response.status;
	if (taking.error) {
		profcol_error_destroy(error);
		error = explain(call, taking.error);
	} else if (!error && response.status == 200) {
		error = explain(call, pod_parse_end(call->parse));
	}
	if (error)
		fail(&outcome, error);
	else if (response.status != 200)
		take_refusal(call, &response, &outcome);
	if (!hub_wait(call->hub, 0))
		outcome.stopped = true;
	return outcome;
}
