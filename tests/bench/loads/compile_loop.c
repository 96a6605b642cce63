// SPDX-License-Identifier: Apache-2.0
/*
 * `compile_loop COUNT COMMAND [ARGUMENT...]` runs a command COUNT times, one after the other, or
 * without end when COUNT is 0. A run is a unit, its checksum that of what the command printed.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "unit.h"

static void compile_fail(const char *what)
{
	perror(what);
	exit(1);
}

/* The read end of the standard output of the command that this starts. */
static int compile_start(char **command, pid_t *pid)
{
	int ends[2];

	if (pipe(ends))
		compile_fail("compile_loop: pipe");
	*pid = vfork();
	if (*pid < 0)
		compile_fail("compile_loop: vfork");
	if (*pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execvp(command[0], command);
		_exit(127);
	}
	close(ends[1]);
	return ends[0];
}

static uint32_t compile_read(int fd)
{
	static unsigned char text[1 << 16];
	uint32_t sum = UNIT_FOLD_START;
	ssize_t length;

	while ((length = read(fd, text, sizeof(text))) > 0) {
		for (ssize_t i = 0; i < length; i++)
			sum = (sum ^ text[i]) * 16777619u;
	}
	if (length < 0)
		compile_fail("compile_loop: read");
	close(fd);
	return sum;
}

static uint32_t compile_once(char **command)
{
	pid_t pid;
	int fd = compile_start(command, &pid);
	uint32_t sum = compile_read(fd);
	int status;

	if (waitpid(pid, &status, 0) != pid)
		compile_fail("compile_loop: waitpid");
	if (status) {
		fprintf(stderr, "compile_loop: %s failed with status 0x%x\n", command[0], status);
		exit(1);
	}
	return sum;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fputs("usage: compile_loop COUNT COMMAND [ARGUMENT...]\n", stderr);
		return 2;
	}

	unsigned long count = strtoul(argv[1], NULL, 10);

	for (unsigned long done = 0; !count || done < count; done++)
		unit_report(STDOUT_FILENO, compile_once(argv + 2));
	return 0;
}
