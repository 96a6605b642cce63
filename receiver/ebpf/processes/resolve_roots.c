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
	struct resolve_root *root = &roots->items[roots->count];

	if (roots->count == PROCESS_ROOTS_AT_ONCE ||
	    (roots->count && !owner_is(process->owner, roots->owner)))
		return false;
	*root = (struct resolve_root){ .pid = process->pid, .begin_ns = process->begin_ns };
	resolve_root_pids(table, process, &root->question);
	roots->owner = process->owner;
	roots->count += root->question.count > 0;
	return true;
}

void resolve_roots_ask(struct resolve_roots *roots, struct files *files)
{
	struct process_root_question questions[PROCESS_ROOTS_AT_ONCE];
	size_t count = roots->count;

	for (size_t i = 0; i < count; i++)
		questions[i] = roots->items[i].question;
	roots->count = 0;
	if (!process_roots_find(files_calls(files), questions, count, roots->owner))
		return;
	for (size_t i = 0; i < count; i++)
		roots->items[i].question = questions[i];
	roots->count = count;
}

bool resolve_roots_find(const struct resolve_roots *roots, uint32_t pid, uint64_t begin_ns,
			struct process_root_question *ret)
{
	for (size_t i = 0; i < roots->count; i++) {
		const struct resolve_root *root = &roots->items[i];

		if (root->pid != pid || root->begin_ns != begin_ns)
			continue;
		ret->found = root->question.found;
		ret->root = root->question.root;
		return true;
	}
	return false;
}
