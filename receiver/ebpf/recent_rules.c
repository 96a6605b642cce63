// SPDX-License-Identifier: Apache-2.0
#include "recent_rules.h"

#include "inner_maps.h"
#include "sample.h"

#include "base/base.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { GROUP = 64 }; /* made at a time */

int recent_rules_init(struct recent_rules *rules, int outer_fd, uint32_t count)
{
	*rules = (struct recent_rules){ .outer_fd = outer_fd, .count = count };
	rules->made = calloc(count, sizeof(*rules->made));
	return rules->made ? 0 : -ENOMEM;
}

void recent_rules_deinit(struct recent_rules *rules)
{
	free(rules->made);
	*rules = (struct recent_rules){ 0 };
}

/* Of at most GROUP CPUs, each of which has none. A negative errno. */
static int make_group(struct recent_rules *rules, const uint32_t *cpus, uint32_t count)
{
	uint32_t made = 0;
	int fds[GROUP], status = 0;

	for (; made < count; made++) {
		fds[made] = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_recent", sizeof(uint32_t),
					   UNWIND_SLAB_BYTES, 1, NULL);
		if (fds[made] < 0) {
			status = fds[made];
			break;
		}
	}
	if (!status)
		status = inner_maps_put(rules->outer_fd, cpus, fds, count);
	// The array of maps keeps what is in it.
	for (uint32_t i = 0; i < made; i++)
		close(fds[i]);
	if (status)
		return status;
	for (uint32_t i = 0; i < count; i++)
		rules->made[cpus[i]] = true;
	rules->bytes += (uint64_t)count * UNWIND_SLAB_BYTES;
	return 0;
}

struct profcol_error *recent_rules_make(struct recent_rules *rules, const uint32_t *cpus,
					size_t count)
{
	uint32_t group[GROUP], wanted = 0;
	int status = 0;

	for (size_t i = 0; i < count && !status; i++) {
		if (cpus[i] < rules->count && !rules->made[cpus[i]])
			group[wanted++] = cpus[i];
		if (wanted && (wanted == GROUP || i + 1 == count)) {
			status = make_group(rules, group, wanted);
			wanted = 0;
		}
	}
	return status ? profcol_error_errno(-status, "make the tables of recent unwind rules")
		      : NULL;
}

struct profcol_error *recent_rules_renew(struct recent_rules *rules)
{
	CLEANUP_FREE uint32_t *cpus = calloc(rules->count + 1, sizeof(*cpus));
	struct profcol_error *error;
	uint64_t bytes = rules->bytes;
	size_t count = 0;

	if (!cpus)
		return profcol_error_create(PROFCOL_NO_MEMORY,
					    "no memory for new tables of recent unwind rules");
	for (uint32_t cpu = 0; cpu < rules->count; cpu++) {
		if (!rules->made[cpu])
			continue;
		rules->made[cpu] = false;
		cpus[count++] = cpu;
	}
	rules->bytes = 0;
	error = recent_rules_make(rules, cpus, count);
	if (!error)
		return NULL;
	// Where there is no new one the old one still stands.
	for (size_t i = 0; i < count; i++)
		rules->made[cpus[i]] = true;
	rules->bytes = bytes;
	return error;
}
