// SPDX-License-Identifier: Apache-2.0
/* Of the table: whose memory it is, and whether it is as large as was told. */
#include "table.h"

#include "base/base.h"

void table_mark_crowded(struct table *table, struct process *process)
{
	if (!process->crowded)
		process->crowded = VECTOR_PUSH(&table->crowded, process->pid);
}

struct process *table_take_crowded(struct table *table)
{
	while (table->crowded.count) {
		uint32_t pid = table->crowded.items[--table->crowded.count];
		struct process *process = table_newest(table, pid);

		if (!process || !process->crowded)
			continue; // evicted meanwhile, or there is another one
		process->crowded = false;
		return process;
	}
	return NULL;
}

static void suspect_ends(void *context, struct process *process)
{
	if (process->end_ns == PROCESS_ALIVE && process->ends_followed)
		table_mark_crowded(context, process);
}

static void suspect_untold(void *context, struct process *process)
{
	if (process->end_ns == PROCESS_ALIVE && process->gives_up && !process->ends_followed &&
	    process_is_followed(process))
		table_mark_crowded(context, process);
}

void table_suspect_ends(struct table *table, bool followed)
{
	table_each(table, followed ? suspect_ends : suspect_untold, table);
}

bool table_follow_ends(struct table *table, struct process *process)
{
	if (process->ends_followed)
		return true;
	if (!VECTOR_RESERVE(&table->left, table->ends_followed + 1))
		return false;
	table->ends_followed++;
	process->ends_followed = true;
	return true;
}

void table_leave_ends(struct table *table, struct process *process)
{
	if (!process->ends_followed)
		return;
	process->ends_followed = false;
	table->ends_followed--;
	// The room was made when it was followed.
	table->left.items[table->left.count++] = process->pid;
}

bool table_take_left(struct table *table, uint32_t *pid_ret)
{
	if (!table->left.count)
		return false;
	*pid_ret = table->left.items[--table->left.count];
	return true;
}

void table_mark_kin(struct table *table, struct process *process)
{
	if (!process->kin && process->space && process->space->parent && process->parent)
		process->kin = VECTOR_PUSH(&table->kin, process->pid);
}

void table_mark_unowned(struct table *table, struct process *process)
{
	if (!process->owner_read && !process->unowned)
		process->unowned = VECTOR_PUSH(&table->unowned, process->pid);
}

struct process *table_take_unowned(struct table *table)
{
	while (table->unowned.count) {
		uint32_t pid = table->unowned.items[--table->unowned.count];
		struct process *process = table_newest(table, pid);

		if (!process || !process->unowned)
			continue;
		process->unowned = false;
		if (process->end_ns == PROCESS_ALIVE)
			return process;
	}
	return NULL;
}

struct process *table_take_kin(struct table *table)
{
	while (table->kin.count) {
		struct process *process = table_newest(table, table->kin.items[--table->kin.count]);

		if (process && process->kin && process->end_ns == PROCESS_ALIVE)
			return process;
	}
	return NULL;
}

void table_share(struct table *table, struct process *process, struct process *parent)
{
	struct space *own = process->space, *space = parent->space;

	if (!own || !space || own == space || own->executed || own->older)
		return;
	for (size_t i = 0; i < own->mappings.past.count; i++)
		space_add(&table->pool, space, &own->mappings.past.items[i].mapping);
	for (size_t i = 0; i < own->mappings.now.count; i++)
		space_add(&table->pool, space, &own->mappings.now.items[i]);
	space->references++;
	space->sharers++;
	space->exec_id_known |= own->exec_id_known;
	if (own->exec_id_known)
		space->exec_id = own->exec_id;
	process->space = space;
	space_unref(&table->pool, own);
	if (process_is_followed(process))
		table_mark_unresolved(table, process);
	if (process_is_followed(parent))
		table_mark_unresolved(table, parent);
	table_mark_changed(table, process);
	table_mark_changed(table, parent);
}

static void mark_sharer(void *context, struct process *process)
{
	if (!process->space || !process->space->remapped || !process_is_followed(process))
		return;
	table_mark_unresolved(context, process);
	table_mark_changed(context, process);
}

static void clear_remapped(void *context, struct process *process)
{
	(void)context;
	if (process->space)
		process->space->remapped = false;
}

void table_mark_sharers(struct table *table)
{
	if (!table->has_remapped)
		return;
	table->has_remapped = false;
	table_each(table, mark_sharer, table);
	table_each(table, clear_remapped, NULL);
}

void table_mark_remapped(struct table *table, struct process *process)
{
	table_mark_changed(table, process);
	// Once for all that changes between two looks: it goes through all processes.
	if (process->space && process->space->sharers)
		process->space->remapped = table->has_remapped = true;
}
