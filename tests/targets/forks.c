// SPDX-License-Identifier: Apache-2.0
/*
 * forks COUNT MILLISECONDS: forks so many processes, one after the other. Each burns so much CPU
 * time in burn_leaf, called by burn_middle, burn_root, child and main, and executes nothing else.
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FRAME static __attribute__((noipa)) void

FRAME burn_leaf(void)
{
	uint64_t x = 88172645463325252u;

	for (unsigned int rounds = 0; rounds < 10000; rounds++) {
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

/* The clock begins at 0 in each process. */
FRAME burn_root(long milliseconds)
{
	while (clock() / (CLOCKS_PER_SEC / 1000) < milliseconds)
		burn_middle();
	__asm__ volatile("");
}

FRAME child(long milliseconds)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	burn_root(milliseconds);
	_exit(0);
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
	long milliseconds = argc > 2 ? strtol(argv[2], NULL, 10) : 10;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	// The first one of them shows who the parent is.
	burn_root(300);
	while (count-- > 0) {
		pid_t pid = fork();

		if (!pid)
			child(milliseconds);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	return 0;
}
