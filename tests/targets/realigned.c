// SPDX-License-Identifier: Apache-2.0
/*
 * The chains of shadow_stack.c through functions that align their stack for what lies in it; with
 * an array of variable length beside it, gcc describes that by DWARF expressions.
 */
#define CHAINS_LOCALS(n)                                                                           \
	volatile char aligned[64] __attribute__((aligned(64)));                                    \
	volatile char *room = (volatile char *)__builtin_alloca(40 + 72 * (n));                    \
	aligned[(n) % 64] = 1;                                                                     \
	room[0] = aligned[(n) % 64]
#define OWN_FUNCTIONS(F) F(main, "main")
#include "chains.h"

int main(int argc, char **argv)
{
	return chains_main(argc, argv);
}
