/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests of reloads share: components with options, of which configurations are made as
 * users make them, by YAML, and what they did, in order.
 *
 *   receiver  source   pushes batches all the time by a thread of its own, with `running`
 *   processor pass     hands batches on; with `keeps` it holds one back
 *   exporter  sink     books what comes; with `port` nobody else may have the same one
 *   extension beside   is there; with `port` as well
 *
 * `version` means nothing: another one makes the section another one.
 */
#pragma once

#include "host/lifecycle/lifecycle.h"
#include "host/lifecycle/transition.h"

#include "fake_components.h"

extern const struct component_registry reload_components;

struct reload_options {
	int64_t version;
	int64_t port; /* 0 = none; below RELOAD_PORTS */
	bool running; /* a source has a thread */
	bool keeps;
	bool stalls; /* consume waits for reload_stalled to become false */
	bool agrees; /* to a reconfiguration */
	bool create_fails, start_fails;
	bool steals; /* start fails, and the port is gone for ever */
};

enum { RELOAD_PORTS = 16 };

extern struct fake_journal reload_journal; /* "start sink/a 1; shutdown sink/a 1; " */
extern atomic_bool reload_stalled;
extern atomic_uint reload_inside; /* callers that stall */

void reload_free_port(size_t port);

/* Of each reload; set anew before each test. */
extern struct lifecycle_patience reload_patience;

/* Set-up and tear-down of a test: nothing noted; no port is left in use. */
int reload_begin(void **state);
int reload_end(void **state);

/* Decoded; fails the test when it is wrong. */
struct config *reload_config(const char *text);

/* A graph of @text that runs; *@first_ret is to be destroyed after it. */
struct graph *reload_graph(const char *text, struct config **first_ret);

/* Go over to @text; what came of it, and why in reload_error. */
enum transition_result reload_to(struct graph *graph, const char *text);
extern char reload_error[1024];

/* Shut down; all samples must be accounted for. The exit line is in reload_samples then. */
void reload_finish(struct graph *graph, struct config *first);
extern char reload_samples[4096];

void expect_journal(const char *expected);
void forget_journal(void);

/* Until a source has pushed @batches more, or the test fails. */
void reload_await_batches(struct graph *graph, const char *source, unsigned int batches);

struct instance *reload_find(const struct graph *graph, const char *id);
