// SPDX-License-Identifier: Apache-2.0
/*
 * Page faults, by the kernel's software event for them: it is there on all kernels that profcol
 * runs on, and needs no more than the timer does.
 */
#include "event.h"

#include "libbpf_messages.h"
#include "page_faults.skel.h"
#include "perf/perf.h"

#include "base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>

struct page_faults {
	struct page_faults_bpf *programs;
	struct perf_events *events;
	struct event_states states;
};

static uint32_t page_faults_rate(const struct profiling_config *config)
{
	return (uint32_t)config->page_faults.max_events;
}

static void page_faults_stop(void *self)
{
	struct page_faults *faults = self;

	perf_events_destroy(TAKE(faults->events));
}

static void page_faults_destroy(void *self)
{
	struct page_faults *faults = self;

	page_faults_stop(faults);
	event_states_deinit(&faults->states);
	page_faults_bpf__destroy(faults->programs);
	free(faults);
}

static struct profcol_error *attach(void *context, unsigned int cpu, int fd)
{
	const struct page_faults *faults = context;
	int program = bpf_program__fd(faults->programs->progs.sample_page_faults);

	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return profcol_error_errno(errno, "attach the program of page faults to CPU %u",
					   cpu);
	return NULL;
}

static struct profcol_error *load(struct page_faults *faults, const struct event_start *start)
{
	uint64_t each = (uint64_t)start->config->page_faults.period;
	int status;

	libbpf_messages_capture();
	faults->programs = page_faults_bpf__open();
	if (!faults->programs)
		return libbpf_messages_error(errno, "open the program of page faults");
	SAMPLING_SETTINGS_SET(faults->programs->rodata, &start->settings);
	faults->programs->bss->select_active = 1;
	faults->programs->rodata->faults_each = each;
	faults->programs->data->event_limits.rate = page_faults_rate(start->config);
	faults->programs->data->event_limits.first = each;
	faults->programs->data->event_limits.least = each;
	status = event_prepare(faults->programs->obj, start);
	if (!status)
		status = page_faults_bpf__load(faults->programs);
	if (!status)
		status = event_states_init(&faults->states, faults->programs->obj,
					   start->settings.cpus);
	return status ? libbpf_messages_error(-status, "load the program of page faults") : NULL;
}

static struct profcol_error *open_events(struct page_faults *faults, uint64_t period)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = period,
		.disabled = 1,
	};
	struct perf_events_hooks hooks = { .opened = attach, .context = faults };

	faults->events = perf_events_create(&attr, &hooks);
	if (!faults->events)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory for perf events");
	return perf_events_follow(faults->events, NULL);
}

static struct profcol_error *page_faults_start(const struct event_start *start, void **self_ret)
{
	struct page_faults *faults = calloc(1, sizeof(*faults));
	struct profcol_error *error;

	if (!faults)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory for page faults");
	error = load(faults, start);
	if (!error)
		error = open_events(faults, (uint64_t)start->config->page_faults.period);
	// Some CPUs are better than none, and are tried again every second.
	if (error && faults->events && perf_events_count(faults->events)) {
		profcol_error_destroy(error);
		error = NULL;
	}
	if (error)
		page_faults_destroy(faults);
	else
		*self_ret = faults;
	return error;
}

static struct profcol_error *page_faults_follow_cpus(void *self)
{
	struct page_faults *faults = self;

	return faults->events ? perf_events_follow(faults->events, NULL) : NULL;
}

static void page_faults_set_rate(void *self, uint32_t rate)
{
	struct page_faults *faults = self;

	__atomic_store_n(&faults->programs->data->event_limits.rate, rate, __ATOMIC_RELAXED);
}

static const struct event_states *page_faults_states(const void *self)
{
	const struct page_faults *faults = self;

	return &faults->states;
}

const struct event_module event_page_faults = {
	.origin = SAMPLE_PAGE_FAULTS,
	.rate = page_faults_rate,
	.start = page_faults_start,
	.follow_cpus = page_faults_follow_cpus,
	.set_rate = page_faults_set_rate,
	.stop = page_faults_stop,
	.destroy = page_faults_destroy,
	.states = page_faults_states,
};
