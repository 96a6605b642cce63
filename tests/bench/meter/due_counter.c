// SPDX-License-Identifier: Apache-2.0
/*
 * due_counter RATE
 *
 * How many samples are due, how many of them are not of its parent process and that one's
 * descendants, and what all BPF programs and maps cost meanwhile. Prints `ready` once it
 * counts on every online CPU, then one line of JSON, with sums since the start, for each
 * line it reads; at the end of its input it ends. While it runs the kernel keeps the time
 * of BPF programs: bound to a descriptor, so that this ends with the process however it
 * ends.
 */
#include "bpf_objects.h"
#include "due.h"
#include "due_counter.skel.h"
#include "json_text.h"

#include "base/base.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

enum { RATE_MOST = 10000 };

/* An event has to have run for all of its life but this share. */
enum { CLOCK_TOLERANCE_SHARE = 256 };

struct event {
	int fd; /* -1: its CPU is not online */
	uint64_t opened_ns;
};

struct counter {
	struct due_counter_bpf *programs;
	int cpu_count;        /* possible CPUs */
	struct event *events; /* cpu_count */
	uint64_t *values;     /* cpu_count, scratch */
};

static int fail(const char *what, int status)
{
	fprintf(stderr, "due_counter: %s: %s\n", what, strerror(status < 0 ? -status : status));
	return -1;
}

static int event_open(struct event *event, int cpu, uint64_t rate, int program)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = rate,
		.freq = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
	};

	event->fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	event->opened_ns = clock_monotonic_ns();
	if (event->fd >= 0 && ioctl(event->fd, PERF_EVENT_IOC_SET_BPF, program))
		return -errno;
	// -ENODEV: possible, but not online.
	return event->fd < 0 && errno != ENODEV ? -errno : 0;
}

/* The kernel stops an event for good when its CPU goes offline, even if that comes back. */
static int event_check(const struct event *event)
{
	uint64_t age_ns = clock_monotonic_ns() - event->opened_ns;
	struct {
		uint64_t value, enabled_ns;
	} state;

	if (event->fd < 0)
		return 0;
	if (read(event->fd, &state, sizeof(state)) != sizeof(state) ||
	    state.enabled_ns < age_ns - age_ns / CLOCK_TOLERANCE_SHARE)
		return -ENODEV;
	return 0;
}

static int counter_start(struct counter *counter, uint64_t rate)
{
	LIBBPF_OPTS(bpf_test_run_opts, no_input);
	int opened = 0;

	counter->cpu_count = libbpf_num_possible_cpus();
	if (counter->cpu_count <= 0)
		return fail("count CPUs", counter->cpu_count);
	counter->values = calloc((size_t)counter->cpu_count, sizeof(*counter->values));
	counter->events = calloc((size_t)counter->cpu_count, sizeof(*counter->events));
	if (!counter->values || !counter->events)
		return fail("start", ENOMEM);
	if (bpf_enable_stats(BPF_STATS_RUN_TIME) < 0)
		return fail("have BPF programs timed (as root?)", errno);
	counter->programs = due_counter_bpf__open_and_load();
	if (!counter->programs)
		return fail("load the counting program (has the kernel BTF?)", errno);
	if (bpf_prog_test_run_opts(bpf_program__fd(counter->programs->progs.note_run), &no_input))
		return fail("tell the run's own processes from others", errno);
	for (int cpu = 0; cpu < counter->cpu_count; cpu++) {
		int status = event_open(&counter->events[cpu], cpu, rate,
					bpf_program__fd(counter->programs->progs.count_due));

		if (status)
			return fail("attach the counting program", status);
		opened += counter->events[cpu].fd >= 0;
	}
	return opened ? 0 : fail("attach the counting program", ENODEV);
}

static int write_tasks(const struct counter *counter, FILE *out)
{
	static const char *const labels[DUE_TASKS] = { "idle", "kernel", "user", "other" };
	int map = bpf_map__fd(counter->programs->maps.tasks);

	for (uint32_t task = 0; task < DUE_TASKS; task++) {
		uint64_t sum = 0;

		if (bpf_map_lookup_elem(map, &task, counter->values))
			return -errno;
		for (int cpu = 0; cpu < counter->cpu_count; cpu++)
			sum += counter->values[cpu];
		fprintf(out, ", \"%s\": %" PRIu64, labels[task], sum);
	}
	return 0;
}

static int write_names(const struct counter *counter, FILE *out)
{
	int map = bpf_map__fd(counter->programs->maps.names);
	char name[DUE_NAME_BYTES], *previous = NULL;
	const char *separator = "";

	fputs(", \"names\": {", out);
	for (unsigned int i = 0; i < DUE_NAMES_MOST; i++) {
		uint64_t count;

		if (bpf_map_get_next_key(map, previous, name))
			break;
		previous = name;
		if (bpf_map_lookup_elem(map, name, &count))
			return -errno;
		fputs(separator, out);
		json_text_write(out, name, sizeof(name));
		fprintf(out, ": %" PRIu64, count);
		separator = ", ";
	}
	fputc('}', out);
	return 0;
}

/* The counts first, next to their time; what follows may take a while. */
static int write_snapshot(const struct counter *counter, FILE *out)
{
	int status = 0;

	for (int cpu = 0; !status && cpu < counter->cpu_count; cpu++)
		status = event_check(&counter->events[cpu]);
	if (status)
		return fail("count: a CPU went offline meanwhile", status);
	fprintf(out, "{\"time_unix_ns\": %" PRIu64 ", \"time_monotonic_ns\": %" PRIu64,
		clock_realtime_ns(), clock_monotonic_ns());
	status = write_tasks(counter, out);
	if (!status) {
		fputs(", \"programs\": ", out);
		status = bpf_objects_write_programs(out);
	}
	if (!status)
		status = write_names(counter, out);
	if (!status) {
		fputs(", \"maps\": ", out);
		status = bpf_objects_write_maps(out);
	}
	if (!status) {
		fputs(", \"counters\": ", out);
		status = bpf_objects_write_counters(out);
	}
	fputs("}\n", out);
	if (!status && fflush(out))
		status = -errno;
	return status ? fail("take a snapshot", status) : 0;
}

static int parse_rate(const char *text, uint64_t *ret)
{
	char *end;
	unsigned long rate = strtoul(text, &end, 10);

	if (end == text || *end || !rate || rate > RATE_MOST)
		return -1;
	*ret = rate;
	return 0;
}

static void counter_deinit(struct counter *counter)
{
	due_counter_bpf__destroy(counter->programs);
	free(counter->events);
	free(counter->values);
}

static int counter_run(struct counter *counter, uint64_t rate)
{
	char line[16];
	int status = counter_start(counter, rate);

	if (!status) {
		puts("ready");
		fflush(stdout);
	}
	while (!status && fgets(line, sizeof(line), stdin))
		status = write_snapshot(counter, stdout);
	return status;
}

int main(int argc, char **argv)
{
	struct counter counter = { 0 };
	uint64_t rate;
	int status;

	if (argc != 2 || parse_rate(argv[1], &rate)) {
		fprintf(stderr, "usage: due_counter RATE, in interrupts a second, 1 to %d\n",
			RATE_MOST);
		return 2;
	}
	status = counter_run(&counter, rate);
	counter_deinit(&counter);
	return status ? 1 : 0;
}
