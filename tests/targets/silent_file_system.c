// SPDX-License-Identifier: Apache-2.0
/*
 * silent_file_system DIRECTORY FILE VICTIM: mounts a file system at DIRECTORY, as of a server on
 * the network, that has a copy of FILE as DIRECTORY/program, and serves it until it is killed.
 * After SIGUSR1 it does not answer any more to processes with VICTIM in their command line, nor to
 * their descendants. After SIGUSR2 it does not answer when they close a file, whatever signals they
 * get meanwhile, and prints a line for each close that waits. All others of the machine, which may
 * be profiled as a whole by somebody else, do not have to wait for it. Nothing about files is
 * remembered by the kernel but the content that is mapped, so that each look at one asks the
 * server.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
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
#include <unistd.h>

enum { PROGRAM = 2, REQUEST_BYTES = 256 << 10, WRITE_MOST = 64 << 10, GENERATIONS_MOST = 8 };

static const char name[] = "program";
static const char *content;
static size_t content_bytes;
static const char *victim;
static volatile sig_atomic_t silent, silent_at_close;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat))
		fail(path);
	content_bytes = (size_t)stat.st_size;
	content = mmap(NULL, content_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (content == MAP_FAILED)
		fail(path);
	close(fd);
}

static struct fuse_attr attributes_of(uint64_t node)
{
	bool is_program = node == PROGRAM;

	return (struct fuse_attr){
		.ino = node,
		.size = is_program ? content_bytes : 0,
		.blocks = (content_bytes + 511) / 512,
		.mtime = 1700000000,
		.mode = is_program ? S_IFREG | 0755 : S_IFDIR | 0755,
		.nlink = is_program ? 1 : 2,
		.blksize = 4096,
	};
}

/* @error: 0 or a negative errno. */
static void answer(int device, const struct fuse_in_header *request, int error, const void *body,
		   size_t bytes)
{
	struct fuse_out_header head = { .len = (uint32_t)(sizeof(head) + bytes),
					.error = error,
					.unique = request->unique };
	const struct iovec parts[] = { { &head, sizeof(head) },
				       { (void *)(uintptr_t)body, bytes } };

	// Whoever asked may have been killed meanwhile.
	if (writev(device, parts, 2) < 0 && errno != ENOENT)
		fail("answer");
}

static void begin(int device, const struct fuse_in_header *request, const void *argument)
{
	const struct fuse_init_in *in = argument;
	const struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION,
					   .minor = FUSE_KERNEL_MINOR_VERSION,
					   .max_readahead = in->max_readahead,
					   .max_background = 16,
					   .congestion_threshold = 12,
					   .max_write = WRITE_MOST,
					   .time_gran = 1 };

	answer(device, request, 0, &out, sizeof(out));
}

static void look_up(int device, const struct fuse_in_header *request, const void *argument)
{
	const struct fuse_entry_out out = { .nodeid = PROGRAM, .attr = attributes_of(PROGRAM) };

	if (strcmp(argument, name))
		answer(device, request, -ENOENT, NULL, 0);
	else
		answer(device, request, 0, &out, sizeof(out));
}

static void read_some(int device, const struct fuse_in_header *request, const void *argument)
{
	const struct fuse_read_in *in = argument;
	size_t offset = in->offset < content_bytes ? (size_t)in->offset : content_bytes;
	size_t bytes = content_bytes - offset < in->size ? content_bytes - offset : in->size;

	answer(device, request, 0, content + offset, bytes);
}

/* ---- whom not to answer ---- */

static void be_silent(int number)
{
	if (number == SIGUSR1)
		silent = 1;
	else
		silent_at_close = 1;
}

/* What /proc has of a process or thread, as text; 0 bytes when it has gone. */
static size_t read_proc(uint32_t pid, const char *what, char *to, size_t size)
{
	char path[64];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? 0 : read(fd, to, size - 1);
	if (fd >= 0)
		close(fd);
	to[length > 0 ? length : 0] = '\0';
	return length > 0 ? (size_t)length : 0;
}

static uint32_t parent_of(uint32_t pid)
{
	char status[1024];
	const char *line;

	read_proc(pid, "status", status, sizeof(status));
	line = strstr(status, "\nPPid:");
	return line ? (uint32_t)strtoul(line + strlen("\nPPid:"), NULL, 10) : 0;
}

static bool is_victim(uint32_t pid)
{
	char line[4096];

	for (int i = 0; pid && i < GENERATIONS_MOST; i++, pid = parent_of(pid)) {
		size_t length = read_proc(pid, "cmdline", line, sizeof(line));

		if (memmem(line, length, victim, strlen(victim)))
			return true;
	}
	return false;
}

/* Who waits for an answer that will not come can be killed: the kernel would not let him go while
 * his request is here. */
static void give_back(int device, const void *argument)
{
	const struct fuse_interrupt_in *in = argument;
	const struct fuse_in_header request = { .unique = in->unique };

	answer(device, &request, -EINTR, NULL, 0);
}

static void serve(int device, const struct fuse_in_header *request, const void *argument)
{
	const struct fuse_attr_out attributes = { .attr = attributes_of(request->nodeid) };
	const struct fuse_open_out opened = { .open_flags = FOPEN_KEEP_CACHE };
	const struct fuse_statfs_out system = { .st = { .bsize = 4096, .namelen = 255 } };

	if (silent_at_close && request->opcode == FUSE_FLUSH && is_victim(request->pid)) {
		if (write(STDOUT_FILENO, "waits\n", 6) < 0)
			fail("stdout");
		return;
	}
	if (silent && is_victim(request->pid))
		return;
	switch (request->opcode) {
	case FUSE_INIT:
		begin(device, request, argument);
		break;
	case FUSE_LOOKUP:
		look_up(device, request, argument);
		break;
	case FUSE_GETATTR:
		answer(device, request, 0, &attributes, sizeof(attributes));
		break;
	case FUSE_OPEN:
		answer(device, request, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		read_some(device, request, argument);
		break;
	case FUSE_STATFS:
		answer(device, request, 0, &system, sizeof(system));
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		answer(device, request, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
		break;
	case FUSE_INTERRUPT:
		if (!silent_at_close)
			give_back(device, argument);
		break;
	default:
		answer(device, request, -ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	_Alignas(8) static char request[REQUEST_BYTES];
	char options[96];
	int device;

	if (argc != 4)
		return 2;
	victim = argv[3];
	signal(SIGUSR1, be_silent);
	signal(SIGUSR2, be_silent);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	load(argv[2]);
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (device < 0)
		fail("/dev/fuse");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other",
		 device);
	if (mount("silent", argv[1], "fuse.silent", 0, options))
		fail("mount");
	for (;;) {
		ssize_t length = read(device, request, sizeof(request));

		if (length < 0 && errno == ENODEV)
			return 0; // unmounted
		if (length >= (ssize_t)sizeof(struct fuse_in_header))
			serve(device, (const void *)request,
			      request + sizeof(struct fuse_in_header));
		else if (length >= 0 || (errno != EINTR && errno != ENOENT))
			fail("read");
	}
}
