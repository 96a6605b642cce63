/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/* How and where a thread has waited, in the 16 bits of sample_head.detail; and the code of a fixed
 * share, for unit tests as well. */
#pragma once

#include <linux/types.h>

/* Of the thread when it left the CPU. */
enum off_cpu_state {
	OFF_CPU_RUNNABLE,        /* it could have gone on: others were given the CPU */
	OFF_CPU_SLEEPING,        /* until something happens, or a signal comes */
	OFF_CPU_UNINTERRUPTIBLE, /* until something happens: mostly a device, or a lock */
	OFF_CPU_STOPPED,         /* by a signal, by who traces it, or by a freezer of cgroups */
	OFF_CPU_RUNNING,         /* of no wait: see SAMPLE_WALL */
	OFF_CPU_THROTTLED,       /* it could have gone on, but its cgroup's quota was used up */
	OFF_CPU_DISK,            /* until a block device has read or written */
	/* As OFF_CPU_SLEEPING, in a system call for a file of that kind. */
	OFF_CPU_IN_PIPE,
	OFF_CPU_IN_SOCKET,
};

/* The other thread of a wait: who has ended it, or, where that one is sampled, whose it was. */
struct wait_partner {
	__u32 pid; /* thread group, in the profiler's PID namespace; 0: not known, or an interrupt
		    */
	__u32 tid;
	char comm[16]; /* of the thread, as sample_head.comm; after its NUL may be anything */
};

enum {
	OFF_CPU_CALL_MASK = 0xfff, /* number of the system call it was in, + 1; 0: in none */
	OFF_CPU_STATE_SHIFT = 12,  /* enum off_cpu_state */
};

/* Returns the value of a wait of @amount that is kept with probability @share / 2^32; 0: the wait
 * is not kept. @lot has 32 random bits. */
static inline __attribute__((always_inline)) __u64 off_cpu_weigh_fixed(__u32 share, __u64 amount,
								       __u32 lot)
{
	// The largest share stands for 1.
	if (share == 0xffffffff)
		return amount;
	if (lot >= share)
		return 0;
	// amount * 2^32 / share, for shares of 2^-12 and more, and amounts up to 2^52.
	return (amount / share << 32) + ((amount % share) << 32) / share;
}
