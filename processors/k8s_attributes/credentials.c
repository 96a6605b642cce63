// SPDX-License-Identifier: Apache-2.0
#include "credentials.h"

#include "kubeconfig.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACCOUNT_PATH "/var/run/secrets/kubernetes.io/serviceaccount"
#define KUBELET_PORT "10250"

enum {
	TOKEN_MAX_BYTES = 64 << 10,
	PEM_MAX_BYTES = 1 << 20,
};

/* What a kubeconfig says, also where it is not one that says it. */
struct credentials {
	struct kubeconfig from; /* owned */
};

static struct profcol_error *out_of_memory(void)
{
	return profcol_error_errno(ENOMEM, "find the credentials of a cluster");
}

static void forget(char *secret)
{
	if (secret)
		explicit_bzero(secret, strlen(secret));
	free(secret);
}

static void forget_cleanup(char **secret)
{
	forget(*secret);
}

void credentials_destroy(struct credentials *credentials)
{
	if (!credentials)
		return;
	kubeconfig_deinit(&credentials->from);
	free(credentials);
}

static void credentials_cleanup(struct credentials **credentials)
{
	credentials_destroy(*credentials);
}

const char *credentials_server(const struct credentials *credentials)
{
	return credentials->from.server;
}

/* ---- where and who ---- */

/* "https://HOST:PORT", free(); NULL without memory. */
static char *print_server(const char *host, const char *port)
{
	bool bracketed = strchr(host, ':');
	char *server;

	if (asprintf(&server, "https://%s%s%s:%s", bracketed ? "[" : "", host, bracketed ? "]" : "",
		     port) < 0)
		return NULL;
	return server;
}

static struct profcol_error *find_server(struct kubeconfig *to)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST");
	const char *port = getenv("KUBERNETES_SERVICE_PORT");

	if (!host || !host[0] || !port || !port[0])
		return profcol_error_create(PROFCOL_CONFIG,
					    "unable to load k8s config, KUBERNETES_SERVICE_HOST "
					    "and KUBERNETES_SERVICE_PORT must be defined; they are "
					    "in every pod, elsewhere set auth_type: kubeConfig");
	to->server = print_server(host, port);
	return to->server ? NULL : out_of_memory();
}

static struct profcol_error *find_account(const char *directory, struct kubeconfig *to)
{
	if (!directory)
		directory = ACCOUNT_PATH;
	if (asprintf(&to->token_file, "%s/token", directory) < 0)
		to->token_file = NULL;
	if (asprintf(&to->ca_file, "%s/ca.crt", directory) < 0)
		to->ca_file = NULL;
	return to->token_file && to->ca_file ? NULL : out_of_memory();
}

/* The API server, and who we are to it. */
static struct profcol_error *find_cluster(const struct k8s_source_settings *settings,
					  struct kubeconfig *to)
{
	struct profcol_error *error;

	if (settings->auth_type == K8S_AUTH_KUBE_CONFIG)
		return kubeconfig_read(settings->kube_config_path, settings->context, to);
	error = find_server(to);
	if (error)
		return error;
	if (settings->auth_type == K8S_AUTH_SERVICE_ACCOUNT)
		return find_account(settings->account_path, to);
	to->insecure = true;
	return NULL;
}

/* The kubelet takes the API server's tokens, but its certificate is its own. */
static struct profcol_error *find_kubelet(const struct k8s_source_settings *settings,
					  struct kubeconfig *to)
{
	const char *endpoint = settings->kubelet_endpoint, *node = settings->node;
	struct profcol_error *error = NULL;

	if (settings->auth_type == K8S_AUTH_KUBE_CONFIG)
		error = kubeconfig_read(settings->kube_config_path, settings->context, to);
	else if (settings->auth_type == K8S_AUTH_SERVICE_ACCOUNT)
		error = find_account(settings->account_path, to);
	if (error)
		return error;
	free(to->server);
	free(to->server_name);
	to->server_name = NULL;
	to->server = endpoint && endpoint[0]
			     ? strdup(endpoint)
			     : print_server(node && node[0] ? node : "localhost", KUBELET_PORT);
	// Its port without TLS wants no token, and none is sent in the open.
	if (to->server && !strncmp(to->server, "http://", 7)) {
		forget(TAKE(to->token));
		free(TAKE(to->token_file));
	}
	to->insecure = settings->kubelet_insecure || settings->auth_type == K8S_AUTH_NONE;
	return to->server ? NULL : out_of_memory();
}

static void trim_slashes(char *url)
{
	for (size_t length = strlen(url); length && url[length - 1] == '/';)
		url[--length] = '\0';
}

static struct profcol_error *check_server(const char *server)
{
	if (http_client_is_url(server))
		return NULL;
	// Wherever the @ stands, what is before it may be a password.
	if (strchr(server, '@'))
		return profcol_error_create(
			PROFCOL_CONFIG, "the server's URL has an '@', as of a user and "
					"password, which are not sent; write https://HOST:PORT");
	return profcol_error_create(PROFCOL_CONFIG,
				    "'%.200s' is no server; write https://HOST:PORT", server);
}

struct profcol_error *credentials_create(const struct k8s_source_settings *settings,
					 struct credentials **ret)
{
	CLEANUP(credentials_cleanup)
	struct credentials *credentials = calloc(1, sizeof(*credentials));
	CLEANUP(access_deinit) struct access access = { 0 };
	struct profcol_error *error;

	if (!credentials)
		return out_of_memory();
	error = settings->origin == K8S_FROM_KUBELET ? find_kubelet(settings, &credentials->from)
						     : find_cluster(settings, &credentials->from);
	if (error)
		return error;
	trim_slashes(credentials->from.server);
	error = check_server(credentials->from.server);
	if (error)
		return error;
	error = credentials_access(credentials, &access);
	if (error)
		return error;
	*ret = TAKE(credentials);
	return NULL;
}

/* ---- for a call ---- */

static struct profcol_error *read_token(const struct kubeconfig *from, char **ret)
{
	CLEANUP(forget_cleanup) char *token = NULL;
	const char *text = from->token;
	int status;

	if (from->token_file) {
		status = file_read(AT_FDCWD, from->token_file, TOKEN_MAX_BYTES, &token, NULL);
		if (status)
			return profcol_error_create(
				PROFCOL_CONFIG,
				"cannot read the token '%s': %s; a pod has one unless "
				"automountServiceAccountToken is false",
				from->token_file, strerrordesc_np(-status));
		token[strcspn(token, "\r\n")] = '\0';
		text = token;
	}
	if (!text || !text[0])
		return NULL;
	if (asprintf(ret, "Bearer %s", text) < 0)
		*ret = NULL;
	return *ret ? NULL : out_of_memory();
}

/* @file's text, owned by the caller, in *@ret, unless there is @pem already. */
static struct profcol_error *read_pem(const char *pem, const char *file, char **ret)
{
	int status;

	if (pem || !file)
		return NULL;
	status = file_read(AT_FDCWD, file, PEM_MAX_BYTES, ret, NULL);
	if (!status)
		return NULL;
	return profcol_error_create(PROFCOL_CONFIG,
				    "cannot read our certificate or its key, '%s': %s", file,
				    strerrordesc_np(-status));
}

static struct profcol_error *open_client(const struct kubeconfig *from, struct http_client **ret)
{
	CLEANUP(forget_cleanup) char *cert = NULL, *key = NULL;
	struct http_client_settings settings = {
		.ca_file = from->ca_pem ? NULL : from->ca_file,
		.ca_pem = from->ca_pem,
		.server_name = from->server_name,
		.insecure_skip_verify = from->insecure,
	};
	struct profcol_error *error;

	if (!strncmp(from->server, "http://", 7))
		return http_client_create(NULL, ret);
	// Where nothing is checked, nothing need be there to check with.
	if (from->insecure)
		settings.ca_file = NULL;
	error = read_pem(from->cert_pem, from->cert_file, &cert);
	if (!error)
		error = read_pem(from->key_pem, from->key_file, &key);
	if (error)
		return error;
	settings.cert_pem = from->cert_pem ? from->cert_pem : cert;
	settings.key_pem = from->key_pem ? from->key_pem : key;
	return http_client_create(&settings, ret);
}

struct profcol_error *credentials_access(const struct credentials *credentials, struct access *ret)
{
	CLEANUP(access_deinit) struct access access = { 0 };
	struct profcol_error *error = read_token(&credentials->from, &access.authorization);

	if (!error)
		error = open_client(&credentials->from, &access.client);
	if (error)
		return error;
	*ret = access;
	access = (struct access){ 0 };
	return NULL;
}

void access_deinit(struct access *access)
{
	http_client_destroy(access->client);
	forget(access->authorization);
	*access = (struct access){ 0 };
}
