// SPDX-License-Identifier: Apache-2.0
/*
 * Off-CPU time. A wait is sampled when it is over, by a program that runs as the thread that has
 * waited: kernels since 6.16 have a tracepoint there, on others a kprobe has to do. Of one that has
 * not ended, unfinished.h tells when a batch is closed.
 */
#include "unfinished.h"

#include "libbpf_messages.h"
#include "off_cpu.skel.h"

#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A threshold to begin with, until the budget has found its own: 200 samples a second of a CPU
 * whose threads wait one after the other. */
enum { FIRST_THRESHOLD_NS = 5000000, LEAST_THRESHOLD_NS = 1000 };

struct off_cpu {
	struct off_cpu_bpf *programs;
	struct bpf_link *samples, *notes, *wakers;
	struct unfinished unfinished;
	struct event_states states;
	uint32_t cpus, rate; /* samples in a second on each of the CPUs */
};

/* Each pass tells of so many waits that have not ended: reading a stack takes several system calls.
 */
enum { UNFINISHED_MOST = 2000 };

static uint32_t off_cpu_rate(const struct profiling_config *config)
{
	return (uint32_t)config->off_cpu.max_events;
}

static void off_cpu_stop(void *self)
{
	struct off_cpu *waits = self;

	unfinished_deinit(&waits->unfinished);
	if (!waits->notes && !waits->samples)
		return;
	bpf_link__destroy(TAKE(waits->wakers));
	bpf_link__destroy(TAKE(waits->notes));
	bpf_link__destroy(TAKE(waits->samples));
	event_wait_for_programs();
}

static void off_cpu_unload(struct off_cpu *waits)
{
	off_cpu_stop(waits);
	event_states_deinit(&waits->states);
	off_cpu_bpf__destroy(TAKE(waits->programs));
}

static void off_cpu_destroy(void *self)
{
	off_cpu_unload(self);
	free(self);
}

/* A share of 1 is the largest number: the programs take it for that. */
static uint32_t share_of(double probability)
{
	double share = probability * 4294967296.0;

	return share >= UINT32_MAX ? UINT32_MAX : (uint32_t)share;
}

/* @by_tracepoint: that of kernels since 6.16; else by a kprobe. A negative errno. */
static int load(struct off_cpu *waits, const struct event_start *start, bool by_tracepoint)
{
	struct event_budget_limits limits = {
		.rate = off_cpu_rate(start->config),
		.first = FIRST_THRESHOLD_NS,
		.least = LEAST_THRESHOLD_NS,
	};
	int status;

	libbpf_messages_capture();
	waits->programs = off_cpu_bpf__open();
	if (!waits->programs)
		return -errno;
	SAMPLING_SETTINGS_SET(waits->programs->rodata, &start->settings);
	waits->programs->bss->select_active = 1;
	waits->programs->rodata->fixed_share = share_of(start->config->off_cpu_threshold);
	waits->programs->data->event_limits = limits;
	bpf_program__set_autoload(waits->programs->progs.sample_after_switch, by_tracepoint);
	bpf_program__set_autoload(waits->programs->progs.sample_in_finish_task_switch,
				  !by_tracepoint);
	bpf_program__set_autoload(waits->programs->progs.note_waker, start->config->off_cpu.wakers);
	status = event_prepare(waits->programs->obj, start);
	if (!status)
		status = off_cpu_bpf__load(waits->programs);
	if (!status)
		status = event_states_init(&waits->states, waits->programs->obj,
					   start->settings.cpus);
	return status;
}

/* The name that the compiler has given to a part of the function, or its own. */
static bool find_function(char *name, size_t size)
{
	static const char wanted[] = "finish_task_switch";
	FILE *stream = fopen("/proc/kallsyms", "re");
	char line[512], found[256] = "";

	while (stream && !found[0] && fgets(line, sizeof(line), stream)) {
		char type, symbol[256];

		if (sscanf(line, "%*x %c %255s", &type, symbol) == 2 &&
		    !strncmp(symbol, wanted, sizeof(wanted) - 1) && !strstr(symbol, ".cold"))
			strcpy(found, symbol);
	}
	if (stream)
		fclose(stream);
	snprintf(name, size, "%s", found);
	return found[0];
}

/* A negative errno. */
static int attach_sampling(struct off_cpu *waits, bool by_tracepoint)
{
	char name[256];

	if (by_tracepoint)
		waits->samples = bpf_program__attach_raw_tracepoint(
			waits->programs->progs.sample_after_switch, "sched_exit_tp");
	else if (find_function(name, sizeof(name)))
		waits->samples = bpf_program__attach_kprobe(
			waits->programs->progs.sample_in_finish_task_switch, false, name);
	else
		return -ENOENT;
	return waits->samples ? 0 : -errno;
}

/* A negative errno; then nothing is loaded. */
static int try(struct off_cpu *waits, const struct event_start *start, bool by_tracepoint)
{
	int status = load(waits, start, by_tracepoint);

	if (!status)
		status = attach_sampling(waits, by_tracepoint);
	if (!status) {
		waits->notes = bpf_program__attach(waits->programs->progs.note_switch);
		status = waits->notes ? 0 : -errno;
	}
	if (!status && start->config->off_cpu.wakers) {
		waits->wakers = bpf_program__attach(waits->programs->progs.note_waker);
		status = waits->wakers ? 0 : -errno;
	}
	// Without it waits are told of when they end.
	if (!status)
		unfinished_init(&waits->unfinished, waits->programs->progs.look_at_waits,
				&waits->programs->bss->off_cpu_pass,
				waits->programs->rodata->fixed_share);
	else
		off_cpu_unload(waits);
	return status;
}

static struct profcol_error *off_cpu_start(const struct event_start *start, void **self_ret)
{
	struct off_cpu *waits = calloc(1, sizeof(*waits));
	struct profcol_error *error;
	int status;

	if (!waits)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory for off-CPU time");
	waits->cpus = start->settings.cpus;
	waits->rate = off_cpu_rate(start->config);
	status = try(waits, start, true);
	if (status == -ENOENT)
		status = try(waits, start, false);
	if (!status) {
		*self_ret = waits;
		return NULL;
	}
	error = libbpf_messages_error(-status, "attach to switches of threads");
	off_cpu_destroy(waits);
	return profcol_error_prefix(
		error, "this needs Linux 6.16, or 5.13 with kprobes and type information (BTF)");
}

static void off_cpu_set_rate(void *self, uint32_t rate)
{
	struct off_cpu *waits = self;

	waits->rate = rate;
	__atomic_store_n(&waits->programs->data->event_limits.rate, rate, __ATOMIC_RELAXED);
}

static int off_cpu_tell(void *self, struct event_records *records)
{
	struct off_cpu *waits = self;
	uint64_t most = (uint64_t)waits->rate * waits->cpus;

	return unfinished_tell(&waits->unfinished, most < UNFINISHED_MOST ? most : UNFINISHED_MOST,
			       records);
}

static const struct event_states *off_cpu_states(const void *self)
{
	const struct off_cpu *waits = self;

	return &waits->states;
}

const struct event_module event_off_cpu = {
	.origin = SAMPLE_OFF_CPU,
	.rate = off_cpu_rate,
	.start = off_cpu_start,
	.tell = off_cpu_tell,
	.set_rate = off_cpu_set_rate,
	.stop = off_cpu_stop,
	.destroy = off_cpu_destroy,
	.states = off_cpu_states,
};
