// SPDX-License-Identifier: Apache-2.0
#include "events.h"

#include "event.h"

#include "base/base.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct event_module *const modules[] = { &event_off_cpu, &event_page_faults,
						      &event_memory_growth, &event_wakers };

enum { MODULES = sizeof(modules) / sizeof(modules[0]) };

struct events {
	const struct profiling_config *config;
	uint32_t wanted;
	void *selves[MODULES]; /* owned; NULL: it does not run */
	bool stopped;
};

/* ---- life ---- */

struct events *events_create(const struct profiling_config *config)
{
	struct events *events = calloc(1, sizeof(*events));
	struct profcol_error *error;

	if (!events)
		return NULL;
	events->config = config;
	error = events_wanted(config, &events->wanted);
	// Has been refused before.
	profcol_error_destroy(error);
	return events;
}

void events_destroy(struct events *events)
{
	if (!events)
		return;
	events_stop(events);
	for (size_t i = 0; i < MODULES; i++)
		if (events->selves[i])
			modules[i]->destroy(events->selves[i]);
	free(events);
}

uint32_t events_rate(const struct events *events)
{
	uint32_t rate = 0;

	for (size_t i = 0; i < MODULES; i++)
		if (events->wanted & 1u << modules[i]->origin)
			rate += modules[i]->rate(events->config);
	return rate;
}

struct profcol_error *events_start(struct events *events, const struct sampling_settings *settings,
				   const struct bpf_object *sampler)
{
	struct event_start start = {
		.config = events->config,
		.settings = *settings,
		.sampler = sampler,
	};
	struct profcol_error *first = NULL;

	// They are called by nobody who would know the runtimes of a process.
	start.settings.runtimes = ~0u;
	start.settings.walks_apart = false;
	start.settings.events_slot = settings->cpus;
	for (size_t i = 0; i < MODULES; i++) {
		struct profcol_error *error;

		if (!(events->wanted & 1u << modules[i]->origin))
			continue;
		error = modules[i]->start(&start, &events->selves[i]);
		first = profcol_error_join(
			first, profcol_error_prefix(error, "the event '%s' is not sampled",
						    event_kind_of(modules[i]->origin)->name));
	}
	return first;
}

uint32_t events_running(const struct events *events)
{
	uint32_t running = 0;

	for (size_t i = 0; i < MODULES && !events->stopped; i++)
		if (events->selves[i])
			running |= 1u << modules[i]->origin;
	return running;
}

struct profcol_error *events_follow_cpus(struct events *events)
{
	struct profcol_error *first = NULL;

	for (size_t i = 0; i < MODULES && !events->stopped; i++)
		if (events->selves[i] && modules[i]->follow_cpus)
			first = profcol_error_join(first,
						   modules[i]->follow_cpus(events->selves[i]));
	return first;
}

int events_tell(struct events *events, struct event_records *records)
{
	int first = 0;

	for (size_t i = 0; i < MODULES && !events->stopped; i++) {
		int status = events->selves[i] && modules[i]->tell
				     ? modules[i]->tell(events->selves[i], records)
				     : 0;

		if (!first)
			first = status;
	}
	return first;
}

void events_limit(struct events *events, double share)
{
	for (size_t i = 0; i < MODULES; i++) {
		double rate = share * modules[i]->rate(events->config);

		if (events->selves[i])
			modules[i]->set_rate(events->selves[i], rate < 1 ? 1 : (uint32_t)rate);
	}
}

void events_stop(struct events *events)
{
	for (size_t i = 0; i < MODULES && !events->stopped; i++)
		if (events->selves[i])
			modules[i]->stop(events->selves[i]);
	events->stopped = true;
}

/* ---- what they have seen ---- */

bool events_totals(const struct events *events, uint32_t origin, struct event_totals *ret)
{
	*ret = (struct event_totals){ 0 };
	for (size_t i = 0; i < MODULES; i++) {
		const struct event_states *states;

		if ((uint32_t)modules[i]->origin != origin || !events->selves[i])
			continue;
		states = modules[i]->states(events->selves[i]);
		for (uint32_t cpu = 0; cpu < states->count; cpu++) {
			const struct event_state *state = &states->cpus[cpu];
			uint64_t threshold =
				__atomic_load_n(&state->budget.threshold, __ATOMIC_RELAXED);

			for (size_t k = 0; k < EVENT_COUNTER_COUNT; k++)
				ret->of[k] +=
					__atomic_load_n(&state->counters[k], __ATOMIC_RELAXED);
			if (threshold > ret->threshold)
				ret->threshold = threshold;
		}
		return true;
	}
	return false;
}

uint64_t events_map_bytes(const struct events *events)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < MODULES; i++)
		if (events->selves[i])
			bytes += modules[i]->states(events->selves[i])->count *
				 sizeof(struct event_state);
	return bytes;
}

/* ---- what modules have in common ---- */

int event_prepare(struct bpf_object *object, const struct event_start *start)
{
	struct bpf_map *states = bpf_object__find_map_by_name(object, "event_states");
	int status = states ? bpf_map__set_max_entries(states, start->settings.cpus) : -ENOENT;

	if (!status)
		status = sampling_settings_size_maps(object, &start->settings);
	return status ? status : sampling_settings_share_maps(object, start->sampler);
}

/* The kernel runs them with preemption disabled, and that command is a grace period of its RCU
 * (kernel/sched/membarrier.c). */
void event_wait_for_programs(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

int event_states_init(struct event_states *states, const struct bpf_object *object, uint32_t count)
{
	int map = bpf_object__find_map_fd_by_name(object, "event_states");
	void *bytes;

	*states = (struct event_states){ .count = count };
	if (map < 0)
		return map;
	bytes = mmap(NULL, count * sizeof(struct event_state), PROT_READ, MAP_SHARED, map, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	states->cpus = bytes;
	return 0;
}

void event_states_deinit(struct event_states *states)
{
	if (states->cpus)
		munmap(states->cpus, states->count * sizeof(*states->cpus));
	*states = (struct event_states){ 0 };
}
