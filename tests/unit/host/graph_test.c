// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void expect_samples(const struct graph *graph, const char *line)
{
	char text[4096];

	graph_format_samples(graph, NULL, text, sizeof(text));
	assert_string_equal(text, line);
}

/* ---- edges ---- */

static void consume_is_refused_before_start_and_after_shutdown(void **state)
{
	struct fake_chain chain;
	struct graph *graph;

	(void)state;
	fake_chain_init(&chain, &journal);
	graph = build(&chain.config);
	expect_error(fake_push(fake_find(graph, "r"), 2), PROFCOL_SHUTDOWN,
		     "p1: not running, batch refused");
	expect_success(lifecycle_start(graph));
	expect_success(lifecycle_shutdown(graph, &patience));
	expect_error(fake_push(fake_find(graph, "r"), 3), PROFCOL_SHUTDOWN,
		     "p1: not running, batch refused");
	assert_null(strstr(journal.text, "consume"));
	expect_samples(graph, "samples: taken=5 exported=0 filtered=0 lost=5 (shutdown=5)");
	graph_destroy(graph);
}

static void a_batch_held_until_shutdown_still_arrives(void **state)
{
	struct fake_chain chain;
	struct graph *graph;

	(void)state;
	fake_chain_init(&chain, &journal);
	chain.p1.keeps = true;
	chain.r.takes = 5;
	graph = build(&chain.config);
	expect_success(lifecycle_start(graph));
	expect_success(fake_push(fake_find(graph, "r"), 4));
	assert_null(strstr(journal.text, "consume e"));
	expect_success(lifecycle_shutdown(graph, &patience));
	assert_non_null(strstr(journal.text, "shutdown r; consume p1 5; consume p2 4; "
					     "consume e 4; shutdown p1; consume p2 5; "
					     "consume e 5; shutdown p2; shutdown e; "));
	expect_samples(graph, "samples: taken=9 exported=9 filtered=0 lost=0");
	graph_destroy(graph);
}

static void a_refusal_is_booked_once_where_it_happened(void **state)
{
	struct fake_chain chain;
	struct graph *graph;

	(void)state;
	fake_chain_init(&chain, &journal);
	chain.e.consume_fails = PROFCOL_UNAVAILABLE;
	chain.p1.filters = 1;
	graph = build(&chain.config);
	expect_success(lifecycle_start(graph));
	expect_error(fake_push(fake_find(graph, "r"), 4), PROFCOL_UNAVAILABLE,
		     "e: batch refused by the test");
	assert_int_equal(
		account_samples(&fake_find(graph, "e")->account, PROFCOL_LOST, "unavailable"), 3);
	assert_int_equal(account_samples(&fake_find(graph, "p2")->account, PROFCOL_LOST, NULL), 0);
	assert_int_equal(account_samples(&fake_find(graph, "p1")->account, PROFCOL_LOST, NULL), 0);
	expect_samples(graph, "samples: taken=4 exported=0 filtered=1 lost=3 "
			      "(condition=1 unavailable=3)");
	end(graph);
}

static void a_refusal_without_memory_is_booked_once(void **state)
{
	struct fake_chain chain;
	struct graph *graph;

	(void)state;
	fake_chain_init(&chain, &journal);
	chain.e.consume_fails = PROFCOL_NO_MEMORY;
	graph = build(&chain.config);
	expect_success(lifecycle_start(graph));
	expect_error(fake_push(fake_find(graph, "r"), 4), PROFCOL_NO_MEMORY,
		     "e: batch refused by the test");
	expect_samples(graph, "samples: taken=4 exported=0 filtered=0 lost=4 (no_memory=4)");
	end(graph);
}

static void a_refusing_processor_is_a_loss_for_every_exporter_behind_it(void **state)
{
	static const size_t exporters[] = { 3, 4 };
	struct config_component components[5];
	struct fake_chain chain;
	struct graph *graph;

	(void)state;
	fake_chain_init(&chain, &journal);
	memcpy(components, chain.components, sizeof(chain.components));
	components[4] = (struct config_component)FAKE_COMPONENT(fake_exporter, "e2", &chain.e);
	chain.config.components = components;
	chain.config.component_count = 5;
	chain.pipeline.exporters = exporters;
	chain.pipeline.exporter_count = 2;
	chain.p2.consume_fails = PROFCOL_REJECTED;
	graph = build(&chain.config);
	expect_success(lifecycle_start(graph));
	expect_error(fake_push(fake_find(graph, "r"), 6), PROFCOL_REJECTED,
		     "p2: batch refused by the test");
	expect_samples(graph, "samples: e: taken=6 exported=0 filtered=0 lost=6 (rejected=6); "
			      "e2: taken=6 exported=0 filtered=0 lost=6 (rejected=6)");
	end(graph);
}

/* ---- several consumers, several pipelines ---- */

/* Two pipelines share the receiver and e2; both have the processor p. */
struct pair {
	struct fake_options r, p, e1, e2, e3;
	struct config_component components[5];
	struct config_pipeline pipelines[2];
	struct config config;
};

static void pair_init(struct pair *pair)
{
	static const size_t receivers[] = { 0 }, processors[] = { 1 };
	static const size_t first[] = { 2, 3 }, second[] = { 3, 4 };

	*pair = (struct pair){
		.components = {
			FAKE_COMPONENT(fake_receiver, "r", &pair->r),
			FAKE_COMPONENT(fake_processor, "p", &pair->p),
			FAKE_COMPONENT(fake_exporter, "e1", &pair->e1),
			FAKE_COMPONENT(fake_exporter, "e2", &pair->e2),
			FAKE_COMPONENT(fake_exporter, "e3", &pair->e3),
		},
		.pipelines = {
			{ .id = "profiles/1", .receivers = receivers, .receiver_count = 1,
			  .processors = processors, .processor_count = 1,
			  .exporters = first, .exporter_count = 2 },
			{ .id = "profiles/2", .receivers = receivers, .receiver_count = 1,
			  .processors = processors, .processor_count = 1,
			  .exporters = second, .exporter_count = 2 },
		},
	};
	pair->r.journal = pair->p.journal = &journal;
	pair->e1.journal = pair->e2.journal = pair->e3.journal = &journal;
	pair->config = (struct config){
		.components = pair->components,
		.component_count = 5,
		.pipelines = pair->pipelines,
		.pipeline_count = 2,
	};
}

static void instances_are_shared_but_for_processors(void **state)
{
	const struct layout_pipeline *pipelines;
	struct pair pair;
	struct graph *graph;

	(void)state;
	pair_init(&pair);
	graph = build(&pair.config);
	assert_string_equal(journal.text, "create e1; create e2; create e3; create p; create p; "
					  "create r; ");
	pipelines = graph->layout->pipelines;
	assert_ptr_equal(pipelines[0].receivers[0], pipelines[1].receivers[0]);
	assert_ptr_equal(pipelines[0].exporters[1], pipelines[1].exporters[0]);
	assert_ptr_not_equal(pipelines[0].processors[0], pipelines[1].processors[0]);
	end(graph);
}

static void each_consumer_gets_the_same_batch(void **state)
{
	const struct fake *e1, *e3;
	struct pair pair;
	struct graph *graph;

	(void)state;
	pair_init(&pair);
	graph = build(&pair.config);
	expect_success(lifecycle_start(graph));
	expect_success(fake_push(fake_find(graph, "r"), 2));
	assert_non_null(strstr(journal.text, "consume p 2; consume e1 2; consume e2 2; "
					     "consume p 2; consume e2 2; consume e3 2; "));
	e1 = fake_find(graph, "e1")->self;
	e3 = fake_find(graph, "e3")->self;
	assert_int_not_equal(e1->seen, 0);
	assert_int_equal(e1->seen, e3->seen);
	// To e2 lead two ways, and each carries all that was taken.
	expect_samples(graph, "samples: e1: taken=2 exported=2 filtered=0 lost=0; "
			      "e2: taken=4 exported=4 filtered=0 lost=0; "
			      "e3: taken=2 exported=2 filtered=0 lost=0");
	end(graph);
}

static void one_refusing_consumer_does_not_keep_the_batch_from_the_others(void **state)
{
	struct pair pair;
	struct graph *graph;

	(void)state;
	pair_init(&pair);
	pair.e1.consume_fails = PROFCOL_SYSTEM;
	pair.e3.consume_fails = PROFCOL_REJECTED;
	graph = build(&pair.config);
	expect_success(lifecycle_start(graph));
	expect_error(fake_push(fake_find(graph, "r"), 2), PROFCOL_SYSTEM,
		     "e1: batch refused by the test\ne3: batch refused by the test");
	expect_samples(graph, "samples: e1: taken=2 exported=0 filtered=0 lost=2 (system=2); "
			      "e2: taken=4 exported=4 filtered=0 lost=0; "
			      "e3: taken=2 exported=0 filtered=0 lost=2 (rejected=2)");
	end(graph);
}

static void one_that_has_given_up_does_not_keep_the_batch_from_the_others(void **state)
{
	char message[STATUS_MESSAGE_BYTES];
	const struct profcol_host *host;
	struct instance *e1;
	struct pair pair;
	struct graph *graph;
	uint64_t since;

	(void)state;
	pair_init(&pair);
	pair.e1.consume_fails = PROFCOL_REJECTED;
	pair.pipelines[0].processor_count = 0;
	pair.config.pipeline_count = 1;
	graph = build(&pair.config);
	expect_success(lifecycle_start(graph));
	e1 = fake_find(graph, "e1");
	host = &e1->host;
	host->report_status(host, PROFCOL_STATUS_OK, NULL);
	host->report_status(host, PROFCOL_STATUS_PERMANENT_ERROR, "the peer knows no profiles");

	expect_error(fake_push(fake_find(graph, "r"), 3), PROFCOL_REJECTED,
		     "e1: batch refused by the test");
	expect_samples(graph, "samples: e1: taken=3 exported=0 filtered=0 lost=3 (rejected=3); "
			      "e2: taken=3 exported=3 filtered=0 lost=0");
	// Nothing but a restart leads out of it.
	host->report_status(host, PROFCOL_STATUS_OK, NULL);
	host->report_status(host, PROFCOL_STATUS_RECOVERABLE_ERROR, "no route");
	assert_int_equal(status_read(&e1->status, &since, message), PROFCOL_STATUS_PERMANENT_ERROR);
	assert_string_equal(message, "the peer knows no profiles");
	assert_int_equal(status_get(&fake_find(graph, "e2")->status), PROFCOL_STATUS_OK);
	end(graph);
}

static void a_pipeline_without_processors_fans_out_at_the_receiver(void **state)
{
	struct pair pair;
	struct graph *graph;

	(void)state;
	pair_init(&pair);
	pair.pipelines[0].processor_count = 0;
	pair.config.pipeline_count = 1;
	graph = build(&pair.config);
	expect_success(lifecycle_start(graph));
	expect_success(fake_push(fake_find(graph, "r"), 7));
	assert_non_null(strstr(journal.text, "start r; consume e1 7; consume e2 7; "));
	expect_samples(graph, "samples: e1: taken=7 exported=7 filtered=0 lost=0; "
			      "e2: taken=7 exported=7 filtered=0 lost=0");
	end(graph);
}

/* ---- threads ---- */

static void *push_one(void *argument)
{
	return fake_push(argument, 1);
}

/* Let two threads push at once; returns how many were inside the exporter together, where the first
 * waits for the second one for about @meet_ms. */
static unsigned int push_from_two_threads(const struct profcol_component *exporter, int meet_ms)
{
	const struct fake_options plain = { 0 }, meeting = { .meet = 2, .meet_ms = meet_ms };
	const struct config_component components[] = {
		FAKE_COMPONENT(fake_receiver, "r", &plain),
		FAKE_COMPONENT(*exporter, "e", &meeting),
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
	struct graph *graph = build(&config);
	const struct fake *fake = fake_find(graph, "e")->self;
	pthread_t threads[2];
	unsigned int together;
	void *result;

	expect_success(lifecycle_start(graph));
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, push_one, fake_find(graph, "r")),
				 0);
	for (size_t i = 0; i < 2; i++) {
		pthread_join(threads[i], &result);
		assert_null(result);
	}
	assert_int_equal(fake->batches, 2);
	together = fake->most_inside;
	end(graph);
	return together;
}

static void a_serial_component_sees_one_batch_at_a_time(void **state)
{
	(void)state;
	// However long a busy machine takes to run the second thread.
	assert_int_equal(push_from_two_threads(&fake_exporter, 60000), 2);
	assert_int_equal(push_from_two_threads(&fake_serial_exporter, 50), 1);
}

/* ---- services ---- */

static void services_are_those_of_the_instance(void **state)
{
	struct fake_chain chain;
	struct graph *graph;
	const struct profcol_host *receiver, *exporter;
	struct profcol_error *error;
	int socket_fd;
	pid_t pid;

	(void)state;
	fake_chain_init(&chain, &journal);
	graph = build(&chain.config);
	receiver = &fake_find(graph, "r")->host;
	exporter = &fake_find(graph, "e")->host;
	assert_int_equal(receiver->size, sizeof(struct profcol_host));
	assert_string_equal(receiver->version, "0.0.0-test");
	assert_string_equal(exporter->id, "e");
	assert_null(exporter->consume_next);
	profcol_metric_add(receiver->metric(receiver, PROFCOL_COUNTER, "n", "", "n"), 1);
	assert_int_equal(
		profcol_metric_get(receiver->metric(receiver, PROFCOL_COUNTER, "n", "", "n")), 1);
	assert_int_equal(
		profcol_metric_get(exporter->metric(exporter, PROFCOL_COUNTER, "n", "", "n")), 0);
	error = receiver->spawn_helper(receiver, &socket_fd, &pid);
	expect_error(error, PROFCOL_UNSUPPORTED, "component 'fake' has no helper");
	end(graph);
}

static void a_status_is_logged_when_it_changes(void **state)
{
	struct instance_settings loud = quiet;
	const struct profcol_host *host;
	char text[1024] = "";
	struct fake_chain chain;
	struct graph *graph;
	int pipe_fds[2];

	(void)state;
	assert_int_equal(pipe(pipe_fds), 0);
	loud.level = PROFCOL_INFO;
	loud.log_fd = pipe_fds[1];
	fake_chain_init(&chain, &journal);
	expect_success(graph_create(&chain.config, &loud, &graph));
	expect_success(lifecycle_start(graph));
	host = &fake_find(graph, "e")->host;
	host->report_status(host, PROFCOL_STATUS_OK, NULL);
	host->report_status(host, PROFCOL_STATUS_RECOVERABLE_ERROR, "no route");
	host->report_status(host, PROFCOL_STATUS_RECOVERABLE_ERROR, "no route");
	host->report_status(host, PROFCOL_STATUS_OK, NULL);
	host->report_status(host, PROFCOL_STATUS_PERMANENT_ERROR, NULL);
	end(graph);
	close(pipe_fds[1]);
	assert_true(read(pipe_fds[0], text, sizeof(text) - 1) > 0);
	close(pipe_fds[0]);
	assert_non_null(strstr(text, "warn\te\tin trouble, trying on: no route\n"));
	assert_non_null(strstr(text, "info\te\tworking again\n"));
	assert_non_null(strstr(text, "error\te\tgiven up, the other components go on: "
				     "no reason given\n"));
	assert_null(strstr(strstr(text, "trouble") + 1, "trouble"));
}

#define JOURNALED(test) cmocka_unit_test_setup(test, fresh_journal)

int main(void)
{
	const struct CMUnitTest tests[] = {
		JOURNALED(consume_is_refused_before_start_and_after_shutdown),
		JOURNALED(a_batch_held_until_shutdown_still_arrives),
		JOURNALED(a_refusal_is_booked_once_where_it_happened),
		JOURNALED(a_refusal_without_memory_is_booked_once),
		JOURNALED(a_refusing_processor_is_a_loss_for_every_exporter_behind_it),
		JOURNALED(instances_are_shared_but_for_processors),
		JOURNALED(each_consumer_gets_the_same_batch),
		JOURNALED(one_refusing_consumer_does_not_keep_the_batch_from_the_others),
		JOURNALED(one_that_has_given_up_does_not_keep_the_batch_from_the_others),
		JOURNALED(a_pipeline_without_processors_fans_out_at_the_receiver),
		JOURNALED(a_serial_component_sees_one_batch_at_a_time),
		JOURNALED(services_are_those_of_the_instance),
		JOURNALED(a_status_is_logged_when_it_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
