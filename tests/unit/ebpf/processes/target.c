// SPDX-License-Identifier: Apache-2.0
/*
 * target PLUGIN [wait]: maps PLUGIN executably, as dlopen() does with libraries, says
 * where, forks a child that says the same, and ends; with `wait`, after a byte came on
 * its standard input.
 */
#include "target.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void say(struct target_says says)
{
	says.pid = (uint32_t)getpid();
	if (write(STDOUT_FILENO, &says, sizeof(says)) != sizeof(says))
		_exit(1);
}

int main(int argc, char **argv)
{
	struct target_says says = { .code = (uintptr_t)&now };
	void *plugin;
	pid_t child;
	char byte;
	int fd;

	if (argc < 2)
		return 2;
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	says.before_ns = now();
	plugin = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (plugin == MAP_FAILED)
		return 1;
	says.plugin = (uintptr_t)plugin;
	says.after_ns = now();
	say(says);
	child = fork();
	if (!child) {
		says.is_child = 1;
		says.after_ns = now();
		say(says);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	return argc > 2 && read(STDIN_FILENO, &byte, 1) < 0;
}
