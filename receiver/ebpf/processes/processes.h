/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes exist, what they have mapped, and when.
 *
 * A thread of its own follows perf side-band records (exec, fork, exit, mmap of
 * executable memory) of all CPUs and keeps, per process, the address spaces it
 * has had with their executable mappings, each with the CLOCK_MONOTONIC times it
 * appeared and went. Which programs give up code, and so have to be asked when, shows when they
 * seem to have too much. /proc is read at start, for a sampled process that is not known or
 * not complete (repair after lost records), and for what the records do not say
 * (executable, cgroup, environment). Files behind executable mappings of sampled processes
 * are opened at once, through the process's own root, so that they can be read
 * after it has gone.
 *
 * Threads: note_sample from the drain thread (never blocks on I/O or on a lock
 * held over I/O), the rest from any other; all at the same time is fine.
 */
#pragma once

#include "kernel_code.h"
#include "origin.h"
#include "packages.h"
#include "perf_map_open.h"
#include "proc_look.h"
#include "proc_read.h"
#include "proc_thread.h"
#include "process_root.h"
#include "read_time.h"
#include "shares.h"
#include "stack_read.h"

#include <profcol/component.h>

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct processes;

/* What the kernel puts on a sample to say whose it is. */
struct process_key {
	uint32_t pid;     /* thread group id in the initial pid namespace */
	uint32_t exec_id; /* task_struct.self_exec_id, low half: changes with every exec */
	uint64_t start_boottime_ns; /* of the group leader: tells apart users of one pid */
};

static inline bool process_key_equal(const struct process_key *a, const struct process_key *b)
{
	return a->pid == b->pid && a->exec_id == b->exec_id &&
	       a->start_boottime_ns == b->start_boottime_ns;
}

/* What the environment of a process says of it: key, NUL, value, NUL, ...; UTF-8, each key once,
 * at most 4 KiB, and none that says who or where it is. */
struct process_attributes {
	const char *bytes;
	size_t length;
};

/* Take the next one off the front. False when there is none left. */
static inline bool process_attributes_next(struct process_attributes *rest, const char **key_ret,
					   const char **value_ret)
{
	size_t key_size, value_size;

	if (!rest->length)
		return false;
	key_size = strlen(rest->bytes) + 1;
	*key_ret = rest->bytes;
	*value_ret = rest->bytes + key_size;
	value_size = strlen(*value_ret) + 1;
	rest->bytes += key_size + value_size;
	rest->length -= key_size + value_size;
	return true;
}

struct process_description {
	uint64_t start_boottime_ns;
	char comm[16];            /* of the group leader, NUL-terminated */
	const char *executable;   /* path as the process sees it; "" when unknown */
	const char *container_id; /* "" when in none */
	char pod_uid[37];         /* of Kubernetes; "" when in none */
	struct process_attributes attributes;
};

enum { PROCESS_NO_FILE = UINT32_MAX };

struct process_mapping {
	uint64_t start, limit; /* in the process, limit exclusive */
	uint64_t file_offset;  /* of start, bytes */
	uint64_t begin_ns;     /* CLOCK_MONOTONIC, when it was mapped, at the latest */
	uint32_t file;         /* file id, or PROCESS_NO_FILE for anonymous memory */
	const char *path;      /* as the kernel printed it ("[vdso]", "//anon", "/usr/bin/x") */
};

/* Executable memory of a process. */
struct process_code {
	uint64_t start, limit; /* in the process, limit exclusive */
	uint64_t file_offset;  /* of start, bytes; in the vDSO if @vdso; 0 for anonymous memory */
	uint32_t file;         /* file id, or PROCESS_NO_FILE */
	bool vdso;             /* the kernel's own code, which has no file */
};

/* NULL without memory. Both are borrowed until destroy; @variables of the environment become
 * attributes `process.environment_variable.NAME`. @max_bytes of memory are taken, but for queues.
 */
struct processes *processes_create(const struct profcol_host *host,
				   const struct profcol_list *variables, size_t max_bytes);
void processes_destroy(struct processes *processes); /* accepts NULL; stops first */

/*
 * Have @changed told, before start, of every process that is followed: when its program is new
 * (its exec, see processes_follow_execs, or else its first sample), when its executable mappings or
 * their files have changed, and with @alive false when the program has ended, by exit or by exec.
 * Called from the thread in here without a lock held, once for all that one pass brought; while it
 * waits, records wait too, in rings that have room for a tenth of a second.
 */
void processes_on_change(struct processes *processes,
			 void (*changed)(void *context, const struct process_key *key, bool alive),
			 void *context);

/* Open the side-band on all CPUs, read /proc once, start the thread. */
PROFCOL_MUST_CHECK struct profcol_error *processes_start(struct processes *processes);
void processes_stop(struct processes *processes);

/*
 * Once started, and with libbpf's messages taken over: hear of execs as they happen, by the keys
 * that samples will have. Programs that start from then on are followed like those sampled if their
 * files have ids already, so that what is told of them is told before they run. Whoever runs a new
 * file is followed from its first sample on: most are never sampled.
 */
PROFCOL_MUST_CHECK struct profcol_error *processes_follow_execs(struct processes *processes);

/* Memory of the kernel side's maps that tell of execs; 0 when nothing does. */
uint64_t processes_map_bytes(struct processes *processes);

/* A sample of @key was taken at @time_ns (CLOCK_MONOTONIC): queued (bounded, counted) for the
 * thread, which is woken for it. */
void processes_note_sample(struct processes *processes, const struct process_key *key,
			   uint64_t time_ns);

/* The same of one noted already, which has no hurry. */
void processes_note_again(struct processes *processes, const struct process_key *key,
			  uint64_t time_ns);

/* Samples have been taken, whosever they are: what the kernel has recorded is taken in within a
 * tenth of a second. Until then records may wait for five, but for those of execs. */
void processes_note_sampling(struct processes *processes);

/* Wait until everything noted or recorded by the kernel before this call is known, at most until
 * @deadline_ns (CLOCK_MONOTONIC). False when it is not known by then. */
bool processes_catch_up(struct processes *processes, uint64_t deadline_ns);

/* Text in the results below is borrowed until processes_forget. False: unknown. */
bool processes_describe(struct processes *processes, const struct process_key *key,
			uint64_t time_ns, struct process_description *ret);

/* What a program is called, and who has started it; the texts are copies. */
struct process_names {
	char comm[16];             /* of the group leader, NUL-terminated */
	char executable[PATH_MAX]; /* path as the process sees it; "" when it has none, or unknown
				    */
	uint32_t parent;           /* process number; 0 = unknown */
	bool of_program; /* the texts are known to be those of the key's program; else perhaps of
			    the one before */
};

/* As processes_describe, but the texts are empty when they are those of another program. */
bool processes_name(struct processes *processes, const struct process_key *key, uint64_t time_ns,
		    struct process_names *ret);

/* Has the process not executed another program since @key's sample at @time_ns, as far as known? */
bool processes_still_runs(struct processes *processes, const struct process_key *key,
			  uint64_t time_ns);

/* Did the process run @key's program, and no later one, at @time_ns, as far as known? */
bool processes_ran(struct processes *processes, const struct process_key *key, uint64_t time_ns);

/* Who has started a process, and when that started itself: between the two (CLOCK_BOOTTIME). */
struct process_origin {
	uint32_t parent; /* process number; 0 = unknown */
	uint64_t earliest_ns, latest_ns;
};

/* Of the latest process with the number @pid that may have started by @by_ns (CLOCK_BOOTTIME).
 * False: unknown. */
bool processes_origin(struct processes *processes, uint32_t pid, uint64_t by_ns,
		      struct process_origin *ret);

enum process_code_state {
	PROCESS_CODE_FOUND,
	PROCESS_CODE_PENDING, /* of a file that has no id yet */
	PROCESS_CODE_NONE,    /* there was no code */
	PROCESS_CODE_UNKNOWN, /* the program is not known, or not all of it */
};

/*
 * What the program of @key, and no other one of that process, had at @address at @time_ns. Any
 * thread. Once processes_known_ns() has passed that time, what is not there was not there.
 */
enum process_code_state processes_find_code(struct processes *processes,
					    const struct process_key *key, uint64_t time_ns,
					    uint64_t address, struct process_code *ret);

/* All that was noted, or recorded by the kernel, before this time (CLOCK_MONOTONIC) is known. */
uint64_t processes_known_ns(struct processes *processes);

/* The executable mapping that held @address at @time_ns. */
bool processes_find_mapping(struct processes *processes, const struct process_key *key,
			    uint64_t time_ns, uint64_t address, struct process_mapping *ret);

/* Has code of the process been unmapped, protected or covered after @since_ns, or a little before?
 * Only then can what a walk took for its code be out of date. */
bool processes_code_ended(struct processes *processes, const struct process_key *key,
			  uint64_t since_ns);

/* Code that is looked for in a process. */
struct process_place {
	uint64_t offset;  /* in the file, bytes */
	uint32_t file;    /* its id */
	uint64_t address; /* where it was found last, which is looked at first; or 0 */
	uint64_t visits;  /* mappings that may still be looked at: nothing is certain then */
};

/* Is it certain that @key's program had the code of @place before @time_ns, and had it nowhere any
 * more at that time? Of what ended before the last processes_forget it is not. */
bool processes_has_lost(struct processes *processes, const struct process_key *key,
			uint64_t time_ns, struct process_place *place);

/*
 * The executable mappings that @key's program has now, by start, without overlap; neighbours that
 * continue each other in one file are one, and so are anonymous ones. Left out is what has a file
 * without an id yet: when it has one, that is a change. Writes at most @count and returns how many
 * there are; when that is more, those without a file have been left out first. Of forks of forks
 * with tens of thousands of mappings each, those at the lowest addresses only are listed and
 * counted. 0 when the program is unknown or has ended, or without memory.
 */
size_t processes_code(struct processes *processes, const struct process_key *key,
		      struct process_code *ret, size_t count);

/* When the program, or an earlier one of the process, was noted to be sampled last
 * (CLOCK_MONOTONIC); 0: never. */
uint64_t processes_last_sample(struct processes *processes, const struct process_key *key);

/* So many bytes more are kept for the sake of processes elsewhere, or fewer: they count as memory
 * of `processes` in the metrics. Any thread. */
void processes_account(struct processes *processes, int64_t bytes);

/* Tell anew, soon, of every program that has been told of and has not ended. */
void processes_tell_again(struct processes *processes);

/*
 * A descriptor for reading @file, owned by the caller; reopened through any living process that
 * maps it if it had to be closed meanwhile. Negative errno when it cannot be had any more, -EAGAIN
 * while files of its owner do not let themselves be closed. A
 * file has its id as long as a process maps it, or has mapped it since the last processes_forget,
 * and then until there is no more room; equal content identity (device, inode) is one file as long
 * as it does not change.
 */
int processes_open_file(struct processes *processes, uint32_t file);

/* The origin of @file, or of the memory of process @pid: the owner who can have written it, and the
 * device. @own: the processes that map the file have said something of it, so that they count as
 * its writers beside the machine's root. A process that is not read yet is its user's, with its
 * number for a container. Never waits. Any thread. */
struct origin processes_file_origin(struct processes *processes, uint32_t file, bool own);
struct origin processes_memory_origin(struct processes *processes, uint32_t pid);

/* What is known of a file's debug information, by which it is looked for. */
struct process_debug_query {
	const char *build_id; /* lower-case hex, or "" */
	const char *link;     /* .gnu_debuglink, or "" */
	const char *const *directories;
	size_t directory_count;
};

/* What was found; whether it belongs to the file is for a worker to say. */
struct process_debug_file {
	int fd; /* for reading, the caller's */
	bool by_link;
	bool in_own_root;         /* or else in the machine's */
	struct process_root root; /* if so */
};

/*
 * Open what may be the debug file of @file: number *@candidate, 0 first, or the next one that is
 * there, and leave the number behind it. It is looked for in the machine's root, and then in that
 * of the processes that map @file, if they have one and the same, of their own: what is there says
 * something of files that only they have. -ENOENT: there is none any more, or another negative
 * errno. May wait for file systems, a second for each root.
 */
int processes_open_debug(struct processes *processes, uint32_t file,
			 const struct process_debug_query *query, size_t *candidate,
			 struct process_debug_file *ret);

/*
 * Whose database of packages has the file, and which package: in the root of those who map it, or
 * the machine's where there are several. 0 or a negative errno; may take a second.
 */
struct process_package {
	enum packages_manager manager;
	char name[PACKAGES_NAME_BYTES]; /* "": not found */
};
int processes_find_package(struct processes *processes, uint32_t file, struct process_package *ret);

/* Is @file still mapped by processes of @root alone? */
bool processes_is_of_root(struct processes *processes, uint32_t file,
			  const struct process_root *root);

/*
 * A descriptor for reading the memory that process @pid has now, as memory_open() has it; negative
 * errno. It waits a moment for processes that do not let it: whoever holds a lock does not ask.
 */
int processes_open_memory(struct processes *processes, uint32_t pid);

/* Read the stack of a thread that sleeps, as stack_read(). Waits as above. */
ssize_t processes_read_stack(struct processes *processes, const struct stack_query *query,
			     void *to);

/* The file in which @key's program names code that it has made, and its state: a perf map, as
 * perf_map_open() has it, or else a jitdump that it has mapped. Negative errno; waits as above. */
int processes_open_code_map(struct processes *processes, const struct process_key *key,
			    struct code_map_state *ret);

/* As proc_look, of whoever is known to have @pid. */
int processes_look(struct processes *processes, uint32_t pid, bool executable,
		   struct proc_look *ret);

/* As proc_read_cgroups: what a process belongs to whose directory in /proc is open as @directory.
 */
int processes_read_cgroups(struct processes *processes, int directory, char **text_ret,
			   size_t *length_ret);

/* What the kernel remembers of the file behind @fd, as opener_recall has it: unlike fstat(2) this
 * never waits. 0 or a negative errno. */
struct stat;
int processes_recall_file(int fd, struct stat *ret);

/* The path under which @file was first seen, "" when there was no room for it. The caller's to
 * free; NULL when the file is not known, or without memory. */
char *processes_file_path(struct processes *processes, uint32_t file);

/* Is @file known, and not forgotten? */
bool processes_has_file(struct processes *processes, uint32_t file);

/* Whose a file is, as far as is known: of those that have it mapped, or had; and whose the program
 * of @key is. */
struct owner processes_file_owner(struct processes *processes, uint32_t file);
struct owner processes_owner(struct processes *processes, const struct process_key *key);

/* Whom it costs to read the memory of @pid: its owner, or the process alone while nobody knows that
 * one. */
struct owner processes_memory_owner(struct processes *processes, uint32_t pid);

/* The BPF programs that have come and gone since processes_start; valid as @processes. */
struct kernel_code *processes_kernel_code(struct processes *processes);

struct processes_files {
	uint64_t evicted; /* files that were forgotten so far */
	uint64_t lap;     /* when it has grown, forget soon all that is known by ids: those of files
			     forgotten before may be given to others some day */
};
struct processes_files processes_files(struct processes *processes);

/*
 * The htlhash (htlhash.h) that @file had when it was opened first, as hexadecimal digits. False
 * when it never was, or could not be read.
 */
bool processes_file_htlhash(struct processes *processes, uint32_t file, char ret[33]);

/* What tells @file and its content from all others, also when this program, or the machine, has
 * been started again; as file_look.h has it. */
struct process_file_look {
	uint64_t place; /* 0: there is no telling */
	uint64_t inode;
	int64_t modified_ns, changed_ns, born_ns;
	bool fresh;
};

/* Has @file been written to since it was met, as far as is known? What was read of it then may be
 * another one's. Never waits. */
bool processes_file_is_stale(struct processes *processes, uint32_t file);

/* What @file is; false when it is not held open, or has changed in anything since it was found. */
bool processes_look_at_file(struct processes *processes, uint32_t file,
			    struct process_file_look *ret);

/* Takes @fd, a descriptor for reading the file of @mapping. False: no other one is wanted. */
typedef bool (*processes_visit_function)(void *context, const struct proc_mapping *mapping, int fd);

/*
 * For whoever looks at one process alone: calls @visit for each file that process @pid has code of,
 * as it is now. 0, or a negative errno when its mappings cannot be had, such as -ETIMEDOUT. A file
 * that does not answer for a second is left out.
 */
int processes_visit_code(uint32_t pid, processes_visit_function visit, void *context);

/* Everything up to @time_ns (CLOCK_MONOTONIC) has been reported: drop processes and mappings that
 * ended before. */
void processes_forget(struct processes *processes, uint64_t time_ns);
