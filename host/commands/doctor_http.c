// SPDX-License-Identifier: Apache-2.0
#include "doctor_http.h"

#include "http/http.h"

/* For who connects in the moment between. */
static void refuse(void *context, const struct profcol_http_request *request,
		   struct profcol_http_reply *reply)
{
	(void)context;
	(void)request;
	reply->status = 503;
}

struct profcol_error *doctor_http_try(struct doctor_http *http,
				      const struct profcol_http_settings *settings)
{
	struct profcol_http_settings trial = *settings;
	struct profcol_http_listener *listener = NULL;
	struct profcol_error *error = NULL;

	trial.handle = refuse;
	trial.context = NULL;
	if (!http->server)
		error = http_server_create(&http->server);
	if (!error)
		error = http_server_open(http->server, &trial, &listener);
	if (!error && !VECTOR_PUSH(&http->listeners, listener)) {
		http_listener_close(listener);
		error = profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	}
	return error;
}

void doctor_http_deinit(struct doctor_http *http)
{
	for (size_t i = 0; i < http->listeners.count; i++)
		http_listener_close(http->listeners.items[i]);
	VECTOR_DEINIT(&http->listeners);
	http_server_destroy(http->server);
	http->server = NULL;
}
