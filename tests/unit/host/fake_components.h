/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Components whose behaviour a test chooses, and configurations made of them by
 * hand. What they are told to do they write into a journal, in order.
 */
#pragma once

#include "host/pipeline/graph.h"

#include <profcol/batch.h>

#include <pthread.h>
#include <stdatomic.h>

struct fake_journal {
	pthread_mutex_t lock;
	char text[4096]; /* "start e1; consume e1 3; shutdown e1; " */
	size_t length;
};

void fake_journal_init(struct fake_journal *journal);
void fake_journal_add(struct fake_journal *journal, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* What is in a component's configuration struct: zero is a component that works. */
struct fake_options {
	struct fake_journal *journal; /* may be NULL */
	enum profcol_code create_fails, start_fails, consume_fails, shutdown_fails; /* 0 = no */
	bool fatal;         /* start reports FATAL_ERROR */
	bool waits;         /* start returns when the process is asked to end */
	uint64_t filters;   /* a processor books so many samples of each batch as FILTERED */
	bool keeps;         /* a processor holds its last batch until shutdown */
	uint64_t takes;     /* a receiver: samples it books and pushes when shut down */
	uint64_t loses;     /* of these it books as LOST "ring_buffer_full", not pushed */
	atomic_bool *hangs; /* shutdown does not return before it is false */
	unsigned int meet;  /* consume waits until so many threads are inside, or */
	int meet_ms;        /* about so long */
};

struct fake {
	const struct profcol_host *host;
	const struct fake_options *options;
	struct profcol_batch *kept; /* owned */
	_Atomic uintptr_t seen;     /* address of the last one */
	atomic_uint inside, most_inside;
	atomic_uint batches;
};

extern const struct profcol_component fake_receiver, fake_processor, fake_exporter;
extern const struct profcol_component fake_extension;
extern const struct profcol_component fake_serial_exporter;
extern const struct profcol_component fake_bare_exporter; /* create and consume only */

/* A sealed batch of @samples samples, with one event each. */
struct profcol_batch *fake_batch(uint32_t samples);

/* Push @samples samples into the graph as if @receiver had taken them, and book them. */
struct profcol_error *fake_push(struct instance *receiver, uint32_t samples);

/* The first instance called @id; fails the test when there is none. */
struct instance *fake_find(const struct graph *graph, const char *id);

/* r -> p1 -> p2 -> e, with the options of each. */
struct fake_chain {
	struct fake_options r, p1, p2, e;
	struct config_component components[4];
	struct config_pipeline pipeline;
	struct config config;
};

void fake_chain_init(struct fake_chain *chain, struct fake_journal *journal);

#define FAKE_COMPONENT(type_, id_, options_)                                                       \
	{ .kind = (type_).kind,                                                                    \
	  .id = (id_),                                                                             \
	  .type = &(type_),                                                                        \
	  .options = (options_),                                                                   \
	  .place = "test.yaml:1:1" }
#define FAKE_POSITIONS(...) ((const size_t[]){ __VA_ARGS__ })
#define FAKE_COUNT(...)     (sizeof(FAKE_POSITIONS(__VA_ARGS__)) / sizeof(size_t))
