// SPDX-License-Identifier: Apache-2.0
#include "pages_parts.h"

#include "unwind/unwind.h"

#include <errno.h>
#include <string.h>

/* Of a file that could not be read, but for the first time. */
static const uint64_t failed_retry_ns = 10000000000;

bool pages_set_entry(struct pages *pages, struct code_file *file, uint32_t index, uint32_t handle)
{
	return !memory_change(pages->memory, file->directory, index * (uint32_t)sizeof(handle),
			      &handle, sizeof(handle));
}

void pages_learn_owner(struct pages *pages, struct code_file *file)
{
	struct owner owner = OWNER_UNKNOWN;

	if (pages->owner_of)
		owner = pages->owner_of(pages->owner_context, file->id);
	shares_move(memory_shares(pages->memory, MEMORY_DROPPABLE), file->owner, owner,
		    file->page_bytes);
	if (file->directory)
		shares_move(memory_shares(pages->memory, MEMORY_FIXED), file->owner, owner,
			    memory_charge(file->page_count * sizeof(uint32_t)));
	file->owner = file->rules.owner = owner;
}

/* It is asked for again, as often as it may be. */
static void put_off_page(struct pages *pages, struct code_file *file, uint32_t index,
			 uint64_t now_ns)
{
	struct code_page *page = &file->pages[index];

	page->state = page->tries ? CODE_PAGE_WANTED : CODE_PAGE_ABSENT;
	page->tries -= page->tries > 0;
	file->retry_ns = now_ns + PAGES_RETRY_NS;
	if (page->state == CODE_PAGE_WANTED)
		pages_want(pages, file, now_ns);
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
	uint32_t rows[UNWIND_BLOCKS] = { 0 };
	uint16_t first[UNWIND_BLOCKS + 1];

	if (pages->bare_page)
		return pages->bare_page;
	for (uint32_t i = 0; i <= UNWIND_BLOCKS; i++)
		first[i] = (uint16_t)i;
	pages->bare_page = memory_put(pages->memory, MEMORY_FIXED, pages->page,
				      page_layout_write(pages->page, first, rows));
	return pages->bare_page;
}

/* Code whose rules cannot be had is walked by frame pointers. */
static void fail_page(struct pages *pages, struct code_file *file, uint32_t index, uint64_t now_ns)
{
	uint32_t handle = bare_page(pages);

	if (!handle || !pages_set_entry(pages, file, index, handle)) {
		refuse_page(pages, file, index, now_ns);
		return;
	}
	file->pages[index].state = CODE_PAGE_FAILED;
	pages->counts.failed++;
}

/* Bytes in the kernel side's memory; 0: there is no room for more of this owner's. */
static uint32_t put(struct pages *pages, const struct code_file *file, enum memory_kind kind,
		    size_t length)
{
	uint32_t handle = 0;

	if (memory_admits(pages->memory, kind, file->owner, length))
		handle = memory_put(pages->memory, kind, pages->page, length);
	if (handle)
		shares_add(memory_shares(pages->memory, kind), file->owner, memory_charge(length));
	return handle;
}

static void put_page(struct pages *pages, struct code_file *file, uint32_t index, size_t length,
		     uint32_t lacks, uint64_t now_ns)
{
	struct code_page *page = &file->pages[index];
	uint32_t handle = put(pages, file, MEMORY_DROPPABLE, length);

	file->page_bytes += handle ? memory_charge(length) : 0;
	if (!handle || !pages_set_entry(pages, file, index, handle)) {
		pages_free(pages, file, handle, length);
		refuse_page(pages, file, index, now_ns);
		return;
	}
	*page = (struct code_page){ .handle = handle,
				    .length = (uint16_t)length,
				    .state = CODE_PAGE_PRESENT,
				    .lacks = lacks < UINT8_MAX ? (uint8_t)lacks : UINT8_MAX,
				    .epoch = pages->epoch };
	pages->counts.pages++;
	pages->counts.built++;
}

/* The number that rule @at of an answer, which is @rule, has among all files' rules. *@lacks is one
 * more the first time that there is no room for it. */
static uint32_t use_rule(struct pages *pages, struct code_file *file, uint32_t at,
			 const struct unwind_rule *rule, uint32_t *lacks)
{
	bool was_wanted = pages->rules->wanted;
	uint8_t bit = (uint8_t)(1u << at % 8), *refused = &pages->refused[at / 8];
	uint32_t number;

	pages->rules->wanted = false;
	number = rule_table_use(pages->rules, rule, &file->rules);
	if (pages->rules->wanted && !(*refused & bit)) {
		*refused |= bit;
		++*lacks;
	}
	pages->rules->wanted |= was_wanted;
	return number;
}

/* A row with the number that its rule has among all files' rules. */
static uint32_t renumber(struct pages *pages, struct code_file *file,
			 const struct worker_answer *answer, uint32_t row, uint32_t *lacks)
{
	uint32_t rule = row >> 16;
	const struct unwind_rule *known;

	if (rule >= UNWIND_PACKED_FP || rule < WORKER_FIRST_RULE ||
	    rule - WORKER_FIRST_RULE >= answer->rule_count)
		return row;
	known = &answer->rules[rule - WORKER_FIRST_RULE];
	if (known->cfa == UNWIND_CFA_UNSUPPORTED && known->unsupported < UNWIND_UNSUPPORTED_COUNT)
		pages->counts.unsupported[known->unsupported]++;
	file->switches_stacks |= known->stack_switch;
	rule = use_rule(pages, file, rule - WORKER_FIRST_RULE, known, lacks);
	return (row & 0xffff) | rule << 16;
}

/* Write @page, and its rows by their numbers here, to pages->page, *@length_ret bytes. Returns of
 * how many rules rows say "unknown" for want of room. */
static uint32_t write_page(struct pages *pages, struct code_file *file,
			   const struct worker_answer *answer, const struct worker_page *page,
			   size_t *length_ret)
{
	uint32_t lacks = 0;

	memset(pages->refused, 0, sizeof(pages->refused));
	for (uint32_t i = 0; i < page->row_count; i++)
		pages->rows[i] = renumber(pages, file, answer, page->rows[i], &lacks);
	*length_ret = page_layout_write(pages->page, page->first, pages->rows);
	return lacks;
}

static void learn_page(struct pages *pages, struct code_file *file,
		       const struct worker_answer *answer, const struct worker_page *page,
		       uint64_t now_ns)
{
	uint32_t index = page->number - file->page_first;
	uint32_t lacks;
	size_t length;

	if (page->number < file->page_first || index >= file->page_count ||
	    page->row_count > PAGE_MAX_ROWS || file->pages[index].state == CODE_PAGE_PRESENT)
		return;
	// Files that nobody runs let go of their rules meanwhile. What there is no room for then
	// comes without them.
	lacks = write_page(pages, file, answer, page, &length);
	if (lacks && file->pages[index].tries != 1) {
		put_off_page(pages, file, index, now_ns);
		return;
	}
	put_page(pages, file, index, length, lacks, now_ns);
}

static bool make_directory(struct pages *pages, struct code_file *file)
{
	memset(pages->page, 0, file->page_count * sizeof(uint32_t));
	file->directory = put(pages, file, MEMORY_FIXED, file->page_count * sizeof(uint32_t));
	return file->directory != 0;
}

/* It may go better another time. Meanwhile its code goes by frame pointers. */
static void fail_file(struct pages *pages, struct code_file *file, uint64_t now_ns)
{
	file->state = CODE_FILE_BARE;
	file->retry_ns = now_ns + (file->failures ? failed_retry_ns : PAGES_RETRY_NS);
	pages->waits = true;
	if (++file->failures == CODE_FILE_ATTEMPTS)
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
		file->retry_ns = now_ns + PAGES_RETRY_NS;
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
	return !file->users ||
	       (file->state == CODE_FILE_KNOWN && ++file->failures < CODE_FILE_ATTEMPTS);
}

bool pages_learn(struct pages *pages, const struct worker_answer *answer, uint64_t now_ns)
{
	struct code_file *file = pages_find_file(pages, answer->file);
	bool was_pending, switched;

	if (!file)
		return false;
	switched = file->switches_stacks;
	pages_learn_owner(pages, file);
	if (is_worth_another_try(file, answer->outcome)) {
		pages_want_again(pages, file, now_ns);
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
	pages_miss_remembered(pages, file, now_ns);
	return (was_pending && file->state != CODE_FILE_WANTED) ||
	       file->switches_stacks != switched;
}

/* ---- the vDSO ---- */

static int number_rule(void *context, const struct unwind_rule *rule)
{
	struct pages *pages = context;

	return (int)rule_table_use(pages->rules, rule, &pages->vdso->rules);
}

static void build_vdso_page(struct pages *pages, const struct unwind_source *source,
			    const struct elf_view *view, uint32_t index)
{
	uint64_t start = (uint64_t)(pages->vdso->page_first + index) << UNWIND_PAGE_SHIFT;
	struct page page;

	page_begin(&page, start, view->machine, view, number_rule, pages);
	unwind_source_visit(source, start, start + (1u << UNWIND_PAGE_SHIFT), page_take, &page);
	if (page_finish(&page))
		put_page(pages, pages->vdso, index,
			 page_layout_write(pages->page, page.first, page.rows), 0, 0);
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
			build_vdso_page(pages, &source, &view, i);
	}
	unwind_source_deinit(&source);
}
