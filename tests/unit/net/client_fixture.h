/* SPDX-License-Identifier: Apache-2.0 */
/* A client and the server it calls, both in this process. */
#pragma once

#include "test_server.h"

#include "net/net.h"

#include <stdatomic.h>

#define TEST_METHOD "/profcol.test.Service/Call"

struct fixture {
	struct test_server server; /* once started */
	bool serving;
	struct net_client_config config; /* defaults, without TLS */
	struct profcol_logger logger;
	struct net_client *client;
	char endpoint[128];
	atomic_uint warnings; /* in the log */
	char warning[1024];   /* the last one */
};

/* Nothing runs yet. */
void fixture_init(struct fixture *fixture);
void fixture_deinit(struct fixture *fixture);

/* Listen on @address (NULL: a port of 127.0.0.1), and make it the configuration's endpoint. */
void fixture_serve(struct fixture *fixture, const char *address,
		   grpc_server_credentials *credentials);

/* A client of the configuration. */
void fixture_connect(struct fixture *fixture);
/* The error that says why not; free with profcol_error_destroy. */
struct profcol_error *fixture_refuse(struct fixture *fixture);

/* One call, with 20 seconds' time. net_answer_deinit. */
struct net_answer fixture_call(struct fixture *fixture, const char *bytes);
