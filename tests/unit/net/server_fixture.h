/* SPDX-License-Identifier: Apache-2.0 */
/* A server of lib/net and the service behind it, whose calls can be held. */
#pragma once

#include "base/base.h"
#include "confighttp/confighttp.h"
#include "net/net.h"

#include <pthread.h>
#include <stdatomic.h>

/* No call of a test takes as long, however busy the machine is. */
enum { CALL_PATIENCE_MS = 120000 };

/* Of a server of OTLP over HTTP. */
#define TEST_PATH "/v1development/profiles"

struct server_fixture {
	struct net_server_config config;      /* defaults, at a port of 127.0.0.1 */
	struct confighttp_server_config http; /* defaults */
	bool is_http;                         /* before the start: OTLP over HTTP, not gRPC */
	bool is_plain;                        /* of HTTP: any body, answers in plain text */
	struct profcol_logger logger;
	struct net_server *server;
	char endpoint[128], target[128]; /* for clients */
	char *log;                       /* of the last line */
	atomic_uint warnings;

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	bool hold;             /* keep calls in the service */
	unsigned int admitted; /* calls that the service has let in */
	unsigned int entered;  /* calls that the service has seen */
	unsigned int inside;   /* that it holds */
	uint64_t bytes;        /* of all messages */
	struct net_answer say; /* for all calls; borrowed texts */
	unsigned int refused[NET_REFUSALS];

	struct memory_budget budget; /* before the start; most 0 = none */
};

void server_fixture_init(struct server_fixture *fixture);
void server_fixture_deinit(struct server_fixture *fixture);

void server_fixture_start(struct server_fixture *fixture);
/* The error that says why not; free with profcol_error_destroy. */
struct profcol_error *server_fixture_refuse(struct server_fixture *fixture);

/* Hold calls from now on, or let them go. */
void server_fixture_hold(struct server_fixture *fixture, bool hold);
/* Blocks until the service has let @admitted calls in, whose messages may yet have to come. */
void server_fixture_wait_admitted(struct server_fixture *fixture, unsigned int admitted);
unsigned int server_fixture_admitted(struct server_fixture *fixture);
/* Calls that the service has seen. */
unsigned int server_fixture_entered(struct server_fixture *fixture);
/* Blocks until the service holds @inside calls. */
void server_fixture_wait_inside(struct server_fixture *fixture, unsigned int inside);

/* Blocks until so much has been refused unheard for that reason. */
void server_fixture_wait_refused(struct server_fixture *fixture, enum net_refusal refusal,
				 unsigned int count);

/* One call of our own client, in plain text, with @timeout_ms. net_answer_deinit. */
struct net_answer server_fixture_call(struct server_fixture *fixture, const char *endpoint,
				      const void *bytes, size_t length, int compression,
				      unsigned int timeout_ms);

/* The same by a client of @tls. */
struct net_answer server_fixture_call_tls(struct server_fixture *fixture,
					  const struct net_tls_client_config *tls);

/* TLS settings of a client without any; "" everywhere. */
struct net_tls_client_config server_fixture_client_tls(void);
