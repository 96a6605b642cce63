// SPDX-License-Identifier: Apache-2.0
/*
 * The order of locations changes what a batch takes on the wire: rows that are similar and lie
 * beside each other take less when they are compressed, and stacks take less in which the smallest
 * numbers stand most often (docs/performance.md, "On the wire").
 */
#include "locations_parts.h"

#include <stdlib.h>

enum { NO_FILE = PROCESS_NO_FILE - 1 };

/* Returns where frame @frame_id is; its mapping has been found. */
static struct frame_place place_of(const struct locations *locations, const struct capture *capture,
				   uint32_t frame_id)
{
	const struct capture_frame *frame = &capture->frames.items[frame_id];
	const struct process_mapping *mapping = &locations->frames.items[frame_id].mapping;
	struct frame_place place = {
		.offset = frame->address,
		.of = NO_FILE,
		.frame = frame_id,
	};

	if (frame->process == CAPTURE_FILE) {
		place.of = frame->file;
	} else if (frame->process == CAPTURE_KERNEL) {
		place.of = PROCESS_NO_FILE;
	} else if (mapping->limit && mapping->file != PROCESS_NO_FILE) {
		place.of = mapping->file;
		place.offset = frame->address - mapping->start + mapping->file_offset;
	}
	return place;
}

static int compare_places(const void *left, const void *right)
{
	const struct frame_place *a = left, *b = right;

	if (a->is_common != b->is_common)
		return a->is_common ? -1 : 1;
	if (a->of != b->of)
		return a->of < b->of ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->frame < b->frame ? -1 : a->frame > b->frame;
}

static int compare_counts(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a > b ? -1 : a < b;
}

/* Returns how often a frame stands in stacks if as many as one byte tells stand there more often.
 */
static uint32_t count_of_most(struct locations *locations)
{
	enum { COMMON = 127 }; // numbers of one byte, but for 0
	size_t count = locations->places.count;

	if (count < COMMON)
		return 0;
	for (size_t i = 0; i < count; i++)
		locations->counts.items[i] =
			locations->frames.items[locations->places.items[i].frame].uses;
	qsort(locations->counts.items, count, sizeof(uint32_t), compare_counts);
	return locations->counts.items[COMMON - 1];
}

static void count_uses(struct locations *locations, const struct capture *capture)
{
	for (uint32_t stack = 0; stack < capture->stacks.count; stack++) {
		uint32_t code_end = locations_code_end(locations, capture, stack);

		for (uint32_t at = capture_stack_begin(capture, stack); at < code_end; at++)
			locations->frames.items[capture->stack_frames.items[at]].uses++;
	}
}

void locations_order(struct locations *locations, const struct capture *capture)
{
	uint32_t most;

	count_uses(locations, capture);
	for (uint32_t frame = 0; frame < capture->frames.count; frame++)
		if (locations->frames.items[frame].uses)
			locations->places.items[locations->places.count++] =
				place_of(locations, capture, frame);
	if (!locations->places.count)
		return;
	most = count_of_most(locations);
	for (size_t i = 0; i < locations->places.count; i++) {
		struct frame_place *place = &locations->places.items[i];

		place->is_common = locations->frames.items[place->frame].uses > most;
	}
	qsort(locations->places.items, locations->places.count, sizeof(struct frame_place),
	      compare_places);
}
