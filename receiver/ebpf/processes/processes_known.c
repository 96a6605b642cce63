// SPDX-License-Identifier: Apache-2.0
#include "processes_parts.h"

#include "code.h"

#include "base/base.h"

#include <errno.h>
#include <string.h>

/* Finds the address space that @key's program had at @time_ns. NULL: it is not known, or known to
 * be another program's. */
static const struct space *space_of_program(const struct process *process,
					    const struct process_key *key, uint64_t time_ns)
{
	const struct space *space = table_space_at(process, time_ns), *older;

	if (!space || !space->exec_id_known || space->exec_id == key->exec_id)
		return space;
	// The kernel tells of an exec before it changes the id: the sample is the older program's.
	older = space->older;
	if (!older)
		return NULL;
	if (older->exec_id_known)
		return older->exec_id == key->exec_id ? older : NULL;
	return space->exec_id_told && space->exec_id == key->exec_id + 1 ? older : NULL;
}

bool processes_describe(struct processes *processes, const struct process_key *key,
			uint64_t time_ns, struct process_description *ret)
{
	struct watch *watch = &processes->watch;
	const struct process *process;
	const struct space *space;

	*ret = (struct process_description){ .executable = "", .container_id = "" };
	pthread_mutex_lock(&watch->table_lock);
	process = table_find(&watch->table, key, time_ns);
	if (process) {
		ret->start_boottime_ns =
			process->start_ns ? process->start_ns : key->start_boottime_ns;
		space = space_of_program(process, key, time_ns);
		if (space) {
			memcpy(ret->comm, space->comm, sizeof(ret->comm));
			ret->executable = space_executable(space);
			if (space->attributes)
				ret->attributes =
					(struct process_attributes){ text_lend(space->attributes),
								     space->attributes->length };
		}
		if (process->container)
			ret->container_id = text_lend(process->container);
		if (process->pod && process->pod->length < sizeof(ret->pod_uid))
			memcpy(ret->pod_uid, process->pod->bytes, process->pod->length);
	}
	pthread_mutex_unlock(&watch->table_lock);
	return process != NULL;
}

bool processes_name(struct processes *processes, const struct process_key *key, uint64_t time_ns,
		    struct process_names *ret)
{
	struct watch *watch = &processes->watch;
	const struct process *process;
	const struct space *space;

	*ret = (struct process_names){ 0 };
	pthread_mutex_lock(&watch->table_lock);
	process = table_find(&watch->table, key, time_ns);
	if (process) {
		ret->parent = process->parent;
		space = space_of_program(process, key, time_ns);
		if (space) {
			ret->of_program = space->exec_id_known;
			memcpy(ret->comm, space->comm, sizeof(ret->comm));
			snprintf(ret->executable, sizeof(ret->executable), "%s",
				 space_executable(space));
		}
	}
	pthread_mutex_unlock(&watch->table_lock);
	return process != NULL;
}

bool processes_still_runs(struct processes *processes, const struct process_key *key,
			  uint64_t time_ns)
{
	struct watch *watch = &processes->watch;
	const struct process *process;
	const struct space *space;
	bool same = true;

	pthread_mutex_lock(&watch->table_lock);
	process = table_find(&watch->table, key, UINT64_MAX);
	space = process ? process->space : NULL;
	// Ids ascend; one that is later than any we know of is of an exec that went untold.
	if (space && space->exec_id_known)
		same = (int32_t)(space->exec_id - key->exec_id) <= 0;
	else if (space)
		same = space->begin_ns <= time_ns;
	pthread_mutex_unlock(&watch->table_lock);
	return same;
}

bool processes_ran(struct processes *processes, const struct process_key *key, uint64_t time_ns)
{
	struct watch *watch = &processes->watch;
	const struct process *process;
	const struct space *space;
	bool ran;

	pthread_mutex_lock(&watch->table_lock);
	process = table_find(&watch->table, key, time_ns);
	space = process ? table_space_at(process, time_ns) : NULL;
	ran = space && (!space->exec_id_known || space->exec_id == key->exec_id);
	pthread_mutex_unlock(&watch->table_lock);
	return ran;
}

bool processes_origin(struct processes *processes, uint32_t pid, uint64_t by_ns,
		      struct process_origin *ret)
{
	struct watch *watch = &processes->watch;
	bool found;

	pthread_mutex_lock(&watch->table_lock);
	found = table_find_origin(&watch->table, pid, by_ns, ret);
	pthread_mutex_unlock(&watch->table_lock);
	return found;
}

uint64_t processes_known_ns(struct processes *processes)
{
	uint64_t known_ns;

	pthread_mutex_lock(&processes->progress_lock);
	known_ns = processes->known_ns;
	pthread_mutex_unlock(&processes->progress_lock);
	return known_ns;
}

static enum process_code_state code_at(const struct space *space, uint64_t time_ns,
				       uint64_t address, struct process_code *ret)
{
	const struct mapping *mapping = space ? space_find(space, time_ns, address) : NULL;

	if (!mapping)
		return space && space->complete ? PROCESS_CODE_NONE : PROCESS_CODE_UNKNOWN;
	if (mapping->file == MAPPING_FILE_UNRESOLVED)
		return PROCESS_CODE_PENDING;
	*ret = (struct process_code){
		.start = mapping->start,
		.limit = mapping->limit,
		.file_offset = mapping->file_offset,
		.file = mapping_file(mapping),
		.vdso = !mapping->inode && !strcmp(mapping->path->bytes, "[vdso]"),
	};
	return PROCESS_CODE_FOUND;
}

enum process_code_state processes_find_code(struct processes *processes,
					    const struct process_key *key, uint64_t time_ns,
					    uint64_t address, struct process_code *ret)
{
	enum process_code_state state = PROCESS_CODE_UNKNOWN;
	struct watch *watch = &processes->watch;
	const struct process *process;

	pthread_mutex_lock(&watch->table_lock);
	process = table_find(&watch->table, key, time_ns);
	if (process)
		state = code_at(space_of_program(process, key, time_ns), time_ns, address, ret);
	pthread_mutex_unlock(&watch->table_lock);
	return state;
}

bool processes_find_mapping(struct processes *processes, const struct process_key *key,
			    uint64_t time_ns, uint64_t address, struct process_mapping *ret)
{
	struct watch *watch = &processes->watch;
	const struct mapping *mapping = NULL;
	const struct process *process;

	pthread_mutex_lock(&watch->table_lock);
	process = table_find(&watch->table, key, time_ns);
	if (process)
		mapping = space_find(table_space_at(process, time_ns), time_ns, address);
	if (mapping)
		*ret = (struct process_mapping){
			.start = mapping->start,
			.limit = mapping->limit,
			.file_offset = mapping->file_offset,
			.begin_ns = mapping->begin_ns,
			.file = mapping_file(mapping),
			.path = text_lend(mapping->path),
		};
	pthread_mutex_unlock(&watch->table_lock);
	return mapping != NULL;
}

bool processes_code_ended(struct processes *processes, const struct process_key *key,
			  uint64_t since_ns)
{
	struct watch *watch = &processes->watch;
	const struct process *process;
	bool ended = false;

	pthread_mutex_lock(&watch->table_lock);
	process = table_find(&watch->table, key, UINT64_MAX);
	for (const struct space *space = process ? process->space : NULL; space && !ended;
	     space = space->older)
		ended = space_ended_ns(space) > since_ns;
	pthread_mutex_unlock(&watch->table_lock);
	return ended;
}

bool processes_has_lost(struct processes *processes, const struct process_key *key,
			uint64_t time_ns, struct process_place *place)
{
	struct watch *watch = &processes->watch;
	const struct process *process;
	const struct space *space;
	bool lost = false;

	pthread_mutex_lock(&watch->table_lock);
	process = table_find(&watch->table, key, time_ns);
	space = process ? space_of_program(process, key, time_ns) : NULL;
	if (space)
		lost = space_has_lost(space, time_ns, place);
	pthread_mutex_unlock(&watch->table_lock);
	return lost;
}

size_t processes_code(struct processes *processes, const struct process_key *key,
		      struct process_code *ret, size_t count)
{
	struct watch *watch = &processes->watch;
	const struct process *process;
	size_t found = 0;

	pthread_mutex_lock(&watch->table_lock);
	process = table_find(&watch->table, key, UINT64_MAX);
	if (process && process_runs(process) && process->space->exec_id == key->exec_id)
		found = code_list(process->space, watch->table.pool.most_mappings, ret, count);
	pthread_mutex_unlock(&watch->table_lock);
	return found;
}

uint64_t processes_last_sample(struct processes *processes, const struct process_key *key)
{
	struct watch *watch = &processes->watch;
	const struct process *process;
	uint64_t sampled_ns;

	pthread_mutex_lock(&watch->table_lock);
	process = table_find(&watch->table, key, UINT64_MAX);
	sampled_ns = process ? process->sampled_ns : 0;
	pthread_mutex_unlock(&watch->table_lock);
	return sampled_ns;
}
