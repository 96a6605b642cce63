// SPDX-License-Identifier: Apache-2.0
#include "sampler.h"

#include "events/events.h"
#include "libbpf_messages.h"
#include "perf/perf.h"
#include "perf_event.skel.h"
#include "recent_rules.h"
#include "sample_buffers.h"
#include "sampling_settings.h"

#include "base/base.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
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
	struct sampling_settings settings; /* of the timer's program */
	struct events *events_besides;     /* other ones than the timer */
	bool is_timed;                     /* the timer is asked for */
	int walks[UNWIND_PROGRAMS];        /* owned: of the programs in runtime_walks; or -1 */
	uint32_t slab_lead;                /* as in struct tables_maps */
	uint64_t first_period_ns, period_ns;
};

/* Take @walk, of the program at @number of runtime_walks, or -1. The program lives as long as it
 * has its place there; the descriptor tells who looks at the machine's programs whose it is. */
static void keep_walk(struct sampler *sampler, uint32_t number, int walk)
{
	if (sampler->walks[number] >= 0)
		close(sampler->walks[number]);
	sampler->walks[number] = walk;
}

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
	sampler->first_period_ns = sampler->period_ns;
	sampler->events_besides = events_create(config);
	pthread_mutex_init(&sampler->lock, NULL);
	for (size_t i = 0; i < UNWIND_PROGRAMS; i++)
		sampler->walks[i] = -1;
	sampler->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!sampler->events_besides) {
		sampler_destroy(sampler);
		return NULL;
	}
	return sampler;
}

void sampler_destroy(struct sampler *sampler)
{
	if (!sampler)
		return;
	sampler_detach(sampler);
	events_destroy(sampler->events_besides);
	ring_buffer__free(sampler->wake_ups);
	sample_buffers_deinit(&sampler->buffers);
	recent_rules_deinit(&sampler->recent_rules);
	perf_event_bpf__destroy(sampler->programs);
	for (size_t i = 0; i < UNWIND_PROGRAMS; i++)
		keep_walk(sampler, (uint32_t)i, -1);
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

/* Samples a second that a slot may have to take. */
static int64_t most_rate(const struct sampler *sampler)
{
	int64_t timer = sampler->config->samples_per_second;
	int64_t events = events_rate(sampler->events_besides);

	return timer > events ? timer : events;
}

/* What is set before load: of programs that know @runtimes, 1 << enum runtime_number each. A
 * negative errno. */
static int configure(struct sampler *sampler, struct perf_event_bpf *programs, uint32_t runtimes)
{
	struct sampling_settings settings = sampler->settings;

	settings.runtimes = runtimes;
	SAMPLING_SETTINGS_SET(programs->rodata, &settings);
	return sampling_settings_size_maps(programs->obj, &settings);
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

/* Of all slots of these @cpus. */
static struct profcol_error *make_recent_rules(struct sampler *sampler, const uint32_t *cpus,
					       size_t count)
{
	uint32_t slots_each = sampler->settings.slots / sampler->settings.cpus;
	CLEANUP_FREE uint32_t *slots = calloc(count, slots_each * sizeof(*slots));

	if (!slots)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory for %zu CPUs", count);
	for (size_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < slots_each; k++)
			slots[i * slots_each + k] = cpus[i] + k * sampler->settings.cpus;
	return recent_rules_make(&sampler->recent_rules, slots, count * slots_each);
}

/* Those of all CPUs there are, before any is sampled. */
static struct profcol_error *make_all_recent_rules(struct sampler *sampler)
{
	CLEANUP_FREE uint32_t *cpus = NULL;
	size_t count;
	struct profcol_error *error = perf_cpus(true, &cpus, &count);

	if (!error && recent_rules_init(&sampler->recent_rules,
					bpf_map__fd(sampler->programs->maps.unwind_recent),
					sampler->settings.slots))
		error = profcol_error_create(PROFCOL_NO_MEMORY, "no memory for %u CPUs",
					     sampler->settings.cpus);
	return error ? error : make_recent_rules(sampler, cpus, count);
}

/*
 * The sampler itself: with walks of processes with runtimes in programs of their own, or, where a
 * program with functions can call no other program (arm64 before Linux 6.0), with all runtimes in
 * it. A negative errno.
 */
static int load_programs(struct sampler *sampler, bool walks_apart)
{
	int status;

	sampler->settings.walks_apart = walks_apart;
	sampler->programs = perf_event_bpf__open();
	if (!sampler->programs)
		return -errno;
	bpf_program__set_autoload(sampler->programs->progs.walk_with_runtimes, false);
	status = configure(sampler, sampler->programs, walks_apart ? 0 : ~0u);
	return status ? status : perf_event_bpf__load(sampler->programs);
}

static struct profcol_error *sampler_load(struct sampler *sampler)
{
	struct profcol_error *error;
	uint32_t cpus, slots;
	int status;

	error = count_cpus(&cpus);
	if (error)
		return error;
	slots = events_rate(sampler->events_besides) ? 2 * cpus : cpus;
	sampler->settings = sampling_settings_of(sampler->config);
	sampler->settings.cpus = cpus;
	sampler->settings.slots = slots;
	sampler->settings.ring_bytes = ring_bytes(most_rate(sampler), slots);
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
				    slots, sampler->settings.ring_bytes);
	if (status)
		return profcol_error_errno(-status, "map the buffers of samples");
	return make_all_recent_rules(sampler);
}

/* ---- walks of processes with runtimes ---- */

static int load_walk(struct sampler *sampler, struct perf_event_bpf *programs, uint32_t runtimes,
		     uint32_t number)
{
	int status = configure(sampler, programs, runtimes), walk;

	bpf_program__set_autoload(programs->progs.sample_cpu_clock, false);
	bpf_program__set_autoload(programs->progs.tell_slab_lead, false);
	if (!status)
		status = sampling_settings_share_maps(programs->obj, sampler->programs->obj);
	if (!status)
		status = perf_event_bpf__load(programs);
	if (status)
		return status;
	walk = bpf_program__fd(programs->progs.walk_with_runtimes);
	status = bpf_map_update_elem(bpf_map__fd(sampler->programs->maps.runtime_walks), &number,
				     &walk, BPF_ANY);
	if (!status)
		keep_walk(sampler, number, fcntl(walk, F_DUPFD_CLOEXEC, 0));
	return status;
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
	struct profcol_error *error = make_recent_rules(sampler, &cpu, 1);

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

static struct profcol_error *sampler_choose(struct sampler *sampler)
{
	uint32_t wanted = 0;
	struct profcol_error *error = events_wanted(sampler->config, &wanted);

	sampler->is_timed = wanted & 1u << SAMPLE_CPU_CLOCK;
	return error;
}

/* Takes @error, or NULL. */
static void warn(struct sampler *sampler, struct profcol_error *error, const char *consequence)
{
	if (error)
		profcol_log_warn(sampler->host->logger, "%s, %s", profcol_error_message(error),
				 consequence);
	profcol_error_destroy(error);
}

struct profcol_error *sampler_start(struct sampler *sampler)
{
	struct profcol_error *error = sampler_choose(sampler);

	if (!error)
		error = sampler_load(sampler);
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
	if (sampler->is_timed) {
		error = sampler_open_events(sampler);
		if (error && !perf_events_count(sampler->events))
			return error;
		warn(sampler, error, "these CPUs are not sampled");
	}
	error = events_start(sampler->events_besides, &sampler->settings, sampler->programs->obj);
	if (!sampler->is_timed && !events_running(sampler->events_besides))
		return error;
	warn(sampler, error, "all else goes on");
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

	// The kernel wakes us only when much waits, or a sample is awaited: mostly this is a timer.
	if (poll(fds, 2, timeout_ms) < 0 && errno != EINTR)
		return -errno;
	if (fds[1].revents)
		(void)eventfd_read(sampler->wake_fd, &(eventfd_t){ 0 });
	return 0;
}

bool sampler_await(struct sampler *sampler)
{
	return sample_buffers_await(&sampler->buffers);
}

void sampler_wake(struct sampler *sampler)
{
	// Fails only when the counter is full, that is, when a wake-up is pending already.
	eventfd_write(sampler->wake_fd, 1);
}

int sampler_tell(struct sampler *sampler, struct event_records *records)
{
	int status;

	pthread_mutex_lock(&sampler->lock);
	status = events_tell(sampler->events_besides, records);
	pthread_mutex_unlock(&sampler->lock);
	return status;
}

struct profcol_error *sampler_follow_cpus(struct sampler *sampler)
{
	struct profcol_error *error = NULL;

	pthread_mutex_lock(&sampler->lock);
	if (sampler->events)
		error = perf_events_follow(sampler->events, NULL);
	error = profcol_error_join(error, events_follow_cpus(sampler->events_besides));
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
	events_limit(sampler->events_besides, (double)sampler->first_period_ns / (double)period_ns);
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
	events_stop(sampler->events_besides);
	sampler->detached = true;
	pthread_mutex_unlock(&sampler->lock);
}

void sampler_counters(const struct sampler *sampler, uint64_t totals[SAMPLE_COUNTER_COUNT])
{
	sample_buffers_counters(&sampler->buffers, 0, sampler->settings.slots, totals);
}

void sampler_event_counters(const struct sampler *sampler, uint64_t totals[SAMPLE_COUNTER_COUNT])
{
	sample_buffers_counters(&sampler->buffers, sampler->settings.cpus, sampler->settings.slots,
				totals);
}

const struct events *sampler_events(const struct sampler *sampler)
{
	return sampler->events_besides;
}

struct tables_maps sampler_unwind_maps(struct sampler *sampler)
{
	return (struct tables_maps){
		.slabs = bpf_map__fd(sampler->programs->maps.unwind_slabs),
		.processes = bpf_map__fd(sampler->programs->maps.unwind_processes),
		.rules = bpf_map__fd(sampler->programs->maps.unwind_rules),
		.buckets = bpf_map__max_entries(sampler->programs->maps.unwind_processes),
		.slab_lead = sampler->slab_lead,
		.load_walk = sampler->settings.walks_apart ? sampler_load_walk : NULL,
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
	uint64_t bytes = sampler->recent_rules.bytes + events_map_bytes(sampler->events_besides);

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
