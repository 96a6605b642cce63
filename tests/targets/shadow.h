/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack that a program keeps of itself, for others to compare with: every function pushes its
 * id on entry and pops it on return, and where time is spent it records the chain as it is at
 * that moment. All of it lies in a file that is mapped shared; tests/e2e/shadow_file.py reads it.
 *
 * Before the include, SHADOW_FUNCTIONS(F) lists F(id, "name") of every function, named as its
 * symbol is. What is not the program's own has the name of its file ("libc.so.6", "[vdso]"), the
 * frame between a signal handler and what it interrupted "<signal>". Everything here is inlined,
 * so that it is no frame of its own, and calls nothing but shadow_open().
 */
#pragma once

#include <stdint.h>

#ifndef SHADOW_DEPTH
#define SHADOW_DEPTH  64
#define SHADOW_CHAINS 128
#endif
#define SHADOW_SLOTS 4 /* threads, coroutines, levels of signal handlers */

enum { SHADOW_NAMES = 64, SHADOW_NAME_BYTES = 32, SHADOW_END = 0xff };

struct shadow_slot {
	uint32_t depth;
	uint32_t chain_count;                        /* SHADOW_CHAINS + 1 when they did not fit */
	uint8_t stack[SHADOW_DEPTH];                 /* root first */
	uint8_t chains[SHADOW_CHAINS][SHADOW_DEPTH]; /* root first, end with SHADOW_END */
};

/* The file, native byte order. */
struct shadow {
	uint32_t slots, chains, depth, reserved; /* SHADOW_SLOTS, SHADOW_CHAINS, SHADOW_DEPTH */
	char names[SHADOW_NAMES][SHADOW_NAME_BYTES];
	struct shadow_slot slot[SHADOW_SLOTS];
};

#define SHADOW_ID(id, name)   SHADOW_##id,
#define SHADOW_NAME(id, name) name,

enum shadow_function { SHADOW_FUNCTIONS(SHADOW_ID) SHADOW_COUNT };

static const char *const shadow_names[] = { SHADOW_FUNCTIONS(SHADOW_NAME) };

#define SHADOW_INLINE static inline __attribute__((always_inline, unused))

#ifdef __clang__
#define SHADOW_FRAME __attribute__((noinline))
#else
#define SHADOW_FRAME __attribute__((noipa))
#endif

#ifndef SHADOW_THREAD
#define SHADOW_THREAD /* __thread, where each thread has a slot */
#endif

static struct shadow *shadow;
static SHADOW_THREAD volatile struct shadow_slot *shadow_slot;

/* From here on this thread's calls are in slot @number. */
SHADOW_INLINE void shadow_use(unsigned int number)
{
	shadow_slot = &shadow->slot[number];
}

SHADOW_INLINE void shadow_push(enum shadow_function function)
{
	shadow_slot->stack[shadow_slot->depth] = (uint8_t)function;
	shadow_slot->depth = shadow_slot->depth + 1;
}

SHADOW_INLINE void shadow_pop(void)
{
	shadow_slot->depth = shadow_slot->depth - 1;
}

SHADOW_INLINE void shadow_record(void)
{
	volatile struct shadow_slot *slot = shadow_slot;
	uint32_t depth = slot->depth, count = slot->chain_count, chain, at;

	for (chain = 0; chain < count && chain < SHADOW_CHAINS; chain++) {
		for (at = 0; at < depth; at++)
			if (slot->chains[chain][at] != slot->stack[at])
				break;
		if (at == depth && slot->chains[chain][at] == SHADOW_END)
			return;
	}
	if (count >= SHADOW_CHAINS) {
		slot->chain_count = SHADOW_CHAINS + 1;
		return;
	}
	for (at = 0; at < depth; at++)
		slot->chains[count][at] = slot->stack[at];
	slot->chains[count][depth] = SHADOW_END;
	slot->chain_count = count + 1;
}

/* Records the chain with @function called by the function that runs, which will happen. */
SHADOW_INLINE void shadow_record_call(enum shadow_function function)
{
	shadow_push(function);
	shadow_record();
	shadow_pop();
}

/* A chain of dependent operations: its time is its length, whatever the alignment. */
SHADOW_INLINE void shadow_work(unsigned int rounds)
{
	uint64_t x = 88172645463325252u;

	while (rounds--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		__asm__ volatile("" : "+r"(x));
	}
}

/* @memory is a file of this size, mapped and zero. */
SHADOW_INLINE void shadow_begin(void *memory)
{
	shadow = (struct shadow *)memory;
	shadow->slots = SHADOW_SLOTS;
	shadow->chains = SHADOW_CHAINS;
	shadow->depth = SHADOW_DEPTH;
	for (unsigned int id = 0; id < SHADOW_COUNT; id++)
		for (unsigned int at = 0; at < SHADOW_NAME_BYTES - 1 && shadow_names[id][at]; at++)
			((volatile char *)shadow->names[id])[at] = shadow_names[id][at];
	shadow_use(0);
}

#if __STDC_HOSTED__
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/*
 * For main: its file is the first argument. Returns how many rounds it shall make, the second
 * one, or UINT32_MAX, which nobody waits for.
 */
SHADOW_INLINE uint32_t shadow_open(int argc, char **argv)
{
	void *memory;
	int fd;

	// Whoever runs this may be killed: do not burn on.
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc < 2) {
		fprintf(stderr, "usage: %s FILE [ROUNDS]\n", argv[0]);
		exit(2);
	}
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*shadow))) {
		perror(argv[1]);
		exit(1);
	}
	memory = mmap(NULL, sizeof(*shadow), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	shadow_begin(memory);
	return argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : UINT32_MAX;
}
#endif
