// SPDX-License-Identifier: Apache-2.0
/*
 * Functions that end in a jump to another one, which returns to their caller: direct, through a
 * pointer, under a condition, and to one that has callees itself. Who jumps takes itself off the
 * shadow stack first. tests/e2e/unwind_targets.py has the chains, written by hand.
 */
#define SHADOW_FUNCTIONS(F)                                                                        \
	F(main, "main")                                                                            \
	F(by_name, "by_name")                                                                      \
	F(by_pointer, "by_pointer")                                                                \
	F(by_chance, "by_chance")                                                                  \
	F(by_middle, "by_middle")                                                                  \
	F(first, "first")                                                                          \
	F(second, "second")                                                                        \
	F(third, "third")                                                                          \
	F(pointer, "pointer")                                                                      \
	F(pier, "pier")                                                                            \
	F(bridge, "bridge")                                                                        \
	F(choice, "choice")                                                                        \
	F(left, "left")                                                                            \
	F(right, "right")                                                                          \
	F(middle, "middle")                                                                        \
	F(viaduct, "viaduct")                                                                      \
	F(leaf, "leaf")
#include "shadow.h"

enum { ROUNDS = 30000 };

typedef unsigned int (*hop)(unsigned int);

#define FUNCTION(name) static SHADOW_FRAME unsigned int name(unsigned int n)

/* Works, then jumps to what @next calls, or returns it. */
#define HOP(name, next)                                                                            \
	FUNCTION(name)                                                                             \
	{                                                                                          \
		shadow_push(SHADOW_##name);                                                        \
		shadow_record();                                                                   \
		shadow_work(ROUNDS);                                                               \
		shadow_pop();                                                                      \
		return next;                                                                       \
	}

/* Has a frame of its own. */
#define CALLER(name, call)                                                                         \
	FUNCTION(name)                                                                             \
	{                                                                                          \
		unsigned int result;                                                               \
                                                                                                   \
		shadow_push(SHADOW_##name);                                                        \
		result = call;                                                                     \
		shadow_pop();                                                                      \
		return result;                                                                     \
	}

HOP(leaf, n + 1)
HOP(third, n + 3)
HOP(second, third(n + 2))
HOP(first, second(n + 1))
CALLER(by_name, first(n))

HOP(pier, n * 2)
CALLER(bridge, leaf(n) + leaf(n + 1))
static volatile hop hops[] = { pier, bridge };
HOP(pointer, hops[n % 2](n))
CALLER(by_pointer, pointer(n))

HOP(left, n + 5)
HOP(right, n + 7)
HOP(choice, n % 2 ? left(n) : right(n))
CALLER(by_chance, choice(n))

CALLER(viaduct, leaf(n + 2) + leaf(n + 3))
HOP(middle, viaduct(n))
CALLER(by_middle, middle(n))

int main(int argc, char **argv)
{
	uint32_t rounds = shadow_open(argc, argv);
	volatile unsigned int sum = 0;

	shadow_push(SHADOW_main);
	for (uint32_t i = 0; i < rounds; i++)
		sum = sum + by_name(i) + by_pointer(i) + by_chance(i) + by_middle(i);
	return 0;
}
