// SPDX-License-Identifier: Apache-2.0
#include "notes.h"

enum {
	SECOND_SHIFT = 30, /* of a time in nanoseconds */
	/* A page of rules may begin at any page of memory: which one it is, the file says. */
	MEMORY_PAGE_SHIFT = 12,
};

/* Two rounds of a multiplicative hash; the number of the second lets everything be told again. */
static uint64_t hash_of(uint64_t whose, uint64_t page, uint64_t time_ns)
{
	uint64_t hash = (whose ^ time_ns >> SECOND_SHIFT << 48) * 0x9e3779b97f4a7c15ull;

	return ((hash ^ hash >> 32) + page) * 0x9e3779b97f4a7c15ull;
}

static uint64_t *slot_of(struct notes *notes, uint64_t hash)
{
	return &notes->slots[hash >> 54]; // NOTES_REMEMBERED of them
}

static void note_place(struct notes *notes, struct tables *tables, uint64_t frame, uint64_t time_ns)
{
	uint64_t hash = hash_of(0, frame >> MEMORY_PAGE_SHIFT, time_ns);
	uint64_t *slot = slot_of(notes, hash);

	if (!(frame & UNWIND_FRAME_FILE) || *slot == hash)
		return;
	if (tables_note_miss(tables,
			     (uint32_t)((frame & ~UNWIND_FRAME_FILE) >> UNWIND_FRAME_SHIFT) - 1,
			     frame & ((1ull << UNWIND_FRAME_SHIFT) - 1)))
		*slot = hash;
}

static void note_address(struct notes *notes, struct tables *tables, const struct sample_head *head,
			 uint64_t address)
{
	struct process_key key = { head->pid, head->exec_id, head->start_boottime_ns };
	uint64_t whose = head->start_boottime_ns ^ (uint64_t)head->exec_id << 32 ^ head->pid;
	uint64_t hash = hash_of(whose, address >> MEMORY_PAGE_SHIFT, head->time_ns);
	uint64_t *slot = slot_of(notes, hash);

	if (address >= UNWIND_ADDRESS_LIMIT || *slot == hash)
		return;
	if (tables_note_address(tables, &key, address))
		*slot = hash;
}

void notes_take(struct notes *notes, struct tables *tables, const struct sample_head *head)
{
	const uint64_t *frames = (const uint64_t *)(head + 1) + head->kernel_count;

	if (!head->user_words)
		return;
	switch (head->end) {
	case UNWIND_END_NO_PAGE: // its last frame lies there
		note_place(notes, tables, frames[head->user_words - 1], head->time_ns);
		break;
	case UNWIND_END_NO_PROCESS: // met all the same: later walks want rules for all of it
		for (size_t i = 0; i < head->user_words; i++)
			note_address(notes, tables, head, frames[i] - (i > 0));
		break;
	case UNWIND_END_NO_MAPPING: // mapped a moment ago
		note_address(notes, tables, head, frames[head->user_words - 1]);
		break;
	default:
		break;
	}
}
