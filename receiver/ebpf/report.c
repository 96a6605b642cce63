// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include "locations.h"
#include "resources.h"
#include "text.h"

#include "base/base.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Of the semantic conventions that names and places of attributes follow. */
#define SCHEMA_URL "https://opentelemetry.io/schemas/1.37.0"

/* A sample in terms of the batch; what is not passed on is 0. */
struct row {
	uint32_t group; /* of resource_member */
	uint32_t process;
	uint32_t stack; /* id in the batch */
	uint32_t comm;
	uint32_t tid;
	uint32_t cpu;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
};

/* Where the user's part of a stack ended, for the metric. */
enum stack_end {
	STACK_END_CHAIN,   /* the chain of frame pointers did: at the entry, or before it */
	STACK_END_BROKEN,  /* at an address that is no code */
	STACK_END_LIMIT,   /* the kernel walks no further */
	STACK_END_NO_USER, /* a kernel thread, or a stack that could not be read */
	STACK_ENDS,
};

struct report {
	const struct profcol_host *host;
	const struct profiling_config *config;
	struct processes *processes;
	struct symbols *symbols;
	uint32_t max_user_frames; /* the kernel walks no further */
	struct profcol_metric *ends[STACK_ENDS];

	// Scratch of one build, kept for its memory.
	struct locations locations;
	struct resources resources;
	VECTOR(uint32_t) sample_attributes; /* of one sample */
	VECTOR(uint32_t) stacks;            /* stack id of each stack of the capture */
	VECTOR(uint8_t) stack_ends;         /* enum stack_end of each */
	VECTOR(struct row) rows;            /* sorted by what makes samples equal, then time */
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

static void register_metrics(struct report *report)
{
	static const char *const labels[STACK_ENDS] = {
		[STACK_END_CHAIN] = "end=frame_pointers",
		[STACK_END_BROKEN] = "end=broken_frame_pointers",
		[STACK_END_LIMIT] = "end=perf_event_max_stack",
		[STACK_END_NO_USER] = "end=no_user_stack",
	};
	const struct profcol_host *host = report->host;

	for (size_t i = 0; i < STACK_ENDS; i++)
		report->ends[i] =
			host->metric(host, PROFCOL_COUNTER, "user_stacks", labels[i],
				     "User stacks of samples, by what ended the way to the entry");
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
	resources_init(&report->resources, (enum resource_by)config->resource_by, processes);
	report->max_user_frames = read_max_stack();
	register_metrics(report);
	return report;
}

void report_destroy(struct report *report)
{
	if (!report)
		return;
	locations_deinit(&report->locations);
	resources_deinit(&report->resources);
	VECTOR_DEINIT(&report->sample_attributes);
	VECTOR_DEINIT(&report->stacks);
	VECTOR_DEINIT(&report->stack_ends);
	VECTOR_DEINIT(&report->rows);
	VECTOR_DEINIT(&report->stack_locations);
	VECTOR_DEINIT(&report->timestamps);
	free(report);
}

/*
 * The locations of the frames [@begin, @end) of a stack: the kernel's all, the user's up to
 * the first return address that is none. A stack that was cut ends with the reason.
 */
static uint32_t place_stack(struct report *report, const struct capture *capture, uint32_t begin,
			    uint32_t end, struct profcol_builder *builder, enum stack_end *end_ret)
{
	uint32_t *placed = report->stack_locations.items, count = 0, user_frames = 0;
	uint32_t code_end = locations_code_end(&report->locations, capture, begin, end);

	for (uint32_t at = begin; at < code_end; at++) {
		uint32_t frame = capture->stack_frames.items[at];

		user_frames += capture->frames.items[frame].process != CAPTURE_KERNEL;
		placed[count++] = report->locations.ids.items[frame];
	}
	*end_ret = code_end < end                           ? STACK_END_BROKEN
		   : user_frames >= report->max_user_frames ? STACK_END_LIMIT
		   : user_frames                            ? STACK_END_CHAIN
							    : STACK_END_NO_USER;
	if (*end_ret == STACK_END_BROKEN)
		placed[count++] = locations_add_reason(builder, "[broken frame pointers]");
	else if (*end_ret == STACK_END_LIMIT)
		placed[count++] = locations_add_reason(builder, "[kernel.perf_event_max_stack]");
	return count;
}

static bool build_stacks(struct report *report, const struct capture *capture,
			 struct profcol_builder *builder)
{
	uint32_t begin = 0;

	report->stacks.count = report->stack_ends.count = 0;
	if (!VECTOR_RESERVE(&report->stacks, capture->stack_ends.count) ||
	    !VECTOR_RESERVE(&report->stack_ends, capture->stack_ends.count) ||
	    !VECTOR_RESERVE(&report->stack_locations, (size_t)SAMPLE_MAX_FRAMES + 1))
		return false;
	for (uint32_t stack = 0; stack < capture->stack_ends.count; stack++) {
		uint32_t end = capture->stack_ends.items[stack];
		enum stack_end reason;
		uint32_t count = place_stack(report, capture, begin, end, builder, &reason);

		report->stack_ends.items[report->stack_ends.count++] = (uint8_t)reason;
		report->stacks.items[report->stacks.count++] =
			profcol_builder_stack(builder, report->stack_locations.items, count);
		begin = end;
	}
	return true;
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

static void add_resource(struct report *report, const struct window *window,
			 const struct clock_calibration *clock, uint32_t process,
			 struct profcol_builder *builder)
{
	uint32_t schema = profcol_builder_cstring(builder, SCHEMA_URL);
	struct profcol_resource resource = {
		.attributes = report->resources.members.items[process].resource,
		.schema_url = schema,
	};
	struct profcol_scope scope = {
		.name = profcol_builder_cstring(builder, "profcol"),
		.version = profcol_builder_cstring(builder, report->host->version),
		.schema_url = schema,
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

	profcol_builder_add_resource(builder, &resource);
	profcol_builder_add_scope(builder, &scope);
	profcol_builder_add_profile(builder, &profile);
}

/* Do two samples differ in nothing but time? 0 when so, else an order among them. */
static int compare_identity(const struct row *a, const struct row *b)
{
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
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

static int compare_rows(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	int order = compare_identity(a, b);

	if (order)
		return order;
	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

static bool sort_samples(struct report *report, const struct capture *capture)
{
	bool with_threads = report->config->timestamps;

	report->rows.count = 0;
	if (!VECTOR_RESERVE(&report->rows, capture->samples.count))
		return false;
	for (size_t i = 0; i < capture->samples.count; i++) {
		const struct capture_sample *sample = &capture->samples.items[i];

		report->rows.items[report->rows.count++] = (struct row){
			.group = report->resources.members.items[sample->process].group,
			.process = sample->process,
			.stack = report->stacks.items[sample->stack],
			.comm = sample->comm,
			.tid = with_threads ? sample->tid : 0,
			.cpu = with_threads ? sample->cpu : 0,
			.time_ns = sample->time_ns,
		};
	}
	if (report->rows.count)
		qsort(report->rows.items, report->rows.count, sizeof(struct row), compare_rows);
	return true;
}

/* The attribute list of the samples that @row is the first of; UINT32_MAX without memory. */
static uint32_t sample_attributes(struct report *report, const struct capture *capture,
				  const struct row *row, struct profcol_builder *builder)
{
	const struct resource_member *member = &report->resources.members.items[row->process];
	uint32_t own = member->end - member->begin, *to;

	report->sample_attributes.count = 0;
	if (!VECTOR_RESERVE(&report->sample_attributes, (size_t)own + 3))
		return UINT32_MAX;
	to = report->sample_attributes.items;
	for (uint32_t i = member->begin; i < member->end; i++)
		*to++ = report->resources.attributes.items[i];
	*to++ = text_attribute(builder, "thread.name", capture->comms.items[row->comm].text);
	if (report->config->timestamps) {
		*to++ = profcol_builder_attribute_int(builder, "thread.id", row->tid);
		*to++ = profcol_builder_attribute_int(builder, "cpu.logical_number", row->cpu);
	}
	return profcol_builder_attribute_list(builder, report->sample_attributes.items,
					      (uint32_t)(to - report->sample_attributes.items));
}

/* One sample of the @count rows at @rows, which are equal but for their times. */
static bool add_sample(struct report *report, const struct capture *capture, const struct row *rows,
		       size_t count, const struct clock_calibration *clock,
		       struct profcol_builder *builder)
{
	uint32_t attributes = sample_attributes(report, capture, rows, builder);
	int64_t value = (int64_t)count;
	struct profcol_sample sample = { .stack = rows->stack, .attributes = attributes };

	if (attributes == UINT32_MAX)
		return false;
	if (!report->config->timestamps) {
		sample.values = &value;
		sample.value_count = 1;
		profcol_builder_add_sample(builder, &sample);
		return true;
	}
	report->timestamps.count = 0;
	if (!VECTOR_RESERVE(&report->timestamps, count))
		return false;
	for (size_t i = 0; i < count; i++)
		report->timestamps.items[i] = clock_monotonic_to_unix(clock, rows[i].time_ns);
	sample.timestamps_unix_ns = report->timestamps.items;
	sample.timestamp_count = (uint32_t)count;
	profcol_builder_add_sample(builder, &sample);
	return true;
}

static bool build_samples(struct report *report, const struct capture *capture,
			  const struct window *window, struct profcol_builder *builder)
{
	struct clock_calibration clock = clock_calibrate();
	const struct row *rows = report->rows.items;
	size_t total = report->rows.count, next;

	for (size_t i = 0; i < total; i = next) {
		if (!i || rows[i].group != rows[i - 1].group)
			add_resource(report, window, &clock, rows[i].process, builder);
		for (next = i + 1; next < total && !compare_identity(&rows[i], &rows[next]);)
			next++;
		if (!add_sample(report, capture, &rows[i], next - i, &clock, builder))
			return false;
	}
	return true;
}

static void count_ends(struct report *report, const struct capture *capture)
{
	int64_t seen[STACK_ENDS] = { 0 };

	for (size_t i = 0; i < capture->samples.count; i++)
		seen[report->stack_ends.items[capture->samples.items[i].stack]]++;
	for (size_t i = 0; i < STACK_ENDS; i++)
		profcol_metric_add(report->ends[i], seen[i]);
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
	    !build_stacks(report, capture, builder) ||
	    !resources_build(&report->resources, capture, builder) ||
	    !sort_samples(report, capture) || !build_samples(report, capture, &window, builder)) {
		profcol_builder_destroy(builder);
		return profcol_error_create(PROFCOL_NO_MEMORY,
					    "no memory for a batch of %zu samples",
					    capture->samples.count);
	}
	count_ends(report, capture);
	return profcol_builder_seal(builder, ret);
}
