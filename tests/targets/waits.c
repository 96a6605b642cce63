// SPDX-License-Identifier: Apache-2.0
/*
 * Threads that wait, each in a function and for a reason of its own, for the seconds that are
 * given, on CPUs that change. Each knows by its own clocks how long it was off its CPUs in there,
 * and at the end says so: a line "FUNCTION NANOSECONDS", the sum of the squares of these times, for
 * who estimates from some of them: "FUNCTION.squares SQUARE_MICROSECONDS", and how long it was
 * there at all: "run NANOSECONDS".
 */
#define _GNU_SOURCE

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 7, SECOND = 1000000000 };

static uint64_t end_ns;
static int pipe_ends[2];
static cpu_set_t all_cpus;

static uint64_t now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

static uint64_t off_cpu(void)
{
	return now(CLOCK_MONOTONIC) - now(CLOCK_THREAD_CPUTIME_ID);
}

static void pause_for(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

__attribute__((noinline)) static void wait_sleep(void)
{
	pause_for(3000000);
	__asm__ volatile("");
}

__attribute__((noinline)) static void wait_pipe(void)
{
	char byte;

	// 0: who writes has ended.
	if (read(pipe_ends[0], &byte, 1) < 0)
		abort();
	__asm__ volatile("");
}

__attribute__((noinline)) static void wait_feed(void)
{
	pause_for(4000000);
	if (write(pipe_ends[1], "x", 1) != 1)
		abort();
	__asm__ volatile("");
}

__attribute__((noinline)) static void wait_condition(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 5000000;
	if (until.tv_nsec >= SECOND) {
		until.tv_sec++;
		until.tv_nsec -= SECOND;
	}
	pthread_mutex_lock(&lock);
	while (pthread_cond_timedwait(&never, &lock, &until) != ETIMEDOUT)
		;
	pthread_mutex_unlock(&lock);
	__asm__ volatile("");
}

__attribute__((noinline)) static void wait_poll(void)
{
	poll(NULL, 0, 6);
	__asm__ volatile("");
}

/* Two of them on one CPU: each has half of it, at most. */
__attribute__((noinline)) static void wait_turn(void)
{
	uint64_t until = now(CLOCK_MONOTONIC) + SECOND / 10;
	volatile uint64_t count = 0;

	while (now(CLOCK_MONOTONIC) < until)
		for (int i = 0; i < 10000; i++)
			count++;
}

struct waiter {
	void (*wait)(void);
	const char *name;
	uint64_t off_ns, square_us, run_ns;
	pthread_t thread;
};

static struct waiter waiters[THREADS] = {
	{ .wait = wait_sleep, .name = "wait_sleep" },
	{ .wait = wait_pipe, .name = "wait_pipe" },
	{ .wait = wait_feed, .name = "wait_feed" },
	{ .wait = wait_condition, .name = "wait_condition" },
	{ .wait = wait_poll, .name = "wait_poll" },
	{ .wait = wait_turn, .name = "wait_turn" },
	{ .wait = wait_turn, .name = "wait_turn" },
};

/* The number @round of the CPUs that this process may use, again and again. */
static void move(unsigned int round)
{
	unsigned int wanted = round % (unsigned int)CPU_COUNT(&all_cpus);

	for (unsigned int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all_cpus) && !wanted--) {
			cpu_set_t one;

			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			sched_setaffinity(0, sizeof(one), &one);
			return;
		}
}

static void *run(void *argument)
{
	struct waiter *waiter = argument;
	uint64_t begin = now(CLOCK_MONOTONIC);
	unsigned int round = 0;

	move(0);
	while (now(CLOCK_MONOTONIC) < end_ns) {
		uint64_t before, off_ns;

		// Those that take turns stay on the first one.
		if (waiter->wait != wait_turn)
			move(round++);
		before = off_cpu();
		waiter->wait();
		off_ns = off_cpu() - before;
		waiter->off_ns += off_ns;
		waiter->square_us += off_ns / 1000 * (off_ns / 1000);
	}
	if (waiter->wait == wait_feed)
		close(pipe_ends[1]);
	waiter->run_ns = now(CLOCK_MONOTONIC) - begin;
	return NULL;
}

int main(int argc, char **argv)
{
	end_ns = now(CLOCK_MONOTONIC) + (argc > 1 ? strtoull(argv[1], NULL, 10) : 3) * SECOND;
	if (pipe(pipe_ends) || sched_getaffinity(0, sizeof(all_cpus), &all_cpus))
		return 1;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&waiters[i].thread, NULL, run, &waiters[i]))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(waiters[i].thread, NULL);
	for (int i = 0; i < THREADS; i++)
		printf("%s %llu\n%s.squares %llu\nrun %llu\n", waiters[i].name,
		       (unsigned long long)waiters[i].off_ns, waiters[i].name,
		       (unsigned long long)waiters[i].square_us,
		       (unsigned long long)waiters[i].run_ns);
	return 0;
}
