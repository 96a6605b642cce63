// SPDX-License-Identifier: Apache-2.0
#include "pages_parts.h"

#include <string.h>

/* So often is a page asked for that a walk has missed, as long as there is no room for it. */
enum { PAGE_TRIES = 3 };

/* Requests of who has most, after which turns begin anew. */
enum { TURNS_MOST = 64 };

/* Pages that come together: a walk tells of one at a time, and what calls lies near. A power of
 * two. */
enum { MISS_GROUP = 8 };

/* What is known of a file that nobody runs and that has no pages is kept so long: programs that
 * live for a moment only are run again. */
enum { KEEP_EPOCHS = 12 };

struct pages *pages_create(struct memory *memory, struct rule_table *rules, size_t found_bytes)
{
	struct pages *pages = calloc(1, sizeof(*pages));

	if (!pages)
		return NULL;
	pages->memory = memory;
	pages->rules = rules;
	pages->found.most_bytes = found_bytes;
	pages->epoch = 1;
	code_files_init(&pages->files);
	return pages;
}

void pages_destroy(struct pages *pages)
{
	if (!pages)
		return;
	found_rules_deinit(&pages->found);
	code_files_deinit(&pages->files);
	code_file_destroy(pages->vdso);
	VECTOR_DEINIT(&pages->queue);
	shares_deinit(&pages->asked);
	free(pages);
}

void pages_ask_owners(struct pages *pages, struct owner (*owner_of)(void *context, uint32_t file),
		      void *context)
{
	pages->owner_of = owner_of;
	pages->owner_context = context;
}

/* ---- files ---- */

struct code_file *pages_find_file(const struct pages *pages, uint32_t file)
{
	return file == PAGES_VDSO ? pages->vdso : code_files_find(&pages->files, file);
}

/* Without memory it is asked for at its next miss. */
static void queue_file(struct pages *pages, struct code_file *file)
{
	if (file->queued)
		return;
	pages_learn_owner(pages, file);
	file->queued = VECTOR_PUSH(&pages->queue, file->id);
}

static enum pages_state state_of(const struct code_file *file)
{
	switch (file->state) {
	case CODE_FILE_BARE:
		return PAGES_BARE;
	case CODE_FILE_KNOWN:
		return PAGES_HAS_TABLE;
	default:
		return PAGES_PENDING;
	}
}

enum pages_state pages_use(struct pages *pages, struct pages_use *use)
{
	struct code_file *file = pages_find_file(pages, use->file);

	if (!file && use->file != PAGES_VDSO)
		file = code_files_add(&pages->files, use->file);
	// Without memory it goes by frame pointers. A link of null says that it is not used.
	use->others.le_prev = NULL;
	use->has_runtimes = false;
	if (!file)
		return PAGES_BARE;
	use->has_runtimes = file->runtime_count > 0;
	LIST_INSERT_HEAD(&file->uses, use, others);
	file->users++;
	if (file->state == CODE_FILE_WANTED)
		queue_file(pages, file);
	pages->waits |= file->waits;
	return state_of(file);
}

bool pages_switches_stacks(const struct pages *pages, uint32_t id)
{
	const struct code_file *file = pages_find_file(pages, id);

	return file && file->switches_stacks;
}

const struct code_runtime *pages_runtimes(const struct pages *pages, uint32_t id, size_t *count_ret)
{
	const struct code_file *file = pages_find_file(pages, id);

	*count_ret = file ? file->runtime_count : 0;
	return file ? file->runtimes : NULL;
}

bool pages_address(const struct pages *pages, uint32_t id, uint64_t file_offset,
		   uint64_t *address_ret)
{
	const struct code_file *file = pages_find_file(pages, id);
	uint32_t index, offset;

	if (!file || !code_file_find(file, file_offset, &index, &offset))
		return false;
	*address_ret = ((uint64_t)(file->page_first + index) << UNWIND_PAGE_SHIFT) + offset;
	return true;
}

bool pages_text(const struct pages *pages, uint32_t id, uint64_t *address_ret)
{
	const struct code_file *file = pages_find_file(pages, id);

	if (!file || file->state != CODE_FILE_KNOWN)
		return false;
	*address_ret = (uint64_t)file->page_first << UNWIND_PAGE_SHIFT;
	return true;
}

enum pages_state pages_state(const struct pages *pages, uint32_t id)
{
	const struct code_file *file = pages_find_file(pages, id);

	return file ? state_of(file) : PAGES_BARE;
}

static bool is_unused(const struct pages *pages, const struct code_file *file)
{
	return code_file_is_idle(file) && code_file_is_empty(file) &&
	       pages->epoch - file->epoch >= KEEP_EPOCHS;
}

struct pages_use *pages_users(const struct pages *pages, uint32_t id)
{
	const struct code_file *file = pages_find_file(pages, id);

	return file ? LIST_FIRST(&file->uses) : NULL;
}

void pages_release(struct pages *pages, struct pages_use *use)
{
	struct code_file *file = pages_find_file(pages, use->file);

	if (!use->others.le_prev)
		return;
	LIST_REMOVE(use, others);
	file->users--;
	// It stays for the next process: its pages as long as there is room, else for some time.
	file->epoch = pages->epoch;
}

void pages_place(const struct pages *pages, uint32_t id, uint64_t file_offset,
		 struct unwind_range *range)
{
	const struct code_file *file = pages_find_file(pages, id);
	uint32_t index, offset;
	uint64_t room;

	range->kind = UNWIND_RANGE_BARE;
	if (!file || file->state == CODE_FILE_BARE)
		return;
	range->directory = 0;
	if (file->state != CODE_FILE_KNOWN) {
		range->kind = UNWIND_RANGE_TABLE; // walks end there until the answer is in
		return;
	}
	if (!code_file_find(file, file_offset, &index, &offset))
		return;
	range->kind = UNWIND_RANGE_TABLE;
	range->directory = file->directory;
	range->first = (uint16_t)index;
	range->page = (uint8_t)(offset >> 12);
	room = (((uint64_t)(file->page_count - index) << UNWIND_PAGE_SHIFT) - offset) >> 12;
	if (range->pages > room)
		range->pages = (uint32_t)room;
}

/* ---- what is missing ---- */

void pages_want(struct pages *pages, struct code_file *file, uint64_t now_ns)
{
	if (now_ns >= file->retry_ns)
		queue_file(pages, file);
	file->waits = !file->queued;
	pages->waits |= file->waits;
}

static bool is_hopeless(const struct code_file *file)
{
	return file->state == CODE_FILE_BARE &&
	       (!file->failures || file->failures >= CODE_FILE_ATTEMPTS);
}

static void miss_page(struct pages *pages, struct code_file *file, uint32_t index, uint64_t now_ns)
{
	uint32_t group = index & ~(MISS_GROUP - 1u);

	if (file->pages[index].state == CODE_PAGE_ABSENT) {
		for (uint32_t i = group; i < group + MISS_GROUP && i < file->page_count; i++)
			if (file->pages[i].state == CODE_PAGE_ABSENT)
				file->pages[i].state = CODE_PAGE_WANTED;
		file->pages[index].tries = PAGE_TRIES;
	}
	if (file->pages[index].state == CODE_PAGE_WANTED)
		pages_want(pages, file, now_ns);
}

bool pages_miss(struct pages *pages, uint32_t id, uint64_t file_offset, uint64_t now_ns)
{
	struct code_file *file = pages_find_file(pages, id);
	uint32_t index, offset;

	if (!file)
		return false;
	if (file->state != CODE_FILE_KNOWN && !is_hopeless(file))
		code_file_remember(file, file_offset);
	else if (file->state == CODE_FILE_KNOWN &&
		 code_file_find(file, file_offset, &index, &offset))
		miss_page(pages, file, index, now_ns);
	return true;
}

/* One that nobody runs, or not any more. */
static void miss_file(struct pages *pages, struct code_file *file, uint64_t file_offset,
		      uint64_t now_ns)
{
	code_file_remember(file, file_offset);
	if (!file->users)
		file->epoch = pages->epoch;
	if (file->state == CODE_FILE_WANTED)
		pages_want(pages, file, now_ns);
}

/* At @offset of a page of @file, which is known. */
static enum pages_found find_in_page(struct pages *pages, struct code_file *file, uint32_t index,
				     uint32_t offset, uint64_t now_ns, uint32_t *ret)
{
	int32_t rule;

	if (file->pages[index].state == CODE_PAGE_FAILED)
		return PAGES_NONE;
	if (file->pages[index].state != CODE_PAGE_PRESENT) {
		miss_page(pages, file, index, now_ns);
		return PAGES_LATER;
	}
	// By its number there.
	if (pages->taken_back != pages->rules->taken_back)
		found_rules_clear(&pages->found);
	pages->taken_back = pages->rules->taken_back;
	rule = found_rules_find(&pages->found, pages->memory, file->id,
				((uint64_t)(file->page_first + index) << UNWIND_PAGE_SHIFT) +
					offset,
				file->pages[index].handle, file->pages[index].length);
	*ret = rule < 0 ? UNWIND_RULE_UNKNOWN : (uint32_t)rule;
	return PAGES_FOUND;
}

enum pages_found pages_find_in_range(struct pages *pages, const struct unwind_range *range,
				     struct code_file **file, uint64_t address, uint64_t now_ns,
				     uint32_t *ret)
{
	uint64_t at = ((uint64_t)range->page << 12) + (address - range->start);
	uint64_t index = range->first + (at >> UNWIND_PAGE_SHIFT);

	if (!*file)
		*file = pages_find_file(pages, range->file ? range->file - 1 : PAGES_VDSO);
	// The range may be of before its file was known.
	if (!*file || (*file)->state != CODE_FILE_KNOWN || !range->directory ||
	    range->directory != (*file)->directory)
		return PAGES_LATER;
	if (index >= (*file)->page_count)
		return PAGES_NONE;
	return find_in_page(pages, *file, (uint32_t)index, at & ((1u << UNWIND_PAGE_SHIFT) - 1),
			    now_ns, ret);
}

enum pages_found pages_find_rule(struct pages *pages, uint32_t id, uint64_t file_offset,
				 uint64_t now_ns, uint32_t *ret)
{
	struct code_file *file = pages_find_file(pages, id);
	uint32_t index, offset;

	if (!file && id != PAGES_VDSO)
		file = code_files_add(&pages->files, id);
	if (!file || file->state == CODE_FILE_BARE)
		return PAGES_NONE;
	if (file->state != CODE_FILE_KNOWN) {
		miss_file(pages, file, file_offset, now_ns);
		return PAGES_LATER;
	}
	if (!code_file_find(file, file_offset, &index, &offset))
		return PAGES_NONE;
	return find_in_page(pages, file, index, offset, now_ns, ret);
}

void pages_renumber(struct pages *pages)
{
	found_rules_clear(&pages->found);
}

void pages_miss_remembered(struct pages *pages, struct code_file *file, uint64_t now_ns)
{
	for (size_t i = 0; file->state == CODE_FILE_KNOWN && i < file->missed.count; i++)
		(void)pages_miss(pages, file->id, file->missed.items[i], now_ns);
	if (file->state == CODE_FILE_KNOWN || is_hopeless(file))
		VECTOR_DEINIT(&file->missed);
}

/* There was no room for rules of @page, and there is some for half of them, or for the last ones of
 * the file or of its owner's share: it is not made anew for each place that becomes free. */
static bool is_worth_making_anew(struct pages *pages, const struct code_file *file,
				 const struct code_page *page)
{
	return page->state == CODE_PAGE_PRESENT && page->lacks &&
	       rule_table_has_room(pages->rules, &file->rules, (page->lacks + 1u) / 2);
}

void pages_touch(struct pages *pages, uint32_t id, uint64_t file_offset, uint64_t now_ns)
{
	struct code_file *file = pages_find_file(pages, id);
	uint32_t index, offset;

	if (!file || file->state != CODE_FILE_KNOWN ||
	    !code_file_find(file, file_offset, &index, &offset))
		return;
	file->pages[index].epoch = pages->epoch;
	if (is_worth_making_anew(pages, file, &file->pages[index]))
		pages_drop_page(pages, file, index);
	// Met while its file went by frame pointers, or dropped since.
	if (file->pages[index].state == CODE_PAGE_ABSENT)
		miss_page(pages, file, index, now_ns);
}

void pages_next_epoch(struct pages *pages)
{
	pages->epoch++;
}

void pages_ask_by_group(struct pages *pages)
{
	pages->by_group = true;
}

static uint32_t group_of(const struct code_file *file, uint32_t index)
{
	if (file->page_count <= WORKER_SMALL_PAGES)
		return PAGES_WHOLE;
	return file->page_first + (index & ~(MISS_GROUP - 1u));
}

/* True when there are more than one request takes. */
static bool collect_wanted(struct code_file *file, bool by_group, struct pages_request *request)
{
	for (uint32_t i = 0; i < file->page_count; i++) {
		if (file->pages[i].state != CODE_PAGE_WANTED)
			continue;
		if (request->count == WORKER_MAX_PAGES ||
		    (by_group && request->count && group_of(file, i) != request->group))
			return true;
		request->group = group_of(file, i);
		file->pages[i].state = CODE_PAGE_ASKED;
		request->numbers[request->count++] = file->page_first + i;
	}
	return false;
}

/* Take what is to be asked of @file; false when that is nothing. */
static bool take_request(struct pages *pages, struct code_file *file, struct pages_request *ret)
{
	*ret = (struct pages_request){ .file = file->id, .group = PAGES_WHOLE };
	file->waits = false;
	if (file->state == CODE_FILE_WANTED) {
		file->state = CODE_FILE_ASKED;
		return true;
	}
	if (file->state == CODE_FILE_KNOWN && collect_wanted(file, pages->by_group, ret)) {
		queue_file(pages, file);
		file->waits = !file->queued;
	}
	file->page_request = ret->count > 0;
	return file->page_request;
}

static void unqueue(struct pages *pages, size_t at)
{
	uint32_t *items = pages->queue.items;

	pages_find_file(pages, items[at])->queued = false;
	pages->queue.count--;
	memmove(items + at, items + at + 1, (pages->queue.count - at) * sizeof(*items));
}

bool pages_wants(const struct pages *pages)
{
	return pages->queue.count > 0;
}

/* Who may ask for no more in one search; of whom there is no room for, the next one is asked for.
 */
struct full_owners {
	struct owner owners[8];
	size_t count;
};

static bool is_full(const struct full_owners *full, struct owner owner)
{
	for (size_t i = 0; i < full->count; i++)
		if (owner_is(full->owners[i], owner))
			return true;
	return false;
}

/* Where the file is in the queue that comes next: the first one of who pays for it and for whom
 * least was asked of late. SIZE_MAX: none. */
static size_t find_next(const struct pages *pages, bool (*may_ask)(void *context, uint32_t file),
			void *context)
{
	struct full_owners full = { 0 };
	uint64_t least = UINT64_MAX;
	size_t found = SIZE_MAX;

	for (size_t at = 0; at < pages->queue.count && least; at++) {
		struct code_file *file = pages_find_file(pages, pages->queue.items[at]);
		uint64_t asked;

		// The rest of what is wanted of a file comes after the answer that is due.
		if (file->page_request || file->state == CODE_FILE_ASKED ||
		    is_full(&full, file->owner))
			continue;
		asked = shares_of(&pages->asked, owner_payer(file->owner));
		if (asked >= least)
			continue;
		if (may_ask && !may_ask(context, file->id)) {
			if (full.count < sizeof(full.owners) / sizeof(full.owners[0]))
				full.owners[full.count++] = file->owner;
			continue;
		}
		least = asked;
		found = at;
	}
	return found;
}

/* Book a request of @payer's. Old ones count for nothing, lest a newcomer have as many as others
 * have had since the start. */
static void note_asked(struct pages *pages, struct owner payer)
{
	if (shares_of(&pages->asked, payer) >= TURNS_MOST)
		shares_deinit(&pages->asked);
	shares_add(&pages->asked, payer, 1);
}

bool pages_next_request(struct pages *pages, bool (*may_ask)(void *context, uint32_t file),
			void *context, struct pages_request *ret)
{
	size_t at;

	while ((at = find_next(pages, may_ask, context)) != SIZE_MAX) {
		struct code_file *file = pages_find_file(pages, pages->queue.items[at]);

		unqueue(pages, at);
		if (!take_request(pages, file, ret))
			continue;
		note_asked(pages, owner_payer(file->owner));
		return true;
	}
	if (!pages->queue.count)
		shares_deinit(&pages->asked);
	return false;
}

void pages_want_again(struct pages *pages, struct code_file *file, uint64_t now_ns)
{
	file->retry_ns = now_ns + PAGES_RETRY_NS;
	if (file->state == CODE_FILE_ASKED)
		file->state = CODE_FILE_WANTED;
	for (uint32_t i = 0; i < file->page_count; i++)
		if (file->pages[i].state == CODE_PAGE_ASKED)
			file->pages[i].state = CODE_PAGE_WANTED;
	file->page_request = false;
	pages_want(pages, file, now_ns);
}

void pages_forget_request(struct pages *pages, uint32_t id, uint64_t now_ns)
{
	struct code_file *file = pages_find_file(pages, id);

	if (file)
		pages_want_again(pages, file, now_ns);
}

void pages_retry(struct pages *pages, uint64_t now_ns)
{
	struct code_file *file, *after;

	pages->waits = false;
	rule_table_next_round(pages->rules);
	for (file = TAILQ_FIRST(&pages->files.all); file; file = after) {
		after = TAILQ_NEXT(file, others);
		if (is_unused(pages, file)) {
			pages_drop_file(pages, file);
			continue;
		}
		if (!file->users)
			continue;
		if (now_ns >= file->retry_ns && file->state == CODE_FILE_BARE && !is_hopeless(file))
			file->state = CODE_FILE_WANTED;
		if (file->state == CODE_FILE_WANTED || file->waits)
			pages_want(pages, file, now_ns);
		pages->waits |= file->state == CODE_FILE_BARE && !is_hopeless(file);
	}
}

bool pages_waits(const struct pages *pages)
{
	return pages->waits || pages->wants_room || pages->forgets;
}

struct pages_counts pages_counts(const struct pages *pages)
{
	struct pages_counts counts = pages->counts;
	const struct code_file *file;

	counts.files = pages->files.count;
	counts.memory = code_files_memory(&pages->files) + pages->found.page_bytes;
	for (file = TAILQ_FIRST(&pages->files.all); file; file = TAILQ_NEXT(file, others))
		counts.memory += code_file_memory(file);
	counts.rules_refused = pages->rules->refused;
	return counts;
}
