// SPDX-License-Identifier: Apache-2.0
/*
 * The chains of shadow_stack.c through frames of more than a megabyte each, six at a time: within
 * the usual 8 MiB.
 */
#define CHAINS_LOCALS(n)                                                                           \
	volatile char room[(1 << 20) + 4096];                                                      \
	room[0] = room[sizeof(room) - 1] = (char)(n)
#define OWN_FUNCTIONS(F) F(main, "main")
#include "chains.h"

int main(int argc, char **argv)
{
	return chains_main(argc, argv);
}
