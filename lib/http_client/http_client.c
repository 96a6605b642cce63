// SPDX-License-Identifier: Apache-2.0
#include "client.h"

#include "base/base.h"

#include <errno.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void http_client_destroy(struct http_client *client)
{
	if (!client)
		return;
	idle_pool_destroy(client->idle);
	SSL_CTX_free(client->trust);
	free(client->server_name);
	free(client);
}

static void client_cleanup(struct http_client **client)
{
	http_client_destroy(*client);
}

struct profcol_error *http_client_create(const struct http_client_settings *settings,
					 struct http_client **ret)
{
	CLEANUP(client_cleanup) struct http_client *client = calloc(1, sizeof(*client));
	struct profcol_error *error;

	if (!client)
		return profcol_error_errno(ENOMEM, "create an HTTP client");
	if (!settings) {
		*ret = TAKE(client);
		return NULL;
	}
	if (settings->server_name) {
		client->server_name = strdup(settings->server_name);
		if (!client->server_name)
			return profcol_error_errno(ENOMEM, "create an HTTP client");
	}
	error = http_client_tls_create(settings, &client->trust);
	if (error)
		return error;
	*ret = TAKE(client);
	return NULL;
}

struct profcol_error *http_client_keep(struct http_client *client, unsigned int most,
				       uint64_t idle_ns)
{
	client->idle = idle_pool_create(most, idle_ns);
	return client->idle ? NULL : profcol_error_errno(ENOMEM, "keep connections");
}

bool http_client_is_url(const char *text)
{
	struct http_url url;

	return http_url_parse(&url, text);
}

/* A name as RFC 9110 has it, and a value that ends no line. */
static bool header_is_sound(const struct http_client_header *header)
{
	static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789!#$%&'*+-.^_`|~";

	return header->name[0] && !header->name[strspn(header->name, token)] &&
	       !header->value[strcspn(header->value, "\r\n")];
}

static struct profcol_error *check(const struct http_client *client,
				   const struct http_client_request *request, struct http_url *url)
{
	if (!http_url_parse(url, request->url))
		return profcol_error_create(PROFCOL_CONFIG,
					    "not a URL: it has to be http://HOST[:PORT]/PATH, or "
					    "https://");
	if (url->tls && !client->trust)
		return profcol_error_create(PROFCOL_CONFIG, "https is not expected here; use http");
	for (size_t i = 0; i < request->header_count; i++)
		if (!header_is_sound(&request->headers[i]))
			return profcol_error_create(PROFCOL_CONFIG,
						    "header '%s' cannot be sent: its name is not "
						    "one, or there is a line break in its value",
						    request->headers[i].name);
	return NULL;
}

struct profcol_error *http_client_call(const struct http_client *client,
				       const struct http_client_request *request,
				       struct http_client_response *response)
{
	CLEANUP_FREE char *shown = http_client_show_url(request->url);
	sigset_t pipe_signal, before;
	struct profcol_error *error;
	struct http_url url;

	error = check(client, request, &url);
	if (error)
		return profcol_error_prefix(error, "'%s'", shown ? shown : "");
	// OpenSSL writes without MSG_NOSIGNAL, and the server may have hung up.
	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
	error = http_client_exchange(client, request, &url, response);
	if (!sigismember(&before, SIGPIPE))
		while (sigtimedwait(&pipe_signal, NULL, &(struct timespec){ 0 }) > 0)
			;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return profcol_error_prefix(error, "'%s'", shown ? shown : "");
}
