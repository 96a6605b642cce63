// SPDX-License-Identifier: Apache-2.0
#include "spaces_parts.h"

#include "code_file.h"

#include <string.h>

void spaces_disable_runtimes(struct spaces *spaces, uint32_t disabled, uint32_t unlabelled)
{
	spaces->disabled = disabled;
	spaces->attachments.unlabelled = unlabelled;
}

/* The kernel side has nothing of it any more, or will not in a moment. */
static void forget_data(struct spaces *spaces, struct attached *attached)
{
	if (attached->data)
		memory_free(spaces->memory, MEMORY_FIXED, attached->data, attached->data_bytes);
	attached->data = 0;
}

/* The loops of the runtime, to what the kernel side is told: from the first page of the file's text
 * on, whose ELF address is @text. */
static void place_loops(const struct attached *attached, uint64_t text, struct runtime_data *data)
{
	size_t count = attached->runtime->loops
			       ? attached->runtime->loops(attached->layout, data->loops)
			       : 0;

	for (size_t i = 0; i < RUNTIME_LOOPS; i++) {
		struct runtime_loop *loop = &data->loops[i];

		if (i >= count || loop->start < text || loop->limit <= loop->start) {
			*loop = (struct runtime_loop){ 0 };
			continue;
		}
		loop->start -= text;
		loop->limit -= text;
	}
}

/* Where there is no room for it, the runtime's code is code like any other, and told of again when
 * it is learned anew. */
static void put_data(struct spaces *spaces, struct attached *attached)
{
	uint64_t words[RUNTIME_DATA_BYTES / sizeof(uint64_t)], text;

	if (attached->found.data_bytes < sizeof(struct runtime_data) ||
	    attached->found.data_bytes > sizeof(words) ||
	    !pages_text(spaces->pages, attached->file, &text))
		return;
	memcpy(words, attached->found.data, attached->found.data_bytes);
	place_loops(attached, text, (struct runtime_data *)words);
	attached->data_bytes = attached->found.data_bytes;
	attached->data = memory_put(spaces->memory, MEMORY_FIXED, words, attached->data_bytes);
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

/*
 * What is known of @met in a program that @attached may have been forked from: it lies where it
 * lies there, which is random for each exec, and has executed as many programs. NULL: nothing is.
 */
static const struct attached *find_parents(const struct spaces *spaces,
					   const struct attached *attached)
{
	for (size_t i = 0; i < SPACES_CHAINS; i++)
		for (const struct space_ranges *space = spaces->chains[i]; space;
		     space = space->next) {
			const struct attached *other;

			if (space->key.exec_id != attached->key.exec_id)
				continue;
			SLIST_FOREACH(other, &space->attached, of_process)
			if (other->found.progress && !other->inherited &&
			    attached_is(other, attached->runtime, attached->layout, attached->base))
				return other;
		}
	return NULL;
}

/* What stacks of a fork are walked by before it has been looked at. */
static void inherit(struct spaces *spaces, struct attached *attached)
{
	const struct attached *from = find_parents(spaces, attached);

	if (from)
		attached_inherit(&spaces->attachments, attached, from);
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
		attached->owner = space->owner;
		attached_changed(&spaces->attachments, attached, now_ns);
		return;
	}
	attached = attached_create(&spaces->attachments, &space->key, space->owner, met->runtime,
				   met->layout, base, now_ns);
	if (!attached)
		return;
	attached->met = true;
	attached->file = file;
	processes_account(spaces->processes, sizeof(*attached));
	if (!attached->found.progress)
		inherit(spaces, attached);
	SLIST_INSERT_HEAD(&space->attached, attached, of_process);
	put_data(spaces, attached);
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

uint32_t spaces_find_labels(const struct space_ranges *space)
{
	const struct attached *attached;

	SLIST_FOREACH(attached, &space->attached, of_process)
	if (attached->runtime->has_labels && attached->data)
		return attached->data;
	return 0;
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

static struct runtime_process describe(const struct attached *attached)
{
	struct runtime_process process = {
		.runtime = attached->runtime,
		.base = attached->base,
		.data_bytes = attached->found.data_bytes,
	};

	memcpy(process.layout, attached->layout, attached->runtime->layout_bytes);
	memcpy(process.data, attached->found.data, attached->found.data_bytes);
	return process;
}

bool spaces_next_look(struct spaces *spaces, uint64_t now_ns, struct process_look *ret)
{
	struct attached attached;

	if (!attachments_next(&spaces->attachments, now_ns, &attached))
		return false;
	*ret = (struct process_look){
		.key = attached.key,
		.owner = attached.owner,
		.number = attached.number,
		.process = describe(&attached),
	};
	ret->process.data_bytes = 0;
	return true;
}

bool spaces_find_parent(const struct spaces *spaces, const struct process_key *child,
			uint32_t parent, struct process_key *ret)
{
	const struct space_ranges *space = spaces->chains[parent % SPACES_CHAINS];

	while (space && space->key.pid != parent)
		space = space->next;
	// A fork has its parent's count of programs executed; a later user of a number is younger.
	if (!space || space->key.exec_id != child->exec_id ||
	    space->key.start_boottime_ns > child->start_boottime_ns)
		return false;
	*ret = space->key;
	return true;
}

bool spaces_find_runtime(const struct spaces *spaces, const struct process_key *key,
			 uint32_t runtime, struct runtime_process *ret)
{
	const struct space_ranges *space = spaces_find(spaces, key);
	const struct attached *attached;

	if (!space)
		return false;
	SLIST_FOREACH(attached, &space->attached, of_process)
	if (attached->runtime->number == runtime && attached->found.progress) {
		*ret = describe(attached);
		return true;
	}
	return false;
}

static struct attached *find_attached(const struct space_ranges *space, uint64_t number)
{
	struct attached *attached;

	SLIST_FOREACH(attached, &space->attached, of_process)
	if (attached->number == number)
		return attached;
	return NULL;
}

void spaces_learn_look(struct spaces *spaces, const struct process_look *look,
		       const struct process_looked *looked, uint64_t now_ns)
{
	struct space_ranges *space = spaces_find(spaces, &look->key);
	struct attached *attached = space ? find_attached(space, look->number) : NULL;

	attachments_spend(&spaces->attachments, look->owner, looked->spent_ns);
	// It may have ended meanwhile, or have loaded another library.
	if (!attached || !attached_learn(&spaces->attachments, attached, looked, now_ns))
		return;
	forget_data(spaces, attached);
	put_data(spaces, attached);
	// One that made room for others comes back with its next sample.
	if (!space->set && !space->waits)
		return;
	spaces_tell_again(spaces, space, now_ns);
}

/* @address: as the file has it. */
static bool is_in_loop(const struct attached *attached, uint64_t address)
{
	struct runtime_loop loops[RUNTIME_LOOPS];
	size_t count;

	if (!attached->data || !attached->runtime->loops)
		return false;
	count = attached->runtime->loops(attached->layout, loops);
	for (size_t i = 0; i < count && i < RUNTIME_LOOPS; i++)
		if (address >= loops[i].start && address < loops[i].limit)
			return true;
	return false;
}

bool spaces_has_runtime_at(const struct spaces *spaces, const struct process_key *key,
			   const struct process_code *code, uint64_t address)
{
	const struct space_ranges *space = spaces_find(spaces, key);
	const struct attached *attached;
	uint64_t in_file;

	if (!space || code->vdso)
		return false;
	if (code->file != PROCESS_NO_FILE &&
	    !pages_address(spaces->pages, code->file, code->file_offset + (address - code->start),
			   &in_file))
		return false;
	SLIST_FOREACH(attached, &space->attached, of_process)
	if (code->file == PROCESS_NO_FILE
		    ? runtime_areas_hold(&attached->found, address)
		    : attached->file == code->file && is_in_loop(attached, in_file))
		return true;
	return false;
}
