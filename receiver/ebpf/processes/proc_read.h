/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What /proc says of one process, read without any lock held.
 *
 * All reads go through one descriptor of /proc/PID, which keeps meaning the same
 * process even when its number is used anew. Whatever may wait for the process, for the lock of its
 * memory or of its exec, or for that of all cgroups, is read by timed_calls.h. Any thread.
 */
#pragma once

#include "environment.h"
#include "proc_text.h"
#include "timed_calls.h"

#include "base/base.h"

#include <limits.h>

/* What costs more than the rest and is read only when asked for. */
enum proc_part { PROC_MAPS = 1 << 0, PROC_ENVIRONMENT = 1 << 1 };

struct proc_facts {
	uint32_t pid;
	uint64_t begin_ns; /* CLOCK_MONOTONIC before the first read */
	struct proc_stat stat;
	char executable[PATH_MAX]; /* "" for a kernel thread */
	bool executable_read;
	char container_id[CONTAINER_ID_SIZE];
	char pod_uid[POD_UID_SIZE];
	bool container_read;
	char *maps; /* owned; NULL when not asked for or not to be had */
	size_t maps_length;
	bool maps_too_long; /* longer than a profiler reads of one process */
	struct environment_attributes *environment; /* owned; NULL as maps */
	uint32_t uid;                               /* as owner.uid */
	bool hangs; /* what was asked for could not be read in time */
};

/*
 * Read @pid into @ret, with @parts (enum proc_part); @variables as for
 * environment_parse. 0, -ESRCH when it is gone (or a zombie, which has nothing to
 * read any more), or another negative errno. What only its own permissions hide is
 * left empty.
 */
int proc_read(struct timed_calls *calls, uint32_t pid, unsigned int parts,
	      const struct profcol_list *variables, struct proc_facts *ret);
void proc_facts_deinit(struct proc_facts *facts);

/* What such calls ask, and how long they may: most take far less than a millisecond. */
static const uint64_t PROC_LIMIT_NS = 100000000;
enum { PROC_CGROUP_MAX_BYTES = 64 << 10 };

/* The lock that all cgroups have together, in the place of a process's number. */
static const struct timed_call_key PROC_ALL_CGROUPS = { TIMED_CALL_PROCESS,
							UINT64_MAX,
							{ UINT32_MAX, 0 } };

/* What of @pid, which is @owner's, waits for its exec. */
struct timed_call_key proc_basics_key(uint32_t pid, struct owner owner);

/* The directory of @pid in /proc, O_PATH, or a negative errno, -ESRCH when there is none. */
int proc_open(uint32_t pid);

/* The container that the process whose directory is @process is in: 0 or a negative errno, -ESRCH
 * when it has ended. For timed_calls.h: it waits for the lock of all cgroups. */
int proc_container_of(int process, char id_ret[CONTAINER_ID_SIZE], char pod_uid_ret[POD_UID_SIZE]);

/* The stat of the process, or thread, whose directory is @process: 0, -ESRCH when it has ended with
 * all its threads, or another negative errno. For timed_calls.h: it waits for its exec. */
int proc_read_stat(int process, struct proc_stat *ret);

/* As proc_read(), the user alone (owner.h), at @owner's cost as far as that is known. -ETIMEDOUT
 * while the process, or many of @owner's, let us wait. */
int proc_read_uid(struct timed_calls *calls, uint32_t pid, struct owner owner, uint32_t *ret);

/* The user and the container of a process. */
struct proc_owner {
	uint32_t uid;
	bool container_read; /* or it cannot be: somebody may keep the lock of all cgroups */
	char container_id[CONTAINER_ID_SIZE];
	char pod_uid[POD_UID_SIZE];
};

/* As proc_read_uid(), with the container, by one call: each call takes two switches of threads. */
int proc_read_owner(struct timed_calls *calls, uint32_t pid, struct owner owner,
		    struct proc_owner *ret);

/* As owner_presumed_uid(), which never waits: 0 or a negative errno. */
int proc_presume_uid(uint32_t pid, uint32_t *ret);

/* For `run` of a call: go on to what @pid, whose directory is @process, may keep by its exec: at
 * @owner's cost or, while that is not known, at that of who presumably is it. False: it may not. */
bool proc_basics_go_on(struct timed_call *call, uint32_t pid, int process, struct owner owner);

/* The container of @pid alone, at the cost of all: 0 or a negative errno. */
int proc_read_container(struct timed_calls *calls, uint32_t pid, char ret[CONTAINER_ID_SIZE],
			char pod_uid_ret[POD_UID_SIZE]);

/*
 * The text of the cgroup file in @process, an open directory of /proc: *@text_ret, the caller's to
 * free, of @length_ret bytes. -ETIMEDOUT while somebody keeps the lock of all cgroups, which moving
 * a process that holds the lock of its memory does; another negative errno as of file_read.
 */
int proc_read_cgroups(struct timed_calls *calls, int process, char **text_ret, size_t *length_ret);

/* Have processes @pid and @other, of @owner, one memory? False as well when that cannot be found
 * out. */
bool proc_is_one_memory(struct timed_calls *calls, uint32_t pid, uint32_t other,
			struct owner owner);

/*
 * Call @visit with the number of every process there is. A negative errno of
 * reading /proc, or what @visit returned if not 0, which ends the walk.
 */
int proc_walk(int (*visit)(void *context, uint32_t pid), void *context);

/* Is there a process @pid of which a thread still runs? (A zombie does not.) It never waits. */
bool proc_is_alive(uint32_t pid);
