// SPDX-License-Identifier: Apache-2.0
#include "slabs.h"

#include "inner_maps.h"

#include "base/base.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/*
 * Putting a map into another one waits until every program that runs has ended, some
 * milliseconds: slabs are made several at a time, a quarter of what there is.
 */
enum { GROUP_LEAST = 4, GROUP_MOST = 32, GROUP_SHARE = 4 };

/* What files of programs, exporters and workers take. */
enum { OTHER_DESCRIPTORS = 1024 };

/* Processes come and go in the slabs that have room; those of the last writes are kept at hand. */
enum { COPIES = 4, NO_SLAB = UINT32_MAX };

/* What a slab holds. */
struct copy {
	uint32_t slab; /* or NO_SLAB */
	uint8_t value[UNWIND_SLAB_BYTES];
};

struct slabs {
	int outer_fd;
	uint32_t lead; /* bytes before the first line of a slab */
	uint32_t limit;
	VECTOR(int) fds; /* owned */
	struct copy copies[COPIES];
	uint32_t next; /* copy to be given up */
};

/* How many of @wanted descriptors we may take, once the limit is as high as it goes. The usual one
 * of 1,024 is meant for programs that call select(). Under a low one servers' connections take the
 * half, slabs a quarter, files of programs an eighth, indexes a sixteenth (docs/security.md). */
static uint32_t take_share(uint32_t wanted)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return wanted;
	if (limit.rlim_cur < (rlim_t)wanted + OTHER_DESCRIPTORS &&
	    limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (limit.rlim_cur >= (rlim_t)wanted + OTHER_DESCRIPTORS)
		return wanted;
	return wanted < limit.rlim_cur / 4 ? wanted : (uint32_t)(limit.rlim_cur / 4);
}

struct slabs *slabs_create(int outer_fd, uint32_t lead, uint32_t count)
{
	struct slabs *slabs = calloc(1, sizeof(*slabs));

	if (!slabs)
		return NULL;
	slabs->outer_fd = outer_fd;
	slabs->lead = lead;
	slabs->limit = take_share(count);
	for (size_t i = 0; i < COPIES; i++)
		slabs->copies[i].slab = NO_SLAB;
	return slabs;
}

void slabs_destroy(struct slabs *slabs)
{
	if (!slabs)
		return;
	for (size_t i = 0; i < slabs->fds.count; i++)
		close(slabs->fds.items[i]);
	VECTOR_DEINIT(&slabs->fds);
	free(slabs);
}

static int create_inner(void)
{
	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_slab", sizeof(uint32_t),
			      UNWIND_SLAB_BYTES, 1, NULL);
}

static uint32_t group_size(const struct slabs *slabs)
{
	uint32_t count = (uint32_t)slabs->fds.count / GROUP_SHARE;

	if (count < GROUP_LEAST)
		count = GROUP_LEAST;
	if (count > GROUP_MOST)
		count = GROUP_MOST;
	return count < slabs->limit - slabs->fds.count ? count
						       : slabs->limit - (uint32_t)slabs->fds.count;
}

static int slabs_add(void *context, uint32_t slab)
{
	struct slabs *slabs = context;
	uint32_t wanted = group_size(slabs), count = 0, keys[GROUP_MOST];
	int fds[GROUP_MOST], status = -ENOSPC;

	if (slab < slabs->fds.count)
		return 0;
	if (!VECTOR_RESERVE(&slabs->fds, wanted))
		return -ENOMEM;
	while (count < wanted) {
		fds[count] = create_inner();
		if (fds[count] < 0) {
			status = fds[count];
			break;
		}
		keys[count] = (uint32_t)slabs->fds.count + count;
		count++;
	}
	if (count)
		status = inner_maps_put(slabs->outer_fd, keys, fds, count);
	for (uint32_t i = 0; i < count; i++) {
		if (status)
			close(fds[i]);
		else
			slabs->fds.items[slabs->fds.count++] = fds[i];
	}
	return status;
}

/* What @slab holds; NULL when that cannot be read. Nobody else changes it. */
static struct copy *slabs_copy(struct slabs *slabs, uint32_t slab)
{
	struct copy *copy;
	uint32_t zero = 0;

	for (size_t i = 0; i < COPIES; i++)
		if (slabs->copies[i].slab == slab)
			return &slabs->copies[i];
	copy = &slabs->copies[slabs->next++ % COPIES];
	copy->slab = NO_SLAB;
	if (bpf_map_lookup_elem(slabs->fds.items[slab], &zero, copy->value))
		return NULL;
	copy->slab = slab;
	return copy;
}

static bool is_inside(const struct slabs *slabs, uint32_t slab, uint32_t offset, size_t length)
{
	return slab < slabs->fds.count && offset <= UNWIND_OBJECT_BYTES &&
	       length <= UNWIND_OBJECT_BYTES - offset;
}

/*
 * An array's value can only be written as a whole. The rest is written as it was: a reader sees
 * the same bytes.
 */
static int slabs_write(void *context, uint32_t slab, uint32_t offset, const void *bytes,
		       size_t length)
{
	struct slabs *slabs = context;
	struct copy *copy;
	uint32_t zero = 0;
	int status;

	if (!is_inside(slabs, slab, offset, length))
		return -EINVAL;
	copy = slabs_copy(slabs, slab);
	if (!copy)
		return -errno;
	memcpy(copy->value + slabs->lead + offset, bytes, length);
	status = bpf_map_update_elem(slabs->fds.items[slab], &zero, copy->value, BPF_ANY);
	if (status)
		copy->slab = NO_SLAB;
	return status;
}

static int slabs_read(void *context, uint32_t slab, uint32_t offset, void *bytes, size_t length)
{
	struct slabs *slabs = context;
	const struct copy *copy;

	if (!is_inside(slabs, slab, offset, length))
		return -EINVAL;
	copy = slabs_copy(slabs, slab);
	if (!copy)
		return -errno;
	memcpy(bytes, copy->value + slabs->lead + offset, length);
	return 0;
}

/* A slab that is made anew is empty. */
static void slabs_forget_copy(struct slabs *slabs, uint32_t slab)
{
	for (size_t i = 0; i < COPIES; i++)
		if (slabs->copies[i].slab == slab)
			slabs->copies[i].slab = NO_SLAB;
}

static void slabs_keep(void *context, uint32_t count)
{
	struct slabs *slabs = context;

	while (slabs->fds.count > count) {
		uint32_t last = (uint32_t)slabs->fds.count - 1;

		// Without it the kernel's side would still find the map, and keep it.
		if (bpf_map_delete_elem(slabs->outer_fd, &last))
			return;
		close(slabs->fds.items[last]);
		slabs_forget_copy(slabs, last);
		slabs->fds.count--;
	}
}

struct memory_slabs slabs_operations(struct slabs *slabs)
{
	return (struct memory_slabs){
		.create = slabs_add,
		.write = slabs_write,
		.read = slabs_read,
		.keep = slabs_keep,
		.context = slabs,
	};
}

uint32_t slabs_limit(const struct slabs *slabs)
{
	return slabs->limit;
}

uint64_t slabs_bytes(const struct slabs *slabs)
{
	return (uint64_t)slabs->fds.count * UNWIND_SLAB_BYTES;
}
