/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands before an exporter that has `send`: a queue of encoded requests, threads
 * that take from it, retries, and the account of every sample. docs/sending.md tells a
 * user what it does.
 *
 * A batch becomes OTLP requests of at most `max_request_bytes`, or of one observation; these bytes
 * are what the queue holds, in memory or in an extension's storage, and nothing else.
 * A sample that was accepted ends as EXPORTED, LOST{cause} or STORED, exactly once.
 */
#pragma once

#include <profcol/component.h>

struct arena;
struct profcol_storage_operations;

/* ---- options: what the host adds to the component's table (options.c) ---- */

enum sending_sizer {
	SENDING_SIZER_UNSET, /* queue: requests, and SENDING_UNSIZED_BYTES; batch: the queue's */
	SENDING_REQUESTS,
	SENDING_ITEMS, /* samples */
	SENDING_BYTES,
};

enum { SENDING_UNSIZED_BYTES = 64 << 20 };

struct sending_partition_config {
	struct profcol_list metadata_keys;
};

struct sending_batch_config {
	bool enabled;
	uint64_t flush_timeout_ns;
	int64_t min_size, max_size; /* in units of the sizer; max 0 = no limit */
	int sizer;                  /* enum sending_sizer */
	struct sending_partition_config partition;
};

struct sending_queue_config {
	bool enabled;
	int64_t num_consumers;
	int64_t queue_size; /* 0 = not given */
	int sizer;          /* enum sending_sizer */
	bool block_on_overflow;
	bool wait_for_result;
	const char *storage; /* id of an extension; "" = memory */
	bool batch_named;
	struct sending_batch_config batch;
};

struct sending_retry_config {
	bool enabled;
	uint64_t initial_interval_ns, max_interval_ns;
	double multiplier, randomization_factor;
	uint64_t max_elapsed_ns; /* 0 = for ever */
};

struct sending_config {
	uint64_t timeout_ns; /* of one attempt; 0 = none */
	struct sending_retry_config retry;
	struct sending_queue_config queue;
	uint64_t max_request_bytes;
	bool attribute_references;
};

/*
 * The table that the configuration of a @type is decoded with, and the size of the struct
 * that it fills: the component's own, and with `send` the host's behind it. The table
 * lives in @memory or is the component's. False without memory.
 */
bool sending_compose(const struct profcol_component *type, struct arena *memory,
		     const struct profcol_option **table_ret, size_t *size_ret);

/* The host's part of @options, which were decoded with the table above. @type has `send`. */
const struct sending_config *sending_config_of(const struct profcol_component *type,
					       const void *options);

/* What the table cannot say; as validate of a component. */
PROFCOL_MUST_CHECK struct profcol_error *sending_validate(const struct sending_config *config);

/* ---- running (sending.c) ---- */

struct sending;

struct sending_target {
	const struct profcol_host *host;      /* accounts, metrics and lines go here */
	const struct profcol_component *type; /* has `send` */
	void *self;                           /* the component's instance */
	/* Where the queue is kept; NULL = in memory. The extension starts before sending_start
	 * and shuts down after sending_shutdown. */
	const struct profcol_storage_operations *storage;
	void *storage_self;
};

/* @target's pointers and @config are borrowed until destroy. */
PROFCOL_MUST_CHECK struct profcol_error *sending_create(const struct sending_target *target,
							const struct sending_config *config,
							struct sending **ret);

/* Starts the component, opens its storage and books as TAKEN what an earlier process left. */
PROFCOL_MUST_CHECK struct profcol_error *sending_start(struct sending *sending);

/*
 * Takes @batch, whatever the result. An error is marked as counted: its samples are booked.
 * Waits where the options say so (`block_on_overflow`, `wait_for_result`, no queue), else
 * never. Any thread, after start and before shutdown.
 */
PROFCOL_MUST_CHECK struct profcol_error *sending_consume(struct sending *sending,
							 struct profcol_batch *batch);

/*
 * The whole graph is going to shut down until @deadline_ns, upstream first: from now on
 * sending_consume does not wait, so that nobody upstream is held up. Without a queue it goes
 * on sending for half of the time; then the component is shut down, on a thread of its own.
 * Any thread, at any time.
 */
void sending_stop_waiting(struct sending *sending, uint64_t deadline_ns);

/*
 * Upstream is down: deliver what is queued until @deadline_ns, each request once more at
 * the most. Does not wait for it, so that several exporters do so at once.
 */
void sending_drain(struct sending *sending, uint64_t deadline_ns);

/*
 * Drain, wait for it, and shut the component down early enough for it to return by @deadline_ns
 * (CLOCK_MONOTONIC). What is left then is LOST "shutdown", or STORED where there is storage. Main
 * thread, once, also without start.
 */
PROFCOL_MUST_CHECK struct profcol_error *sending_shutdown(struct sending *sending,
							  uint64_t deadline_ns);

/* After shutdown, or without start. Accepts NULL. */
void sending_destroy(struct sending *sending);
