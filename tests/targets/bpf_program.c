// SPDX-License-Identifier: Apache-2.0
/*
 * Loads a BPF program that multiplies for long, by the name in its argument, and has the kernel run
 * it again and again until it is killed. 77: it may not, or there is no compiler for them.
 */
#include <linux/bpf.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STEPS = 3000, PACKET_BYTES = 64, RUNS = 10000, CANNOT = 77 };

static long bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static int load(const char *name)
{
	static struct bpf_insn program[STEPS + 3];
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_SCHED_CLS, .insn_cnt = STEPS + 3 };

	program[0] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = 1 };
	for (int i = 1; i <= STEPS; i++)
		program[i] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MUL | BPF_K, .imm = 3 };
	program[STEPS + 1] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K };
	program[STEPS + 2] = (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT };
	attr.insns = (uintptr_t)program;
	attr.license = (uintptr_t)"GPL";
	strncpy(attr.prog_name, name, sizeof(attr.prog_name) - 1);
	return (int)bpf(BPF_PROG_LOAD, &attr);
}

int main(int argc, char **argv)
{
	static char packet[PACKET_BYTES];
	int fd = argc > 1 ? load(argv[1]) : -1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fd < 0) {
		perror("load a BPF program");
		return CANNOT;
	}
	for (;;) {
		union bpf_attr attr = { .test = { .prog_fd = (uint32_t)fd,
						  .data_in = (uintptr_t)packet,
						  .data_size_in = PACKET_BYTES,
						  .repeat = RUNS } };

		if (bpf(BPF_PROG_TEST_RUN, &attr))
			return CANNOT;
	}
}
