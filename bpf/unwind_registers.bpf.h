/* SPDX-License-Identifier: GPL-2.0 */
/* The registers that a walk begins with. */
#pragma once

#include "unwind_state.bpf.h"

#define UNWIND_REGISTER(number, name)                                                              \
	case number:                                                                               \
		return BPF_CORE_READ(entry, name);

/*
 * A register of the user's code, as the kernel was entered with it, by its DWARF number; 0 for one
 * that has none. An interrupt enters the kernel, too. @unused is for the twin of this function in
 * user space (receiver/ebpf/deferred/walk.c).
 */
static __always_inline __u64 unwind_register(void *unused, const struct unwind_walk *walk,
					     __u32 number)
{
	const struct pt_regs___kernel *entry =
		walk->entry ? (void *)walk->entry : kernel_user_registers();

	(void)unused;
#if defined(__TARGET_ARCH_x86)
	// System V ABI AMD64, figure 3.36.
	switch (number) {
		UNWIND_REGISTER(0, ax)
		UNWIND_REGISTER(1, dx)
		UNWIND_REGISTER(2, cx)
		UNWIND_REGISTER(3, bx)
		UNWIND_REGISTER(4, si)
		UNWIND_REGISTER(5, di)
		UNWIND_REGISTER(7, sp)
		UNWIND_REGISTER(8, r8)
		UNWIND_REGISTER(9, r9)
		UNWIND_REGISTER(10, r10)
		UNWIND_REGISTER(11, r11)
		UNWIND_REGISTER(12, r12)
		UNWIND_REGISTER(13, r13)
		UNWIND_REGISTER(14, r14)
		UNWIND_REGISTER(15, r15)
	}
#else
	// DWARF for the Arm 64-bit Architecture, 4.1; the others are carried.
	switch (number) {
		UNWIND_REGISTER(0, regs[0])
		UNWIND_REGISTER(1, regs[1])
		UNWIND_REGISTER(2, regs[2])
		UNWIND_REGISTER(3, regs[3])
		UNWIND_REGISTER(4, regs[4])
		UNWIND_REGISTER(5, regs[5])
		UNWIND_REGISTER(6, regs[6])
		UNWIND_REGISTER(7, regs[7])
		UNWIND_REGISTER(8, regs[8])
		UNWIND_REGISTER(9, regs[9])
		UNWIND_REGISTER(10, regs[10])
		UNWIND_REGISTER(11, regs[11])
		UNWIND_REGISTER(12, regs[12])
		UNWIND_REGISTER(13, regs[13])
		UNWIND_REGISTER(14, regs[14])
		UNWIND_REGISTER(15, regs[15])
		UNWIND_REGISTER(16, regs[16])
		UNWIND_REGISTER(17, regs[17])
		UNWIND_REGISTER(18, regs[18])
		UNWIND_REGISTER(19, regs[19])
		UNWIND_REGISTER(20, regs[20])
		UNWIND_REGISTER(21, regs[21])
		UNWIND_REGISTER(22, regs[22])
		UNWIND_REGISTER(23, regs[23])
		UNWIND_REGISTER(24, regs[24])
		UNWIND_REGISTER(25, regs[25])
		UNWIND_REGISTER(26, regs[26])
		UNWIND_REGISTER(27, regs[27])
		UNWIND_REGISTER(28, regs[28])
	}
#endif
	return 0;
}

/* A field of the user's registers, which unwind_begin has read into the window. */
#define UNWIND_ENTRY(walk, field)                                                                  \
	(*(typeof(((struct pt_regs___kernel *)0)->field) *)((void *)(walk)->window +               \
							    bpf_core_field_offset(                 \
								    struct pt_regs___kernel,       \
								    field)))

/* All but the registers. */
static __always_inline void unwind_reset(struct unwind_walk *walk)
{
	walk->entry = 0;
	walk->at.link = 0;
	walk->count = walk->before = walk->seconds = 0;
	walk->code_bytes = 0;
	walk->recent = UNWIND_RECENT_END;
	walk->asks_recent = UNWIND_PACKS && unwind_recent_asks(&walk->recent_use);
	walk->at.sp_is_bound = walk->at.guessed = false;
	walk->at.frame = UNWIND_FRAME_UNKNOWN;
	walk->at.called = walk->at.called_method = false;
	walk->marked = walk->doubted = false;
	walk->at.exact = walk->at.first = true;
}

static __always_inline int unwind_check_begin(const struct unwind_walk *walk, bool is_32_bit)
{
	if (is_32_bit)
		return UNWIND_END_NO_PROCESS;
	return walk->at.pc < UNWIND_LOWEST ? UNWIND_END_REGISTERS : 0;
}

/* Begins where user mode was interrupted. Returns 0, or why not (enum unwind_end). */
static __always_inline int unwind_begin_at(const bpf_user_pt_regs_t *user, struct unwind_walk *walk)
{
	unwind_reset(walk);
#if defined(__TARGET_ARCH_x86)
	walk->at.pc = user->rip;
	walk->at.sp = user->rsp;
	walk->at.fp = user->rbp;
	return unwind_check_begin(walk, user->cs == KERNEL_USER32_CS);
#else
	walk->at.pc = user->pc;
	walk->at.sp = user->sp;
	walk->at.fp = user->regs[29];
	walk->at.link = user->regs[30];
	return unwind_check_begin(walk, user->pstate & KERNEL_PSTATE_MODE32);
#endif
}

/* Begins where a thread, which is in the kernel, has entered it, with the registers at @entry. As
 * above. */
static __always_inline int unwind_begin_entered(struct unwind_walk *walk,
						const struct pt_regs___kernel *entry)
{
	unwind_reset(walk);
	walk->entry = (__u64)entry;
	// All at once: each reading has its price.
	if (bpf_probe_read_kernel(walk->window, bpf_core_type_size(struct pt_regs___kernel), entry))
		return UNWIND_END_REGISTERS;
#if defined(__TARGET_ARCH_x86)
	// In a system call, what is executed is the instruction before.
	walk->at.exact = (long)UNWIND_ENTRY(walk, orig_ax) < 0 ||
			 kernel_is_exec((long)UNWIND_ENTRY(walk, orig_ax));
	walk->at.pc = UNWIND_ENTRY(walk, ip);
	walk->at.sp = UNWIND_ENTRY(walk, sp);
	walk->at.fp = UNWIND_ENTRY(walk, bp);
	return unwind_check_begin(walk, UNWIND_ENTRY(walk, cs) == KERNEL_USER32_CS);
#else
	walk->at.exact =
		UNWIND_ENTRY(walk, syscallno) < 0 || kernel_is_exec(UNWIND_ENTRY(walk, syscallno));
	walk->at.pc = UNWIND_ENTRY(walk, pc);
	walk->at.sp = UNWIND_ENTRY(walk, sp);
	walk->at.fp = UNWIND_ENTRY(walk, regs[29]);
	walk->at.link = UNWIND_ENTRY(walk, regs[30]);
	return unwind_check_begin(walk, UNWIND_ENTRY(walk, pstate) & KERNEL_PSTATE_MODE32);
#endif
}
