// SPDX-License-Identifier: Apache-2.0
/*
 * many_mappings COUNT FILES: maps the files that the file FILES lists, one to a line, one after the
 * other and again from the first, until there are COUNT mappings of which no two touch. Then it
 * burns CPU in burn_leaf, called through three of them, one after the other all of the lower half
 * and all of the upper, and the highest; before each lie the functions first, second and third.
 * With -DLIBRARY -nostdlib it is such a file, whose only code is `relay`.
 */
typedef void (*relay_function)(void (*next)(void));

#ifdef LIBRARY

/* No frame pointer leads through it: its table only says how long its frame is. */
void relay(void (*next)(void))
{
	char room[144];

	__asm__ volatile("" : : "r"(room) : "memory");
	next();
	__asm__ volatile("" : : "r"(room) : "memory");
}

#else

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define FRAME static __attribute__((noipa)) void

enum { PAGE = 4096, BURN_ROUNDS = 50000 }; /* the file's second page is its code */

static char *memory;
static size_t count, turn;

FRAME burn_leaf(void)
{
	uint64_t x = 88172645463325252u;

	for (unsigned int rounds = 0; rounds < BURN_ROUNDS; rounds++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		__asm__ volatile("" : "+r"(x));
	}
}

static char *place(size_t number)
{
	return memory + 2 * number * PAGE;
}

static relay_function relay_in(size_t number)
{
	char *address = place(number);
	relay_function function;

	memcpy(&function, &address, sizeof(function));
	return function;
}

FRAME third(void)
{
	relay_in(count - 1)(burn_leaf);
	__asm__ volatile("");
}

FRAME second(void)
{
	relay_in(count / 2 + turn % (count / 2))(third);
	__asm__ volatile("");
}

FRAME first(void)
{
	relay_in(turn % (count / 2))(second);
	__asm__ volatile("");
}

/* The next file of the list, open; from the first again at its end. */
static int open_next(FILE *list)
{
	char path[4096];

	if (!fgets(path, sizeof(path), list)) {
		rewind(list);
		if (!fgets(path, sizeof(path), list))
			return -1;
	}
	path[strcspn(path, "\n")] = '\0';
	return open(path, O_RDONLY | O_CLOEXEC);
}

int main(int argc, char **argv)
{
	FILE *list = argc == 3 ? fopen(argv[2], "r") : NULL;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	count = list ? strtoul(argv[1], NULL, 10) : 0;
	if (count < 2)
		return 2;
	memory = mmap(NULL, 2 * count * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < count; i++) {
		int fd = open_next(list);

		if (fd < 0 || mmap(place(i), PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
				   fd, PAGE) == MAP_FAILED)
			return 1;
		close(fd);
	}
	for (;; turn++)
		first();
}

#endif
