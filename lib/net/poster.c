// SPDX-License-Identifier: Apache-2.0
/*
 * OTLP over HTTP, to a peer. A connection for each request, which HTTP/1.1 says the end of; the
 * files of TLS are looked at again between two of them.
 */
#include "deflate.h"
#include "net.h"
#include "post_answer.h"
#include "proxy.h"
#include "tls.h"

#include "base/base.h"
#include "http_client/http_client.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/utsname.h>

enum { FIXED_HEADERS = 4, LOOK_SECONDS = 3 };

#define SECOND_NS    UINT64_C(1000000000)
#define PROFILE_PATH "/v1development/profiles"

/* What talks by the files as they were; the last user destroys it. */
struct talker {
	struct http_client *client;
	unsigned int users; /* under the poster's lock; the poster itself is one */
};

struct net_poster {
	const struct net_post_config *config; /* borrowed */
	const struct profcol_logger *logger;  /* borrowed */
	char *url, *user_agent;
	struct proxy proxy;
	bool has_proxy, is_tls;
	enum net_post_compression compression;
	int cancel_fd; /* eventfd: readable once cancelled */

	pthread_mutex_t lock; /* guards what follows */
	struct talker *talker;
	struct tls_stamp stamp;         /* of the files that it is made from */
	struct tls_complaint complaint; /* of changed files */
	bool renewing;                  /* somebody makes one of changed files */
	uint64_t reload_after_ns;       /* CLOCK_MONOTONIC */
};

/* ---- who talks ---- */

static struct profcol_error *talker_create(const struct net_post_config *config, bool is_tls,
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
	if (error) {
		free(talker);
		return error;
	}
	talker->users = 1;
	*ret = talker;
	return NULL;
}

static void talker_drop(struct net_poster *poster, struct talker *talker)
{
	bool last;

	if (!talker)
		return;
	pthread_mutex_lock(&poster->lock);
	last = !--talker->users;
	pthread_mutex_unlock(&poster->lock);
	if (!last)
		return;
	http_client_destroy(talker->client);
	free(talker);
}

/* Are there other files than those in use? Who is told so has to renew. */
static bool poster_is_outdated(struct net_poster *poster)
{
	const struct net_tls_client_config *tls = &poster->config->tls;
	uint64_t now_ns = clock_monotonic_ns();
	struct tls_stamp stamp;
	bool outdated = false;

	if (!poster->is_tls || !tls->reload_interval_ns)
		return false;
	pthread_mutex_lock(&poster->lock);
	if (!poster->renewing && now_ns >= poster->reload_after_ns) {
		poster->reload_after_ns = now_ns + tls->reload_interval_ns;
		stamp = tls_client_stamp(tls);
		outdated = !tls_stamp_equal(&stamp, &poster->stamp);
		poster->renewing = outdated;
		if (!outdated)
			poster->complaint.made = false;
	}
	pthread_mutex_unlock(&poster->lock);
	return outdated;
}

static void poster_renew(struct net_poster *poster)
{
	struct talker *fresh = NULL, *old = NULL;
	struct tls_stamp stamp = { 0 };
	PROFCOL_CLEANUP_ERROR struct profcol_error *error =
		talker_create(poster->config, true, &stamp, &fresh);
	bool complains = false;

	pthread_mutex_lock(&poster->lock);
	poster->renewing = false;
	if (error) {
		complains = tls_complaint_is_new(&poster->complaint, &stamp,
						 profcol_error_message(error));
	} else {
		old = poster->talker;
		poster->talker = fresh;
		poster->stamp = stamp;
		poster->complaint.made = false;
	}
	pthread_mutex_unlock(&poster->lock);
	if (complains)
		profcol_log_warn(poster->logger,
				 "cannot reload the TLS files: %s; those read before stay in use",
				 profcol_error_message(error));
	if (error)
		return;
	talker_drop(poster, old);
	profcol_log_info(poster->logger, "reloaded the TLS files");
}

static struct talker *talker_take(struct net_poster *poster)
{
	struct talker *talker;

	if (poster_is_outdated(poster))
		poster_renew(poster);
	pthread_mutex_lock(&poster->lock);
	talker = poster->talker;
	talker->users++;
	pthread_mutex_unlock(&poster->lock);
	return talker;
}

/* ---- a request ---- */

/* The body as it is sent; false without memory. *@packed is the caller's to free. */
static bool poster_pack(const struct net_poster *poster, const uint8_t *bytes, size_t length,
			struct http_client_request *request, uint8_t **packed)
{
	request->body = bytes;
	request->body_length = length;
	if (!deflate_name(poster->compression))
		return true;
	*packed =
		deflate_message(poster->compression, (int)poster->config->compression_params.level,
				bytes, length, &request->body_length);
	request->body = *packed;
	return *packed;
}

/* How many; there is room for the configured ones and FIXED_HEADERS. */
static size_t poster_fill_headers(const struct net_poster *poster,
				  struct http_client_header *headers)
{
	const struct profcol_map *own = &poster->config->headers;
	const char *encoding = deflate_name(poster->compression);
	size_t count = 0;

	headers[count++] = (struct http_client_header){ "Content-Type", "application/x-protobuf" };
	headers[count++] = (struct http_client_header){ "User-Agent", poster->user_agent };
	headers[count++] = (struct http_client_header){ "otlp-profiles-development-version", "1" };
	if (encoding)
		headers[count++] = (struct http_client_header){ "Content-Encoding", encoding };
	for (size_t i = 0; i < own->count; i++)
		headers[count++] = (struct http_client_header){ own->keys[i], own->values[i] };
	return count;
}

static struct http_client_proxy proxy_of(const struct net_poster *poster)
{
	return (struct http_client_proxy){ poster->proxy.host, poster->proxy.port,
					   poster->proxy.authorization };
}

void net_poster_post(struct net_poster *poster, const uint8_t *bytes, size_t length,
		     uint64_t deadline_ns, struct net_answer *answer)
{
	const struct http_client_proxy proxy = proxy_of(poster);
	CLEANUP_FREE struct http_client_header *headers =
		calloc(poster->config->headers.count + FIXED_HEADERS, sizeof(*headers));
	CLEANUP_FREE uint8_t *packed = NULL;
	struct http_client_response response = { 0 };
	CLEANUP_FREE struct post_body *body = calloc(1, sizeof(*body));
	struct http_client_request request = {
		.method = "POST",
		.url = poster->url,
		.headers = headers,
		.proxy = poster->has_proxy ? &proxy : NULL,
		.deadline_ns = deadline_ns,
		.cancel_fd = poster->cancel_fd,
		.max_bytes = POST_BODY_MAX_BYTES,
		.take = post_body_take,
		.context = body,
	};
	struct profcol_error *error;
	struct talker *talker;

	*answer = (struct net_answer){ 0 };
	if (!headers || !body || !poster_pack(poster, bytes, length, &request, &packed)) {
		post_answer_no_memory(answer);
		return;
	}
	request.header_count = poster_fill_headers(poster, headers);
	talker = talker_take(poster);
	error = http_client_call(talker->client, &request, &response);
	talker_drop(poster, talker);
	if (error)
		post_answer_fault(answer, error, poster->url);
	else
		post_answer_read(answer, &response, body);
	http_client_response_deinit(&response);
}

/* ---- life ---- */

static char *make_url(const struct net_post_config *config)
{
	size_t length = strlen(config->endpoint);
	char *url;

	if (config->profiles_endpoint[0])
		return strdup(config->profiles_endpoint);
	while (length && config->endpoint[length - 1] == '/')
		length--;
	return asprintf(&url, "%.*s%s", (int)length, config->endpoint, PROFILE_PATH) < 0 ? NULL
											 : url;
}

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

static void poster_choose_compression(struct net_poster *poster)
{
	poster->compression = (enum net_post_compression)poster->config->compression;
	if (poster->compression != NET_POST_SNAPPY && poster->compression != NET_POST_LZ4 &&
	    poster->compression != NET_POST_FRAMED_SNAPPY)
		return;
	profcol_log_warn(poster->logger,
			 "profcol has no compression '%s', requests are sent with gzip",
			 net_post_compression_names[poster->compression]);
	poster->compression = NET_POST_GZIP;
}

static struct profcol_error *poster_init(struct net_poster *poster, const char *version)
{
	const struct net_post_config *config = poster->config;

	poster->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	poster->url = make_url(config);
	poster->user_agent = make_user_agent(version);
	if (poster->cancel_fd < 0 || !poster->url || !poster->user_agent)
		return profcol_error_errno(ENOMEM, "create the client");
	poster->is_tls = !strncmp(poster->url, "https://", 8);
	if (config->proxy_url[0])
		poster->has_proxy = proxy_parse(config->proxy_url, &poster->proxy);
	else
		poster->has_proxy = proxy_find_url(poster->url, &poster->proxy);
	poster_choose_compression(poster);
	poster->reload_after_ns = clock_monotonic_ns() + config->tls.reload_interval_ns;
	return talker_create(config, poster->is_tls, &poster->stamp, &poster->talker);
}

struct profcol_error *net_poster_create(const struct net_post_config *config, const char *version,
					const struct profcol_logger *logger,
					struct net_poster **ret)
{
	struct net_poster *poster = calloc(1, sizeof(*poster));
	struct profcol_error *error;

	if (!poster)
		return profcol_error_errno(ENOMEM, "create the client");
	poster->config = config;
	poster->logger = logger;
	pthread_mutex_init(&poster->lock, NULL);
	error = poster_init(poster, version);
	if (error) {
		net_poster_destroy(poster);
		return error;
	}
	*ret = poster;
	return NULL;
}

const char *net_poster_url(const struct net_poster *poster)
{
	return poster->url;
}

void net_poster_cancel(struct net_poster *poster)
{
	(void)eventfd_write(poster->cancel_fd, 1);
}

void net_poster_destroy(struct net_poster *poster)
{
	if (!poster)
		return;
	talker_drop(poster, poster->talker);
	if (poster->has_proxy)
		proxy_deinit(&poster->proxy);
	cleanup_fd(&poster->cancel_fd);
	free(poster->url);
	free(poster->user_agent);
	pthread_mutex_destroy(&poster->lock);
	free(poster);
}

/* ---- what can be told without sending ---- */

static void visit_peer(struct net_poster *poster, struct profcol_findings *findings)
{
	const struct http_client_proxy proxy = proxy_of(poster);
	const struct http_client_request request = {
		.method = "OPTIONS",
		.url = poster->url,
		.proxy = poster->has_proxy ? &proxy : NULL,
		.deadline_ns = clock_monotonic_ns() + LOOK_SECONDS * SECOND_NS,
		.max_bytes = POST_BODY_MAX_BYTES,
	};
	struct http_client_response response = { 0 };
	struct profcol_error *error = http_client_call(poster->talker->client, &request, &response);

	// It says something: whatever that is, somebody is there.
	if (!error)
		findings_add_fine(findings, "peer", "'%s' answers", poster->url);
	else
		findings_add_error(findings, "peer", PROFCOL_LACKING,
				   "requests wait in the queue, as far as it holds them", error);
	http_client_response_deinit(&response);
}

void net_poster_diagnose(const struct net_post_config *config, struct profcol_findings *findings)
{
	static const struct profcol_logger silent = { .size = sizeof(silent) };
	struct net_poster *poster;
	struct profcol_error *error = net_poster_create(config, "", &silent, &poster);

	if (error) {
		findings_add_error(findings, "TLS", PROFCOL_MISSING, "profcol does not start",
				   error);
		return;
	}
	if (poster->is_tls)
		findings_add_fine(findings, "TLS", "on, its files can be used");
	else
		findings_add_fine(findings, "TLS", "off");
	visit_peer(poster, findings);
	net_poster_destroy(poster);
}
