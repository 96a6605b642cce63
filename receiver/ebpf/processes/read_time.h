/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time that reading processes in /proc takes is shared by owners. Each who pays (owner_payer)
 * has a quarter of the thread's time, of which what he has not used is kept for a second: a user
 * may have processes that take long to read, or make records be lost so that they are read again
 * and again. What one reading takes beyond that delays the
 * next, by a second at most. Root outside of containers has
 * all it needs. One thread at a time.
 */
#pragma once

#include "shares.h"

/* All zero is a beginning. */
struct read_time {
	struct shares spent; /* nanoseconds, by user, that are not written off yet, as of: */
	uint64_t since_ns;
	uint64_t put_off; /* processes that were not read */
};

void read_time_deinit(struct read_time *time);

/* May a process of @owner be read at @now_ns (CLOCK_MONOTONIC)? If not that is counted: it is read
 * at its next sample after that. */
bool read_time_admit(struct read_time *time, struct owner owner, uint64_t now_ns);

/* The same, and nothing is counted. */
bool read_time_is_left(struct read_time *time, struct owner owner, uint64_t now_ns);

void read_time_spend(struct read_time *time, struct owner owner, uint64_t ns);
