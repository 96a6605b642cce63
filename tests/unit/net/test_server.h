/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gRPC server that answers every method as it is told, and keeps what the last request was.
 * One thread; all functions from the test's.
 */
#pragma once

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { TEST_SERVER_HEADERS_MAX = 32 };

/* What to say. Borrowed strings. */
struct test_answer {
	grpc_status_code code;
	const char *message;
	const void *details; /* grpc-status-details-bin; NULL = none */
	size_t details_length;
	const void *body; /* with GRPC_STATUS_OK */
	size_t body_length;
	grpc_compression_algorithm body_compression; /* @body is so compressed already */
	bool hang;                                   /* never answer */
};

struct test_server {
	grpc_server *server;
	grpc_completion_queue *queue;
	pthread_t thread;
	int port; /* of 127.0.0.1; 0 for a unix socket */

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	struct test_answer answer;
	unsigned int calls; /* seen */
	uint8_t *body;      /* of the last request, as it came */
	size_t body_length;
	bool body_compressed;
	char *method;
	struct {
		char *key, *value;
	} headers[TEST_SERVER_HEADERS_MAX];
	size_t header_count;
};

/* Listen on @address, "127.0.0.1:0" or "unix:/path"; NULL @credentials = no TLS, else taken.
 * Answers OK with an empty message. */
void test_server_start(struct test_server *server, const char *address,
		       grpc_server_credentials *credentials);
void test_server_stop(struct test_server *server);

void test_server_answer(struct test_server *server, struct test_answer answer);

/* Blocks until @calls requests have come in. */
void test_server_wait_calls(struct test_server *server, unsigned int calls);

/* A header of the last request; NULL when it had none of that name. */
const char *test_server_header(struct test_server *server, const char *key);
