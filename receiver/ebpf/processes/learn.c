// SPDX-License-Identifier: Apache-2.0
#include "learn.h"

#include "base/base.h"

#include <errno.h>
#include <string.h>

/* Mappings of which none may be looked for in vain, since few programs have more. */
enum { CROWDED = 128 };

/* The longer the list of a process's mappings, the less often it is read again after records were
 * lost: at 4,000 ns a byte rereading one process takes about a hundredth of a CPU. */
static const uint64_t REREAD_NS_PER_BYTE = 4000;

/* Readings may run ahead of that pace by so much. A program that loads many libraries loses records
 * and is read several times within a second; after the last loss it must be read at once. */
static const uint64_t REREAD_AHEAD_NS = 20000000000;

/* Where there was no room for all mappings, there is none a moment later. */
static const uint64_t REREAD_NS = 10000000000;

/* Nor does a process soon give up mappings whose list takes more than is read of one. */
static const uint64_t TOO_LONG_NS = 60000000000;

/* Whoever does not let his memory be looked at may do so later. */
static const uint64_t HANGING_NS = 1000000000;

static void set_comm(struct space *space, const char *text, size_t length)
{
	if (length >= sizeof(space->comm))
		length = sizeof(space->comm) - 1;
	memcpy(space->comm, text, length);
	memset(space->comm + length, 0, sizeof(space->comm) - length);
}

/* The latest user of @pid, which lives: whatever was told of its end was mistaken. */
static struct process *find_living(struct table *table, uint32_t pid, uint64_t time_ns)
{
	struct process *process = table_newest(table, pid);

	if (process && process->end_ns < time_ns && process->end_ns != PROCESS_ALIVE) {
		table_revive(table, process);
		table_mark_changed(table, process);
	}
	return process;
}

/* As above; one nobody told of begins now, with a space that is still to be read. */
static struct process *find_or_add(struct table *table, uint32_t pid, uint64_t time_ns)
{
	struct process *process = find_living(table, pid, time_ns);

	if (!process)
		process = table_add(table, pid, time_ns);
	if (process && !process->space)
		process->space = space_create(&table->pool, time_ns);
	if (!process || !process->space) {
		table->refused++;
		return NULL;
	}
	return process;
}

static void learn_fork(struct table *table, const struct record *record)
{
	struct process *parent, *process;
	bool new_thread = record->pid == record->parent;

	parent = find_living(table, record->parent, record->time_ns);
	if (new_thread) {
		if (parent)
			parent->threads++;
		return;
	}
	process = table_newest(table, record->pid);
	if (process && process->begin_ns >= record->time_ns) {
		// Something of the child's has been told first.
		process->begin_ns = record->time_ns;
		process->parent = record->parent;
		return;
	}
	process = table_add(table, record->pid, record->time_ns);
	if (!process) {
		table->refused++;
		return;
	}
	process->parent = record->parent;
	process->forked_ns = record->time_ns + table->boot_offset_ns;
	if (parent) {
		process->owner = parent->owner;
		process->owner_read = parent->owner_read;
		table_mark_unowned(table, parent);
	}
	if (parent && parent->space) {
		process->space = space_fork(&table->pool, table_space_at(parent, record->time_ns),
					    record->time_ns);
		process->container = texts_share(&table->pool.texts, parent->container);
		process->pod = texts_share(&table->pool.texts, parent->pod);
	}
	if (!process->space)
		process->space = space_create(&table->pool, record->time_ns);
}

static void learn_exit(struct table *table, const struct record *record)
{
	struct process *process = table_newest(table, record->pid);

	if (!process || process->begin_ns > record->time_ns)
		return;
	process->last_exit_ns = record->time_ns;
	process->leader_exited |= record->tid == record->pid;
	if (process->threads > 0)
		process->threads--;
	if (process->leader_exited && !process->threads)
		table_end(table, process, record->time_ns);
}

static void learn_exec(struct table *table, const struct record *record)
{
	struct process *process = find_or_add(table, record->pid, record->time_ns);
	struct space *space;

	if (!process || record->time_ns < process->space->begin_ns)
		return;
	space = space_create(&table->pool, record->time_ns);
	if (!space) {
		table->refused++;
		process->space->complete = false;
		return;
	}
	space->complete = true;
	space->executed = true;
	set_comm(space, record->text, record->text_length);
	space->older = process->space;
	process->space = space;
	// Whichever thread called exec, it is the leader now and the only one.
	process->threads = 1;
	process->leader_exited = false;
	process->kin = false;
	process->gives_up = false;
	process->owner_read = process->unowned = false;
	table_leave_ends(table, process);
	// Runtimes move a process into its container between fork and exec.
	process->container_read = false;
	process->container_pause_ns = 0;
	table_mark_changed(table, process);
}

static void learn_comm(struct table *table, const struct record *record)
{
	struct process *process;

	if (record->tid != record->pid)
		return;
	process = find_or_add(table, record->pid, record->time_ns);
	if (process)
		set_comm(table_space_at(process, record->time_ns), record->text,
			 record->text_length);
}

/* @mapping was known, and has been told again: a library may have been unloaded, written to, and
 * loaded again in its place. */
static void learn_repeat(struct table *table, const struct space *space,
			 const struct mapping *mapping)
{
	const struct mapping *known = space_find(space, mapping->begin_ns, mapping->start);

	if (known && known->file < MAPPING_FILE_REFUSED)
		table_mark_repeated(table, known->file);
}

static void learn_mapping(struct table *table, struct process *process, struct space *space,
			  struct mapping *mapping, const char *path, size_t length)
{
	uint64_t changes = space->mappings.changes, repeats = space->mappings.repeats;
	bool left_out;

	mapping->path = space_take_path(&table->pool, space, path, length, &left_out);
	table->paths_refused += left_out;
	mapping->file = mapping->inode ? MAPPING_FILE_UNRESOLVED : PROCESS_NO_FILE;
	if (!mapping->path || space_add(&table->pool, space, mapping)) {
		table->refused++;
		if (!mapping->path && space->complete) {
			space->complete = false;
			space->suspect_ns = mapping->begin_ns;
		}
	} else if (mapping->inode && process_is_followed(process)) {
		table_mark_unresolved(table, process);
	}
	if (space == process->space && space->mappings.changes != changes)
		table_mark_remapped(table, process);
	if (mapping->inode && space->mappings.repeats != repeats)
		learn_repeat(table, space, mapping);
	texts_release(&table->pool.texts, mapping->path);
}

/* Once in a while: each time it has been told to have twice as much. */
static bool is_crowded(const struct process *process, const struct space *space)
{
	return process_is_followed(process) && space == process->space &&
	       space->mappings.now.count >= CROWDED + 2 * space->read_count;
}

static void learn_mmap(struct table *table, const struct record *record)
{
	struct process *process = find_or_add(table, record->pid, record->time_ns);
	struct mapping mapping = {
		.start = record->start,
		.limit = record->start + record->length,
		.file_offset = record->file_offset,
		.begin_ns = record->time_ns,
		.device = record->device,
		.inode = record->inode,
	};
	struct space *space;

	if (!process)
		return;
	space = table_space_at(process, record->time_ns);
	// The kernel maps the program first, then its interpreter.
	if (record->inode && !space->executable && !space->parent && space->complete)
		space_set_executable(&table->pool, space, record->text,
				     proc_path_length(record->text, record->text_length));
	learn_mapping(table, process, space, &mapping, record->text, record->text_length);
	table_mark_kin(table, process);
	if (is_crowded(process, space))
		table_mark_crowded(table, process);
}

/* What @space shows in [@start, @limit) has gone. */
static void learn_end(struct table *table, struct process *process, struct space *space,
		      uint64_t start, uint64_t limit, uint64_t time_ns)
{
	uint64_t changes = space->mappings.changes;

	table->refused += space_end(&table->pool, space, start, limit, time_ns) != 0;
	if (space->mappings.changes == changes)
		return;
	process->gives_up = true;
	if (space == process->space)
		table_mark_remapped(table, process);
}

void learn_code_end(struct table *table, const struct code_end_record *record)
{
	struct process *process = find_living(table, record->pid, record->time_ns);
	struct space *space = process ? table_space_at(process, record->time_ns) : NULL;

	if (!space)
		return;
	if (record->limit)
		learn_end(table, process, space, record->start, record->limit, record->time_ns);
	else if (space == process->space && process_is_followed(process))
		table_mark_crowded(table, process);
}

void learn_record(struct table *table, const struct record *record)
{
	switch (record->kind) {
	case RECORD_FORK:
		learn_fork(table, record);
		break;
	case RECORD_EXIT:
		learn_exit(table, record);
		break;
	case RECORD_EXEC:
		learn_exec(table, record);
		break;
	case RECORD_COMM:
		learn_comm(table, record);
		break;
	case RECORD_MMAP:
		learn_mmap(table, record);
		break;
	case RECORD_LOST:
		table->lost += record->lost;
		table->has_lost = true;
		break;
	case RECORD_KERNEL_CODE:
	case RECORD_OTHER:
		break;
	}
}

static bool facts_match(const struct table *table, const struct process *process, uint64_t start_ns)
{
	struct process_key key = { .pid = process->pid, .start_boottime_ns = start_ns };

	// What was read is a tick rounded down, so an exact time is up to a tick later.
	if (process->start_ns)
		return process->start_ns / table->tick_ns == start_ns / table->tick_ns ||
		       process->start_ns / table->tick_ns == start_ns / table->tick_ns + 1;
	return table_find(table, &key, UINT64_MAX) == process;
}

/* The row @facts are about; a new one when the number has another user now. */
static struct process *facts_process(struct table *table, const struct proc_facts *facts)
{
	uint64_t start_ns = facts->stat.start_ticks * table->tick_ns, begin_ns;
	struct process *process = table_newest(table, facts->pid);

	if (process && !facts_match(table, process, start_ns)) {
		// The end of the one and the begin of the other went untold.
		table_end(table, process, facts->begin_ns);
		process = NULL;
	}
	if (!process) {
		begin_ns = start_ns > table->boot_offset_ns ? start_ns - table->boot_offset_ns : 0;
		process = table_add(table, facts->pid, begin_ns);
		if (!process)
			return NULL;
	}
	if (!process->space)
		process->space = space_create(&table->pool, process->begin_ns);
	if (!process->space)
		return NULL;
	process->start_tick_ns = start_ns;
	process->threads = (int32_t)facts->stat.threads;
	process->parent = facts->stat.parent;
	return process;
}

/* @bytes of mappings of @space have been read at @time_ns: when is it time again? */
static void pay_reading(struct space *space, uint64_t time_ns, size_t bytes)
{
	uint64_t again_ns = space->complete ? time_ns : time_ns + REREAD_NS;

	if (space->read_paid_ns < time_ns)
		space->read_paid_ns = time_ns;
	space->read_paid_ns += bytes * REREAD_NS_PER_BYTE;
	space->reread_ns = again_ns;
	if (space->read_paid_ns > again_ns + REREAD_AHEAD_NS)
		space->reread_ns = space->read_paid_ns - REREAD_AHEAD_NS;
}

static void learn_maps(struct table *table, struct process *process, struct proc_facts *facts)
{
	struct space *space = process->space;
	char *text = facts->maps, *end = text + facts->maps_length;
	struct proc_mapping found;
	uint64_t begin_ns = space->begin_ns;
	uint64_t refused = table->refused, limit = 0;

	// What was known up to then is not newer than it; the rest may be as old as that.
	if (space->suspect_ns > begin_ns)
		begin_ns = space->suspect_ns;
	while (proc_maps_next(&text, end, &found)) {
		struct mapping mapping = {
			.start = found.start,
			.limit = found.limit,
			.file_offset = found.file_offset,
			.begin_ns = begin_ns,
			.device = found.device,
			.inode = found.inode,
		};

		if (!found.executable)
			continue;
		// What is not there has gone, or came while it was read.
		if (limit < found.start)
			learn_end(table, process, space, limit, found.start, facts->begin_ns);
		limit = found.limit;
		learn_mapping(table, process, space, &mapping, found.path, found.path_length);
	}
	if (facts->maps_length)
		learn_end(table, process, space, limit, UINT64_MAX, facts->begin_ns);
	space->read_count = space->mappings.now.count;
	space->complete = table->refused == refused;
	if (!space->complete)
		space->suspect_ns = begin_ns;
	pay_reading(space, facts->begin_ns, facts->maps_length);
}

int learn_facts(struct table *table, struct proc_facts *facts)
{
	struct process *process = facts_process(table, facts);
	struct space *space;

	if (!process) {
		table->refused++;
		return -ENOMEM;
	}
	process->owner.uid = facts->uid;
	process->owner_read = true;
	space = process->space;
	if (space->begin_ns > facts->begin_ns)
		return -EAGAIN;
	if (facts->hangs)
		space->reread_ns = facts->begin_ns + HANGING_NS;
	if (facts->maps_too_long) {
		space->reread_ns = facts->begin_ns + TOO_LONG_NS;
		table->refused++;
	}
	// Where records were lost, that of another name may have been among them.
	if (!space->comm[0] || !space->complete)
		memcpy(space->comm, facts->stat.comm, sizeof(space->comm));
	if (facts->executable_read) {
		space->executable_read = true;
		if (facts->executable[0])
			space_set_executable(&table->pool, space, facts->executable,
					     strlen(facts->executable));
	}
	if (facts->environment) {
		space_set_attributes(&table->pool, space, facts->environment->bytes,
				     facts->environment->length);
		table->malformed_environments += facts->environment->malformed;
		table->claims_refused += facts->environment->claims;
	}
	if (facts->container_read)
		table_set_container(table, process, facts->container_id, facts->pod_uid);
	if (facts->maps)
		learn_maps(table, process, facts);
	return 0;
}
