/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* What keeps a process at a share of a CPU, whatever its work costs on this machine. */
struct pace {
	uint64_t per_mille; /* of one CPU's time, 1 to 999; 0: all that there is */
	uint64_t cpu_ns;    /* what the process had used when it rested last */
	uint32_t state;     /* of random numbers */
};

static inline uint64_t pace_cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* Of the arguments PER_MILLE and SEED, or none. */
static inline void pace_init(struct pace *pace, int count, char **arguments)
{
	pace->per_mille = count > 0 ? strtoul(arguments[0], NULL, 10) : 0;
	pace->state = count > 1 ? (uint32_t)strtoul(arguments[1], NULL, 10) : 0;
	if (pace->per_mille >= 1000) {
		fputs("a share of a CPU is 1 to 999 per mille\n", stderr);
		exit(2);
	}
	pace->cpu_ns = pace_cpu_ns();
}

/*
 * Sleeps for as long as the CPU time since the last rest asks for, half of that more or less: a
 * turn that comes by the clock could fall between the interrupts of a sampling timer each time.
 */
static inline void pace_rest(struct pace *pace)
{
	if (!pace->per_mille)
		return;

	uint64_t now_ns = pace_cpu_ns();
	uint64_t mean_ns = (now_ns - pace->cpu_ns) * (1000 - pace->per_mille) / pace->per_mille;

	pace->state = pace->state * 1103515245u + 12345u;

	uint64_t sleep_ns = mean_ns / 2 + mean_ns * (pace->state >> 16) / 65536;
	struct timespec rest;

	rest.tv_sec = (time_t)(sleep_ns / 1000000000u);
	rest.tv_nsec = (long)(sleep_ns % 1000000000u);
	pace->cpu_ns = now_ns;
	nanosleep(&rest, NULL);
}
