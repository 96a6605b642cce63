// SPDX-License-Identifier: Apache-2.0
#include "mappings.h"

#include "base/base.h"

#include <errno.h>
#include <string.h>

enum {
	FIRST_CAPACITY = 8,
	LARGE_CAPACITY = 1024, /* from here on it grows by quarters */
};

/* A file that has been written to was so before it was mapped again, if that was not long ago. */
static const uint64_t REPEAT_NS = 2000000000;

void mappings_deinit(struct mappings *mappings, struct texts *texts)
{
	for (size_t i = 0; i < mappings->now.count; i++)
		texts_release(texts, mappings->now.items[i].path);
	for (size_t i = 0; i < mappings->past.count; i++)
		texts_release(texts, mappings->past.items[i].mapping.path);
	free(mappings->now.memory);
	mappings->now.items = mappings->now.memory = NULL;
	mappings->now.count = mappings->now.capacity = 0;
	VECTOR_DEINIT(&mappings->past);
}

/* Items of room before the first, and behind the last. */
static size_t room_before(const struct mappings *mappings)
{
	return (size_t)(mappings->now.items - mappings->now.memory);
}

static size_t room_behind(const struct mappings *mappings)
{
	return mappings->now.capacity - room_before(mappings) - mappings->now.count;
}

/* Have memory for @capacity items, with @before free ones before the first. False without. */
static bool move_items(struct mappings *mappings, size_t capacity, size_t before)
{
	struct mapping *memory = calloc(capacity, sizeof(*memory));

	if (!memory)
		return false;
	if (mappings->now.count)
		memcpy(memory + before, mappings->now.items, mappings->now.count * sizeof(*memory));
	free(mappings->now.memory);
	mappings->now.memory = memory;
	mappings->now.items = memory + before;
	mappings->now.capacity = capacity;
	return true;
}

/* Room for @extra more items at one of the ends. False without memory. */
static bool reserve(struct mappings *mappings, size_t at, size_t extra)
{
	size_t count = mappings->now.count, capacity = mappings->now.capacity;

	if (room_before(mappings) >= extra || room_behind(mappings) >= extra)
		return true;
	capacity = capacity ? capacity : FIRST_CAPACITY;
	while (capacity < count + extra)
		capacity += capacity < LARGE_CAPACITY ? capacity : capacity / 4;
	// At the end that is nearer to what comes now.
	return move_items(mappings, capacity, at < count - at ? capacity - count : 0);
}

/* Items [@first, @last) become @count others, for which there is room at one of the ends. */
static void replace(struct mappings *mappings, size_t first, size_t last,
		    const struct mapping *pieces, size_t count)
{
	size_t behind = mappings->now.count - last, removed = last - first;
	struct mapping *items = mappings->now.items;

	if (count > removed && room_before(mappings) >= count - removed &&
	    (first < behind || room_behind(mappings) < count - removed)) {
		mappings->now.items -= count - removed;
		memmove(mappings->now.items, items, first * sizeof(*items));
	} else {
		memmove(items + first + count, items + last, behind * sizeof(*items));
	}
	memcpy(mappings->now.items + first, pieces, count * sizeof(*items));
	mappings->now.count = mappings->now.count - removed + count;
}

/* Memory that was needed for many more than there are now is given back. */
static void shrink(struct mappings *mappings)
{
	size_t count = mappings->now.count, capacity = mappings->now.capacity;

	while (capacity > FIRST_CAPACITY && 4 * count < capacity)
		capacity /= 2;
	// Without memory, another time.
	if (capacity != mappings->now.capacity)
		(void)move_items(mappings, capacity, (capacity - count) / 2);
}

/* The same of what was covered. */
static void shrink_past(struct mappings *mappings)
{
	size_t count = mappings->past.count;
	struct past_mapping *items;

	if (!count) {
		VECTOR_DEINIT(&mappings->past);
		return;
	}
	if (4 * count >= mappings->past.capacity)
		return;
	items = realloc(mappings->past.items, 2 * count * sizeof(*items));
	if (!items)
		return;
	mappings->past.items = items;
	mappings->past.capacity = 2 * count;
}

/* Room for @extra more that are covered, of which the last ones are kept. False without memory. */
static bool reserve_past(struct mappings *mappings, size_t extra)
{
	size_t most = MAPPINGS_PAST_MAX - mappings->past.count;

	return VECTOR_RESERVE(&mappings->past, extra < most ? extra : most);
}

/* The first of `now` that ends behind @address. */
static size_t first_behind(const struct mappings *mappings, uint64_t address)
{
	size_t low = 0, high = mappings->now.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (mappings->now.items[middle].limit > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* @mapping cut to [start, limit), with a reference of its own. */
static struct mapping cut(const struct mapping *mapping, struct texts *texts, uint64_t start,
			  uint64_t limit)
{
	struct mapping piece = *mapping;

	piece.start = start;
	piece.limit = limit;
	piece.file_offset += start - mapping->start;
	texts_share(texts, piece.path);
	return piece;
}

/* Is @new part of what @old says already? Then mprotect() or a second reading has told of it. */
static bool is_known(const struct mapping *old, const struct mapping *new)
{
	if (new->start < old->start || new->limit > old->limit || new->path != old->path ||
	    new->device != old->device || new->inode != old->inode)
		return false;
	return !new->inode || new->file_offset == old->file_offset + (new->start - old->start);
}

/* @known has been told again. Of a part of it the time is not kept: that would split it. */
static void note_again(struct mappings *mappings, struct mapping *known, const struct mapping *told)
{
	if (told->start != known->start || told->limit != known->limit)
		return;
	if (told->begin_ns <= known->begin_ns || told->begin_ns <= known->again_ns)
		return;
	known->again_ns = told->begin_ns;
	mappings->repeats++;
}

static void forget_oldest(struct mappings *mappings, struct texts *texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		texts_release(texts, mappings->past.items[i].mapping.path);
	mappings->past.count -= count;
	memmove(mappings->past.items, mappings->past.items + count,
		mappings->past.count * sizeof(*mappings->past.items));
}

static void cover(struct mappings *mappings, struct texts *texts, struct mapping piece,
		  uint64_t end_ns)
{
	if (mappings->past.count >= MAPPINGS_PAST_MAX)
		forget_oldest(mappings, texts, MAPPINGS_PAST_MAX / 2);
	// The room was made before anything was changed.
	mappings->past.items[mappings->past.count++] =
		(struct past_mapping){ .mapping = piece, .end_ns = end_ns };
	if (mappings->ended_ns < end_ns)
		mappings->ended_ns = end_ns;
}

/*
 * Lay @new over items [first, last) of `now`, which all overlap it, and write what
 * stands there afterwards to @pieces. Returns how many.
 */
static size_t lay_over(struct mappings *mappings, struct texts *texts, const struct mapping *new,
		       size_t first, size_t last, struct mapping *pieces)
{
	uint64_t from = new->start; /* where the visible part of @new begins that is not out yet */
	struct mapping rest = { 0 };
	size_t count = 0;

	for (size_t i = first; i < last; i++) {
		struct mapping *old = &mappings->now.items[i];
		uint64_t start = old->start > new->start ? old->start : new->start;
		uint64_t limit = old->limit < new->limit ? old->limit : new->limit;

		if (old->begin_ns > new->begin_ns) {
			// Told late: the older one shows only until the newer came.
			if (from < start)
				pieces[count++] = cut(new, texts, from, start);
			cover(mappings, texts, cut(new, texts, start, limit), old->begin_ns);
			pieces[count++] = *old;
			from = limit;
			continue;
		}
		if (from < start && old->again_ns > new->begin_ns)
			pieces[count++] = cut(new, texts, from, start);
		if (old->start < start)
			pieces[count++] = cut(old, texts, old->start, start);
		if (old->limit > limit)
			rest = cut(old, texts, limit, old->limit);
		cover(mappings, texts, cut(old, texts, start, limit), new->begin_ns);
		if (old->again_ns > new->begin_ns) {
			// Told late too: what was there before came back.
			cover(mappings, texts, cut(new, texts, start, limit), old->again_ns);
			pieces[count] = cut(old, texts, start, limit);
			pieces[count++].begin_ns = old->again_ns;
			from = limit;
		}
		texts_release(texts, old->path);
	}
	if (from < new->limit)
		pieces[count++] = cut(new, texts, from, new->limit);
	if (rest.limit)
		pieces[count++] = rest;
	return count;
}

/* What is left of @old in `now` when [@start, @limit) of it has ended, to @pieces. Returns how
 * many. */
static size_t end_part(struct mappings *mappings, struct texts *texts, struct mapping *old,
		       uint64_t start, uint64_t limit, uint64_t time_ns, struct mapping *pieces)
{
	size_t count = 0;

	if (old->begin_ns > time_ns) {
		pieces[count++] = *old;
		return count;
	}
	if (old->start < start)
		pieces[count++] = cut(old, texts, old->start, start);
	else
		start = old->start;
	if (old->limit < limit)
		limit = old->limit;
	cover(mappings, texts, cut(old, texts, start, limit), time_ns);
	if (old->again_ns > time_ns) {
		// It has come back since.
		pieces[count] = cut(old, texts, start, limit);
		pieces[count++].begin_ns = old->again_ns;
	}
	if (old->limit > limit)
		pieces[count++] = cut(old, texts, limit, old->limit);
	texts_release(texts, old->path);
	return count;
}

/* By how many @count is more than @than. */
static size_t more(size_t count, size_t than)
{
	return count > than ? count - than : 0;
}

int mappings_end(struct mappings *mappings, struct texts *texts, uint64_t start, uint64_t limit,
		 uint64_t time_ns)
{
	size_t first = first_behind(mappings, start), last = first, count = 0, ended = 0;
	size_t most = 2; // the rest of the first, and of the last
	CLEANUP_FREE struct mapping *pieces = NULL;

	for (; last < mappings->now.count && mappings->now.items[last].start < limit; last++) {
		const struct mapping *old = &mappings->now.items[last];

		ended += old->begin_ns <= time_ns;
		most += old->begin_ns > time_ns || old->again_ns > time_ns;
	}
	if (!ended)
		return 0;
	pieces = calloc(most, sizeof(*pieces));
	if (!pieces || !reserve(mappings, first, more(most, last - first)) ||
	    !reserve_past(mappings, ended))
		return -ENOMEM;
	for (size_t i = first; i < last; i++)
		count += end_part(mappings, texts, &mappings->now.items[i], start, limit, time_ns,
				  pieces + count);
	replace(mappings, first, last, pieces, count);
	shrink(mappings);
	mappings->changes++;
	return 0;
}

/* How many items [@first, @last) of `now` become at most when @new is laid over them. */
static size_t most_pieces(const struct mappings *mappings, const struct mapping *new, size_t first,
			  size_t last)
{
	size_t count = 1; // @new in one piece

	// What stands above it stays, and cuts it in two.
	for (size_t i = first; i < last; i++) {
		const struct mapping *old = &mappings->now.items[i];

		if (old->begin_ns > new->begin_ns || old->again_ns > new->begin_ns)
			count += 2;
	}
	if (first < last && mappings->now.items[first].start < new->start)
		count++;
	if (first < last && mappings->now.items[last - 1].limit > new->limit)
		count++;
	return count;
}

/* There is no room for @new, but what it replaces has ended. One that it would cut in two ends at
 * its start, since there is no room for that either. */
static int refuse(struct mappings *mappings, struct texts *texts, const struct mapping *new,
		  size_t first, size_t last)
{
	uint64_t limit = new->limit;

	if (last == first + 1 && mappings->now.items[first].start < new->start &&
	    mappings->now.items[first].limit > limit)
		limit = mappings->now.items[first].limit;
	return mappings_end(mappings, texts, new->start, limit, new->begin_ns) ? -ENOMEM : -ENOSPC;
}

int mappings_add(struct mappings *mappings, struct texts *texts, const struct mapping *mapping,
		 size_t most)
{
	size_t first = first_behind(mappings, mapping->start), last = first, count;
	CLEANUP_FREE struct mapping *pieces = NULL;

	while (last < mappings->now.count && mappings->now.items[last].start < mapping->limit)
		last++;
	if (last == first + 1 && is_known(&mappings->now.items[first], mapping)) {
		note_again(mappings, &mappings->now.items[first], mapping);
		return 0;
	}
	count = most_pieces(mappings, mapping, first, last);
	if (mappings->now.count - (last - first) + count > most)
		return refuse(mappings, texts, mapping, first, last);
	pieces = calloc(count, sizeof(*pieces));
	// Of each overlap at most two are covered.
	if (!pieces || !reserve(mappings, first, more(count, last - first)) ||
	    !reserve_past(mappings, 2 * (last - first)))
		return -ENOMEM;
	count = lay_over(mappings, texts, mapping, first, last, pieces);
	replace(mappings, first, last, pieces, count);
	shrink(mappings);
	mappings->changes++;
	return 0;
}

bool mappings_overlap(const struct mappings *mappings, uint64_t start, uint64_t limit)
{
	size_t first = first_behind(mappings, start);

	return first < mappings->now.count && mappings->now.items[first].start < limit;
}

static bool holds(const struct mapping *mapping, uint64_t address)
{
	return mapping->start <= address && address < mapping->limit;
}

/* Only what was covered after @time_ns can answer, and that stands at the end, nearly sorted. */
static const struct mapping *find_past(const struct mappings *mappings, uint64_t time_ns,
				       uint64_t address)
{
	const struct mapping *newest = NULL;

	for (size_t i = mappings->past.count; i; i--) {
		const struct past_mapping *past = &mappings->past.items[i - 1];

		if (!holds(&past->mapping, address) || !past_mapping_held(past, time_ns))
			continue;
		if (!newest || past->mapping.begin_ns > newest->begin_ns)
			newest = &past->mapping;
	}
	return newest;
}

const struct mapping *mappings_find(const struct mappings *mappings, uint64_t time_ns,
				    uint64_t address)
{
	size_t at = first_behind(mappings, address);

	if (at < mappings->now.count && holds(&mappings->now.items[at], address) &&
	    mappings->now.items[at].begin_ns <= time_ns)
		return &mappings->now.items[at];
	return find_past(mappings, time_ns, address);
}

/* Since when @mapping has shown what is in its file at @time_ns, if that has been written to. */
static uint64_t renewal_time(const struct mapping *mapping, uint64_t time_ns)
{
	// A library that is unloaded, written to and loaded again.
	if (mapping->again_ns > mapping->begin_ns && mapping->again_ns <= time_ns &&
	    mapping->again_ns + REPEAT_NS > time_ns)
		return mapping->again_ns;
	return time_ns;
}

size_t mappings_renew(struct mappings *mappings, struct texts *texts, uint32_t file,
		      uint64_t time_ns)
{
	size_t renewed = 0;

	for (size_t i = 0; i < mappings->now.count; i++) {
		struct mapping *mapping = &mappings->now.items[i];
		uint64_t since_ns = renewal_time(mapping, time_ns);

		if (mapping->file != file || mapping->begin_ns >= time_ns ||
		    !reserve_past(mappings, 1))
			continue;
		cover(mappings, texts, cut(mapping, texts, mapping->start, mapping->limit),
		      since_ns);
		mapping->begin_ns = since_ns;
		mapping->again_ns = 0;
		mapping->file = MAPPING_FILE_UNRESOLVED;
		renewed++;
	}
	mappings->changes += renewed;
	return renewed;
}

void mappings_forget(struct mappings *mappings, struct texts *texts, uint64_t time_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < mappings->past.count; i++) {
		struct past_mapping *past = &mappings->past.items[i];

		if (past->end_ns > time_ns)
			mappings->past.items[kept++] = *past;
		else
			texts_release(texts, past->mapping.path);
	}
	mappings->past.count = kept;
	shrink_past(mappings);
}

size_t mappings_memory(const struct mappings *mappings)
{
	return mappings->now.capacity * sizeof(*mappings->now.items) +
	       mappings->past.capacity * sizeof(*mappings->past.items);
}
