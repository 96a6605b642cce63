// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include "locations.h"
#include "text.h"

#include "base/base.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct report {
	const struct profcol_host *host;
	const struct profiling_config *config;
	struct processes *processes;
	struct symbols *symbols;
	/* Of the start: a process keeps its time of creation when the wall clock is set. */
	struct clock_calibration first_clock;
	uint32_t max_user_frames; /* the kernel walks no further */

	// Scratch of one build, kept for its memory.
	struct locations locations;
	VECTOR(uint32_t) stacks; /* stack id of each stack of the capture */
	VECTOR(uint32_t) order;  /* samples sorted by what makes them equal, then time */
	VECTOR(uint32_t) stack_locations;
	VECTOR(uint64_t) timestamps;
};

/* kernel.perf_event_max_stack bounds the kernel's walks, and so do the records. */
static uint32_t read_max_stack(void)
{
	CLEANUP_FREE char *text = NULL;
	unsigned long frames = 0;

	if (!file_read(AT_FDCWD, "/proc/sys/kernel/perf_event_max_stack", 64, &text, NULL))
		frames = strtoul(text, NULL, 10);
	return frames && frames < SAMPLE_MAX_USER_FRAMES ? (uint32_t)frames
							 : SAMPLE_MAX_USER_FRAMES;
}

struct report *report_create(const struct profcol_host *host, const struct profiling_config *config,
			     struct processes *processes, struct symbols *symbols)
{
	struct report *report = calloc(1, sizeof(*report));

	if (!report)
		return NULL;
	report->host = host;
	report->config = config;
	report->processes = processes;
	report->symbols = symbols;
	report->first_clock = clock_calibrate();
	report->max_user_frames = read_max_stack();
	return report;
}

void report_destroy(struct report *report)
{
	if (!report)
		return;
	locations_deinit(&report->locations);
	VECTOR_DEINIT(&report->stacks);
	VECTOR_DEINIT(&report->order);
	VECTOR_DEINIT(&report->stack_locations);
	VECTOR_DEINIT(&report->timestamps);
	free(report);
}

/* Do two samples differ in nothing but time? 0 when so, else an order among them. */
static int compare_identity(const struct capture_sample *a, const struct capture_sample *b)
{
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	if (a->comm != b->comm)
		return a->comm < b->comm ? -1 : 1;
	return 0;
}

static int compare_samples(const void *left, const void *right, void *context)
{
	const struct capture_sample *samples = context;
	const struct capture_sample *a = &samples[*(const uint32_t *)left];
	const struct capture_sample *b = &samples[*(const uint32_t *)right];
	int order = compare_identity(a, b);

	if (order)
		return order;
	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

static bool sort_samples(struct report *report, const struct capture *capture)
{
	report->order.count = 0;
	if (!VECTOR_RESERVE(&report->order, capture->samples.count))
		return false;
	for (uint32_t i = 0; i < capture->samples.count; i++)
		report->order.items[report->order.count++] = i;
	if (report->order.count)
		qsort_r(report->order.items, report->order.count, sizeof(uint32_t), compare_samples,
			capture->samples.items);
	return true;
}

/*
 * The locations of the frames [@begin, @end) of a stack: the kernel's all, the user's up to
 * the first return address that is none. A stack that was cut ends with the reason.
 */
static uint32_t place_stack(struct report *report, const struct capture *capture, uint32_t begin,
			    uint32_t end, struct profcol_builder *builder)
{
	uint32_t *placed = report->stack_locations.items, count = 0, user_frames = 0;

	for (uint32_t at = begin; at < end; at++) {
		uint32_t frame = capture->stack_frames.items[at];

		if (capture->frames.items[frame].process != CAPTURE_KERNEL && user_frames++ &&
		    report->locations.not_code.items[frame]) {
			placed[count++] = locations_add_reason(builder, "[broken frame pointers]");
			return count;
		}
		placed[count++] = report->locations.ids.items[frame];
	}
	if (user_frames >= report->max_user_frames)
		placed[count++] = locations_add_reason(builder, "[kernel.perf_event_max_stack]");
	return count;
}

static bool build_stacks(struct report *report, const struct capture *capture,
			 struct profcol_builder *builder)
{
	uint32_t begin = 0;

	report->stacks.count = 0;
	if (!VECTOR_RESERVE(&report->stacks, capture->stack_ends.count) ||
	    !VECTOR_RESERVE(&report->stack_locations, (size_t)SAMPLE_MAX_FRAMES + 1))
		return false;
	for (uint32_t stack = 0; stack < capture->stack_ends.count; stack++) {
		uint32_t end = capture->stack_ends.items[stack];
		uint32_t count = place_stack(report, capture, begin, end, builder);

		report->stacks.items[report->stacks.count++] =
			profcol_builder_stack(builder, report->stack_locations.items, count);
		begin = end;
	}
	return true;
}

static uint32_t text_attribute(struct profcol_builder *builder, const char *key, const char *text)
{
	struct profcol_attribute attribute = {
		.key = profcol_builder_cstring(builder, key),
		.value = { .type = PROFCOL_VALUE_STRING, .string = text_string(builder, text) },
	};

	return profcol_builder_attribute(builder, &attribute);
}

/* ISO 8601 in UTC with milliseconds, as process.creation.time is written. */
static void format_time(char *text, size_t size, uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / 1000000000u);
	struct tm utc;
	size_t length;

	gmtime_r(&seconds, &utc);
	length = strftime(text, size, "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(text + length, size - length, ".%03uZ",
		 (unsigned int)(unix_ns / 1000000u % 1000u));
}

static void add_resource(struct report *report, const struct capture_process *process,
			 struct profcol_builder *builder)
{
	struct process_description about;
	struct profcol_resource resource = { 0 };
	uint32_t attributes[5], count = 0;
	char created[40];

	attributes[count++] =
		profcol_builder_attribute_int(builder, "process.pid", process->key.pid);
	if (process->key.pid) {
		format_time(created, sizeof(created),
			    clock_boottime_to_unix(&report->first_clock,
						   process->key.start_boottime_ns));
		attributes[count++] = text_attribute(builder, "process.creation.time", created);
	}
	if (process->key.pid &&
	    processes_describe(report->processes, &process->key, process->first_ns, &about)) {
		if (about.executable[0]) {
			const char *slash = strrchr(about.executable, '/');

			attributes[count++] = text_attribute(builder, "process.executable.path",
							     about.executable);
			attributes[count++] = text_attribute(builder, "process.executable.name",
							     slash ? slash + 1 : about.executable);
		}
		if (about.container_id[0])
			attributes[count++] =
				text_attribute(builder, "container.id", about.container_id);
	}
	resource.attributes = profcol_builder_attribute_list(builder, attributes, count);
	profcol_builder_add_resource(builder, &resource);
}

struct window {
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC, half-open */
};

/* From the opening of the batch to its closing, and around every sample in it. */
static struct window window_of(const struct capture *capture, uint64_t end_ns)
{
	struct window window = { capture->begin_ns, end_ns };

	for (size_t i = 0; i < capture->samples.count; i++) {
		uint64_t time_ns = capture->samples.items[i].time_ns;

		if (time_ns < window.begin_ns)
			window.begin_ns = time_ns;
		if (time_ns >= window.end_ns)
			window.end_ns = time_ns + 1;
	}
	return window;
}

static void add_profile(struct report *report, const struct window *window,
			const struct clock_calibration *clock, struct profcol_builder *builder)
{
	struct profcol_scope scope = {
		.name = profcol_builder_cstring(builder, "profcol"),
		.version = profcol_builder_cstring(builder, report->host->version),
	};
	struct profcol_profile profile = {
		.sample_type = profcol_builder_cstring(builder, "samples"),
		.sample_unit = profcol_builder_cstring(builder, "count"),
		.period_type = profcol_builder_cstring(builder, "cpu"),
		.period_unit = profcol_builder_cstring(builder, "nanoseconds"),
		.period = 1000000000 / report->config->samples_per_second,
		.time_unix_ns = clock_monotonic_to_unix(clock, window->begin_ns),
		.duration_ns = window->end_ns - window->begin_ns,
	};

	profcol_builder_add_scope(builder, &scope);
	profcol_builder_add_profile(builder, &profile);
}

static void add_sample(struct report *report, const struct capture *capture,
		       const struct capture_sample *sample, struct profcol_builder *builder)
{
	uint32_t attributes[] = {
		profcol_builder_attribute_int(builder, "thread.id", sample->tid),
		text_attribute(builder, "thread.name", capture->comms.items[sample->comm].text),
		profcol_builder_attribute_int(builder, "cpu.logical_number", sample->cpu),
	};
	struct profcol_sample out = {
		.stack = report->stacks.items[sample->stack],
		.attributes = profcol_builder_attribute_list(builder, attributes, 3),
		.timestamps_unix_ns = report->timestamps.items,
		.timestamp_count = (uint32_t)report->timestamps.count,
	};

	profcol_builder_add_sample(builder, &out);
}

static bool build_samples(struct report *report, const struct capture *capture,
			  const struct window *window, struct profcol_builder *builder)
{
	struct clock_calibration clock = clock_calibrate();
	uint32_t process = UINT32_MAX;

	for (size_t i = 0; i < report->order.count;) {
		const struct capture_sample *first =
			&capture->samples.items[report->order.items[i]];

		if (first->process != process) {
			process = first->process;
			add_resource(report, &capture->processes.items[process], builder);
			add_profile(report, window, &clock, builder);
		}
		report->timestamps.count = 0;
		for (; i < report->order.count; i++) {
			const struct capture_sample *next =
				&capture->samples.items[report->order.items[i]];

			if (compare_identity(first, next))
				break;
			if (!VECTOR_PUSH(&report->timestamps,
					 clock_monotonic_to_unix(&clock, next->time_ns)))
				return false;
		}
		add_sample(report, capture, first, builder);
	}
	return true;
}

struct profcol_error *report_build(struct report *report, const struct capture *capture,
				   uint64_t end_ns, uint64_t deadline_ns,
				   struct profcol_batch **ret)
{
	struct profcol_builder *builder = profcol_builder_create();
	struct window window = window_of(capture, end_ns);

	if (!builder ||
	    !locations_build(&report->locations, capture, report->processes, report->symbols,
			     deadline_ns, builder) ||
	    !build_stacks(report, capture, builder) || !sort_samples(report, capture) ||
	    !build_samples(report, capture, &window, builder)) {
		profcol_builder_destroy(builder);
		return profcol_error_create(PROFCOL_NO_MEMORY,
					    "no memory for a batch of %zu samples",
					    capture->samples.count);
	}
	return profcol_builder_seal(builder, ret);
}
