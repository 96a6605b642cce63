// SPDX-License-Identifier: Apache-2.0
#include "tables_parts.h"

#include "sample.h"

#include "base/base.h"

/* Of a mapping with a file, or of the vDSO. */
static enum tables_found find_rule(struct tables *tables, uint32_t file, uint64_t file_offset,
				   uint32_t *ret)
{
	enum pages_found found = PAGES_LATER;
	bool wants = false;

	pthread_mutex_lock(&tables->lock);
	if (tables->pages) {
		found = pages_find_rule(tables->pages, file, file_offset, clock_monotonic_ns(),
					ret);
		wants = found == PAGES_LATER && pages_wants(tables->pages);
	}
	pthread_mutex_unlock(&tables->lock);
	if (wants)
		missed_wake(&tables->missed);
	return found == PAGES_LATER ? TABLES_NO_PAGE : TABLES_FOUND;
}

static bool is_of_runtime(struct tables *tables, const struct process_key *key,
			  const struct process_code *code, uint64_t address)
{
	bool is;

	pthread_mutex_lock(&tables->lock);
	is = tables->spaces && spaces_has_runtime_at(tables->spaces, key, code, address);
	pthread_mutex_unlock(&tables->lock);
	return is;
}

static const enum tables_found without_code[] = {
	[PROCESS_CODE_PENDING] = TABLES_NO_PAGE,
	[PROCESS_CODE_NONE] = TABLES_NO_CODE,
	[PROCESS_CODE_UNKNOWN] = TABLES_UNKNOWN,
};

enum tables_found tables_find_code(struct tables *tables, const struct process_key *key,
				   uint64_t time_ns, uint64_t address, struct tables_code *ret)
{
	struct process_code code;
	enum process_code_state state;
	uint64_t offset;

	*ret = (struct tables_code){ .frame = address, .rule = UNWIND_RULE_UNKNOWN };
	if (address >= UNWIND_ADDRESS_LIMIT)
		return TABLES_NO_CODE;
	state = processes_find_code(tables->processes, key, time_ns, address, &code);
	if (state != PROCESS_CODE_FOUND)
		return without_code[state];
	if (is_of_runtime(tables, key, &code, address))
		return TABLES_IN_PROCESS;
	if (!code.vdso && code.file == PROCESS_NO_FILE)
		return TABLES_FOUND;
	offset = code.file_offset + (address - code.start);
	if (code.vdso)
		return find_rule(tables, PAGES_VDSO, offset, &ret->rule);
	// As range_list.c: a frame has no room for places beyond.
	if (code.file_offset + (code.limit - code.start) > 1ull << UNWIND_FRAME_SHIFT)
		return TABLES_FOUND;
	ret->frame = UNWIND_FRAME_FILE | (code.file + 1ull) << UNWIND_FRAME_SHIFT | offset;
	return find_rule(tables, code.file, offset, &ret->rule);
}

bool tables_begin_walk(struct tables *tables, const struct process_key *key, uint64_t time_ns,
		       struct tables_walk *ret)
{
	*ret = (struct tables_walk){ .tables = tables };
	pthread_mutex_lock(&tables->lock);
	if (tables->spaces)
		ret->ranges = spaces_ranges(tables->spaces, key, time_ns, &ret->count);
	ret->now_ns = clock_monotonic_ns();
	if (!ret->ranges)
		pthread_mutex_unlock(&tables->lock);
	return ret->ranges;
}

/* The last range that begins at or before @address; the first if none does. */
static const struct unwind_range *search_ranges(const struct tables_walk *walk, uint64_t address)
{
	const struct unwind_range *found = walk->ranges;
	size_t count = walk->count;

	// The address is as likely here as there: a branch would be mispredicted.
	while (count > 1) {
		size_t half = count / 2;

		found = found[half].start <= address ? found + half : found;
		count -= half;
	}
	return found;
}

static bool holds(const struct unwind_range *range, uint64_t address)
{
	return range && address - range->start < (uint64_t)range->pages << 12;
}

/* The range that holds @address; NULL: none does. */
static const struct unwind_range *enter_range(struct tables_walk *walk, uint64_t address)
{
	if (holds(walk->last, address))
		return walk->last;
	walk->last = search_ranges(walk, address);
	walk->file = NULL;
	return holds(walk->last, address) ? walk->last : NULL;
}

enum tables_found tables_walk_find(struct tables_walk *walk, uint64_t address,
				   struct tables_code *ret)
{
	const struct unwind_range *range = enter_range(walk, address);
	enum pages_found found;

	*ret = (struct tables_code){ .frame = address, .rule = UNWIND_RULE_UNKNOWN };
	if (!range)
		return TABLES_NO_CODE;
	if (range->kind >= UNWIND_RANGE_RUNTIME)
		return TABLES_IN_PROCESS;
	if (range->file)
		ret->frame = UNWIND_FRAME_FILE | (uint64_t)range->file << UNWIND_FRAME_SHIFT |
			     (((uint64_t)range->file_page << 12) + (address - range->start));
	if (range->kind == UNWIND_RANGE_BARE)
		return TABLES_FOUND;
	found = pages_find_in_range(walk->tables->pages, range, &walk->file, address, walk->now_ns,
				    &ret->rule);
	walk->missed |= found == PAGES_LATER;
	return found == PAGES_LATER ? TABLES_NO_PAGE : TABLES_FOUND;
}

void tables_end_walk(struct tables_walk *walk)
{
	struct tables *tables = walk->tables;
	bool wants = walk->missed && pages_wants(tables->pages);

	pthread_mutex_unlock(&tables->lock);
	if (wants)
		missed_wake(&tables->missed);
}

void tables_copy_no_more(struct tables *tables, const struct process_key *key)
{
	pthread_mutex_lock(&tables->lock);
	if (tables->spaces)
		spaces_copy_no_more(tables->spaces, key);
	pthread_mutex_unlock(&tables->lock);
}

const struct unwind_rule *tables_rule(const struct tables *tables, uint32_t number)
{
	return tables->rules.rules && number < UNWIND_RULES ? &tables->rules.rules[number] : NULL;
}
