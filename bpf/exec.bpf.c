// SPDX-License-Identifier: GPL-2.0
/*
 * Tells of every exec as it happens, by the names that samples of the program will have (start and
 * exec id, which nothing else tells user space), so that its code is known before its first sample.
 */
#include "kernel.bpf.h"
#include "pid_namespace.bpf.h"
#include "sample.h"

char LICENSE[] SEC("license") = "GPL";

/* Whoever comes by a tenth of a second late still finds 8,000 execs a second. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 32 * 1024);
} execs SEC(".maps");

/* A wake-up interrupts this CPU, and takes three times as long as all else here. Whoever is woken
 * rests so long after having looked (receiver/ebpf/processes/processes.c), and looks again. */
enum { WAKE_UP_NS = 20000000 };

__u64 woken_ns; /* the reader, when last */

static __always_inline bool wakes_reader(__u64 now_ns)
{
	if (now_ns - woken_ns < WAKE_UP_NS)
		return false;
	woken_ns = now_ns;
	return true;
}

/* After the new program was mapped, before it runs (exec_binprm, fs/exec.c). */
SEC("raw_tracepoint/sched_process_exec")
int note_exec(void *context)
{
	struct exec_record record = {
		.time_ns = bpf_ktime_get_ns(),
		.pid = (__u32)(pid_namespace_current() >> 32),
	};

	(void)context;
	if (!record.pid)
		return 0; // outside of the profiler's PID namespace
	kernel_task_identity(&record.start_boottime_ns, &record.exec_id);
	// Without room it is known when it is sampled.
	bpf_ringbuf_output(&execs, &record, sizeof(record),
			   wakes_reader(record.time_ns) ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	return 0;
}
