// SPDX-License-Identifier: GPL-2.0
/*
 * Reads a piece of the kernel's own machine code, for the check that a known fault
 * is mended in it (receiver/ebpf/requirements.c). Run once by BPF_PROG_TEST_RUN, never attached.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

/* Set before load. */
const volatile __u64 address = 0;

__u8 code[256] = { 0 };
__u32 was_read = 0;

SEC("raw_tp/sys_enter")
int read_kernel_text(void *ctx)
{
	(void)ctx;
	was_read = !bpf_probe_read_kernel(code, sizeof(code), (const void *)address);
	return 0;
}
