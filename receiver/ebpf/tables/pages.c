// SPDX-License-Identifier: Apache-2.0
#include "pages.h"

#include "code_files.h"
#include "found_rules.h"

#include "unwind/unwind.h"

#include <errno.h>
#include <string.h>

/* What there is no room for, or no worker, is not asked for again at once: what was dropped for it
 * is free by then. */
static const uint64_t retry_ns = 500000000;

/* A file that could not be read is tried again, the first time soon, but only some times: it may
 * have been the machine's fault. */
static const uint64_t failed_retry_ns = 10000000000;
enum { ATTEMPTS = 3 };

/* So often is a page asked for that a walk has missed, as long as there is no room for it. */
enum { PAGE_TRIES = 3 };

/* Pages that come together: a walk tells of one at a time, and what calls lies near. A power of
 * two. */
enum { MISS_GROUP = 8 };

/* What is known of a file that nobody runs and that has no pages is kept so long: programs that
 * live for a moment only are run again. */
enum { KEEP_EPOCHS = 12 };

/* So many files with pages are forgotten at once: each is a write of a slab, while others wait. */
enum { FORGET_FILES = 128 };

struct pages {
	struct memory *memory;    /* borrowed */
	struct rule_table *rules; /* borrowed */
	struct code_files files;
	struct code_file *vdso; /* owned */
	VECTOR(uint32_t) queue; /* files to ask for */
	uint32_t bare_page;     /* handle of one that has no rules */
	uint32_t epoch;
	bool by_group;   /* requests are of one group of pages */
	bool wants_room; /* something was refused since the last eviction */
	bool waits;      /* something is to be asked for at a later time */
	bool forgets;    /* there are more files to forget than were at once */
	struct pages_counts counts;
	uint64_t taken_back; /* rules, as `found` knows */
	struct found_rules found;
	uint8_t page[UNWIND_SLAB_BYTES]; /* one that is being written */
};

struct pages *pages_create(struct memory *memory, struct rule_table *rules)
{
	struct pages *pages = calloc(1, sizeof(*pages));

	if (!pages)
		return NULL;
	pages->memory = memory;
	pages->rules = rules;
	pages->epoch = 1;
	code_files_init(&pages->files);
	return pages;
}

void pages_destroy(struct pages *pages)
{
	if (!pages)
		return;
	code_files_deinit(&pages->files);
	code_file_destroy(pages->vdso);
	VECTOR_DEINIT(&pages->queue);
	free(pages);
}

/* ---- files ---- */

static struct code_file *find_file(const struct pages *pages, uint32_t file)
{
	return file == PAGES_VDSO ? pages->vdso : code_files_find(&pages->files, file);
}

/* Without memory it is asked for at its next miss. */
static void queue_file(struct pages *pages, struct code_file *file)
{
	if (!file->queued)
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
	struct code_file *file = find_file(pages, use->file);

	if (!file && use->file != PAGES_VDSO)
		file = code_files_add(&pages->files, use->file);
	// Without memory it goes by frame pointers. A link of null says that it is not used.
	use->others.le_prev = NULL;
	if (!file)
		return PAGES_BARE;
	LIST_INSERT_HEAD(&file->uses, use, others);
	file->users++;
	if (file->state == CODE_FILE_WANTED)
		queue_file(pages, file);
	pages->waits |= file->waits;
	return state_of(file);
}

enum pages_state pages_state(const struct pages *pages, uint32_t id)
{
	const struct code_file *file = find_file(pages, id);

	return file ? state_of(file) : PAGES_BARE;
}

static void drop_page(struct pages *pages, struct code_page *page)
{
	memory_free(pages->memory, MEMORY_DROPPABLE, page->handle, page->length);
	page->handle = 0;
	page->state = CODE_PAGE_ABSENT;
	pages->counts.pages--;
}

/* Nobody runs it any more, and none of it is left: as if it had never been. */
static void drop_file(struct pages *pages, struct code_file *file)
{
	memory_free(pages->memory, MEMORY_FIXED, file->directory,
		    file->page_count * sizeof(uint32_t));
	rule_table_release(pages->rules, &file->rules);
	code_files_remove(&pages->files, file);
}

static bool is_empty(const struct code_file *file)
{
	for (uint32_t i = 0; i < file->page_count; i++)
		if (file->pages[i].state == CODE_PAGE_PRESENT)
			return false;
	return true;
}

/* Under way or queued it has to stay: the answer will come by its number. */
static bool is_idle(const struct code_file *file)
{
	return !file->users && !file->queued && !file->page_request &&
	       file->state != CODE_FILE_ASKED;
}

static bool is_unused(const struct pages *pages, const struct code_file *file)
{
	return is_idle(file) && is_empty(file) && pages->epoch - file->epoch >= KEEP_EPOCHS;
}

struct pages_use *pages_users(const struct pages *pages, uint32_t id)
{
	const struct code_file *file = find_file(pages, id);

	return file ? LIST_FIRST(&file->uses) : NULL;
}

void pages_release(struct pages *pages, struct pages_use *use)
{
	struct code_file *file = find_file(pages, use->file);

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
	const struct code_file *file = find_file(pages, id);
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
	range->first = index;
	range->page_offset = (uint16_t)offset;
	room = (((uint64_t)(file->page_count - index) << UNWIND_PAGE_SHIFT) - offset) >> 12;
	if (range->pages > room)
		range->pages = (uint32_t)room;
}

/* ---- what is missing ---- */

/* What is wanted of the file is asked for now, or when its time has come. */
static void want(struct pages *pages, struct code_file *file, uint64_t now_ns)
{
	if (now_ns >= file->retry_ns)
		queue_file(pages, file);
	file->waits = !file->queued;
	pages->waits |= file->waits;
}

static bool is_hopeless(const struct code_file *file)
{
	return file->state == CODE_FILE_BARE && (!file->failures || file->failures >= ATTEMPTS);
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
		want(pages, file, now_ns);
}

bool pages_miss(struct pages *pages, uint32_t id, uint64_t file_offset, uint64_t now_ns)
{
	struct code_file *file = find_file(pages, id);
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
		want(pages, file, now_ns);
}

enum pages_found pages_find_rule(struct pages *pages, uint32_t id, uint64_t file_offset,
				 uint64_t now_ns, uint32_t *ret)
{
	struct code_file *file = find_file(pages, id);
	uint32_t index, offset;
	int32_t rule;

	if (!file && id != PAGES_VDSO)
		file = code_files_add(&pages->files, id);
	if (!file || file->state == CODE_FILE_BARE)
		return PAGES_NONE;
	if (file->state != CODE_FILE_KNOWN) {
		miss_file(pages, file, file_offset, now_ns);
		return PAGES_LATER;
	}
	if (!code_file_find(file, file_offset, &index, &offset) ||
	    file->pages[index].state == CODE_PAGE_FAILED)
		return PAGES_NONE;
	if (file->pages[index].state != CODE_PAGE_PRESENT) {
		miss_page(pages, file, index, now_ns);
		return PAGES_LATER;
	}
	// By its number there.
	if (pages->taken_back != pages->rules->taken_back)
		found_rules_clear(&pages->found);
	pages->taken_back = pages->rules->taken_back;
	rule = found_rules_find(&pages->found, pages->memory, id,
				((uint64_t)(file->page_first + index) << UNWIND_PAGE_SHIFT) +
					offset,
				file->pages[index].handle, file->pages[index].length);
	*ret = rule < 0 ? UNWIND_RULE_UNKNOWN : (uint32_t)rule;
	return PAGES_FOUND;
}

/* What was missed before the file was known. */
static void miss_remembered(struct pages *pages, struct code_file *file, uint64_t now_ns)
{
	for (size_t i = 0; file->state == CODE_FILE_KNOWN && i < file->missed.count; i++)
		(void)pages_miss(pages, file->id, file->missed.items[i], now_ns);
	if (file->state == CODE_FILE_KNOWN || is_hopeless(file))
		VECTOR_DEINIT(&file->missed);
}

void pages_touch(struct pages *pages, uint32_t id, uint64_t file_offset, uint64_t now_ns)
{
	struct code_file *file = find_file(pages, id);
	uint32_t index, offset;

	if (!file || file->state != CODE_FILE_KNOWN ||
	    !code_file_find(file, file_offset, &index, &offset))
		return;
	file->pages[index].epoch = pages->epoch;
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

	find_file(pages, items[at])->queued = false;
	pages->queue.count--;
	memmove(items + at, items + at + 1, (pages->queue.count - at) * sizeof(*items));
}

bool pages_wants(const struct pages *pages)
{
	return pages->queue.count > 0;
}

bool pages_next_request(struct pages *pages, struct pages_request *ret)
{
	for (size_t at = 0; at < pages->queue.count;) {
		struct code_file *file = find_file(pages, pages->queue.items[at]);

		// The rest of what is wanted of a file comes after the answer that is due.
		if (file->page_request || file->state == CODE_FILE_ASKED) {
			at++;
			continue;
		}
		unqueue(pages, at);
		if (take_request(pages, file, ret))
			return true;
	}
	return false;
}

/* What was asked of @file is wanted still. */
static void want_again(struct pages *pages, struct code_file *file, uint64_t now_ns)
{
	file->retry_ns = now_ns + retry_ns;
	if (file->state == CODE_FILE_ASKED)
		file->state = CODE_FILE_WANTED;
	for (uint32_t i = 0; i < file->page_count; i++)
		if (file->pages[i].state == CODE_PAGE_ASKED)
			file->pages[i].state = CODE_PAGE_WANTED;
	file->page_request = false;
	want(pages, file, now_ns);
}

void pages_forget_request(struct pages *pages, uint32_t id, uint64_t now_ns)
{
	struct code_file *file = find_file(pages, id);

	if (file)
		want_again(pages, file, now_ns);
}

void pages_retry(struct pages *pages, uint64_t now_ns)
{
	struct code_file *file, *after;

	pages->waits = false;
	rule_table_next_round(pages->rules);
	for (file = TAILQ_FIRST(&pages->files.all); file; file = after) {
		after = TAILQ_NEXT(file, others);
		if (is_unused(pages, file)) {
			drop_file(pages, file);
			continue;
		}
		if (!file->users)
			continue;
		if (now_ns >= file->retry_ns && file->state == CODE_FILE_BARE && !is_hopeless(file))
			file->state = CODE_FILE_WANTED;
		if (file->state == CODE_FILE_WANTED || file->waits)
			want(pages, file, now_ns);
		pages->waits |= file->state == CODE_FILE_BARE && !is_hopeless(file);
	}
}

bool pages_waits(const struct pages *pages)
{
	return pages->waits || pages->wants_room || pages->forgets;
}

/* ---- what a worker answered ---- */

/* False: the kernel's side is as it was. */
static bool set_entry(struct pages *pages, struct code_file *file, uint32_t index, uint32_t handle)
{
	return !memory_change(pages->memory, file->directory, index * (uint32_t)sizeof(handle),
			      &handle, sizeof(handle));
}

/* It is asked for again, as often as it may be. */
static void put_off_page(struct pages *pages, struct code_file *file, uint32_t index,
			 uint64_t now_ns)
{
	struct code_page *page = &file->pages[index];

	page->state = page->tries ? CODE_PAGE_WANTED : CODE_PAGE_ABSENT;
	page->tries -= page->tries > 0;
	file->retry_ns = now_ns + retry_ns;
	if (page->state == CODE_PAGE_WANTED)
		want(pages, file, now_ns);
}

static void refuse_page(struct pages *pages, struct code_file *file, uint32_t index,
			uint64_t now_ns)
{
	put_off_page(pages, file, index, now_ns);
	pages->wants_room = true;
	pages->counts.refused++;
}

/* A page where every block says "unknown". */
static uint32_t bare_page(struct pages *pages)
{
	uint16_t first[UNWIND_BLOCKS + 2] = { 0 };
	uint32_t rows[UNWIND_BLOCKS] = { 0 };

	if (pages->bare_page)
		return pages->bare_page;
	for (uint32_t i = 0; i <= UNWIND_BLOCKS; i++)
		first[i] = (uint16_t)i;
	memcpy(pages->page, first, sizeof(first));
	memcpy(pages->page + UNWIND_PAGE_HEAD_BYTES, rows, sizeof(rows));
	pages->bare_page = memory_put(pages->memory, MEMORY_FIXED, pages->page,
				      UNWIND_PAGE_HEAD_BYTES + sizeof(rows));
	return pages->bare_page;
}

/* Code whose rules cannot be had is walked by frame pointers. */
static void fail_page(struct pages *pages, struct code_file *file, uint32_t index, uint64_t now_ns)
{
	uint32_t handle = bare_page(pages);

	if (!handle || !set_entry(pages, file, index, handle)) {
		refuse_page(pages, file, index, now_ns);
		return;
	}
	file->pages[index].state = CODE_PAGE_FAILED;
	pages->counts.failed++;
}

static void put_page(struct pages *pages, struct code_file *file, uint32_t index, size_t length,
		     uint64_t now_ns)
{
	struct code_page *page = &file->pages[index];
	uint32_t handle = memory_put(pages->memory, MEMORY_DROPPABLE, pages->page, length);

	if (!handle || !set_entry(pages, file, index, handle)) {
		memory_free(pages->memory, MEMORY_DROPPABLE, handle, length);
		refuse_page(pages, file, index, now_ns);
		return;
	}
	*page = (struct code_page){ .handle = handle,
				    .length = (uint16_t)length,
				    .state = CODE_PAGE_PRESENT,
				    .epoch = pages->epoch };
	pages->counts.pages++;
	pages->counts.built++;
}

/* A row with the number that its rule has among all files' rules. */
static uint32_t renumber(struct pages *pages, struct code_file *file,
			 const struct worker_answer *answer, uint32_t row)
{
	uint32_t rule = row >> 16;
	const struct unwind_rule *known;

	if (rule >= UNWIND_PACKED_FP || rule < WORKER_FIRST_RULE ||
	    rule - WORKER_FIRST_RULE >= answer->rule_count)
		return row;
	known = &answer->rules[rule - WORKER_FIRST_RULE];
	if (known->cfa == UNWIND_CFA_UNSUPPORTED && known->unsupported < UNWIND_UNSUPPORTED_COUNT)
		pages->counts.unsupported[known->unsupported]++;
	rule = rule_table_use(pages->rules, known, &file->rules);
	return (row & 0xffff) | rule << 16;
}

/* Write @page, and its rows by their numbers here, to pages->page. False: for want of room among
 * the rules some rows say "unknown". */
static bool write_page(struct pages *pages, struct code_file *file,
		       const struct worker_answer *answer, const struct worker_page *page)
{
	uint32_t *rows = (uint32_t *)(pages->page + UNWIND_PAGE_HEAD_BYTES);
	bool was_wanted = pages->rules->wanted, complete;

	memset(pages->page, 0, UNWIND_PAGE_HEAD_BYTES);
	memcpy(pages->page, page->first, (UNWIND_BLOCKS + 1) * sizeof(*page->first));
	pages->rules->wanted = false;
	for (uint32_t i = 0; i < page->row_count; i++)
		rows[i] = renumber(pages, file, answer, page->rows[i]);
	complete = !pages->rules->wanted;
	pages->rules->wanted |= was_wanted;
	return complete;
}

static void learn_page(struct pages *pages, struct code_file *file,
		       const struct worker_answer *answer, const struct worker_page *page,
		       uint64_t now_ns)
{
	uint32_t index = page->number - file->page_first;

	if (page->number < file->page_first || index >= file->page_count ||
	    page->row_count > UNWIND_PAGE_ROWS || file->pages[index].state == CODE_PAGE_PRESENT)
		return;
	// Files that nobody runs let go of their rules meanwhile. What there is no room for then
	// comes without them.
	if (!write_page(pages, file, answer, page) && file->pages[index].tries != 1) {
		put_off_page(pages, file, index, now_ns);
		return;
	}
	put_page(pages, file, index, UNWIND_PAGE_HEAD_BYTES + page->row_count * sizeof(*page->rows),
		 now_ns);
}

static bool make_directory(struct pages *pages, struct code_file *file)
{
	memset(pages->page, 0, file->page_count * sizeof(uint32_t));
	file->directory = memory_put(pages->memory, MEMORY_FIXED, pages->page,
				     file->page_count * sizeof(uint32_t));
	return file->directory != 0;
}

/* It may go better another time. Meanwhile its code goes by frame pointers. */
static void fail_file(struct pages *pages, struct code_file *file, uint64_t now_ns)
{
	file->state = CODE_FILE_BARE;
	file->retry_ns = now_ns + (file->failures ? failed_retry_ns : retry_ns);
	pages->waits = true;
	if (++file->failures == ATTEMPTS)
		pages->counts.files_given_up++;
}

/* What kind of file it is. */
static void learn_file(struct pages *pages, struct code_file *file,
		       const struct worker_answer *answer, uint64_t now_ns)
{
	int status = answer->outcome == WORKER_ANSWERED ? code_file_learn(file, answer) : -EIO;

	if (status == -ENOENT) {
		file->state = CODE_FILE_BARE; // and stays so: the file has no table
		file->failures = 0;
	} else if (status) {
		fail_file(pages, file, now_ns);
	} else if (make_directory(pages, file)) {
		file->state = CODE_FILE_KNOWN;
		file->failures = 0;
	} else {
		file->state = CODE_FILE_WANTED;
		file->retry_ns = now_ns + retry_ns;
		code_file_unlearn(file);
		pages->wants_room = true;
		pages->counts.refused++;
	}
}

/* Was it not the file's fault? It can be read again when another program runs it, at the latest. */
static bool is_worth_another_try(struct code_file *file, enum worker_outcome outcome)
{
	if (outcome != WORKER_UNREADABLE)
		return outcome == WORKER_MISSING;
	return !file->users || (file->state == CODE_FILE_KNOWN && ++file->failures < ATTEMPTS);
}

bool pages_learn(struct pages *pages, const struct worker_answer *answer, uint64_t now_ns)
{
	struct code_file *file = find_file(pages, answer->file);
	bool was_pending;

	if (!file)
		return false;
	if (is_worth_another_try(file, answer->outcome)) {
		want_again(pages, file, now_ns);
		return false;
	}
	was_pending = file->state == CODE_FILE_ASKED;
	if (was_pending)
		learn_file(pages, file, answer, now_ns);
	else if (answer->outcome == WORKER_ANSWERED)
		file->failures = 0;
	file->page_request = false;
	for (size_t i = 0; file->state == CODE_FILE_KNOWN && i < answer->page_count; i++)
		learn_page(pages, file, answer, &answer->pages[i], now_ns);
	for (uint32_t i = 0; i < file->page_count; i++)
		if (file->pages[i].state == CODE_PAGE_ASKED)
			fail_page(pages, file, i, now_ns);
	miss_remembered(pages, file, now_ns);
	return was_pending && file->state != CODE_FILE_WANTED;
}

/* ---- the vDSO ---- */

static int number_rule(void *context, const struct unwind_rule *rule)
{
	struct pages *pages = context;

	return (int)rule_table_use(pages->rules, rule, &pages->vdso->rules);
}

static void build_vdso_page(struct pages *pages, const struct unwind_source *source,
			    uint16_t machine, uint32_t index)
{
	uint64_t start = (uint64_t)(pages->vdso->page_first + index) << UNWIND_PAGE_SHIFT;
	struct page page;
	size_t length;

	page_begin(&page, start, machine, number_rule, pages);
	unwind_source_visit(source, start, start + (1u << UNWIND_PAGE_SHIFT), page_take, &page);
	length = page_finish(&page);
	if (length) {
		page_write(&page, pages->page);
		put_page(pages, pages->vdso, index, length, 0);
	}
	page_deinit(&page);
}

/* The image's only segment as an answer of a worker's would have it. */
static struct worker_answer describe_vdso(const struct elf_view *view,
					  struct worker_segment *segment)
{
	*segment = (struct worker_segment){
		.file_offset = view->segments[0].file_offset,
		.file_bytes = view->segments[0].file_bytes,
		.address = view->segments[0].address,
		.memory_bytes = view->segments[0].file_bytes,
		.executable = 1,
	};
	return (struct worker_answer){
		.file = PAGES_VDSO,
		.outcome = WORKER_ANSWERED,
		.segments = segment,
		.segment_count = 1,
		.has_tables = true,
		.page_first = (uint32_t)(segment->address >> UNWIND_PAGE_SHIFT),
		.page_limit = (uint32_t)((segment->address + segment->memory_bytes - 1) >>
					 UNWIND_PAGE_SHIFT) +
			      1,
	};
}

void pages_learn_vdso(struct pages *pages)
{
	struct worker_segment segment;
	struct unwind_source source;
	struct worker_answer answer;
	struct elf_view view;
	size_t bytes;
	const void *image = worker_vdso_image(&bytes);

	if (!image || !elf_view_init(&view, image, bytes) || !view.segment_count ||
	    !view.segments[0].file_bytes || unwind_source_init(&source, &view))
		return;
	answer = describe_vdso(&view, &segment);
	pages->vdso = code_file_create(PAGES_VDSO);
	if (pages->vdso) {
		learn_file(pages, pages->vdso, &answer, 0);
		for (uint32_t i = 0;
		     pages->vdso->state == CODE_FILE_KNOWN && i < pages->vdso->page_count; i++)
			build_vdso_page(pages, &source, view.machine, i);
	}
	unwind_source_deinit(&source);
}

/* ---- eviction ---- */

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
			    !set_entry(pages, file, i, 0))
				continue;
			freed += page->length;
			drop_page(pages, page);
			pages->counts.evicted++;
		}
		if (is_idle(file) && is_empty(file))
			drop_file(pages, file);
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
	if (!is_empty(file) && !clear_directory(pages, file))
		return false;
	for (uint32_t i = 0; i < file->page_count; i++)
		if (file->pages[i].state == CODE_PAGE_PRESENT)
			drop_page(pages, &file->pages[i]);
	drop_file(pages, file);
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
		if (!is_idle(file)) {
			left = true;
			continue;
		}
		writes += !is_empty(file);
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
		if (is_idle(file) && file->rules.numbers.count && file->epoch < oldest)
			oldest = file->epoch;
	oldest += (pages->epoch - oldest) / 2;
	for (file = TAILQ_FIRST(&pages->files.all); file; file = after) {
		after = TAILQ_NEXT(file, others);
		if (is_idle(file) && file->rules.numbers.count && file->epoch <= oldest)
			(void)forget_file(pages, file);
	}
	pages->rules->wanted = false;
}

void pages_renumber(struct pages *pages)
{
	found_rules_clear(&pages->found);
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

struct pages_counts pages_counts(const struct pages *pages)
{
	struct pages_counts counts = pages->counts;
	const struct code_file *file;

	counts.files = pages->files.count;
	counts.memory = code_files_memory(&pages->files);
	for (file = TAILQ_FIRST(&pages->files.all); file; file = TAILQ_NEXT(file, others))
		counts.memory += code_file_memory(file);
	counts.rules_refused = pages->rules->refused;
	return counts;
}
