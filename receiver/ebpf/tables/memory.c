// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include "base/base.h"

#include <errno.h>
#include <string.h>

enum {
	GRACE_NS = 100000000, /* a walk takes less than a millisecond */
	COMPACT = 64,
	KINDS = 2,
	WORDS = (UNWIND_SLAB_LINES + 63) / 64,
};

struct slab {
	uint64_t used[WORDS]; /* a bit for each line */
	uint32_t free_lines;
};

/* Lines that were freed; given back when their grace is over. */
struct grace {
	uint32_t handle, lines;
	uint64_t until_ns;
};

struct memory {
	struct memory_slabs slabs;
	uint64_t (*clock_ns)(void);
	uint64_t limit; /* slabs */
	VECTOR(struct slab) table;
	VECTOR(struct grace) waiting; /* in order of time from `first` on */
	size_t first;
	uint64_t used_lines[KINDS];  /* of objects that are not freed */
	struct shares shares[KINDS]; /* bytes */
};

struct memory *memory_create(const struct memory_slabs *slabs, uint64_t limit_bytes,
			     uint64_t (*clock_ns)(void))
{
	struct memory *memory = calloc(1, sizeof(*memory));

	if (!memory)
		return NULL;
	memory->slabs = *slabs;
	memory->clock_ns = clock_ns;
	memory->limit = limit_bytes / UNWIND_SLAB_BYTES;
	return memory;
}

void memory_destroy(struct memory *memory)
{
	if (!memory)
		return;
	VECTOR_DEINIT(&memory->table);
	VECTOR_DEINIT(&memory->waiting);
	for (size_t kind = 0; kind < KINDS; kind++)
		shares_deinit(&memory->shares[kind]);
	free(memory);
}

static uint32_t lines_of(size_t length)
{
	return (uint32_t)((length + UNWIND_LINE_BYTES - 1) / UNWIND_LINE_BYTES);
}

/* ---- lines of a slab ---- */

static bool slab_is_used(const struct slab *slab, uint32_t line)
{
	return slab->used[line / 64] >> (line % 64) & 1;
}

static void slab_mark(struct slab *slab, uint32_t line, uint32_t count, bool used)
{
	for (uint32_t i = line; i < line + count; i++) {
		if (used)
			slab->used[i / 64] |= UINT64_C(1) << (i % 64);
		else
			slab->used[i / 64] &= ~(UINT64_C(1) << (i % 64));
	}
	slab->free_lines += used ? -count : count;
}

/* The first line of @count free ones in a row; UINT32_MAX when there are none. */
static uint32_t slab_find(const struct slab *slab, uint32_t count)
{
	uint32_t length = 0;

	if (slab->free_lines < count)
		return UINT32_MAX;
	for (uint32_t line = 0; line < UNWIND_SLAB_LINES; line++) {
		length = slab_is_used(slab, line) ? 0 : length + 1;
		if (length == count)
			return line + 1 - count;
	}
	return UINT32_MAX;
}

/* ---- objects ---- */

static void end_grace(struct memory *memory)
{
	uint64_t now = memory->clock_ns();
	struct grace *items = memory->waiting.items;

	while (memory->first < memory->waiting.count && items[memory->first].until_ns <= now) {
		const struct grace *grace = &items[memory->first++];

		slab_mark(&memory->table.items[grace->handle >> UNWIND_LINE_BITS],
			  grace->handle & ((1 << UNWIND_LINE_BITS) - 1), grace->lines, false);
	}
	if (memory->first < COMPACT || memory->first < memory->waiting.count / 2)
		return;
	memory->waiting.count -= memory->first;
	memmove(items, items + memory->first, memory->waiting.count * sizeof(*items));
	memory->first = 0;
}

static bool add_slab(struct memory *memory)
{
	uint32_t number = (uint32_t)memory->table.count;
	struct slab slab = { .free_lines = UNWIND_SLAB_LINES };

	if (number >= memory->limit || !VECTOR_RESERVE(&memory->table, 1) ||
	    memory->slabs.create(memory->slabs.context, number) != 0)
		return false;
	// Handle 0 is no object.
	if (!number)
		slab_mark(&slab, 0, 1, true);
	memory->table.items[memory->table.count++] = slab;
	return true;
}

static bool find_lines(struct memory *memory, uint32_t count, uint32_t *slab_ret,
		       uint32_t *line_ret)
{
	for (uint32_t i = 0; i < memory->table.count || add_slab(memory); i++) {
		uint32_t line = slab_find(&memory->table.items[i], count);

		if (line == UINT32_MAX)
			continue;
		*slab_ret = i;
		*line_ret = line;
		return true;
	}
	return false;
}

/* Bytes that there may be of @kind. */
static uint64_t room_of(const struct memory *memory, enum memory_kind kind)
{
	return memory_limit(memory) / (kind == MEMORY_FIXED ? 2 : 1);
}

static bool has_share(const struct memory *memory, enum memory_kind kind, uint32_t lines)
{
	return kind == MEMORY_DROPPABLE ||
	       (memory->used_lines[kind] + lines) * UNWIND_LINE_BYTES <= room_of(memory, kind);
}

static uint64_t free_of(const struct memory *memory, enum memory_kind kind)
{
	uint64_t used = kind == MEMORY_FIXED ? memory->used_lines[kind] * UNWIND_LINE_BYTES
					     : memory_used(memory);
	uint64_t room = room_of(memory, kind);

	return used < room ? room - used : 0;
}

uint64_t memory_charge(size_t length)
{
	return lines_of(length) * (uint64_t)UNWIND_LINE_BYTES;
}

struct shares *memory_shares(struct memory *memory, enum memory_kind kind)
{
	return &memory->shares[kind];
}

bool memory_admits(const struct memory *memory, enum memory_kind kind, struct owner owner,
		   size_t length)
{
	return shares_admit(&memory->shares[kind], owner, memory_charge(length),
			    room_of(memory, kind), free_of(memory, kind));
}

bool memory_largest(const struct memory *memory, enum memory_kind kind, struct owner *ret)
{
	uint64_t room = room_of(memory, kind);

	return free_of(memory, kind) < shares_reserve(room) &&
	       shares_largest(&memory->shares[kind], room, ret);
}

uint32_t memory_put(struct memory *memory, enum memory_kind kind, const void *bytes, size_t length)
{
	uint32_t lines = lines_of(length), slab, line;

	end_grace(memory);
	// The first line of the first slab is taken: the longest object needs another one.
	if (!length || length > UNWIND_OBJECT_BYTES || !has_share(memory, kind, lines) ||
	    !find_lines(memory, lines, &slab, &line) ||
	    memory->slabs.write(memory->slabs.context, slab, line * UNWIND_LINE_BYTES, bytes,
				length) != 0)
		return 0;
	slab_mark(&memory->table.items[slab], line, lines, true);
	memory->used_lines[kind] += lines;
	return slab << UNWIND_LINE_BITS | line;
}

static uint32_t start_of(uint32_t handle)
{
	return (handle & ((1 << UNWIND_LINE_BITS) - 1)) * UNWIND_LINE_BYTES;
}

int memory_read(const struct memory *memory, uint32_t handle, void *bytes, size_t length)
{
	uint32_t start = start_of(handle);

	if (!handle || handle >> UNWIND_LINE_BITS >= memory->table.count ||
	    length > UNWIND_OBJECT_BYTES - start)
		return -EINVAL;
	return memory->slabs.read(memory->slabs.context, handle >> UNWIND_LINE_BITS, start, bytes,
				  length);
}

int memory_change(struct memory *memory, uint32_t handle, uint32_t offset, const void *bytes,
		  size_t length)
{
	uint32_t start = start_of(handle);

	if (!handle || handle >> UNWIND_LINE_BITS >= memory->table.count ||
	    offset > UNWIND_OBJECT_BYTES - start || length > UNWIND_OBJECT_BYTES - start - offset)
		return -EINVAL;
	return memory->slabs.write(memory->slabs.context, handle >> UNWIND_LINE_BITS,
				   start + offset, bytes, length);
}

void memory_free(struct memory *memory, enum memory_kind kind, uint32_t handle, size_t length)
{
	struct grace grace = {
		.handle = handle,
		.lines = lines_of(length),
		.until_ns = memory->clock_ns() + GRACE_NS,
	};

	if (!handle)
		return;
	memory->used_lines[kind] -= grace.lines;
	// Without memory to remember it, its place stays taken.
	(void)VECTOR_PUSH(&memory->waiting, grace);
}

void memory_set_limit(struct memory *memory, uint64_t limit_bytes)
{
	memory->limit = limit_bytes / UNWIND_SLAB_BYTES;
}

void memory_trim(struct memory *memory)
{
	size_t count = memory->table.count;

	end_grace(memory);
	// The first one has a line that is nobody's.
	while (count > 1 && memory->table.items[count - 1].free_lines == UNWIND_SLAB_LINES)
		count--;
	memory->table.count = count;
	memory->slabs.keep(memory->slabs.context, (uint32_t)count);
}

uint64_t memory_used(const struct memory *memory)
{
	return (memory->used_lines[MEMORY_DROPPABLE] + memory->used_lines[MEMORY_FIXED]) *
	       UNWIND_LINE_BYTES;
}

uint64_t memory_limit(const struct memory *memory)
{
	return memory->limit * UNWIND_SLAB_BYTES;
}
