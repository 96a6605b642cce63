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

void table_mark_kin(struct table *table, struct process *process)
{
	if (!process->kin && process->space && process->space->parent && process->parent)
		process->kin = VECTOR_PUSH(&table->kin, process->pid);
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

struct sharing {
	struct table *table;
	const struct space *space;
};

static void mark_sharer(void *context, struct process *process)
{
	const struct sharing *sharing = context;

	if (process->space != sharing->space || !process_is_followed(process))
		return;
	table_mark_unresolved(sharing->table, process);
	table_mark_changed(sharing->table, process);
}

void table_mark_remapped(struct table *table, struct process *process)
{
	struct sharing sharing = { table, process->space };

	table_mark_changed(table, process);
	if (process->space && process->space->sharers)
		table_each(table, mark_sharer, &sharing);
}
