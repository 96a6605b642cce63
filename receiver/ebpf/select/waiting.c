// SPDX-License-Identifier: Apache-2.0
#include "waiting.h"

#include "sample.h"

#include <string.h>

enum { WORDS_MOST = (8 << 20) / sizeof(uint64_t), KEPT_WORDS = 8 << 10 };

static size_t words_of(size_t bytes)
{
	return (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t);
}

/* A copy of the first @begin bytes of @head and the last @end ones of @whole. NULL when there is no
 * room, or no memory. */
static struct sample_head *append(struct waiting *waiting, const struct sample_head *head,
				  size_t begin, size_t end, size_t whole)
{
	size_t length = begin + end, words = 1 + words_of(length);
	uint64_t *to;

	if (words > WORDS_MOST || waiting->words.count > WORDS_MOST - words ||
	    !VECTOR_RESERVE(&waiting->words, words))
		return NULL;
	to = waiting->words.items + waiting->words.count;
	*to = length;
	memcpy(to + 1, head, begin);
	memcpy((uint8_t *)(to + 1) + begin, (const uint8_t *)head + whole - end, end);
	waiting->words.count += words;
	waiting->count++;
	return (struct sample_head *)(to + 1);
}

bool waiting_add(struct waiting *waiting, const struct sample_head *head, size_t length)
{
	size_t labels = head->label_bytes, without = head->deferred_bytes + labels;
	bool has_stack = head->deferred_bytes && without < length - sizeof(*head);
	struct sample_head *kept;

	if (!has_stack)
		return append(waiting, head, length, 0, length);
	if (waiting->words.count < WORDS_MOST / 2 && append(waiting, head, length, 0, length))
		return true;
	// Better a cut stack than none.
	kept = append(waiting, head, length - without, labels, length);
	if (kept) {
		kept->deferred_bytes = 0;
		// Of a copied stack nothing is left then.
		if (!kept->end)
			kept->end = UNWIND_END_NOT_COPIED;
	}
	return kept;
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

void waiting_deinit(struct waiting *waiting)
{
	VECTOR_DEINIT(&waiting->words);
	waiting->count = 0;
}
