// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/pipeline/view.h"

#include "reload_fixture.h"

static const char text[] = "receivers: {source: {}}\n"
			   "processors: {pass: , pass/2: }\n"
			   "exporters: {sink/a: , sink/b: }\n"
			   "extensions: {beside: , beside/2: }\n"
			   "service:\n"
			   "  extensions: [beside/2, beside]\n"
			   "  pipelines:\n"
			   "    profiles: {receivers: [source], processors: [pass/2, pass], "
			   "exporters: [sink/a, sink/b]}\n"
			   "    profiles/x: {receivers: [source], exporters: [sink/b]}\n";

static void pipelines_are_shown_in_the_order_of_the_data(void **state)
{
	static const char *const ids[] = { "source", "pass/2", "pass", "sink/a", "sink/b" };
	static const char *const kinds[] = { "receiver", "processor", "processor", "exporter",
					     "exporter" };
	struct profcol_service_view *view;
	struct config *first;
	struct graph *graph = reload_graph(text, &first);

	(void)state;
	view = view_create(graph, "1.2.3");
	assert_non_null(view);
	assert_string_equal(view->version, "1.2.3");
	assert_int_equal(view->pipeline_count, 2);
	assert_string_equal(view->pipelines[0].id, "profiles");
	assert_int_equal(view->pipelines[0].receiver_count, 1);
	assert_int_equal(view->pipelines[0].processor_count, 2);
	assert_int_equal(view->pipelines[0].exporter_count, 2);
	for (size_t i = 0; i < 5; i++) {
		assert_string_equal(view->pipelines[0].components[i].id, ids[i]);
		assert_string_equal(view->pipelines[0].components[i].kind, kinds[i]);
		assert_int_equal(view->pipelines[0].components[i].status, PROFCOL_STATUS_OK);
	}
	assert_string_equal(view->pipelines[1].components[1].id, "sink/b");
	assert_int_equal(view->extension_count, 2);
	assert_string_equal(view->extensions[0].id, "beside/2");
	view_release(view);
	reload_finish(graph, first);
}

/* Whoever probes the service during a reload is not told that it is going down. */
static void a_reload_hides_who_comes_and_goes(void **state)
{
	struct profcol_service_view *view;
	struct config *first;
	struct graph *graph = reload_graph(text, &first);

	(void)state;
	graph_set_changing(graph, true);
	assert_null(instance_shutdown(reload_find(graph, "sink/a"), 0));
	assert_null(instance_shutdown(reload_find(graph, "beside/2"), 0));
	view = view_create(graph, "1.2.3");
	assert_int_equal(view->pipelines[0].processor_count, 2);
	assert_int_equal(view->pipelines[0].exporter_count, 1);
	assert_string_equal(view->pipelines[0].components[3].id, "sink/b");
	assert_int_equal(view->extension_count, 1);
	assert_string_equal(view->extensions[0].id, "beside");
	view_release(view);
	// At the end of the program it is shown.
	graph_set_changing(graph, false);
	view = view_create(graph, "1.2.3");
	assert_int_equal(view->pipelines[0].exporter_count, 2);
	assert_int_equal(view->pipelines[0].components[3].status, PROFCOL_STATUS_STOPPED);
	view_release(view);
	reload_finish(graph, first);
}

/* It is a copy: what happens later does not change it, and it outlives what it shows. */
static void a_view_is_of_one_moment(void **state)
{
	struct profcol_service_view *before, *after;
	const struct profcol_component_view *sink;
	struct config *first;
	struct graph *graph = reload_graph(text, &first);
	const struct profcol_host *host = &reload_find(graph, "sink/b")->host;

	(void)state;
	before = host->view(host);
	assert_false(before->ready);
	host->report_status(host, PROFCOL_STATUS_RECOVERABLE_ERROR, "the peer is away");
	graph_set_ready(graph, true);
	after = host->view(host);
	reload_finish(graph, first);
	assert_int_equal(before->pipelines[0].components[4].status, PROFCOL_STATUS_OK);
	sink = &after->pipelines[1].components[1];
	assert_int_equal(sink->status, PROFCOL_STATUS_RECOVERABLE_ERROR);
	assert_string_equal(sink->message, "the peer is away");
	assert_true(sink->since_unix_ns >= before->start_unix_ns);
	assert_true(after->ready);
	assert_true(after->ready_unix_ns >= before->ready_unix_ns);
	view_release(before);
	view_release(after);
	view_release(NULL);
}

#define RELOADED(test) cmocka_unit_test_setup_teardown(test, reload_begin, reload_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RELOADED(pipelines_are_shown_in_the_order_of_the_data),
		RELOADED(a_reload_hides_who_comes_and_goes),
		RELOADED(a_view_is_of_one_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
