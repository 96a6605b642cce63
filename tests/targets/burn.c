// SPDX-License-Identifier: Apache-2.0
/*
 * Burns CPU in burn_leaf, called by burn_middle, called by burn_root: `burn` until it is
 * killed, `burn MILLISECONDS` for so much CPU time.
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#define FRAME static __attribute__((noinline, noclone)) void

FRAME burn_leaf(void)
{
	// gcc leaves out the frame pointer of a function that does not touch the stack.
	volatile uint64_t seed = 88172645463325252u;
	uint64_t x = seed;

	for (unsigned int rounds = 0; rounds < 100000; rounds++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		__asm__ volatile("" : "+r"(x));
	}
}

FRAME burn_middle(void)
{
	for (unsigned int i = 0; i < 10; i++)
		burn_leaf();
	__asm__ volatile("");
}

FRAME burn_root(long milliseconds)
{
	while (!milliseconds || clock() / (CLOCKS_PER_SEC / 1000) < milliseconds)
		burn_middle();
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	// Whoever runs this may be killed: do not burn on.
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	burn_root(argc > 1 ? strtol(argv[1], NULL, 10) : 0);
	return 0;
}
