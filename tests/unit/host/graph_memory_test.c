// SPDX-License-Identifier: Apache-2.0
/* Builds a graph with the first, the second, ... allocation failing: linked with --wrap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/graph.h"

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

static void every_allocation_of_a_graph_may_fail(void **state)
{
	const struct instance_settings settings = { .version = "0",
						    .level = PROFCOL_ERROR,
						    .log_fd = STDERR_FILENO };
	static const struct fake_options options;
	const struct config_component components[] = {
		FAKE_COMPONENT(fake_receiver, "r", &options),
		FAKE_COMPONENT(fake_processor, "p", &options),
		FAKE_COMPONENT(fake_exporter, "e", &options),
	};
	const struct config_pipeline pipeline = {
		.id = "profiles",
		.receivers = FAKE_POSITIONS(0),
		.receiver_count = 1,
		.processors = FAKE_POSITIONS(1),
		.processor_count = 1,
		.exporters = FAKE_POSITIONS(2),
		.exporter_count = 1,
	};
	const struct config config = { .components = components,
				       .component_count = 3,
				       .pipelines = &pipeline,
				       .pipeline_count = 1 };
	struct graph *graph = NULL;
	unsigned int round = 0;

	(void)state;
	while (!graph) {
		struct profcol_error *error;

		until_failure = ++round;
		error = graph_create(&config, &settings, &graph);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_allocation_of_a_graph_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
