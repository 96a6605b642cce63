// SPDX-License-Identifier: Apache-2.0
#include "code_ends.h"

#include "code_ends.skel.h"
#include "perf/perf.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

struct code_ends {
	struct code_ends_bpf *programs;
	struct bpf_link *link; /* NULL: nobody is followed */
	struct ring_buffer *ring;
	size_t followed;
	uint64_t lost;           /* of these code_ends_take has told */
	code_ends_function take; /* while code_ends_take runs */
	void *context;
};

static int take_record(void *context, void *record, size_t length)
{
	struct code_ends *ends = context;

	if (length >= sizeof(struct code_end_record))
		ends->take(ends->context, record);
	return 0;
}

static int check_kernel(const struct code_ends *ends)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	int status = bpf_prog_test_run_opts(bpf_program__fd(ends->programs->progs.has_area_locks),
					    &options);

	if (status)
		return status;
	return options.retval ? 0 : -EOPNOTSUPP;
}

static int load(struct code_ends *ends)
{
	int status;

	ends->programs = code_ends_bpf__open();
	if (!ends->programs)
		return -errno;
	ends->programs->rodata->pid_namespace_inode = perf_pid_namespace();
	status = code_ends_bpf__load(ends->programs);
	if (!status)
		status = check_kernel(ends);
	if (status)
		return status;
	ends->ring = ring_buffer__new(bpf_map__fd(ends->programs->maps.code_ends), take_record,
				      ends, NULL);
	return ends->ring ? 0 : -errno;
}

int code_ends_create(struct code_ends **ret)
{
	struct code_ends *ends = calloc(1, sizeof(*ends));
	int status;

	*ret = NULL;
	if (!ends)
		return -ENOMEM;
	status = load(ends);
	if (status) {
		code_ends_destroy(ends);
		return status;
	}
	*ret = ends;
	return 0;
}

void code_ends_destroy(struct code_ends *ends)
{
	if (!ends)
		return;
	bpf_link__destroy(ends->link);
	ring_buffer__free(ends->ring);
	code_ends_bpf__destroy(ends->programs);
	free(ends);
}

int code_ends_fd(const struct code_ends *ends)
{
	return ring_buffer__epoll_fd(ends->ring);
}

uint64_t code_ends_map_bytes(const struct code_ends *ends)
{
	return bpf_map__max_entries(ends->programs->maps.code_ends);
}

int code_ends_follow(struct code_ends *ends, uint32_t pid)
{
	uint64_t unknown = 0;
	int status = bpf_map_update_elem(bpf_map__fd(ends->programs->maps.code_pages), &pid,
					 &unknown, BPF_NOEXIST);

	if (status)
		return status == -EEXIST ? 0 : status;
	ends->followed++;
	if (!ends->link)
		ends->link = bpf_program__attach(ends->programs->progs.note_code_end);
	if (ends->link)
		return 0;
	status = -errno;
	code_ends_leave(ends, pid);
	return status;
}

void code_ends_leave(struct code_ends *ends, uint32_t pid)
{
	if (bpf_map_delete_elem(bpf_map__fd(ends->programs->maps.code_pages), &pid))
		return;
	ends->followed--;
	if (!ends->followed) {
		bpf_link__destroy(ends->link);
		ends->link = NULL;
	}
}

uint64_t code_ends_take(struct code_ends *ends, code_ends_function take, void *context)
{
	uint64_t lost = __atomic_load_n(&ends->programs->bss->lost, __ATOMIC_RELAXED);
	uint64_t new_ones = lost - ends->lost;

	ends->take = take;
	ends->context = context;
	ring_buffer__consume(ends->ring);
	ends->lost = lost;
	return new_ones;
}
