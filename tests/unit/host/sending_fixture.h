/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service of one receiver and one exporter with `send`, made from YAML, and the peer
 * that the exporter talks to, which does what the test tells it to.
 */
#pragma once

#include "host/lifecycle/lifecycle.h"

#include "fake_components.h"

#include <profcol/storage.h>

enum { PEER_REQUESTS_MAX = 4096 };

/* Longer than any machine is busy: who waits that long hangs. */
#define PEER_PATIENCE_NS (3600 * (uint64_t)PROFCOL_SECOND)

/* Options of an exporter that tries a request once, and again at the shutdown only. */
#define PATIENT "retry_on_failure: {initial_interval: 1h, max_interval: 1h, max_elapsed_time: 0}"

struct peer_request {
	size_t length;
	uint64_t samples;
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	uint8_t *bytes; /* owned; run_end() checks that they keep the rules of OTLP profiles */
};

struct peer {
	pthread_mutex_t lock;
	pthread_cond_t changed;

	/* What the test may change while it runs, with peer_set(). */
	enum profcol_code code; /* of each answer; 0 = success */
	const char *cause;
	const char *reason;      /* text of its errors; may be NULL */
	uint64_t delay_ns;       /* of a THROTTLED */
	size_t max_bytes;        /* a longer request is too_large; 0 = none is */
	unsigned int takes_left; /* after so many successes `code` is UNAVAILABLE; 0 = never */
	unsigned int fails;      /* the next so many fail with `code`, the others do not; 0 = all */
	uint64_t rejects;        /* of each success: samples that are not taken */
	const char *remark;
	bool hangs; /* answers are not given before this is false, or the deadline, or shutdown */

	/* What the test may look at. */
	struct peer_request requests[PEER_REQUESTS_MAX]; /* taken ones */
	size_t taken, checked, attempts;
	uint64_t samples;  /* of those taken */
	uint64_t profiles; /* of the last attempt */
	unsigned int inside, most_inside;
	bool stopped;        /* shutdown was called */
	const uint8_t *last; /* bytes of the last one taken */
	size_t last_length;
};

extern struct peer peer;
extern const struct profcol_component fake_peer_exporter;

/* Change what the peer does, and wake who hangs in it. */
#define PEER_SET(field, value)                                                                     \
	do {                                                                                       \
		pthread_mutex_lock(&peer.lock);                                                    \
		peer.field = (value);                                                              \
		pthread_cond_broadcast(&peer.changed);                                             \
		pthread_mutex_unlock(&peer.lock);                                                  \
	} while (0)
#define PEER_GET(field)                                                                            \
	({                                                                                         \
		pthread_mutex_lock(&peer.lock);                                                    \
		__auto_type value_ = peer.field;                                                   \
		pthread_mutex_unlock(&peer.lock);                                                  \
		value_;                                                                            \
	})

/* A storage that is an extension of the type `store`; its records outlive the run. */
struct fake_record {
	uint64_t id, samples;
	uint8_t *bytes; /* owned */
	size_t length;
	bool taken, damaged;
};

struct fake_store {
	pthread_mutex_t lock;
	struct fake_record records[256];
	size_t count;
	uint64_t next_id, max_records; /* 0 = no limit */
	uint64_t capacity_bytes;       /* as shown; 0 = none */
	uint64_t max_record_bytes;     /* as shown; 0 = none */
	unsigned int fails;            /* so many more takes come to "later" */
	struct profcol_storage_figures damage;
	bool open;
};

extern struct fake_store store;
extern const struct profcol_component fake_store_extension;
extern const struct profcol_component fake_plain_extension;

void fake_store_clear(void);

/* Set-up and tear-down of each test: a peer that takes all, an empty store. */
int sending_setup(void **state);
int sending_teardown(void **state);

struct run {
	struct config *config;
	struct graph *graph;
	struct instance *receiver, *exporter;
	int log_fd;
	struct balance balance; /* after run_end */
};

/* The options of the exporter as YAML flow, e.g. "timeout: 1s, max_request_bytes: 1024". */
void run_start(struct run *run, const char *options);

/* The same, when the start fails with @message; all is cleared away. */
void run_start_expecting(struct run *run, const char *options, const char *message);

/* The error of a configuration with these options; NULL when it is fine. */
struct profcol_error *run_check(const char *options, const char *extensions);

/* Push @samples samples as the receiver would. */
struct profcol_error *run_push(struct run *run, uint32_t samples);
/* And expect that they are taken. */
void run_push_all(struct run *run, uint32_t batches, uint32_t samples);

/* Push @batch, which is the caller's; expect that it is taken. */
void run_push_batch(struct run *run, struct profcol_batch *batch);

/* A batch of one sample, whose resource has the attribute @key with @length bytes of @value. The
 * caller owns it. */
struct profcol_batch *one_sample_of(const char *key, const char *value, size_t length);

int64_t run_metric(struct run *run, const char *name, const char *label);

/* accepted = sent + dropped{cause} + queued, by the metrics; dropped = failed + refused. */
void run_expect_sum(struct run *run);

/* Wait until @condition holds; what takes minutes never comes. */
#define AWAIT(condition)                                                                           \
	do {                                                                                       \
		unsigned int left_ = 120000;                                                       \
		while (!(condition) && left_--)                                                    \
			usleep(1000);                                                              \
		if (!(condition))                                                                  \
			fail_msg("waited in vain for " #condition);                                \
	} while (0)

/* All that was written to the log; static. */
const char *run_log(struct run *run);
unsigned int count_lines(const char *log, const char *part);

/* Shut down with @drain_ns to deliver what is left, and check that the balance holds. The test
 * aborts when the shutdown takes longer, by more than PEER_PATIENCE_NS. */
void run_end_within(struct run *run, uint64_t drain_ns);
/* The same with all the time there is: whatever can be delivered is. */
void run_end(struct run *run);

/* After run_end. */
uint64_t run_lost(const struct run *run, const char *cause);
