/* SPDX-License-Identifier: Apache-2.0 */
/* A host for tests: its helper is the test's program, which calls worker_helper. */
#pragma once

#include <profcol/component.h>

enum { FAKE_MAX_HELPERS = 32, FAKE_MAX_METRICS = 160 };

struct fake_host {
	struct profcol_host host; /* first: what a component gets */
	struct profcol_logger logger;
	char last_line[512];
	pid_t helpers[FAKE_MAX_HELPERS]; /* in the order they were started */
	size_t helper_count;
	bool spawn_fails;
	int (*body)(int socket); /* of a helper; worker_helper */
	bool shares_memory;      /* its body does with the test, and allocates nothing */
	struct {
		char name[64], label[64];
		struct profcol_metric metric;
	} metrics[FAKE_MAX_METRICS];
	size_t metric_count;
};

void fake_host_init(struct fake_host *fake);

/* The value of the metric, 0 when nobody registered it. */
int64_t fake_host_metric(struct fake_host *fake, const char *name, const char *label);
