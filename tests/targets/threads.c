// SPDX-License-Identifier: Apache-2.0
/* Eight of the chains of shadow_stack.c in each of two threads, beside a main that waits. */
#define SHADOW_THREAD    __thread
#define OWN_FUNCTIONS(F) F(main, "main") F(thread_even, "thread_even") F(thread_odd, "thread_odd")
#include "chains.h"

#include <pthread.h>

static uint32_t rounds;

#define THREAD(name, number)                                                                       \
	static SHADOW_FRAME void *name(void *unused)                                               \
	{                                                                                          \
		shadow_use(number);                                                                \
		shadow_push(SHADOW_##name);                                                        \
		for (uint32_t i = 0; i < rounds; i++)                                              \
			chains_run(2 * i + (number));                                              \
		shadow_pop();                                                                      \
		return unused;                                                                     \
	}
THREAD(thread_even, 0)
THREAD(thread_odd, 1)

int main(int argc, char **argv)
{
	pthread_t even, odd;

	rounds = shadow_open(argc, argv);
	if (pthread_create(&even, NULL, thread_even, NULL) ||
	    pthread_create(&odd, NULL, thread_odd, NULL))
		return 1;
	pthread_join(even, NULL);
	pthread_join(odd, NULL);
	return 0;
}
