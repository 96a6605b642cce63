// SPDX-License-Identifier: Apache-2.0
/*
 * Computes in code that it has made in memory of no file, for as long as it lives. Says where that
 * lies: its address, and how long it is, in hexadecimal digits. The first argument says which
 * memory: `private`, which it is without one, `shared`, or `twice`, mapped at two places; or it is
 * `short`, and the code does nothing but make its frame and leave it. With a file as its second
 * argument it waits for a byte, and maps that, as those do who write a jitdump.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Counts down from ten million, with a frame pointer. */
#if defined(__x86_64__)
static const unsigned char made[] = {
	0x55,                         /* push %rbp */
	0x48, 0x89, 0xe5,             /* mov %rsp, %rbp */
	0xb9, 0x80, 0x96, 0x98, 0x00, /* mov $10000000, %ecx */
	0xff, 0xc9,                   /* dec %ecx */
	0x75, 0xfc,                   /* jne, two instructions back */
	0x5d,                         /* pop %rbp */
	0xc3,                         /* ret */
};
static const unsigned char made_short[] = {
	0x55,             /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
	0x5d,             /* pop %rbp */
	0xc3,             /* ret */
};
#else
static const uint32_t made[] = {
	0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
	0x910003fd, /* mov x29, sp */
	0x5292d000, /* mov w0, #0x9680 */
	0x72a01300, /* movk w0, #0x98, lsl #16 */
	0x71000400, /* subs w0, w0, #1 */
	0x54ffffe1, /* b.ne, one instruction back */
	0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
	0xd65f03c0, /* ret */
};
static const uint32_t made_short[] = {
	0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
	0x910003fd, /* mov x29, sp */
	0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
	0xd65f03c0, /* ret */
};
#endif

enum { BYTES = 4096 };

struct code {
	const void *bytes;
	size_t size;
};

/* Write the code to memory that is mapped at another place, too, where it may be executed. */
static void *make_twice(const struct code *code)
{
	int fd = memfd_create("twice", MFD_CLOEXEC);
	void *memory, *written;

	if (fd < 0 || ftruncate(fd, BYTES))
		return MAP_FAILED;
	memory = mmap(NULL, BYTES, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	written = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED || written == MAP_FAILED)
		return MAP_FAILED;
	memcpy(written, code->bytes, code->size);
	return memory;
}

static void *make_once(const struct code *code, int sharing)
{
	void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return memory;
	memcpy(memory, code->bytes, code->size);
	return mprotect(memory, BYTES, PROT_READ | PROT_EXEC) ? MAP_FAILED : memory;
}

static void *make(const char *kind, const struct code *code)
{
	if (!strcmp(kind, "twice"))
		return make_twice(code);
	return make_once(code, strcmp(kind, "shared") != 0 ? MAP_PRIVATE : MAP_SHARED);
}

static int map_file(const char *path)
{
	int fd;

	(void)getchar();
	fd = open(path, O_RDONLY);
	return fd < 0 || mmap(NULL, BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "private";
	struct code code = strcmp(kind, "short") != 0
				   ? (struct code){ made, sizeof(made) }
				   : (struct code){ made_short, sizeof(made_short) };
	void *memory = make(kind, &code);
	void (*count)(void);

	if (memory == MAP_FAILED)
		return 1;
	__builtin___clear_cache((char *)memory, (char *)memory + code.size);
	memcpy(&count, &memory, sizeof(count));
	printf("%lx %zx\n", (unsigned long)(uintptr_t)memory, code.size);
	fflush(stdout);
	if (argc > 2 && map_file(argv[2]))
		return 1;
	for (;;)
		count();
}
