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

static bool is_in_heap(struct tables *tables, const struct process_key *key, uint64_t address)
{
	bool is;

	pthread_mutex_lock(&tables->lock);
	is = tables->spaces && spaces_has_heap(tables->spaces, key, address);
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
	if (code.file == PROCESS_NO_FILE && !code.vdso)
		return is_in_heap(tables, key, address) ? TABLES_IN_PROCESS : TABLES_FOUND;
	offset = code.file_offset + (address - code.start);
	if (code.vdso)
		return find_rule(tables, PAGES_VDSO, offset, &ret->rule);
	// As range_list.c: a frame has no room for places beyond.
	if (code.file_offset + (code.limit - code.start) > 1ull << UNWIND_FRAME_SHIFT)
		return TABLES_FOUND;
	ret->frame = UNWIND_FRAME_FILE | (code.file + 1ull) << UNWIND_FRAME_SHIFT | offset;
	return find_rule(tables, code.file, offset, &ret->rule);
}

const struct unwind_rule *tables_rule(const struct tables *tables, uint32_t number)
{
	return tables->rules.rules && number < UNWIND_RULES ? &tables->rules.rules[number] : NULL;
}
