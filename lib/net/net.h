/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/net: OTLP for components that talk to peers: a client of gRPC's on its C core, one of HTTP,
 * and a server of both on nghttp2 and libevent. The one header that other folders include; what is
 * about clients of HTTP stands in net_http.h.
 *
 * gRPC's core starts threads of its own with the first client and keeps them until the last one is
 * destroyed. What only looks at a configuration (`..._validate`) does not start it.
 */
#pragma once

#include <profcol/component.h>
#include <profcol/errors.h>
#include <profcol/logging.h>
#include <profcol/options.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- status (status.c): pure ---- */

/* The codes of gRPC, with its numbers. */
enum net_code {
	NET_OK,
	NET_CANCELED,
	NET_UNKNOWN,
	NET_INVALID_ARGUMENT,
	NET_DEADLINE_EXCEEDED,
	NET_NOT_FOUND,
	NET_ALREADY_EXISTS,
	NET_PERMISSION_DENIED,
	NET_RESOURCE_EXHAUSTED,
	NET_FAILED_PRECONDITION,
	NET_ABORTED,
	NET_OUT_OF_RANGE,
	NET_UNIMPLEMENTED,
	NET_INTERNAL,
	NET_UNAVAILABLE,
	NET_DATA_LOSS,
	NET_UNAUTHENTICATED,
	NET_CODES
};

/* In lower_snake_case: "invalid_argument"; "unknown" for a number that is none. */
const char *net_code_name(enum net_code code);

/*
 * Look for google.rpc.RetryInfo in @bytes, a google.rpc.Status (grpc-status-details-bin).
 * False when there is none, or @bytes is broken. The delay is at least 0 and at most a day.
 */
bool net_status_find_retry(const uint8_t *bytes, size_t length, uint64_t *delay_ns_ret);

/* What an OTLP service says about a request that it took. */
struct net_export_result {
	uint64_t rejected; /* profiles (of other signals: records) it did not take, for good */
	char *message;     /* owned; NULL when it made no remark */
};

/*
 * Decode @bytes, an Export...ServiceResponse of any signal. BAD_DATA when it is none.
 * *@result is the caller's to deinit, on success only.
 */
PROFCOL_MUST_CHECK struct profcol_error *
net_export_result_decode(const uint8_t *bytes, size_t length, struct net_export_result *result);
void net_export_result_deinit(struct net_export_result *result);

/* What a call came to. Everything it points to is owned; net_answer_deinit. */
struct net_answer {
	enum net_code code;
	bool from_peer;          /* the peer said so; else it was not reached (NET_UNAVAILABLE,
				  * also when there was no time left) or did not answer */
	char *message;           /* printable, one line; why, and what to do about it where the
				  * client found that out. On NET_OK why the response cannot be
				  * read, else NULL */
	bool has_retry;          /* the peer asks for a retry ... */
	uint64_t retry_delay_ns; /* ... not before this */
	uint8_t *bytes;          /* response; NULL when empty, unreadable or not NET_OK */
	size_t length;
};

void net_answer_deinit(struct net_answer *answer);

/*
 * What a peer's answer means for @request, by the rules of OTLP: NULL when the peer took it, with
 * the rest of @reply filled in; else an error that says whether to try again, its text made for
 * whoever has to mend it, without the endpoint. Pure.
 */
PROFCOL_MUST_CHECK struct profcol_error *net_outcome_of(const struct profcol_request *request,
							const struct net_answer *answer,
							struct profcol_reply *reply);

/* ---- TLS of a client (tls_client.c) ---- */

struct net_tls_tpm_config {
	bool enabled;
	const char *path, *owner_auth, *auth;
};

struct net_tls_client_config {
	bool insecure; /* no TLS, unless a CA is given */
	bool insecure_skip_verify;
	const char *ca_file, *ca_pem;
	const char *cert_file, *cert_pem;
	const char *key_file, *key_pem; /* key_pem is secret */
	bool include_system_ca_certs_pool;
	const char *server_name_override;
	const char *min_version, *max_version;
	struct profcol_list cipher_suites, curve_preferences;
	bool include_insecure_cipher_suites;
	uint64_t reload_interval_ns; /* 0 = never */
	struct net_tls_tpm_config tpm;
};

/* Relative to struct net_tls_client_config. */
extern const struct profcol_option net_tls_client_options[];

/* ---- client (client.c and others): unary calls with bytes in, bytes out ---- */

/* What is written as "" is what gRPC does when nobody says anything, as in the Collector. */
enum net_compression { NET_COMPRESSION_EMPTY, NET_GZIP, NET_SNAPPY, NET_ZSTD, NET_UNCOMPRESSED };
enum net_balancer { NET_BALANCER_EMPTY, NET_ROUND_ROBIN, NET_PICK_FIRST };

struct net_keepalive_config {
	uint64_t time_ns, timeout_ns;
	bool permit_without_stream;
};

struct net_auth_config {
	const char *authenticator;
};

struct net_client_config {
	const char *endpoint;
	struct net_tls_client_config tls;
	int compression;            /* enum net_compression; EMPTY: none */
	struct profcol_map headers; /* values are secret */
	bool keepalive_named;
	struct net_keepalive_config keepalive;
	int balancer; /* enum net_balancer; EMPTY: pick_first */
	const char *authority;
	bool wait_for_ready;
	uint64_t read_buffer_bytes, write_buffer_bytes;
	const char *user_agent; /* empty: profcol/VERSION (OS/ARCHITECTURE) */
	struct net_auth_config auth;
	struct profcol_list middlewares;
};

/* For the option table of a component that has a struct net_client_config. */
extern const char *const net_compression_names[];
extern const char *const net_balancer_names[];
extern const struct profcol_option net_keepalive_options[]; /* struct net_keepalive_config */
extern const struct profcol_option net_auth_options[];      /* struct net_auth_config */

/* A client of either protocol has no extensions of the Collector to ask: an error if one is named.
 */
PROFCOL_MUST_CHECK struct profcol_error *
net_refuse_extensions(const struct net_auth_config *auth, const struct profcol_list *middlewares);

/* What the tables cannot say: endpoint, TLS settings, headers. Opens no file. */
PROFCOL_MUST_CHECK struct profcol_error *
net_client_validate(const struct net_client_config *config);

struct net_client;

/* Sent with each call besides the configured headers. */
struct net_header {
	const char *key, *value;
};

struct net_client_settings {
	const char *version;              /* of the program */
	const struct net_header *headers; /* borrowed during create */
	size_t header_count;
	const struct profcol_logger *logger; /* borrowed until destroy */
};

/*
 * A client of config->endpoint (@config borrowed until destroy); it connects with the first
 * call and again whenever needed. Reads the TLS files: CONFIG when one is missing or unusable,
 * naming file and key. Starts gRPC and its threads.
 */
PROFCOL_MUST_CHECK struct profcol_error *
net_client_create(const struct net_client_config *config,
		  const struct net_client_settings *settings, struct net_client **ret);

/*
 * Call @method ("/package.Service/Method") with @bytes as its request. Blocks until the answer
 * is there, @deadline_ns (CLOCK_MONOTONIC; UINT64_MAX = none) or net_client_cancel. @answer is
 * filled always. When the peer cannot be reached the cause is looked into first, which may
 * take three seconds more, at most every half minute. @bytes are compressed (else copied) once
 * there is a connection, until they are sent. Any thread, any number at once.
 */
void net_client_call(struct net_client *client, const char *method, const uint8_t *bytes,
		     size_t length, uint64_t deadline_ns, struct net_answer *answer);

/* Ends all calls in progress with NET_CANCELED, and those that follow at once. Any thread. */
void net_client_cancel(struct net_client *client);

/* No call may be in progress. Accepts NULL. */
void net_client_destroy(struct net_client *client);

/*
 * For profcol_component.diagnose of an exporter: can the endpoint's name be looked up, the TLS
 * files be used, the peer be reached? Connects and asks for nothing; takes six seconds at most.
 * Does not start gRPC.
 */
void net_client_diagnose(const struct net_client_config *config, struct profcol_findings *findings);

/* ---- TLS of a server (tls_server_options.c) ---- */

struct net_tls_server_config {
	const char *cert_file, *cert_pem;
	const char *key_file, *key_pem; /* key_pem is secret */
	const char *client_ca_file;     /* clients have to show a certificate of these */
	bool client_ca_file_reload;
	const char *ca_file, *ca_pem; /* no effect here: logged */
	bool include_system_ca_certs_pool;
	const char *min_version, *max_version;
	struct profcol_list cipher_suites, curve_preferences;
	bool include_insecure_cipher_suites;
	uint64_t reload_interval_ns; /* 0 = never */
	struct net_tls_tpm_config tpm;
};

/* Relative to struct net_tls_server_config. */
extern const struct profcol_option net_tls_server_options[];

/* ---- server (server.c and others): unary calls with bytes in, bytes out ---- */

enum net_transport { NET_TCP, NET_TCP4, NET_TCP6, NET_UNIX };

struct net_dialer_config {
	uint64_t timeout_ns;
};

struct net_server_parameters_config {
	uint64_t max_connection_idle_ns, max_connection_age_ns, max_connection_age_grace_ns;
	uint64_t time_ns, timeout_ns;
};

struct net_enforcement_policy_config {
	uint64_t min_time_ns;
	bool permit_without_stream;
};

struct net_server_keepalive_config {
	struct net_server_parameters_config server_parameters;
	struct net_enforcement_policy_config enforcement_policy;
};

struct net_server_config {
	const char *endpoint;            /* HOST:PORT, or a path */
	int transport;                   /* enum net_transport */
	struct net_dialer_config dialer; /* no effect */
	bool tls_named;
	struct net_tls_server_config tls;
	int64_t max_recv_msg_size_mib; /* 0 = 4 */
	int64_t max_concurrent_streams;
	uint64_t read_buffer_bytes, write_buffer_bytes;
	bool keepalive_named; /* for the decoder: without the section all of it is 0 */
	struct net_server_keepalive_config keepalive;
	bool include_metadata; /* no effect: logged */
	struct net_auth_config auth;
	struct profcol_list middlewares;
};

/* For the option table of a component that has a struct net_server_config. */
extern const char *const net_transport_names[];
extern const struct profcol_option net_dialer_options[];
extern const struct profcol_option net_server_keepalive_options[];

/* What the tables cannot say. Opens nothing. */
PROFCOL_MUST_CHECK struct profcol_error *
net_server_validate(const struct net_server_config *config);

/* Bytes of the largest message that is taken, before and after inflation. */
size_t net_server_message_bytes(const struct net_server_config *config);

/* A call that has come in, during the functions of its service. */
struct net_call;

/* "/package.Service/Method", of HTTP the path; borrowed. */
const char *net_call_method(const struct net_call *call);

/* Is the message OTLP/JSON? Else it is protobuf. */
bool net_call_is_json(const struct net_call *call);

/* Who calls: "ipv4:127.0.0.1:4711"; borrowed. */
const char *net_call_peer(struct net_call *call);

/*
 * How often header @key (lower case) is there. The first value, borrowed and without a NUL at
 * its end, if there is one.
 */
size_t net_call_header(const struct net_call *call, const char *key, const char **value_ret,
		       size_t *length_ret);

/* Why a server refuses something unheard: a client that behaves well never sees any of them. */
enum net_refusal {
	NET_REFUSED_CONNECTION, /* there are too many, in all or of this address: the newcomer, or
				 * who has been silent for longest */
	NET_REFUSED_CALLS,      /* too many calls at once: the client may try again */
	NET_REFUSED_HEAD,       /* a head that is too large */
	NET_REFUSED_FLOOD,      /* frames, pings or resets without end: the connection is ended */
	NET_REFUSED_SLOW,       /* a head or message that does not come to its end, or an answer
				 * that is not read */
	NET_REFUSED_PROTOCOL,   /* no HTTP, or broken: the connection is ended */
	NET_REFUSED_TLS,        /* the handshake failed: no certificate that we take, plain text */
	NET_REFUSED_MEMORY,     /* no memory to inflate a message: the client may try again */
	NET_REFUSALS
};

/* In lower_snake_case, for labels of metrics: "connections", "calls", "head", "flood" ... */
const char *net_refusal_name(enum net_refusal refusal);

/* What a refusal is, for the log. */
const char *net_refusal_text(enum net_refusal refusal);

/* What a receiver counts of them: figures, and a line a minute, for an attack is nothing else. The
 * server's thread. */
struct net_refusals {
	const struct profcol_host *host; /* borrowed */
	struct profcol_metric *counts[NET_REFUSALS];
	uint64_t notice_after_ns; /* CLOCK_MONOTONIC: no line before */
};

/* Registers the metric receiver_refused_connections, of @transport, "http". */
void net_refusals_init(struct net_refusals *refusals, const struct profcol_host *host,
		       const char *transport);
void net_refusals_count(struct net_refusals *refusals, enum net_refusal refusal, const char *peer);

struct confighttp_server_config;
struct memory_budget;
struct memory_share;

/* Who answers the calls. The first two get @answer zeroed, and fill in code, message, retry and
 * bytes. */
struct net_service {
	void *context;

	/* The head of a call: false, with the reason in @answer, to refuse it before its message
	 * is read. One thread, which must not wait. */
	bool (*admit)(void *context, struct net_call *call, struct net_answer *answer);

	/* The whole call; @bytes are borrowed. What it needs of memory beside them it takes of
	 * @share, which is given back when it returns. May block: others go on meanwhile. Several
	 * threads. */
	void (*handle)(void *context, struct net_call *call, const uint8_t *bytes, size_t length,
		       struct memory_share *share, struct net_answer *answer);

	/* Something was refused of @peer, borrowed. The same thread as admit; may be NULL. */
	void (*refused)(void *context, enum net_refusal refusal, const char *peer);

	/* For all messages that are handled, inflated and with what handle takes. Borrowed until
	 * destroy; NULL = no bound. */
	struct memory_budget *budget;

	/* Of HTTP: bodies of any type, and answers in plain text instead of OTLP's, 204 without one
	 * for what was taken. */
	bool is_plain;
};

/*
 * Connections to servers have descriptors with numbers below half of those that the process may
 * have, and below this: what profiles needs some at any time, and anybody on the machine can
 * connect.
 */
enum { NET_CONNECTIONS_MOST = 8192 };

struct net_server;

/*
 * Listen at config->endpoint (@config and @logger borrowed until destroy) and answer calls.
 * CONFIG when a TLS file is missing or unusable, SYSTEM when the address cannot be had; both
 * begin with the key, "tls.cert_file" or "endpoint". Starts up to nine threads.
 *
 * Memory: what there may be of connections, calls and messages as they come is a share of the
 * memory that the process may have (bounds.c): with 128 MiB 1024, 512 and 16 MiB. A call that finds
 * no room waits, and sends no more than its first 16 KiB meanwhile (64 KiB before it knows our
 * settings); a message that is whole by then needs none. Beside these, each thread that handles
 * calls (4 to 8) has one message, within the service's budget.
 *
 * Fair: no connection has more than half of the room for messages, no address more than three
 * quarters of it, or half of the connections and calls; when all calls are taken, the address that
 * has most loses one that is not here yet, or whose answer has not been read for a second; those
 * that wait take turns by address and connection.
 *
 * Time: a message that takes a minute to arrive is given up; when others find no room, one that has
 * had room for two seconds and a second more for each MiB that has come, or that has some and has
 * waited five seconds for more. An answer that is not read for a minute is given up as well.
 */
PROFCOL_MUST_CHECK struct profcol_error *net_server_create(const struct net_server_config *config,
							   const struct net_service *service,
							   const struct profcol_logger *logger,
							   struct net_server **ret);

/*
 * The same for OTLP over HTTP, versions 1.1 and 2: POST to @path (borrowed, like @config and
 * @logger, until destroy). Codes of answers become HTTP's statuses as the Collector's receiver maps
 * them, their texts a google.rpc.Status in the request's encoding, or of a service that is_plain
 * the body.
 */
PROFCOL_MUST_CHECK struct profcol_error *
net_http_server_create(const struct confighttp_server_config *config, const char *path,
		       const struct net_service *service, const struct profcol_logger *logger,
		       struct net_server **ret);

/* What the tables cannot say. Opens nothing. */
PROFCOL_MUST_CHECK struct profcol_error *
net_http_server_validate(const struct confighttp_server_config *config);

/* Bytes of the largest body that is taken, before and after inflation. */
size_t net_http_server_message_bytes(const struct confighttp_server_config *config);

/* Where it listens; borrowed: "127.0.0.1:4317" (the port it got, if 0 was asked for) or a path. */
const char *net_server_address(const struct net_server *server);

/* Begin what net_server_shutdown() does, without waiting for it: with several servers first. */
void net_server_stop(struct net_server *server);

/*
 * Take no further calls and refuse those whose message is still on its way; let those that are
 * being handled end. Calls that are not answered by @deadline_ns (CLOCK_MONOTONIC) are cancelled;
 * returns when `handle` has returned for all. A unix socket is removed.
 */
void net_server_shutdown(struct net_server *server, uint64_t deadline_ns);

/*
 * Until when the server of a receiver answers, of which the host wants to be rid of by @deadline_ns
 * (both CLOCK_MONOTONIC): half of the time that is left, and a little more.
 */
uint64_t net_server_last_answer_ns(uint64_t deadline_ns);

/* Shut down, if it has not been. Accepts NULL. */
void net_server_destroy(struct net_server *server);

/*
 * For profcol_component.diagnose of a receiver: can the address be listened at, the TLS files be
 * read?
 */
void net_server_diagnose(const struct net_server_config *config, struct profcol_findings *findings);
void net_http_server_diagnose(const struct confighttp_server_config *config,
			      struct profcol_findings *findings);

#include "net_http.h"
