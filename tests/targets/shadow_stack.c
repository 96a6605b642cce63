// SPDX-License-Identifier: Apache-2.0
/*
 * A program that knows its own call chains. Every function pushes its id to a stack in shared
 * memory on entry and pops it on return; a leaf, where nearly all time is spent, also records
 * the chain as it is at that moment. A profiler that reads stacks rightly reports only
 * chains which are in that record.
 *
 * The chains are chosen so that near misses are not in it: main, a direction, a season, a
 * colour, three turns of one recursive function, a leaf. Colour and leaf follow from direction
 * and season, so any two chains differ in two places at least, and every function has its own
 * depths. A chain with a frame left out, repeated, or replaced by any other is none of them.
 *
 * shadow_stack FILE runs until it is killed. `light` and `heavy` work 1 : 3.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { TURNS = 3, MAX_DEPTH = 16, MAX_CHAINS = 64, NAME_BYTES = 16, WAYS = 4 };

enum function {
	MAIN,
	NORTH,
	EAST,
	SOUTH,
	WEST,
	SPRING,
	SUMMER,
	AUTUMN,
	WINTER,
	RED,
	GREEN,
	BLUE,
	BLACK,
	TURN,
	LIGHT,
	HEAVY,
	FUNCTIONS
};

/* The file, in this order, native byte order; tests/e2e/shadow_file.py reads it. */
struct shadow {
	char names[FUNCTIONS][NAME_BYTES];
	uint32_t chain_count; /* of `chains`; MAX_CHAINS + 1 when they did not fit */
	uint32_t depth;
	uint8_t stack[MAX_DEPTH];              /* root first */
	uint8_t chains[MAX_CHAINS][MAX_DEPTH]; /* root first, ends with 0xff */
};

static const char names[FUNCTIONS][NAME_BYTES] = {
	"main",   "north", "east",  "south", "west",  "spring", "summer", "autumn",
	"winter", "red",   "green", "blue",  "black", "turn",   "light",  "heavy",
};

static volatile struct shadow *shadow;

#define FRAME static __attribute__((noinline, noclone)) void

static inline __attribute__((always_inline)) void push(enum function function)
{
	shadow->stack[shadow->depth] = (uint8_t)function;
	shadow->depth = shadow->depth + 1;
}

static inline __attribute__((always_inline)) void pop(void)
{
	shadow->depth = shadow->depth - 1;
}

/* Inlined, so that it is no frame of its own. */
static inline __attribute__((always_inline)) void record_chain(void)
{
	uint32_t depth = shadow->depth, count = shadow->chain_count, chain, at;

	for (chain = 0; chain < count && chain < MAX_CHAINS; chain++) {
		for (at = 0; at < depth; at++)
			if (shadow->chains[chain][at] != shadow->stack[at])
				break;
		if (at == depth && shadow->chains[chain][at] == 0xff)
			return;
	}
	if (count >= MAX_CHAINS) {
		shadow->chain_count = MAX_CHAINS + 1;
		return;
	}
	for (at = 0; at < depth; at++)
		shadow->chains[count][at] = shadow->stack[at];
	shadow->chains[count][depth] = 0xff;
	shadow->chain_count = count + 1;
}

/* A chain of dependent operations: its time is its length, whatever the alignment. */
static inline __attribute__((always_inline)) void work(unsigned int rounds)
{
	uint64_t x = 88172645463325252u;

	while (rounds--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		__asm__ volatile("" : "+r"(x));
	}
}

enum { LIGHT_ROUNDS = 50000 };

FRAME light(void)
{
	push(LIGHT);
	record_chain();
	work(LIGHT_ROUNDS);
	pop();
}

FRAME heavy(void)
{
	push(HEAVY);
	record_chain();
	work(3 * LIGHT_ROUNDS);
	pop();
}

FRAME turn(unsigned int left, unsigned int direction)
{
	push(TURN);
	if (left > 1)
		turn(left - 1, direction);
	else if (direction % 2)
		heavy();
	else
		light();
	pop();
}

#define COLOUR(name, id)                                                                           \
	FRAME name(unsigned int direction)                                                         \
	{                                                                                          \
		push(id);                                                                          \
		turn(TURNS, direction);                                                            \
		pop();                                                                             \
	}
COLOUR(red, RED)
COLOUR(green, GREEN)
COLOUR(blue, BLUE)
COLOUR(black, BLACK)

static void (*const colours[WAYS])(unsigned int) = { red, green, blue, black };

#define SEASON(name, id, season)                                                                   \
	FRAME name(unsigned int direction)                                                         \
	{                                                                                          \
		push(id);                                                                          \
		colours[(direction + (season)) % WAYS](direction);                                 \
		pop();                                                                             \
	}
SEASON(spring, SPRING, 0)
SEASON(summer, SUMMER, 1)
SEASON(autumn, AUTUMN, 2)
SEASON(winter, WINTER, 3)

static void (*const seasons[WAYS])(unsigned int) = { spring, summer, autumn, winter };

#define DIRECTION(name, id, direction)                                                             \
	FRAME name(unsigned int season)                                                            \
	{                                                                                          \
		push(id);                                                                          \
		seasons[season](direction);                                                        \
		pop();                                                                             \
	}
DIRECTION(north, NORTH, 0)
DIRECTION(east, EAST, 1)
DIRECTION(south, SOUTH, 2)
DIRECTION(west, WEST, 3)

static void (*const directions[WAYS])(unsigned int) = { north, east, south, west };

int main(int argc, char **argv)
{
	int fd;

	// Whoever runs this may be killed: do not burn on.
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc != 2) {
		fprintf(stderr, "usage: %s FILE\n", argv[0]);
		return 2;
	}
	fd = open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*shadow))) {
		perror(argv[1]);
		return 1;
	}
	shadow = mmap(NULL, sizeof(*shadow), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shadow == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	memcpy((void *)(uintptr_t)shadow->names, names, sizeof(names));
	push(MAIN);
	for (unsigned int i = 0;; i++)
		directions[i % WAYS](i / WAYS % WAYS);
}
