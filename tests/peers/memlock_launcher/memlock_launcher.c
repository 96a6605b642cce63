// SPDX-License-Identifier: Apache-2.0
/*
 * memlock_launcher PROGRAM [ARGUMENT...]
 *
 * Becomes PROGRAM, the reference profiler, and gives it what it insists on and this machine
 * may lack: raising RLIMIT_MEMLOCK, which takes CAP_SYS_RESOURCE, although kernels from 5.11 on
 * charge BPF maps to the cgroup instead; and a mounted tracefs. What the machine has is left
 * as it is.
 */
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

static bool has_capability(cap_value_t capability)
{
	cap_flag_value_t value = CAP_CLEAR;
	cap_t own = cap_get_proc();

	if (!own)
		return false;
	cap_get_flag(own, capability, CAP_EFFECTIVE, &value);
	cap_free(own);
	return value == CAP_SET;
}

/* Setting the limit answers 0 and does nothing; asking for it stays as it is. */
static int pretend_memlock(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int error = filter ? 0 : -ENOMEM;

	if (!error)
		error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(0), SCMP_SYS(prlimit64), 2,
					 SCMP_A1(SCMP_CMP_EQ, RLIMIT_MEMLOCK),
					 SCMP_A2(SCMP_CMP_NE, 0));
	if (!error)
		error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(0), SCMP_SYS(setrlimit), 1,
					 SCMP_A0(SCMP_CMP_EQ, RLIMIT_MEMLOCK));
	if (!error)
		error = seccomp_load(filter);
	seccomp_release(filter);
	return error;
}

/* In a mount namespace of the program's own, so that nothing stays mounted after it. */
static int mount_tracefs(void)
{
	if (!access("/sys/kernel/tracing/events", F_OK) ||
	    !access("/sys/kernel/debug/tracing/events", F_OK))
		return 0;
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL))
		return -errno;
	return 0;
}

int main(int argc, char **argv)
{
	int error;

	if (argc < 2) {
		fprintf(stderr, "usage: memlock_launcher PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	error = mount_tracefs();
	if (error) {
		fprintf(stderr, "memlock_launcher: cannot mount tracefs: %s\n", strerror(-error));
		return 1;
	}
	if (!has_capability(CAP_SYS_RESOURCE)) {
		error = pretend_memlock();
		if (error) {
			fprintf(stderr, "memlock_launcher: cannot filter system calls: %s\n",
				strerror(-error));
			return 1;
		}
	}
	execvp(argv[1], argv + 1);
	fprintf(stderr, "memlock_launcher: cannot run %s: %s\n", argv[1], strerror(errno));
	return 1;
}
