// SPDX-License-Identifier: Apache-2.0
#include "command_line.h"
#include "registry.h"
#include "service.h"
#include "spawner.h"

#include "config/config.h"

#include "base/base.h"

#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <sysexits.h>

enum { EXIT_USAGE = 2 };

static const uint64_t drain_ns = 5 * PROFCOL_SECOND;
static const uint64_t grace_ns = 1 * PROFCOL_SECOND;

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

/* Each of these prints @error, which it takes, and returns the exit code that it stands for. */

static int report_usage(struct profcol_error *error)
{
	fprintf(stderr, "Error: %s\n", profcol_error_message(error));
	profcol_error_destroy(error);
	return EXIT_USAGE;
}

static int report_configuration(struct profcol_error *error)
{
	// Bare: each line starts with the place of its problem, so that an editor can jump there.
	fprintf(stderr, "%s\n", profcol_error_message(error));
	profcol_error_destroy(error);
	return EX_CONFIG;
}

static int report_failure(struct profcol_error *error)
{
	bool configuration = profcol_error_code(error) == PROFCOL_CONFIG;

	fprintf(stderr, "Error: %s\n", profcol_error_message(error));
	profcol_error_destroy(error);
	return configuration ? EX_CONFIG : EXIT_FAILURE;
}

static void config_cleanup(struct config **config)
{
	config_destroy(*config);
}

static int run(const struct command_line *line)
{
	const struct service_settings settings = {
		.version = PROFCOL_VERSION,
		.level = line->level,
		.log_fd = STDERR_FILENO,
		.drain_ns = drain_ns,
		.grace_ns = grace_ns,
	};
	CLEANUP(config_cleanup) struct config *config = NULL;
	struct profcol_error *error;

	error = config_load(line->config, &builtin_components, &config);
	if (error)
		return report_configuration(error);
	if (line->command == COMMAND_VALIDATE)
		return EXIT_SUCCESS;
	error = service_run(&settings, config);
	return error ? report_failure(error) : EXIT_SUCCESS;
}

static int print(const struct command_line *line)
{
	if (line->command == COMMAND_COMPONENTS)
		registry_print(&builtin_components, PROFCOL_VERSION, stdout);
	else if (line->command == COMMAND_VERSION)
		puts("profcol version " PROFCOL_VERSION);
	else
		fputs(command_line_help, stdout);
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
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
	struct command_line line;
	struct profcol_error *error;

	keep_memory_small();

	// Before anything else: a helper has but one open descriptor and touches nothing of ours.
	if (argc > 1 && strcmp(argv[1], "helper") == 0)
		return spawner_run_helper(argc, argv, &builtin_components);
	open_missing_stdio();
	error = command_line_parse(argc, argv, &line);
	if (error)
		return report_usage(error);
	if (line.command == COMMAND_RUN || line.command == COMMAND_VALIDATE)
		return run(&line);
	return print(&line);
}
