// SPDX-License-Identifier: Apache-2.0
#include "resolve_roots.h"

#include "resolve.h"

_Static_assert((int)PROCESS_ROOT_PIDS > (int)RESOLVE_ANCESTORS, "its own, and those of ancestors");

/* May what @ancestor lets us wait for be @owner's cost? */
static bool answers_for(struct owner owner, struct owner ancestor)
{
	return owner_pays_with(owner, ancestor) || owner_is(ancestor, OWNER_MACHINE) ||
	       (owner.container && owner.container == ancestor.container);
}

void resolve_root_pids(const struct table *table, const struct process *process,
		       struct process_root_question *ret)
{
	const struct process *ancestors[RESOLVE_ANCESTORS];
	size_t count = resolve_ancestors(table, process, ancestors);

	*ret = (struct process_root_question){ 0 };
	if (process->end_ns == PROCESS_ALIVE)
		ret->pids[ret->count++] = process->pid;
	for (size_t i = 0; i < count; i++)
		if (answers_for(process->owner, ancestors[i]->owner))
			ret->pids[ret->count++] = ancestors[i]->pid;
}

bool resolve_roots_add(struct resolve_roots *roots, const struct table *table,
		       const struct process *process)
{
	size_t place = roots->count;

	if (place == PROCESS_ROOTS_AT_ONCE || (place && !owner_is(process->owner, roots->owner)))
		return false;
	roots->processes[place].pid = process->pid;
	roots->processes[place].begin_ns = process->begin_ns;
	resolve_root_pids(table, process, &roots->questions[place]);
	roots->owner = process->owner;
	roots->count += roots->questions[place].count > 0;
	return true;
}

void resolve_roots_ask(struct resolve_roots *roots, struct files *files)
{
	if (!process_roots_find(files_calls(files), roots->questions, roots->count, roots->owner))
		roots->count = 0;
}

bool resolve_roots_find(const struct resolve_roots *roots, uint32_t pid, uint64_t begin_ns,
			struct process_root_question *ret)
{
	for (size_t i = 0; i < roots->count; i++) {
		if (roots->processes[i].pid != pid || roots->processes[i].begin_ns != begin_ns)
			continue;
		ret->found = roots->questions[i].found;
		ret->root = roots->questions[i].root;
		return true;
	}
	return false;
}
