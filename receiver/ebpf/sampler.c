// SPDX-License-Identifier: Apache-2.0
#include "sampler.h"

#include "address_mask.h"
#include "libbpf_messages.h"
#include "perf/perf.h"
#include "perf_event.skel.h"
#include "recent_rules.h"
#include "sample_buffers.h"

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
 * Room for two seconds of samples of 600 bytes (67 frames) at 100 Hz on each CPU, and accordingly
 * at other rates: the drain thread comes by ten times a second, and may be kept off a busy machine
 * for several of its turns. A copied stack may take 8 KiB, so none is copied once a quarter of the
 * ring waits (bpf/perf_event.bpf.c). Less for each where there are very many, or the rate is very
 * high: a value of a map has at most 4 MiB, and all CPUs together should not take more than the
 * last figure.
 */
enum {
	RING_BYTES = 128 * 1024,
	RING_RATE = 100,
	RING_BYTES_LEAST = 64 * 1024,
	RING_BYTES_MOST = 2 << 20,
	RING_BYTES_OF_ALL = 256 << 20,
};

struct sampler {
	const struct profcol_host *host;
	const struct profiling_config *config;
	sample_buffers_function take_record;
	void *context;

	struct perf_event_bpf *programs;
	struct sample_buffers buffers;
	struct recent_rules recent_rules;
	struct ring_buffer *wake_ups; /* its records carry nothing */
	pthread_mutex_t lock;         /* over `events`; held while CPUs are looked after */
	struct perf_events *events;   /* NULL before start and once detached */
	bool detached;                /* no program runs any more */
	int wake_fd;
	uint32_t cpu_count; /* possible CPUs */
	size_t ring_bytes;  /* of each */
	bool walks_apart;   /* processes with runtimes are walked by programs of their own */
	uint32_t slab_lead; /* as in struct tables_maps */
	uint64_t period_ns;
};

struct sampler *sampler_create(const struct profcol_host *host,
			       const struct profiling_config *config,
			       sample_buffers_function take_record, void *context)
{
	struct sampler *sampler = calloc(1, sizeof(*sampler));

	if (!sampler)
		return NULL;
	sampler->host = host;
	sampler->config = config;
	sampler->take_record = take_record;
	sampler->context = context;
	sampler->period_ns = 1000000000u / (uint64_t)config->samples_per_second;
	pthread_mutex_init(&sampler->lock, NULL);
	sampler->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return sampler;
}

void sampler_destroy(struct sampler *sampler)
{
	if (!sampler)
		return;
	sampler_detach(sampler);
	ring_buffer__free(sampler->wake_ups);
	sample_buffers_deinit(&sampler->buffers);
	recent_rules_deinit(&sampler->recent_rules);
	perf_event_bpf__destroy(sampler->programs);
	if (sampler->wake_fd >= 0)
		close(sampler->wake_fd);
	pthread_mutex_destroy(&sampler->lock);
	free(sampler);
}

/* Of one CPU; a power of two. */
static size_t ring_bytes(int64_t samples_per_second, uint64_t cpus)
{
	uint64_t wanted = ((uint64_t)samples_per_second + RING_RATE - 1) / RING_RATE * RING_BYTES;
	size_t bytes = RING_BYTES_LEAST;

	while (bytes < wanted && bytes < RING_BYTES_MOST && 2 * bytes * cpus <= RING_BYTES_OF_ALL)
		bytes *= 2;
	return bytes;
}

/* Of a stack that the receiver walks, at most. */
static uint32_t copied_bytes(const struct profiling_config *config)
{
	uint64_t bytes = config->deferred_stack_bytes & ~7ull;

	return bytes < SAMPLE_MAX_COPY_BYTES ? (uint32_t)bytes : SAMPLE_MAX_COPY_BYTES;
}

/* What is set before load: of programs that know @runtimes, 1 << enum runtime_number each. A
 * negative errno. */
static int configure(struct sampler *sampler, struct perf_event_bpf *programs, uint32_t runtimes)
{
	const struct profiling_config *config = sampler->config;
	size_t ring = sampler->ring_bytes;
	uint32_t buckets = tables_process_buckets(config->unwind_memory_bytes);
	int status;

	programs->rodata->walks_apart = sampler->walks_apart;
	programs->rodata->runtimes_known = runtimes;
	programs->rodata->emit_idle = config->send_idle_frames;
	programs->rodata->ring_bytes = ring;
	programs->rodata->wakeup_bytes = ring / 4;
	programs->rodata->max_stack_depth = (uint32_t)config->max_stack_depth;
	programs->rodata->pid_namespace_inode = perf_pid_namespace();
	programs->rodata->unwind_address_mask = address_mask();
	programs->rodata->unwind_bucket_mask = buckets - 1;
	programs->rodata->defer_verify = config->verify_walks;
	programs->rodata->defer_stack_bytes = (uint32_t)config->deferred_stack_bytes & ~7u;
	// To verify walks, there have to be some.
	programs->rodata->copy_stack_bytes = config->verify_walks ? 0 : copied_bytes(config);
	status = bpf_map__set_value_size(programs->maps.buffers,
					 (uint32_t)sample_buffers_stride(ring));
	if (!status)
		status = bpf_map__set_max_entries(programs->maps.buffers, sampler->cpu_count);
	if (!status)
		status = bpf_map__set_max_entries(
			programs->maps.unwind_slabs,
			(uint32_t)(config->unwind_memory_bytes / UNWIND_SLAB_BYTES));
	if (!status)
		status = bpf_map__set_max_entries(programs->maps.unwind_processes, buckets);
	if (!status)
		status = bpf_map__set_max_entries(programs->maps.unwind_recent, sampler->cpu_count);
	return status;
}

/* One more than the highest number that a CPU here can have. */
static struct profcol_error *count_cpus(uint32_t *ret)
{
	CLEANUP_FREE uint32_t *cpus = NULL;
	size_t count;
	struct profcol_error *error = perf_cpus(false, &cpus, &count);

	if (!error)
		*ret = cpus[count - 1] + 1;
	return error;
}

/* Only the kernel's own types say where it is. A negative errno. */
static int ask_slab_lead(struct sampler *sampler)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	int program = bpf_program__fd(sampler->programs->progs.tell_slab_lead);
	int status = bpf_prog_test_run_opts(program, &options);

	if (!status && options.retval >= UNWIND_LINE_BYTES)
		status = -EINVAL;
	sampler->slab_lead = options.retval;
	return status;
}

/* Those of all CPUs there are, before any is sampled. */
static struct profcol_error *make_recent_rules(struct sampler *sampler)
{
	CLEANUP_FREE uint32_t *cpus = NULL;
	size_t count;
	struct profcol_error *error = perf_cpus(true, &cpus, &count);

	if (!error && recent_rules_init(&sampler->recent_rules,
					bpf_map__fd(sampler->programs->maps.unwind_recent),
					sampler->cpu_count))
		error = profcol_error_create(PROFCOL_NO_MEMORY, "no memory for %u CPUs",
					     sampler->cpu_count);
	return error ? error : recent_rules_make(&sampler->recent_rules, cpus, count);
}

/*
 * The sampler itself: with walks of processes with runtimes in programs of their own, or, where a
 * program with functions can call no other program (arm64 before Linux 6.0), with all runtimes in
 * it. A negative errno.
 */
static int load_programs(struct sampler *sampler, bool walks_apart)
{
	int status;

	sampler->walks_apart = walks_apart;
	sampler->programs = perf_event_bpf__open();
	if (!sampler->programs)
		return -errno;
	bpf_program__set_autoload(sampler->programs->progs.walk_with_runtimes, false);
	status = configure(sampler, sampler->programs, walks_apart ? 0 : ~0u);
	return status ? status : perf_event_bpf__load(sampler->programs);
}

static struct profcol_error *sampler_load(struct sampler *sampler)
{
	struct profcol_error *error = count_cpus(&sampler->cpu_count);
	int status;

	if (error)
		return error;
	sampler->ring_bytes = ring_bytes(sampler->config->samples_per_second, sampler->cpu_count);
	libbpf_messages_capture();
	status = load_programs(sampler, true);
	if (status == -EINVAL) {
		perf_event_bpf__destroy(TAKE(sampler->programs));
		status = load_programs(sampler, false);
	}
	if (!status)
		status = ask_slab_lead(sampler);
	if (status)
		return libbpf_messages_error(-status, "load the sampling program");
	status =
		sample_buffers_init(&sampler->buffers, bpf_map__fd(sampler->programs->maps.buffers),
				    sampler->cpu_count, sampler->ring_bytes);
	if (status)
		return profcol_error_errno(-status, "map the buffers of samples");
	return make_recent_rules(sampler);
}

/* ---- walks of processes with runtimes ---- */

/* @programs work on the maps of the sampler. A negative errno. */
static int share_maps(struct sampler *sampler, struct perf_event_bpf *programs)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, programs->obj)
	{
		const struct bpf_map *own;
		int status;

		// Those hold what is set before load.
		if (bpf_map__is_internal(map))
			continue;
		own = bpf_object__find_map_by_name(sampler->programs->obj, bpf_map__name(map));
		status = own ? bpf_map__reuse_fd(map, bpf_map__fd(own)) : -ENOENT;
		if (status)
			return status;
	}
	return 0;
}

static int load_walk(struct sampler *sampler, struct perf_event_bpf *programs, uint32_t runtimes,
		     uint32_t number)
{
	int status = configure(sampler, programs, runtimes), walk;

	bpf_program__set_autoload(programs->progs.sample_cpu_clock, false);
	bpf_program__set_autoload(programs->progs.tell_slab_lead, false);
	if (!status)
		status = share_maps(sampler, programs);
	if (!status)
		status = perf_event_bpf__load(programs);
	if (status)
		return status;
	walk = bpf_program__fd(programs->progs.walk_with_runtimes);
	// It lives as long as it has its place there.
	return bpf_map_update_elem(bpf_map__fd(sampler->programs->maps.runtime_walks), &number,
				   &walk, BPF_ANY);
}

struct profcol_error *sampler_load_walk(void *context, uint32_t runtimes, uint32_t number)
{
	struct sampler *sampler = context;
	struct perf_event_bpf *programs;
	int status;

	libbpf_messages_capture();
	programs = perf_event_bpf__open();
	status = programs ? load_walk(sampler, programs, runtimes, number) : -errno;
	perf_event_bpf__destroy(programs);
	return status ? libbpf_messages_error(-status, "load the program that walks it") : NULL;
}

static int take_wake_up(void *context, void *record, size_t length)
{
	(void)context;
	(void)record;
	(void)length;
	return 0;
}

static struct profcol_error *attach(void *context, unsigned int cpu, int fd)
{
	struct sampler *sampler = context;
	int program = bpf_program__fd(sampler->programs->progs.sample_cpu_clock);
	struct profcol_error *error = recent_rules_make(&sampler->recent_rules, &cpu, 1);

	if (error)
		return error;
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
		.sample_period = sampler->period_ns,
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
	sampler->wake_ups = ring_buffer__new(bpf_map__fd(sampler->programs->maps.wake_ups),
					     take_wake_up, sampler, NULL);
	if (!sampler->wake_ups)
		return libbpf_messages_error(errno, "map the ring buffer of wake-ups");
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
	bool stopped;
	int taken = ring_buffer__consume(sampler->wake_ups);

	pthread_mutex_lock(&sampler->lock);
	stopped = sampler->detached;
	pthread_mutex_unlock(&sampler->lock);
	if (taken < 0)
		return taken;
	return sample_buffers_take(&sampler->buffers, stopped, sampler->take_record,
				   sampler->context);
}

int sampler_wait(struct sampler *sampler, int timeout_ms)
{
	struct pollfd fds[] = {
		{ .fd = ring_buffer__epoll_fd(sampler->wake_ups), .events = POLLIN },
		{ .fd = sampler->wake_fd, .events = POLLIN },
	};

	// The kernel wakes us only when much waits: mostly this is a timer.
	if (poll(fds, 2, timeout_ms) < 0 && errno != EINTR)
		return -errno;
	if (fds[1].revents)
		(void)eventfd_read(sampler->wake_fd, &(eventfd_t){ 0 });
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

struct profcol_error *sampler_forget_rules(struct sampler *sampler)
{
	struct profcol_error *error;

	pthread_mutex_lock(&sampler->lock);
	error = recent_rules_renew(&sampler->recent_rules);
	pthread_mutex_unlock(&sampler->lock);
	return error;
}

uint64_t sampler_change_period(struct sampler *sampler, uint64_t period_ns,
			       void (*between)(void *context), void *context)
{
	uint64_t changed_ns;

	// Not under the lock: `between` may look whether all has ended.
	pthread_mutex_lock(&sampler->lock);
	if (sampler->events)
		perf_events_pause(sampler->events);
	pthread_mutex_unlock(&sampler->lock);
	between(context);
	changed_ns = clock_monotonic_ns();
	sampler->period_ns = period_ns;
	pthread_mutex_lock(&sampler->lock);
	if (sampler->events)
		perf_events_resume(sampler->events, period_ns);
	pthread_mutex_unlock(&sampler->lock);
	return changed_ns;
}

uint64_t sampler_period_ns(const struct sampler *sampler)
{
	return sampler->period_ns;
}

void sampler_detach(struct sampler *sampler)
{
	pthread_mutex_lock(&sampler->lock);
	perf_events_destroy(TAKE(sampler->events));
	sampler->detached = true;
	pthread_mutex_unlock(&sampler->lock);
}

void sampler_counters(const struct sampler *sampler, uint64_t totals[SAMPLE_COUNTER_COUNT])
{
	sample_buffers_counters(&sampler->buffers, totals);
}

struct tables_maps sampler_unwind_maps(struct sampler *sampler)
{
	return (struct tables_maps){
		.slabs = bpf_map__fd(sampler->programs->maps.unwind_slabs),
		.processes = bpf_map__fd(sampler->programs->maps.unwind_processes),
		.rules = bpf_map__fd(sampler->programs->maps.unwind_rules),
		.buckets = bpf_map__max_entries(sampler->programs->maps.unwind_processes),
		.slab_lead = sampler->slab_lead,
		.load_walk = sampler->walks_apart ? sampler_load_walk : NULL,
		.context = sampler,
	};
}

struct select_maps sampler_select_maps(const struct sampler *sampler)
{
	return (struct select_maps){
		.unselected = bpf_map__fd(sampler->programs->maps.select_unselected),
		.active = &sampler->programs->bss->select_active,
	};
}

static uint64_t map_bytes(const struct bpf_map *map)
{
	uint64_t entries = bpf_map__max_entries(map);
	uint64_t value = (bpf_map__value_size(map) + 7u) & ~7u; // the kernel's rounding

	return bpf_map__type(map) == BPF_MAP_TYPE_RINGBUF ? entries : entries * value;
}

uint64_t sampler_map_bytes(const struct sampler *sampler)
{
	const struct bpf_map *map;
	uint64_t bytes = sampler->recent_rules.bytes;

	bpf_object__for_each_map(map, sampler->programs->obj) bytes += map_bytes(map);
	return bytes;
}

uint64_t sampler_mapped_bytes(const struct sampler *sampler)
{
	const struct bpf_map *map;
	uint64_t bytes = 0;

	bpf_object__for_each_map(map, sampler->programs->obj) if (bpf_map__map_flags(map) &
								  BPF_F_MMAPABLE) bytes +=
		map_bytes(map);
	return bytes;
}
