// SPDX-License-Identifier: Apache-2.0
/*
 * This module samples memory growth by the kernel's tracepoint for changes of what processes have
 * in memory.
 */
#include "event.h"

#include "libbpf_messages.h"
#include "memory_growth.skel.h"

#include "base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct memory_growth {
	struct memory_growth_bpf *programs;
	struct bpf_link *link;
	struct event_states states;
};

/* A step of the kernel's count, to begin with. */
enum { FIRST_PAGES = 32 };

static uint32_t memory_growth_rate(const struct profiling_config *config)
{
	return (uint32_t)config->memory_growth.max_events;
}

static void memory_growth_stop(void *self)
{
	struct memory_growth *growth = self;

	if (!growth->link)
		return;
	bpf_link__destroy(TAKE(growth->link));
	event_wait_for_programs();
}

static void memory_growth_unload(struct memory_growth *growth)
{
	memory_growth_stop(growth);
	event_states_deinit(&growth->states);
	memory_growth_bpf__destroy(TAKE(growth->programs));
}

static void memory_growth_destroy(void *self)
{
	struct memory_growth *growth = self;

	memory_growth_unload(growth);
	free(growth);
}

/* @atomic: the programs exchange values, which kernels before 5.12 refuse. A negative errno. */
static int load(struct memory_growth *growth, const struct event_start *start, bool atomic)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	struct event_budget_limits limits = {
		.rate = memory_growth_rate(start->config),
		.first = FIRST_PAGES * page_bytes,
		.least = page_bytes,
	};
	int status;

	libbpf_messages_capture();
	growth->programs = memory_growth_bpf__open();
	if (!growth->programs)
		return -errno;
	SAMPLING_SETTINGS_SET(growth->programs->rodata, &start->settings);
	growth->programs->bss->select_active = 1;
	growth->programs->rodata->page_bytes = page_bytes;
	growth->programs->data->event_limits = limits;
	bpf_program__set_autoload(growth->programs->progs.sample_memory_growth, atomic);
	bpf_program__set_autoload(growth->programs->progs.sample_memory_growth_before_5_12,
				  !atomic);
	status = event_prepare(growth->programs->obj, start);
	if (!status)
		status = memory_growth_bpf__load(growth->programs);
	if (!status)
		status = event_states_init(&growth->states, growth->programs->obj,
					   start->settings.cpus);
	return status;
}

/* A negative errno; then nothing is loaded. */
static int try(struct memory_growth *growth, const struct event_start *start, bool atomic)
{
	int status = load(growth, start, atomic);

	if (!status) {
		growth->link = bpf_program__attach_raw_tracepoint(
			atomic ? growth->programs->progs.sample_memory_growth
			       : growth->programs->progs.sample_memory_growth_before_5_12,
			"rss_stat");
		status = growth->link ? 0 : -errno;
	}
	if (status)
		memory_growth_unload(growth);
	return status;
}

static struct profcol_error *memory_growth_start(const struct event_start *start, void **self_ret)
{
	struct memory_growth *growth = calloc(1, sizeof(*growth));
	struct profcol_error *error;
	int status;

	if (!growth)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory for memory growth");
	status = try(growth, start, true);
	if (status == -EINVAL)
		status = try(growth, start, false);
	if (!status) {
		*self_ret = growth;
		return NULL;
	}
	error = libbpf_messages_error(-status, "attach to the tracepoint kmem:rss_stat");
	memory_growth_destroy(growth);
	return profcol_error_prefix(
		error, "this needs the tracepoint kmem:rss_stat, and type information (BTF)");
}

static void memory_growth_set_rate(void *self, uint32_t rate)
{
	struct memory_growth *growth = self;

	__atomic_store_n(&growth->programs->data->event_limits.rate, rate, __ATOMIC_RELAXED);
}

static const struct event_states *memory_growth_states(const void *self)
{
	const struct memory_growth *growth = self;

	return &growth->states;
}

const struct event_module event_memory_growth = {
	.origin = SAMPLE_MEMORY_GROWTH,
	.rate = memory_growth_rate,
	.start = memory_growth_start,
	.set_rate = memory_growth_set_rate,
	.stop = memory_growth_stop,
	.destroy = memory_growth_destroy,
	.states = memory_growth_states,
};
