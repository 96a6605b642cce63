/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owners share the time that reading processes takes. Each payer (owner_payer) has a part of all
 * time, and may save some of it for later. A user can have processes that take long to read, or
 * that are read again and again: time beyond the part delays the next reading of the same payer,
 * and nobody else's. Root outside of containers has no bound. One thread at a time.
 */
#pragma once

#include "shares.h"

struct read_time_terms {
	uint64_t part;    /* who reads without end has one part of so many; 1 at least */
	uint64_t most_ns; /* who has not read for most_ns * part may read for so long at once */
	uint64_t debt_ns; /* more than that is not owed; most_ns at least */
};

/* Of the thread that reads /proc: a quarter, of which a second's may be used at once; a reading
 * that took very long keeps the next ones of its owner waiting for a second, not longer. */
extern const struct read_time_terms read_time_of_proc;

struct read_time {
	const struct read_time_terms *terms;
	struct shares spent; /* nanoseconds, by user, that are not written off yet, as of: */
	uint64_t since_ns;
	uint64_t put_off; /* processes that were not read */
};

/* @terms are borrowed until deinit. */
void read_time_init(struct read_time *time, const struct read_time_terms *terms);
void read_time_deinit(struct read_time *time);

/* May a process of @owner be read at @now_ns (CLOCK_MONOTONIC)? If not that is counted: it is read
 * at its next sample after that. */
bool read_time_admit(struct read_time *time, struct owner owner, uint64_t now_ns);

/* The same, and nothing is counted. */
bool read_time_is_left(struct read_time *time, struct owner owner, uint64_t now_ns);

/* When that will be so, if nothing else is read; 0: it was when something was read last. */
uint64_t read_time_due_ns(const struct read_time *time, struct owner owner);

/* Charge @owner's payer with @ns for a reading that was admitted. */
void read_time_spend(struct read_time *time, struct owner owner, uint64_t ns);
