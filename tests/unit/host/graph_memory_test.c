// SPDX-License-Identifier: Apache-2.0
/* Builds a graph with the first, the second, ... allocation failing: linked with --wrap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/lifecycle/lifecycle.h"
#include "host/lifecycle/transition.h"

#include "fake_components.h"

#include <stdlib.h>
#include <unistd.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *pointer, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *pointer, size_t bytes);

static unsigned int until_failure; /* allocations that succeed before one fails; 0 = all do */

static bool fails_now(void)
{
	return until_failure && --until_failure == 0;
}

void *__wrap_malloc(size_t bytes)
{
	return fails_now() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return fails_now() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *pointer, size_t bytes)
{
	return fails_now() ? NULL : __real_realloc(pointer, bytes);
}

static const struct fake_options options;

static const struct config_pipeline pipeline = {
	.id = "profiles",
	.receivers = (const size_t[]){ 0 },
	.receiver_count = 1,
	.processors = (const size_t[]){ 1 },
	.processor_count = 1,
	.exporters = (const size_t[]){ 2 },
	.exporter_count = 1,
};

static const struct instance_settings settings = { .version = "0",
						   .level = PROFCOL_ERROR,
						   .log_fd = STDERR_FILENO };

static struct profcol_component agreeing; /* a processor that takes other options over */
static unsigned int agreed;

static bool agree(void *self, const void *config)
{
	(void)self;
	(void)config;
	agreed++;
	return true;
}

/* r -> p -> an exporter. */
struct chain {
	struct config_component components[3];
	struct config config;
};

static void chain_init(struct chain *chain, const char *exporter)
{
	agreeing = fake_processor;
	agreeing.reconfigure = agree;
	*chain = (struct chain){
		.components = { FAKE_COMPONENT(fake_receiver, "r", &options),
				FAKE_COMPONENT(agreeing, "p", &options),
				FAKE_COMPONENT(fake_exporter, exporter, &options) },
		.config = { .components = chain->components,
			    .component_count = 3,
			    .pipelines = &pipeline,
			    .pipeline_count = 1 },
	};
}

/* Both are called with one more allocation that succeeds each time, until all do. */

static void every_allocation_of_a_graph_may_fail(void **state)
{
	struct graph *graph = NULL;
	struct chain chain;
	unsigned int round = 0;

	(void)state;
	chain_init(&chain, "e");
	while (!graph) {
		struct profcol_error *error;

		until_failure = ++round;
		error = graph_create(&chain.config, &settings, &graph);
		until_failure = 0;
		if (!error)
			break;
		assert_null(graph);
		assert_int_equal(profcol_error_code(error), PROFCOL_NO_MEMORY);
		profcol_error_destroy(error);
		assert_true(round < 1000);
	}
	graph_destroy(graph);
	assert_true(round > 8); // three instances with their components, and the graph itself
}

static void every_allocation_of_a_transition_may_fail(void **state)
{
	const struct lifecycle_patience patience = { .drain_ns = PROFCOL_SECOND,
						     .grace_ns = PROFCOL_MINUTE };
	struct chain chain, other;
	enum transition_result result = TRANSITION_REFUSED;
	struct transition_settings how = { .patience = &patience };
	struct graph *graph = NULL;
	struct logger logger;

	(void)state;
	logging_init(&logger, "test", PROFCOL_ERROR, -1, NULL);
	how.logger = &logger.base;
	chain_init(&chain, "e");
	chain_init(&other, "other");
	assert_null(graph_create(&chain.config, &settings, &graph));
	assert_null(lifecycle_start(graph));
	for (unsigned int round = 1; result != TRANSITION_DONE; round++) {
		const struct layout *before = graph->layout;
		struct profcol_error *error = NULL;

		until_failure = round;
		result = transition_apply(graph, &other.config, &how, &error);
		until_failure = 0;
		if (result == TRANSITION_DONE)
			break;
		assert_int_equal(result, TRANSITION_REFUSED);
		assert_int_equal(agreed, 0); // nothing has happened
		assert_int_equal(profcol_error_code(error), PROFCOL_NO_MEMORY);
		profcol_error_destroy(error);
		assert_ptr_equal(graph->layout, before);
		assert_null(fake_push(fake_find(graph, "r"), 1));
		assert_true(round < 1000);
	}
	assert_int_equal(agreed, 1);
	assert_null(fake_push(fake_find(graph, "r"), 1));
	assert_null(lifecycle_shutdown(graph, &patience));
	graph_destroy(graph);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_allocation_of_a_graph_may_fail),
		cmocka_unit_test(every_allocation_of_a_transition_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
