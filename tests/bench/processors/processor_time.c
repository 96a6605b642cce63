// SPDX-License-Identifier: Apache-2.0
// processor_time [--seconds S] [-p TYPE=OPTIONS]... FILE...: how long profcol's processors take for
// the requests of all files, raw or each behind its length in 4 bytes, big-endian: the least of
// many rounds. Without -p it prints a line for each of some configurations: nanoseconds a sample,
// and the share that is left. With -p, options being YAML in one line, those processors are behind
// each other, and it prints JSON.
#include "base/base.h"
#include "config/decode.h"
#include "profile/profile.h"

#include <profcol/component.h>

#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct profcol_component profcol_processor_filter, profcol_processor_k8s_attributes,
	profcol_processor_resource, profcol_processor_attributes;

enum { MAX_FILE_BYTES = 1 << 30, LENGTH_BYTES = 4, STAGES_MAX = 8 };

static const struct profcol_component *const components[] = {
	&profcol_processor_filter,
	&profcol_processor_k8s_attributes,
	&profcol_processor_resource,
	&profcol_processor_attributes,
};

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

/* A processor, and its host. */
struct stage {
	struct profcol_host host; /* first: found again by its address */
	const struct profcol_component *component;
	void *self;
	struct chain *chain;
};

/* Processors one behind the other; what leaves the last one is counted, and gone. */
struct chain {
	struct stage stages[STAGES_MAX];
	size_t count;
	struct arena *memory; /* owned: the configurations */
	struct profcol_logger logger;
	struct profcol_metric metric;
	uint64_t passed;
};

static struct profcol_error *pass(const struct profcol_host *host, struct profcol_batch *batch)
{
	struct stage *stage = (struct stage *)(uintptr_t)host, *next = stage + 1;
	struct chain *chain = stage->chain;

	if (next < chain->stages + chain->count)
		return next->component->consume(next->self, batch);
	chain->passed += profcol_batch_count(batch, PROFCOL_SAMPLES);
	profcol_batch_unref(batch);
	return NULL;
}

static bool known(const struct profcol_host *host, const char *key, const char *value)
{
	(void)host;
	(void)key;
	(void)value;
	return true;
}

static void report_status(const struct profcol_host *host, enum profcol_status status,
			  const char *message)
{
	(void)host;
	if (status != PROFCOL_STATUS_OK && message)
		fprintf(stderr, "processor_time: %s\n", message);
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
	return &((struct stage *)(uintptr_t)host)->chain->metric;
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

struct request {
	const char *path;
	const uint8_t *bytes;
	size_t length;
};

struct input {
	VECTOR(char *) files; /* owned */
	VECTOR(struct request) requests;
	VECTOR(struct profcol_batch *) batches; /* owned; of the round that is under way */
	uint64_t samples;
};

static void forget_batches(struct input *input)
{
	for (size_t i = 0; i < input->batches.count; i++)
		profcol_batch_unref(input->batches.items[i]);
	input->batches.count = 0;
}

/* All batches anew, as they come from a receiver: nobody has used them before. */
static void decode_batches(struct input *input)
{
	const struct otlp_decode_limits limits = { .max_memory = SIZE_MAX };

	forget_batches(input);
	input->samples = 0;
	for (size_t i = 0; i < input->requests.count; i++) {
		const struct request *request = &input->requests.items[i];
		struct profcol_batch *batch = NULL;

		must(request->path, otlp_decode(request->bytes, request->length, &limits, &batch));
		input->samples += profcol_batch_count(batch, PROFCOL_SAMPLES);
		if (!VECTOR_PUSH(&input->batches, batch))
			fail(request->path, "no memory");
	}
}

static void add_request(struct input *input, const char *path, const uint8_t *bytes, size_t length)
{
	const struct request request = { path, bytes, length };

	if (!VECTOR_PUSH(&input->requests, request))
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
	char *file = NULL;
	const uint8_t *bytes;
	size_t length;

	if (file_read(AT_FDCWD, path, MAX_FILE_BYTES, &file, &length) < 0)
		fail(path, "cannot be read");
	if (!VECTOR_PUSH(&input->files, file))
		fail(path, "no memory");
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

static void chain_add(struct chain *chain, const struct profcol_component *component,
		      const char *yaml)
{
	void *config = arena_alloc(chain->memory, component->config_size);
	struct stage *stage = &chain->stages[chain->count];

	if (chain->count++ == STAGES_MAX)
		fail("processors", "more than there is room for");
	*stage = (struct stage){
		.host = { .size = sizeof(stage->host),
			  .id = component->type,
			  .version = "",
			  .logger = &chain->logger,
			  .consume_next = pass,
			  .account = book,
			  .metric = metric,
			  .report_status = report_status,
			  .known = known },
		.component = component,
		.chain = chain,
	};
	configure(chain->memory, component, yaml, config);
	must(yaml, component->create(&stage->host, config, &stage->self));
}

static void chain_init(struct chain *chain)
{
	*chain = (struct chain){
		.memory = arena_create(0),
		.logger = { .size = sizeof(chain->logger),
			    .level = PROFCOL_ERROR,
			    .write = log_line },
	};
}

static void chain_deinit(struct chain *chain)
{
	for (size_t i = 0; i < chain->count; i++) {
		const struct stage *stage = &chain->stages[i];

		if (stage->component->shutdown)
			must("shutdown", stage->component->shutdown(stage->self, UINT64_MAX));
		stage->component->destroy(stage->self);
	}
	arena_destroy(chain->memory);
}

static uint64_t round_ns(const struct stage *first, struct input *input)
{
	uint64_t begin;

	decode_batches(input);
	begin = clock_monotonic_ns();
	for (size_t i = 0; i < input->batches.count; i++)
		must(first->component->type,
		     first->component->consume(first->self,
					       profcol_batch_ref(input->batches.items[i])));
	return clock_monotonic_ns() - begin;
}

/* The least that a round took. */
static uint64_t chain_measure(struct chain *chain, struct input *input, double seconds)
{
	uint64_t least = UINT64_MAX, end;

	for (size_t i = chain->count; i--;)
		if (chain->stages[i].component->start)
			must("start", chain->stages[i].component->start(chain->stages[i].self));
	end = clock_monotonic_ns() + (uint64_t)(seconds * 1e9);
	do {
		uint64_t ns;

		chain->passed = 0;
		ns = round_ns(&chain->stages[0], input);
		least = ns < least ? ns : least;
	} while (clock_monotonic_ns() < end);
	return least;
}

static void measure_cases(struct input *input, double seconds)
{
	printf("%zu requests, %llu samples\n", input->batches.count,
	       (unsigned long long)input->samples);
	for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
		struct chain chain;
		double ns;

		chain_init(&chain);
		chain_add(&chain, cases[at].component, cases[at].yaml);
		ns = (double)chain_measure(&chain, input, seconds);
		printf("%8.1f ns a sample, %3.0f%% left: %s %s\n", ns / (double)input->samples,
		       100 * (double)chain.passed / (double)input->samples,
		       cases[at].component->type, cases[at].yaml);
		chain_deinit(&chain);
	}
}

/* "TYPE=OPTIONS" */
static void chain_add_named(struct chain *chain, const char *text)
{
	for (size_t i = 0; i < sizeof(components) / sizeof(components[0]); i++) {
		size_t length = strlen(components[i]->type);

		if (!strncmp(text, components[i]->type, length) && text[length] == '=') {
			chain_add(chain, components[i], text + length + 1);
			return;
		}
	}
	fail(text, "is no TYPE=OPTIONS of a processor");
}

static void print_usage(void)
{
	fputs("usage: processor_time [--seconds S] [-p TYPE=OPTIONS]... FILE...\n", stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "seconds", required_argument, NULL, 's' }, {} };
	struct input input = { 0 };
	struct chain chain;
	double seconds = 1;
	uint64_t ns;
	int letter;

	chain_init(&chain);
	while ((letter = getopt_long(argc, argv, "p:", options, NULL)) != -1) {
		if (letter == 's')
			seconds = strtod(optarg, NULL);
		else if (letter == 'p')
			chain_add_named(&chain, optarg);
		else
			print_usage();
	}
	if (optind == argc)
		print_usage();
	// Memory of earlier rounds stays at hand: it is the processors that are measured.
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	for (; optind < argc; optind++)
		add_file(&input, argv[optind]);
	decode_batches(&input);
	if (!input.samples)
		fail("input", "has no samples");
	if (chain.count) {
		ns = chain_measure(&chain, &input, seconds);
		printf("{\"samples\": %llu, \"left\": %llu, \"ns\": %llu}\n",
		       (unsigned long long)input.samples, (unsigned long long)chain.passed,
		       (unsigned long long)ns);
	} else {
		measure_cases(&input, seconds);
	}
	chain_deinit(&chain);
	forget_batches(&input);
	VECTOR_DEINIT(&input.batches);
	VECTOR_DEINIT(&input.requests);
	for (size_t at = 0; at < input.files.count; at++)
		free(input.files.items[at]);
	VECTOR_DEINIT(&input.files);
	return 0;
}
