// SPDX-License-Identifier: Apache-2.0
#include "profiler_cost.h"

#include "base/base.h"

#include <ctype.h>
#include <dirent.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

enum {
	FILE_MAX = 64 << 10,
	CHILDREN_MAX = 64,  /* of one process */
	OBJECTS_MAX = 1024, /* BPF programs and maps of all */
	DESCRIPTORS_MAX = 1 << 16,
};

int profiler_cost_time_programs(void)
{
	union bpf_attr attributes = { .enable_stats = { .type = BPF_STATS_RUN_TIME } };

	return (int)syscall(SYS_bpf, BPF_ENABLE_STATS, &attributes, sizeof(attributes));
}

/* The next entry of @directory that is a number, or -1. */
static long next_number(DIR *directory)
{
	struct dirent *entry;

	while ((entry = readdir(directory)))
		if (isdigit((unsigned char)entry->d_name[0]))
			return strtol(entry->d_name, NULL, 10);
	return -1;
}

/* ---- processes ---- */

struct process_stat {
	pid_t parent;
	uint64_t start; /* clock ticks since boot */
	uint64_t cpu_ns, ended_children_ns;
};

static bool read_stat(pid_t pid, struct process_stat *ret)
{
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	unsigned long user, kernel, ended_user, ended_kernel, start;
	CLEANUP_FREE char *text = NULL;
	char path[64], *name_end;
	int parent;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (file_read(-1, path, FILE_MAX, &text, NULL))
		return false;
	name_end = strrchr(text, ')');
	// state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime cutime
	// cstime priority nice threads itrealvalue starttime...
	if (!name_end ||
	    sscanf(name_end + 1,
		   " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu %*d %*d %*d %*d "
		   "%lu",
		   &parent, &user, &kernel, &ended_user, &ended_kernel, &start) != 6)
		return false;
	*ret = (struct process_stat){
		.parent = parent,
		.start = start,
		.cpu_ns = (user + kernel) * tick_ns,
		.ended_children_ns = (ended_user + ended_kernel) * tick_ns,
	};
	return true;
}

static uint64_t resident_bytes(pid_t pid)
{
	CLEANUP_FREE char *text = NULL;
	unsigned long pages;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	if (file_read(-1, path, FILE_MAX, &text, NULL) || sscanf(text, "%*u %lu", &pages) != 1)
		return 0;
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool is_among(pid_t pid, const pid_t *pids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

static void add_process(struct profiler_cost *cost, pid_t pid, const struct process_stat *stat)
{
	cost->cpu_ns += stat->cpu_ns + stat->ended_children_ns;
	cost->memory_bytes += resident_bytes(pid);
}

static void add_children(struct profiler_cost *cost, const pid_t *pids, size_t count)
{
	CLEANUP_DIRECTORY DIR *directory = opendir("/proc");
	struct process_stat stat;
	size_t children = 0;
	long pid;

	while (directory && children < CHILDREN_MAX && (pid = next_number(directory)) >= 0) {
		if (is_among((pid_t)pid, pids, count) || !read_stat((pid_t)pid, &stat) ||
		    !is_among(stat.parent, pids, count))
			continue;
		add_process(cost, (pid_t)pid, &stat);
		children++;
	}
}

/* ---- BPF ---- */

struct objects {
	uint32_t ids[OBJECTS_MAX];
	size_t count;
};

/* Not seen yet, and there is room for it. */
static bool is_new(struct objects *objects, unsigned long id)
{
	for (size_t i = 0; i < objects->count; i++)
		if (objects->ids[i] == id)
			return false;
	if (objects->count == OBJECTS_MAX)
		return false;
	objects->ids[objects->count++] = (uint32_t)id;
	return true;
}

static bool read_field(const char *text, const char *key, unsigned long *ret)
{
	const char *at = strstr(text, key);

	return at && sscanf(at + strlen(key), " %lu", ret) == 1;
}

static void add_object(struct profiler_cost *cost, const char *text, struct objects *programs,
		       struct objects *maps)
{
	unsigned long id, value;

	if (read_field(text, "\nprog_id:", &id) && read_field(text, "\nrun_time_ns:", &value)) {
		if (is_new(programs, id))
			cost->bpf_ns += value;
	} else if (read_field(text, "\nmap_id:", &id) && read_field(text, "\nmemlock:", &value)) {
		if (is_new(maps, id))
			cost->maps_bytes += value;
	}
}

static void add_bpf(struct profiler_cost *cost, pid_t pid, struct objects *programs,
		    struct objects *maps)
{
	CLEANUP_DIRECTORY DIR *directory = NULL;
	char path[64], target[64];
	ssize_t length;
	long number;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	directory = opendir(path);
	for (int seen = 0; directory && seen < DESCRIPTORS_MAX; seen++) {
		CLEANUP_FREE char *text = NULL;

		number = next_number(directory);
		if (number < 0)
			break;
		snprintf(path, sizeof(path), "/proc/%d/fd/%ld", (int)pid, number);
		length = readlink(path, target, sizeof(target) - 1);
		if (length < 0)
			continue;
		target[length] = '\0';
		if (strcmp(target, "anon_inode:bpf-prog") && strcmp(target, "anon_inode:bpf-map"))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%ld", (int)pid, number);
		if (!file_read(-1, path, FILE_MAX, &text, NULL))
			add_object(cost, text, programs, maps);
	}
}

/* ---- threads of our own ---- */

static bool is_serving(const char *name)
{
	// The receiver's own, and those that gRPC starts.
	static const char *const names[] = { "net-",   "grpc",         "event_engine", "lifeguard",
					     "timer_", "default-exec", "resolver" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Of those that profile, not of those that only a comparison needs. */
static uint64_t own_threads_ns(void)
{
	CLEANUP_DIRECTORY DIR *directory = opendir("/proc/self/task");
	uint64_t sum_ns = 0;
	long tid;

	while (directory && (tid = next_number(directory)) >= 0) {
		CLEANUP_FREE char *name = NULL;
		CLEANUP_FREE char *times = NULL;
		unsigned long ran_ns;
		char path[64];

		snprintf(path, sizeof(path), "/proc/self/task/%ld/comm", tid);
		if (file_read(-1, path, FILE_MAX, &name, NULL) || is_serving(name))
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%ld/schedstat", tid);
		if (!file_read(-1, path, FILE_MAX, &times, NULL) &&
		    sscanf(times, "%lu", &ran_ns) == 1)
			sum_ns += ran_ns;
	}
	return sum_ns;
}

/* ---- all ---- */

static struct profiler_cost read_all(const pid_t *pids, size_t count, bool own)
{
	struct objects programs = { .count = 0 }, maps = { .count = 0 };
	struct profiler_cost cost = { 0 };
	struct process_stat stat;

	for (size_t i = 0; i < count; i++) {
		if (!read_stat(pids[i], &stat))
			return (struct profiler_cost){ 0 };
		cost.starts += stat.start;
		if (own)
			stat.cpu_ns = own_threads_ns();
		cost.now_ns = clock_monotonic_ns();
		add_process(&cost, pids[i], &stat);
		add_bpf(&cost, pids[i], &programs, &maps);
	}
	if (cost.now_ns)
		add_children(&cost, pids, count);
	cost.has_bpf = programs.count || maps.count;
	return cost;
}

struct profiler_cost profiler_cost_read(const pid_t *pids, size_t count)
{
	return read_all(pids, count, false);
}

struct profiler_cost profiler_cost_read_own(void)
{
	const pid_t self = getpid();

	return read_all(&self, 1, true);
}
