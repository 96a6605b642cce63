// SPDX-License-Identifier: Apache-2.0
#include "reload_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

struct fake_journal reload_journal;
atomic_bool reload_stalled;
atomic_uint reload_inside;
char reload_error[1024];
char reload_samples[4096];

static atomic_bool ports[RELOAD_PORTS];

/* One for all four kinds. */
struct part {
	const struct profcol_host *host;
	const struct reload_options *options;
	atomic_bool ending;
	bool running;
	pthread_t thread;
	atomic_uint batches;
	pthread_mutex_t lock;
	struct profcol_batch *kept; /* owned */
	bool bound;
};

static void note(const struct part *part, const char *what)
{
	fake_journal_add(&reload_journal, "%s %s %d; ", what, part->host->id,
			 (int)part->options->version);
}

static struct profcol_error *part_create(const struct profcol_host *host, const void *config,
					 void **ret)
{
	const struct reload_options *options = config;
	struct part *part;

	if (options->create_fails)
		return profcol_error_create(PROFCOL_CONFIG, "create refused by the test");
	part = calloc(1, sizeof(*part));
	if (!part)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	part->host = host;
	part->options = options;
	pthread_mutex_init(&part->lock, NULL);
	*ret = part;
	return NULL;
}

static void part_destroy(void *self)
{
	struct part *part = self;

	profcol_batch_unref(part->kept);
	pthread_mutex_destroy(&part->lock);
	free(part);
}

static void *source_thread(void *argument)
{
	struct part *part = argument;

	while (!atomic_load(&part->ending)) {
		struct profcol_batch *batch = fake_batch(3);

		part->host->account(part->host, PROFCOL_TAKEN, NULL, 4);
		part->host->account(part->host, PROFCOL_FILTERED, "idle", 1);
		profcol_error_destroy(part->host->consume_next(part->host, batch));
		atomic_fetch_add(&part->batches, 1);
	}
	return NULL;
}

static struct profcol_error *part_start(void *self)
{
	struct part *part = self;
	int64_t port = part->options->port;

	note(part, "start");
	if (part->options->start_fails)
		return profcol_error_create(PROFCOL_SYSTEM, "start refused by the test");
	if (port && atomic_exchange(&ports[port], true))
		return profcol_error_create(PROFCOL_SYSTEM, "port %d is in use", (int)port);
	if (part->options->steals)
		return profcol_error_create(PROFCOL_SYSTEM, "start refused by the test");
	part->bound = port;
	if (part->options->running)
		part->running = pthread_create(&part->thread, NULL, source_thread, part) == 0;
	return NULL;
}

static struct profcol_error *part_shutdown(void *self, uint64_t deadline_ns)
{
	struct part *part = self;
	struct profcol_batch *kept;

	(void)deadline_ns;
	note(part, "shutdown");
	atomic_store(&part->ending, true);
	if (part->running)
		pthread_join(part->thread, NULL);
	part->running = false;
	kept = TAKE(part->kept);
	if (kept)
		profcol_error_destroy(part->host->consume_next(part->host, kept));
	if (part->bound)
		atomic_store(&ports[part->options->port], false);
	part->bound = false;
	return NULL;
}

static bool part_reconfigure(void *self, const void *config)
{
	const struct reload_options *options = config;
	struct part *part = self;

	if (!options->agrees)
		return false;
	part->options = options;
	note(part, "reconfigure");
	return true;
}

static struct profcol_error *pass_consume(void *self, struct profcol_batch *batch)
{
	struct part *part = self;

	if (part->options->keeps) {
		struct profcol_batch *other;

		pthread_mutex_lock(&part->lock);
		other = part->kept;
		part->kept = batch;
		pthread_mutex_unlock(&part->lock);
		batch = other;
	}
	return batch ? part->host->consume_next(part->host, batch) : NULL;
}

static struct profcol_error *sink_consume(void *self, struct profcol_batch *batch)
{
	struct part *part = self;

	while (part->options->stalls && atomic_load(&reload_stalled)) {
		atomic_fetch_add(&reload_inside, 1);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	part->host->account(part->host, PROFCOL_EXPORTED, NULL, profcol_batch_events(batch));
	profcol_batch_unref(batch);
	return NULL;
}

static const struct profcol_option options[] = {
	PROFCOL_OPTION_INT("version", struct reload_options, version, "0", 0, 1000, "none"),
	PROFCOL_OPTION_INT("port", struct reload_options, port, "0", 0, RELOAD_PORTS - 1, "own"),
	PROFCOL_OPTION_BOOL("running", struct reload_options, running, "false", "push"),
	PROFCOL_OPTION_BOOL("keeps", struct reload_options, keeps, "false", "hold one back"),
	PROFCOL_OPTION_BOOL("stalls", struct reload_options, stalls, "false", "wait"),
	PROFCOL_OPTION_BOOL("agrees", struct reload_options, agrees, "false", "reconfigure"),
	PROFCOL_OPTION_BOOL("create_fails", struct reload_options, create_fails, "false", "fail"),
	PROFCOL_OPTION_BOOL("start_fails", struct reload_options, start_fails, "false", "fail"),
	PROFCOL_OPTION_BOOL("steals", struct reload_options, steals, "false", "fail and keep"),
	PROFCOL_OPTION_END,
};

#define PART(kind_, type_, consume_)                                                               \
	{                                                                                          \
		.abi = PROFCOL_ABI,                                                                \
		.size = sizeof(struct profcol_component),                                          \
		.kind = (kind_),                                                                   \
		.type = (type_),                                                                   \
		.summary = "of the test",                                                          \
		.options = options,                                                                \
		.config_size = sizeof(struct reload_options),                                      \
		.create = part_create,                                                             \
		.start = part_start,                                                               \
		.consume = (consume_),                                                             \
		.shutdown = part_shutdown,                                                         \
		.destroy = part_destroy,                                                           \
		.reconfigure = part_reconfigure,                                                   \
	}

static const struct profcol_component source = PART(PROFCOL_RECEIVER, "source", NULL);
static const struct profcol_component pass = PART(PROFCOL_PROCESSOR, "pass", pass_consume);
static const struct profcol_component sink = PART(PROFCOL_EXPORTER, "sink", sink_consume);
static const struct profcol_component beside = PART(PROFCOL_EXTENSION, "beside", NULL);

static const struct profcol_component *const components[] = { &source, &pass, &sink, &beside };

const struct component_registry reload_components = { .components = components, .count = 4 };

/* ---- graphs ---- */

static struct logger logger;
struct lifecycle_patience reload_patience;

int reload_begin(void **state)
{
	(void)state;
	fake_journal_init(&reload_journal);
	for (size_t i = 0; i < RELOAD_PORTS; i++)
		atomic_store(&ports[i], false);
	atomic_store(&reload_stalled, false);
	atomic_store(&reload_inside, 0);
	reload_error[0] = '\0';
	reload_patience = (struct lifecycle_patience){
		.drain_ns = 2 * PROFCOL_SECOND,
		.grace_ns = 20 * PROFCOL_SECOND,
	};
	logging_init(&logger, "profcol", PROFCOL_ERROR + 1, -1, NULL);
	return 0;
}

int reload_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < RELOAD_PORTS; i++)
		assert_false(atomic_load(&ports[i]));
	return 0;
}

void reload_free_port(size_t port)
{
	atomic_store(&ports[port], false);
}

struct config *reload_config(const char *text)
{
	struct config *config = NULL;
	struct profcol_error *error;

	error = config_parse("test.yaml", text, strlen(text), &reload_components, &config);
	if (error)
		fail_msg("%s", profcol_error_message(error));
	return config;
}

struct graph *reload_graph(const char *text, struct config **first_ret)
{
	const struct instance_settings settings = { .version = "0.0.0-test",
						    .level = PROFCOL_ERROR,
						    .log_fd = -1 };
	struct graph *graph = NULL;
	struct profcol_error *error;

	*first_ret = reload_config(text);
	error = graph_create(*first_ret, &settings, &graph);
	if (!error)
		error = lifecycle_start(graph);
	if (error)
		fail_msg("%s", profcol_error_message(error));
	return graph;
}

enum transition_result reload_to(struct graph *graph, const char *text)
{
	const struct transition_settings settings = { .patience = &reload_patience,
						      .logger = &logger.base };
	struct profcol_error *error = NULL;
	enum transition_result result;

	result = transition_apply(graph, reload_config(text), &settings, &error);
	reload_error[0] = '\0';
	if (error)
		strncpy(reload_error, profcol_error_message(error), sizeof(reload_error) - 1);
	profcol_error_destroy(error);
	return result;
}

void reload_finish(struct graph *graph, struct config *first)
{
	struct profcol_error *error = lifecycle_shutdown(graph, &reload_patience);

	if (error)
		fail_msg("%s", profcol_error_message(error));
	graph_format_samples(graph, NULL, reload_samples, sizeof(reload_samples));
	graph_destroy(graph);
	config_destroy(first);
	if (strstr(reload_samples, "unaccounted"))
		fail_msg("%s", reload_samples);
}

void expect_journal(const char *expected)
{
	assert_string_equal(reload_journal.text, expected);
}

void forget_journal(void)
{
	reload_journal.length = 0;
	reload_journal.text[0] = '\0';
}

struct instance *reload_find(const struct graph *graph, const char *id)
{
	return fake_find(graph, id);
}

void reload_await_batches(struct graph *graph, const char *id, unsigned int batches)
{
	struct part *part = reload_find(graph, id)->self;
	unsigned int begin = atomic_load(&part->batches);

	for (int i = 0; atomic_load(&part->batches) - begin < batches; i++) {
		assert_true(i < 30000);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}
