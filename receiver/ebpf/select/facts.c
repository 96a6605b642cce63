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
	STAT_MAX_BYTES = 4096,
	STATUS_MAX_BYTES = 16 << 10,
	GENERATIONS = 64,    /* of ancestors that are looked at */
	FIRST_PROCESSES = 2, /* init and the parent of the kernel's threads have no parent */
};

/* The parent, for /proc, of one that somebody outside of our PID namespace has executed into it. */
static const uint32_t OUTSIDE = UINT32_MAX;

/* What was read counts only when it is known by then that the program is the same still. */
static const uint64_t RECHECK_NS = 100000000;

/* An open process of /proc: its descriptor goes on to mean the same one. */
struct source {
	int directory;  /* or negative */
	bool by_thread; /* it is a thread's, since the main thread has ended */
	struct proc_stat stat;
};

static void source_close(struct source *source)
{
	if (source->directory >= 0)
		close(source->directory);
}

static bool read_stat(int directory, struct proc_stat *ret)
{
	CLEANUP_FREE char *text = NULL;
	size_t length;

	return !file_read(directory, "stat", STAT_MAX_BYTES, &text, &length) &&
	       proc_stat_parse(text, length, ret);
}

/* Of a process that has ended and is only waited for, nothing is right any more. */
static bool is_over(const struct proc_stat *stat)
{
	return (stat->state == 'Z' || stat->state == 'X') && stat->threads <= 1;
}

/* What the main thread of @pid had its other threads still have. */
static void source_go_by_thread(struct source *source, uint32_t pid)
{
	int thread = proc_open_thread(pid);

	if (thread < 0)
		return;
	close(source->directory);
	source->directory = thread;
	source->by_thread = true;
}

static struct source source_open(uint32_t pid)
{
	struct source source = { .directory = -1 };
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	source.directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (source.directory >= 0 &&
	    (!read_stat(source.directory, &source.stat) || is_over(&source.stat))) {
		close(source.directory);
		source.directory = -1;
	}
	if (source.directory >= 0 && source.stat.state == 'Z')
		source_go_by_thread(&source, pid);
	return source;
}

/* What /proc says is rounded down; a tick more, for a kernel that does it otherwise. */
static struct process_origin source_origin(const struct source *source)
{
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t start_ns = source->stat.start_ticks * tick_ns;

	return (struct process_origin){
		.parent = source->stat.parent ? source->stat.parent : OUTSIDE,
		.earliest_ns = start_ns > tick_ns ? start_ns - tick_ns : 0,
		.latest_ns = start_ns + 2 * tick_ns,
	};
}

/* That of @key, if the number has not got another user meanwhile. */
static struct source source_open_key(const struct process_key *key)
{
	struct source source = source_open(key->pid);
	struct process_origin origin = source_origin(&source);

	if (source.directory < 0 || (origin.earliest_ns <= key->start_boottime_ns &&
				     key->start_boottime_ns <= origin.latest_ns))
		return source;
	source_close(&source);
	source.directory = -1;
	return source;
}

/* False when it is not to be had; a thread of the kernel has none. */
static bool read_executable(const struct source *source, char ret[PATH_MAX])
{
	ssize_t length = proc_executable(source->directory, ret);

	// A leader that has ended before its threads shows none either.
	return length > 0 || (!length && (source->stat.state != 'Z' || source->by_thread));
}

/* What the kernel told of the process. False when something is missing. */
static bool recall_names(struct facts *facts, struct processes *processes,
			 const struct select_subject *subject)
{
	struct process_names *names = &facts->names;

	(void)processes_name(processes, &subject->key, subject->time_ns, names);
	// Has the process executed another program, of which we have not heard yet?
	if (!names->of_program && !subject->caught_up)
		names->comm[0] = names->executable[0] = '\0';
	if (names->comm[0])
		facts->view.known |= SELECT_COMM;
	if (names->executable[0])
		facts->view.known |= SELECT_EXECUTABLE;
	return names->comm[0] && names->executable[0] && names->parent;
}

/* Was it the program of the sample that /proc has just told of? Threads of the kernel have one. */
static bool is_still_it(const struct facts *facts, struct processes *processes,
			const struct select_subject *subject, const struct source *source)
{
	char path[PATH_MAX];

	if (!facts->names.executable[0] && read_executable(source, path) && !path[0])
		return true;
	return processes_catch_up(processes, clock_monotonic_ns() + RECHECK_NS) &&
	       processes_still_runs(processes, &subject->key, subject->time_ns);
}

/* What is missing of that. */
static void read_names(struct facts *facts, struct processes *processes,
		       const struct select_subject *subject, const struct source *source)
{
	struct process_names *names = &facts->names;
	unsigned int known = 0;

	if (source->directory < 0)
		return;
	if (!names->parent)
		names->parent = source->stat.parent;
	if (!(facts->view.known & SELECT_COMM)) {
		memcpy(names->comm, source->stat.comm, sizeof(names->comm));
		known |= SELECT_COMM;
	}
	if (!(facts->view.known & SELECT_EXECUTABLE) && read_executable(source, names->executable))
		known |= SELECT_EXECUTABLE;
	if (known && is_still_it(facts, processes, subject, source))
		facts->view.known |= known;
}

static bool read_cgroups(struct facts *facts, struct processes *processes,
			 const struct source *source)
{
	return source->directory >= 0 &&
	       !processes_read_cgroups(processes, source->directory, &facts->cgroups,
				       &facts->view.cgroups_length);
}

/* That of an ancestor would be a guess: a process may have been moved. */
static void gather_cgroups(struct facts *facts, struct processes *processes,
			   const struct source *source)
{
	struct proc_stat stat;

	// One that is about to end shows the root of a hierarchy of v1.
	if (!read_cgroups(facts, processes, source) || !read_stat(source->directory, &stat) ||
	    is_over(&stat))
		return;
	facts->view.cgroups = facts->cgroups;
	facts->view.known |= SELECT_CGROUP;
}

static void gather_uid(struct facts *facts, const struct select_subject *subject,
		       const struct source *source)
{
	CLEANUP_FREE char *text = NULL;
	size_t length;
	const char *line;

	facts->view.uid = subject->uid;
	if (subject->uid == SAMPLE_NO_UID) {
		if (source->directory < 0 ||
		    file_read(source->directory, "status", STATUS_MAX_BYTES, &text, &length))
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
	CLEANUP(source_close) struct source source = source_open(pid);

	*ret = source_origin(&source);
	return (source.directory >= 0 && ret->earliest_ns <= by_ns) ||
	       processes_origin(processes, pid, by_ns, ret);
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
	CLEANUP(source_close) struct source source = { .directory = -1 };
	struct ancestry ancestry = { processes, rules, lineage_of, context, 0 };
	unsigned int needs = select_rules_needs(rules);
	bool has_names;

	*facts = (struct facts){ 0 };
	facts->view.executable = facts->names.executable;
	facts->view.comm = facts->names.comm;
	has_names = recall_names(facts, processes, subject);
	if (!has_names || needs & SELECT_CGROUP ||
	    (needs & SELECT_UID && subject->uid == SAMPLE_NO_UID))
		source = source_open_key(&subject->key);
	if (!has_names)
		read_names(facts, processes, subject, &source);
	if (needs & SELECT_UID)
		gather_uid(facts, subject, &source);
	if (needs & SELECT_CGROUP)
		gather_cgroups(facts, processes, &source);
	if (needs & SELECT_LINEAGE)
		gather_lineage(facts, subject, &ancestry);
}

void facts_deinit(struct facts *facts)
{
	free(TAKE(facts->cgroups));
}

bool facts_is_alive(const struct process_key *key)
{
	CLEANUP(source_close) struct source source = source_open_key(key);

	return source.directory >= 0;
}
