// SPDX-License-Identifier: Apache-2.0
#include "processes.h"

#include "opener.h"

#include "base/base.h"

#include <errno.h>

/* Of one look into the process, or at one file: then it is left out. */
static const uint64_t LIMIT_NS = 1000000000;

static int open_mapped(struct timed_calls *calls, uint32_t pid, struct owner owner,
		       const struct proc_mapping *mapping)
{
	const struct file_search search = {
		.mapped = {
			.pid = pid,
			.start = mapping->start,
			.limit = mapping->limit,
			.path = mapping->path,
			.device = mapping->device,
			.inode = mapping->inode,
			.owner = owner,
		},
	};
	const struct file_place place = { mapping->device, owner, owner_close_payer(owner) };
	struct file_look look;
	bool by_mapping;
	CLEANUP_FD int path_fd = opener_find(calls, &search, LIMIT_NS, &look, &by_mapping);

	return path_fd < 0 ? path_fd : opener_open(calls, place, path_fd, LIMIT_NS);
}

static int visit_all(struct timed_calls *calls, uint32_t pid, processes_visit_function visit,
		     void *context)
{
	CLEANUP(proc_facts_deinit) struct proc_facts facts = { 0 };
	int status = proc_read(calls, pid, PROC_MAPS, NULL, &facts);
	const struct owner owner = { facts.uid, 0 };
	char *text = facts.maps, *end = facts.maps + facts.maps_length;
	struct proc_mapping mapping;
	uint64_t last = 0;

	if (!status && !facts.maps)
		status = facts.hangs ? -ETIMEDOUT : -EACCES;
	while (!status && proc_maps_next(&text, end, &mapping)) {
		int fd;

		// The first piece of code of a file does.
		if (!mapping.executable || !mapping.inode || mapping.inode == last)
			continue;
		last = mapping.inode;
		fd = open_mapped(calls, pid, owner, &mapping);
		if (fd >= 0 && !visit(context, &mapping, fd))
			break;
	}
	return status;
}

int processes_visit_code(uint32_t pid, processes_visit_function visit, void *context)
{
	struct timed_calls *calls = timed_calls_create();
	int status = calls ? visit_all(calls, pid, visit, context) : -ENOMEM;

	timed_calls_destroy(calls);
	return status;
}
