// SPDX-License-Identifier: Apache-2.0
/* The thread "waker" wakes the thread "woken" from wait_pipe() by a pipe in wake_pipe(), and from
 * wait_condition() by a futex in wake_condition(), a hundred times each, when that one has slept
 * for 5 ms; "woken" also sleeps, in wait_sleep(). Says "waker TID" and "woken TID".
 */
#define _GNU_SOURCE

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 100, SLEPT_NS = 5000000 };
enum stage { BETWEEN, IN_PIPE, IN_CONDITION };

static int pipe_ends[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int round_done;
static _Atomic int woken_tid;
static _Atomic enum stage stage;

static void pause_for(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

__attribute__((noinline)) static void wait_pipe(void)
{
	char byte;

	stage = IN_PIPE;
	if (read(pipe_ends[0], &byte, 1) != 1)
		abort();
	stage = BETWEEN;
}

__attribute__((noinline)) static void wait_condition(int round)
{
	pthread_mutex_lock(&lock);
	stage = IN_CONDITION;
	while (round_done <= round)
		pthread_cond_wait(&condition, &lock);
	stage = BETWEEN;
	pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void wait_sleep(void)
{
	pause_for(2000000);
	__asm__ volatile("");
}

static void *woken(void *argument)
{
	pthread_setname_np(pthread_self(), "woken");
	printf("woken %d\n", gettid());
	woken_tid = gettid();
	for (int round = 0; round < ROUNDS; round++) {
		wait_pipe();
		wait_condition(round);
		wait_sleep();
	}
	return argument;
}

/* Does that thread sleep? proc_pid_stat(5) has its state after the name. */
static bool sleeps(void)
{
	char path[64], state = 0;
	FILE *stream;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", woken_tid);
	stream = fopen(path, "r");
	if (!stream || fscanf(stream, "%*d (woken) %c", &state) != 1)
		abort();
	fclose(stream);
	return state == 'S';
}

/* Until it has slept there for SLEPT_NS. */
static void await(enum stage wanted)
{
	while (!woken_tid || stage != wanted || !sleeps())
		pause_for(200000);
	pause_for(SLEPT_NS);
}

__attribute__((noinline)) static void wake_pipe(void)
{
	if (write(pipe_ends[1], "x", 1) != 1)
		abort();
	__asm__ volatile("");
}

__attribute__((noinline)) static void wake_condition(int round)
{
	pthread_mutex_lock(&lock);
	round_done = round + 1;
	pthread_mutex_unlock(&lock);
	pthread_cond_signal(&condition);
	__asm__ volatile("");
}

static void *waker(void *argument)
{
	pthread_setname_np(pthread_self(), "waker");
	printf("waker %d\n", gettid());
	for (int round = 0; round < ROUNDS; round++) {
		await(IN_PIPE);
		wake_pipe();
		await(IN_CONDITION);
		wake_condition(round);
	}
	return argument;
}

int main(void)
{
	pthread_t threads[2];

	if (pipe(pipe_ends) || pthread_create(&threads[0], NULL, woken, NULL) ||
	    pthread_create(&threads[1], NULL, waker, NULL))
		return 1;
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
