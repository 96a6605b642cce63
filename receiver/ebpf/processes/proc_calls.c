// SPDX-License-Identifier: Apache-2.0
/* What of a process is read by itself, besides proc_read(). */
#include "proc_read.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>

/* ---- the text of cgroups ---- */

struct cgroups {
	struct timed_call call; /* first */
	int process;            /* owned: the directory */
	int status;             /* 0 or a negative errno */
	char *text;             /* owned */
	size_t length;
};

static void cgroups_destroy(struct timed_call *call)
{
	struct cgroups *cgroups = (struct cgroups *)call;

	close(cgroups->process);
	free(cgroups->text);
	free(cgroups);
}

static void run_cgroups(struct timed_call *call)
{
	struct cgroups *cgroups = (struct cgroups *)call;

	cgroups->status = file_read(cgroups->process, "cgroup", PROC_CGROUP_MAX_BYTES,
				    &cgroups->text, &cgroups->length);
}

int proc_read_cgroups(struct timed_calls *calls, int process, char **text_ret, size_t *length_ret)
{
	struct cgroups *cgroups = calloc(1, sizeof(*cgroups));
	int status;

	if (!cgroups)
		return -ENOMEM;
	cgroups->call = (struct timed_call){ .run = run_cgroups,
					     .destroy = cgroups_destroy,
					     .key = PROC_ALL_CGROUPS };
	cgroups->process = fcntl(process, F_DUPFD_CLOEXEC, 0);
	if (cgroups->process < 0) {
		free(cgroups);
		return -errno;
	}
	if (!timed_calls_make(calls, &cgroups->call, PROC_LIMIT_NS))
		return -ETIMEDOUT;
	status = cgroups->status;
	*text_ret = TAKE(cgroups->text);
	*length_ret = cgroups->length;
	cgroups_destroy(&cgroups->call);
	return status;
}

/* ---- the user, and the container ---- */

struct owner_question {
	struct timed_call call; /* first */
	uint32_t pid;
	struct owner owner;
	bool with_container;
	int status; /* 0 or a negative errno */
	struct proc_owner found;
};

static void run_ask_owner(struct timed_call *call)
{
	struct owner_question *question = (struct owner_question *)call;
	struct proc_owner *found = &question->found;
	CLEANUP_FD int process = proc_open(question->pid);

	question->status = process < 0 ? process : -ETIMEDOUT;
	if (process < 0)
		return;
	// Last comes what it is the owner's fault to wait for: the whole call is charged to that.
	if (question->with_container && timed_call_goes_on(call, PROC_ALL_CGROUPS))
		found->container_read =
			!proc_container_of(process, found->container_id, found->pod_uid);
	if (!proc_basics_go_on(call, question->pid, process, question->owner))
		return;
	found->uid = owner_uid(process);
	question->status = 0;
}

static int ask_owner(struct timed_calls *calls, uint32_t pid, struct owner owner,
		     bool with_container, struct proc_owner *ret)
{
	struct owner_question *question = calloc(1, sizeof(*question));
	int status;

	if (!question)
		return -ENOMEM;
	question->call = (struct timed_call){ .run = run_ask_owner,
					      .destroy = timed_call_free,
					      .key = proc_basics_key(pid, OWNER_SHARED) };
	question->pid = pid;
	question->owner = owner;
	question->with_container = with_container;
	if (!timed_calls_make(calls, &question->call, PROC_LIMIT_NS))
		return -ETIMEDOUT;
	status = question->status;
	*ret = question->found;
	free(question);
	return status;
}

int proc_read_uid(struct timed_calls *calls, uint32_t pid, struct owner owner, uint32_t *ret)
{
	struct proc_owner found;
	int status = ask_owner(calls, pid, owner, false, &found);

	if (!status)
		*ret = found.uid;
	return status;
}

int proc_read_owner(struct timed_calls *calls, uint32_t pid, struct owner owner,
		    struct proc_owner *ret)
{
	int status = ask_owner(calls, pid, owner, true, ret);

	// If that was for the lock of all cgroups, the user can be told without it.
	return status == -ETIMEDOUT ? ask_owner(calls, pid, owner, false, ret) : status;
}

/* ---- whether two have one memory ---- */

struct comparison {
	struct timed_call call; /* first */
	pid_t pid, other;
	bool same;
};

static void run_compare(struct timed_call *call)
{
	struct comparison *comparison = (struct comparison *)call;

	// It takes the locks of both their execs.
	comparison->same = !syscall(SYS_kcmp, comparison->pid, comparison->other, KCMP_VM, 0, 0);
}

bool proc_is_one_memory(struct timed_calls *calls, uint32_t pid, uint32_t other, struct owner owner)
{
	struct comparison *comparison = calloc(1, sizeof(*comparison));
	bool same;

	if (!comparison)
		return false;
	comparison->call = (struct timed_call){ .run = run_compare,
						.destroy = timed_call_free,
						.key = { TIMED_CALL_PROCESS, pid, owner } };
	comparison->pid = (pid_t)pid;
	comparison->other = (pid_t)other;
	if (!timed_calls_make(calls, &comparison->call, PROC_LIMIT_NS))
		return false;
	same = comparison->same;
	free(comparison);
	return same;
}
