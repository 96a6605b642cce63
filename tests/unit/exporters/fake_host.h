/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host for one exporter or receiver: it configures the instance through its option table,
 * adds up what it books, and keeps its log. Any thread.
 */
#pragma once

#include <profcol/batch.h>
#include <profcol/component.h>

#include <pthread.h>
#include <stdatomic.h>

enum { FAKE_METRICS_MAX = 96, FAKE_LABEL_MAX = 64, FAKE_CAUSES_MAX = 8 };

struct fake_host {
	struct profcol_host host;
	struct profcol_logger logger; /* found again by its address */
	const struct profcol_component *component;
	void *config;
	void *instance;
	atomic_uint_least64_t taken, exported, lost;
	atomic_int status;    /* enum profcol_status */
	pthread_mutex_t lock; /* protects the rest */
	struct {
		const char *cause;
		uint64_t events;
	} causes[FAKE_CAUSES_MAX];
	char *log; /* "level message\n" each */
	size_t log_length;
	atomic_bool is_full; /* who follows has no room in memory */
	struct profcol_metric metrics[FAKE_METRICS_MAX];
	const char *metric_names[FAKE_METRICS_MAX];
	char metric_labels[FAKE_METRICS_MAX][FAKE_LABEL_MAX];
};

/* All options are zero: a test sets what matters to it. */
void fake_host_init(struct fake_host *fake, const struct profcol_component *component);
void fake_host_deinit(struct fake_host *fake); /* destroys the instance */

/* Set one option (of a section: whether it is there); nested keys as "retention.max_files". Fails
 * the test on an unknown one. */
void fake_host_set_int(struct fake_host *fake, const char *key, int64_t value);
void fake_host_set_text(struct fake_host *fake, const char *key, const char *value);
void fake_host_set_list(struct fake_host *fake, const char *key, const char *const *items,
			size_t count);

/* All texts of @table, of the struct at @base, are "", as the host's decoder would leave them. */
void fake_host_set_texts(const struct profcol_option *table, char *base);

/* validate, create and start; all must succeed. */
void fake_host_start(struct fake_host *fake);
/* The same up to the first error, which is the caller's. */
struct profcol_error *fake_host_try_start(struct fake_host *fake);

/* Takes @batch; must succeed. */
void fake_host_consume(struct fake_host *fake, struct profcol_batch *batch);

/* shutdown with ten seconds to go; must succeed. */
void fake_host_shutdown(struct fake_host *fake);

uint64_t fake_host_lost_by(struct fake_host *fake, const char *cause);
/* Of one name the sum of all labels; or one with that label, "key=value". */
int64_t fake_host_metric(struct fake_host *fake, const char *name);
int64_t fake_host_metric_with(struct fake_host *fake, const char *name, const char *label);

/* How often @text occurs in the log. */
unsigned int fake_host_log_count(struct fake_host *fake, const char *text);

/* Fails the test with the error's text unless @error is NULL. */
void assert_no_error(struct profcol_error *error);
