/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients of HTTP: one that fetches what a peer has, one that posts OTLP. Others include net.h,
 * of which this is a part.
 */
#pragma once

#include "net.h"

#include <sys/socket.h>

/* ---- clients of HTTP (http_peer.c, http_settings.c) ---- */

/* As the Collector's clients of HTTP call them; "" is none. */
enum net_post_compression {
	NET_POST_EMPTY,
	NET_POST_GZIP,
	NET_POST_ZLIB,
	NET_POST_DEFLATE, /* which is zlib in HTTP */
	NET_POST_ZSTD,
	NET_POST_SNAPPY, /* gzip instead, as the next two */
	NET_POST_FRAMED_SNAPPY,
	NET_POST_LZ4,
	NET_POST_NONE
};

struct net_post_compression_config {
	int64_t level; /* 0 = the usual one */
};

struct net_post_cookies_config {
	bool enabled;
};

struct net_http_config {
	const char *endpoint;
	const char *proxy_url;
	struct net_tls_client_config tls;
	int compression; /* enum net_post_compression, of bodies that are sent */
	struct net_post_compression_config compression_params;
	struct profcol_map headers; /* values are secret */
	struct net_auth_config auth;
	struct profcol_list middlewares;
	int64_t max_idle_conns, max_idle_conns_per_host; /* 0 = no bound, and 2 */
	uint64_t idle_conn_timeout_ns;                   /* 0 = none */
	bool disable_keep_alives;
	/* No effect. */
	uint64_t read_buffer_bytes, write_buffer_bytes;
	int64_t max_conns_per_host;
	uint64_t http2_read_idle_timeout_ns, http2_ping_timeout_ns;
	bool force_attempt_http2;
	struct net_post_cookies_config cookies;
};

extern const char *const net_post_compression_names[];
extern const struct profcol_option net_post_compression_options[];
extern const struct profcol_option net_post_cookies_options[];

/*
 * Rows of the option table of struct @config, whose member @http is a struct net_http_config: all
 * but `endpoint` and `compression`, which say more where they are used.
 */
#define NET_HTTP_CLIENT_OPTIONS(config, http, write_buffer_)                                       \
	PROFCOL_OPTION_SECRET("proxy_url", config, http.proxy_url,                                 \
			      "http://[USER:PASSWORD@]HOST[:PORT], instead of the environment's"), \
		PROFCOL_OPTION_NESTED("tls", config, http.tls, net_tls_client_options,             \
				      "for https:// alone; the scheme says whether TLS is on"),    \
		PROFCOL_OPTION_NESTED("compression_params", config, http.compression_params,       \
				      net_post_compression_options, "how hard to try"),            \
		PROFCOL_OPTION_MAP("headers", config, http.headers,                                \
				   "sent with each request, e.g. authorization; values are never " \
				   "shown"),                                                       \
		PROFCOL_OPTION_BYTES("read_buffer_size", config, http.read_buffer_bytes, "0", 0,   \
				     16 << 20, "no effect"),                                       \
		PROFCOL_OPTION_BYTES("write_buffer_size", config, http.write_buffer_bytes,         \
				     write_buffer_, 0, 16 << 20, "no effect"),                     \
		PROFCOL_OPTION_INT(                                                                \
			"max_idle_conns", config, http.max_idle_conns, "100", 0, INT32_MAX,        \
			"connections that may wait for the next request; 0 = no bound"),           \
		PROFCOL_OPTION_INT("max_idle_conns_per_host", config,                              \
				   http.max_idle_conns_per_host, "0", 0, INT32_MAX,                \
				   "the same of the peer, which is the only one; 0 = 2"),          \
		PROFCOL_OPTION_INT("max_conns_per_host", config, http.max_conns_per_host, "0", 0,  \
				   INT32_MAX, "no effect"),                                        \
		PROFCOL_OPTION_DURATION("idle_conn_timeout", config, http.idle_conn_timeout_ns,    \
					"90s", 0, 0, "how long they may wait; 0 = no bound"),      \
		PROFCOL_OPTION_BOOL("disable_keep_alives", config, http.disable_keep_alives,       \
				    "false", "true: each request has a connection of its own"),    \
		PROFCOL_OPTION_BOOL("force_attempt_http2", config, http.force_attempt_http2,       \
				    "true", "no effect: requests are HTTP/1.1"),                   \
		PROFCOL_OPTION_DURATION("http2_read_idle_timeout", config,                         \
					http.http2_read_idle_timeout_ns, "0s", 0, 0, "no effect"), \
		PROFCOL_OPTION_DURATION("http2_ping_timeout", config, http.http2_ping_timeout_ns,  \
					"0s", 0, 0, "no effect"),                                  \
		PROFCOL_OPTION_NESTED("cookies", config, http.cookies, net_post_cookies_options,   \
				      "no effect"),                                                \
		PROFCOL_OPTION_NESTED("auth", config, http.auth, net_auth_options,                 \
				      "authenticator extensions are not supported; use headers"),  \
		PROFCOL_OPTION_LIST("middlewares", config, http.middlewares, NULL,                 \
				    "not supported: must be empty")

/* Check what the tables cannot say, but for the endpoint. Opens no file. */
PROFCOL_MUST_CHECK struct profcol_error *net_http_validate(const struct net_http_config *config);

/* CONFIG unless @text, of configuration key @key, is empty or a URL. */
PROFCOL_MUST_CHECK struct profcol_error *net_http_check_url(const char *key, const char *text);

/* ---- fetcher (fetcher.c): what a peer has to say at a URL ---- */

struct memory_share;
struct net_fetcher;

/* Of a connection that is open still and leads to the peer itself; AF_UNSPEC otherwise. */
struct net_ends {
	struct sockaddr_storage own, peer;
};

/*
 * A client of @url (copied; @config and @logger are borrowed until destroy, its endpoint is not
 * looked at), which says that it is @version. Reads the TLS files: CONFIG when one is missing or
 * unusable, naming file and key. Connects when it has no connection left that waits, through a
 * proxy where proxy_url or the environment names one.
 */
PROFCOL_MUST_CHECK struct profcol_error *net_fetcher_create(const struct net_http_config *config,
							    const char *url, const char *version,
							    const struct profcol_logger *logger,
							    struct net_fetcher **ret);

/*
 * GET it: *@bytes_ret, @max_bytes at most, is the caller's to free(), its memory taken of @share.
 * Blocks until the answer is there, @deadline_ns (CLOCK_MONOTONIC) or net_fetcher_cancel, which is
 * SHUTDOWN. UNAVAILABLE when there is no answer, or another status than 200, BAD_DATA when it is
 * too long or no HTTP, NO_MEMORY when the share has no more. Texts name the URL. *@ends_ret says
 * by which connection it came. Any thread.
 */
PROFCOL_MUST_CHECK struct profcol_error *net_fetcher_fetch(struct net_fetcher *fetcher,
							   uint64_t deadline_ns, size_t max_bytes,
							   struct memory_share *share,
							   uint8_t **bytes_ret, size_t *length_ret,
							   struct net_ends *ends_ret);

/* The URL, as messages show it. */
const char *net_fetcher_url(const struct net_fetcher *fetcher);

/* Ends all requests in progress, and those that follow at once. Any thread. */
void net_fetcher_cancel(struct net_fetcher *fetcher);

/* No request may be in progress. Accepts NULL. */
void net_fetcher_destroy(struct net_fetcher *fetcher);

/* ---- poster (poster.c and others): OTLP over HTTP, to a peer ---- */

enum net_post_encoding { NET_POST_PROTO, NET_POST_JSON };

struct net_post_config {
	struct net_http_config http;   /* to whose endpoint the profiles' path is added */
	const char *profiles_endpoint; /* taken as it is */
	const char *traces_endpoint, *metrics_endpoint, *logs_endpoint; /* no effect */
	int encoding;                                                   /* enum net_post_encoding */
};

/* For the option table of a component that has a struct net_post_config. */
extern const char *const net_post_encoding_names[];

/* What the tables cannot say: URLs, TLS settings, headers. Opens no file. */
PROFCOL_MUST_CHECK struct profcol_error *net_post_validate(const struct net_post_config *config);

struct net_poster;

/*
 * A client of the configured URL (@config and @logger borrowed until destroy), which says that it
 * is @version. Reads the TLS files: CONFIG when one is missing or unusable, naming file and key.
 * Connects when it has no connection left that waits, through a proxy where proxy_url or the
 * environment names one.
 */
PROFCOL_MUST_CHECK struct profcol_error *net_poster_create(const struct net_post_config *config,
							   const char *version,
							   const struct profcol_logger *logger,
							   struct net_poster **ret);

/* Where it sends to, as messages show it; borrowed. */
const char *net_poster_url(const struct net_poster *poster);

/*
 * Send @bytes, an ExportProfilesServiceRequest, in the configured encoding. Blocks until the answer
 * is there, @deadline_ns (CLOCK_MONOTONIC; UINT64_MAX = none) or net_poster_cancel. @answer is
 * filled always, HTTP's statuses as codes of gRPC: 429 and 413 are resource_exhausted, the former
 * with a retry, 502 to 504 unavailable, 404 unimplemented. Any thread, any number at once.
 */
void net_poster_post(struct net_poster *poster, const uint8_t *bytes, size_t length,
		     uint64_t deadline_ns, struct net_answer *answer);

/* Ends all requests in progress with NET_CANCELED, and those that follow at once. Any thread. */
void net_poster_cancel(struct net_poster *poster);

/* No request may be in progress. Accepts NULL. */
void net_poster_destroy(struct net_poster *poster);

/* For profcol_component.diagnose of an exporter: are the TLS files usable, does somebody answer? */
void net_poster_diagnose(const struct net_post_config *config, struct profcol_findings *findings);
