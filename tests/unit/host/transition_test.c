// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/lifecycle/events.h"

#include "reload_fixture.h"
#include "tests/unit/own_descriptors.h"
#include "tests/unit/own_threads.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* source -> pass -> sink/a, and source/b -> sink/b. */
#define TWO_PIPELINES(source_, pass_, a_, b_)                                                      \
	"receivers: {source: {" source_ "}, source/b: {running: true}}\n"                          \
	"processors: {pass: {" pass_ "}}\n"                                                        \
	"exporters: {sink/a: {" a_ "}, sink/b: {" b_ "}}\n"                                        \
	"service:\n"                                                                               \
	"  pipelines:\n"                                                                           \
	"    profiles: {receivers: [source], processors: [pass], exporters: [sink/a]}\n"           \
	"    profiles/b: {receivers: [source/b], exporters: [sink/b]}\n"

/* In no clause of the exit line. */
static void expect_nothing_lost(void)
{
	const char *lost = reload_samples;

	assert_non_null(strstr(lost, "lost="));
	for (; (lost = strstr(lost, "lost=")); lost += strlen("lost="))
		if (strncmp(lost, "lost=0", 6) != 0)
			fail_msg("%s", reload_samples);
}

static void the_same_again_touches_nothing(void **state)
{
	static const char text[] = TWO_PIPELINES("running: true", "", "port: 1", "");
	struct config *first;
	struct graph *graph = reload_graph(text, &first);
	struct instance *source = reload_find(graph, "source");

	(void)state;
	forget_journal();
	for (int i = 0; i < 3; i++)
		assert_int_equal(reload_to(graph, text), TRANSITION_DONE);
	expect_journal("");
	assert_ptr_equal(reload_find(graph, "source"), source);
	reload_finish(graph, first);
}

static void only_what_changed_is_restarted(void **state)
{
	struct config *first;
	struct graph *graph =
		reload_graph(TWO_PIPELINES("running: true", "", "port: 1", ""), &first);

	(void)state;
	reload_await_batches(graph, "source", 2);
	forget_journal();
	assert_int_equal(reload_to(graph, TWO_PIPELINES("running: true", "version: 1", "port: 1",
							"version: 2")),
			 TRANSITION_DONE);
	expect_journal("shutdown pass 0; shutdown sink/b 0; start sink/b 2; start pass 1; ");
	reload_await_batches(graph, "source", 2);
	reload_await_batches(graph, "source/b", 2);
	forget_journal();
	assert_int_equal(reload_to(graph, TWO_PIPELINES("running: true, version: 5", "version: 1",
							"port: 1", "version: 2")),
			 TRANSITION_DONE);
	expect_journal("shutdown source 0; start source 5; ");
	reload_finish(graph, first);
	expect_nothing_lost();
}

/* What has a port or a lock is stopped before the next one takes it. */
static void the_new_one_gets_what_the_old_one_held(void **state)
{
	struct config *first;
	struct graph *graph =
		reload_graph(TWO_PIPELINES("running: true", "", "port: 1", "port: 2"), &first);

	(void)state;
	reload_await_batches(graph, "source", 2);
	forget_journal();
	assert_int_equal(reload_to(graph, TWO_PIPELINES("running: true", "", "port: 2, version: 1",
							"port: 1, version: 1")),
			 TRANSITION_DONE);
	reload_await_batches(graph, "source", 2);
	reload_finish(graph, first);
	expect_nothing_lost();
}

static void what_cannot_be_created_changes_nothing(void **state)
{
	struct config *first;
	struct graph *graph = reload_graph(TWO_PIPELINES("running: true", "", "", ""), &first);

	(void)state;
	forget_journal();
	assert_int_equal(reload_to(graph, TWO_PIPELINES("running: true", "version: 1",
							"create_fails: true", "version: 1")),
			 TRANSITION_REFUSED);
	assert_non_null(strstr(reload_error, "failed to create exporter 'sink/a': create refused "
					     "by the test"));
	expect_journal("");
	reload_await_batches(graph, "source", 2);
	reload_finish(graph, first);
}

static void what_does_not_start_brings_the_old_back(void **state)
{
	struct config *first;
	struct graph *graph =
		reload_graph(TWO_PIPELINES("running: true", "", "port: 1", ""), &first);

	(void)state;
	reload_await_batches(graph, "source", 2);
	forget_journal();
	assert_int_equal(
		reload_to(graph, TWO_PIPELINES("running: true", "version: 1",
					       "port: 1, start_fails: true, version: 1", "")),
		TRANSITION_PUT_BACK);
	assert_string_equal(reload_error, "exporter 'sink/a': start refused by the test");
	expect_journal("shutdown pass 0; shutdown sink/a 0; start sink/a 1; "
		       "shutdown pass 1; shutdown sink/a 1; start sink/a 0; start pass 0; ");
	reload_await_batches(graph, "source", 2);
	reload_await_batches(graph, "source/b", 2);
	assert_int_equal(status_get(&reload_find(graph, "sink/a")->status), PROFCOL_STATUS_OK);
	reload_finish(graph, first);
	expect_nothing_lost();
}

#define THROUGH_PASS(source_, sink_)                                                               \
	"receivers: {source: {running: true" source_ "}}\n"                                        \
	"processors: {pass: }\n"                                                                   \
	"exporters: {sink: {" sink_ "}}\n"                                                         \
	"service: {pipelines: {profiles: {receivers: [source], processors: [pass], "               \
	"exporters: [sink]}}}\n"

/* The source has taken new options over, and waits for a sink that does not start. It does not take
 * the old ones back: it has to be shut down, waiting as it is. */
static void who_waits_can_be_shut_down_on_the_way_back(void **state)
{
	struct config *first;
	struct graph *graph = reload_graph(THROUGH_PASS("", ""), &first);

	(void)state;
	reload_await_batches(graph, "source", 2);
	forget_journal();
	assert_int_equal(reload_to(graph, THROUGH_PASS(", agrees: true, version: 1",
						       "start_fails: true, version: 1")),
			 TRANSITION_PUT_BACK);
	expect_journal("reconfigure source 1; shutdown sink 0; start sink 1; "
		       "shutdown source 1; shutdown sink 1; start sink 0; start source 0; ");
	reload_await_batches(graph, "source", 2);
	reload_finish(graph, first);
}

static void a_receiver_that_does_not_start_brings_the_old_back(void **state)
{
	struct config *first;
	struct graph *graph = reload_graph(TWO_PIPELINES("running: true", "", "", ""), &first);

	(void)state;
	forget_journal();
	assert_int_equal(reload_to(graph, TWO_PIPELINES("start_fails: true, version: 1", "",
							"version: 1", "")),
			 TRANSITION_PUT_BACK);
	assert_string_equal(reload_error, "receiver 'source': start refused by the test");
	reload_await_batches(graph, "source", 2);
	reload_finish(graph, first);
	expect_nothing_lost();
}

/* Neither the new one nor the old one starts: all others go on, and the next reload tries again. */
static void what_cannot_come_back_stays_away(void **state)
{
	static const char old[] = TWO_PIPELINES("running: true", "", "port: 1", "");
	struct config *first;
	struct graph *graph = reload_graph(old, &first);
	uint64_t since_ns;
	char message[STATUS_MESSAGE_BYTES];

	(void)state;
	assert_int_equal(
		reload_to(graph, TWO_PIPELINES("running: true", "", "port: 1, steals: true", "")),
		TRANSITION_PUT_BACK_PARTLY);
	assert_int_equal(status_read(&reload_find(graph, "sink/a")->status, &since_ns, message),
			 PROFCOL_STATUS_PERMANENT_ERROR);
	assert_string_equal(message, "port 1 is in use");
	reload_await_batches(graph, "source", 2);
	reload_await_batches(graph, "source/b", 2);
	reload_free_port(1);
	forget_journal();
	assert_int_equal(reload_to(graph, old), TRANSITION_DONE);
	assert_int_equal(status_get(&reload_find(graph, "sink/a")->status), PROFCOL_STATUS_OK);
	expect_journal("shutdown sink/a 0; start sink/a 0; ");
	reload_finish(graph, first);
	assert_non_null(strstr(reload_samples, "shutdown="));
}

static void who_has_given_up_is_started_again(void **state)
{
	static const char text[] = TWO_PIPELINES("running: true", "", "", "agrees: true");
	struct config *first;
	struct graph *graph = reload_graph(text, &first);
	const struct profcol_host *a = &reload_find(graph, "sink/a")->host;
	const struct profcol_host *b = &reload_find(graph, "sink/b")->host;

	(void)state;
	a->report_status(a, PROFCOL_STATUS_RECOVERABLE_ERROR, "the peer is away");
	b->report_status(b, PROFCOL_STATUS_PERMANENT_ERROR, "the peer has thrown us out");
	forget_journal();
	assert_int_equal(reload_to(graph, text), TRANSITION_DONE);
	expect_journal("shutdown sink/b 0; start sink/b 0; ");
	assert_int_equal(status_get(&reload_find(graph, "sink/b")->status), PROFCOL_STATUS_OK);
	reload_finish(graph, first);
	expect_nothing_lost();
}

static void who_lacks_its_storage_is_not_started(void **state)
{
	struct config *first;
	struct graph *graph = reload_graph("receivers: {source: }\nexporters: {sink: }\n"
					   "extensions: {beside: }\n"
					   "service: {extensions: [beside], pipelines: {profiles: "
					   "{receivers: [source], exporters: [sink]}}}\n",
					   &first);
	struct instance *sink = reload_find(graph, "sink");
	struct profcol_error *error;

	(void)state;
	sink->storage = reload_find(graph, "beside");
	atomic_fetch_add(&sink->storage->references, 1);
	assert_null(instance_shutdown(sink->storage, 0));
	forget_journal();
	error = lifecycle_start_instance(sink);
	assert_non_null(error);
	assert_string_equal(profcol_error_message(error),
			    "exporter 'sink': extension 'beside' does not run");
	profcol_error_destroy(error);
	expect_journal("");
	reload_finish(graph, first);
}

/* In a reload meanwhile: what is on its way arrives, and nothing new is begun or put back. */
static void check_end(void (*post)(struct events *events))
{
	struct config *first;
	struct graph *graph = reload_graph(TWO_PIPELINES("running: true", "", "", ""), &first);
	struct events events;

	events_init(&events);
	post(&events);
	graph->settings.end_fd = events.end_fd;
	reload_await_batches(graph, "source", 2);
	forget_journal();
	assert_int_equal(reload_to(graph, TWO_PIPELINES("running: true, version: 1", "",
							"start_fails: true", "version: 1")),
			 TRANSITION_DONE);
	expect_journal("shutdown source 0; shutdown sink/b 0; shutdown sink/a 0; "
		       "start sink/a 0; start sink/b 1; ");
	reload_await_batches(graph, "source/b", 2);
	reload_finish(graph, first);
	events_deinit(&events);
}

static void post_sigterm(struct events *events)
{
	events_post_end(events, SIGTERM);
}

static void post_fatal(struct events *events)
{
	events_post_fatal(events, profcol_error_create(PROFCOL_SYSTEM, "the test says so"));
}

static void an_end_is_not_held_up(void **state)
{
	(void)state;
	check_end(post_sigterm);
	check_end(post_fatal);
}

#define ONE_PIPELINE(processors_, exporters_)                                                      \
	"receivers: {source: {running: true}}\n"                                                   \
	"processors: {pass: {keeps: true}, pass/2: {keeps: true}, pass/3: }\n"                     \
	"exporters: {sink/a: , sink/b: , sink/c: {version: 3}}\n"                                  \
	"service:\n"                                                                               \
	"  pipelines:\n"                                                                           \
	"    profiles: {receivers: [source], processors: " processors_ ", exporters: " exporters_  \
	"}\n"

/* Each exporter's balance holds, although none of them saw all of the source. */
static void the_books_hold_when_exporters_come_and_go(void **state)
{
	static const char *const steps[] = {
		ONE_PIPELINE("[pass]", "[sink/a, sink/b]"),
		ONE_PIPELINE("[pass, pass/2]", "[sink/b, sink/c]"),
		ONE_PIPELINE("[]", "[sink/c]"),
		ONE_PIPELINE("[pass/3, pass]", "[sink/a, sink/c]"),
		ONE_PIPELINE("[pass, pass/3]", "[sink/c, sink/a, sink/b]"),
		ONE_PIPELINE("[pass]", "[sink/a]"),
	};
	struct config *first;
	struct graph *graph = reload_graph(steps[0], &first);

	(void)state;
	for (size_t i = 0; i < 18; i++) {
		reload_await_batches(graph, "source", 3);
		assert_int_equal(reload_to(graph, steps[i % 6]), TRANSITION_DONE);
	}
	reload_finish(graph, first);
	expect_nothing_lost();
	assert_non_null(strstr(reload_samples, "sink/a: taken="));
	assert_non_null(strstr(reload_samples, "sink/b: taken="));
	assert_non_null(strstr(reload_samples, "sink/c: taken="));
}

static void options_are_taken_over_by_who_can(void **state)
{
	struct config *first;
	struct graph *graph = reload_graph(TWO_PIPELINES("running: true", "", "", ""), &first);
	struct instance *sink = reload_find(graph, "sink/a");

	(void)state;
	forget_journal();
	assert_int_equal(reload_to(graph, TWO_PIPELINES("running: true", "",
							"agrees: true, version: 1", "")),
			 TRANSITION_DONE);
	expect_journal("reconfigure sink/a 1; ");
	assert_ptr_equal(reload_find(graph, "sink/a"), sink);
	assert_int_equal(reload_to(graph, TWO_PIPELINES("running: true", "",
							"agrees: true, version: 2", "")),
			 TRANSITION_DONE);
	reload_await_batches(graph, "source", 2);
	reload_finish(graph, first);
}

/* One that waits in an exporter which stays, on the way to one which goes. */
static void a_caller_that_waits_does_not_hold_the_reload_up(void **state)
{
	static const char before[] = "receivers: {source: {running: true}}\n"
				     "exporters: {sink/a: {stalls: true}, sink/b: }\n"
				     "service: {pipelines: {profiles: {receivers: [source], "
				     "exporters: [sink/a, sink/b]}}}\n";
	static const char after[] = "receivers: {source: {running: true}}\n"
				    "exporters: {sink/a: {stalls: true}, sink/b: {version: 1}}\n"
				    "service: {pipelines: {profiles: {receivers: [source], "
				    "exporters: [sink/a, sink/b]}}}\n";
	struct config *first;
	struct graph *graph;

	(void)state;
	atomic_store(&reload_stalled, true);
	graph = reload_graph(before, &first);
	while (!atomic_load(&reload_inside))
		;
	assert_int_equal(reload_to(graph, after), TRANSITION_DONE);
	assert_int_equal(graph->retired.count, 1); // not before the caller is through
	atomic_store(&reload_stalled, false);
	reload_await_batches(graph, "source", 5);
	assert_int_equal(reload_to(graph, after), TRANSITION_DONE);
	assert_int_equal(graph->retired.count, 0);
	reload_finish(graph, first);
	// The one batch that was on its way to the old sink/b.
	assert_non_null(strstr(reload_samples, "lost=3 "));
	assert_non_null(strstr(reload_samples, "shutdown=3"));
}

static void extensions_go_last_and_come_first(void **state)
{
	static const char with[] = "receivers: {source: {}}\n"
				   "exporters: {sink: {version: 1}}\n"
				   "extensions: {beside: {port: 3}, beside/2: {version: 1}}\n"
				   "service: {extensions: [beside, beside/2], pipelines: "
				   "{profiles: {receivers: [source], exporters: [sink]}}}\n";
	static const char without[] = "receivers: {source: {}}\n"
				      "exporters: {sink: {version: 2}}\n"
				      "extensions: {beside: {port: 3}, beside/2: {version: 2}}\n"
				      "service: {extensions: [beside/2], pipelines: "
				      "{profiles: {receivers: [source], exporters: [sink]}}}\n";
	struct config *first;
	struct graph *graph = reload_graph(with, &first);

	(void)state;
	forget_journal();
	assert_int_equal(reload_to(graph, without), TRANSITION_DONE);
	expect_journal("shutdown sink 1; shutdown beside/2 1; shutdown beside 0; "
		       "start beside/2 2; start sink 2; ");
	forget_journal();
	assert_int_equal(reload_to(graph, with), TRANSITION_DONE);
	expect_journal("shutdown sink 2; shutdown beside/2 2; "
		       "start beside 0; start beside/2 1; start sink 1; ");
	reload_finish(graph, first);
}

/* Read by another thread all the while, as a scrape of the metrics does. */
struct scraper {
	struct graph *graph;
	atomic_bool ending;
};

static void read_instance(struct instance *instance, void *context)
{
	size_t *length = context;

	*length += strlen(instance->id) + strlen(instance->configuration->type->type);
}

static void *reader_thread(void *argument)
{
	struct scraper *reader = argument;
	size_t length = 0;

	while (!atomic_load(&reader->ending)) {
		graph_lock(reader->graph);
		graph_visit(reader->graph, read_instance, &length);
		graph_unlock(reader->graph);
	}
	assert_true(length);
	return NULL;
}

static void a_hundred_reloads_under_load_lose_nothing(void **state)
{
	static const char *const texts[] = {
		TWO_PIPELINES("running: true", "keeps: true", "port: 1", ""),
		TWO_PIPELINES("running: true", "", "port: 1, version: 1", ""),
		TWO_PIPELINES("running: true, version: 1", "keeps: true", "port: 1", ""),
	};
	struct config *first;
	struct graph *graph = reload_graph(texts[0], &first);
	struct instance *unchanged = reload_find(graph, "source/b");
	struct scraper reader = { .graph = graph };
	size_t threads, descriptors;
	pthread_t thread;

	(void)state;
	// Callers go on as soon as the machine does, however long it stands still.
	reload_patience.drain_ns = PROFCOL_HOUR;
	assert_int_equal(pthread_create(&thread, NULL, reader_thread, &reader), 0);
	for (size_t i = 0; i < 100; i++) {
		forget_journal();
		assert_int_equal(reload_to(graph, texts[i % 3]), TRANSITION_DONE);
		if (i == 3) {
			threads = settled_threads();
			descriptors = own_descriptors();
		}
		if (i % 10 == 0)
			reload_await_batches(graph, "source", 1);
	}
	assert_int_equal(settled_threads(), threads);
	assert_int_equal(own_descriptors(), descriptors);
	assert_ptr_equal(reload_find(graph, "source/b"), unchanged);
	assert_int_equal(graph->retired.count, 0);
	assert_in_range(graph->generations.count, 1, 4);
	atomic_store(&reader.ending, true);
	pthread_join(thread, NULL);
	reload_finish(graph, first);
	expect_nothing_lost();
}

#define RELOADED(test) cmocka_unit_test_setup_teardown(test, reload_begin, reload_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RELOADED(the_same_again_touches_nothing),
		RELOADED(only_what_changed_is_restarted),
		RELOADED(the_new_one_gets_what_the_old_one_held),
		RELOADED(what_cannot_be_created_changes_nothing),
		RELOADED(what_does_not_start_brings_the_old_back),
		RELOADED(who_waits_can_be_shut_down_on_the_way_back),
		RELOADED(a_receiver_that_does_not_start_brings_the_old_back),
		RELOADED(what_cannot_come_back_stays_away),
		RELOADED(who_has_given_up_is_started_again),
		RELOADED(who_lacks_its_storage_is_not_started),
		RELOADED(an_end_is_not_held_up),
		RELOADED(the_books_hold_when_exporters_come_and_go),
		RELOADED(options_are_taken_over_by_who_can),
		RELOADED(a_caller_that_waits_does_not_hold_the_reload_up),
		RELOADED(extensions_go_last_and_come_first),
		RELOADED(a_hundred_reloads_under_load_lose_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
