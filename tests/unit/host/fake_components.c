// SPDX-License-Identifier: Apache-2.0
#include "fake_components.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

void fake_journal_init(struct fake_journal *journal)
{
	*journal = (struct fake_journal){ .lock = PTHREAD_MUTEX_INITIALIZER };
}

void fake_journal_add(struct fake_journal *journal, const char *format, ...)
{
	va_list arguments;

	if (!journal)
		return;
	pthread_mutex_lock(&journal->lock);
	va_start(arguments, format);
	journal->length +=
		(size_t)vsnprintf(journal->text + journal->length,
				  sizeof(journal->text) - journal->length, format, arguments);
	va_end(arguments);
	assert_true(journal->length < sizeof(journal->text));
	pthread_mutex_unlock(&journal->lock);
}

static struct profcol_error *fail_with(enum profcol_code code, const char *what)
{
	return code ? profcol_error_create(code, "%s refused by the test", what) : NULL;
}

/* ---- life ---- */

static void fake_destroy(void *self)
{
	struct fake *fake = self;

	fake_journal_add(fake->options->journal, "destroy %s; ", fake->host->id);
	profcol_batch_unref(fake->kept);
	free(fake);
}

static struct profcol_error *fake_create(const struct profcol_host *host, const void *config,
					 void **ret)
{
	const struct fake_options *options = config;
	struct fake *fake;

	fake_journal_add(options->journal, "create %s; ", host->id);
	if (options->create_fails)
		return fail_with(options->create_fails, "create");
	fake = calloc(1, sizeof(*fake));
	if (!fake)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	fake->host = host;
	fake->options = options;
	*ret = fake;
	return NULL;
}

static struct profcol_error *fake_start(void *self)
{
	struct fake *fake = self;

	fake_journal_add(fake->options->journal, "start %s; ", fake->host->id);
	if (fake->options->fatal)
		fake->host->report_status(fake->host, PROFCOL_STATUS_FATAL_ERROR,
					  "the test says so");
	if (fake->options->waits)
		poll(&(struct pollfd){ .fd = fake->host->end_fd, .events = POLLIN }, 1, -1);
	return fail_with(fake->options->start_fails, "start");
}

static void sleep_a_little(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static struct profcol_error *push(struct fake *fake, uint64_t samples)
{
	struct profcol_batch *batch = fake_batch((uint32_t)samples);

	return fake->host->consume_next(fake->host, batch);
}

static struct profcol_error *fake_shutdown(void *self, uint64_t deadline_ns)
{
	struct fake *fake = self;
	const struct fake_options *options = fake->options;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	(void)deadline_ns;
	fake_journal_add(options->journal, "shutdown %s; ", fake->host->id);
	while (options->hangs && atomic_load(options->hangs))
		sleep_a_little();
	if (options->takes) {
		fake->host->account(fake->host, PROFCOL_TAKEN, NULL, options->takes);
		fake->host->account(fake->host, PROFCOL_LOST, "ring_buffer_full", options->loses);
		error = push(fake, options->takes - options->loses);
	}
	if (fake->kept)
		error = fake->host->consume_next(fake->host, TAKE(fake->kept));
	return fail_with(options->shutdown_fails, "shutdown");
}

/* ---- data ---- */

/* Note how many threads are in here at once; with `meet`, give the others a chance to come. */
static void enter(struct fake *fake)
{
	unsigned int inside = atomic_fetch_add(&fake->inside, 1) + 1;
	unsigned int most = atomic_load(&fake->most_inside);

	while (inside > most && !atomic_compare_exchange_weak(&fake->most_inside, &most, inside))
		;
	for (int i = 0;
	     i < fake->options->meet_ms && atomic_load(&fake->most_inside) < fake->options->meet;
	     i++)
		sleep_a_little();
}

static struct profcol_error *exporter_consume(void *self, struct profcol_batch *batch)
{
	struct fake *fake = self;
	uint64_t samples = profcol_batch_events(batch);
	struct profcol_error *error = fail_with(fake->options->consume_fails, "batch");

	enter(fake);
	fake_journal_add(fake->options->journal, "consume %s %u; ", fake->host->id,
			 (unsigned int)samples);
	fake->seen = (uintptr_t)batch;
	atomic_fetch_add(&fake->batches, 1);
	if (!error)
		fake->host->account(fake->host, PROFCOL_EXPORTED, NULL, samples);
	atomic_fetch_sub(&fake->inside, 1);
	profcol_batch_unref(batch);
	return error;
}

static struct profcol_error *processor_consume(void *self, struct profcol_batch *batch)
{
	struct fake *fake = self;
	const struct fake_options *options = fake->options;
	uint64_t samples = profcol_batch_events(batch);
	struct profcol_batch *rest = batch;

	fake_journal_add(options->journal, "consume %s %u; ", fake->host->id,
			 (unsigned int)samples);
	atomic_fetch_add(&fake->batches, 1);
	if (options->consume_fails) {
		profcol_batch_unref(batch);
		return fail_with(options->consume_fails, "batch");
	}
	if (options->filters) {
		fake->host->account(fake->host, PROFCOL_FILTERED, "condition", options->filters);
		rest = fake_batch((uint32_t)(samples - options->filters));
		profcol_batch_unref(batch);
	}
	if (!options->keeps)
		return fake->host->consume_next(fake->host, rest);
	rest = fake->kept;
	fake->kept = batch;
	return rest ? fake->host->consume_next(fake->host, rest) : NULL;
}

const struct profcol_component fake_receiver = {
	.abi = PROFCOL_ABI,
	.size = sizeof(fake_receiver),
	.kind = PROFCOL_RECEIVER,
	.type = "fake",
	.summary = "takes what the test gives",
	.config_size = sizeof(struct fake_options),
	.create = fake_create,
	.start = fake_start,
	.shutdown = fake_shutdown,
	.destroy = fake_destroy,
};

const struct profcol_component fake_processor = {
	.abi = PROFCOL_ABI,
	.size = sizeof(fake_processor),
	.kind = PROFCOL_PROCESSOR,
	.type = "fake",
	.summary = "drops what the test says",
	.config_size = sizeof(struct fake_options),
	.create = fake_create,
	.start = fake_start,
	.consume = processor_consume,
	.shutdown = fake_shutdown,
	.destroy = fake_destroy,
};

const struct profcol_component fake_exporter = {
	.abi = PROFCOL_ABI,
	.size = sizeof(fake_exporter),
	.kind = PROFCOL_EXPORTER,
	.type = "fake",
	.summary = "counts what comes",
	.config_size = sizeof(struct fake_options),
	.create = fake_create,
	.start = fake_start,
	.consume = exporter_consume,
	.shutdown = fake_shutdown,
	.destroy = fake_destroy,
};

const struct profcol_component fake_extension = {
	.abi = PROFCOL_ABI,
	.size = sizeof(fake_extension),
	.kind = PROFCOL_EXTENSION,
	.type = "fake",
	.summary = "is there",
	.config_size = sizeof(struct fake_options),
	.create = fake_create,
	.start = fake_start,
	.shutdown = fake_shutdown,
	.destroy = fake_destroy,
};

const struct profcol_component fake_serial_exporter = {
	.abi = PROFCOL_ABI,
	.size = sizeof(fake_serial_exporter),
	.kind = PROFCOL_EXPORTER,
	.capabilities = PROFCOL_SERIAL,
	.type = "serial",
	.config_size = sizeof(struct fake_options),
	.create = fake_create,
	.consume = exporter_consume,
	.destroy = fake_destroy,
};

static struct profcol_error *bare_create(const struct profcol_host *host, const void *config,
					 void **ret)
{
	static char instance;

	(void)host;
	(void)config;
	*ret = &instance;
	return NULL;
}

static struct profcol_error *bare_consume(void *self, struct profcol_batch *batch)
{
	(void)self;
	profcol_batch_unref(batch);
	return NULL;
}

const struct profcol_component fake_bare_exporter = {
	.abi = PROFCOL_ABI,
	.size = sizeof(fake_bare_exporter),
	.kind = PROFCOL_EXPORTER,
	.type = "bare",
	.create = bare_create,
	.consume = bare_consume,
};

/* ---- batches and graphs ---- */

struct profcol_batch *fake_batch(uint32_t samples)
{
	struct profcol_builder *builder = profcol_builder_create();
	struct profcol_error *error;
	struct profcol_batch *batch;

	assert_non_null(builder);
	profcol_builder_add_resource(builder, &(struct profcol_resource){ 0 });
	profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
	profcol_builder_add_profile(
		builder, &(struct profcol_profile){ .duration_ns = 1000 + (uint64_t)samples });
	for (uint32_t i = 0; i < samples; i++) {
		uint64_t time_ns = 1000 + i;

		profcol_builder_add_sample(builder, &(struct profcol_sample){
							    .timestamp_count = 1,
							    .timestamps_unix_ns = &time_ns,
						    });
	}
	error = profcol_builder_seal(builder, &batch);
	assert_null(error);
	return batch;
}

struct profcol_error *fake_push(struct instance *receiver, uint32_t samples)
{
	receiver->host.account(&receiver->host, PROFCOL_TAKEN, NULL, samples);
	return push(receiver->self, samples);
}

struct instance *fake_find(const struct graph *graph, const char *id)
{
	for (size_t i = 0; i < graph->layout->entries.count; i++)
		if (strcmp(graph->layout->entries.items[i].instance->id, id) == 0)
			return graph->layout->entries.items[i].instance;
	fail_msg("no instance '%s'", id);
	return NULL;
}

void fake_chain_init(struct fake_chain *chain, struct fake_journal *journal)
{
	static const size_t positions[] = { 0, 1, 2, 3 };

	*chain = (struct fake_chain){
		.components = {
			FAKE_COMPONENT(fake_receiver, "r", &chain->r),
			FAKE_COMPONENT(fake_processor, "p1", &chain->p1),
			FAKE_COMPONENT(fake_processor, "p2", &chain->p2),
			FAKE_COMPONENT(fake_exporter, "e", &chain->e),
		},
		.pipeline = { .id = "profiles", .receivers = positions, .receiver_count = 1,
			      .processors = positions + 1, .processor_count = 2,
			      .exporters = positions + 3, .exporter_count = 1 },
	};
	chain->r.journal = chain->p1.journal = chain->p2.journal = chain->e.journal = journal;
	chain->config = (struct config){
		.components = chain->components,
		.component_count = 4,
		.pipelines = &chain->pipeline,
		.pipeline_count = 1,
	};
}
