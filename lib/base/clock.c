// SPDX-License-Identifier: Apache-2.0
#include "clock.h"

#include <time.h>

static uint64_t clock_read(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
	return clock_read(CLOCK_MONOTONIC);
}

uint64_t clock_boottime_ns(void)
{
	return clock_read(CLOCK_BOOTTIME);
}

uint64_t clock_realtime_ns(void)
{
	return clock_read(CLOCK_REALTIME);
}

uint64_t clock_thread_ns(void)
{
	return clock_read(CLOCK_THREAD_CPUTIME_ID);
}

/* Offset of @clock to the wall: of several bracketed readings the tightest bracket wins. */
static int64_t clock_offset(clockid_t clock)
{
	uint64_t tightest = UINT64_MAX;
	int64_t offset = 0;

	for (int round = 0; round < 5; round++) {
		uint64_t before = clock_read(clock);
		uint64_t wall = clock_read(CLOCK_REALTIME);
		uint64_t after = clock_read(clock);

		if (after - before < tightest) {
			tightest = after - before;
			offset = (int64_t)(wall - (before + (after - before) / 2));
		}
	}
	return offset;
}

struct clock_calibration clock_calibrate(void)
{
	return (struct clock_calibration){
		.monotonic_to_unix_ns = clock_offset(CLOCK_MONOTONIC),
		.boottime_to_unix_ns = clock_offset(CLOCK_BOOTTIME),
	};
}
