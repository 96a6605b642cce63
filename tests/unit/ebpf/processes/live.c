// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "live.h"

#include "file_tick.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_log(const struct profcol_logger *logger, enum profcol_level level,
		      const char *format, va_list arguments)
{
	(void)logger;
	(void)level;
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
}

static struct profcol_metric *take_metric(const struct profcol_host *host,
					  enum profcol_metric_kind kind, const char *name,
					  const char *label, const char *doc)
{
	struct fixture *fixture =
		(struct fixture *)((uintptr_t)host - offsetof(struct fixture, host));

	(void)kind;
	(void)name;
	(void)label;
	(void)doc;
	assert_true(fixture->metric_count < 32);
	return &fixture->metrics[fixture->metric_count++];
}

static void take_change(void *context, const struct process_key *key, bool alive)
{
	struct fixture *fixture = context;

	pthread_mutex_lock(&fixture->changes_lock);
	(void)VECTOR_PUSH(&fixture->changes, ((struct live_change){ .key = *key, .alive = alive }));
	pthread_cond_broadcast(&fixture->changes_grown);
	pthread_mutex_unlock(&fixture->changes_lock);
}

static void copy_file(const char *from, const char *to)
{
	char command[PATH_MAX];

	snprintf(command, sizeof(command), "cp '%s' '%s'", from, to);
	assert_int_equal(system(command), 0);
}

int live_set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	if (!fixture)
		return -1;
	*state = fixture;
	fixture->logger = (struct profcol_logger){ .size = sizeof(fixture->logger),
						   .level = PROFCOL_WARN,
						   .write = write_log };
	fixture->host = (struct profcol_host){ .size = sizeof(fixture->host),
					       .id = "profiling",
					       .logger = &fixture->logger,
					       .metric = take_metric };
	if (geteuid())
		return 0;
	strcpy(fixture->directory, "/tmp/profcol-live-XXXXXX");
	if (!mkdtemp(fixture->directory))
		return -1;
	snprintf(fixture->target, sizeof(fixture->target), "%s/prog", fixture->directory);
	snprintf(fixture->plugin, sizeof(fixture->plugin), "%s/plugin.so", fixture->directory);
	copy_file(PROCESSES_TARGET, fixture->target);
	copy_file(PROCESSES_TARGET, fixture->plugin);
	// A process that ends before its file is opened has no names else.
	await_file_tick(fixture->plugin);
	fixture->processes = processes_create(&fixture->host, &fixture->variables, 32 << 20);
	pthread_mutex_init(&fixture->changes_lock, NULL);
	pthread_cond_init(&fixture->changes_grown, NULL);
	processes_on_change(fixture->processes, take_change, fixture);
	error = processes_start(fixture->processes);
	if (!error)
		return 0;
	print_message("%s\n", profcol_error_message(error));
	return -1;
}

int live_tear_down(void **state)
{
	struct fixture *fixture = *state;
	char command[PATH_MAX];
	int status = 0;

	processes_destroy(fixture->processes);
	VECTOR_DEINIT(&fixture->changes);
	if (fixture->directory[0]) {
		snprintf(command, sizeof(command), "rm -rf '%s'", fixture->directory);
		status = system(command);
	}
	free(fixture);
	return status;
}

struct fixture *live_or_skip(void **state)
{
	struct fixture *fixture = *state;

	if (fixture->processes)
		return fixture;
	print_message("skipped: needs root\n");
	skip();
	return NULL;
}

struct process_key live_key_of(pid_t pid)
{
	CLEANUP_FREE char *text = NULL;
	unsigned long long ticks = 0;
	char path[64], *at;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	assert_int_equal(file_read(AT_FDCWD, path, 4096, &text, NULL), 0);
	at = strrchr(text, ')');
	assert_non_null(at);
	for (int field = 2; field < 22; field++)
		at = strchr(at + 1, ' ');
	ticks = strtoull(at, NULL, 10);
	return (struct process_key){
		.pid = (uint32_t)pid,
		.start_boottime_ns = ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK)),
	};
}

struct child live_start(const struct fixture *fixture, const char *wait, prepare_function prepare)
{
	struct child child = { 0 };
	int input[2], output[2];
	char byte;

	assert_int_equal(pipe2(input, O_CLOEXEC), 0);
	assert_int_equal(pipe2(output, O_CLOEXEC), 0);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (!child.pid) {
		// One that does not exec would wait for its own end of the pipe.
		close(input[1]);
		close(output[0]);
		dup2(input[0], STDIN_FILENO);
		dup2(output[1], STDOUT_FILENO);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		// Not before the parent has seen when this process started.
		if (read(STDIN_FILENO, &byte, 1) != 1)
			_exit(1);
		if (prepare)
			prepare(fixture);
		execl(fixture->target, "prog", fixture->plugin, wait, NULL);
		_exit(127);
	}
	close(input[0]);
	close(output[1]);
	child.input = input[1];
	child.output = output[0];
	child.key = live_key_of(child.pid);
	assert_int_equal(write(child.input, "x", 1), 1);
	return child;
}

struct target_says live_hear(const struct child *child)
{
	struct target_says says;

	assert_int_equal(read(child->output, &says, sizeof(says)), sizeof(says));
	return says;
}

void live_end(struct child *child)
{
	int status;

	close(child->input);
	close(child->output);
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	assert_int_equal(status, 0);
}

void live_catch_up(struct fixture *fixture)
{
	processes_catch_up(fixture->processes, clock_monotonic_ns() + LIVE_PATIENCE_NS);
}

void live_note(struct fixture *fixture, const struct process_key *key, uint64_t time_ns)
{
	processes_note_sample(fixture->processes, key, time_ns);
	live_catch_up(fixture);
}
