/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel as our programs see it: the few structures they read, declared with
 * only the fields used (CO-RE relocates them against the running kernel's BTF),
 * and every choice that depends on the kernel's version.
 */
#pragma once

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include <stdbool.h>

/* include/linux/sched.h */
struct task_struct {
	struct task_struct *group_leader;
	__u64 start_boottime;
	__u64 self_exec_id;
} __attribute__((preserve_access_index));

/* Relocated: does the running kernel have this helper? (uapi/linux/bpf.h) */
enum bpf_func_id___kernel {
	BPF_FUNC_get_current_task_btf___kernel = 158,
};

/*
 * The current task for direct reads. Kernels before 5.11 (3ca1032ab7ab "bpf: Add
 * bpf_get_current_task_btf helper") have only the untyped helper, whose result has
 * to be read through bpf_probe_read_kernel.
 */
static __always_inline bool kernel_has_current_task_btf(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id___kernel,
					  BPF_FUNC_get_current_task_btf___kernel);
}

static __always_inline void kernel_task_identity(__u64 *start_boottime, __u32 *exec_id)
{
	if (kernel_has_current_task_btf()) {
		struct task_struct *task = (void *)bpf_get_current_task_btf();

		*start_boottime = task->group_leader->start_boottime;
		*exec_id = (__u32)task->self_exec_id;
	} else {
		struct task_struct *task = (void *)bpf_get_current_task();

		*start_boottime = BPF_CORE_READ(task, group_leader, start_boottime);
		*exec_id = (__u32)BPF_CORE_READ(task, self_exec_id);
	}
}

/* Did the interrupt hit user mode? Saves asking for a kernel stack that is not there. */
static __always_inline bool kernel_interrupted_user(const bpf_user_pt_regs_t *registers)
{
#if defined(__TARGET_ARCH_x86)
	return (registers->cs & 3) == 3;
#elif defined(__TARGET_ARCH_arm64)
	return (registers->pstate & 0xf) == 0;
#else
#error "unknown architecture"
#endif
}
