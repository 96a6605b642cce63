// SPDX-License-Identifier: Apache-2.0
#include "symbol_misses.h"

void symbol_misses_deinit(struct symbol_misses *misses)
{
	VECTOR_DEINIT(&misses->all);
	VECTOR_DEINIT(&misses->groups);
}

static int compare_misses(const void *left, const void *right)
{
	const struct miss *a = left, *b = right;

	if (a->file->id != b->file->id)
		return a->file->id < b->file->id ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return 0;
}

static void list_groups(struct symbol_misses *misses)
{
	if (misses->all.count)
		qsort(misses->all.items, misses->all.count, sizeof(*misses->all.items),
		      compare_misses);
	misses->groups.count = 0;
	for (size_t i = 0; i < misses->all.count; i++) {
		const struct miss *miss = &misses->all.items[i];
		struct miss_group *last = misses->groups.count
						  ? &misses->groups.items[misses->groups.count - 1]
						  : NULL;

		if (last && last->file == miss->file)
			last->count++;
		else if (!VECTOR_PUSH(&misses->groups, ((struct miss_group){
							       .id = miss->file->id,
							       .file = miss->file,
							       .first = i,
							       .count = 1,
						       })))
			return;
	}
}

static int compare_turns(const void *left, const void *right)
{
	const struct miss_group *a = left, *b = right;

	if (a->turn != b->turn)
		return a->turn < b->turn ? -1 : 1;
	return a->file->id < b->file->id ? -1 : a->file->id > b->file->id;
}

void symbol_misses_group(struct symbol_misses *misses, struct known_files *known,
			 struct processes *processes)
{
	struct shares turns = { 0 };

	list_groups(misses);
	for (size_t i = 0; i < misses->groups.count; i++) {
		struct miss_group *group = &misses->groups.items[i];
		struct owner owner = processes_file_owner(processes, group->file->id);

		known_file_set_owner(known, group->file, owner);
		group->turn = shares_of(&turns, owner);
		shares_add(&turns, owner, 1);
	}
	shares_deinit(&turns);
	if (misses->groups.count)
		qsort(misses->groups.items, misses->groups.count, sizeof(*misses->groups.items),
		      compare_turns);
}

void symbol_misses_find(struct symbol_misses *misses, const struct known_files *known)
{
	size_t kept = 0;

	for (size_t i = 0; i < misses->groups.count; i++) {
		struct miss_group group = misses->groups.items[i];

		group.file = known_files_find(known, group.id);
		if (group.file)
			misses->groups.items[kept++] = group;
	}
	misses->groups.count = kept;
}
