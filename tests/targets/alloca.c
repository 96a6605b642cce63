// SPDX-License-Identifier: Apache-2.0
/*
 * The chains of shadow_stack.c through functions whose frames have no size that the compiler
 * knows: only the frame pointer leads out of them.
 */
#define CHAINS_LOCALS(n)                                                                           \
	volatile char *room = (volatile char *)__builtin_alloca(40 + 72 * (n));                    \
	room[0] = 1
#define OWN_FUNCTIONS(F) F(main, "main")
#include "chains.h"

int main(int argc, char **argv)
{
	return chains_main(argc, argv);
}
