// SPDX-License-Identifier: Apache-2.0
#include "pages_parts.h"

#include <string.h>

/* So many files with pages are forgotten at once: each is a write of a slab, while others wait. */
enum { FORGET_FILES = 128 };

static void drop_page(struct pages *pages, struct code_page *page)
{
	memory_free(pages->memory, MEMORY_DROPPABLE, page->handle, page->length);
	page->handle = 0;
	page->state = CODE_PAGE_ABSENT;
	pages->counts.pages--;
}

void pages_drop_file(struct pages *pages, struct code_file *file)
{
	memory_free(pages->memory, MEMORY_FIXED, file->directory,
		    file->page_count * sizeof(uint32_t));
	rule_table_release(pages->rules, &file->rules);
	code_files_remove(&pages->files, file);
}

/* The epoch of what was seen longest ago; UINT32_MAX without pages. */
static uint32_t oldest_epoch(const struct pages *pages)
{
	uint32_t oldest = UINT32_MAX;
	const struct code_file *file;

	for (file = TAILQ_FIRST(&pages->files.all); file; file = TAILQ_NEXT(file, others))
		for (uint32_t i = 0; i < file->page_count; i++)
			if (file->pages[i].state == CODE_PAGE_PRESENT &&
			    file->pages[i].epoch < oldest)
				oldest = file->pages[i].epoch;
	return oldest;
}

/* Returns the bytes that become free. */
static uint64_t evict_epoch(struct pages *pages, uint32_t epoch, uint64_t wanted)
{
	struct code_file *file, *after;
	uint64_t freed = 0;

	for (file = TAILQ_FIRST(&pages->files.all); file; file = after) {
		after = TAILQ_NEXT(file, others);
		if (freed >= wanted)
			break;
		for (uint32_t i = 0; i < file->page_count && freed < wanted; i++) {
			struct code_page *page = &file->pages[i];

			if (page->state != CODE_PAGE_PRESENT || page->epoch > epoch ||
			    !pages_set_entry(pages, file, i, 0))
				continue;
			freed += page->length;
			drop_page(pages, page);
			pages->counts.evicted++;
		}
		if (code_file_is_idle(file) && code_file_is_empty(file))
			pages_drop_file(pages, file);
	}
	return freed;
}

/* No walk finds any page of @file from now on. */
static bool clear_directory(struct pages *pages, struct code_file *file)
{
	size_t bytes = file->page_count * sizeof(uint32_t);

	memset(pages->page, 0, bytes);
	return !memory_change(pages->memory, file->directory, 0, pages->page, bytes);
}

/* Nobody runs @file, nor will anybody soon. False where the kernel's side cannot be written:
 * another time. */
static bool forget_file(struct pages *pages, struct code_file *file)
{
	if (!code_file_is_empty(file) && !clear_directory(pages, file))
		return false;
	for (uint32_t i = 0; i < file->page_count; i++)
		if (file->pages[i].state == CODE_PAGE_PRESENT)
			drop_page(pages, &file->pages[i]);
	pages_drop_file(pages, file);
	return true;
}

bool pages_forget(struct pages *pages, bool (*is_known)(void *context, uint32_t file),
		  void *context)
{
	struct code_file *file, *after;
	bool left = false;
	size_t writes = 0;

	pages->forgets = false;
	for (file = TAILQ_FIRST(&pages->files.all); file; file = after) {
		after = TAILQ_NEXT(file, others);
		if (is_known(context, file->id))
			continue;
		if (!code_file_is_idle(file)) {
			left = true;
			continue;
		}
		writes += !code_file_is_empty(file);
		pages->forgets = writes > FORGET_FILES;
		if (pages->forgets)
			return true;
		left |= !forget_file(pages, file);
	}
	return left;
}

/* Files that nobody runs let go of their rules: the half of the time that was longest ago. */
static void evict_rules(struct pages *pages)
{
	uint32_t oldest = pages->epoch;
	struct code_file *file, *after;

	for (file = TAILQ_FIRST(&pages->files.all); file; file = TAILQ_NEXT(file, others))
		if (code_file_is_idle(file) && file->rules.numbers.count && file->epoch < oldest)
			oldest = file->epoch;
	oldest += (pages->epoch - oldest) / 2;
	for (file = TAILQ_FIRST(&pages->files.all); file; file = after) {
		after = TAILQ_NEXT(file, others);
		if (code_file_is_idle(file) && file->rules.numbers.count && file->epoch <= oldest)
			(void)forget_file(pages, file);
	}
	pages->rules->wanted = false;
}

void pages_evict(struct pages *pages, uint64_t limit_bytes)
{
	uint64_t used, target = limit_bytes / 4 * 3;

	if (pages->rules->wanted)
		evict_rules(pages);
	used = memory_used(pages->memory);
	// Below that, too: no place may be long enough for what was refused.
	if (pages->wants_room && target > used / 8 * 7)
		target = used / 8 * 7;
	pages->wants_room = false;
	while (used > target) {
		uint32_t oldest = oldest_epoch(pages);
		uint64_t freed;

		// What the last samples have seen stays: to drop it would be to build it again.
		if (oldest == UINT32_MAX || oldest + 1 >= pages->epoch)
			return;
		freed = evict_epoch(pages, oldest, used - target);
		if (!freed)
			return;
		used -= freed < used ? freed : used;
	}
}
