// SPDX-License-Identifier: Apache-2.0
#include "query.h"

#include "../worker/worker.h"

/* What is known of the functions that run at @query's address. */
static enum query_state query_lines(struct symbol_query *query, const struct known_file *file,
				    uint64_t round)
{
	const struct known_place *place = known_lines_find(&file->lines, query->elf_address);

	if (!place)
		return file->lines_by && file->lines_paused <= round ? QUERY_NO_LINES
								     : QUERY_NO_NAME;
	if (!place->line_count)
		return QUERY_NO_NAME;
	query->lines = place->lines;
	query->line_count = place->line_count;
	query->trace = place->trace;
	query->runtime = file->lines_by;
	query->name = place->lines[0].function;
	return QUERY_ANSWERED;
}

enum query_state query_answer(struct symbol_query *query, const struct known_file *file,
			      uint64_t round)
{
	const struct worker_segment *segment;
	const struct known_range *range;
	enum query_state state;

	if (file->state == KNOWN_NOTHING)
		return QUERY_NO_NAME;
	segment = worker_find_segment(file->segments, file->segment_count, query->file_offset);
	if (!segment)
		return QUERY_ANSWERED;
	query->elf_address = segment->address + (query->file_offset - segment->file_offset);
	state = query_lines(query, file, round);
	range = state == QUERY_ANSWERED ? NULL : known_file_find(file, query->elf_address);
	if (!range)
		return file->state == KNOWN_HOPELESS ? QUERY_ANSWERED : state;
	query->name = range->name;
	query->system_name = range->system_name;
	query->unnamed = range->unnamed;
	query->entry = range->entry;
	return state == QUERY_NO_LINES ? state : QUERY_ANSWERED;
}

void query_reset(struct symbol_query *query)
{
	*query = (struct symbol_query){
		.file = query->file,
		.file_offset = query->file_offset,
		.elf_address = query->file_offset,
	};
}
