// SPDX-License-Identifier: Apache-2.0
#include "command_line.h"
#include "registry.h"
#include "spawner.h"

#include "commands/commands.h"

#include "base/base.h"

#include <fcntl.h>
#include <malloc.h>
#include <string.h>

/* A descriptor that is opened later must not land on 0 to 2 and get our log lines. */
static void open_missing_stdio(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/*
 * A collector holds little, but for moments it holds much: kernel symbols while they
 * are sorted, a batch while it is encoded. Give such buffers back when they are freed
 * instead of letting glibc raise its threshold and keep them, and do not give every
 * thread a heap of its own.
 */
static void keep_memory_small(void)
{
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
	mallopt(M_TRIM_THRESHOLD, 256 << 10);
	mallopt(M_ARENA_MAX, 2);
}

int main(int argc, char **argv)
{
	const struct program program = { .version = PROFCOL_VERSION,
					 .builtin = &builtin_components };
	CLEANUP(command_line_deinit) struct command_line line = { 0 };
	struct profcol_error *error;

	keep_memory_small();

	// Before anything else: a helper has but one open descriptor and touches nothing of ours.
	if (argc > 1 && strcmp(argv[1], "helper") == 0)
		return spawner_run_helper(argc, argv, &builtin_components);
	open_missing_stdio();
	error = command_line_parse(argc, argv, &line);
	if (error)
		return commands_refuse(error);
	return commands_execute(&line, &program);
}
