// SPDX-License-Identifier: Apache-2.0
#include "process_memory.h"

#include "base/base.h"

enum {
	/* Reading some words of a process's memory takes 50 us; it can be made to take for ever. */
	LIMIT_NS = 250000000,
};

struct reading {
	struct processes *processes;
	uint32_t pid;
	uint64_t deadline_ns;
};

/* As runtime_memory.read. */
static bool read_words(void *context, const uint64_t *addresses, size_t count, uint64_t *words)
{
	struct reading *reading = context;

	return clock_monotonic_ns() < reading->deadline_ns &&
	       !processes_read_words(reading->processes, reading->pid, addresses, count, words);
}

void process_memory_look(struct processes *processes, const struct attached *attached,
			 struct runtime_found *ret)
{
	struct reading reading = { processes, attached->key.pid, clock_monotonic_ns() + LIMIT_NS };
	const struct runtime_memory memory = { .read = read_words, .context = &reading };

	*ret = (struct runtime_found){ 0 };
	if (!attached->runtime->attach(attached->layout, attached->base, &memory, ret))
		*ret = (struct runtime_found){ 0 };
}
