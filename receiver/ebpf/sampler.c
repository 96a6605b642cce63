// SPDX-License-Identifier: Apache-2.0
#include "sampler.h"

#include "libbpf_messages.h"
#include "perf/perf.h"
#include "perf_event.skel.h"

#include "base/base.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>

/*
 * Room for a second of samples of 640 bytes (73 frames) on each CPU, at 100 Hz and
 * accordingly at other rates: the drain thread comes by ten times a second, and may be
 * kept off a busy machine for several of its turns.
 */
enum {
	RING_BYTES_PER_CPU = 64 * 1024,
	RING_RATE = 100,
	RING_BYTES_LEAST = 256 * 1024,
	RING_BYTES_MOST = 256 << 20,
};

struct sampler {
	const struct profcol_host *host;
	const struct profiling_config *config;
	sampler_record_function take_record;
	void *context;

	struct perf_event_bpf *programs;
	struct ring_buffer *ring;
	pthread_mutex_t lock;       /* over `events`; held while CPUs are looked after */
	struct perf_events *events; /* NULL before start and once detached */
	int wake_fd;
	int cpu_count;                        /* possible CPUs */
	struct sample_counters *cpu_counters; /* owned, cpu_count; scratch of sampler_counters */
};

struct sampler *sampler_create(const struct profcol_host *host,
			       const struct profiling_config *config,
			       sampler_record_function take_record, void *context)
{
	struct sampler *sampler = calloc(1, sizeof(*sampler));

	if (!sampler)
		return NULL;
	sampler->host = host;
	sampler->config = config;
	sampler->take_record = take_record;
	sampler->context = context;
	pthread_mutex_init(&sampler->lock, NULL);
	sampler->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return sampler;
}

void sampler_destroy(struct sampler *sampler)
{
	if (!sampler)
		return;
	sampler_detach(sampler);
	ring_buffer__free(sampler->ring);
	perf_event_bpf__destroy(sampler->programs);
	if (sampler->wake_fd >= 0)
		close(sampler->wake_fd);
	pthread_mutex_destroy(&sampler->lock);
	free(sampler->cpu_counters);
	free(sampler);
}

static uint32_t ring_bytes(int cpu_count, int64_t samples_per_second)
{
	uint64_t rate = ((uint64_t)samples_per_second + RING_RATE - 1) / RING_RATE;
	uint64_t wanted = (uint64_t)cpu_count * RING_BYTES_PER_CPU * rate;
	uint32_t bytes = RING_BYTES_LEAST;

	// The kernel wants a power of two of pages.
	while (bytes < wanted && bytes < RING_BYTES_MOST)
		bytes *= 2;
	return bytes;
}

/* Bits of an address in user memory: arm64 signs return addresses in those above. */
static uint64_t address_mask(void)
{
#if defined(__aarch64__)
	// 48 bits, and 52 in programs that ask for them (Documentation/arm64/memory.rst).
	return (1ull << 52) - 1;
#else
	return UINT64_MAX;
#endif
}

static struct profcol_error *sampler_load(struct sampler *sampler)
{
	int status;
	uint32_t bytes;

	sampler->cpu_count = libbpf_num_possible_cpus();
	if (sampler->cpu_count <= 0)
		return profcol_error_errno(-sampler->cpu_count, "count possible CPUs");
	sampler->cpu_counters = calloc((size_t)sampler->cpu_count, sizeof(*sampler->cpu_counters));
	if (!sampler->cpu_counters)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory for CPU counters");
	libbpf_messages_capture();
	sampler->programs = perf_event_bpf__open();
	if (!sampler->programs)
		return libbpf_messages_error(errno, "open the sampling program");
	bytes = ring_bytes(sampler->cpu_count, sampler->config->samples_per_second);
	sampler->programs->rodata->emit_idle = sampler->config->send_idle_frames;
	sampler->programs->rodata->wakeup_bytes = bytes / 4;
	sampler->programs->rodata->max_stack_depth = (uint32_t)sampler->config->max_stack_depth;
	sampler->programs->rodata->unwind_address_mask = address_mask();
	status = bpf_map__set_max_entries(sampler->programs->maps.samples, bytes);
	if (!status)
		status = bpf_map__set_max_entries(
			sampler->programs->maps.unwind_slabs,
			(uint32_t)(sampler->config->unwind_memory_bytes / UNWIND_SLAB_BYTES));
	if (!status)
		status = perf_event_bpf__load(sampler->programs);
	if (status)
		return libbpf_messages_error(-status, "load the sampling program");
	return NULL;
}

static int take_record(void *context, void *record, size_t length)
{
	struct sampler *sampler = context;

	sampler->take_record(sampler->context, record, length);
	return 0;
}

static struct profcol_error *attach(void *context, unsigned int cpu, int fd)
{
	struct sampler *sampler = context;
	int program = bpf_program__fd(sampler->programs->progs.sample_cpu_clock);

	// Not a bpf_link: that exists from 5.15 on only, and would own the event.
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return profcol_error_errno(errno, "attach the sampling program to CPU %u", cpu);
	return NULL;
}

static struct profcol_error *sampler_open_events(struct sampler *sampler)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000u / (uint64_t)sampler->config->samples_per_second,
		.disabled = 1,
	};
	struct perf_events_hooks hooks = { .opened = attach, .context = sampler };

	sampler->events = perf_events_create(&attr, &hooks);
	if (!sampler->events)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory for perf events");
	return perf_events_follow(sampler->events, NULL);
}

struct profcol_error *sampler_start(struct sampler *sampler)
{
	struct profcol_error *error = sampler_load(sampler);

	if (error)
		return error;
	if (sampler->wake_fd < 0)
		return profcol_error_create(PROFCOL_SYSTEM,
					    "no file descriptor for wake-ups; raise "
					    "the limit on open files");
	sampler->ring = ring_buffer__new(bpf_map__fd(sampler->programs->maps.samples), take_record,
					 sampler, NULL);
	if (!sampler->ring)
		return libbpf_messages_error(errno, "map the ring buffer");
	error = sampler_open_events(sampler);
	if (!error || !perf_events_count(sampler->events))
		return error;
	profcol_log_warn(sampler->host->logger, "%s, these CPUs are not sampled",
			 profcol_error_message(error));
	profcol_error_destroy(error);
	return NULL;
}

int sampler_drain(struct sampler *sampler)
{
	int taken = ring_buffer__consume(sampler->ring);

	return taken < 0 ? taken : 0;
}

int sampler_wait(struct sampler *sampler, int timeout_ms)
{
	struct pollfd fds[] = {
		{ .fd = ring_buffer__epoll_fd(sampler->ring), .events = POLLIN },
		{ .fd = sampler->wake_fd, .events = POLLIN },
	};

	// The kernel wakes us only when much waits: mostly this is a timer.
	if (poll(fds, 2, timeout_ms) < 0 && errno != EINTR)
		return -errno;
	return 0;
}

void sampler_wake(struct sampler *sampler)
{
	// Fails only when the counter is full, that is, when a wake-up is pending already.
	eventfd_write(sampler->wake_fd, 1);
}

struct profcol_error *sampler_follow_cpus(struct sampler *sampler)
{
	struct profcol_error *error = NULL;

	pthread_mutex_lock(&sampler->lock);
	if (sampler->events)
		error = perf_events_follow(sampler->events, NULL);
	pthread_mutex_unlock(&sampler->lock);
	return error;
}

void sampler_detach(struct sampler *sampler)
{
	pthread_mutex_lock(&sampler->lock);
	perf_events_destroy(TAKE(sampler->events));
	pthread_mutex_unlock(&sampler->lock);
}

int sampler_counters(struct sampler *sampler, uint64_t totals[SAMPLE_COUNTER_COUNT])
{
	int map = bpf_map__fd(sampler->programs->maps.counters);
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(map, &zero, sampler->cpu_counters))
		return -errno;
	memset(totals, 0, SAMPLE_COUNTER_COUNT * sizeof(*totals));
	for (int cpu = 0; cpu < sampler->cpu_count; cpu++)
		for (uint32_t counter = 0; counter < SAMPLE_COUNTER_COUNT; counter++)
			totals[counter] += sampler->cpu_counters[cpu].of[counter];
	return 0;
}

struct tables_maps sampler_unwind_maps(const struct sampler *sampler)
{
	return (struct tables_maps){
		.slabs = bpf_map__fd(sampler->programs->maps.unwind_slabs),
		.processes = bpf_map__fd(sampler->programs->maps.unwind_processes),
		.rules = bpf_map__fd(sampler->programs->maps.unwind_rules),
	};
}

static uint64_t map_bytes(const struct bpf_map *map, uint64_t cpu_count)
{
	uint64_t entries = bpf_map__max_entries(map);
	uint64_t value = (bpf_map__value_size(map) + 7u) & ~7u; // the kernel's rounding

	switch (bpf_map__type(map)) {
	case BPF_MAP_TYPE_RINGBUF:
		return entries; // of bytes
	case BPF_MAP_TYPE_PERCPU_ARRAY:
		return entries * value * cpu_count;
	default:
		return entries * value;
	}
}

uint64_t sampler_map_bytes(const struct sampler *sampler)
{
	const struct bpf_map *map;
	uint64_t bytes = 0;

	bpf_object__for_each_map(map, sampler->programs->obj) bytes +=
		map_bytes(map, (uint64_t)sampler->cpu_count);
	return bytes;
}
