// SPDX-License-Identifier: Apache-2.0
/* Processes whose main thread has ended, and what a program is called. */
#include "processes/mapped_file.h"
#include "processes/memory_open.h"
#include "processes/proc_read.h"
#include "processes/proc_thread.h"
#include "processes/process_root.h"

#include "base/base.h"
#include "tests/unit/own_threads.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const struct profcol_list no_variables;

static void *go_on(void *context)
{
	(void)context;
	for (;;)
		pause();
	return NULL;
}

/* Threads of timed_calls end by themselves. One may hold the lock of the sanitizers' allocator at a
 * fork, and its child would wait for it for ever. */
static void wait_for_other_threads(void)
{
	while (own_threads(NULL) > 1)
		poll(NULL, 0, 1);
}

/* A process of this program that has lost its main thread. */
static pid_t start_leaderless(void)
{
	pthread_t thread;
	pid_t pid;
	int fd;

	wait_for_other_threads();
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (pthread_create(&thread, NULL, go_on, NULL))
			_exit(1);
		pthread_exit(NULL);
	}
	// Its main thread has to end first.
	while ((fd = proc_open_thread((uint32_t)pid)) < 0)
		poll(NULL, 0, 1);
	close(fd);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void a_process_without_its_main_thread_is_read(void **state)
{
	pid_t pid = start_leaderless();
	struct timed_calls *calls = timed_calls_create();
	CLEANUP_FREE char *own = realpath("/proc/self/exe", NULL);
	struct process_root root, own_root;
	struct proc_facts facts;

	(void)state;
	assert_non_null(calls);
	assert_int_equal(proc_read(calls, (uint32_t)pid, PROC_MAPS | PROC_ENVIRONMENT,
				   &no_variables, &facts),
			 0);
	assert_int_equal(facts.stat.state, 'Z');
	assert_true(facts.executable_read);
	assert_string_equal(facts.executable, own);
	assert_non_null(facts.maps);
	assert_non_null(strstr(facts.maps, own));
	assert_non_null(facts.environment);
	proc_facts_deinit(&facts);
	assert_true(process_root_read((uint32_t)pid, &root));
	assert_true(process_root_read((uint32_t)getpid(), &own_root));
	assert_true(process_root_equal(&root, &own_root));
	end(pid);
	timed_calls_destroy(calls);
}

/* The first mapping of code of @pid, whose text is @facts', found by its mapping. */
static void its_files_and_its_memory_are_opened(void **state)
{
	pid_t pid = start_leaderless();
	struct timed_calls *calls = timed_calls_create();
	struct mapped_file mapped;
	struct proc_mapping found;
	struct proc_facts facts;
	struct file_look look;
	char *text, *text_end, byte;
	int fd;

	(void)state;
	assert_non_null(calls);
	assert_int_equal(proc_read(calls, (uint32_t)pid, PROC_MAPS, &no_variables, &facts), 0);
	text = facts.maps;
	text_end = text + facts.maps_length;
	do
		assert_true(proc_maps_next(&text, text_end, &found));
	while (!found.executable || !found.inode);
	mapped = (struct mapped_file){ .pid = (uint32_t)pid,
				       .start = found.start,
				       .limit = found.limit,
				       .path = found.path,
				       .device = found.device,
				       .inode = found.inode };
	fd = mapped_file_open(&mapped);
	if (fd == -EPERM) {
		print_message("no: /proc/PID/map_files needs CAP_CHECKPOINT_RESTORE\n");
	} else {
		assert_true(fd >= 0);
		assert_int_equal(mapped_file_check(&mapped, fd, &look), 0);
		close(fd);
	}
	fd = mapped_file_open_path(&mapped, (uint32_t)pid, &look);
	assert_true(fd >= 0);
	close(fd);
	fd = memory_open(calls, (uint32_t)pid, OWNER_UNKNOWN, 1000000000);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, (off_t)found.start), 1);
	close(fd);
	proc_facts_deinit(&facts);
	end(pid);
	timed_calls_destroy(calls);
}

static void one_that_has_ended_has_no_thread(void **state)
{
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	assert_int_equal(proc_open_thread((uint32_t)pid), -ESRCH);
	waitpid(pid, NULL, 0);
	assert_int_equal(proc_open_thread((uint32_t)pid), -ESRCH);
	assert_int_equal(proc_open_thread((uint32_t)getpid()), -ESRCH);
}

/* What the program of a process that executes @path is called, once it was removed if that is so.
 */
static void assert_called(const char *path, bool removed, const char *name)
{
	char copy[256], directory[32], found[PATH_MAX];
	int process;
	pid_t pid;

	snprintf(copy, sizeof(copy), "cp /bin/sleep '%s'", path);
	assert_int_equal(system(copy), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(path, path, "1000", NULL);
		_exit(1);
	}
	snprintf(directory, sizeof(directory), "/proc/%d", pid);
	process = open(directory, O_PATH | O_CLOEXEC);
	assert_true(process >= 0);
	do
		assert_true(proc_executable(process, found) > 0);
	while (strncmp(found, "/tmp/", 5) != 0 && poll(NULL, 0, 1) == 0);
	if (removed)
		unlink(path);
	assert_int_equal(proc_executable(process, found), strlen(name));
	assert_string_equal(found, name);
	unlink(path);
	close(process);
	end(pid);
}

static void a_living_file_keeps_its_name(void **state)
{
	char directory[] = "/tmp/proc-thread.XXXXXX", path[64], plain[64];

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(plain, sizeof(plain), "%s/real", directory);
	snprintf(path, sizeof(path), "%s/real (deleted)", directory);
	assert_called(path, false, path);
	assert_called(path, true, path);
	assert_called(plain, true, plain);
	assert_called(plain, false, plain);
	rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_without_its_main_thread_is_read),
		cmocka_unit_test(its_files_and_its_memory_are_opened),
		cmocka_unit_test(one_that_has_ended_has_no_thread),
		cmocka_unit_test(a_living_file_keeps_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
