// SPDX-License-Identifier: GPL-2.0
/* What any program on a timer costs at least, as the kernel counts it; and who is measured. */
#include "../../../bpf/kernel.bpf.h"
#include "../../../bpf/unwind_tables.h"

char LICENSE[] SEC("license") = "GPL";

/* The process that was interrupted last, as the sampler calls it. */
__u64 who;

SEC("perf_event")
int note_who(struct bpf_perf_event_data *ctx)
{
	__u64 start_boottime_ns;
	__u32 exec_id;

	(void)ctx;
	kernel_task_identity(&start_boottime_ns, &exec_id);
	who = bpf_get_current_pid_tgid() >> 32 | (__u64)unwind_identity(start_boottime_ns, exec_id)
							 << 32;
	return 0;
}

SEC("perf_event")
int do_nothing(struct bpf_perf_event_data *ctx)
{
	(void)ctx;
	return 0;
}
