// SPDX-License-Identifier: Apache-2.0
/* What a receiver is told of those that come after it: profcol_host.known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/lifecycle/transition.h"

#include "graph_fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

static struct {
	atomic_uint asked; /* times */
	bool processor, exporter;
} answers;

static bool processor_knows(void *self, const char *key, const char *value)
{
	const struct fake *fake = self;

	assert_non_null(fake->host);
	assert_string_equal(key, "container.id");
	assert_string_equal(value, "c0ffee");
	answers.asked++;
	return answers.processor;
}

static bool exporter_knows(void *self, const char *key, const char *value)
{
	(void)self;
	(void)key;
	(void)value;
	return answers.exporter;
}

static struct profcol_component processor, exporter; /* fakes that have `knows` */

static int set_up(void **state)
{
	memset(&answers, 0, sizeof(answers));
	processor = fake_processor;
	processor.knows = processor_knows;
	exporter = fake_exporter;
	exporter.knows = exporter_knows;
	return fresh_journal(state);
}

static bool known_to_those_after(const struct graph *graph, const char *id)
{
	const struct instance *instance = fake_find(graph, id);

	return instance->host.known(&instance->host, "container.id", "c0ffee");
}

static void where_nobody_has_to_know_all_is_known(void **state)
{
	struct fake_chain chain;
	struct graph *graph;

	(void)state;
	fake_chain_init(&chain, &journal);
	graph = build(&chain.config);
	expect_success(lifecycle_start(graph));
	assert_true(known_to_those_after(graph, "r"));
	assert_true(known_to_those_after(graph, "p2"));
	assert_null(fake_find(graph, "e")->host.known);
	end(graph);
}

static void all_that_come_after_have_to_know(void **state)
{
	struct fake_chain chain;
	struct graph *graph;

	(void)state;
	fake_chain_init(&chain, &journal);
	chain.components[2].type = &processor;
	chain.components[3].type = &exporter;
	graph = build(&chain.config);
	expect_success(lifecycle_start(graph));
	assert_false(known_to_those_after(graph, "r"));
	answers.processor = true;
	assert_false(known_to_those_after(graph, "r"));
	answers.exporter = true;
	assert_true(known_to_those_after(graph, "r"));
	assert_true(known_to_those_after(graph, "p1"));
	answers.processor = false;
	assert_false(known_to_those_after(graph, "p1"));
	assert_true(known_to_those_after(graph, "p2")); // it is none that comes after itself
	end(graph);
}

static void who_does_not_run_knows_nothing(void **state)
{
	struct fake_chain chain;
	struct graph *graph;

	(void)state;
	fake_chain_init(&chain, &journal);
	chain.components[1].type = &processor;
	answers.processor = true;
	graph = build(&chain.config);
	assert_false(known_to_those_after(graph, "r"));
	expect_success(lifecycle_start(graph));
	assert_true(known_to_those_after(graph, "r"));
	expect_success(lifecycle_shutdown(graph, &patience));
	assert_false(known_to_those_after(graph, "r")); // what went on now would be refused
	assert_int_equal(answers.asked, 1);
	graph_destroy(graph);
}

static void while_a_reload_holds_the_edges_nothing_is_known(void **state)
{
	struct fake_chain chain;
	struct graph *graph;
	struct edges *edges;

	(void)state;
	fake_chain_init(&chain, &journal);
	graph = build(&chain.config);
	expect_success(lifecycle_start(graph));
	edges = &fake_find(graph, "p1")->next;
	assert_true(edges_hold(edges, 0));
	assert_false(known_to_those_after(graph, "r")); // and nobody waits
	assert_true(known_to_those_after(graph, "p2"));
	edges_release(edges, NULL);
	assert_true(known_to_those_after(graph, "r"));
	end(graph);
}

static void while_one_takes_new_options_it_knows_nothing(void **state)
{
	struct fake_chain chain;
	struct graph *graph;
	struct instance *p1;

	(void)state;
	fake_chain_init(&chain, &journal);
	chain.components[1].type = &processor;
	answers.processor = true;
	graph = build(&chain.config);
	expect_success(lifecycle_start(graph));
	p1 = fake_find(graph, "p1");
	pthread_rwlock_wrlock(&p1->gate);
	assert_false(known_to_those_after(graph, "r"));
	pthread_rwlock_unlock(&p1->gate);
	assert_true(known_to_those_after(graph, "r"));
	end(graph);
}

/* ---- reloads ---- */

static struct logger logger;

/* r -> p1 -> p2 -> e, where p1 has to know; then r -> e; and back. */
struct routes {
	struct fake_chain whole, direct, back;
	struct transition_settings how;
};

static void routes_init(struct routes *routes)
{
	static const size_t exporters[] = { 3 };
	struct fake_chain *const chains[] = { &routes->whole, &routes->direct, &routes->back };

	logging_init(&logger, "test", PROFCOL_ERROR, -1, NULL);
	routes->how = (struct transition_settings){ .patience = &patience, .logger = &logger.base };
	for (size_t chain = 0; chain < 3; chain++) {
		fake_chain_init(chains[chain], &journal);
		for (size_t i = 0; i < 4; i++) // alike: they go on
			chains[chain]->components[i].text = "";
	}
	routes->whole.components[1].type = routes->back.components[1].type = &processor;
	routes->direct.pipeline = (struct config_pipeline){
		.id = "profiles",
		.receivers = routes->whole.pipeline.receivers,
		.receiver_count = 1,
		.exporters = exporters,
		.exporter_count = 1,
	};
}

static void go_over(struct graph *graph, const struct routes *routes, struct fake_chain *chain)
{
	struct profcol_error *error = NULL;

	assert_int_equal(transition_apply(graph, &chain->config, &routes->how, &error),
			 TRANSITION_DONE);
}

static void after_a_reload_the_new_ones_are_asked(void **state)
{
	struct routes routes;
	struct graph *graph;

	(void)state;
	routes_init(&routes);
	graph = build(&routes.whole.config);
	expect_success(lifecycle_start(graph));
	assert_false(known_to_those_after(graph, "r"));
	go_over(graph, &routes, &routes.direct);
	assert_true(known_to_those_after(graph, "r"));
	assert_int_equal(answers.asked, 1);
	go_over(graph, &routes, &routes.back);
	assert_false(known_to_those_after(graph, "r"));
	answers.processor = true;
	assert_true(known_to_those_after(graph, "r"));
	assert_null(strstr(journal.text, "shutdown r"));
	end(graph);
}

struct asking {
	struct instance *receiver; /* borrowed; goes on in every reload */
	atomic_bool ending;
	atomic_uint times;
};

static void *ask(void *argument)
{
	struct asking *asking = argument;
	const struct profcol_host *host = &asking->receiver->host;

	while (!atomic_load(&asking->ending)) {
		(void)host->known(host, "container.id", "c0ffee");
		atomic_fetch_add(&asking->times, 1);
	}
	return NULL;
}

static void await_answers(struct asking *asking)
{
	unsigned int begin = atomic_load(&asking->times);

	for (int i = 0; atomic_load(&asking->times) - begin < 10; i++) {
		assert_true(i < 30000);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

/* Who is asked is there, and runs: the sanitizers and the fake's own checks see to that. */
static void a_reload_may_come_while_somebody_asks(void **state)
{
	struct asking asking = { .times = 0 };
	struct routes routes;
	struct graph *graph;
	pthread_t thread;

	(void)state;
	routes_init(&routes);
	graph = build(&routes.whole.config);
	expect_success(lifecycle_start(graph));
	asking.receiver = fake_find(graph, "r");
	assert_int_equal(pthread_create(&thread, NULL, ask, &asking), 0);
	await_answers(&asking);
	go_over(graph, &routes, &routes.direct);
	await_answers(&asking);
	go_over(graph, &routes, &routes.back);
	await_answers(&asking);
	atomic_store(&asking.ending, true);
	pthread_join(thread, NULL);
	assert_false(known_to_those_after(graph, "r"));
	end(graph);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(where_nobody_has_to_know_all_is_known, set_up),
		cmocka_unit_test_setup(all_that_come_after_have_to_know, set_up),
		cmocka_unit_test_setup(who_does_not_run_knows_nothing, set_up),
		cmocka_unit_test_setup(while_a_reload_holds_the_edges_nothing_is_known, set_up),
		cmocka_unit_test_setup(while_one_takes_new_options_it_knows_nothing, set_up),
		cmocka_unit_test_setup(after_a_reload_the_new_ones_are_asked, set_up),
		cmocka_unit_test_setup(a_reload_may_come_while_somebody_asks, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
