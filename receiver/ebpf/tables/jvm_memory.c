// SPDX-License-Identifier: Apache-2.0
#include "jvm_memory.h"

#include "base/base.h"

enum {
	/* Reading some words of a process's memory takes 50 us; it can be made to take for ever. */
	LIMIT_NS = 250000000,
};

struct jvm_reading {
	struct processes *processes;
	uint32_t pid;
	uint64_t deadline_ns;
};

/* A jvm_read_function. */
static bool read_words(void *context, const uint64_t *addresses, size_t count, uint64_t *words)
{
	struct jvm_reading *reading = context;

	return clock_monotonic_ns() < reading->deadline_ns &&
	       !processes_read_words(reading->processes, reading->pid, addresses, count, words);
}

void jvm_memory_read(struct processes *processes, const struct jvm *jvm, struct jvm_heaps *ret)
{
	struct jvm_reading reading = { processes, jvm->key.pid, clock_monotonic_ns() + LIMIT_NS };

	(void)jvm_heaps_read(&jvm->layout, jvm->base, read_words, &reading, ret);
}
