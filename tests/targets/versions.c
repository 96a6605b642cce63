// SPDX-License-Identifier: Apache-2.0
/*
 * Burns CPU in VERSION_leaf, called by VERSION_root: with -DVERSION=old and -DVERSION=new the same
 * code at the same places, by other names. As a program until it is killed or, by its argument, for
 * so many milliseconds; a second argument names its thread, and the others are a program that it
 * then becomes. With -shared it is a library for loads_versions.c.
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define PASTE(a, b)  a##b
#define NAMED(a, b)  PASTE(a, b)
#define VERSION_LEAF NAMED(VERSION, _leaf)
#define VERSION_ROOT NAMED(VERSION, _root)

__attribute__((noipa)) void VERSION_LEAF(void)
{
	uint64_t x = 88172645463325252u;

	for (unsigned int rounds = 0; rounds < 100000; rounds++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		__asm__ volatile("" : "+r"(x));
	}
}

__attribute__((noipa)) void VERSION_ROOT(void)
{
	for (unsigned int i = 0; i < 10; i++)
		VERSION_LEAF();
	__asm__ volatile("");
}

void burn(void)
{
	VERSION_ROOT();
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	long milliseconds = argc > 1 ? strtol(argv[1], NULL, 10) : 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc > 2)
		prctl(PR_SET_NAME, argv[2]);
	while (!milliseconds || clock() / (CLOCKS_PER_SEC / 1000) < milliseconds)
		burn();
	if (argc > 3)
		execv(argv[3], argv + 3);
	return 0;
}
