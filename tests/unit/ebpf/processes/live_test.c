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

#include "file_tick.h"
#include "live.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NO_OVERLAY = 99 }; /* exit status of a child that could not mount one */

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
		fail_msg("file %u cannot be opened: %s", file, strerror(-fd));
	assert_int_equal(fstat(fd, &found), 0);
	assert_int_equal(found.st_ino, original->st_ino);
	assert_int_equal(found.st_dev, original->st_dev);
	assert_int_equal(read(fd, magic, 4), 4);
	assert_memory_equal(magic, "\177ELF", 4);
	close(fd);
}

static void a_process_of_milliseconds_is_known(void **state)
{
	struct fixture *fixture = live_or_skip(state);
	struct child child = live_start(fixture, NULL, NULL);
	struct target_says says = live_hear(&child), forked = live_hear(&child);
	struct process_key child_key = { .pid = forked.pid,
					 .start_boottime_ns = clock_boottime_ns() };
	struct process_key before = child.key;
	struct process_description about;
	struct process_mapping mapping;
	struct stat target, plugin;
	char *path;

	live_end(&child); // neither is in /proc any more
	assert_int_equal(stat(fixture->target, &target), 0);
	assert_int_equal(stat(fixture->plugin, &plugin), 0);
	processes_note_sample(fixture->processes, &child_key, forked.after_ns);
	live_note(fixture, &child.key, says.after_ns);

	mapping = mapping_at(fixture, &child.key, says.after_ns, says.code);
	assert_string_equal(mapping.path, fixture->target);
	assert_true(mapping.start <= says.code && says.code < mapping.limit);
	assert_file(fixture, mapping.file, &target);
	assert_true(processes_has_file(fixture->processes, mapping.file));
	path = processes_file_path(fixture->processes, mapping.file);
	assert_string_equal(path, fixture->target);
	free(path);
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
	// A sample that calls itself the one before's, in an exec, is not told of the next program.
	before.exec_id--;
	assert_true(processes_describe(fixture->processes, &before, says.after_ns, &about));
	assert_string_equal(about.executable, "");
	assert_true(processes_describe(fixture->processes, &child_key, forked.after_ns, &about));
	assert_string_equal(about.executable, fixture->target);
	// After the report nothing of them is left.
	processes_forget(fixture->processes, clock_monotonic_ns());
	assert_false(processes_describe(fixture->processes, &child.key, says.after_ns, &about));
}

static void a_file_is_kept_when_its_name_and_its_process_go(void **state)
{
	struct fixture *fixture = live_or_skip(state);
	struct child child = live_start(fixture, "wait", NULL);
	struct target_says says = live_hear(&child);
	struct process_mapping program, plugin, vdso;
	struct stat target, plugin_stat;
	CLEANUP_FREE char *maps = NULL;
	char path[64], *line;

	assert_int_equal(stat(fixture->target, &target), 0);
	assert_int_equal(stat(fixture->plugin, &plugin_stat), 0);
	snprintf(path, sizeof(path), "/proc/%d/maps", child.pid);
	assert_int_equal(file_read(AT_FDCWD, path, 1 << 20, &maps, NULL), 0);
	live_note(fixture, &child.key, says.after_ns);
	assert_int_equal(unlink(fixture->target), 0);
	assert_int_equal(unlink(fixture->plugin), 0);
	live_end(&child);
	live_catch_up(fixture);
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
	struct fixture *fixture = live_or_skip(state);
	struct process_key self = live_key_of(getpid());
	struct process_description about;
	uint64_t now = clock_monotonic_ns();
	char path[PATH_MAX] = "";
	struct stat program;

	live_note(fixture, &self, now);
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
	struct fixture *fixture = live_or_skip(state);
	struct child child = live_start(fixture, "wait", enter_namespace);
	struct target_says says = live_hear(&child);
	struct process_mapping mapping;
	struct stat inside, outside;
	char path[128];

	snprintf(path, sizeof(path), "/proc/%d/exe", child.pid);
	assert_int_equal(stat(path, &inside), 0);
	assert_int_equal(stat(fixture->target, &outside), 0);
	assert_int_not_equal(inside.st_dev, outside.st_dev);
	live_note(fixture, &child.key, says.after_ns);
	mapping = mapping_at(fixture, &child.key, says.after_ns, says.code);
	assert_string_equal(mapping.path, fixture->target);
	assert_file(fixture, mapping.file, &inside);
	live_end(&child);
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
	struct fixture *fixture = live_or_skip(state);
	struct child child = live_start(fixture, "wait", enter_overlay);
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
	live_note(fixture, &child.key, says.after_ns);
	mapping = mapping_at(fixture, &child.key, says.after_ns, says.code);
	assert_string_equal(mapping.path, fixture->target);
	assert_file(fixture, mapping.file, &inside);
	live_end(&child);
	assert_file(fixture, mapping.file, &inside);
}

/* A namespace with a process that stays; the program runs as its child, and ends. */
static void enter_namespace_and_fork(const struct fixture *fixture)
{
	int status;
	pid_t pid;

	enter_namespace(fixture);
	await_file_tick(fixture->target);
	pid = fork();
	if (!pid)
		return;
	waitpid(pid, &status, 0);
	// Until the test closes the other end.
	_exit(read(STDIN_FILENO, &status, 1) < 0 || status);
}

static void a_file_is_reached_through_a_parent_in_its_namespace(void **state)
{
	struct fixture *fixture = live_or_skip(state);
	struct child child = live_start(fixture, NULL, enter_namespace_and_fork);
	struct target_says says = live_hear(&child), forked = live_hear(&child);
	struct process_key key = { .pid = says.pid, .start_boottime_ns = clock_boottime_ns() };
	struct process_mapping mapping;
	struct stat inside;
	char path[192];

	snprintf(path, sizeof(path), "/proc/%d/root%s", child.pid, fixture->target);
	assert_int_equal(stat(path, &inside), 0);
	snprintf(path, sizeof(path), "/proc/%u", says.pid);
	(void)forked;
	for (int i = 0; i < 2000 && !access(path, F_OK); i++)
		usleep(10000);
	assert_int_not_equal(access(path, F_OK), 0);
	live_note(fixture, &key, says.after_ns);
	mapping = mapping_at(fixture, &key, says.after_ns, says.code);
	assert_file(fixture, mapping.file, &inside);
	live_end(&child);
}

/* The switch of CPU 1, ours alone until it is closed: somebody else may test on this machine.
 * tests/e2e/cpus_test.py locks it, too. -1: there is none. */
static int hold_cpu_switch(void)
{
	int fd = open("/sys/devices/system/cpu/cpu1/online", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		assert_int_equal(flock(fd, LOCK_EX), 0);
	return fd;
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
	struct fixture *fixture = live_or_skip(state);
	CLEANUP_FD int cpu = hold_cpu_switch();
	uint64_t until_ns;
	bool known = false;

	if (cpu < 0 || pwrite(cpu, "0", 1, 0) != 1) {
		print_message("skipped: CPU 1 cannot be taken offline\n");
		skip();
	}
	assert_int_equal(pwrite(cpu, "1", 1, 0), 1);
	until_ns = clock_monotonic_ns() + LIVE_PATIENCE_NS;
	// CPUs are looked at once a second.
	while (!known && clock_monotonic_ns() < until_ns) {
		struct child child = live_start(fixture, NULL, run_on_cpu_1);
		struct target_says says = live_hear(&child);

		live_hear(&child);
		live_end(&child);
		live_note(fixture, &child.key, says.after_ns);
		known = !strcmp(mapping_at(fixture, &child.key, says.after_ns, says.plugin).path,
				fixture->plugin);
		usleep(known ? 0 : 200000);
	}
	assert_true(known);
}

static void it_can_be_started_and_stopped_again(void **state)
{
	struct fixture *fixture = live_or_skip(state);

	processes_stop(fixture->processes);
	processes_stop(fixture->processes);
	for (int i = 0; i < 5; i++) {
		PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

		processes_destroy(fixture->processes);
		fixture->metric_count = 0;
		fixture->processes =
			processes_create(&fixture->host, &fixture->variables, 32 << 20);
		assert_non_null(fixture->processes);
		error = processes_start(fixture->processes);
		assert_null(error);
	}
}

/* Else all that is not known yet would pay for whoever hangs. */
static void memory_of_a_process_that_is_not_read_yet_is_its_users(void **state)
{
	struct fixture *fixture = live_or_skip(state);
	struct origin origin;

	processes_destroy(fixture->processes);
	fixture->metric_count = 0;
	fixture->processes = processes_create(&fixture->host, &fixture->variables, 32 << 20);
	assert_non_null(fixture->processes);
	origin = processes_memory_origin(fixture->processes, (uint32_t)getpid());
	assert_int_equal(origin.owner.uid, geteuid());
	// Nor does it count as the machine's.
	assert_int_equal(origin.owner.container, getpid());
}

int main(void)
{
#define LIVE_TEST(test) cmocka_unit_test_setup_teardown(test, live_set_up, live_tear_down)
	const struct CMUnitTest tests[] = {
		LIVE_TEST(a_process_of_milliseconds_is_known),
		LIVE_TEST(a_file_is_kept_when_its_name_and_its_process_go),
		LIVE_TEST(processes_of_before_are_known),
		LIVE_TEST(a_program_in_another_mount_namespace_is_read),
		LIVE_TEST(a_program_in_an_overlay_is_read),
		LIVE_TEST(a_file_is_reached_through_a_parent_in_its_namespace),
		LIVE_TEST(a_cpu_that_comes_back_is_listened_to),
		LIVE_TEST(memory_of_a_process_that_is_not_read_yet_is_its_users),
		LIVE_TEST(it_can_be_started_and_stopped_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
