// SPDX-License-Identifier: Apache-2.0
#include "doctor_host.h"

#include "base/base.h"

#include <profcol/http.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

/* ---- kernel ---- */

static void visit_kernel(struct profcol_findings *findings)
{
	struct utsname name = { 0 };

	uname(&name);
	findings_add_fine(findings, "system", "%s %s, %s, user %u", name.sysname, name.release,
			  name.machine, (unsigned int)geteuid());
}

/* ---- control groups ---- */

/*
 * Our group of a controller. In version 2 all controllers have one tree; in version 1, and in a
 * hybrid of both, each may have its own, below /sys/fs/cgroup/CONTROLLER.
 */
struct group {
	int version;    /* 0: there are no control groups */
	char mount[64]; /* of the tree */
	char path[PATH_MAX];
};

/* Is @name one of the comma-separated words of the @length bytes at @list? */
static bool is_listed(const char *list, size_t length, const char *name)
{
	size_t name_length = strlen(name);

	for (const char *end = list + length; list < end;) {
		const char *comma = memchr(list, ',', (size_t)(end - list));
		size_t word = (size_t)((comma ? comma : end) - list);

		if (word == name_length && memcmp(list, name, word) == 0)
			return true;
		list += word + 1;
	}
	return false;
}

/* One line of /proc/self/cgroup: "0::/path", or "5:cpu,cpuacct:/path" of version 1. */
static void take_group(const char *line, const char *controller, struct group *ret)
{
	const char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
	bool is_own;

	if (!path)
		return;
	is_own = is_listed(names + 1, (size_t)(path - names - 1), controller);
	// A controller with a tree of its own is not in the one of version 2.
	if (!is_own && (path > names + 1 || ret->version))
		return;
	ret->version = is_own ? 1 : 2;
	snprintf(ret->mount, sizeof(ret->mount), "/sys/fs/cgroup%s%s", is_own ? "/" : "",
		 is_own ? controller : "");
	// Of the root "", so that a name can follow.
	snprintf(ret->path, sizeof(ret->path), "%s", strcmp(path + 1, "/") ? path + 1 : "");
}

static struct group group_find(const char *root, const char *controller)
{
	struct group group = { .version = 0 };
	CLEANUP_FREE char *text = NULL;
	char path[PATH_MAX], *rest = NULL;

	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	if (file_read(AT_FDCWD, path, 64 << 10, &text, NULL))
		return group;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		take_group(line, controller, &group);
	return group;
}

/* The content of the group's @file, the caller's; NULL when it has none. */
static char *group_read(const char *root, const struct group *group, const char *file)
{
	char path[2 * PATH_MAX], *text = NULL;

	snprintf(path, sizeof(path), "%s%s%s/%s", root, group->mount, group->path, file);
	return file_read(AT_FDCWD, path, 4096, &text, NULL) ? NULL : text;
}

/* To the group above; false at the top. */
static bool group_rise(struct group *group)
{
	char *slash = strrchr(group->path, '/');

	if (slash)
		*slash = '\0';
	return slash;
}

/*
 * Where nothing could be read. In version 2 the root group has no files, which means no limit; in
 * version 1 it has them, so that the tree is not where it was looked for.
 */
static void add_unlimited(const struct group *group, bool seen, const char *subject,
			  const char *otherwise, struct profcol_findings *findings)
{
	if (group->version == 1 && !seen)
		findings_add_fine(findings, subject,
				  "unknown limit: control groups are version 1, and none is to be "
				  "seen in %s",
				  group->mount);
	else
		findings_add_fine(findings, subject, "%s", otherwise);
}

/* ---- CPUs ---- */

/* How many CPUs @group may use, in *@ret, unless there is no limit. False: it does not say. */
static bool read_cpus(const char *root, const struct group *group, double *ret)
{
	bool is_first = group->version == 1;
	CLEANUP_FREE char *text =
		group_read(root, group, is_first ? "cpu.cfs_quota_us" : "cpu.max");
	CLEANUP_FREE char *more = is_first ? group_read(root, group, "cpu.cfs_period_us") : NULL;
	uint64_t quota = 0, period = 0;
	double cpus;

	// "50000 100000": microseconds in each period; "max 100000", or -1 in version 1: no limit.
	if (text && isdigit((unsigned char)text[0]))
		sscanf(text, "%" SCNu64 " %" SCNu64, &quota, &period);
	if (more)
		sscanf(more, "%" SCNu64, &period);
	if (quota && period) {
		cpus = (double)quota / (double)period;
		*ret = *ret == 0 || cpus < *ret ? cpus : *ret;
	}
	return text;
}

/* "8 online", and where a cpuset or an affinity leaves fewer, how many. */
static void print_cpus(char *to, size_t size)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t own;

	CPU_ZERO(&own);
	// Fails on more CPUs than the set has room for.
	if (!sched_getaffinity(0, sizeof(own), &own) && CPU_COUNT(&own) < online)
		snprintf(to, size, "%ld online, profcol may run on %d of them", online,
			 CPU_COUNT(&own));
	else
		snprintf(to, size, "%ld online", online);
}

static void visit_cpus(const char *root, struct profcol_findings *findings)
{
	const double enough = 0.1; // of one: a full buffer loses what it cannot hold
	struct group group = group_find(root, "cpu");
	char detail[192], count[64], unlimited[128];
	double limit = 0;
	bool seen = false;

	print_cpus(count, sizeof(count));
	do {
		seen |= read_cpus(root, &group, &limit);
	} while (group_rise(&group));
	if (limit == 0) {
		snprintf(unlimited, sizeof(unlimited), "%s, no limit on their use", count);
		add_unlimited(&group, seen, "CPUs", unlimited, findings);
		return;
	}
	snprintf(detail, sizeof(detail), "%s, of which profcol may use %.2f", count, limit);
	if (limit >= enough) {
		findings_add_fine(findings, "CPUs", "%s", detail);
		return;
	}
	findings->add(findings, &(struct profcol_finding){
					.subject = "CPUs",
					.verdict = PROFCOL_LACKING,
					.detail = detail,
					.effect = "samples may be lost under load "
						  "(ring_buffer_full)",
					.remedy = "raise the CPU limit (Kubernetes: resources: "
						  "{limits: {cpu: 500m}}; systemd: CPUQuota=50%)",
				});
}

/* ---- memory ---- */

/* As read_cpus(), in bytes. */
static bool read_memory(const char *root, const struct group *group, uint64_t *ret)
{
	const char *file = group->version == 1 ? "memory.limit_in_bytes" : "memory.max";
	// Without a limit version 1 says LONG_MAX less a part of a page.
	const uint64_t unlimited = UINT64_C(1) << 62;
	CLEANUP_FREE char *text = group_read(root, group, file);
	uint64_t bytes;

	if (text && sscanf(text, "%" SCNu64, &bytes) == 1 && bytes < unlimited && bytes < *ret)
		*ret = bytes;
	return text;
}

static void visit_memory(const char *root, struct profcol_findings *findings)
{
	// A batch of the profiler may take 64 MiB, and what waits for a peer as much.
	const uint64_t enough = UINT64_C(128) << 20;
	struct group group = group_find(root, "memory");
	uint64_t limit = UINT64_MAX;
	bool seen = false;
	char detail[64];

	do {
		seen |= read_memory(root, &group, &limit);
	} while (group_rise(&group));
	if (limit == UINT64_MAX) {
		add_unlimited(&group, seen, "memory", "no limit", findings);
		return;
	}
	snprintf(detail, sizeof(detail), "limit %" PRIu64 " MiB", limit >> 20);
	if (limit >= enough) {
		findings_add_fine(findings, "memory", "%s", detail);
		return;
	}
	findings->add(findings, &(struct profcol_finding){
					.subject = "memory",
					.verdict = PROFCOL_LACKING,
					.detail = detail,
					.effect = "the kernel may end profcol under load, or while "
						  "a peer is away",
					.remedy = "raise it to 256 MiB (Kubernetes: resources: "
						  "{limits: {memory: 256Mi}}; systemd: "
						  "MemoryMax=256M)",
				});
}

/* ---- what service::telemetry asks for ---- */

static void visit_reader(const struct config_metrics_reader *reader,
			 struct profcol_findings *findings)
{
	const struct profcol_http_settings settings = {
		.size = sizeof(settings),
		.endpoint = reader->endpoint,
	};
	struct profcol_error *error = findings->try_http(findings, &settings);

	if (error)
		findings_add_error(findings, "metrics", PROFCOL_MISSING, "profcol does not start",
				   error);
	else
		findings_add_fine(findings, "metrics", "%s is free", reader->endpoint);
}

/* The errno with which the service would fail to log to @path; 0: it can be written to, or made. */
static int try_log_path(const char *path)
{
	CLEANUP_FREE char *copy = NULL;
	size_t length = strlen(path);
	struct stat status;

	if (!stat(path, &status)) {
		if (S_ISDIR(status.st_mode))
			return EISDIR;
		if (S_ISSOCK(status.st_mode))
			return ENXIO;
		return access(path, W_OK) ? errno : 0;
	}
	if (errno != ENOENT || !length)
		return errno;
	if (path[length - 1] == '/')
		return EISDIR;
	copy = strdup(path);
	if (!copy)
		return ENOMEM;
	return access(dirname(copy), W_OK | X_OK) ? errno : 0;
}

static void visit_log_path(const char *path, const char *key, struct profcol_findings *findings)
{
	static const char scheme[] = "file://";
	const char *file = path;
	int errnum;

	if (!strcmp(path, "stderr") || !strcmp(path, "stdout"))
		return;
	if (!strncmp(path, scheme, sizeof(scheme) - 1))
		file += sizeof(scheme) - 1;
	errnum = file == path && strstr(path, "://") ? EINVAL : try_log_path(file);
	if (!errnum)
		findings_add_fine(findings, "log", "'%s' can be written to", path);
	else
		findings_add_error(
			findings, "log", PROFCOL_MISSING, "profcol does not start",
			profcol_error_create(PROFCOL_SYSTEM,
					     "cannot write to '%s': %s; name a file that the user "
					     "that profcol runs as may write to, stderr or stdout "
					     "in service::telemetry::logs::%s",
					     path, strerrordesc_np(errnum), key));
}

static void visit_log_paths(const struct profcol_list *paths, const char *key,
			    struct profcol_findings *findings)
{
	for (size_t i = 0; i < paths->count; i++)
		visit_log_path(paths->items[i], key, findings);
}

void doctor_host_diagnose(const char *root, const struct config_service *service,
			  struct profcol_findings *findings)
{
	const struct config_logs *logs = &service->logs;

	visit_kernel(findings);
	visit_cpus(root, findings);
	visit_memory(root, findings);
	for (size_t i = 0; i < service->metrics.reader_count; i++)
		visit_reader(&service->metrics.readers[i], findings);
	visit_log_paths(&logs->output_paths, "output_paths", findings);
	visit_log_paths(&logs->error_output_paths, "error_output_paths", findings);
}
