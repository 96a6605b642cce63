/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a module of an event offers to events.c, which lists all of them; and what they have in
 * common. Not for others.
 */
#pragma once

#include "events.h"

#include <profcol/errors.h>

#include <bpf/libbpf.h>

/* What a module starts with. */
struct event_start {
	const struct profiling_config *config;
	struct sampling_settings settings; /* for its programs */
	const struct bpf_object *sampler;  /* whose maps they use */
};

/* The states of its program (bpf/events/event_state.h), mapped. */
struct event_states {
	struct event_state *cpus; /* owned; NULL before */
	uint32_t count;
};

struct event_module {
	enum sample_origin origin;

	/* How many samples a second on each CPU are asked for. */
	uint32_t (*rate)(const struct profiling_config *config);

	/* Load and attach. *@self_ret is written on success; stop and destroy follow. */
	struct profcol_error *(*start)(const struct event_start *start, void **self_ret);
	struct profcol_error *(*follow_cpus)(void *self); /* NULL: nothing is to be done */
	/* As events_tell(); NULL: nothing goes on. */
	int (*tell)(void *self, struct event_records *records);
	void (*set_rate)(void *self, uint32_t rate);
	void (*stop)(void *self); /* no program runs any more */
	void (*destroy)(void *self);
	const struct event_states *(*states)(const void *self);
};

extern const struct event_module event_memory_growth, event_off_cpu, event_page_faults,
	event_wakers;

/* Before load: @object uses the sampler's maps, and has a state for each CPU. A negative errno. */
int event_prepare(struct bpf_object *object, const struct event_start *start);

/* After its links are gone: waits until programs of tracepoints that had begun are over. */
void event_wait_for_programs(void);

/* After load. A negative errno; deinit in both cases. */
int event_states_init(struct event_states *states, const struct bpf_object *object, uint32_t count);
void event_states_deinit(struct event_states *states); /* also of a zeroed one */
