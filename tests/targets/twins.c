// SPDX-License-Identifier: Apache-2.0
/*
 * twins WAY ROUNDS DIRECTORY OLD NEW: has one of two programs run where the other one just ran, in
 * turns. OLD and NEW are of versions.c: their code lies at the same places and has other names. The
 * threads are called old_WAY and new_WAY while they burn CPU.
 *
 * Ways: mount: a tmpfs of its own each, so that device and inode number come again; replace: a new
 * file of the same name; overwrite: the same file; exec: the process of the other one; pid: a
 * process of the same number; bind: mounted over the other one's file; container: a process of the
 * same number, in a cgroup of its own below DIRECTORY that is called as a container's, whose id has
 * the digit a or b 64 times. All files have the same times.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH = 4096, TRIES = 50 };

static char names[2][16];
static char milliseconds[] = "8";
static const char *directory;
static char *programs[2];
static long others; /* rounds in which the numbers were not those of the round before */

static _Noreturn void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* @from as @to, as if it had been there for a year. */
static void copy(const char *from, const char *to, int flags)
{
	const struct timespec times[2] = { { .tv_sec = 1700000000 }, { .tv_sec = 1700000000 } };
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0755);
	struct stat status;

	if (in < 0 || out < 0 || fstat(in, &status))
		fail(to);
	for (off_t at = 0; at < status.st_size;)
		if (sendfile(out, in, &at, (size_t)(status.st_size - at)) <= 0)
			fail(to);
	if (futimens(out, times) || close(in) || close(out))
		fail(to);
}

/* As process @number, if that is free; in the @cgroup, if that is not negative. */
static void run_to_its_end(char *const arguments[], pid_t number, int cgroup)
{
	struct clone_args how = { .exit_signal = SIGCHLD };
	pid_t wanted[1] = { number };
	pid_t child;
	int status;

	if (cgroup >= 0) {
		how.flags = CLONE_INTO_CGROUP;
		how.cgroup = (uint64_t)cgroup;
	}
	if (number) {
		how.set_tid = (uint64_t)(uintptr_t)wanted;
		how.set_tid_size = 1;
	}
	child = (pid_t)syscall(SYS_clone3, &how, sizeof(how));
	if (child < 0 && number && errno == EEXIST) {
		others++;
		how.set_tid = how.set_tid_size = 0;
		child = (pid_t)syscall(SYS_clone3, &how, sizeof(how));
	}
	if (child < 0)
		fail("clone3");
	if (!child) {
		execv(arguments[0], arguments);
		_exit(127);
	}
	if (waitpid(child, &status, 0) != child || status)
		fail("the program");
}

/* A profiler may have a file on the mount open for a moment. */
static void unmount(const char *path)
{
	for (int i = 0; umount2(path, i < TRIES ? 0 : MNT_DETACH); i++) {
		if (i == TRIES)
			fail("umount2");
		usleep(1000);
	}
}

static void run_one(char *path, int twin, pid_t number)
{
	char *arguments[] = { path, milliseconds, names[twin], NULL };

	run_to_its_end(arguments, number, -1);
}

static void by_mount(char *path, int twin)
{
	static struct stat last;
	struct stat status;

	if (mount("twins", directory, "tmpfs", 0, NULL))
		fail("mount");
	copy(programs[twin], path, 0);
	run_one(path, twin, 0);
	if (!stat(path, &status)) {
		others += last.st_ino &&
			  (last.st_dev != status.st_dev || last.st_ino != status.st_ino);
		last = status;
	}
	unmount(directory);
}

static void by_replacing(char *path, int twin)
{
	char next[PATH + 8];

	snprintf(next, sizeof(next), "%s.next", path);
	copy(programs[twin], next, O_TRUNC);
	if (rename(next, path))
		fail("rename");
	run_one(path, twin, 0);
}

static void by_overwriting(char *path, int twin)
{
	copy(programs[twin], path, 0);
	run_one(path, twin, 0);
}

static void by_exec(int twin)
{
	char *arguments[] = { programs[twin], milliseconds,    names[twin], programs[1 - twin],
			      milliseconds,   names[1 - twin], NULL };

	run_to_its_end(arguments, 0, -1);
}

static void by_binding(char *path, int twin)
{
	if (mount(programs[twin], path, NULL, MS_BIND, NULL))
		fail("mount");
	run_one(path, twin, 0);
	unmount(path);
}

static void by_container(int twin, pid_t number)
{
	char *arguments[] = { programs[twin], milliseconds, names[twin], NULL };
	char path[PATH + 128], id[64 + 1];
	int cgroup;

	memset(id, "ab"[twin], 64);
	id[64] = '\0';
	snprintf(path, sizeof(path), "%s/cri-containerd-%s.scope", directory, id);
	if (mkdir(path, 0755))
		fail(path);
	cgroup = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (cgroup < 0)
		fail(path);
	run_to_its_end(arguments, number, cgroup);
	close(cgroup);
	for (int i = 0; rmdir(path) && i < TRIES; i++)
		usleep(1000);
}

static void run_round(const char *way, char *path, int twin, pid_t number)
{
	if (!strcmp(way, "mount"))
		by_mount(path, twin);
	else if (!strcmp(way, "replace"))
		by_replacing(path, twin);
	else if (!strcmp(way, "overwrite"))
		by_overwriting(path, twin);
	else if (!strcmp(way, "exec"))
		by_exec(twin);
	else if (!strcmp(way, "pid"))
		run_one(programs[twin], twin, number);
	else if (!strcmp(way, "bind"))
		by_binding(path, twin);
	else if (!strcmp(way, "container"))
		by_container(twin, number);
	else
		exit(3);
}

int main(int argc, char **argv)
{
	char path[PATH];
	pid_t number = 0;
	long rounds;

	if (argc != 6)
		return 3;
	rounds = strtol(argv[2], NULL, 10);
	directory = argv[3];
	programs[0] = argv[4];
	programs[1] = argv[5];
	snprintf(names[0], sizeof(names[0]), "old_%s", argv[1]);
	snprintf(names[1], sizeof(names[1]), "new_%s", argv[1]);
	snprintf(path, sizeof(path), "%s/twin", directory);
	// Mounts end with this process, whatever happens to it.
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		fail("unshare");
	if (!strcmp(argv[1], "bind"))
		copy(programs[0], path, 0);
	if (!strcmp(argv[1], "pid") || !strcmp(argv[1], "container")) {
		number = fork();
		if (!number)
			_exit(0);
		waitpid(number, NULL, 0);
	}
	for (long i = 0; i < rounds; i++)
		run_round(argv[1], path, (int)(i & 1), number);
	printf("%ld of %ld rounds had other numbers\n", others, rounds);
	return 0;
}
