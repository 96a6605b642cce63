// SPDX-License-Identifier: Apache-2.0
#include "met.h"

#include "sample.h"

#include "base/base.h"

#include <string.h>

enum {
	HELD_MOST = 2048,
	TRIES = 6, /* over three seconds */
};

static const uint64_t FIRST_PAUSE_NS = 50000000; /* doubled with each try */

struct held {
	struct met_address met;
	uint64_t due_ns;
	uint32_t tries; /* so far */
};

struct met {
	struct processes *processes;
	struct pages *pages;
	VECTOR(struct held) held;
	struct process_key key; /* whose `code` is */
	size_t code_count;
	struct process_code code[UNWIND_RANGES];
};

struct met *met_create(struct processes *processes, struct pages *pages)
{
	struct met *met = calloc(1, sizeof(*met));

	if (!met)
		return NULL;
	met->processes = processes;
	met->pages = pages;
	return met;
}

void met_destroy(struct met *met)
{
	if (!met)
		return;
	VECTOR_DEINIT(&met->held);
	free(met);
}

static bool is_same(const struct process_key *a, const struct process_key *b)
{
	return a->pid == b->pid && a->exec_id == b->exec_id &&
	       a->start_boottime_ns == b->start_boottime_ns;
}

/* Addresses of one process mostly come one after the other. */
static void read_code(struct met *met, const struct process_key *key)
{
	size_t count;

	if (is_same(&met->key, key))
		return;
	met->key = *key;
	count = processes_code(met->processes, key, met->code, UNWIND_RANGES);
	met->code_count = count < UNWIND_RANGES ? count : UNWIND_RANGES;
}

/* False: nobody knows yet which file lies there. */
static bool miss(struct met *met, const struct met_address *at, uint64_t now_ns)
{
	size_t low = 0, high;

	read_code(met, &at->key);
	high = met->code_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct process_code *code = &met->code[middle];

		if (at->address < code->start)
			high = middle;
		else if (at->address >= code->limit)
			low = middle + 1;
		else if (code->file == PROCESS_NO_FILE)
			return true; // no file's code has no table
		else
			return pages_miss(met->pages, code->file,
					  code->file_offset + (at->address - code->start), now_ns);
	}
	return false;
}

void met_take(struct met *met, const struct met_address *addresses, size_t count, uint64_t now_ns)
{
	met->key = (struct process_key){ 0 };
	for (size_t i = 0; i < count; i++)
		if (!miss(met, &addresses[i], now_ns) && met->held.count < HELD_MOST)
			// Without memory it is missed when a walk comes by.
			(void)VECTOR_PUSH(&met->held,
					  ((struct held){ .met = addresses[i],
							  .due_ns = now_ns + FIRST_PAUSE_NS }));
}

void met_retry(struct met *met, uint64_t now_ns)
{
	size_t kept = 0;

	met->key = (struct process_key){ 0 };
	for (size_t i = 0; i < met->held.count; i++) {
		struct held held = met->held.items[i];

		if (now_ns >= held.due_ns) {
			if (miss(met, &held.met, now_ns) || ++held.tries == TRIES)
				continue;
			held.due_ns = now_ns + (FIRST_PAUSE_NS << held.tries);
		}
		met->held.items[kept++] = held;
	}
	met->held.count = kept;
}

bool met_waits(const struct met *met)
{
	return met->held.count > 0;
}
