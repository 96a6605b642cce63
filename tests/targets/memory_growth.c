// SPDX-License-Identifier: Apache-2.0
/*
 * Takes 64 MiB of memory by small pages in grow_small(), and 64 MiB by huge ones, where there are
 * any, in grow_huge(), whose bytes differ so that compilers keep both; all once more, after it has
 * given them back, in grow_again().
 */
#define _GNU_SOURCE

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

enum { PAGE = 4096, HUGE_PAGE = 2 << 20 };
static const uint64_t bytes = 64 << 20;

__attribute__((noinline)) static void grow_small(volatile char *memory)
{
	for (uint64_t at = 0; at < bytes; at += PAGE)
		memory[at] = 1;
	__asm__ volatile("");
}

__attribute__((noinline)) static void grow_huge(volatile char *memory)
{
	for (uint64_t at = 0; at < bytes; at += PAGE)
		memory[at] = 2;
	__asm__ volatile("");
}

__attribute__((noinline)) static void grow_again(volatile char *memory)
{
	for (uint64_t at = 0; at < 2 * bytes; at += PAGE)
		memory[at] = 1;
	__asm__ volatile("");
}

int main(void)
{
	char *memory = mmap(NULL, 2 * bytes + HUGE_PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return 1;
	memory += -(uintptr_t)memory % HUGE_PAGE;
	if (madvise(memory, bytes, MADV_NOHUGEPAGE))
		return 1;
	// Without huge pages in this kernel there are small ones.
	madvise(memory + bytes, bytes, MADV_HUGEPAGE);
	grow_small(memory);
	grow_huge(memory + bytes);
	if (madvise(memory, 2 * bytes, MADV_DONTNEED))
		return 1;
	grow_again(memory);
	return 0;
}
