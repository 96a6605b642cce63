// SPDX-License-Identifier: Apache-2.0
/*
 * Computes in code that it has made in memory of no file, for as long as it lives. Says where that
 * lies: its address, and how long it is, in hexadecimal digits. With a file as its argument it
 * waits for a byte, and maps that, as those do who write a jitdump; with `short` the code does
 * nothing but make its frame and leave it.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

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

static int map_file(const char *path)
{
	int fd;

	(void)getchar();
	fd = open(path, O_RDONLY);
	return fd < 0 || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED;
}

int main(int argc, char **argv)
{
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool is_short = argc > 1 && !strcmp(argv[1], "short");
	size_t size = is_short ? sizeof(made_short) : sizeof(made);
	void (*count)(void);

	if (memory == MAP_FAILED)
		return 1;
	memcpy(memory, is_short ? (const void *)made_short : made, size);
	if (mprotect(memory, 4096, PROT_READ | PROT_EXEC))
		return 1;
	__builtin___clear_cache((char *)memory, (char *)memory + size);
	memcpy(&count, &memory, sizeof(count));
	printf("%lx %zx\n", (unsigned long)(uintptr_t)memory, size);
	fflush(stdout);
	if (argc > 1 && !is_short && map_file(argv[1]))
		return 1;
	for (;;)
		count();
}
