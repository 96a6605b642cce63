// SPDX-License-Identifier: Apache-2.0
#include "frame_rows.h"

#include <stdlib.h>

void frame_rows_deinit(struct frame_rows *rows)
{
	VECTOR_DEINIT(&rows->frames);
	VECTOR_DEINIT(&rows->wanted);
	intern_deinit(&rows->index);
}

struct sought {
	const struct frame_rows *rows;
	const struct runtime_frame *frame;
	uint32_t runtime;
};

static bool is_sought(uint32_t id, const void *context)
{
	const struct sought *sought = context;
	const struct named_frame *row = &sought->rows->frames.items[id];

	return row->runtime == sought->runtime && row->frame.object == sought->frame->object &&
	       row->frame.position == sought->frame->position &&
	       row->frame.check == sought->frame->check && row->frame.kind == sought->frame->kind;
}

static uint32_t hash_of(uint64_t seed, const struct runtime_frame *frame)
{
	return intern_hash_seeded(frame, sizeof(*frame), seed);
}

uint32_t frame_rows_find(const struct frame_rows *rows, uint64_t seed, uint32_t runtime,
			 const struct runtime_frame *frame)
{
	const struct sought sought = { rows, frame, runtime };

	return intern_find(&rows->index, hash_of(seed, frame), is_sought, &sought);
}

uint32_t frame_rows_add(struct frame_rows *rows, uint64_t seed, uint32_t runtime,
			const struct runtime_frame *frame)
{
	uint32_t row = (uint32_t)rows->frames.count;

	if (!VECTOR_RESERVE(&rows->frames, 1) ||
	    !intern_insert(&rows->index, hash_of(seed, frame), row))
		return INTERN_MISSING;
	rows->frames.items[rows->frames.count++] =
		(struct named_frame){ .runtime = runtime, .state = FRAME_CROWDED, .frame = *frame };
	return row;
}

/* The middle of the time in which frames were last asked for. */
static uint64_t middle_ns(const struct frame_rows *rows)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < rows->frames.count; i++) {
		uint64_t time = rows->frames.items[i].last_ns;

		first = time < first ? time : first;
		last = time > last ? time : last;
	}
	return first < last ? first + (last - first) / 2 : last;
}

static bool is_kept(const struct named_frame *frame, uint64_t since_ns)
{
	return frame->last_ns > since_ns || frame->state == FRAME_WANTED ||
	       frame->state == FRAME_ASKED;
}

/* Copies the rows that are kept to @kept, which has none; names stay owned by @rows. False without
 * memory: some are missing. */
static bool copy_kept(const struct frame_rows *rows, uint64_t seed, uint64_t since_ns,
		      struct frame_rows *kept)
{
	for (size_t i = 0; i < rows->frames.count; i++) {
		const struct named_frame *frame = &rows->frames.items[i];
		uint32_t row = (uint32_t)kept->frames.count;

		if (is_kept(frame, since_ns) &&
		    (!VECTOR_PUSH(&kept->frames, *frame) ||
		     !intern_insert(&kept->index, hash_of(seed, &frame->frame), row)))
			return false;
	}
	if (!VECTOR_RESERVE(&kept->wanted, rows->wanted.count))
		return false;
	for (size_t i = 0; i < rows->wanted.count; i++) {
		const struct named_frame *frame = &rows->frames.items[rows->wanted.items[i]];

		kept->wanted.items[kept->wanted.count++] =
			frame_rows_find(kept, seed, frame->runtime, &frame->frame);
	}
	return true;
}

size_t frame_rows_thin(struct frame_rows *rows, uint64_t seed, size_t *bytes_ret)
{
	uint64_t since_ns = middle_ns(rows);
	struct frame_rows kept = { 0 };
	size_t count = 0;

	*bytes_ret = 0;
	if (!copy_kept(rows, seed, since_ns, &kept) || kept.frames.count == rows->frames.count) {
		frame_rows_deinit(&kept);
		return 0;
	}
	for (size_t i = 0; i < rows->frames.count; i++) {
		struct named_frame *frame = &rows->frames.items[i];

		if (is_kept(frame, since_ns))
			continue;
		*bytes_ret += FRAME_ROW_BYTES + (frame->name ? frame->name->bytes : 0);
		free(frame->name);
		count++;
	}
	frame_rows_deinit(rows);
	*rows = kept;
	return count;
}
