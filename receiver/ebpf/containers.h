/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When each container was met first: the time of its first sample.
 *
 * Bounded: of more than 2048 containers those are forgotten that had no sample for longest. One
 * that comes again then is met anew.
 *
 * Threads: one at a time.
 */
#pragma once

#include "processes/processes.h"

#include "base/base.h"

struct containers_row {
	char id[CONTAINER_ID_SIZE]; /* who has a longer one is not met */
	uint64_t first_ns, last_ns; /* CLOCK_MONOTONIC: of samples */
};

struct containers {
	VECTOR(struct containers_row) rows;
	struct intern index;
	uint64_t seed; /* of the hashes: who may make cgroups chooses ids */
};

void containers_init(struct containers *containers);
void containers_deinit(struct containers *containers);

/* A sample of container @id was taken at @time_ns (CLOCK_MONOTONIC). Without memory it is as if it
 * had not been met. */
void containers_meet(struct containers *containers, const char *id, uint64_t time_ns);

/* When @id was met first; false when it was not, or has been forgotten. */
bool containers_find(const struct containers *containers, const char *id, uint64_t *first_ns_ret);
