// SPDX-License-Identifier: Apache-2.0
/* The main thread ends, and another one burns CPU in leaderless_leaf, called by leaderless_root. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>

__attribute__((noipa)) void leaderless_leaf(void)
{
	uint64_t x = 88172645463325252u;

	for (unsigned int rounds = 0; rounds < 100000; rounds++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		__asm__ volatile("" : "+r"(x));
	}
}

__attribute__((noipa)) void leaderless_root(void)
{
	for (unsigned int i = 0; i < 10; i++)
		leaderless_leaf();
	__asm__ volatile("");
}

static void *burn(void *context)
{
	(void)context;
	for (;;)
		leaderless_root();
	return NULL;
}

int main(void)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pthread_create(&thread, NULL, burn, NULL))
		return 1;
	pthread_exit(NULL);
}
