/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A process that was forked runs its parent's program, at the same addresses: while it has no
 * ranges of its own, its stacks are walked by those that its parent had when it was forked. What
 * the parent was found to map later is not the child's, which may have something else there.
 */
#pragma once

#include "kernel.bpf.h"
#include "pid_namespace.bpf.h"
#include "unwind.bpf.h"

enum { FORK_GENERATIONS = 3 }; /* a shell's subshell may fork again */

/*
 * Forks agree in all of these until one of them executes another program, maps or unmaps code. The
 * places are random for each exec, so that one with another parent by now is not taken for its
 * child.
 */
struct fork_image {
	__u64 exec_id, file, stack, base, code_pages;
};

static __always_inline bool fork_image_of(struct task_struct *task, struct fork_image *ret)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);

	if (!mm)
		return false;
	ret->exec_id = BPF_CORE_READ(task, self_exec_id);
	ret->file = (__u64)BPF_CORE_READ(mm, exe_file);
	ret->stack = BPF_CORE_READ(mm, start_stack);
	ret->base = BPF_CORE_READ(mm, mmap_base);
	ret->code_pages = BPF_CORE_READ(mm, exec_vm);
	return true;
}

static __always_inline bool fork_is_same(const struct fork_image *a, const struct fork_image *b)
{
	return a->exec_id == b->exec_id && a->file == b->file && a->stack == b->stack &&
	       a->base == b->base && a->code_pages == b->code_pages;
}

/* Finds the ranges for the current thread's walk at one of those it was forked from. */
static __noinline bool fork_find_process(struct unwind_walk *walk)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct fork_image own, theirs;
	__u64 forked_ns;

	if (!fork_image_of(task, &own))
		return false;
	forked_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	for (int i = 0; i < FORK_GENERATIONS; i++) {
		__u64 start;

		task = BPF_CORE_READ(task, real_parent);
		if (!task || !fork_image_of(task, &theirs) || !fork_is_same(&own, &theirs))
			return false;
		start = BPF_CORE_READ(task, group_leader, start_boottime);
		if (unwind_find_process(walk, pid_namespace_tgid(task),
					unwind_identity(start, (__u32)own.exec_id), forked_ns))
			return true;
		// What a grandparent had must be older than the parent.
		forked_ns = start;
	}
	return false;
}
