// SPDX-License-Identifier: Apache-2.0
/*
 * Touches new pages of memory, as many as given, 500 a second; then says how many page faults the
 * kernel has counted for this process since main() began.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

enum { PAGE = 4096, PIECE = 50 };

__attribute__((noinline)) static void touch(volatile char *memory)
{
	for (int i = 0; i < PIECE; i++)
		memory[i * PAGE] = 1;
}

static long page_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

int main(int argc, char **argv)
{
	long pages = argc > 1 ? strtol(argv[1], NULL, 10) : 2000, before = page_faults();

	for (long done = 0; done < pages; done += PIECE) {
		char *memory = mmap(NULL, (size_t)PIECE * PAGE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED || madvise(memory, (size_t)PIECE * PAGE, MADV_NOHUGEPAGE))
			return 1;
		touch(memory);
		munmap(memory, (size_t)PIECE * PAGE);
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	}
	printf("%ld\n", page_faults() - before);
	return 0;
}
