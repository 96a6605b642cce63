// SPDX-License-Identifier: Apache-2.0
#include "spaces_parts.h"

#include "code_file.h"

#include <string.h>

void spaces_disable_runtimes(struct spaces *spaces, uint32_t disabled)
{
	spaces->disabled = disabled;
}

/* The kernel side has nothing of it any more, or will not in a moment. */
static void forget_data(struct spaces *spaces, struct attached *attached)
{
	if (attached->data)
		memory_free(spaces->memory, MEMORY_FIXED, attached->data, attached->data_bytes);
	attached->data = 0;
}

static void forget(struct spaces *spaces, struct attached *attached)
{
	forget_data(spaces, attached);
	processes_account(spaces->processes, -(int64_t)sizeof(*attached));
	attached_destroy(&spaces->attachments, attached);
}

void spaces_forget_runtimes(struct spaces *spaces, struct space_ranges *space)
{
	struct attached *attached;

	while ((attached = SLIST_FIRST(&space->attached))) {
		SLIST_REMOVE_HEAD(&space->attached, of_process);
		forget(spaces, attached);
	}
}

/* Where the ELF address 0 of @file lies in the process whose code was read. */
static bool find_base(const struct spaces *spaces, uint32_t file, uint64_t *ret)
{
	for (size_t i = 0; i < spaces->code.count; i++) {
		const struct process_code *code = &spaces->code.items[i];
		uint64_t address;

		if (code->file != file ||
		    !pages_address(spaces->pages, file, code->file_offset, &address))
			continue;
		*ret = code->start - address;
		return true;
	}
	return false;
}

/* The process has @met at @base. Without memory it has not. */
static void meet(struct spaces *spaces, struct space_ranges *space, uint32_t file,
		 const struct code_runtime *met, uint64_t base, uint64_t now_ns)
{
	struct attached *attached;

	SLIST_FOREACH(attached, &space->attached, of_process)
	{
		// One of each: of two libraries of one kind the first counts.
		if (attached->met && attached->runtime == met->runtime)
			return;
		if (!attached_is(attached, met->runtime, met->layout, base))
			continue;
		attached->met = true;
		attached->file = file;
		attached_changed(&spaces->attachments, attached, now_ns);
		return;
	}
	attached = attached_create(&spaces->attachments, &space->key, met->runtime, met->layout,
				   base, now_ns);
	if (!attached)
		return;
	attached->met = true;
	attached->file = file;
	processes_account(spaces->processes, sizeof(*attached));
	SLIST_INSERT_HEAD(&space->attached, attached, of_process);
}

void spaces_meet_runtimes(struct spaces *spaces, struct space_ranges *space, uint64_t now_ns)
{
	struct attached *attached, *next;

	SLIST_FOREACH(attached, &space->attached, of_process)
	attached->met = false;
	for (size_t i = 0; i < space->use_count; i++) {
		uint32_t file = space->uses[i].file;
		const struct code_runtime *found = NULL;
		size_t count = 0;
		uint64_t base;

		if (space->uses[i].has_runtimes)
			found = pages_runtimes(spaces->pages, file, &count);
		if (!count || !find_base(spaces, file, &base))
			continue;
		for (size_t j = 0; j < count; j++)
			if (!(spaces->disabled & 1u << found[j].runtime->number))
				meet(spaces, space, file, &found[j], base, now_ns);
	}
	for (attached = SLIST_FIRST(&space->attached); attached; attached = next) {
		next = SLIST_NEXT(attached, of_process);
		if (attached->met)
			continue;
		SLIST_REMOVE(&space->attached, attached, attached, of_process);
		forget(spaces, attached);
	}
}

/* ---- the programs that walk ---- */

void spaces_walk_apart(struct spaces *spaces)
{
	spaces->programs.apart = true;
}

/* Those of its runtimes that walks have to know, 1 << enum runtime_number each. */
static uint32_t walked_runtimes(const struct space_ranges *space)
{
	const struct attached *attached;
	uint32_t runtimes_met = 0;

	SLIST_FOREACH(attached, &space->attached, of_process)
	if (attached->found.area_count || attached->data)
		runtimes_met |= 1u << attached->runtime->number;
	return runtimes_met;
}

uint32_t spaces_find_program(struct spaces *spaces, const struct space_ranges *space)
{
	return walk_programs_find(&spaces->programs, walked_runtimes(space));
}

uint32_t spaces_next_walk(struct spaces *spaces, uint32_t *runtimes_ret)
{
	return walk_programs_next(&spaces->programs, runtimes_ret);
}

void spaces_learn_walk(struct spaces *spaces, uint32_t number, bool ready)
{
	walk_programs_learn(&spaces->programs, number, ready);
	for (size_t i = 0; ready && i < SPACES_CHAINS; i++)
		for (struct space_ranges *space = spaces->chains[i]; space; space = space->next)
			if (!SLIST_EMPTY(&space->attached))
				spaces_tell_walk(spaces, space);
}

/* ---- what is found in processes ---- */

uint64_t spaces_look_due_ns(const struct spaces *spaces)
{
	return attachments_due_ns(&spaces->attachments);
}

bool spaces_next_look(struct spaces *spaces, uint64_t now_ns, struct attached *ret)
{
	return attachments_next(&spaces->attachments, now_ns, ret);
}

static struct attached *find_attached(const struct space_ranges *space, uint64_t number)
{
	struct attached *attached;

	SLIST_FOREACH(attached, &space->attached, of_process)
	if (attached->number == number)
		return attached;
	return NULL;
}

/* The loops of the runtime in that process, to what the kernel side is told. */
static void place_loops(const struct attached *attached, struct runtime_data *data)
{
	size_t count = attached->runtime->loops
			       ? attached->runtime->loops(attached->layout, data->loops)
			       : 0;

	for (size_t i = 0; i < RUNTIME_LOOPS; i++) {
		if (i >= count)
			data->loops[i] = (struct runtime_loop){ 0 };
		data->loops[i].start += i < count ? attached->base : 0;
		data->loops[i].limit += i < count ? attached->base : 0;
	}
}

/* Where there is no room for it, the runtime's code is code like any other, and told of again when
 * it is learned anew. */
static void put_data(struct spaces *spaces, struct attached *attached)
{
	uint64_t words[RUNTIME_DATA_BYTES / sizeof(uint64_t)];

	if (attached->found.data_bytes < sizeof(struct runtime_data) ||
	    attached->found.data_bytes > sizeof(words))
		return;
	memcpy(words, attached->found.data, attached->found.data_bytes);
	place_loops(attached, (struct runtime_data *)words);
	attached->data_bytes = attached->found.data_bytes;
	attached->data = memory_put(spaces->memory, MEMORY_FIXED, words, attached->data_bytes);
}

void spaces_learn_look(struct spaces *spaces, const struct attached *looked_at,
		       const struct runtime_found *found, uint64_t spent_ns, uint64_t now_ns)
{
	struct space_ranges *space = spaces_find(spaces, &looked_at->key);
	struct attached *attached = space ? find_attached(space, looked_at->number) : NULL;

	attachments_rest(&spaces->attachments, spent_ns, now_ns);
	// It may have ended meanwhile, or have loaded another library.
	if (!attached || !attached_learn(&spaces->attachments, attached, found, spent_ns, now_ns))
		return;
	forget_data(spaces, attached);
	put_data(spaces, attached);
	// One that made room for others comes back with its next sample.
	if (!space->set && !space->waits)
		return;
	spaces_tell_again(spaces, space, now_ns);
}

static bool is_in_loop(const struct attached *attached, uint64_t address)
{
	struct runtime_data data;

	if (!attached->data)
		return false;
	place_loops(attached, &data);
	for (size_t i = 0; i < RUNTIME_LOOPS; i++)
		if (address >= data.loops[i].start && address < data.loops[i].limit)
			return true;
	return false;
}

bool spaces_has_runtime_at(const struct spaces *spaces, const struct process_key *key,
			   uint64_t address)
{
	const struct space_ranges *space = spaces_find(spaces, key);
	const struct attached *attached;

	if (!space)
		return false;
	SLIST_FOREACH(attached, &space->attached, of_process)
	if (runtime_areas_hold(&attached->found, address) || is_in_loop(attached, address))
		return true;
	return false;
}
