/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is set before load in every BPF object that samples (bpf/sampling.bpf.h): the sampler's own,
 * and those of events, which use the sampler's maps.
 *
 * Threads: none of its own.
 */
#pragma once

#include "config.h"

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sampling_settings {
	bool emits_idle, verifies_walks, walks_apart;
	uint32_t runtimes; /* that its walks know, 1 << enum runtime_number each */
	uint32_t depth;    /* frames of user code */
	uint32_t copied_stack_bytes, deferred_stack_bytes;
	uint32_t pid_namespace; /* perf_pid_namespace() */
	uint32_t buckets;       /* of processes in the unwind tables; a power of two */
	uint32_t slabs;         /* that the unwind tables may have */
	uint32_t cpus;          /* possible ones */
	uint32_t slots;         /* one of each CPU, or two */
	uint32_t events_slot;   /* the first one of events; 0 in the sampler's own object */
	size_t ring_bytes;      /* of each slot; a power of two */
	uint64_t address_mask;
};

/* Of the sampler's own object, without what depends on the machine's CPUs. */
struct sampling_settings sampling_settings_of(const struct profiling_config *config);

/* How large the maps are that objects have in common. 0 or a negative errno; before load. */
int sampling_settings_size_maps(struct bpf_object *object,
				const struct sampling_settings *settings);

/* @object works on those maps of @owner, which is loaded, that have the names of its own. 0 or a
 * negative errno; before load. */
int sampling_settings_share_maps(struct bpf_object *object, const struct bpf_object *owner);

/* To the variables of a skeleton's @rodata; each skeleton has a type of its own. */
#define SAMPLING_SETTINGS_SET(rodata, settings)                                                    \
	do {                                                                                       \
		(rodata)->emit_idle = (settings)->emits_idle;                                      \
		(rodata)->defer_verify = (settings)->verifies_walks;                               \
		(rodata)->walks_apart = (settings)->walks_apart;                                   \
		(rodata)->runtimes_known = (settings)->runtimes;                                   \
		(rodata)->max_stack_depth = (settings)->depth;                                     \
		(rodata)->copy_stack_bytes = (settings)->copied_stack_bytes;                       \
		(rodata)->defer_stack_bytes = (settings)->deferred_stack_bytes;                    \
		(rodata)->pid_namespace_inode = (settings)->pid_namespace;                         \
		(rodata)->unwind_bucket_mask = (settings)->buckets - 1;                            \
		(rodata)->unwind_address_mask = (settings)->address_mask;                          \
		(rodata)->ring_bytes = (settings)->ring_bytes;                                     \
		(rodata)->wakeup_bytes = (settings)->ring_bytes / 4;                               \
		(rodata)->events_slot = (settings)->events_slot;                                   \
	} while (0)
