// SPDX-License-Identifier: Apache-2.0
#include "privileges.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/utsname.h>

/*
 * All of these until the end: a reload may load programs anew, a CPU may come online, a process
 * may start, a worker may have to be replaced.
 */
static const cap_value_t kept[] = {
	// The profiler.
	CAP_BPF,
	CAP_PERFMON,
	CAP_SYS_PTRACE,
	CAP_DAC_READ_SEARCH,
	CAP_CHECKPOINT_RESTORE,
	CAP_SYSLOG,
	CAP_IPC_LOCK, // buffers beyond kernel.perf_event_mlock_kb, which all of a user share
	// Workers: to become "nobody", to empty their bounding set, and to be ended in spite of it.
	CAP_SETUID,
	CAP_SETGID,
	CAP_SETPCAP,
	CAP_KILL,
	// What a configuration may name: directories of other users, ports below 1024.
	CAP_DAC_OVERRIDE,
	CAP_NET_BIND_SERVICE,
};

enum { KEPT = sizeof(kept) / sizeof(kept[0]) };

static bool is_held(cap_t set, cap_flag_t flag, cap_value_t capability)
{
	cap_flag_value_t value = CAP_CLEAR;

	return !cap_get_flag(set, capability, flag, &value) && value == CAP_SET;
}

/* Before 5.11 memory of BPF maps counts as locked memory, whose limit libbpf lifts. */
static bool is_memory_locked(void)
{
	unsigned int major, minor;
	struct utsname name;

	return uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2 || major < 5 ||
	       (major == 5 && minor < 11);
}

/* Distributions' own levels above 2 close perf events to all but CAP_SYS_ADMIN. */
static bool is_paranoid(void)
{
	CLEANUP_FREE char *text = NULL;

	return file_read(AT_FDCWD, "/proc/sys/kernel/perf_event_paranoid", 64, &text, NULL) ||
	       strtol(text, NULL, 10) > 2;
}

/* The kernel takes it for each of these; so it stays where one of them is not held. */
static bool is_admin_needed(cap_t set)
{
	static const cap_value_t parts[] = { CAP_BPF, CAP_PERFMON, CAP_CHECKPOINT_RESTORE,
					     CAP_SYSLOG };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!is_held(set, CAP_EFFECTIVE, parts[i]))
			return true;
	return is_paranoid();
}

static bool is_kept(cap_t set, cap_value_t capability)
{
	for (size_t i = 0; i < KEPT; i++)
		if (kept[i] == capability)
			return true;
	return (capability == CAP_SYS_RESOURCE && is_memory_locked()) ||
	       (capability == CAP_SYS_ADMIN && is_admin_needed(set));
}

/* In @reduced what is kept of @set; a negative errno. */
static int select_kept(cap_t set, cap_t reduced)
{
	static const cap_flag_t flags[] = { CAP_PERMITTED, CAP_EFFECTIVE };

	for (cap_value_t each = 0; each < cap_max_bits(); each++)
		for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
			if (is_kept(set, each) && is_held(set, flags[i], each) &&
			    cap_set_flag(reduced, flags[i], 1, &each, CAP_SET))
				return -errno;
	return 0;
}

/* The bound on what executing a file can give; without CAP_SETPCAP no_new_privs alone is one. */
static void lower_bound(cap_t set)
{
	for (cap_value_t each = 0; each < cap_max_bits(); each++)
		if (!is_kept(set, each))
			prctl(PR_CAPBSET_DROP, each, 0, 0, 0);
}

static struct profcol_error *reduce_set(cap_t set)
{
	cap_t reduced = cap_init();
	int result = reduced ? select_kept(set, reduced) : -ENOMEM;

	lower_bound(set);
	// With an empty inheritable set goes the ambient one: helpers begin with nothing.
	if (!result && cap_set_proc(reduced))
		result = -errno;
	cap_free(reduced);
	return result ? profcol_error_errno(-result, "give up capabilities") : NULL;
}

struct profcol_error *privileges_reduce(void)
{
	cap_t set = cap_get_proc();
	struct profcol_error *error;

	if (!set)
		return profcol_error_errno(errno, "look up capabilities");
	error = reduce_set(set);
	cap_free(set);
	if (!error && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		error = profcol_error_errno(errno, "set no_new_privs");
	return error;
}
