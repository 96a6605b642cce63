// SPDX-License-Identifier: Apache-2.0
/*
 * locked_memory DIRECTORY USER COUNT HOW: COUNT processes of the user with that number, each of
 * which computes a little, in lock_leaf, called by lock_root, and keeps the lock of its own memory:
 * whoever looks into it waits, too. Says "ready" when all do; they end with this one.
 *
 * memory      for ever
 * undumpable  for ever, in processes whose files in /proc are root's
 * exec        for ever, and the lock of an exec too: a child with the same memory wants to execute
 *             another program, and cannot
 * turns       for 80 ms, ten times a second
 *
 * How: one thread reads, by /proc/self/mem, a page of a file whose server does not answer (or takes
 * its time), another one waits to change the map of the memory. The server is one of FUSE, which
 * any user may have; only the mounting, at DIRECTORY in a mount namespace of its own, is done by
 * root, as fusermount3 does it.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define FRAME static __attribute__((noipa)) void

enum {
	FILE_NODE = 2,
	PAGE = 4096,
	FILE_PAGES = 1 << 18,
	REQUEST_BYTES = 256 << 10,
	PROCESSES_MOST = 64,
	STACK_BYTES = 256 << 10,
};

static const char *how;
static int memory_fd, ready_pipe[2];
static char *pages;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static bool is(const char *name)
{
	return !strcmp(how, name);
}

static void rest(long ms)
{
	const struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

/* ---- the file system ---- */

static struct fuse_attr attributes_of(uint64_t node)
{
	bool is_file = node == FILE_NODE;

	return (struct fuse_attr){
		.ino = node,
		.size = is_file ? (uint64_t)FILE_PAGES * PAGE : 0,
		.mode = is_file ? S_IFREG | 0644 : S_IFDIR | 0755,
		.nlink = is_file ? 1 : 2,
		.uid = getuid(),
		.gid = getgid(),
		.blksize = PAGE,
	};
}

static void answer(int device, uint64_t unique, int error, const void *body, size_t bytes)
{
	struct fuse_out_header head = { .len = (uint32_t)(sizeof(head) + bytes),
					.error = error,
					.unique = unique };
	const struct iovec parts[] = { { &head, sizeof(head) },
				       { (void *)(uintptr_t)body, bytes } };

	if (writev(device, parts, 2) < 0 && errno != ENOENT)
		fail("answer");
}

static void serve(int device, const struct fuse_in_header *request)
{
	const struct fuse_init_out begun = { .major = FUSE_KERNEL_VERSION,
					     .minor = 31,
					     .max_write = PAGE };
	const struct fuse_attr_out attributes = { .attr_valid = 1000,
						  .attr = attributes_of(request->nodeid) };
	const struct fuse_entry_out entry = { .nodeid = FILE_NODE,
					      .entry_valid = 1000,
					      .attr_valid = 1000,
					      .attr = attributes_of(FILE_NODE) };
	const struct fuse_open_out opened = { .fh = 1 };
	static const char page[PAGE];

	switch (request->opcode) {
	case FUSE_INIT:
		answer(device, request->unique, 0, &begun, sizeof(begun));
		break;
	case FUSE_GETATTR:
		answer(device, request->unique, 0, &attributes, sizeof(attributes));
		break;
	case FUSE_LOOKUP:
		answer(device, request->unique, 0, &entry, sizeof(entry));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		answer(device, request->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		if (is("turns")) {
			rest(80);
			answer(device, request->unique, 0, page, sizeof(page));
		}
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(device, request->unique, -ENOSYS, NULL, 0);
	}
}

static void become(unsigned int user)
{
	if (setgroups(0, NULL) || setresgid(user, user, user) || setresuid(user, user, user))
		fail("become another user");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_DUMPABLE, 1);
}

static void be_server(int device, unsigned int user)
{
	_Alignas(8) static char request[REQUEST_BYTES];

	become(user);
	for (;;) {
		ssize_t length = read(device, request, sizeof(request));

		if (length >= (ssize_t)sizeof(struct fuse_in_header))
			serve(device, (const void *)request);
		else if (length < 0 && errno == ENODEV)
			exit(0);
	}
}

static void mount_it(const char *directory, unsigned int user)
{
	int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[96];

	if (device < 0)
		fail("/dev/fuse");
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		fail("a mount namespace");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=%u", device,
		 user, user);
	if (mount("locked", directory, "fuse", MS_NOSUID | MS_NODEV, options))
		fail("mount");
	if (!fork()) {
		close(ready_pipe[0]);
		close(ready_pipe[1]);
		be_server(device, user);
	}
	close(device);
}

/* ---- one process ---- */

static size_t turn;

static void *read_page(void *context)
{
	char byte;

	rest(100); // until both threads are there: the stack of a new one takes the lock
	for (; turn < FILE_PAGES; turn++) {
		if (pread(memory_fd, &byte, 1, (off_t)(uintptr_t)(pages + turn * PAGE)) < 0)
			break;
		rest(20);
	}
	return context;
}

static void *change_map(void *context)
{
	rest(200); // until the page is waited for
	for (;;) {
		void *page;

		rest(10);
		page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (page != MAP_FAILED)
			munmap(page, PAGE);
	}
	return context;
}

static int execute(void *context)
{
	char *const arguments[] = { "sleep", "1000", NULL };

	(void)context;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execv("/bin/sleep", arguments);
	return 1;
}

FRAME lock_leaf(unsigned int rounds)
{
	uint64_t x = 88172645463325252u;

	while (rounds--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		__asm__ volatile("" : "+r"(x));
	}
}

FRAME lock_root(void)
{
	for (;;) {
		lock_leaf(2000000);
		rest(40);
	}
	__asm__ volatile("");
}

static void begin_threads(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, read_page, NULL) ||
	    pthread_create(&thread, NULL, change_map, NULL))
		fail("thread");
}

static void be_locked(const char *path, unsigned int user)
{
	static _Alignas(16) char stack[STACK_BYTES];
	int file;

	become(user);
	file = open(path, O_RDONLY);
	if (file < 0)
		fail(path);
	pages = mmap(NULL, (size_t)FILE_PAGES * PAGE, PROT_READ, MAP_PRIVATE, file, 0);
	memory_fd = open("/proc/self/mem", O_RDONLY);
	if (pages == MAP_FAILED || memory_fd < 0)
		fail("its own memory");
	if (is("undumpable"))
		prctl(PR_SET_DUMPABLE, 0);
	memset(stack, 0, sizeof(stack));
	begin_threads();
	rest(400);
	// What is read by its own end would wait for the lock as well: a pipe does not.
	if (is("exec") && clone(execute, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL) < 0)
		fail("clone");
	rest(50);
	if (write(ready_pipe[1], "x", 1) != 1)
		fail("pipe");
	lock_root();
}

int main(int argc, char **argv)
{
	unsigned int user, count;
	char path[4096], byte;

	if (argc != 5)
		return 2;
	user = (unsigned int)strtoul(argv[2], NULL, 10);
	count = (unsigned int)strtoul(argv[3], NULL, 10);
	how = argv[4];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (count > PROCESSES_MOST || pipe(ready_pipe))
		fail("begin");
	mount_it(argv[1], user);
	snprintf(path, sizeof(path), "%s/file", argv[1]);
	for (unsigned int i = 0; i < count; i++)
		if (!fork())
			be_locked(path, user);
	close(ready_pipe[1]);
	for (unsigned int i = 0; i < count; i++)
		if (read(ready_pipe[0], &byte, 1) != 1)
			fail("one of the processes");
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
