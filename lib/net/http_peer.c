// SPDX-License-Identifier: Apache-2.0
#include "http_peer.h"

#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/utsname.h>

enum { HOST_IDLE_USUAL = 2 }; /* as in Go's client */

/* ---- talkers ---- */

/* All requests go to one host, so the lower of both bounds counts; 0 is none, as in the Collector.
 */
static unsigned int most_idle(const struct net_http_config *config)
{
	int64_t most =
		config->max_idle_conns_per_host ? config->max_idle_conns_per_host : HOST_IDLE_USUAL;

	if (config->max_idle_conns && config->max_idle_conns < most)
		most = config->max_idle_conns;
	return (unsigned int)most;
}

static struct profcol_error *talker_create(const struct net_http_config *config, bool is_tls,
					   struct tls_stamp *stamp_ret, struct talker **ret)
{
	CLEANUP(tls_material_deinit) struct tls_material material = { 0 };
	const struct net_tls_client_config *tls = &config->tls;
	struct http_client_settings settings = { .insecure_skip_verify =
							 tls->insecure_skip_verify };
	struct talker *talker;
	struct profcol_error *error = NULL;

	if (is_tls) {
		// Stamped first: a change while we read is seen the next time.
		*stamp_ret = tls_client_stamp(tls);
		error = tls_client_load(tls, &material);
	}
	if (error)
		return error;
	settings.ca_pem = material.roots;
	settings.cert_pem = material.certificate;
	settings.key_pem = material.key;
	settings.server_name = tls->server_name_override[0] ? tls->server_name_override : NULL;
	talker = calloc(1, sizeof(*talker));
	if (!talker)
		return profcol_error_errno(ENOMEM, "create the client");
	error = http_client_create(is_tls ? &settings : NULL, &talker->client);
	if (!error && !config->disable_keep_alives)
		error = http_client_keep(talker->client, most_idle(config),
					 config->idle_conn_timeout_ns);
	if (error) {
		http_client_destroy(talker->client);
		free(talker);
		return error;
	}
	talker->users = 1;
	*ret = talker;
	return NULL;
}

static void talker_drop(struct http_peer *peer, struct talker *talker)
{
	bool last;

	if (!talker)
		return;
	pthread_mutex_lock(&peer->lock);
	last = !--talker->users;
	pthread_mutex_unlock(&peer->lock);
	if (!last)
		return;
	http_client_destroy(talker->client);
	free(talker);
}

/* Have the TLS files changed since they were read? True notes that, so the caller has to renew. */
static bool http_peer_is_outdated(struct http_peer *peer)
{
	const struct net_tls_client_config *tls = &peer->config->tls;
	uint64_t now_ns = clock_monotonic_ns();
	struct tls_stamp stamp;
	bool outdated = false;

	if (!peer->is_tls || !tls->reload_interval_ns)
		return false;
	pthread_mutex_lock(&peer->lock);
	if (!peer->renewing && now_ns >= peer->reload_after_ns) {
		peer->reload_after_ns = now_ns + tls->reload_interval_ns;
		stamp = tls_client_stamp(tls);
		outdated = !tls_stamp_equal(&stamp, &peer->stamp);
		peer->renewing = outdated;
		if (!outdated)
			peer->complaint.made = false;
	}
	pthread_mutex_unlock(&peer->lock);
	return outdated;
}

static void http_peer_renew(struct http_peer *peer)
{
	struct talker *fresh = NULL, *old = NULL;
	struct tls_stamp stamp = { 0 };
	PROFCOL_CLEANUP_ERROR struct profcol_error *error =
		talker_create(peer->config, true, &stamp, &fresh);
	bool complains = false;

	pthread_mutex_lock(&peer->lock);
	peer->renewing = false;
	if (error) {
		complains = tls_complaint_is_new(&peer->complaint, &stamp,
						 profcol_error_message(error));
	} else {
		old = peer->talker;
		peer->talker = fresh;
		peer->stamp = stamp;
		peer->complaint.made = false;
	}
	pthread_mutex_unlock(&peer->lock);
	if (complains)
		profcol_log_warn(peer->logger,
				 "cannot reload the TLS files: %s; those read before stay in use",
				 profcol_error_message(error));
	if (error)
		return;
	talker_drop(peer, old);
	profcol_log_info(peer->logger, "reloaded the TLS files");
}

static struct talker *talker_take(struct http_peer *peer)
{
	struct talker *talker;

	if (http_peer_is_outdated(peer))
		http_peer_renew(peer);
	pthread_mutex_lock(&peer->lock);
	talker = peer->talker;
	talker->users++;
	pthread_mutex_unlock(&peer->lock);
	return talker;
}

/* ---- a call ---- */

/* The request's own headers, the user agent and the configured ones; free(). NULL without memory.
 */
static struct http_client_header *gather_headers(const struct http_peer *peer,
						 const struct http_client_request *request,
						 size_t *count_ret)
{
	const struct profcol_map *own = &peer->config->headers;
	size_t count = 0;
	struct http_client_header *headers =
		calloc(request->header_count + own->count + 1, sizeof(*headers));

	if (!headers)
		return NULL;
	for (size_t i = 0; i < request->header_count; i++)
		headers[count++] = request->headers[i];
	headers[count++] = (struct http_client_header){ "User-Agent", peer->user_agent };
	for (size_t i = 0; i < own->count; i++)
		headers[count++] = (struct http_client_header){ own->keys[i], own->values[i] };
	*count_ret = count;
	return headers;
}

struct profcol_error *http_peer_call(struct http_peer *peer,
				     const struct http_client_request *request,
				     struct http_client_response *response)
{
	const struct http_client_proxy proxy = { peer->proxy.host, peer->proxy.port,
						 peer->proxy.authorization };
	struct http_client_request whole = *request;
	CLEANUP_FREE struct http_client_header *headers =
		gather_headers(peer, request, &whole.header_count);
	struct profcol_error *error;
	struct talker *talker;

	if (!headers)
		return profcol_error_errno(ENOMEM, "make a request");
	whole.headers = headers;
	whole.url = peer->url;
	whole.proxy = peer->has_proxy ? &proxy : NULL;
	whole.cancel_fd = peer->cancel_fd;
	talker = talker_take(peer);
	error = http_client_call(talker->client, &whole, response);
	talker_drop(peer, talker);
	return error;
}

void http_peer_cancel(struct http_peer *peer)
{
	(void)eventfd_write(peer->cancel_fd, 1);
}

/* ---- life ---- */

static char *make_user_agent(const char *version)
{
	struct utsname system;
	const char *architecture = uname(&system) ? "unknown" : system.machine;
	char *text;

	// As Go's programs call them.
	if (!strcmp(architecture, "x86_64"))
		architecture = "amd64";
	else if (!strcmp(architecture, "aarch64"))
		architecture = "arm64";
	return asprintf(&text, "profcol/%s (linux/%s)", version, architecture) < 0 ? NULL : text;
}

struct profcol_error *http_peer_init(struct http_peer *peer, const struct net_http_config *config,
				     const char *url, const char *version,
				     const struct profcol_logger *logger)
{
	*peer = (struct http_peer){ .config = config, .logger = logger };
	pthread_mutex_init(&peer->lock, NULL);
	peer->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	peer->url = strdup(url);
	peer->shown = http_client_show_url(url);
	peer->user_agent = make_user_agent(version);
	if (peer->cancel_fd < 0 || !peer->url || !peer->shown || !peer->user_agent)
		return profcol_error_errno(ENOMEM, "create the client");
	peer->is_tls = !strncmp(url, "https://", 8);
	if (config->proxy_url[0])
		peer->has_proxy = proxy_parse(config->proxy_url, &peer->proxy);
	else
		peer->has_proxy = proxy_find_url(url, &peer->proxy);
	peer->reload_after_ns = clock_monotonic_ns() + config->tls.reload_interval_ns;
	return talker_create(config, peer->is_tls, &peer->stamp, &peer->talker);
}

void http_peer_deinit(struct http_peer *peer)
{
	talker_drop(peer, peer->talker);
	if (peer->has_proxy)
		proxy_deinit(&peer->proxy);
	cleanup_fd(&peer->cancel_fd);
	free(peer->url);
	free(peer->shown);
	free(peer->user_agent);
	pthread_mutex_destroy(&peer->lock);
}
