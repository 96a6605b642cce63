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

/* include/linux/mm_types.h */
struct mm_struct {
	unsigned long start_stack, mmap_base; /* both random for each exec */
	unsigned long end_code;
	unsigned long arg_start; /* 0 until an exec has put the arguments there */
	unsigned long exec_vm;   /* pages of code */
	void *exe_file;
} __attribute__((preserve_access_index));

/* include/linux/{pid,pid_namespace,ns_common}.h */
struct ns_common {
	unsigned int inum;
} __attribute__((preserve_access_index));

struct pid_namespace {
	struct ns_common ns;
} __attribute__((preserve_access_index));

struct upid {
	int nr;
	struct pid_namespace *ns;
} __attribute__((preserve_access_index));

struct pid {
	unsigned int level;
	struct upid numbers[1];
} __attribute__((preserve_access_index));

/* arch/x86/include/asm/processor.h: where the thread's own variables lie */
struct thread_struct {
#if defined(__TARGET_ARCH_x86)
	unsigned long fsbase;
#elif defined(__TARGET_ARCH_arm64)
	struct {
		unsigned long tp_value;
	} uw;
#endif
} __attribute__((preserve_access_index));

/* include/linux/{uidgid_types,cred}.h */
typedef struct {
	unsigned int val;
} kuid_t;

struct cred {
	kuid_t uid;
} __attribute__((preserve_access_index));

/* include/linux/sched.h: how often the thread was given a CPU */
struct sched_info {
	unsigned long pcount;
} __attribute__((preserve_access_index));

/* include/linux/sched.h */
struct task_struct {
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	struct pid *thread_pid;
	int pid, tgid;
	int on_cpu;   /* these two: with CONFIG_SMP */
	int wake_cpu; /* where it has run last, unless it has been moved since */
	struct sched_info sched_info;
	const struct cred *cred;
	char comm[16];
	__u64 start_boottime;
	__u64 self_exec_id;
	unsigned int in_execve : 1; /* a kernel may lack it */
	unsigned int flags;
	void *stack;
	struct mm_struct *mm;
	struct thread_struct thread;
} __attribute__((preserve_access_index));

enum { KERNEL_STACK_BYTES = 16384 };     /* THREAD_SIZE, without KASAN */
enum { KERNEL_PF_KTHREAD = 0x00200000 }; /* of task_struct.flags */

/* arch/{x86,arm64}/include/asm/ptrace.h */
struct pt_regs___kernel {
#if defined(__TARGET_ARCH_x86)
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, sp;
	unsigned short cs;
#elif defined(__TARGET_ARCH_arm64)
	__u64 regs[31];
	__u64 sp, pc, pstate, orig_x0;
	__s32 syscallno;
#else
#error "unknown architecture"
#endif
} __attribute__((preserve_access_index));

/* include/linux/bpf.h: an array map, and the values behind it. */
struct bpf_array___kernel {
	char value[0];
} __attribute__((preserve_access_index));

/* Relocated: does the running kernel have this helper? (uapi/linux/bpf.h) */
enum bpf_func_id___kernel {
	BPF_FUNC_get_current_task_btf___kernel = 158,
	BPF_FUNC_task_pt_regs___kernel = 175,
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

/* As bpf_get_current_pid_tgid(): each helper is code that has to be waited for, as data is. */
static __always_inline __u64 kernel_pid_tgid(void)
{
	if (kernel_has_current_task_btf()) {
		struct task_struct *task = (void *)bpf_get_current_task_btf();

		return (__u64)(__u32)task->tgid << 32 | (__u32)task->pid;
	}
	return bpf_get_current_pid_tgid();
}

/* Does the CPU run its idle task? That of each has the number 0, which no other thread has. */
static __always_inline bool kernel_is_idle(void)
{
	return !(__u32)kernel_pid_tgid();
}

/*
 * An exec may have renamed the thread already, and not yet have counted itself in self_exec_id.
 * begin_new_exec (fs/exec.c) does both, after it has changed the address space and before that has
 * got its arguments; so the answer is yes for a moment longer.
 */
static __always_inline bool kernel_task_may_have_next_name(struct task_struct *task)
{
	struct mm_struct *mm;

	if (bpf_core_field_exists(task->in_execve) &&
	    !BPF_CORE_READ_BITFIELD_PROBED(task, in_execve))
		return false;
	mm = BPF_CORE_READ(task, mm);
	return mm && !BPF_CORE_READ(mm, arg_start);
}

/* The same of the current thread: in nearly all samples one field says no, which is read without a
 * helper where that can be. */
static __always_inline bool kernel_may_have_next_name(void)
{
	struct task_struct *task;

	if (!kernel_has_current_task_btf())
		return kernel_task_may_have_next_name((void *)bpf_get_current_task());
	task = (void *)bpf_get_current_task_btf();
	if (bpf_core_field_exists(task->in_execve) && !BPF_CORE_READ_BITFIELD(task, in_execve))
		return false;
	return kernel_task_may_have_next_name(task);
}

/* The thread's name, of 16 bytes; after its NUL whatever the kernel left there. Empty where it may
 * be another program's than the identity. */
static __always_inline void kernel_comm(char *comm)
{
	if (kernel_may_have_next_name()) {
		((__u64 *)comm)[0] = ((__u64 *)comm)[1] = 0;
	} else if (kernel_has_current_task_btf()) {
		struct task_struct *task = (void *)bpf_get_current_task_btf();
		const __u64 *words = (const void *)task->comm;

		((__u64 *)comm)[0] = words[0];
		((__u64 *)comm)[1] = words[1];
	} else {
		bpf_get_current_comm(comm, sizeof(((struct task_struct *)0)->comm));
	}
}

/*
 * Above it lies no frame of the current thread, as long as it is on the stack that it began with:
 * a process's first one has its arguments there, others the C library's own data, which the
 * register for them points to. 0: not known.
 */
static __always_inline __u64 kernel_stack_top(bool is_first_thread)
{
	if (is_first_thread) {
		struct task_struct *task = (void *)bpf_get_current_task();

		// The entry point may read their number, which lies there.
		return BPF_CORE_READ(task, mm, start_stack) + sizeof(__u64);
	}
#if defined(__TARGET_ARCH_x86)
	if (kernel_has_current_task_btf()) {
		struct task_struct *task = (void *)bpf_get_current_task_btf();

		return task->thread.fsbase;
	}
#endif
	return 0;
}

/* The thread's register for its own variables, which C libraries call a thread by; 0: not known. */
static __always_inline __u64 kernel_thread_pointer(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(task, thread.fsbase);
#elif defined(__TARGET_ARCH_arm64)
	return BPF_CORE_READ(task, thread.uw.tp_value);
#endif
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

/* A thread of the kernel's has no user part; nor has one that ends, once its memory is given up. */
static __always_inline bool kernel_has_user_part(void)
{
	if (kernel_has_current_task_btf()) {
		struct task_struct *task = (void *)bpf_get_current_task_btf();

		return task->mm && !(task->flags & KERNEL_PF_KTHREAD);
	} else {
		struct task_struct *task = (void *)bpf_get_current_task();

		return BPF_CORE_READ(task, mm) && !(BPF_CORE_READ(task, flags) & KERNEL_PF_KTHREAD);
	}
}

/*
 * Where the user's registers lie since a thread entered the kernel; to be read as
 * struct pt_regs___kernel. Kernels before 5.15 (dd6e10fbd9fb "bpf: Add bpf_task_pt_regs() helper")
 * do not say; there it is what task_pt_regs() computes, with stacks of 16 KiB.
 */
static __always_inline bool kernel_has_task_pt_regs(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id___kernel,
					  BPF_FUNC_task_pt_regs___kernel);
}

static __always_inline const struct pt_regs___kernel *
kernel_registers_on_stack(struct task_struct *task)
{
	return BPF_CORE_READ(task, stack) + KERNEL_STACK_BYTES -
	       bpf_core_type_size(struct pt_regs___kernel);
}

/* Of the current thread. */
static __always_inline const struct pt_regs___kernel *kernel_user_registers(void)
{
	if (kernel_has_current_task_btf() && kernel_has_task_pt_regs())
		return (void *)bpf_task_pt_regs((void *)bpf_get_current_task_btf());
	return kernel_registers_on_stack((void *)bpf_get_current_task());
}

/* Of @task, a pointer whose type the verifier knows. */
static __always_inline const struct pt_regs___kernel *kernel_registers_of(struct task_struct *task)
{
	return kernel_has_task_pt_regs() ? (void *)bpf_task_pt_regs((void *)task)
					 : kernel_registers_on_stack(task);
}

/* The number of the system call that has entered the kernel with the registers at @entry; negative:
 * it was an interrupt, or a fault. */
static __always_inline long kernel_system_call(const struct pt_regs___kernel *entry)
{
#if defined(__TARGET_ARCH_x86)
	return (long)BPF_CORE_READ(entry, orig_ax);
#else
	return BPF_CORE_READ(entry, syscallno);
#endif
}

/* Of that system call: a descriptor, mostly. */
static __always_inline __u32 kernel_first_argument(const struct pt_regs___kernel *entry)
{
#if defined(__TARGET_ARCH_x86)
	return (__u32)BPF_CORE_READ(entry, di);
#else
	return (__u32)BPF_CORE_READ(entry, orig_x0);
#endif
}

/*
 * Does the program run because of what the current thread does? @stack lies on the kernel's stack
 * that it runs on, and the thread's registers at @registers, above all that its own has. Interrupts
 * have stacks of their own where they interrupt the kernel, and where they interrupt user mode
 * there is no system call. The kernel's count of interrupts is a variable that programs cannot find
 * everywhere.
 */
static __always_inline bool kernel_acts_for_thread(__u64 stack, __u64 registers)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();

	if (stack < (__u64)task->stack || stack >= registers)
		return false;
	return task->flags & KERNEL_PF_KTHREAD || kernel_system_call(kernel_user_registers()) >= 0;
}

/*
 * Is the thread in an exec that has given up the old program's memory, while the new one's is being
 * made? The registers of user mode are still the old one's then. (load_elf_binary, fs/binfmt_elf.c,
 * sets end_code when all is mapped; it is 0 in new memory.)
 */
static __always_inline bool kernel_is_between_programs(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return !BPF_CORE_READ(task, mm, end_code);
}

/* System calls after which a thread does not go on where it was, but at another program's start:
 * its pc is no return address then (asm/unistd_64.h, asm-generic/unistd.h). */
enum {
#if defined(__TARGET_ARCH_x86)
	KERNEL_EXECVE = 59,
	KERNEL_EXECVEAT = 322,
#elif defined(__TARGET_ARCH_arm64)
	KERNEL_EXECVE = 221,
	KERNEL_EXECVEAT = 281,
#endif
};

static __always_inline bool kernel_is_exec(long system_call)
{
	return system_call == KERNEL_EXECVE || system_call == KERNEL_EXECVEAT;
}

/* Does the thread run 32-bit code in user mode, by the registers it does so with? */
#if defined(__TARGET_ARCH_x86)
enum { KERNEL_USER32_CS = 0x23 }; /* arch/x86/include/asm/segment.h */
#elif defined(__TARGET_ARCH_arm64)
enum { KERNEL_PSTATE_MODE32 = 0x10 }; /* PSR_MODE32_BIT */
#endif
