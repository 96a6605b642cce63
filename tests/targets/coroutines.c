// SPDX-License-Identifier: Apache-2.0
/*
 * Eight of the chains of shadow_stack.c in each of two coroutines of makecontext(), which give way
 * to each other in the middle of their leaves.
 */
#define OWN_FUNCTIONS(F) F(main, "main") F(ping, "ping") F(pong, "pong")
#define CHAINS_LIGHT     give_way()

static inline __attribute__((always_inline)) void give_way(void);

#include "chains.h"

#include <ucontext.h>

enum { STACK_BYTES = 1 << 16 };

static ucontext_t contexts[2], before;
static volatile unsigned int current;
static uint32_t rounds;

SHADOW_INLINE void give_way(void)
{
	unsigned int self = current;

	shadow_work(CHAINS_ROUNDS / 2);
	current = !self;
	shadow_use(!self);
	swapcontext(&contexts[self], &contexts[!self]);
	shadow_work(CHAINS_ROUNDS / 2);
}

#define COROUTINE(name, first)                                                                     \
	static SHADOW_FRAME void name(void)                                                        \
	{                                                                                          \
		shadow_push(SHADOW_##name);                                                        \
		for (uint32_t i = 0; i < rounds; i++)                                              \
			chains_run((first) + i % 8);                                               \
		exit(0);                                                                           \
	}
COROUTINE(ping, 0)
COROUTINE(pong, 8)

int main(int argc, char **argv)
{
	static char stacks[2][STACK_BYTES];

	rounds = shadow_open(argc, argv);
	for (int i = 0; i < 2; i++) {
		if (getcontext(&contexts[i]))
			return 1;
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = STACK_BYTES;
		contexts[i].uc_link = &before;
	}
	makecontext(&contexts[0], ping, 0);
	makecontext(&contexts[1], pong, 0);
	swapcontext(&before, &contexts[0]);
	return 1;
}
