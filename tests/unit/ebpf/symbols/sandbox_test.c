// SPDX-License-Identifier: Apache-2.0
/* What a worker can no longer do. */
#include "receiver/ebpf/worker/sandbox.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { UID = 2111111111 };

/* A child in the sandbox that waits for a byte, does @act and ends with what that returned. */
struct prisoner {
	pid_t pid;
	int socket;
};

static struct prisoner prisoner_start(int (*act)(void))
{
	struct prisoner prisoner;
	int ends[2];
	char byte;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	prisoner.socket = ends[0];
	prisoner.pid = fork();
	if (!prisoner.pid) {
		struct iovec part = { &byte, 1 };
		struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

		if (sandbox_enter(ends[1], UID) || sendmsg(ends[1], &message, 0) != 1 ||
		    recvmsg(ends[1], &message, 0) != 1)
			_exit(99);
		_exit(act());
	}
	close(ends[1]);
	assert_int_equal(read(prisoner.socket, &byte, 1), 1);
	return prisoner;
}

/* Let it act. Returns the status of its end. */
static int prisoner_end(struct prisoner *prisoner)
{
	int status;

	assert_int_equal(write(prisoner->socket, "", 1), 1);
	assert_int_equal(waitpid(prisoner->pid, &status, 0), prisoner->pid);
	close(prisoner->socket);
	return status;
}

static int act_nothing(void)
{
	return 7;
}

static int act_allocate(void)
{
	for (size_t bytes = 16; bytes < 64 << 20; bytes *= 2) {
		char *memory = malloc(bytes);

		if (!memory)
			return 1;
		memset(memory, 1, bytes);
		memory = realloc(memory, bytes * 2);
		free(memory);
	}
	return 7;
}

static int act_open(void)
{
	return (int)syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY);
}

static int act_stat(void)
{
	return (int)syscall(SYS_statx, AT_FDCWD, "/etc/passwd", 0, 0, NULL);
}

static int act_execve(void)
{
	return (int)syscall(SYS_execve, "/bin/true", NULL, NULL);
}

static int act_socket(void)
{
	return (int)syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
}

static int act_fork(void)
{
	return (int)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static int act_kill(void)
{
	return (int)syscall(SYS_kill, getppid(), 0);
}

static int act_ptrace(void)
{
	return (int)syscall(SYS_ptrace, 16, getppid(), 0, 0);
}

static int act_setuid(void)
{
	return (int)syscall(SYS_setuid, 0);
}

static int act_map_code(void)
{
	syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return 0;
}

static int act_protect_code(void)
{
	static _Alignas(4096) char page[4096];

	syscall(SYS_mprotect, page, 4096, PROT_READ | PROT_EXEC);
	return 0;
}

static void test_work_goes_on(void **state)
{
	struct prisoner prisoner = prisoner_start(act_nothing);

	(void)state;
	assert_int_equal(prisoner_end(&prisoner), 7 << 8);
	prisoner = prisoner_start(act_allocate);
	assert_int_equal(prisoner_end(&prisoner), 7 << 8);
}

static void test_everything_else_is_death(void **state)
{
	static int (*const acts[])(void) = {
		act_open, act_stat,   act_execve, act_socket,   act_fork,
		act_kill, act_ptrace, act_setuid, act_map_code, act_protect_code,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		struct prisoner prisoner = prisoner_start(acts[i]);
		int status = prisoner_end(&prisoner);

		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
			fail_msg("act %zu ended with status %#x", i, (unsigned int)status);
	}
}

static void expect_line(const char *text, const char *line)
{
	if (!strstr(text, line))
		fail_msg("no '%s' in:\n%s", line, text);
}

static void test_nothing_is_left_to_misuse(void **state)
{
	struct prisoner prisoner = prisoner_start(act_nothing);
	CLEANUP_FREE char *status = NULL, *limits = NULL;
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "/proc/%d/status", prisoner.pid);
	assert_int_equal(file_read(AT_FDCWD, path, 1 << 16, &status, NULL), 0);
	expect_line(status, "Seccomp:\t2\n");
	expect_line(status, "NoNewPrivs:\t1\n");
	expect_line(status, "CapEff:\t0000000000000000\n");
	expect_line(status, "CapPrm:\t0000000000000000\n");
	expect_line(status, "CapInh:\t0000000000000000\n");
	expect_line(status, "CapAmb:\t0000000000000000\n");
	if (geteuid() == 0) {
		expect_line(status, "CapBnd:\t0000000000000000\n");
		expect_line(status, "Uid:\t2111111111\t2111111111\t2111111111\t2111111111\n");
		expect_line(status, "Gid:\t2111111111\t2111111111\t2111111111\t2111111111\n");
		expect_line(status, "Groups:\t \n");
	}
	snprintf(path, sizeof(path), "/proc/%d/limits", prisoner.pid);
	assert_int_equal(file_read(AT_FDCWD, path, 1 << 16, &limits, NULL), 0);
	expect_line(limits, "Max file size             0 ");
	expect_line(limits, "Max core file size        0 ");
	expect_line(limits, "Max open files            24 ");
	assert_int_equal(prisoner_end(&prisoner), 7 << 8);
}

static void test_inherited_descriptors_are_closed(void **state)
{
	CLEANUP_FD int secret = open("/proc/self/exe", O_RDONLY); // without O_CLOEXEC
	CLEANUP_FD int high = fcntl(secret, F_DUPFD, 500);
	struct prisoner prisoner = prisoner_start(act_nothing);
	unsigned int open_files = 0;

	(void)state;
	for (int fd = 0; fd < 1024; fd++) {
		char path[64], target[64];

		snprintf(path, sizeof(path), "/proc/%d/fd/%d", prisoner.pid, fd);
		open_files += readlink(path, target, sizeof(target)) > 0;
	}
	assert_true(high >= 500);
	if (geteuid() == 0) // others may not look
		assert_int_equal(open_files, 4);
	assert_int_equal(prisoner_end(&prisoner), 7 << 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_work_goes_on),
		cmocka_unit_test(test_everything_else_is_death),
		cmocka_unit_test(test_nothing_is_left_to_misuse),
		cmocka_unit_test(test_inherited_descriptors_are_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
