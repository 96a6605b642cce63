// SPDX-License-Identifier: Apache-2.0
#include "waiting.h"

#include <string.h>

enum { KEPT_WORDS = 8 << 10 };

static size_t words_of(size_t bytes)
{
	return (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t);
}

bool waiting_add(struct waiting *waiting, const void *record, size_t length)
{
	size_t words = 1 + words_of(length), most = WAITING_MAX_BYTES / sizeof(uint64_t);
	uint64_t *to;

	if (words > most || waiting->words.count > most - words ||
	    !VECTOR_RESERVE(&waiting->words, words))
		return false;
	to = waiting->words.items + waiting->words.count;
	*to = length;
	memcpy(to + 1, record, length);
	waiting->words.count += words;
	waiting->count++;
	return true;
}

void waiting_review(struct waiting *waiting,
		    bool (*is_done)(void *context, const void *record, size_t length),
		    void *context)
{
	uint64_t *words = waiting->words.items;
	size_t kept = 0;

	for (size_t at = 0, next; at < waiting->words.count; at = next) {
		size_t length = words[at];

		next = at + 1 + words_of(length);
		if (is_done(context, &words[at + 1], length)) {
			waiting->count--;
			continue;
		}
		memmove(&words[kept], &words[at], (next - at) * sizeof(*words));
		kept += next - at;
	}
	waiting->words.count = kept;
	// What a burst has taken is given back.
	if (!kept && waiting->words.capacity > KEPT_WORDS)
		VECTOR_DEINIT(&waiting->words);
}

size_t waiting_bytes(const struct waiting *waiting)
{
	return waiting->words.count * sizeof(uint64_t);
}

void waiting_deinit(struct waiting *waiting)
{
	VECTOR_DEINIT(&waiting->words);
	waiting->count = 0;
}
