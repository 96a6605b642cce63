// SPDX-License-Identifier: Apache-2.0
#include "sandbox.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum {
	NOBODY = 65534,  /* the one number that every user namespace has, if not for us alone */
	OPEN_FILES = 24, /* stdio, the socket, files that are kept or in work, and some to spare */
};

/*
 * Heap: the index of 4 M symbols while it is built, and in a group that has less no more than half
 * of what that has: else the kernel ends somebody for want of memory, and whom is not for us to
 * say. Address space: that, and a file and its debug file of 2 GiB each (HELPER_MAX_MAPPED) next to
 * the program.
 */
static const rlim_t heap_bytes = 512ull << 20;
static const rlim_t address_space_bytes = 5ull << 30;

static struct profcol_error *sandbox_close_files(int socket)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return profcol_error_errno(errno, "open '/dev/null'");
	// What stands there is the host's, a journal's socket for one. A sanitizer's report needs
	// it.
	if (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    (!SANITIZED && dup2(null, STDERR_FILENO) < 0))
		return profcol_error_errno(errno, "redirect standard input and output");
	if ((socket > 3 && close_range(3, (unsigned int)socket - 1, 0)) ||
	    close_range((unsigned int)socket + 1, ~0u, 0))
		return profcol_error_errno(errno, "close inherited descriptors");
	return NULL;
}

static bool sandbox_has(int capability)
{
	cap_flag_value_t value = CAP_CLEAR;
	cap_t set = cap_get_proc();

	if (!set)
		return false;
	cap_get_flag(set, capability, CAP_EFFECTIVE, &value);
	cap_free(set);
	return value == CAP_SET;
}

static bool sandbox_become(uint32_t uid)
{
	return !setresgid(uid, uid, uid) && !setresuid(uid, uid, uid);
}

/*
 * Without the right to change its user a process stays that of the profiler, which nobody else can
 * signal either. What has no CAP_KILL could not end a worker of another user.
 */
static void sandbox_leave_user(uint32_t uid)
{
	for (int capability = 0; capability <= CAP_LAST_CAP; capability++)
		if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) && errno == EPERM)
			break;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (!sandbox_has(CAP_SETUID) || !sandbox_has(CAP_SETGID) || !sandbox_has(CAP_KILL) ||
	    setgroups(0, NULL))
		return;
	if (!sandbox_become(uid)) // there is no such number in this user namespace
		(void)sandbox_become(NOBODY);
}

static struct profcol_error *sandbox_drop_privileges(uint32_t uid)
{
	cap_t none;
	int result;

	sandbox_leave_user(uid);
	none = cap_init();
	if (!none)
		return profcol_error_errno(errno, "drop capabilities");
	result = cap_set_proc(none) ? errno : 0;
	cap_free(none);
	if (result)
		return profcol_error_errno(result, "drop capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return profcol_error_errno(errno, "set no_new_privs");
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return profcol_error_errno(errno, "forbid memory dumps");
	return NULL;
}

/* Die with the parent. After the change of user, which makes the kernel forget it. */
static struct profcol_error *sandbox_follow_parent(int socket)
{
	struct ucred peer = { 0 };
	socklen_t length = sizeof(peer);

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		return profcol_error_errno(errno, "ask to end with the profiler");
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		return profcol_error_errno(errno, "look up the profiler");
	// It made the socket, so it is the parent unless it died before the line above.
	if (peer.pid != getppid())
		return profcol_error_create(PROFCOL_SHUTDOWN, "the profiler has ended");
	return NULL;
}

static struct profcol_error *sandbox_limit(int resource, rlim_t limit)
{
	struct rlimit both = { 0 };

	// A lower limit that is there already cannot be raised, and serves as well.
	if (!getrlimit(resource, &both) && both.rlim_max < limit)
		limit = both.rlim_max;
	both.rlim_cur = both.rlim_max = limit;
	if (setrlimit(resource, &both))
		return profcol_error_errno(errno, "set resource limit %d", resource);
	return NULL;
}

static rlim_t heap_limit(void)
{
	uint64_t half = cgroup_memory_bytes() / 2;

	return half < heap_bytes ? half : heap_bytes;
}

static struct profcol_error *sandbox_limit_resources(void)
{
	struct profcol_error *error = sandbox_limit(RLIMIT_CORE, 0);

	if (!error)
		error = sandbox_limit(RLIMIT_FSIZE, 0);
	if (!error)
		error = sandbox_limit(RLIMIT_NOFILE, OPEN_FILES);
	// The shadow memory of the address sanitizer alone takes 20 TiB of address space.
	if (!error && !SANITIZED)
		error = sandbox_limit(RLIMIT_DATA, heap_limit());
	if (!error && !SANITIZED)
		error = sandbox_limit(RLIMIT_AS, address_space_bytes);
	return error;
}

static const int allowed_calls[] = {
	SCMP_SYS(close),
	SCMP_SYS(lseek),
	SCMP_SYS(pread64),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(getpid),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(getrandom),
	SCMP_SYS(fstatfs),
};

#if SANITIZED
/* What the sanitizers' run-time does by itself, most of it to print a report. */
static const int sanitizer_calls[] = {
	SCMP_SYS(write),        SCMP_SYS(gettid),         SCMP_SYS(sigaltstack),
	SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(sched_yield),
	SCMP_SYS(readlink),     SCMP_SYS(getuid),
};
#endif

static int filter_allow(scmp_filter_ctx filter, const int *calls, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);

		if (result < 0)
			return result;
	}
	return 0;
}

/* Messages go over its own socket alone, and memory may be had, but none that can be executed. */
static int filter_allow_some(scmp_filter_ctx filter, int socket)
{
	const struct {
		int call;
		struct scmp_arg_cmp argument;
	} some[] = {
		{ SCMP_SYS(recvmsg), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)socket) },
		{ SCMP_SYS(sendmsg), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)socket) },
		{ SCMP_SYS(mmap), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0) },
		{ SCMP_SYS(mprotect), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0) },
	};

	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		int result =
			seccomp_rule_add(filter, SCMP_ACT_ALLOW, some[i].call, 1, some[i].argument);

		if (result < 0)
			return result;
	}
	return 0;
}

static int filter_fill(scmp_filter_ctx filter, int socket)
{
	int result = filter_allow(filter, allowed_calls, sizeof(allowed_calls) / sizeof(int));

#if SANITIZED
	if (!result)
		result = filter_allow(filter, sanitizer_calls,
				      sizeof(sanitizer_calls) / sizeof(int));
#endif
	if (!result)
		result = filter_allow_some(filter, socket);
	return result;
}

static struct profcol_error *sandbox_filter_calls(int socket)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int result;

	if (!filter)
		return profcol_error_create(PROFCOL_NO_MEMORY, "create system call filter");
	result = filter_fill(filter, socket);
	if (!result)
		result = seccomp_load(filter);
	seccomp_release(filter);
	if (!result)
		return NULL;
	errno = -result;
	return profcol_error_create(
		PROFCOL_UNSUPPORTED,
		"install system call filter: %m; the kernel needs "
		"CONFIG_SECCOMP_FILTER and no outer filter that forbids seccomp");
}

struct profcol_error *sandbox_enter(int socket, uint32_t uid)
{
	struct profcol_error *error = sandbox_close_files(socket);

	if (!error)
		error = sandbox_drop_privileges(uid);
	if (!error)
		error = sandbox_follow_parent(socket);
	if (!error)
		error = sandbox_limit_resources();
	if (!error)
		error = sandbox_filter_calls(socket);
	return error;
}
