// SPDX-License-Identifier: Apache-2.0
#include "execs.h"

#include "exec.skel.h"
#include "perf/perf.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

struct execs {
	struct exec_bpf *programs;
	struct bpf_link *link;
	struct ring_buffer *ring;
	execs_function take; /* while execs_take runs */
	void *context;
};

static int take_record(void *context, void *record, size_t length)
{
	struct execs *execs = context;

	if (length >= sizeof(struct exec_record))
		execs->take(execs->context, record);
	return 0;
}

static int start(struct execs *execs)
{
	int status;

	execs->programs = exec_bpf__open();
	if (!execs->programs)
		return -errno;
	execs->programs->rodata->pid_namespace_inode = perf_pid_namespace();
	status = exec_bpf__load(execs->programs);
	if (status)
		return status;
	execs->ring = ring_buffer__new(bpf_map__fd(execs->programs->maps.execs), take_record, execs,
				       NULL);
	if (!execs->ring)
		return -errno;
	execs->link = bpf_program__attach(execs->programs->progs.note_exec);
	return execs->link ? 0 : -errno;
}

int execs_create(struct execs **ret)
{
	struct execs *execs = calloc(1, sizeof(*execs));
	int status;

	*ret = NULL;
	if (!execs)
		return -ENOMEM;
	status = start(execs);
	if (status) {
		execs_destroy(execs);
		return status;
	}
	*ret = execs;
	return 0;
}

void execs_destroy(struct execs *execs)
{
	if (!execs)
		return;
	bpf_link__destroy(execs->link);
	ring_buffer__free(execs->ring);
	exec_bpf__destroy(execs->programs);
	free(execs);
}

int execs_fd(const struct execs *execs)
{
	return ring_buffer__epoll_fd(execs->ring);
}

uint64_t execs_map_bytes(const struct execs *execs)
{
	return bpf_map__max_entries(execs->programs->maps.execs); // of bytes
}

void execs_take(struct execs *execs, execs_function take, void *context)
{
	execs->take = take;
	execs->context = context;
	ring_buffer__consume(execs->ring);
}
