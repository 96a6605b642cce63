/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source of pods that asks a server which stands in, and writes down what it delivers, a line for
 * each call. One thread, beside the source's.
 */
#pragma once

#include "stand_in.h"

#include "processors/k8s_attributes/source.h"

#include <pthread.h>

#define MILLISECOND UINT64_C(1000000)

struct source_fixture {
	struct stand_in *server;
	struct k8s_source *source;
	struct k8s_source_settings settings; /* to be changed before start */
	char directory[32], config[64], token[64], endpoint[64];
	pthread_mutex_t lock; /* protects the rest */
	pthread_cond_t changed;
	char log[16384];
	size_t length;
};

/* On the heap: a test that fails leaves threads behind that still write to it.
 *
 * A server with @routes, and settings with a kubeconfig that leads to it, short pauses, node n1
 * and the token in the file, "one". */
struct source_fixture *source_fixture_create(const struct stand_in_route *routes);

/* The same, and the source runs. */
void source_fixture_start(struct source_fixture *fixture);

/* Stops the source, which takes no time, and the server. */
/* How long the source took to stop, in nanoseconds. */
uint64_t source_fixture_destroy(struct source_fixture *fixture);

void source_fixture_write(const char *path, const char *text);

/* Until @words are in the log; else the test fails. */
void source_fixture_await(struct source_fixture *fixture, const char *words);

/* Until the server has had so many requests that begin with @request. */
void source_fixture_await_requests(struct source_fixture *fixture, const char *request,
				   unsigned int count);

/* How often @words are in the log. */
unsigned int source_fixture_count(struct source_fixture *fixture, const char *words);
