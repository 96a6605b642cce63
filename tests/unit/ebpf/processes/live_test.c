// SPDX-License-Identifier: Apache-2.0
/*
 * The running kernel's processes: short-lived ones, those in other mount namespaces, and CPUs
 * that come and go. Needs root; without it every test is skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "processes/processes.h"

#include "base/base.h"
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ample for a machine that does other things too. */
static const uint64_t PATIENCE_NS = 5000000000;

enum { NO_OVERLAY = 99 }; /* exit status of a child that could not mount one */

struct fixture {
	struct profcol_host host;
	struct profcol_logger logger;
	struct profcol_list variables;
	struct profcol_metric metrics[16];
	size_t metric_count;
	struct processes *processes;
	char directory[64], target[96], plugin[96];
};

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
	assert_true(fixture->metric_count < 16);
	return &fixture->metrics[fixture->metric_count++];
}

static void copy_file(const char *from, const char *to)
{
	char command[PATH_MAX];

	snprintf(command, sizeof(command), "cp '%s' '%s'", from, to);
	assert_int_equal(system(command), 0);
}

static int set_up(void **state)
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
	fixture->processes = processes_create(&fixture->host, &fixture->variables);
	error = processes_start(fixture->processes);
	if (!error)
		return 0;
	print_message("%s\n", profcol_error_message(error));
	return -1;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	char command[PATH_MAX];
	int status = 0;

	processes_destroy(fixture->processes);
	if (fixture->directory[0]) {
		snprintf(command, sizeof(command), "rm -rf '%s'", fixture->directory);
		status = system(command);
	}
	free(fixture);
	return status;
}

static struct fixture *fixture_or_skip(void **state)
{
	struct fixture *fixture = *state;

	if (fixture->processes)
		return fixture;
	print_message("skipped: needs root\n");
	skip();
	return NULL;
}

struct child {
	pid_t pid;
	int input, output; /* of ours: to its standard input, from its standard output */
	struct process_key key;
};

/* As the kernel would put it on a sample, to the precision of /proc. */
static struct process_key key_of(pid_t pid)
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

/* What runs in the child before the program is exec'd. */
typedef void (*prepare_function)(const struct fixture *fixture);

static struct child start_target(const struct fixture *fixture, const char *wait,
				 prepare_function prepare)
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
	child.key = key_of(child.pid);
	assert_int_equal(write(child.input, "x", 1), 1);
	return child;
}

static struct target_says hear(const struct child *child)
{
	struct target_says says;

	assert_int_equal(read(child->output, &says, sizeof(says)), sizeof(says));
	return says;
}

static void end_target(struct child *child)
{
	int status;

	close(child->input);
	close(child->output);
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	assert_int_equal(status, 0);
}

static void note(struct fixture *fixture, const struct process_key *key, uint64_t time_ns)
{
	processes_note_sample(fixture->processes, key, time_ns);
	processes_catch_up(fixture->processes, clock_monotonic_ns() + PATIENCE_NS);
}

static struct process_mapping mapping_at(struct fixture *fixture, const struct process_key *key,
					 uint64_t time_ns, uint64_t address)
{
	struct process_mapping mapping = { .file = PROCESS_NO_FILE, .path = "-" };

	processes_find_mapping(fixture->processes, key, time_ns, address, &mapping);
	return mapping;
}

/* @file is had, and is the one that stat showed as @original. */
static void assert_file(struct fixture *fixture, uint32_t file, const struct stat *original)
{
	struct stat found;
	char magic[4];
	int fd;

	assert_int_not_equal(file, PROCESS_NO_FILE);
	fd = processes_open_file(fixture->processes, file);
	if (fd < 0)
		fail_msg("file '%s' cannot be opened: %s",
			 processes_file_path(fixture->processes, file), strerror(-fd));
	assert_int_equal(fstat(fd, &found), 0);
	assert_int_equal(found.st_ino, original->st_ino);
	assert_int_equal(found.st_dev, original->st_dev);
	assert_int_equal(read(fd, magic, 4), 4);
	assert_memory_equal(magic, "\177ELF", 4);
	close(fd);
}

static void a_process_of_milliseconds_is_known(void **state)
{
	struct fixture *fixture = fixture_or_skip(state);
	struct child child = start_target(fixture, NULL, NULL);
	struct target_says says = hear(&child), forked = hear(&child);
	struct process_key child_key = { .pid = forked.pid,
					 .start_boottime_ns = clock_boottime_ns() };
	struct process_description about;
	struct process_mapping mapping;
	struct stat target, plugin;

	end_target(&child); // neither is in /proc any more
	assert_int_equal(stat(fixture->target, &target), 0);
	assert_int_equal(stat(fixture->plugin, &plugin), 0);
	processes_note_sample(fixture->processes, &child_key, forked.after_ns);
	note(fixture, &child.key, says.after_ns);

	mapping = mapping_at(fixture, &child.key, says.after_ns, says.code);
	assert_string_equal(mapping.path, fixture->target);
	assert_true(mapping.start <= says.code && says.code < mapping.limit);
	assert_file(fixture, mapping.file, &target);
	assert_string_equal(processes_file_path(fixture->processes, mapping.file), fixture->target);
	mapping = mapping_at(fixture, &child.key, says.after_ns, says.plugin);
	assert_string_equal(mapping.path, fixture->plugin);
	assert_int_equal(mapping.file_offset, 0);
	assert_file(fixture, mapping.file, &plugin);
	// Before it was mapped it was not there.
	assert_string_equal(mapping_at(fixture, &child.key, says.before_ns, says.plugin).path, "-");
	// Nor is the address space of the test itself, which it had until exec.
	assert_string_equal(mapping_at(fixture, &child.key, says.after_ns,
				       (uintptr_t)&a_process_of_milliseconds_is_known)
				    .path,
			    "-");
	mapping = mapping_at(fixture, &child_key, forked.after_ns, forked.plugin);
	assert_string_equal(mapping.path, fixture->plugin);
	assert_file(fixture, mapping.file, &plugin);

	assert_true(processes_describe(fixture->processes, &child.key, says.after_ns, &about));
	assert_string_equal(about.executable, fixture->target);
	assert_string_equal(about.comm, "prog");
	assert_true(processes_describe(fixture->processes, &child_key, forked.after_ns, &about));
	assert_string_equal(about.executable, fixture->target);
	// After the report nothing of them is left.
	processes_forget(fixture->processes, clock_monotonic_ns());
	assert_false(processes_describe(fixture->processes, &child.key, says.after_ns, &about));
}

static void a_file_is_kept_when_its_name_and_its_process_go(void **state)
{
	struct fixture *fixture = fixture_or_skip(state);
	struct child child = start_target(fixture, "wait", NULL);
	struct target_says says = hear(&child);
	struct process_mapping program, plugin, vdso;
	struct stat target, plugin_stat;
	CLEANUP_FREE char *maps = NULL;
	char path[64], *line;

	assert_int_equal(stat(fixture->target, &target), 0);
	assert_int_equal(stat(fixture->plugin, &plugin_stat), 0);
	snprintf(path, sizeof(path), "/proc/%d/maps", child.pid);
	assert_int_equal(file_read(AT_FDCWD, path, 1 << 20, &maps, NULL), 0);
	note(fixture, &child.key, says.after_ns);
	assert_int_equal(unlink(fixture->target), 0);
	assert_int_equal(unlink(fixture->plugin), 0);
	end_target(&child);
	processes_catch_up(fixture->processes, clock_monotonic_ns() + PATIENCE_NS);
	program = mapping_at(fixture, &child.key, says.after_ns, says.code);
	assert_file(fixture, program.file, &target);
	plugin = mapping_at(fixture, &child.key, says.after_ns, says.plugin);
	assert_file(fixture, plugin.file, &plugin_stat);
	assert_int_not_equal(program.file, plugin.file);
	line = strstr(maps, "[vdso]");
	assert_non_null(line);
	while (line > maps && line[-1] != '\n')
		line--;
	vdso = mapping_at(fixture, &child.key, says.after_ns, strtoull(line, NULL, 16));
	assert_string_equal(vdso.path, "[vdso]");
	assert_int_equal(vdso.file, PROCESS_NO_FILE);
}

static void processes_of_before_are_known(void **state)
{
	struct fixture *fixture = fixture_or_skip(state);
	struct process_key self = key_of(getpid());
	struct process_description about;
	uint64_t now = clock_monotonic_ns();
	char path[PATH_MAX] = "";
	struct stat program;

	note(fixture, &self, now);
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	assert_int_equal(stat(path, &program), 0);
	assert_true(processes_describe(fixture->processes, &self, now, &about));
	assert_string_equal(about.executable, path);
	assert_file(fixture,
		    mapping_at(fixture, &self, now, (uintptr_t)&processes_of_before_are_known).file,
		    &program);
	// Another process of this number would have another start.
	self.start_boottime_ns += 1000000000;
	assert_false(processes_describe(fixture->processes, &self, now, &about));
}

/* In a mount namespace of its own the same path leads to another file. */
static void enter_namespace(const struct fixture *fixture)
{
	char inside[128], command[PATH_MAX];

	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		_exit(3);
	snprintf(command, sizeof(command), "cp '%s' /dev/shm/profcol-live-%d", PROCESSES_TARGET,
		 getpid());
	snprintf(inside, sizeof(inside), "/dev/shm/profcol-live-%d", getpid());
	if (system(command) || mount("none", fixture->directory, "tmpfs", 0, NULL))
		_exit(4);
	snprintf(command, sizeof(command), "mv %s '%s' && cp '%s' '%s'", inside, fixture->target,
		 fixture->target, fixture->plugin);
	if (system(command))
		_exit(5);
}

static void a_program_in_another_mount_namespace_is_read(void **state)
{
	struct fixture *fixture = fixture_or_skip(state);
	struct child child = start_target(fixture, "wait", enter_namespace);
	struct target_says says = hear(&child);
	struct process_mapping mapping;
	struct stat inside, outside;
	char path[128];

	snprintf(path, sizeof(path), "/proc/%d/exe", child.pid);
	assert_int_equal(stat(path, &inside), 0);
	assert_int_equal(stat(fixture->target, &outside), 0);
	assert_int_not_equal(inside.st_dev, outside.st_dev);
	note(fixture, &child.key, says.after_ns);
	mapping = mapping_at(fixture, &child.key, says.after_ns, says.code);
	assert_string_equal(mapping.path, fixture->target);
	assert_file(fixture, mapping.file, &inside);
	end_target(&child);
	// The namespace is gone with its last process; the descriptor still holds the file.
	assert_file(fixture, mapping.file, &inside);
}

/* As containers have it: the program lies in a lower layer. */
static void enter_overlay(const struct fixture *fixture)
{
	char command[PATH_MAX], options[PATH_MAX];

	enter_namespace(fixture);
	snprintf(command, sizeof(command),
		 "cd '%s' && mkdir lower upper work && mv prog plugin.so lower",
		 fixture->directory);
	snprintf(options, sizeof(options), "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work",
		 fixture->directory, fixture->directory, fixture->directory);
	if (system(command))
		_exit(7);
	if (mount("none", fixture->directory, "overlay", 0, options))
		_exit(NO_OVERLAY);
}

static void a_program_in_an_overlay_is_read(void **state)
{
	struct fixture *fixture = fixture_or_skip(state);
	struct child child = start_target(fixture, "wait", enter_overlay);
	struct process_mapping mapping;
	struct target_says says;
	struct stat inside;
	char path[128];
	int status;

	if (read(child.output, &says, sizeof(says)) != sizeof(says)) {
		assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
		assert_int_equal(WEXITSTATUS(status), NO_OVERLAY);
		print_message("skipped: no overlay file system\n");
		skip();
	}
	snprintf(path, sizeof(path), "/proc/%d/exe", child.pid);
	assert_int_equal(stat(path, &inside), 0);
	note(fixture, &child.key, says.after_ns);
	mapping = mapping_at(fixture, &child.key, says.after_ns, says.code);
	assert_string_equal(mapping.path, fixture->target);
	assert_file(fixture, mapping.file, &inside);
	end_target(&child);
	assert_file(fixture, mapping.file, &inside);
}

/* A namespace with a process that stays; the program runs as its child, and ends. */
static void enter_namespace_and_fork(const struct fixture *fixture)
{
	int status;
	pid_t pid;

	enter_namespace(fixture);
	pid = fork();
	if (!pid)
		return;
	waitpid(pid, &status, 0);
	// Until the test closes the other end.
	_exit(read(STDIN_FILENO, &status, 1) < 0 || status);
}

static void a_file_is_reached_through_a_parent_in_its_namespace(void **state)
{
	struct fixture *fixture = fixture_or_skip(state);
	struct child child = start_target(fixture, NULL, enter_namespace_and_fork);
	struct target_says says = hear(&child), forked = hear(&child);
	struct process_key key = { .pid = says.pid, .start_boottime_ns = clock_boottime_ns() };
	struct process_mapping mapping;
	struct stat inside;
	char path[192];

	snprintf(path, sizeof(path), "/proc/%d/root%s", child.pid, fixture->target);
	assert_int_equal(stat(path, &inside), 0);
	snprintf(path, sizeof(path), "/proc/%u", says.pid);
	(void)forked;
	for (int i = 0; i < 500 && !access(path, F_OK); i++)
		usleep(10000);
	assert_int_not_equal(access(path, F_OK), 0);
	note(fixture, &key, says.after_ns);
	mapping = mapping_at(fixture, &key, says.after_ns, says.code);
	assert_file(fixture, mapping.file, &inside);
	end_target(&child);
}

static bool set_cpu_online(unsigned int cpu, bool online)
{
	char path[96];
	FILE *file;
	bool done;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online", cpu);
	file = fopen(path, "w");
	if (!file)
		return false;
	done = fputs(online ? "1" : "0", file) >= 0;
	return !fclose(file) && done;
}

static void run_on_cpu_1(const struct fixture *fixture)
{
	cpu_set_t set;

	(void)fixture;
	CPU_ZERO(&set);
	CPU_SET(1, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		_exit(6);
}

static void a_cpu_that_comes_back_is_listened_to(void **state)
{
	struct fixture *fixture = fixture_or_skip(state);
	struct child child;
	struct target_says says;

	if (!set_cpu_online(1, false)) {
		print_message("skipped: CPU 1 cannot be taken offline\n");
		skip();
	}
	assert_true(set_cpu_online(1, true));
	sleep(2); // twice the time within which CPUs are looked at
	child = start_target(fixture, NULL, run_on_cpu_1);
	says = hear(&child);
	hear(&child);
	end_target(&child);
	note(fixture, &child.key, says.after_ns);
	assert_string_equal(mapping_at(fixture, &child.key, says.after_ns, says.plugin).path,
			    fixture->plugin);
}

static void it_can_be_started_and_stopped_again(void **state)
{
	struct fixture *fixture = fixture_or_skip(state);

	processes_stop(fixture->processes);
	processes_stop(fixture->processes);
	for (int i = 0; i < 5; i++) {
		PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

		processes_destroy(fixture->processes);
		fixture->metric_count = 0;
		fixture->processes = processes_create(&fixture->host, &fixture->variables);
		assert_non_null(fixture->processes);
		error = processes_start(fixture->processes);
		assert_null(error);
	}
}

int main(void)
{
#define LIVE_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		LIVE_TEST(a_process_of_milliseconds_is_known),
		LIVE_TEST(a_file_is_kept_when_its_name_and_its_process_go),
		LIVE_TEST(processes_of_before_are_known),
		LIVE_TEST(a_program_in_another_mount_namespace_is_read),
		LIVE_TEST(a_program_in_an_overlay_is_read),
		LIVE_TEST(a_file_is_reached_through_a_parent_in_its_namespace),
		LIVE_TEST(a_cpu_that_comes_back_is_listened_to),
		LIVE_TEST(it_can_be_started_and_stopped_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
