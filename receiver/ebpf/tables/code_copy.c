// SPDX-License-Identifier: Apache-2.0
#include "code_copy.h"

#include "base/base.h"

enum {
	USUAL = 256, /* 10 KiB; a browser has some hundred */
	ATTEMPTS = 3,
};

/* Without memory less is read, and counted. */
static void make_room(struct code_copy *copy, size_t count)
{
	struct process_code *items;

	if (count <= copy->capacity)
		return;
	items = realloc(copy->items, count * sizeof(*items));
	if (!items)
		return;
	copy->items = items;
	copy->capacity = count;
}

void code_copy_read(struct code_copy *copy, struct processes *processes,
		    const struct process_key *key, size_t most)
{
	size_t wanted = most < USUAL ? most : USUAL, there = 0, room = 0;

	// It may map more while it is read.
	for (int i = 0; i < ATTEMPTS; i++) {
		make_room(copy, wanted);
		room = copy->capacity < most ? copy->capacity : most;
		there = processes_code(processes, key, copy->items, room);
		if (there <= room || room == most)
			break;
		wanted = there + there / 8 < most ? there + there / 8 : most;
	}
	copy->count = there < room ? there : room;
	copy->left_out = there - copy->count;
}

void code_copy_clear(struct code_copy *copy)
{
	copy->count = 0;
	if (copy->capacity > USUAL)
		code_copy_deinit(copy);
}

void code_copy_deinit(struct code_copy *copy)
{
	free(copy->items);
	*copy = (struct code_copy){ 0 };
}
