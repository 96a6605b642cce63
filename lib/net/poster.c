// SPDX-License-Identifier: Apache-2.0
/* OTLP over HTTP, to a peer. */
#include "deflate.h"
#include "http_peer.h"
#include "net.h"
#include "post_answer.h"

#include "base/base.h"
#include "profile/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OWN_HEADERS = 3, LOOK_SECONDS = 3 };

#define SECOND_NS    UINT64_C(1000000000)
#define PROFILE_PATH "/v1development/profiles"

struct net_poster {
	const struct net_post_config *config; /* borrowed */
	const struct profcol_logger *logger;  /* borrowed */
	struct http_peer peer;
	enum net_post_compression compression;
};

/* ---- a request ---- */

/* A request as JSON where that is wanted, packed where that is; both owned. */
struct body {
	char *text;
	uint8_t *packed;
};

static void body_deinit(struct body *body)
{
	free(body->text);
	free(body->packed);
}

/* Makes what is sent of @bytes; @body keeps it until deinit. */
static struct profcol_error *poster_pack(const struct net_poster *poster, const uint8_t *bytes,
					 size_t length, struct http_client_request *request,
					 struct body *body)
{
	int level = (int)poster->config->http.compression_params.level;
	struct profcol_error *error;

	if (poster->config->encoding == NET_POST_JSON) {
		error = otlp_to_json(bytes, length, &body->text, &length);
		if (error)
			return error;
		bytes = (const uint8_t *)body->text;
	}
	request->body = bytes;
	request->body_length = length;
	if (!deflate_name(poster->compression))
		return NULL;
	body->packed =
		deflate_message(poster->compression, level, bytes, length, &request->body_length);
	if (!body->packed)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory to compress a request");
	// Only one of the two is sent.
	free(body->text);
	body->text = NULL;
	request->body = body->packed;
	return NULL;
}

/* How many. */
static size_t poster_fill_headers(const struct net_poster *poster,
				  struct http_client_header headers[OWN_HEADERS])
{
	const char *encoding = deflate_name(poster->compression);
	const char *type = poster->config->encoding == NET_POST_JSON ? "application/json"
								     : "application/x-protobuf";
	size_t count = 0;

	headers[count++] = (struct http_client_header){ "Content-Type", type };
	headers[count++] = (struct http_client_header){ "otlp-profiles-development-version", "1" };
	if (encoding)
		headers[count++] = (struct http_client_header){ "Content-Encoding", encoding };
	return count;
}

void net_poster_post(struct net_poster *poster, const uint8_t *bytes, size_t length,
		     uint64_t deadline_ns, struct net_answer *answer)
{
	struct http_client_header headers[OWN_HEADERS];
	CLEANUP(body_deinit) struct body sent = { 0 };
	struct http_client_response response = { 0 };
	CLEANUP_FREE struct post_body *body = calloc(1, sizeof(*body));
	struct http_client_request request = {
		.method = "POST",
		.headers = headers,
		.header_count = poster_fill_headers(poster, headers),
		.deadline_ns = deadline_ns,
		.max_bytes = POST_BODY_MAX_BYTES,
		.take = post_body_take,
		.context = body,
	};
	struct profcol_error *error;

	*answer = (struct net_answer){ 0 };
	error = body ? poster_pack(poster, bytes, length, &request, &sent)
		     : profcol_error_create(PROFCOL_NO_MEMORY, "no memory to make a request");
	if (error) {
		post_answer_unsent(answer, error);
		return;
	}
	error = http_peer_call(&poster->peer, &request, &response);
	if (error)
		post_answer_fault(answer, error, poster->peer.shown);
	else
		post_answer_read(answer, &response, body);
	http_client_response_deinit(&response);
}

/* ---- life ---- */

static char *make_url(const struct net_post_config *config)
{
	const char *endpoint = config->http.endpoint;
	size_t length = strlen(endpoint);
	char *url;

	if (config->profiles_endpoint[0])
		return strdup(config->profiles_endpoint);
	while (length && endpoint[length - 1] == '/')
		length--;
	return asprintf(&url, "%.*s%s", (int)length, endpoint, PROFILE_PATH) < 0 ? NULL : url;
}

static void poster_choose_compression(struct net_poster *poster)
{
	poster->compression = (enum net_post_compression)poster->config->http.compression;
	if (poster->compression != NET_POST_SNAPPY && poster->compression != NET_POST_LZ4 &&
	    poster->compression != NET_POST_FRAMED_SNAPPY)
		return;
	profcol_log_warn(poster->logger,
			 "profcol has no compression '%s', requests are sent with gzip",
			 net_post_compression_names[poster->compression]);
	poster->compression = NET_POST_GZIP;
}

struct profcol_error *net_poster_create(const struct net_post_config *config, const char *version,
					const struct profcol_logger *logger,
					struct net_poster **ret)
{
	struct net_poster *poster = calloc(1, sizeof(*poster));
	CLEANUP_FREE char *url = make_url(config);
	struct profcol_error *error;

	if (!poster || !url) {
		free(poster);
		return profcol_error_errno(ENOMEM, "create the client");
	}
	poster->config = config;
	poster->logger = logger;
	poster_choose_compression(poster);
	error = http_peer_init(&poster->peer, &config->http, url, version, logger);
	if (error) {
		net_poster_destroy(poster);
		return error;
	}
	*ret = poster;
	return NULL;
}

const char *net_poster_url(const struct net_poster *poster)
{
	return poster->peer.shown;
}

void net_poster_cancel(struct net_poster *poster)
{
	http_peer_cancel(&poster->peer);
}

void net_poster_destroy(struct net_poster *poster)
{
	if (!poster)
		return;
	http_peer_deinit(&poster->peer);
	free(poster);
}

/* ---- what can be told without sending ---- */

static void visit_peer(struct net_poster *poster, struct profcol_findings *findings)
{
	const struct http_client_request request = {
		.method = "OPTIONS",
		.deadline_ns = clock_monotonic_ns() + LOOK_SECONDS * SECOND_NS,
		.max_bytes = POST_BODY_MAX_BYTES,
	};
	struct http_client_response response = { 0 };
	struct profcol_error *error = http_peer_call(&poster->peer, &request, &response);

	// It says something: whatever that is, somebody is there.
	if (!error)
		findings_add_fine(findings, "peer", "'%s' answers", poster->peer.shown);
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
	if (poster->peer.is_tls)
		findings_add_fine(findings, "TLS", "on, its files can be used");
	else
		findings_add_fine(findings, "TLS", "off");
	visit_peer(poster, findings);
	net_poster_destroy(poster);
}
