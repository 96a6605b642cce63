// SPDX-License-Identifier: Apache-2.0
#include "service.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	/* Of an answer. A node's object has some 20 KiB, with many images 100. */
	METADATA_MAX_BYTES = 64 << 10,
	KUBE_MAX_BYTES = 1 << 20,
	TOKEN_MAX_BYTES = 64 << 10,
	NAME_MAX_BYTES = 253, /* of a node */
};

static void http_client_cleanup(struct http_client **client)
{
	http_client_destroy(*client);
}

static struct profcol_error *ask(const struct detecting *detecting,
				 const struct http_client_settings *settings,
				 const struct service_request *request,
				 struct http_client_response *response)
{
	const struct http_client_header header = { request->header, request->header_value };
	const struct http_client_request call = {
		.method = request->method,
		.url = request->url,
		.headers = &header,
		.header_count = request->header ? 1 : 0,
		.deadline_ns = detecting->deadline_ns,
		.cancel_fd = detecting->cancel_fd,
		.max_bytes = settings ? KUBE_MAX_BYTES : METADATA_MAX_BYTES,
	};
	CLEANUP(http_client_cleanup) struct http_client *client = NULL;
	struct profcol_error *error = http_client_create(settings, &client);

	return error ? error : http_client_call(client, &call, response);
}

struct profcol_error *service_ask(const struct detecting *detecting,
				  const struct service_request *request,
				  struct http_client_response *response)
{
	struct profcol_error *error = ask(detecting, NULL, request, response);

	if (error || (response->status < 500 && response->status != 429))
		return error;
	error = profcol_error_create(PROFCOL_UNAVAILABLE, "'%s' answers with status %d",
				     request->url, response->status);
	http_client_response_deinit(response);
	return error;
}

struct profcol_error *service_parse(const struct http_client_response *response, const char *what,
				    json_t **ret)
{
	json_error_t reason;
	json_t *value = json_loadb(response->body, response->length, 0, &reason);

	if (!value)
		return profcol_error_create(PROFCOL_BAD_DATA, "%s is not JSON: line %d: %s", what,
					    reason.line, reason.text);
	if (!json_is_object(value)) {
		json_decref(value);
		return profcol_error_create(PROFCOL_BAD_DATA, "%s is no JSON object", what);
	}
	*ret = value;
	return NULL;
}

const char *service_text(const json_t *object, const char *key)
{
	// jansson iterates over what it may change only.
	json_t *whole = (json_t *)(uintptr_t)object, *value;
	const char *name;

	json_object_foreach(whole, name,
			    value) if (!strcasecmp(name, key)) return json_string_value(value);
	return NULL;
}

/* ---- Kubernetes ---- */

#define ACCOUNT_DIRECTORY "/var/run/secrets/kubernetes.io/serviceaccount"

bool service_is_in_cluster(void)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST");

	return host && host[0];
}

/* "https://10.0.0.1:443/path", in *@ret, free(). */
static struct profcol_error *kube_url(const char *path, char **ret)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST");
	const char *port = getenv("KUBERNETES_SERVICE_PORT");
	bool bracketed = host && strchr(host, ':');

	if (!host || !host[0] || !port || !port[0])
		return profcol_error_create(PROFCOL_CONFIG,
					    "unable to load k8s config, KUBERNETES_SERVICE_HOST "
					    "and KUBERNETES_SERVICE_PORT must be defined; they are "
					    "in every pod");
	if (asprintf(ret, "https://%s%s%s:%s%s", bracketed ? "[" : "", host, bracketed ? "]" : "",
		     port, path) < 0) {
		*ret = NULL;
		return profcol_error_errno(ENOMEM, "ask the API server");
	}
	return NULL;
}

/* "Bearer ..." in *@ret, free(). It is read again for each question: tokens expire. */
static struct profcol_error *kube_token(const char *directory, char **ret)
{
	CLEANUP_FREE char *path = NULL, *token = NULL;
	int status;

	if (asprintf(&path, "%s/token", directory) < 0) {
		path = NULL;
		return profcol_error_errno(ENOMEM, "ask the API server");
	}
	status = file_read(AT_FDCWD, path, TOKEN_MAX_BYTES, &token, NULL);
	if (status)
		return profcol_error_create(PROFCOL_CONFIG,
					    "cannot read the token of the service account, '%s': "
					    "%s; set automountServiceAccountToken, or auth_type: "
					    "none",
					    path, strerrordesc_np(-status));
	token[strcspn(token, "\r\n")] = '\0';
	if (asprintf(ret, "Bearer %s", token) < 0)
		*ret = NULL;
	explicit_bzero(token, strlen(token));
	return *ret ? NULL : profcol_error_errno(ENOMEM, "ask the API server");
}

static struct profcol_error *kube_call(const struct detecting *detecting,
				       const struct service_kube *kube, const char *path,
				       struct http_client_response *response)
{
	const char *directory = kube->directory ? kube->directory : ACCOUNT_DIRECTORY;
	CLEANUP_FREE char *url = NULL, *authority = NULL, *token = NULL;
	struct http_client_settings settings = { .insecure_skip_verify = kube->anonymous };
	struct service_request request = { .header = "Authorization" };
	struct profcol_error *error = kube_url(path, &url);

	if (!error && !kube->anonymous)
		error = kube_token(directory, &token);
	if (error)
		return error;
	if (asprintf(&authority, "%s/ca.crt", directory) < 0) {
		authority = NULL;
		return profcol_error_errno(ENOMEM, "ask the API server");
	}
	request.url = url;
	request.header_value = token;
	if (kube->anonymous)
		request.header = NULL;
	else
		settings.ca_file = authority;
	error = ask(detecting, &settings, &request, response);
	if (token)
		explicit_bzero(token, strlen(token));
	return error;
}

struct profcol_error *service_ask_kube(const struct detecting *detecting,
				       const struct service_kube *kube, const char *path,
				       int *status_ret, json_t **ret)
{
	CLEANUP(http_client_response_deinit) struct http_client_response response = { 0 };
	struct profcol_error *error;

	*status_ret = 0;
	error = kube_call(detecting, kube, path, &response);
	if (error)
		return error;
	*status_ret = response.status;
	if (response.status != 200)
		return profcol_error_create(PROFCOL_UNAVAILABLE,
					    "the API server answers with status %d to %s",
					    response.status, path);
	return service_parse(&response, "the API server's answer", ret);
}

struct profcol_error *service_ask_node(const struct detecting *detecting,
				       const struct service_kube *kube, const char *name,
				       int *status_ret, json_t **ret)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";
	char path[sizeof("/api/v1/nodes/") + NAME_MAX_BYTES];

	*status_ret = 0;
	if (!name[0] || name[strspn(name, allowed)] || strlen(name) > NAME_MAX_BYTES)
		return profcol_error_create(PROFCOL_CONFIG, "'%s' is no name of a node", name);
	snprintf(path, sizeof(path), "/api/v1/nodes/%s", name);
	return service_ask_kube(detecting, kube, path, status_ret, ret);
}
