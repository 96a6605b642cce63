// SPDX-License-Identifier: Apache-2.0
#include "sampling_settings.h"

#include "address_mask.h"
#include "perf/perf.h"
#include "sample_buffers.h"
#include "tables/tables.h"

#include <errno.h>

/* Of a stack that the receiver walks, at most. */
static uint32_t copied_bytes(const struct profiling_config *config)
{
	uint64_t bytes = config->deferred_stack_bytes & ~7ull;

	// To verify walks, there have to be some.
	if (config->verify_walks)
		return 0;
	return bytes < SAMPLE_MAX_COPY_BYTES ? (uint32_t)bytes : SAMPLE_MAX_COPY_BYTES;
}

struct sampling_settings sampling_settings_of(const struct profiling_config *config)
{
	return (struct sampling_settings){
		.emits_idle = config->send_idle_frames,
		.verifies_walks = config->verify_walks,
		.depth = (uint32_t)config->max_stack_depth,
		.copied_stack_bytes = copied_bytes(config),
		.deferred_stack_bytes = (uint32_t)config->deferred_stack_bytes & ~7u,
		.pid_namespace = perf_pid_namespace(),
		.buckets = tables_process_buckets(config->unwind_memory_bytes),
		.slabs = (uint32_t)(config->unwind_memory_bytes / UNWIND_SLAB_BYTES),
		.address_mask = address_mask(),
	};
}

int sampling_settings_size_maps(struct bpf_object *object, const struct sampling_settings *settings)
{
	const struct {
		const char *name;
		uint32_t entries;
	} maps[] = {
		{ "buffers", settings->slots },
		{ "unwind_slabs", settings->slabs },
		{ "unwind_processes", settings->buckets },
		{ "unwind_recent", settings->slots },
	};
	struct bpf_map *buffers = bpf_object__find_map_by_name(object, "buffers");
	int status = buffers ? bpf_map__set_value_size(buffers, (uint32_t)sample_buffers_stride(
									settings->ring_bytes))
			     : -ENOENT;

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]) && !status; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(object, maps[i].name);

		status = map ? bpf_map__set_max_entries(map, maps[i].entries) : -ENOENT;
	}
	return status;
}

int sampling_settings_share_maps(struct bpf_object *object, const struct bpf_object *owner)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		const struct bpf_map *own;
		int status;

		// Those hold what is set before load.
		if (bpf_map__is_internal(map))
			continue;
		own = bpf_object__find_map_by_name(owner, bpf_map__name(map));
		status = own ? bpf_map__reuse_fd(map, bpf_map__fd(own)) : 0;
		if (status)
			return status;
	}
	return 0;
}
