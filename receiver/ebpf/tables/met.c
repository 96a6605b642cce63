// SPDX-License-Identifier: Apache-2.0
#include "met.h"

#include "code_copy.h"

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
	size_t code_most;
	VECTOR(struct held) held;
	struct process_key key; /* whose `code` is */
	struct code_copy code;
};

struct met *met_create(struct processes *processes, struct pages *pages, size_t code_most)
{
	struct met *met = calloc(1, sizeof(*met));

	if (!met)
		return NULL;
	met->processes = processes;
	met->pages = pages;
	met->code_most = code_most;
	return met;
}

void met_destroy(struct met *met)
{
	if (!met)
		return;
	VECTOR_DEINIT(&met->held);
	code_copy_deinit(&met->code);
	free(met);
}

/* Addresses of one process mostly come one after the other. */
static void read_code(struct met *met, const struct process_key *key)
{
	if (process_key_equal(&met->key, key))
		return;
	met->key = *key;
	code_copy_read(&met->code, met->processes, key, met->code_most);
}

/* False: nobody knows yet which file lies there. */
static bool miss(struct met *met, const struct met_address *at, uint64_t now_ns)
{
	size_t low = 0, high;

	read_code(met, &at->key);
	high = met->code.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct process_code *code = &met->code.items[middle];

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

/* For the next round it is read anew. */
static void forget_code(struct met *met)
{
	met->key = (struct process_key){ 0 };
	code_copy_clear(&met->code);
}

size_t met_take(struct met *met, const struct met_address *addresses, size_t count, uint64_t now_ns)
{
	size_t dropped = 0;

	for (size_t i = 0; i < count; i++) {
		struct held held = { .met = addresses[i], .due_ns = now_ns + FIRST_PAUSE_NS };

		if (miss(met, &addresses[i], now_ns))
			continue;
		// It is missed again when a walk comes by.
		dropped += met->held.count >= HELD_MOST || !VECTOR_PUSH(&met->held, held);
	}
	forget_code(met);
	return dropped;
}

void met_retry(struct met *met, uint64_t now_ns)
{
	size_t kept = 0;

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
	forget_code(met);
}

bool met_waits(const struct met *met)
{
	return met->held.count > 0;
}
