// SPDX-License-Identifier: Apache-2.0
/*
 * This module samples threads that end other threads' waits, by the kernel's tracepoints for
 * switches and for wake-ups.
 */
#include "event.h"

#include "libbpf_messages.h"
#include "wakers.skel.h"

#include "base/base.h"

#include <errno.h>
#include <stdlib.h>

struct wakers {
	struct wakers_bpf *programs;
	struct bpf_link *samples, *notes;
	struct event_states states;
};

/* As of off-CPU time (off_cpu.c). */
enum { FIRST_THRESHOLD_NS = 5000000, LEAST_THRESHOLD_NS = 1000 };

static uint32_t wakers_rate(const struct profiling_config *config)
{
	return (uint32_t)config->wakers.max_events;
}

static void wakers_stop(void *self)
{
	struct wakers *wakers = self;

	if (!wakers->notes && !wakers->samples)
		return;
	bpf_link__destroy(TAKE(wakers->samples));
	bpf_link__destroy(TAKE(wakers->notes));
	event_wait_for_programs();
}

static void wakers_destroy(void *self)
{
	struct wakers *wakers = self;

	wakers_stop(wakers);
	event_states_deinit(&wakers->states);
	wakers_bpf__destroy(wakers->programs);
	free(wakers);
}

/* A negative errno. */
static int load(struct wakers *wakers, const struct event_start *start)
{
	struct event_budget_limits limits = {
		.rate = wakers_rate(start->config),
		.first = FIRST_THRESHOLD_NS,
		.least = LEAST_THRESHOLD_NS,
	};
	int status;

	libbpf_messages_capture();
	wakers->programs = wakers_bpf__open();
	if (!wakers->programs)
		return -errno;
	SAMPLING_SETTINGS_SET(wakers->programs->rodata, &start->settings);
	wakers->programs->bss->select_active = 1;
	wakers->programs->data->event_limits = limits;
	status = event_prepare(wakers->programs->obj, start);
	if (!status)
		status = wakers_bpf__load(wakers->programs);
	if (!status)
		status = event_states_init(&wakers->states, wakers->programs->obj,
					   start->settings.cpus);
	return status;
}

/* A negative errno. */
static int attach(struct wakers *wakers)
{
	wakers->notes = bpf_program__attach(wakers->programs->progs.note_sleep);
	if (!wakers->notes)
		return -errno;
	wakers->samples = bpf_program__attach(wakers->programs->progs.sample_waker);
	return wakers->samples ? 0 : -errno;
}

static struct profcol_error *wakers_start(const struct event_start *start, void **self_ret)
{
	struct wakers *wakers = calloc(1, sizeof(*wakers));
	struct profcol_error *error;
	int status;

	if (!wakers)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory for who wakes threads");
	status = load(wakers, start);
	if (!status)
		status = attach(wakers);
	if (!status) {
		*self_ret = wakers;
		return NULL;
	}
	error = libbpf_messages_error(-status, "attach to wake-ups of threads");
	wakers_destroy(wakers);
	return profcol_error_prefix(error, "this needs Linux 5.13 and type information (BTF)");
}

static void wakers_set_rate(void *self, uint32_t rate)
{
	struct wakers *wakers = self;

	__atomic_store_n(&wakers->programs->data->event_limits.rate, rate, __ATOMIC_RELAXED);
}

static const struct event_states *wakers_states(const void *self)
{
	const struct wakers *wakers = self;

	return &wakers->states;
}

const struct event_module event_wakers = {
	.origin = SAMPLE_WAKERS,
	.rate = wakers_rate,
	.start = wakers_start,
	.set_rate = wakers_set_rate,
	.stop = wakers_stop,
	.destroy = wakers_destroy,
	.states = wakers_states,
};
