// SPDX-License-Identifier: Apache-2.0
#include "pages_parts.h"

#include <string.h>

/* So many files with pages are forgotten at once: each is a write of a slab, while others wait. */
enum { FORGET_FILES = 128 };

enum {
	IDLE_EPOCHS = 12, /* batches: a minute, mostly */
	YIELD_FILES = 16, /* so many at once, the same */
	YIELD_SHARE = 64, /* of the memory, in one go */
};

void pages_free(struct pages *pages, struct code_file *file, uint32_t handle, size_t length)
{
	if (!handle)
		return;
	memory_free(pages->memory, MEMORY_DROPPABLE, handle, length);
	shares_take(memory_shares(pages->memory, MEMORY_DROPPABLE), file->owner,
		    memory_charge(length));
	file->page_bytes -= memory_charge(length);
}

static void drop_page(struct pages *pages, struct code_file *file, struct code_page *page)
{
	pages_free(pages, file, page->handle, page->length);
	page->handle = 0;
	page->state = CODE_PAGE_ABSENT;
	page->tries = 0;
	pages->counts.pages--;
}

void pages_drop_page(struct pages *pages, struct code_file *file, uint32_t index)
{
	if (pages_set_entry(pages, file, index, 0))
		drop_page(pages, file, &file->pages[index]);
}

void pages_drop_file(struct pages *pages, struct code_file *file)
{
	size_t bytes = file->page_count * sizeof(uint32_t);

	memory_free(pages->memory, MEMORY_FIXED, file->directory, bytes);
	if (file->directory)
		shares_take(memory_shares(pages->memory, MEMORY_FIXED), file->owner,
			    memory_charge(bytes));
	rule_table_release(pages->rules, &file->rules);
	code_files_remove(&pages->files, file);
}

/* The pages that are to go: of all files, or of those of one owner. */
struct eviction {
	const struct owner *owner; /* NULL: all */
	uint32_t epoch;            /* seen then or before */
	uint64_t wanted;           /* bytes */
};

static bool concerns(const struct eviction *eviction, const struct code_file *file)
{
	return !eviction->owner || owner_is(*eviction->owner, file->owner);
}

/* The epoch of what was seen longest ago, which becomes that of @eviction. False without pages. */
static bool find_oldest(const struct pages *pages, struct eviction *eviction)
{
	const struct code_file *file;

	eviction->epoch = UINT32_MAX;
	for (file = TAILQ_FIRST(&pages->files.all); file; file = TAILQ_NEXT(file, others))
		for (uint32_t i = 0; concerns(eviction, file) && i < file->page_count; i++)
			if (file->pages[i].state == CODE_PAGE_PRESENT &&
			    file->pages[i].epoch < eviction->epoch)
				eviction->epoch = file->pages[i].epoch;
	return eviction->epoch != UINT32_MAX;
}

/* Returns the bytes that become free. */
static uint64_t evict_of_file(struct pages *pages, struct code_file *file,
			      const struct eviction *eviction, uint64_t freed)
{
	uint64_t before = freed;

	for (uint32_t i = 0; i < file->page_count && freed < eviction->wanted; i++) {
		struct code_page *page = &file->pages[i];

		if (page->state != CODE_PAGE_PRESENT || page->epoch > eviction->epoch ||
		    !pages_set_entry(pages, file, i, 0))
			continue;
		freed += page->length;
		drop_page(pages, file, page);
		pages->counts.evicted++;
	}
	return freed - before;
}

static uint64_t evict_epoch(struct pages *pages, const struct eviction *eviction)
{
	struct code_file *file, *after;
	uint64_t freed = 0;

	for (file = TAILQ_FIRST(&pages->files.all); file; file = after) {
		after = TAILQ_NEXT(file, others);
		if (freed >= eviction->wanted)
			break;
		if (!concerns(eviction, file))
			continue;
		freed += evict_of_file(pages, file, eviction, freed);
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

/* Of a file whose directory was cleared. */
static void drop_pages(struct pages *pages, struct code_file *file)
{
	for (uint32_t i = 0; i < file->page_count; i++) {
		if (file->pages[i].state == CODE_PAGE_PRESENT)
			drop_page(pages, file, &file->pages[i]);
		else if (file->pages[i].state == CODE_PAGE_FAILED)
			file->pages[i].state = CODE_PAGE_ABSENT;
	}
}

/* Nobody runs @file, nor will anybody soon. False where the kernel's side cannot be written:
 * another time. */
static bool forget_file(struct pages *pages, struct code_file *file)
{
	if (!code_file_is_empty(file) && !clear_directory(pages, file))
		return false;
	drop_pages(pages, file);
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

/* Does @file, which nobody runs, have rules, and some of @owner's if that is not NULL? */
static bool has_rules(const struct pages *pages, const struct code_file *file,
		      const struct owner *owner)
{
	return code_file_is_idle(file) && file->rules.numbers.count &&
	       (!owner || rule_table_held(pages->rules, &file->rules, *owner));
}

/* Files that nobody runs let go of their rules, where places are short: those of the largest owner,
 * the half of the time that was longest ago. */
static void evict_rules(struct pages *pages)
{
	struct code_file *file, *after;
	uint32_t oldest = pages->epoch;
	struct owner largest, *owner = NULL;

	if (rule_table_most(pages->rules, &largest))
		owner = &largest;
	for (file = TAILQ_FIRST(&pages->files.all); file; file = TAILQ_NEXT(file, others))
		if (file->epoch < oldest && has_rules(pages, file, owner))
			oldest = file->epoch;
	oldest += (pages->epoch - oldest) / 2;
	for (file = TAILQ_FIRST(&pages->files.all); file; file = after) {
		after = TAILQ_NEXT(file, others);
		if (file->epoch <= oldest && has_rules(pages, file, owner))
			(void)forget_file(pages, file);
	}
	pages->rules->wanted = false;
}

/* The file that holds most rules of @owner's, those first that nobody runs. */
static struct code_file *find_holder(const struct pages *pages, struct owner owner)
{
	struct code_file *file, *found = NULL;
	size_t most = 0;

	for (file = TAILQ_FIRST(&pages->files.all); file; file = TAILQ_NEXT(file, others)) {
		size_t held = rule_table_held(pages->rules, &file->rules, owner);
		bool is_idle = !file->users;

		if (!held || (found && (found->users ? !is_idle : is_idle) && held <= most) ||
		    (found && !found->users && !is_idle))
			continue;
		most = held;
		found = file;
	}
	return found;
}

/* Small owners have used up what is kept for them: files of the largest let go of their rules, with
 * all pages that lead to them. These come back when they are missed, with the rules there is room
 * for then. */
static void yield_rules(struct pages *pages)
{
	struct owner largest;

	for (int i = 0; i < YIELD_FILES && rule_table_largest(pages->rules, &largest); i++) {
		struct code_file *file = find_holder(pages, largest);

		if (!file || !clear_directory(pages, file))
			return;
		drop_pages(pages, file);
		rule_table_release(pages->rules, &file->rules);
		pages->counts.yielded++;
	}
}

/* Until three quarters of @limit_bytes hold the rest. */
static void evict_old(struct pages *pages, uint64_t limit_bytes)
{
	uint64_t used = memory_used(pages->memory), target = limit_bytes / 4 * 3;

	// Below that, too: no place may be long enough for what was refused.
	if (pages->wants_room && target > used / 8 * 7)
		target = used / 8 * 7;
	while (used > target) {
		struct eviction eviction = { .wanted = used - target };
		struct owner largest;
		uint64_t freed;

		if (!find_oldest(pages, &eviction))
			return;
		// Those that are not used do not count.
		if (pages->epoch - eviction.epoch < IDLE_EPOCHS &&
		    shares_largest(memory_shares(pages->memory, MEMORY_DROPPABLE), limit_bytes,
				   &largest)) {
			struct eviction of_largest = { .owner = &largest,
						       .wanted = eviction.wanted };

			if (find_oldest(pages, &of_largest) && of_largest.epoch + 1 < pages->epoch)
				eviction = of_largest;
		}
		// What the last samples have seen stays: to drop it would be to build it again.
		if (eviction.epoch + 1 >= pages->epoch)
			return;
		freed = evict_epoch(pages, &eviction);
		if (!freed)
			return;
		used -= freed < used ? freed : used;
	}
}

/* What is kept for small owners is free again, whatever the largest needs. */
static void yield_pages(struct pages *pages, uint64_t limit_bytes)
{
	struct owner largest;

	while (memory_largest(pages->memory, MEMORY_DROPPABLE, &largest)) {
		struct eviction eviction = {
			.owner = &largest,
			.wanted = limit_bytes / YIELD_SHARE,
		};

		if (!find_oldest(pages, &eviction) || !evict_epoch(pages, &eviction))
			return;
	}
}

/* Directories of the largest owner's files, as far as nobody runs them: when no process of it runs
 * any more, the kernel side needs none. */
static void yield_directories(struct pages *pages)
{
	struct code_file *file, *after;
	struct owner largest;

	for (file = TAILQ_FIRST(&pages->files.all); file; file = after) {
		after = TAILQ_NEXT(file, others);
		if (!memory_largest(pages->memory, MEMORY_FIXED, &largest))
			return;
		if (file->directory && code_file_is_idle(file) && owner_is(file->owner, largest))
			(void)forget_file(pages, file);
	}
}

/* Is there anything for which owners matter? */
static bool is_short(const struct pages *pages, uint64_t limit_bytes)
{
	struct owner largest;

	return pages->rules->wanted || pages->wants_room ||
	       memory_used(pages->memory) > limit_bytes / 4 * 3 ||
	       rule_table_largest(pages->rules, &largest) ||
	       memory_largest(pages->memory, MEMORY_FIXED, &largest);
}

void pages_evict(struct pages *pages, uint64_t limit_bytes)
{
	struct code_file *file;

	if (!is_short(pages, limit_bytes))
		return;
	for (file = TAILQ_FIRST(&pages->files.all); file; file = TAILQ_NEXT(file, others))
		pages_learn_owner(pages, file);
	if (pages->rules->wanted)
		evict_rules(pages);
	yield_rules(pages);
	evict_old(pages, limit_bytes);
	yield_pages(pages, limit_bytes);
	yield_directories(pages);
	pages->wants_room = false;
}
