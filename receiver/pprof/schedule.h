/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule tells when a thread looks again: at fixed times, or at once after a longer look. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pprof_interval_config;

struct schedule {
	uint64_t next_ns, interval_ns; /* CLOCK_MONOTONIC */
	int wake_fd;                   /* an eventfd */
	atomic_bool ended;
};

/* A negative errno. */
int schedule_init(struct schedule *schedule);
void schedule_deinit(struct schedule *schedule);

/* The thread's: the times count from now on. */
void schedule_begin(struct schedule *schedule, const struct pprof_interval_config *config);

/* Sleep until it is time; false when it is over. */
bool schedule_wait(struct schedule *schedule);

/* It is over. Any thread. */
void schedule_end(struct schedule *schedule);
bool schedule_has_ended(const struct schedule *schedule);
