// SPDX-License-Identifier: Apache-2.0
/* The thread "waker" wakes the thread "woken" by a pipe in wait_pipe(), and by a futex in
 * wait_condition(), some hundred times each; "woken" also sleeps, in wait_sleep(). Says "waker
 * TID".
 */
#define _GNU_SOURCE

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 200 };

static int pipe_ends[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int round_done;

static void pause_for(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

__attribute__((noinline)) static void wait_pipe(void)
{
	char byte;

	if (read(pipe_ends[0], &byte, 1) != 1)
		abort();
	__asm__ volatile("");
}

__attribute__((noinline)) static void wait_condition(int round)
{
	pthread_mutex_lock(&lock);
	while (round_done <= round)
		pthread_cond_wait(&condition, &lock);
	pthread_mutex_unlock(&lock);
	__asm__ volatile("");
}

__attribute__((noinline)) static void wait_sleep(void)
{
	pause_for(2000000);
	__asm__ volatile("");
}

static void *woken(void *argument)
{
	pthread_setname_np(pthread_self(), "woken");
	for (int round = 0; round < ROUNDS; round++) {
		wait_pipe();
		wait_condition(round);
		wait_sleep();
	}
	return argument;
}

static void *waker(void *argument)
{
	pthread_setname_np(pthread_self(), "waker");
	printf("waker %d\n", gettid());
	for (int round = 0; round < ROUNDS; round++) {
		pause_for(4000000);
		if (write(pipe_ends[1], "x", 1) != 1)
			abort();
		pause_for(2000000);
		pthread_mutex_lock(&lock);
		round_done = round + 1;
		pthread_cond_signal(&condition);
		pthread_mutex_unlock(&lock);
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
