// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph_fixture.h"

#include <profcol/storage.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- life ---- */

static void downstream_starts_first_and_stops_last(void **state)
{
	struct fake_chain chain;
	struct graph *graph;

	(void)state;
	fake_chain_init(&chain, &journal);
	graph = build(&chain.config);
	expect_success(lifecycle_start(graph));
	expect_success(fake_push(fake_find(graph, "r"), 3));
	expect_success(lifecycle_shutdown(graph, &patience));
	expect_success(lifecycle_shutdown(graph, &patience)); // does nothing
	graph_destroy(graph);
	assert_string_equal(journal.text, "create e; create p2; create p1; create r; "
					  "start e; start p2; start p1; start r; "
					  "consume p1 3; consume p2 3; consume e 3; "
					  "shutdown r; shutdown p1; shutdown p2; shutdown e; "
					  "destroy r; destroy p1; destroy p2; destroy e; ");
}

static void a_failed_create_undoes_the_others(void **state)
{
	struct fake_chain chain;
	struct graph *graph = NULL;

	(void)state;
	fake_chain_init(&chain, &journal);
	chain.p1.create_fails = PROFCOL_CONFIG;
	expect_error(graph_create(&chain.config, &quiet, &graph), PROFCOL_CONFIG,
		     "test.yaml:1:1: failed to create processor 'p1': create refused by the test");
	assert_null(graph);
	assert_string_equal(journal.text,
			    "create e; create p2; create p1; destroy p2; destroy e; ");
}

static void a_failed_start_names_the_component(void **state)
{
	struct fake_chain chain;
	struct graph *graph;

	(void)state;
	fake_chain_init(&chain, &journal);
	chain.p2.start_fails = PROFCOL_UNSUPPORTED;
	graph = build(&chain.config);
	expect_error(lifecycle_start(graph), PROFCOL_UNSUPPORTED,
		     "processor 'p2': start refused by the test");
	end(graph);
	assert_string_equal(journal.text,
			    "create e; create p2; create p1; create r; start e; start p2; "
			    "shutdown r; shutdown p1; shutdown p2; shutdown e; "
			    "destroy r; destroy p1; destroy p2; destroy e; ");
}

static void a_failed_shutdown_does_not_stop_the_rest(void **state)
{
	struct fake_chain chain;
	struct graph *graph;

	(void)state;
	fake_chain_init(&chain, &journal);
	chain.p1.shutdown_fails = PROFCOL_SYSTEM;
	chain.e.shutdown_fails = PROFCOL_UNAVAILABLE;
	graph = build(&chain.config);
	expect_success(lifecycle_start(graph));
	expect_error(lifecycle_shutdown(graph, &patience), PROFCOL_SYSTEM,
		     "processor 'p1': shutdown refused by the test\n"
		     "exporter 'e': shutdown refused by the test");
	assert_non_null(strstr(journal.text, "shutdown r; shutdown p1; shutdown p2; shutdown e; "));
	graph_destroy(graph);
}

/* ---- extensions ---- */

/* A chain with two extensions, the second of which comes first. */
struct extended {
	struct fake_chain chain;
	struct fake_options x, y;
	struct config_component components[6];
};

static void extended_init(struct extended *extended)
{
	static const size_t extensions[] = { 5, 4 };
	const struct config_component added[] = {
		FAKE_COMPONENT(fake_extension, "x", &extended->x),
		FAKE_COMPONENT(fake_extension, "y", &extended->y),
	};

	*extended = (struct extended){ 0 };
	fake_chain_init(&extended->chain, &journal);
	extended->x.journal = extended->y.journal = &journal;
	memcpy(extended->components, extended->chain.components,
	       sizeof(extended->chain.components));
	memcpy(extended->components + 4, added, sizeof(added));
	extended->chain.config.components = extended->components;
	extended->chain.config.component_count = 6;
	extended->chain.config.extensions = extensions;
	extended->chain.config.extension_count = 2;
}

static void extensions_are_there_before_and_after_all_else(void **state)
{
	struct extended extended;
	struct graph *graph;
	char samples[256];

	(void)state;
	extended_init(&extended);
	graph = build(&extended.chain.config);
	expect_success(lifecycle_start(graph));
	expect_success(fake_push(fake_find(graph, "r"), 2));
	expect_success(lifecycle_shutdown(graph, &patience));
	graph_format_samples(graph, NULL, samples, sizeof(samples));
	assert_string_equal(samples, "samples: taken=2 exported=2 filtered=0 lost=0");
	graph_destroy(graph);
	assert_string_equal(journal.text,
			    "create y; create x; create e; create p2; create p1; create r; "
			    "start y; start x; start e; start p2; start p1; start r; "
			    "consume p1 2; consume p2 2; consume e 2; "
			    "shutdown r; shutdown p1; shutdown p2; shutdown e; shutdown x; "
			    "shutdown y; destroy r; destroy p1; destroy p2; destroy e; "
			    "destroy x; destroy y; ");
}

static void extensions_can_be_found_by_those_created_later(void **state)
{
	struct extended extended;
	struct instance_settings settings = quiet;
	struct graph *graph;

	(void)state;
	extended_init(&extended);
	graph = build(&extended.chain.config);
	settings.extensions = graph->layout->extensions;
	settings.extension_count = graph->layout->extension_count;
	assert_ptr_equal(instance_find_extension(&settings, "x"), fake_find(graph, "x"));
	assert_ptr_equal(instance_find_extension(&settings, "y"), fake_find(graph, "y"));
	assert_null(instance_find_extension(&settings, "e"));
	graph_destroy(graph);
}

static void an_extension_that_fails_is_named(void **state)
{
	struct extended extended;
	struct graph *graph = NULL;

	(void)state;
	extended_init(&extended);
	extended.x.start_fails = PROFCOL_SYSTEM;
	graph = build(&extended.chain.config);
	expect_error(lifecycle_start(graph), PROFCOL_SYSTEM,
		     "extension 'x': start refused by the test");
	assert_null(strstr(journal.text, "start e"));
	end(graph);
	fresh_journal(NULL);
	extended.x.create_fails = PROFCOL_CONFIG;
	expect_error(graph_create(&extended.chain.config, &quiet, &graph), PROFCOL_CONFIG,
		     "test.yaml:1:1: failed to create extension 'x': create refused by the test");
	assert_string_equal(journal.text, "create y; create x; destroy y; ");
}

static void a_component_may_lack_the_optional_functions(void **state)
{
	static const struct fake_options options;
	const struct config_component components[] = {
		FAKE_COMPONENT(fake_receiver, "r", &options),
		FAKE_COMPONENT(fake_bare_exporter, "bare", NULL),
	};
	const struct config_pipeline pipeline = {
		.id = "profiles",
		.receivers = FAKE_POSITIONS(0),
		.receiver_count = 1,
		.exporters = FAKE_POSITIONS(1),
		.exporter_count = 1,
	};
	const struct config config = { .components = components,
				       .component_count = 2,
				       .pipelines = &pipeline,
				       .pipeline_count = 1 };
	struct graph *graph;

	(void)state;
	graph = build(&config);
	expect_success(lifecycle_start(graph));
	expect_success(fake_push(fake_find(graph, "r"), 1));
	end(graph);
}

static void an_exporter_that_cannot_consume_is_refused(void **state)
{
	static const struct profcol_component lame = { .kind = PROFCOL_EXPORTER, .type = "lame" };
	struct fake_chain chain;
	struct graph *graph = NULL;

	(void)state;
	fake_chain_init(&chain, &journal);
	chain.components[3].type = &lame;
	expect_error(graph_create(&chain.config, &quiet, &graph), PROFCOL_UNSUPPORTED,
		     "test.yaml:1:1: failed to create exporter 'e': "
		     "component type 'lame' lacks a function it needs");
}

/* A plugin's word for what it provides is not taken: a queue calls all of these. */
static void a_storage_without_all_its_functions_is_refused(void **state)
{
	static const struct profcol_storage_operations sizeless = { .size = 8 };
	static const struct profcol_storage_operations hollow = { .size = sizeof(hollow) };
	static const struct profcol_storage_operations *const storages[] = { &sizeless, &hollow };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct profcol_component lame = fake_extension;
		struct config_component extension = {
			.kind = PROFCOL_EXTENSION,
			.id = "x",
			.place = "test.yaml:1:1",
			.type = &lame,
		};
		const struct config config = { .components = &extension,
					       .component_count = 1,
					       .extensions = FAKE_POSITIONS(0),
					       .extension_count = 1 };
		struct graph *graph = NULL;

		lame.type = "lame";
		lame.storage = storages[i];
		expect_error(graph_create(&config, &quiet, &graph), PROFCOL_UNSUPPORTED,
			     "test.yaml:1:1: failed to create extension 'x': "
			     "component type 'lame' lacks a function it needs");
	}
}

/* ---- the shutdown's deadline ---- */

struct overdue {
	char id[32];
	atomic_bool hangs;
};

static void let_go(const struct instance *stuck, void *context)
{
	struct overdue *overdue = context;

	strncpy(overdue->id, stuck->host.id, sizeof(overdue->id) - 1);
	atomic_store(&overdue->hangs, false);
}

/* A chain whose p2 hangs in its shutdown until @overdue says otherwise. */
static struct graph *start_overdue(struct fake_chain *chain, struct overdue *overdue)
{
	struct graph *graph;

	fake_chain_init(chain, &journal);
	chain->p2.hangs = &overdue->hangs;
	graph = build(&chain->config);
	expect_success(lifecycle_start(graph));
	return graph;
}

static void shut_down_soon(struct graph *graph, struct overdue *overdue)
{
	const struct lifecycle_patience short_patience = {
		.drain_ns = 20 * PROFCOL_MILLISECOND,
		.grace_ns = 20 * PROFCOL_MILLISECOND,
		.give_up = let_go,
		.context = overdue,
	};

	expect_success(lifecycle_shutdown(graph, &short_patience));
}

static void a_component_that_hangs_is_given_up_and_named(void **state)
{
	struct overdue overdue = { .hangs = true };
	struct fake_chain chain;
	struct graph *graph;

	(void)state;
	graph = start_overdue(&chain, &overdue);
	shut_down_soon(graph, &overdue);
	assert_string_equal(overdue.id, "p2");
	graph_destroy(graph);
}

/* ---- a machine that stands still ---- */

static const uint64_t HOUR_NS = 3600 * PROFCOL_SECOND;

static atomic_bool is_still;  /* for the watch, which finds that an hour has passed */
static atomic_uint looked_at; /* how often it has been told so */
static pthread_t main_thread;

uint64_t __real_clock_monotonic_ns(void);
uint64_t __wrap_clock_monotonic_ns(void);

uint64_t __wrap_clock_monotonic_ns(void)
{
	uint64_t now_ns = __real_clock_monotonic_ns();

	if (!atomic_load(&is_still) || pthread_equal(pthread_self(), main_thread))
		return now_ns;
	atomic_fetch_add(&looked_at, 1);
	return now_ns + HOUR_NS;
}

/* Lets the component return once the watch has found itself late. */
static void *return_then(void *context)
{
	struct overdue *overdue = context;

	while (atomic_load(&looked_at) < 3 && atomic_load(&overdue->hangs))
		usleep(1000);
	atomic_store(&overdue->hangs, false);
	return NULL;
}

static void nobody_is_given_up_where_the_machine_stood_still(void **state)
{
	struct overdue overdue = { .hangs = true };
	struct fake_chain chain;
	struct graph *graph;
	pthread_t thread;

	(void)state;
	graph = start_overdue(&chain, &overdue);
	main_thread = pthread_self();
	atomic_store(&is_still, true);
	assert_int_equal(pthread_create(&thread, NULL, return_then, &overdue), 0);
	shut_down_soon(graph, &overdue);
	pthread_join(thread, NULL);
	atomic_store(&is_still, false);
	assert_string_equal(overdue.id, "");
	graph_destroy(graph);
}

#define JOURNALED(test) cmocka_unit_test_setup(test, fresh_journal)

int main(void)
{
	const struct CMUnitTest tests[] = {
		JOURNALED(downstream_starts_first_and_stops_last),
		JOURNALED(a_failed_create_undoes_the_others),
		JOURNALED(a_failed_start_names_the_component),
		JOURNALED(a_failed_shutdown_does_not_stop_the_rest),
		JOURNALED(extensions_are_there_before_and_after_all_else),
		JOURNALED(extensions_can_be_found_by_those_created_later),
		JOURNALED(an_extension_that_fails_is_named),
		JOURNALED(a_component_may_lack_the_optional_functions),
		JOURNALED(an_exporter_that_cannot_consume_is_refused),
		JOURNALED(a_storage_without_all_its_functions_is_refused),
		JOURNALED(a_component_that_hangs_is_given_up_and_named),
		JOURNALED(nobody_is_given_up_where_the_machine_stood_still),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
