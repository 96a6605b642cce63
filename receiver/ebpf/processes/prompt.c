// SPDX-License-Identifier: Apache-2.0
/* On its own, since <linux/sched/types.h> and <sched.h> both say what a sched_param is. */
#include "prompt.h"

#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SLICE_NS = 100000 }; /* the least that the kernel takes */

void prompt_thread(void)
{
	struct sched_attr attributes = {
		.size = sizeof(attributes),
		.sched_flags = SCHED_FLAG_KEEP_POLICY,
		.sched_nice = getpriority(PRIO_PROCESS, 0),
		.sched_runtime = SLICE_NS,
	};

	// Without it all is as it was.
	(void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}
