/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to make of a record that could not be read. No locks here: one thread at a time on
 * one object.
 */
#pragma once

#include <stdint.h>

/* Zero-initialized; all zero = every record could be read. */
struct read_faults {
	uint64_t id;       /* of the first record that could not be */
	uint64_t since_ns; /* CLOCK_MONOTONIC */
};

enum read_verdict {
	READ_SOUND,
	READ_DAMAGED, /* it never will be */
	READ_LATER,   /* the reason may pass */
	READ_FAULTY,  /* the device has failed to give it for a minute */
};

/* What @status, a negative errno or 0, of reading the record of @id at @now_ns says. Ids rise
 * along the queue. */
enum read_verdict read_faults_judge(struct read_faults *faults, uint64_t id, int status,
				    uint64_t now_ns);
