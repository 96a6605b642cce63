// SPDX-License-Identifier: Apache-2.0
/*
 * sleepers COUNT: forks so many processes that only sleep, says "asleep" when the last of them
 * does, and sleeps too. They end with it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long count = argc == 2 ? strtol(argv[1], NULL, 10) : 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (long i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (pid)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	puts("asleep");
	fflush(stdout);
	for (;;)
		pause();
}
