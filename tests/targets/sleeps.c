// SPDX-License-Identifier: Apache-2.0
/* Sleeps in long_sleep() for the seconds that are given, without a break, while the first thread
 * waits for that in long_join(). The thread that sleeps is called "sleeper". Says by its own clock
 * how long it slept: "long_sleep NANOSECONDS".
 */
#define _GNU_SOURCE

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_t first;

__attribute__((noinline)) static void long_sleep(long seconds)
{
	nanosleep(&(struct timespec){ .tv_sec = seconds }, NULL);
	__asm__ volatile("");
}

__attribute__((noinline)) static void sleep_outer(long seconds)
{
	long_sleep(seconds);
	__asm__ volatile("");
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void *sleeping(void *argument)
{
	uint64_t begin;

	pthread_setname_np(pthread_self(), "sleeper");
	begin = now();
	sleep_outer(*(long *)argument);
	printf("long_sleep %llu\n", (unsigned long long)(now() - begin));
	return NULL;
}

__attribute__((noinline)) static void long_join(void)
{
	pthread_join(first, NULL);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	long seconds = argc > 1 ? strtol(argv[1], NULL, 10) : 600;

	if (pthread_create(&first, NULL, sleeping, &seconds))
		return 1;
	long_join();
	return 0;
}
