/* SPDX-License-Identifier: GPL-2.0 */
/* What the counting program and its reader share. */
#pragma once

enum {
	DUE_NAME_BYTES = 16, /* TASK_COMM_LEN of the kernel */
	DUE_NAMES_MOST = 4096,
	DUE_ANCESTORS_MOST = 64,
};

/* What an interrupt found on its CPU. */
enum due_task {
	DUE_IDLE,   /* the idle task; nothing is due */
	DUE_KERNEL, /* a kernel thread */
	DUE_USER,   /* a thread of a program of the run: the load, the profiler, the meters */
	DUE_OTHER,  /* a thread of any other program */
	DUE_TASKS,
};
