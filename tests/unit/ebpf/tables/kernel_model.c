// SPDX-License-Identifier: Apache-2.0
#include "kernel_model.h"

#include <errno.h>
#include <string.h>

static int create(void *context, uint32_t slab)
{
	struct kernel_model *model = context;

	if (slab != model->slab_count || slab >= MODEL_SLABS)
		return -ENOSPC;
	model->slab_count++;
	return 0;
}

static int write_bytes(void *context, uint32_t slab, uint32_t offset, const void *bytes,
		       size_t length)
{
	struct kernel_model *model = context;

	if (slab >= model->slab_count || offset + length > UNWIND_OBJECT_BYTES)
		return -EINVAL;
	memcpy(model->slabs[slab] + offset, bytes, length);
	model->written += length;
	model->writes++;
	return 0;
}

static int read_bytes(void *context, uint32_t slab, uint32_t offset, void *bytes, size_t length)
{
	struct kernel_model *model = context;

	if (slab >= model->slab_count || offset + length > UNWIND_OBJECT_BYTES)
		return -EINVAL;
	memcpy(bytes, model->slabs[slab] + offset, length);
	return 0;
}

struct memory_slabs kernel_model_slabs(struct kernel_model *model)
{
	return (struct memory_slabs){
		.create = create,
		.write = write_bytes,
		.read = read_bytes,
		.context = model,
	};
}

static const void *object(const struct kernel_model *model, uint32_t handle)
{
	return model->slabs[handle >> UNWIND_LINE_BITS] +
	       (handle & ((1 << UNWIND_LINE_BITS) - 1)) * UNWIND_LINE_BYTES;
}

static const struct unwind_process *find_process(const struct kernel_model *model, uint32_t pid,
						 uint32_t identity)
{
	const struct unwind_bucket *bucket = &model->buckets[pid & (MODEL_BUCKETS - 1)];

	for (size_t i = 0; i < UNWIND_BUCKET_SLOTS; i++)
		if (bucket->slots[i].who == (pid | (uint64_t)identity << 32))
			return &bucket->slots[i];
	return NULL;
}

static uint32_t find_row(const uint8_t *page, uint32_t address)
{
	const uint16_t *first = (const uint16_t *)(page + UNWIND_PAGE_FIRST);
	uint32_t block = address >> UNWIND_BLOCK_SHIFT, before = first[block];
	const uint8_t *rows = page + UNWIND_PAGE_ROWS;

	while (before < first[block + 1] && rows[3 * before] <= (address & 0xff))
		before++;
	return rows[3 * before - 2] | (uint32_t)rows[3 * before - 1] << 8;
}

static uint32_t find_call(const uint8_t *page, uint32_t address)
{
	const struct unwind_calls *calls =
		&((const struct unwind_calls *)page)[address >> UNWIND_CALLS_SHIFT];
	uint32_t byte = address & ((1 << UNWIND_CALLS_SHIFT) - 1);
	size_t row = 0;

	if (calls->rows[0] == UNWIND_CALLS_NONE)
		return find_row(page, address);
	while (row + 1 < UNWIND_CALLS_ROWS && calls->rows[row + 1] != UNWIND_CALLS_FREE &&
	       calls->rows[row + 1] >> 4 <= (int)byte)
		row++;
	return calls->rules[calls->rows[row] & 15];
}

/* The rule of a first frame, which a caller's at the same place would have, too: answers here say
 * of no row that it has no call. */
static uint32_t find_rule(const struct kernel_model *model, uint32_t page, uint32_t address)
{
	uint32_t rule = find_row(object(model, page), address);

	return find_call(object(model, page), address) == rule ? rule : MODEL_DISAGREED;
}

/* The ranges among which @pc is looked for. */
static const struct unwind_range *find_ranges(const struct kernel_model *model,
					      const struct unwind_process *process, uint64_t pc,
					      uint32_t *count_ret)
{
	const void *ranges = object(model, (uint32_t)process->code);
	uint32_t count = (uint32_t)(process->code >> 32) & ~UNWIND_COPIES;
	const struct unwind_piece *pieces = ranges, *piece = pieces;

	*count_ret = count;
	if (!(count & UNWIND_IN_PIECES))
		return ranges;
	for (uint32_t i = 1; i < (count & ~UNWIND_IN_PIECES) && pieces[i].start <= pc; i++)
		piece = &pieces[i];
	*count_ret = piece->count;
	return object(model, piece->ranges);
}

const void *kernel_model_object(const struct kernel_model *model, uint32_t handle)
{
	return object(model, handle);
}

uint32_t kernel_model_copies(const struct kernel_model *model, uint32_t pid, uint32_t identity)
{
	const struct unwind_process *process = find_process(model, pid, identity);

	return process ? process->code >> 32 & UNWIND_COPIES : 0;
}

uint32_t kernel_model_labels(const struct kernel_model *model, uint32_t pid, uint32_t identity)
{
	const struct unwind_process *process = find_process(model, pid, identity);
	const struct unwind_bucket *bucket = &model->buckets[pid & (MODEL_BUCKETS - 1)];

	return process ? (uint32_t)bucket->labels[process - bucket->slots] : 0;
}

struct model_finding kernel_model_find(const struct kernel_model *model, uint32_t pid,
				       uint32_t identity, uint64_t pc)
{
	const struct unwind_process *process = find_process(model, pid, identity);
	struct model_finding found = { .what = MODEL_NO_RANGE };
	const struct unwind_range *ranges;
	uint32_t count;

	if (!process)
		return (struct model_finding){ .what = MODEL_NO_PROCESS };
	ranges = find_ranges(model, process, pc, &count);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t distance = pc - ranges[i].start, address;
		uint32_t page;

		if (pc < ranges[i].start || distance >= (uint64_t)ranges[i].pages << 12)
			continue;
		if (ranges[i].kind >= UNWIND_RANGE_RUNTIME)
			return (struct model_finding){ .what = MODEL_RUNTIME, .range = &ranges[i] };
		found.what = MODEL_BARE;
		found.file = ranges[i].file;
		found.file_offset = ((uint64_t)ranges[i].file_page << 12) + distance;
		if (ranges[i].kind == UNWIND_RANGE_BARE)
			return found;
		address = ((uint64_t)ranges[i].page << 12) + distance;
		found.what = MODEL_NO_PAGE;
		if (!ranges[i].directory)
			return found; // unwind_find_page()
		page = ((const uint32_t *)object(
			model,
			ranges[i].directory))[ranges[i].first + (address >> UNWIND_PAGE_SHIFT)];
		if (!page)
			return found;
		found.what = MODEL_RULE;
		found.rule = find_rule(model, page, (uint32_t)address & 0xffff);
		return found;
	}
	return found;
}

void model_answer_init(struct model_answer *model, uint32_t file, uint64_t address,
		       uint64_t file_offset, uint32_t page_count)
{
	uint64_t bytes = ((uint64_t)page_count << UNWIND_PAGE_SHIFT) - (address & 0xffff);

	memset(model, 0, sizeof(*model));
	for (uint32_t i = 0; i <= UNWIND_BLOCKS; i++)
		model->first[i] = (uint16_t)i;
	model->segment = (struct worker_segment){ .file_offset = file_offset,
						  .file_bytes = bytes,
						  .address = address,
						  .memory_bytes = bytes,
						  .executable = 1 };
	model->answer = (struct worker_answer){
		.file = file,
		.outcome = WORKER_ANSWERED,
		.segments = &model->segment,
		.segment_count = 1,
		.has_tables = true,
		.page_first = (uint32_t)(address >> UNWIND_PAGE_SHIFT),
		.page_limit = (uint32_t)(address >> UNWIND_PAGE_SHIFT) + page_count,
		.pages = model->pages,
		.rules = model->rules,
	};
}

void model_answer_add_many(struct model_answer *model, uint32_t number, int32_t mark)
{
	size_t i = model->answer.page_count++, rule = model->answer.rule_count;

	for (size_t block = 0; block < UNWIND_BLOCKS; block++) {
		model->rules[rule + block] =
			(struct unwind_rule){ .cfa = UNWIND_CFA_REGISTER,
					      .cfa_offset = mark + (int32_t)block };
		model->rows[i][block] = (uint32_t)(WORKER_FIRST_RULE + rule + block) << 16;
	}
	model->pages[i] = (struct worker_page){ .number = number,
						.row_count = UNWIND_BLOCKS,
						.first = model->first,
						.rows = model->rows[i] };
	model->answer.rule_count = rule + UNWIND_BLOCKS;
}

void model_answer_add(struct model_answer *model, uint32_t number, int32_t mark)
{
	size_t i = model->answer.page_count++;

	model->rules[i] = (struct unwind_rule){ .cfa = UNWIND_CFA_REGISTER, .cfa_offset = mark };
	for (size_t block = 0; block < UNWIND_BLOCKS; block++)
		model->rows[i][block] = (uint32_t)(WORKER_FIRST_RULE + i) << 16;
	model->pages[i] = (struct worker_page){ .number = number,
						.row_count = UNWIND_BLOCKS,
						.first = model->first,
						.rows = model->rows[i] };
	model->answer.rule_count = i + 1;
}
