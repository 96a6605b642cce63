// SPDX-License-Identifier: Apache-2.0
#include "facts.h"

#include "sample.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	STATUS_MAX_BYTES = 16 << 10,
	GENERATIONS = 64,    /* of ancestors that are looked at */
	FIRST_PROCESSES = 2, /* init and the parent of the kernel's threads have no parent */
};

/* The parent, for /proc, of one that somebody outside of our PID namespace has executed into it. */
static const uint32_t OUTSIDE = UINT32_MAX;

/* What was read counts only when it is known by then that the program is the same still. */
static const uint64_t RECHECK_NS = 100000000;

/* What /proc says is rounded down; a tick more, for a kernel that does it otherwise. */
static struct process_origin look_origin(const struct proc_look *look)
{
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t start_ns = look->stat.start_ticks * tick_ns;

	return (struct process_origin){
		.parent = look->stat.parent ? look->stat.parent : OUTSIDE,
		.earliest_ns = start_ns > tick_ns ? start_ns - tick_ns : 0,
		.latest_ns = start_ns + 2 * tick_ns,
	};
}

/* As processes_look, of @key: -ESRCH as well when the number has got another user meanwhile. */
static int look_at(struct processes *processes, const struct process_key *key, bool executable,
		   struct proc_look *ret)
{
	int status = processes_look(processes, key->pid, executable, ret);
	struct process_origin origin;

	if (status)
		return status;
	origin = look_origin(ret);
	if (origin.earliest_ns <= key->start_boottime_ns &&
	    key->start_boottime_ns <= origin.latest_ns)
		return 0;
	proc_look_close(ret);
	return -ESRCH;
}

/* Is the path of its program to be had? A thread of the kernel has none. */
static bool has_executable(const struct proc_look *look)
{
	// A leader that has ended before its threads shows none either.
	return look->executable_length > 0 ||
	       (!look->executable_length && (look->stat.state != 'Z' || look->by_thread));
}

/* What the kernel told of the process. False when something is missing. */
static bool recall_names(struct facts *facts, struct processes *processes,
			 const struct select_subject *subject)
{
	struct process_names *names = &facts->names;

	(void)processes_name(processes, &subject->key, subject->time_ns, names);
	// Has the process executed another program, of which we have not heard yet?
	if (!names->of_program && !subject->caught_up) {
		names->comm[0] = names->executable[0] = '\0';
		facts->late = true;
	}
	if (names->comm[0])
		facts->view.known |= SELECT_COMM;
	if (names->executable[0])
		facts->view.known |= SELECT_EXECUTABLE;
	return names->comm[0] && names->executable[0] && names->parent;
}

/* Was it the program of the sample that /proc has just told of? Threads of the kernel have one. */
static bool is_still_it(struct facts *facts, struct processes *processes,
			const struct select_subject *subject, const struct proc_look *look)
{
	if (!facts->names.executable[0] && has_executable(look) && !look->executable[0])
		return true;
	if (!processes_catch_up(processes, clock_monotonic_ns() + RECHECK_NS)) {
		facts->late = true;
		return false;
	}
	return processes_still_runs(processes, &subject->key, subject->time_ns);
}

/* What is missing of that. */
static void read_names(struct facts *facts, struct processes *processes,
		       const struct select_subject *subject, const struct proc_look *look)
{
	struct process_names *names = &facts->names;
	unsigned int known = 0;

	if (look->directory < 0)
		return;
	if (!names->parent)
		names->parent = look->stat.parent;
	if (!(facts->view.known & SELECT_COMM)) {
		memcpy(names->comm, look->stat.comm, sizeof(names->comm));
		known |= SELECT_COMM;
	}
	if (!(facts->view.known & SELECT_EXECUTABLE) && has_executable(look)) {
		memcpy(names->executable, look->executable, sizeof(names->executable));
		known |= SELECT_EXECUTABLE;
	}
	if (known && is_still_it(facts, processes, subject, look))
		facts->view.known |= known;
}

/* Is it not about to end? */
static bool still_runs(struct processes *processes, uint32_t pid, const struct proc_look *look)
{
	struct proc_look now;
	bool same;

	if (processes_look(processes, pid, false, &now))
		return false;
	same = now.stat.start_ticks == look->stat.start_ticks;
	proc_look_close(&now);
	return same;
}

/* That of an ancestor would be a guess: a process may have been moved. */
static void gather_cgroups(struct facts *facts, struct processes *processes, uint32_t pid,
			   const struct proc_look *look)
{
	int status;

	if (look->directory < 0)
		return;
	status = processes_read_cgroups(processes, look->directory, &facts->cgroups,
					&facts->view.cgroups_length);
	if (status == -ETIMEDOUT)
		facts->late = true;
	// One that is about to end shows the root of a hierarchy of v1.
	if (status || !still_runs(processes, pid, look))
		return;
	facts->view.cgroups = facts->cgroups;
	facts->view.known |= SELECT_CGROUP;
}

static void gather_uid(struct facts *facts, const struct select_subject *subject,
		       const struct proc_look *look)
{
	CLEANUP_FREE char *text = NULL;
	size_t length;
	const char *line;

	facts->view.uid = subject->uid;
	if (subject->uid == SAMPLE_NO_UID) {
		if (look->directory < 0 ||
		    file_read(look->directory, "status", STATUS_MAX_BYTES, &text, &length))
			return;
		// The name of the process stands before it, with its newlines escaped.
		line = strstr(text, "\nUid:");
		if (!line || sscanf(line, "\nUid: %u", &facts->view.uid) != 1)
			return;
	}
	facts->view.known |= SELECT_UID;
}

static uint64_t lineage_bits(const struct select_rules *rules, uint32_t pid)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < select_rules_pid_count(rules); i++)
		if (select_rules_pid(rules, i) == pid)
			bits |= 1ull << i;
	return bits;
}

/*
 * Of the process with the number @pid that had started by @by_ns: if it lives, who it belongs to
 * now; if it has ended, who has started it. False: unknown.
 */
static bool find_origin(struct processes *processes, uint32_t pid, uint64_t by_ns,
			struct process_origin *ret)
{
	struct proc_look look;
	bool found = !processes_look(processes, pid, false, &look);

	*ret = look_origin(&look);
	proc_look_close(&look);
	return (found && ret->earliest_ns <= by_ns) || processes_origin(processes, pid, by_ns, ret);
}

struct ancestry {
	struct processes *processes;
	const struct select_rules *rules;
	facts_lineage_function lineage_of;
	void *context;
	uint64_t bits;
};

/*
 * From @pid upwards, the parent of one that started at @by_ns: nobody is younger than its child, or
 * else it is a later user of the number. False when the way is lost, so that there may be more.
 */
static bool climb(struct ancestry *ancestry, uint32_t pid, uint64_t by_ns)
{
	struct process_origin origin;
	bool found;

	for (int i = 0; i < GENERATIONS && pid; i++) {
		ancestry->bits |= lineage_bits(ancestry->rules, pid);
		if (pid <= FIRST_PROCESSES || pid == OUTSIDE)
			return true;
		found = find_origin(ancestry->processes, pid, by_ns, &origin);
		// Of one that has been forgotten, what was found out when it was sampled.
		if (!found)
			origin = (struct process_origin){ .latest_ns = by_ns };
		ancestry->bits |= ancestry->lineage_of(ancestry->context, pid, origin.earliest_ns,
						       origin.latest_ns);
		if (!found)
			return false;
		if (origin.latest_ns < by_ns)
			by_ns = origin.latest_ns;
		pid = origin.parent;
	}
	return false;
}

/* By who has started it; where that way is lost, by who it belongs to. */
static void gather_lineage(struct facts *facts, const struct select_subject *subject,
			   struct ancestry *ancestry)
{
	const struct process_key *key = &subject->key;
	struct process_origin origin;
	bool known;

	ancestry->bits = subject->lineage | lineage_bits(ancestry->rules, key->pid);
	known = key->pid <= FIRST_PROCESSES ||
		climb(ancestry, facts->names.parent, key->start_boottime_ns) ||
		(find_origin(ancestry->processes, key->pid, key->start_boottime_ns, &origin) &&
		 climb(ancestry, origin.parent, key->start_boottime_ns));
	facts->view.lineage = ancestry->bits;
	if (known || ancestry->bits)
		facts->view.known |= SELECT_LINEAGE;
}

void facts_gather(struct facts *facts, struct processes *processes,
		  const struct select_rules *rules, const struct select_subject *subject,
		  facts_lineage_function lineage_of, void *context)
{
	struct proc_look look = { .directory = -1 };
	struct ancestry ancestry = { processes, rules, lineage_of, context, 0 };
	unsigned int needs = select_rules_needs(rules);
	bool has_names;

	*facts = (struct facts){ 0 };
	facts->view.executable = facts->names.executable;
	facts->view.comm = facts->names.comm;
	has_names = recall_names(facts, processes, subject);
	if (!has_names || needs & SELECT_CGROUP ||
	    (needs & SELECT_UID && subject->uid == SAMPLE_NO_UID))
		facts->late |= look_at(processes, &subject->key, !has_names, &look) == -ETIMEDOUT;
	if (!has_names)
		read_names(facts, processes, subject, &look);
	if (needs & SELECT_UID)
		gather_uid(facts, subject, &look);
	if (needs & SELECT_CGROUP)
		gather_cgroups(facts, processes, subject->key.pid, &look);
	if (needs & SELECT_LINEAGE)
		gather_lineage(facts, subject, &ancestry);
	proc_look_close(&look);
}

void facts_deinit(struct facts *facts)
{
	free(TAKE(facts->cgroups));
}

bool facts_is_alive(struct processes *processes, const struct process_key *key)
{
	struct proc_look look;
	int status = look_at(processes, key, false, &look);

	proc_look_close(&look);
	// One that does not let itself be looked at lives.
	return status != -ESRCH;
}
