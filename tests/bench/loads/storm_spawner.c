// SPDX-License-Identifier: Apache-2.0
/*
 * `storm_spawner RATE PROGRAM...` starts a program RATE times a second by the clock, one after the
 * other. A start for which it comes more than a period too late, or for which too many programs
 * still run, is left out with the line `missed`. The programs report their units on the same
 * standard output.
 */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "unit.h"

#define RUNNING_MAX 64

extern char **environ;

static uint64_t storm_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void storm_sleep_until(uint64_t due_ns)
{
	struct timespec due = {
		.tv_sec = (time_t)(due_ns / 1000000000u),
		.tv_nsec = (long)(due_ns % 1000000000u),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
		;
}

/* A real fork, as of a shell or a server: vfork would leave the copying of memory out. */
static void storm_spawn(char *program)
{
	char *arguments[] = { program, NULL };
	pid_t pid = fork();

	if (pid < 0) {
		perror("storm_spawner: fork");
		exit(1);
	}
	if (!pid) {
		execve(program, arguments, environ);
		fprintf(stderr, "storm_spawner: %s does not start: %s\n", program, strerror(errno));
		_exit(127);
	}
}

/* How many have ended. */
static unsigned int storm_reap(void)
{
	unsigned int ended = 0;
	int status;

	while (waitpid(-1, &status, WNOHANG) > 0) {
		if (status) {
			fprintf(stderr, "storm_spawner: a program ended with status 0x%x\n",
				status);
			exit(1);
		}
		ended++;
	}
	return ended;
}

static void storm_miss(void)
{
	static const char line[] = "missed\n";

	if (write(STDOUT_FILENO, line, sizeof(line) - 1) != sizeof(line) - 1)
		exit(1);
}

int main(int argc, char **argv)
{
	unsigned long rate = argc >= 3 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned int running = 0;
	int next = 2;

	if (!rate) {
		fputs("usage: storm_spawner RATE PROGRAM...\n", stderr);
		return 2;
	}

	uint64_t period_ns = 1000000000u / rate;

	for (uint64_t due_ns = storm_now_ns();; due_ns += period_ns) {
		storm_sleep_until(due_ns);
		running -= storm_reap();
		if (running >= RUNNING_MAX || storm_now_ns() > due_ns + period_ns) {
			storm_miss();
		} else {
			storm_spawn(argv[next]);
			next = next + 1 < argc ? next + 1 : 2;
			running++;
		}
	}
}
