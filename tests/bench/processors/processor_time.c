// SPDX-License-Identifier: Apache-2.0
// processor_time [--seconds S] FILE...: how long profcol's processors take for the requests of
// all files, raw or each behind its length in 4 bytes, big-endian. Prints a line for each
// configuration: nanoseconds a sample, the least of many rounds, and the share that is left.
#include "base/base.h"
#include "config/decode.h"
#include "profile/profile.h"

#include <profcol/component.h>

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct profcol_component profcol_processor_filter, profcol_processor_resource,
	profcol_processor_attributes;

enum { MAX_FILE_BYTES = 1 << 30, LENGTH_BYTES = 4 };

static const struct {
	const struct profcol_component *component;
	const char *yaml;
} cases[] = {
	{ &profcol_processor_filter,
	  "profile_conditions: ['resource.attributes[\"service.name\"] == \"nobody\"']" },
	{ &profcol_processor_filter,
	  "profile_conditions: ['sample.attributes[\"thread.name\"] == \"nobody\"']" },
	{ &profcol_processor_filter, "profile_conditions: ['frame.function == \"nothing\"']" },
	{ &profcol_processor_filter,
	  "profile_conditions: ['IsMatch(sample.attributes[\"thread.name\"], \"^[a-m]\")']" },
	{ &profcol_processor_filter,
	  "exclude_attributes: [{level: sample, key: thread.name, regexes: ['^[a-m]']}]" },
	{ &profcol_processor_filter, "include_attributes: [{key: container.id}]" },
	{ &profcol_processor_resource, "attributes: [{key: team, value: a, action: upsert}]" },
	{ &profcol_processor_resource, "attributes: [{key: process.pid, action: delete}]" },
	{ &profcol_processor_attributes, "actions: [{key: team, value: a, action: upsert}]" },
	{ &profcol_processor_attributes, "actions: [{key: thread.name, action: hash}]" },
};

/* A host that takes everything and keeps nothing but the number of events. */
struct sink {
	struct profcol_host host; /* first: found again by its address */
	struct profcol_logger logger;
	struct profcol_metric metric;
	uint64_t passed;
};

static struct profcol_error *pass(const struct profcol_host *host, struct profcol_batch *batch)
{
	struct sink *sink = (struct sink *)(uintptr_t)host;

	sink->passed += profcol_batch_count(batch, PROFCOL_SAMPLES);
	profcol_batch_unref(batch);
	return NULL;
}

static void book(const struct profcol_host *host, enum profcol_outcome outcome, const char *cause,
		 uint64_t samples)
{
	(void)host;
	(void)outcome;
	(void)cause;
	(void)samples;
}

static struct profcol_metric *metric(const struct profcol_host *host, enum profcol_metric_kind kind,
				     const char *name, const char *label, const char *doc)
{
	(void)kind;
	(void)name;
	(void)label;
	(void)doc;
	return &((struct sink *)(uintptr_t)host)->metric;
}

__attribute__((format(printf, 3, 0))) static void log_line(const struct profcol_logger *logger,
							   enum profcol_level level,
							   const char *format, va_list arguments)
{
	(void)logger;
	(void)level;
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
}

static void fail(const char *what, const char *text)
{
	fprintf(stderr, "processor_time: %s: %s\n", what, text);
	exit(1);
}

static void must(const char *what, struct profcol_error *error)
{
	if (error)
		fail(what, profcol_error_message(error));
}

/* ---- reading ---- */

struct input {
	VECTOR(struct profcol_batch *) batches; /* owned */
	uint64_t samples;
};

static void add_request(struct input *input, const char *path, const uint8_t *bytes, size_t length)
{
	const struct otlp_decode_limits limits = { .max_memory = SIZE_MAX };
	struct profcol_batch *batch = NULL;

	must(path, otlp_decode(bytes, length, &limits, &batch));
	input->samples += profcol_batch_count(batch, PROFCOL_SAMPLES);
	if (!VECTOR_PUSH(&input->batches, batch))
		fail(path, "no memory");
}

static size_t frame_length(const uint8_t *bytes)
{
	return (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 | bytes[3];
}

/* Do frames fill the file to its last byte? */
static bool is_framed(const uint8_t *bytes, size_t length)
{
	size_t at = 0;

	while (length - at >= LENGTH_BYTES) {
		size_t frame = frame_length(bytes + at);

		at += LENGTH_BYTES;
		if (frame > length - at)
			return false;
		at += frame;
	}
	return at == length && at;
}

static void add_file(struct input *input, const char *path)
{
	CLEANUP_FREE char *file = NULL;
	const uint8_t *bytes;
	size_t length;

	if (file_read(AT_FDCWD, path, MAX_FILE_BYTES, &file, &length) < 0)
		fail(path, "cannot be read");
	bytes = (const uint8_t *)file;
	if (!is_framed(bytes, length)) {
		add_request(input, path, bytes, length);
		return;
	}
	for (size_t at = 0; at < length;) {
		size_t frame = frame_length(bytes + at);

		add_request(input, path, bytes + at + LENGTH_BYTES, frame);
		at += LENGTH_BYTES + frame;
	}
}

/* ---- measuring ---- */

static void configure(struct arena *memory, const struct profcol_component *component,
		      const char *yaml, void *config)
{
	struct problems problems;
	struct yaml_source source = { .memory = memory, .problems = &problems };
	const struct decoding decoding = { .memory = memory, .problems = &problems };
	const struct yaml_node *body;

	problems_init(&problems, memory);
	problems_add_source(&problems, "configuration");
	body = yaml_parse(&source, &(struct yaml_text){ .bytes = yaml, .length = strlen(yaml) });
	if (body)
		decode_options(&decoding, component->options, body, body->place, NULL, config);
	must(yaml, problems_error(&problems));
	problems_deinit(&problems);
}

static uint64_t round_ns(const struct profcol_component *component, void *self,
			 const struct input *input)
{
	uint64_t begin = clock_monotonic_ns();

	for (size_t i = 0; i < input->batches.count; i++)
		must(component->type,
		     component->consume(self, profcol_batch_ref(input->batches.items[i])));
	return clock_monotonic_ns() - begin;
}

static void measure(const struct profcol_component *component, const char *yaml,
		    const struct input *input, double seconds)
{
	CLEANUP_ARENA struct arena *memory = arena_create(0);
	void *config = arena_alloc(memory, component->config_size), *self = NULL;
	uint64_t end, least = UINT64_MAX, passed = 0;
	struct sink sink = {
		.host = { .size = sizeof(sink.host),
			  .id = component->type,
			  .version = "",
			  .logger = &sink.logger,
			  .consume_next = pass,
			  .account = book,
			  .metric = metric },
		.logger = { .size = sizeof(sink.logger),
			    .level = PROFCOL_ERROR,
			    .write = log_line },
	};

	configure(memory, component, yaml, config);
	must(yaml, component->create(&sink.host, config, &self));
	end = clock_monotonic_ns() + (uint64_t)(seconds * 1e9);
	do {
		uint64_t ns;

		sink.passed = 0;
		ns = round_ns(component, self, input);
		least = ns < least ? ns : least;
		passed = sink.passed;
	} while (clock_monotonic_ns() < end);
	printf("%8.1f ns a sample, %3.0f%% left: %s %s\n", (double)least / (double)input->samples,
	       100 * (double)passed / (double)input->samples, component->type, yaml);
	component->destroy(self);
}

int main(int argc, char **argv)
{
	struct input input = { 0 };
	double seconds = 1;
	int i = 1;

	if (argc > 2 && !strcmp(argv[1], "--seconds")) {
		seconds = strtod(argv[2], NULL);
		i = 3;
	}
	if (i >= argc) {
		fprintf(stderr, "usage: processor_time [--seconds S] FILE...\n");
		return 2;
	}
	// Memory of earlier rounds stays at hand: it is the processors that are measured.
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	for (; i < argc; i++)
		add_file(&input, argv[i]);
	if (!input.samples)
		fail("input", "has no samples");
	printf("%zu requests, %llu samples\n", input.batches.count,
	       (unsigned long long)input.samples);
	for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++)
		measure(cases[at].component, cases[at].yaml, &input, seconds);
	for (size_t at = 0; at < input.batches.count; at++)
		profcol_batch_unref(input.batches.items[at]);
	VECTOR_DEINIT(&input.batches);
	return 0;
}
