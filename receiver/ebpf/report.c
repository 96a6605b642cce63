// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include "events/events.h"
#include "label_attributes.h"
#include "locations.h"
#include "nameless.h"
#include "resources.h"
#include "text.h"
#include "thread_names.h"

#include "base/base.h"

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
	uint32_t name;  /* of the thread: id of an attribute; 0: not known */
	uint32_t tid;
	uint32_t labels; /* of capture_sample */
	uint16_t cpu;
	uint8_t origin; /* enum sample_origin */
	uint16_t detail;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t value;
};

/* What ended a walk: as the metric calls it, and as the stack says. */
static const struct {
	const char *label;
	const char *reason; /* NULL: the stack is complete */
} ends[UNWIND_END_COUNT] = {
	[0] = { "end=no_user_stack", NULL },
	[UNWIND_END_ENTRY] = { "end=entry", NULL },
	[UNWIND_END_NO_PROCESS] = { "end=no_process", "[process not in the unwind tables]" },
	[UNWIND_END_NO_MAPPING] = { "end=no_mapping", "[no executable memory]" },
	[UNWIND_END_NO_PAGE] = { "end=no_page", "[code not in the unwind tables]" },
	[UNWIND_END_UNSUPPORTED] = { "end=unsupported_rule", "[unsupported unwind rule]" },
	[UNWIND_END_BAD_CFA] = { "end=bad_cfa", "[bad canonical frame address]" },
	[UNWIND_END_BAD_POINTER] = { "end=broken_frame_pointers", "[broken frame pointers]" },
	[UNWIND_END_UNREADABLE] = { "end=unreadable_stack", "[unreadable stack memory]" },
	[UNWIND_END_DEPTH] = { "end=depth", "[max_stack_depth]" },
	[UNWIND_END_REGISTERS] = { "end=no_registers", "[no user registers]" },
	[UNWIND_END_BROKEN_TABLE] = { "end=broken_table", "[broken unwind table]" },
	[UNWIND_END_NOT_COPIED] = { "end=stack_not_copied", "[stack beyond deferred_stack]" },
	[UNWIND_END_GUESSED] = { "end=guessed_frame", "[guessed frame]" },
};

struct report {
	const struct profcol_host *host;
	const struct profiling_config *config;
	struct processes *processes;
	struct process_memory *memory;
	struct symbols *symbols;
	struct nameless *nameless; /* owned */
	struct profcol_metric *ends[UNWIND_END_COUNT];
	struct profcol_metric *label_fates[CAPTURE_LABELS_FATES];
	struct profcol_metric *gaps;
	bool is_wall; /* time on and off CPUs is one kind of sample */

	// Scratch of one build, kept for its memory.
	struct locations locations;
	struct resources resources;
	struct label_attributes labels;
	struct thread_names threads;
	VECTOR(uint32_t) sample_attributes; /* of one sample */
	VECTOR(uint32_t) stacks;            /* stack id of each stack of the capture */
	VECTOR(struct row) rows;            /* sorted by what makes samples equal, then time */
	VECTOR(uint32_t) stack_locations;
	VECTOR(uint64_t) timestamps;
	VECTOR(int64_t) values;
};

static const char *const label_fates[CAPTURE_LABELS_FATES] = {
	[CAPTURE_LABELS_WHOLE] = "result=whole",
	[CAPTURE_LABELS_CUT] = "result=cut",
	[CAPTURE_LABELS_LEFT_OUT] = "result=left_out",
	[CAPTURE_LABELS_UNREADABLE] = "result=unreadable",
	[CAPTURE_LABELS_NO_ROOM] = "result=no_room",
};

static void register_metrics(struct report *report)
{
	const struct profcol_host *host = report->host;

	for (size_t i = 0; i < UNWIND_END_COUNT; i++)
		report->ends[i] = host->metric(
			host, PROFCOL_COUNTER, "unwind_stacks", ends[i].label,
			"Stacks of samples, by what ended the walk of the user's part");
	report->gaps =
		host->metric(host, PROFCOL_COUNTER, "runtime_gaps", "",
			     "Samples in whose stacks a mark stands for frames of a language "
			     "runtime that were not on the stack");
	for (size_t i = 0; i < CAPTURE_LABELS_FATES; i++)
		report->label_fates[i] =
			host->metric(host, PROFCOL_COUNTER, "labelled_samples", label_fates[i],
				     "Samples of what a program has given labels, by what became "
				     "of these");
}

static bool asks_for_wall(const struct profiling_config *config)
{
	uint32_t wanted = 0;

	// Has been refused before.
	profcol_error_destroy(events_wanted(config, &wanted));
	return wanted & 1u << SAMPLE_WALL;
}

struct report *report_create(const struct profcol_host *host, const struct profiling_config *config,
			     struct processes *processes, struct process_memory *memory,
			     struct symbols *symbols, struct containers *containers)
{
	struct report *report = calloc(1, sizeof(*report));

	if (!report)
		return NULL;
	report->host = host;
	report->config = config;
	report->processes = processes;
	report->memory = memory;
	report->symbols = symbols;
	resources_init(&report->resources, (enum resource_by)config->resource_by, processes, memory,
		       containers);
	report->is_wall = asks_for_wall(config);
	register_metrics(report);
	report->nameless = nameless_create(host, processes, symbols);
	if (!report->nameless) {
		report_destroy(report);
		return NULL;
	}
	return report;
}

void report_destroy(struct report *report)
{
	if (!report)
		return;
	nameless_destroy(report->nameless);
	locations_deinit(&report->locations);
	resources_deinit(&report->resources);
	label_attributes_deinit(&report->labels);
	thread_names_deinit(&report->threads);
	VECTOR_DEINIT(&report->sample_attributes);
	VECTOR_DEINIT(&report->stacks);
	VECTOR_DEINIT(&report->rows);
	VECTOR_DEINIT(&report->stack_locations);
	VECTOR_DEINIT(&report->timestamps);
	VECTOR_DEINIT(&report->values);
	free(report);
}

/* The locations of stack number @stack: of its frames, and the reason if it was cut. */
static uint32_t place_stack(struct report *report, const struct capture *capture, uint32_t stack,
			    struct profcol_builder *builder)
{
	uint32_t *placed = report->stack_locations.items;
	uint32_t count = locations_shown(&report->locations, capture, stack, placed);
	const char *reason = ends[capture->stacks.items[stack].end].reason;

	for (uint32_t i = 0; i < count; i++)
		placed[i] = report->locations.ids.items[placed[i]];
	if (reason)
		placed[count++] = locations_add_reason(builder, reason);
	return count;
}

static bool build_stacks(struct report *report, const struct capture *capture,
			 struct profcol_builder *builder)
{
	report->stacks.count = 0;
	if (!VECTOR_RESERVE(&report->stacks, capture->stacks.count) ||
	    !VECTOR_RESERVE(&report->stack_locations, (size_t)SAMPLE_MAX_WORDS + 1))
		return false;
	for (uint32_t stack = 0; stack < capture->stacks.count; stack++) {
		uint32_t count = place_stack(report, capture, stack, builder);

		report->stacks.items[report->stacks.count++] =
			profcol_builder_stack(builder, report->stack_locations.items, count);
	}
	return true;
}

struct window {
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC, half-open */
	uint64_t period_ns;        /* of the samples in it */
};

/* From the opening of the batch to its closing, and around every sample in it. */
static struct window window_of(const struct capture *capture, uint64_t end_ns)
{
	struct window window = { capture->begin_ns, end_ns, capture->period_ns };

	for (size_t i = 0; i < capture->samples.count; i++) {
		uint64_t time_ns = capture->samples.items[i].time_ns;

		if (time_ns < window.begin_ns)
			window.begin_ns = time_ns;
		if (time_ns >= window.end_ns)
			window.end_ns = time_ns + 1;
	}
	return window;
}

static void add_resource(struct report *report, uint32_t process, struct profcol_builder *builder)
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

	profcol_builder_add_resource(builder, &resource);
	profcol_builder_add_scope(builder, &scope);
}

/* Of samples of @origin. Only those of the timer have a period: the values of others say by
 * themselves for how much they stand. */
static void add_profile(const struct window *window, const struct clock_calibration *clock,
			uint32_t origin, struct profcol_builder *builder)
{
	const struct event_kind *kind = event_kind_of(origin);
	struct profcol_profile profile = {
		.sample_type = profcol_builder_cstring(builder, kind ? kind->sample_type : ""),
		.sample_unit = profcol_builder_cstring(builder, kind ? kind->sample_unit : ""),
		.time_unix_ns = clock_monotonic_to_unix(clock, window->begin_ns),
		.duration_ns = window->end_ns - window->begin_ns,
	};

	if (origin == SAMPLE_CPU_CLOCK) {
		profile.period_type = profcol_builder_cstring(builder, "cpu");
		profile.period_unit = profcol_builder_cstring(builder, "nanoseconds");
		profile.period = (int64_t)window->period_ns;
	}
	profcol_builder_add_profile(builder, &profile);
}

/* Do two samples differ in nothing but time and value? 0 when so, else an order among them. */
static int compare_identity(const struct row *a, const struct row *b)
{
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->origin != b->origin)
		return a->origin < b->origin ? -1 : 1;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	if (a->labels != b->labels)
		return a->labels < b->labels ? -1 : 1;
	if (a->detail != b->detail)
		return a->detail < b->detail ? -1 : 1;
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

/* Of the timer's samples and of waits, samples of one kind. */
static void make_wall(struct row *row, uint64_t period_ns)
{
	if (row->origin == SAMPLE_CPU_CLOCK) {
		row->value = period_ns;
		row->detail = OFF_CPU_RUNNING << OFF_CPU_STATE_SHIFT;
	}
	if (row->origin == SAMPLE_CPU_CLOCK || row->origin == SAMPLE_OFF_CPU)
		row->origin = SAMPLE_WALL;
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
			.name = thread_names_of(&report->threads, capture, sample),
			.tid = with_threads ? sample->tid : 0,
			.labels = sample->labels,
			.cpu = with_threads ? sample->cpu : 0,
			.origin = sample->origin,
			.detail = sample->detail,
			.time_ns = sample->time_ns,
			.value = sample->value,
		};
		if (report->is_wall)
			make_wall(&report->rows.items[report->rows.count - 1], capture->period_ns);
	}
	if (report->rows.count)
		qsort(report->rows.items, report->rows.count, sizeof(struct row), compare_rows);
	return true;
}

/* The attributes of row @labels to @to; returns where they end. */
static uint32_t *put_labels(const struct label_attributes *attributes, uint32_t labels,
			    uint32_t *to)
{
	uint32_t at = labels ? attributes->limits.items[labels - 1] : 0;

	while (at < attributes->limits.items[labels])
		*to++ = attributes->ids.items[at++];
	return to;
}

/* The attribute list of the samples that @row is the first of; UINT32_MAX without memory. */
static uint32_t sample_attributes(struct report *report, const struct row *row,
				  struct profcol_builder *builder)
{
	const struct resource_member *member = &report->resources.members.items[row->process];
	const struct event_kind *kind = event_kind_of(row->origin);
	uint32_t own = member->end - member->begin, *to;

	report->sample_attributes.count = 0;
	if (!VECTOR_RESERVE(&report->sample_attributes, (size_t)own + 4 + SAMPLE_LABELS + 3))
		return UINT32_MAX;
	to = report->sample_attributes.items;
	for (uint32_t i = member->begin; i < member->end; i++)
		*to++ = report->resources.attributes.items[i];
	if (row->name)
		*to++ = row->name;
	if (report->config->timestamps) {
		*to++ = profcol_builder_attribute_int(builder, "thread.id", row->tid);
		*to++ = profcol_builder_attribute_int(builder, "cpu.logical_number", row->cpu);
	}
	if (kind && kind->detail_key)
		*to++ = text_attribute(builder, kind->detail_key, kind->detail_text(row->detail));
	if (row->labels)
		to = put_labels(&report->labels, row->labels - 1, to);
	return profcol_builder_attribute_list(builder, report->sample_attributes.items,
					      (uint32_t)(to - report->sample_attributes.items));
}

/* The values of the @count rows at @rows. Those of the timer are 1, which needs no saying. */
static bool set_values(struct report *report, const struct row *rows, size_t count,
		       struct profcol_sample *sample)
{
	if (rows->origin == SAMPLE_CPU_CLOCK)
		return true;
	report->values.count = 0;
	if (!VECTOR_RESERVE(&report->values, count))
		return false;
	for (size_t i = 0; i < count; i++)
		report->values.items[i] = (int64_t)rows[i].value;
	sample->values = report->values.items;
	sample->value_count = (uint32_t)count;
	return true;
}

/*
 * One sample of the @count rows at @rows, which are equal but for their times and values. Values
 * need times: one alone would say of how much in all, and no longer of how many.
 */
static bool add_sample(struct report *report, const struct row *rows, size_t count,
		       const struct clock_calibration *clock, struct profcol_builder *builder)
{
	uint32_t attributes = sample_attributes(report, rows, builder);
	int64_t value = (int64_t)count;
	struct profcol_sample sample = { .stack = rows->stack, .attributes = attributes };

	if (attributes == UINT32_MAX)
		return false;
	if (!report->config->timestamps && rows->origin == SAMPLE_CPU_CLOCK) {
		sample.values = &value;
		sample.value_count = 1;
		profcol_builder_add_sample(builder, &sample);
		return true;
	}
	report->timestamps.count = 0;
	if (!VECTOR_RESERVE(&report->timestamps, count) ||
	    !set_values(report, rows, count, &sample))
		return false;
	for (size_t i = 0; i < count; i++)
		report->timestamps.items[i] = clock_monotonic_to_unix(clock, rows[i].time_ns);
	sample.timestamps_unix_ns = report->timestamps.items;
	sample.timestamp_count = (uint32_t)count;
	profcol_builder_add_sample(builder, &sample);
	return true;
}

static bool build_samples(struct report *report, const struct window *window,
			  struct profcol_builder *builder)
{
	struct clock_calibration clock = clock_calibrate();
	const struct row *rows = report->rows.items;
	size_t total = report->rows.count, next;

	for (size_t i = 0; i < total; i = next) {
		bool is_other = !i || rows[i].group != rows[i - 1].group;

		if (is_other)
			add_resource(report, rows[i].process, builder);
		if (is_other || rows[i].origin != rows[i - 1].origin)
			add_profile(window, &clock, rows[i].origin, builder);
		for (next = i + 1; next < total && !compare_identity(&rows[i], &rows[next]);)
			next++;
		if (!add_sample(report, &rows[i], next - i, &clock, builder))
			return false;
	}
	return true;
}

static void count_ends(struct report *report, const struct capture *capture)
{
	int64_t seen[UNWIND_END_COUNT] = { 0 };

	for (size_t i = 0; i < capture->samples.count; i++)
		seen[capture->stacks.items[capture->samples.items[i].stack].end]++;
	for (size_t i = 0; i < UNWIND_END_COUNT; i++)
		profcol_metric_add(report->ends[i], seen[i]);
	for (size_t i = 0; i < CAPTURE_LABELS_FATES; i++)
		profcol_metric_add(report->label_fates[i], (int64_t)capture->label_fates[i]);
}

struct profcol_error *report_build(struct report *report, const struct capture *capture,
				   uint64_t end_ns, uint64_t deadline_ns,
				   struct profcol_batch **ret)
{
	const struct location_parts parts = {
		.processes = report->processes,
		.memory = report->memory,
		.symbols = report->symbols,
		.unnamed = (enum unnamed_functions)report->config->unnamed_functions,
		.system_names = report->config->system_names,
	};
	struct profcol_builder *builder = profcol_builder_create();
	struct window window = window_of(capture, end_ns);

	if (!builder ||
	    !locations_build(&report->locations, capture, &parts, deadline_ns, builder) ||
	    !build_stacks(report, capture, builder) ||
	    !resources_build(&report->resources, capture, builder) ||
	    !label_attributes_build(&report->labels, capture, builder) ||
	    !thread_names_build(&report->threads, capture, report->memory, builder) ||
	    !sort_samples(report, capture) || !build_samples(report, &window, builder)) {
		profcol_builder_destroy(builder);
		return profcol_error_create(PROFCOL_NO_MEMORY,
					    "no memory for a batch of %zu samples",
					    capture->samples.count);
	}
	count_ends(report, capture);
	profcol_metric_add(report->gaps, locations_count_gaps(&report->locations, capture));
	nameless_count(report->nameless, capture, &report->locations);
	return profcol_builder_seal(builder, ret);
}

void report_tell(struct report *report, uint64_t now_ns, bool last)
{
	nameless_tell(report->nameless, now_ns, last);
}
