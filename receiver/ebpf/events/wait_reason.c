// SPDX-License-Identifier: Apache-2.0
#include "wait_reason.h"

#include "sample.h"

#include <stddef.h>
#include <sys/syscall.h>

enum { FUTEX_WAITV = 449, EPOLL_PWAIT2 = 441 }; /* asm-generic/unistd.h: newer than some headers */

struct known {
	uint32_t number;
	const char *reason;
};

/* These say enough, whatever the system call. */
static const struct known states[] = {
	{ OFF_CPU_RUNNING, "running" },     { OFF_CPU_RUNNABLE, "runnable" },
	{ OFF_CPU_THROTTLED, "throttled" }, { OFF_CPU_STOPPED, "stopped" },
	{ OFF_CPU_IN_PIPE, "pipe" },        { OFF_CPU_IN_SOCKET, "socket" },
};

static const struct known calls[] = {
	{ SYS_nanosleep, "sleep" },
	{ SYS_clock_nanosleep, "sleep" },
	{ SYS_futex, "futex" },
	{ FUTEX_WAITV, "futex" },
	{ SYS_ppoll, "poll" },
	{ SYS_pselect6, "poll" },
	{ SYS_epoll_pwait, "poll" },
	{ EPOLL_PWAIT2, "poll" },
	{ SYS_io_getevents, "poll" },
	{ SYS_io_uring_enter, "poll" },
#ifdef SYS_poll
	{ SYS_poll, "poll" },
	{ SYS_select, "poll" },
	{ SYS_epoll_wait, "poll" },
	{ SYS_pause, "signal" },
#endif
	{ SYS_rt_sigsuspend, "signal" },
	{ SYS_rt_sigtimedwait, "signal" },
	{ SYS_wait4, "child" },
	{ SYS_waitid, "child" },
#ifdef SYS_vfork
	{ SYS_vfork, "child" },
#endif
	{ SYS_connect, "socket" },
	{ SYS_accept, "socket" },
	{ SYS_accept4, "socket" },
	{ SYS_sendto, "socket" },
	{ SYS_sendmsg, "socket" },
	{ SYS_sendmmsg, "socket" },
	{ SYS_recvfrom, "socket" },
	{ SYS_recvmsg, "socket" },
	{ SYS_recvmmsg, "socket" },
	{ SYS_semop, "semaphore" },
	{ SYS_semtimedop, "semaphore" },
	{ SYS_flock, "file_lock" },
	{ SYS_fcntl, "file_lock" },
	{ SYS_read, "read" },
	{ SYS_readv, "read" },
	{ SYS_pread64, "read" },
	{ SYS_preadv, "read" },
	{ SYS_preadv2, "read" },
	{ SYS_write, "write" },
	{ SYS_writev, "write" },
	{ SYS_pwrite64, "write" },
	{ SYS_pwritev, "write" },
	{ SYS_pwritev2, "write" },
	{ SYS_fsync, "sync" },
	{ SYS_fdatasync, "sync" },
	{ SYS_sync_file_range, "sync" },
	{ SYS_msync, "sync" },
};

const char *wait_reason(uint16_t detail)
{
	uint32_t state = detail >> OFF_CPU_STATE_SHIFT, call = detail & OFF_CPU_CALL_MASK;

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (states[i].number == state)
			return states[i].reason;
	if (state == OFF_CPU_DISK)
		return call ? "disk" : "page_fault";
	for (size_t i = 0; call && i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].number == call - 1)
			return calls[i].reason;
	if (!call)
		return "page_fault";
	return state == OFF_CPU_UNINTERRUPTIBLE ? "kernel" : "other";
}
