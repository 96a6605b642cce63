/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one place where kernel times become Unix times.
 *
 * The kernel stamps samples with CLOCK_MONOTONIC; a calibration holds its offset
 * to CLOCK_REALTIME. Process start times are CLOCK_BOOTTIME.
 */
#pragma once

#include <stdint.h>
#include <time.h>

/* Nanoseconds of the named clock. */
uint64_t clock_monotonic_ns(void);
uint64_t clock_boottime_ns(void);
uint64_t clock_realtime_ns(void);

/* CPU time that the calling thread has used, in nanoseconds. */
uint64_t clock_thread_ns(void);

/* The same moment or span as the system calls want it. */
static inline struct timespec clock_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000u),
				  .tv_nsec = (long)(ns % 1000000000u) };
}

struct clock_calibration {
	int64_t monotonic_to_unix_ns;
	int64_t boottime_to_unix_ns;
};

/* Best of several paired readings; error below a microsecond on an idle machine. */
struct clock_calibration clock_calibrate(void);

static inline uint64_t clock_monotonic_to_unix(const struct clock_calibration *calibration,
					       uint64_t monotonic_ns)
{
	return monotonic_ns + (uint64_t)calibration->monotonic_to_unix_ns;
}

static inline uint64_t clock_boottime_to_unix(const struct clock_calibration *calibration,
					      uint64_t boottime_ns)
{
	return boottime_ns + (uint64_t)calibration->boottime_to_unix_ns;
}
