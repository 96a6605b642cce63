// SPDX-License-Identifier: Apache-2.0
#include "code_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of memory: where in one of 64 KiB it lies is not known yet. */
enum { PAGE_SHIFT = 12 };

/* A directory lies in one slab. */
enum { PAGES_MOST = UNWIND_OBJECT_BYTES / sizeof(uint32_t) };

/* Places that are remembered until the file is known: what programs are in when they begin. */
enum { MISSED_MOST = 256 };

struct code_file *code_file_create(uint32_t id)
{
	struct code_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->id = id;
	file->owner = file->rules.owner = OWNER_UNKNOWN;
	return file;
}

static void forget_runtimes(struct code_file *file)
{
	free(TAKE(file->runtimes));
	file->runtime_count = 0;
}

/* Without memory the file is one like others. */
static void learn_runtimes(struct code_file *file, const struct worker_answer *answer)
{
	if (!answer->runtime_count)
		return;
	file->runtimes = calloc(answer->runtime_count, sizeof(*file->runtimes));
	if (!file->runtimes)
		return;
	for (size_t i = 0; i < answer->runtime_count; i++) {
		const struct worker_runtime *said = &answer->runtimes[i];

		file->runtimes[i].runtime = said->runtime;
		if (said->runtime->layout_bytes)
			memcpy(file->runtimes[i].layout, said->layout, said->runtime->layout_bytes);
	}
	file->runtime_count = answer->runtime_count;
}

void code_file_destroy(struct code_file *file)
{
	if (!file)
		return;
	free(file->segments);
	free(file->pages);
	forget_runtimes(file);
	VECTOR_DEINIT(&file->missed);
	VECTOR_DEINIT(&file->rules.numbers);
	free(file);
}

bool code_file_is_empty(const struct code_file *file)
{
	for (uint32_t i = 0; i < file->page_count; i++)
		if (file->pages[i].state == CODE_PAGE_PRESENT)
			return false;
	return true;
}

bool code_file_is_idle(const struct code_file *file)
{
	return !file->users && !file->queued && !file->page_request &&
	       file->state != CODE_FILE_ASKED;
}

size_t code_file_memory(const struct code_file *file)
{
	return sizeof(*file) + file->segment_room * sizeof(*file->segments) +
	       file->page_count * sizeof(*file->pages) +
	       file->runtime_count * sizeof(*file->runtimes) +
	       file->missed.capacity * sizeof(*file->missed.items) +
	       file->rules.numbers.capacity * sizeof(*file->rules.numbers.items);
}

/* The kernel maps whole pages: a segment that begins within one is mapped from its start on. */
static struct worker_segment as_mapped(struct worker_segment segment)
{
	uint64_t head = segment.file_offset & ((uint64_t)sysconf(_SC_PAGESIZE) - 1);

	if (head > segment.address)
		return segment;
	segment.file_offset -= head;
	segment.address -= head;
	segment.file_bytes += head;
	segment.memory_bytes += head;
	return segment;
}

void code_file_unlearn(struct code_file *file)
{
	free(TAKE(file->segments));
	free(TAKE(file->pages));
	forget_runtimes(file);
	file->segment_count = file->segment_room = file->page_count = 0;
}

int code_file_learn(struct code_file *file, const struct worker_answer *answer)
{
	uint64_t first = answer->page_first, limit = answer->page_limit;

	if (!answer->has_tables || limit <= first)
		return -ENOENT;
	code_file_unlearn(file); // an attempt that failed
	file->segments = calloc(answer->segment_count, sizeof(*file->segments));
	if (!file->segments)
		return -ENOMEM;
	file->segment_room = answer->segment_count;
	for (size_t i = 0; i < answer->segment_count; i++) {
		struct worker_segment segment = as_mapped(answer->segments[i]);

		if (!segment.executable)
			continue;
		file->segments[file->segment_count++] = segment;
		if (segment.address >> UNWIND_PAGE_SHIFT < first)
			first = segment.address >> UNWIND_PAGE_SHIFT;
	}
	if (limit - first > PAGES_MOST)
		limit = first + PAGES_MOST; // 504 MiB; what lies beyond goes by frame pointers
	file->pages = calloc(limit - first, sizeof(*file->pages));
	if (!file->pages)
		return -ENOMEM;
	learn_runtimes(file, answer);
	file->page_first = (uint32_t)first;
	file->page_count = (uint32_t)(limit - first);
	return 0;
}

void code_file_remember(struct code_file *file, uint64_t file_offset)
{
	uint64_t page = file_offset >> PAGE_SHIFT;

	for (size_t i = 0; i < file->missed.count; i++)
		if (file->missed.items[i] >> PAGE_SHIFT == page)
			return;
	if (file->missed.count < MISSED_MOST)
		(void)VECTOR_PUSH(&file->missed, file_offset);
}

bool code_file_find(const struct code_file *file, uint64_t file_offset, uint32_t *index_ret,
		    uint32_t *offset_ret)
{
	const struct worker_segment *segment =
		worker_find_segment(file->segments, file->segment_count, file_offset);
	uint64_t address, page;

	if (!segment)
		return false;
	address = segment->address + (file_offset - segment->file_offset);
	page = address >> UNWIND_PAGE_SHIFT;
	if (page < file->page_first || page - file->page_first >= file->page_count)
		return false;
	*index_ret = (uint32_t)(page - file->page_first);
	*offset_ret = address & ((1u << UNWIND_PAGE_SHIFT) - 1);
	return true;
}
