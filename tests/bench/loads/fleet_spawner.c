// SPDX-License-Identifier: Apache-2.0
/*
 * `fleet_spawner COUNT PAUSE_MS PROGRAM...` starts COUNT processes, of each program in turn, with
 * PAUSE_MS as their argument. They run until it is killed, and report on the same standard output.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "unit.h"

static void fleet_spawn(char *program, char *pause_ms)
{
	char *arguments[] = { program, pause_ms, NULL };
	pid_t pid = fork();

	if (pid < 0) {
		perror("fleet_spawner: fork");
		exit(1);
	}
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execv(program, arguments);
		fprintf(stderr, "fleet_spawner: %s does not start: %s\n", program, strerror(errno));
		_exit(127);
	}
}

int main(int argc, char **argv)
{
	unsigned long count = argc >= 4 ? strtoul(argv[1], NULL, 10) : 0;

	if (!count) {
		fputs("usage: fleet_spawner COUNT PAUSE_MS PROGRAM...\n", stderr);
		return 2;
	}
	for (unsigned long i = 0; i < count; i++)
		fleet_spawn(argv[3 + i % (unsigned long)(argc - 3)], argv[2]);
	wait(NULL);
	fputs("fleet_spawner: a program has ended\n", stderr);
	return 1;
}
