// SPDX-License-Identifier: Apache-2.0
/*
 * sleepers COUNT [BURN_MS]: forks so many processes that only sleep, one after the other, each
 * after it has burnt CPU for so long, says "asleep" when the last of them does, and sleeps too.
 * They end with it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static void burn(long ms)
{
	while (clock() < ms * (CLOCKS_PER_SEC / 1000))
		;
}

int main(int argc, char **argv)
{
	long count = argc >= 2 ? strtol(argv[1], NULL, 10) : 0;
	long burn_ms = argc >= 3 ? strtol(argv[2], NULL, 10) : 0;
	int done[2];

	if (pipe(done))
		return 1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (long i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (pid) {
			if (read(done[0], &(char){ 0 }, 1) != 1)
				return 1;
			continue;
		}
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		burn(burn_ms);
		if (write(done[1], "", 1) != 1)
			return 1;
		for (;;)
			pause();
	}
	puts("asleep");
	fflush(stdout);
	for (;;)
		pause();
}
