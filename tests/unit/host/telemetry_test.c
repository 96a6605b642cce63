// SPDX-License-Identifier: Apache-2.0
/* A graph of fake components, read over HTTP as Prometheus does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/http/http.h"
#include "host/telemetry/resource.h"
#include "host/telemetry/telemetry.h"

#include "graph_fixture.h"
#include "tests/unit/free_port.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static struct fake_chain chain;
static struct graph *graph;
static struct http_server *http;
static struct telemetry *telemetry;

static char endpoint[32];
static struct config_metrics_reader reader;
static struct config_service service;
static char page[1 << 20];

/* A port that was free a moment ago. */
static int set_up(void **state)
{
	(void)state;
	fresh_journal(state);
	fake_chain_init(&chain, NULL);
	graph = build(&chain.config);
	expect_success(http_server_create(&http));
	snprintf(endpoint, sizeof(endpoint), "127.0.0.1:%d", free_port());
	reader = (struct config_metrics_reader){
		.endpoint = endpoint,
		.place = "test.yaml:1:1",
		.without_scope_info = true,
		.without_type_suffix = true,
		.without_units = true,
	};
	service = (struct config_service){
		.metrics = { CONFIG_METRICS_NORMAL, &reader, 1 },
	};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	telemetry_destroy(TAKE(telemetry));
	end(graph);
	http_server_destroy(http);
	return 0;
}

static struct profcol_error *start(void)
{
	const struct telemetry_settings settings = {
		.service = &service,
		.http = http,
		.graph = graph,
		.version = "0.0.0-test",
	};

	return telemetry_start(&settings, &telemetry);
}

static struct profcol_error *reload(void)
{
	struct profcol_error *error = telemetry_prepare(telemetry, &service);

	if (!error)
		telemetry_commit(telemetry);
	return error;
}

/* The answer to a request of the port of @at into `page`; false when nobody listens. */
static bool ask(const char *at, const char *request)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				       .sin_port = htons((uint16_t)atoi(strchr(at, ':') + 1)) };
	CLEANUP_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t length = 0;
	ssize_t got;

	if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return false;
	assert_int_equal(write(fd, request, strlen(request)), strlen(request));
	while ((got = read(fd, page + length, sizeof(page) - 1 - length)) > 0)
		length += (size_t)got;
	page[length] = '\0';
	return true;
}

/* Prometheus refuses a page on which a series has a label twice. */
static void expect_each_label_once(void)
{
	for (const char *line = strchr(page, '\n'); line; line = strchr(line + 1, '\n')) {
		const char *end = line + 1 + strcspn(line + 1, "\n");
		const char *at = memchr(line, '{', (size_t)(end - line));

		// No value of these tests has a quote and such a letter behind it.
		for (; at && line[1] != '#' && at < end; at = strpbrk(at + 1, "{,\n")) {
			char key[80];
			const char *again;

			if (snprintf(key, sizeof(key), ",%.*s=\"", (int)strcspn(at + 1, "=,}\n"),
				     at + 1) < 4)
				continue;
			again = strstr(at + 1, key);
			if (again && again < end)
				fail_msg("%s is there twice in:%.*s", key, (int)(end - line), line);
		}
	}
}

static void scrape(void)
{
	assert_true(ask(endpoint, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
	assert_non_null(strstr(page, "200 OK"));
	expect_each_label_once();
}

static void expect_row(const char *row)
{
	char line[512];

	snprintf(line, sizeof(line), "\n%s\n", row);
	if (!strstr(page, line))
		fail_msg("'%s' is missing in:\n%s", row, page);
}

static void expect_nothing_of(const char *text)
{
	if (strstr(page, text))
		fail_msg("'%s' is in:\n%s", text, page);
}

static void push(void)
{
	expect_success(lifecycle_start(graph));
	expect_success(fake_push(fake_find(graph, "r"), 30));
	expect_success(fake_push(fake_find(graph, "r"), 12));
}

static void samples_are_counted_along_their_way(void **state)
{
	(void)state;
	chain.p1.filters = 2;
	push();
	expect_success(start());
	scrape();
	assert_non_null(strstr(page, "text/plain; version=0.0.4; charset=utf-8"));
	expect_row("otelcol_receiver_accepted_profile_samples{receiver=\"r\",transport=\"\"} 42");
	expect_row("otelcol_receiver_refused_profile_samples{receiver=\"r\",transport=\"\"} 0");
	expect_row("otelcol_processor_incoming_items{processor=\"p1\",otel_signal=\"profiles\"} "
		   "42");
	expect_row("otelcol_processor_outgoing_items{processor=\"p1\",otel_signal=\"profiles\"} "
		   "38");
	expect_row("otelcol_exporter_send_failed_profile_samples{exporter=\"e\"} 0");
	expect_row("profcol_samples{kind=\"processor\",component=\"p1\",pipeline=\"profiles\","
		   "outcome=\"filtered\",cause=\"condition\"} 4");
	expect_row("profcol_samples{kind=\"receiver\",component=\"r\",outcome=\"taken\"} 42");
	expect_row("profcol_batches{kind=\"exporter\",component=\"e\"} 2");
	expect_row("profcol_component_status{kind=\"exporter\",component=\"e\",status=\"ok\"} 1");
	expect_row("profcol_metrics_left_out{kind=\"exporter\",component=\"e\"} 0");
	expect_row(
		"profcol_component_status{kind=\"exporter\",component=\"e\",status=\"stopped\"} 0");
	expect_nothing_of("profcol_batch_size");
}

static void what_an_exporter_refuses_is_refused_upstream_and_failed_there(void **state)
{
	struct profcol_error *error;

	(void)state;
	chain.e.consume_fails = PROFCOL_SYSTEM;
	expect_success(lifecycle_start(graph));
	error = fake_push(fake_find(graph, "r"), 30);
	assert_non_null(error);
	profcol_error_destroy(error);
	expect_success(start());
	scrape();
	expect_row("otelcol_receiver_accepted_profile_samples{receiver=\"r\",transport=\"\"} 0");
	expect_row("otelcol_receiver_refused_profile_samples{receiver=\"r\",transport=\"\"} 30");
	expect_row("otelcol_exporter_send_failed_profile_samples{exporter=\"e\"} 30");
	expect_row("profcol_samples{kind=\"exporter\",component=\"e\",outcome=\"lost\","
		   "cause=\"system\"} 30");
}

static void a_receiver_has_one_transport(void **state)
{
	const struct profcol_host *receiver = &fake_find(graph, "r")->host;

	(void)state;
	profcol_metric_add(receiver->metric(receiver, PROFCOL_COUNTER,
					    "receiver_accepted_profile_samples", "transport=grpc",
					    "as the receiver says"),
			   5);
	push();
	expect_success(start());
	scrape();
	expect_row(
		"otelcol_receiver_accepted_profile_samples{receiver=\"r\",transport=\"grpc\"} 5");
	expect_row("otelcol_receiver_refused_profile_samples{receiver=\"r\",transport=\"grpc\"} 0");
	expect_row("otelcol_receiver_failed_profile_samples{receiver=\"r\",transport=\"grpc\"} 0");
}

static void metrics_of_components_go_by_their_names(void **state)
{
	const struct profcol_host *exporter = &fake_find(graph, "e")->host;

	(void)state;
	profcol_metric_set(
		exporter->metric(exporter, PROFCOL_GAUGE, "exporter_queue_size", "", "Ours"), 7);
	profcol_metric_add(exporter->metric(exporter, PROFCOL_COUNTER,
					    "exporter_sent_profile_samples", "", "Ours"),
			   5);
	profcol_metric_add(exporter->metric(exporter, PROFCOL_COUNTER_NS, "write_seconds",
					    "path=/a=\"b\"", "Time of writes"),
			   1500000000);
	profcol_metric_set(exporter->metric(exporter, PROFCOL_GAUGE, "parts",
					    "one=a,two_2=x=y,three=", "Of several labels"),
			   3);
	expect_success(start());
	scrape();
	expect_row("profcol_parts{exporter=\"e\",one=\"a\",two_2=\"x=y\",three=\"\"} 3");
	expect_row("otelcol_exporter_queue_size{exporter=\"e\",data_type=\"profiles\"} 7");
	expect_row("otelcol_exporter_sent_profile_samples{exporter=\"e\"} 5");
	expect_row("# HELP profcol_write_seconds Time of writes");
	expect_row("# TYPE profcol_write_seconds counter");
	expect_row("profcol_write_seconds{exporter=\"e\",path=\"/a=\\\"b\\\"\"} 1.5");
}

static void levels_show_less_and_more(void **state)
{
	const struct profcol_host *exporter = &fake_find(graph, "e")->host;

	(void)state;
	profcol_metric_set(exporter->metric(exporter, PROFCOL_GAUGE, "own", "", "Own"), 1);
	push();
	service.metrics.level = CONFIG_METRICS_BASIC;
	expect_success(start());
	scrape();
	expect_row("otelcol_receiver_accepted_profile_samples{receiver=\"r\",transport=\"\"} 42");
	expect_nothing_of("profcol_own");
	expect_nothing_of("profcol_batches");
	service.metrics.level = CONFIG_METRICS_DETAILED;
	expect_success(reload());
	scrape();
	expect_row("profcol_own{exporter=\"e\"} 1");
	expect_row("profcol_batch_size_bucket{kind=\"exporter\",component=\"e\",le=\"10\"} 0");
	expect_row("profcol_batch_size_bucket{kind=\"exporter\",component=\"e\",le=\"50\"} 2");
	expect_row("profcol_batch_size_sum{kind=\"exporter\",component=\"e\"} 42");
	service.metrics.level = CONFIG_METRICS_NONE;
	expect_success(reload());
	assert_false(ask(endpoint, ""));
}

static void a_reader_chooses_suffixes_and_labels(void **state)
{
	static const char *const globs[] = { "service.*" }, *const not[] = { "*.id" };
	static const char *const keys[] = { "a.b", "a_b", "service.name", "team" };
	static const char *const values[] = { "1", "2", "agent", "x" };

	(void)state;
	reader.without_scope_info = reader.without_type_suffix = reader.without_units = false;
	reader.resource_labels = (struct profcol_list){ globs, 1 };
	reader.excluded_resource_labels = (struct profcol_list){ not, 1 };
	service.resource = (struct profcol_map){ keys, values, 4 };
	push();
	expect_success(start());
	scrape();
#define LABELS                                                                                     \
	"otel_scope_name=\"profcol\",otel_scope_version=\"0.0.0-test\",otel_scope_schema_url="     \
	"\"\",service_name=\"agent\",service_version=\"0.0.0-test\"}"
	expect_row("otelcol_exporter_sent_profile_samples_total{exporter=\"e\"," LABELS " 42");
	expect_row("# TYPE otelcol_process_memory_rss_bytes gauge");
	expect_row("# TYPE otelcol_process_uptime_seconds_total counter");
	expect_row("# TYPE otelcol_process_cpu_seconds_total counter");
	assert_non_null(strstr(page, "target_info{a_b=\"1\",service_instance_id=\""));
	assert_non_null(strstr(page, resource_instance_id()));
	assert_non_null(strstr(page, "team=\"x\""));
}

static void reloads_are_counted(void **state)
{
	(void)state;
	expect_success(start());
	telemetry_note_reload(telemetry, true);
	telemetry_note_reload(telemetry, false);
	telemetry_note_reload(telemetry, false);
	scrape();
	expect_row("profcol_config_reloads{result=\"taken\"} 1");
	expect_row("profcol_config_reloads{result=\"refused\"} 2");
	expect_row("profcol_config_last_reload_successful 0");
}

static void a_reload_moves_the_listener(void **state)
{
	char other[32];

	(void)state;
	expect_success(start());
	snprintf(other, sizeof(other), "127.0.0.1:%d", free_port());
	reader.endpoint = other;
	expect_success(reload());
	assert_false(ask(endpoint, ""));
	strcpy(endpoint, other);
	scrape();
}

static void a_port_in_use_is_an_error_and_changes_nothing(void **state)
{
	struct config_metrics_reader readers[2];
	struct telemetry *second = NULL;
	struct profcol_error *error;
	char other[32];

	(void)state;
	expect_success(start());
	error = telemetry_start(
		&(const struct telemetry_settings){
			.service = &service, .http = http, .graph = graph, .version = "x" },
		&second);
	assert_non_null(error);
	assert_null(second);
	assert_non_null(strstr(profcol_error_message(error),
			       "test.yaml:1:1: service::telemetry::metrics::readers: "));
	assert_non_null(strstr(profcol_error_message(error), endpoint));
	profcol_error_destroy(error);

	snprintf(other, sizeof(other), "127.0.0.1:%d", free_port());
	readers[0] = readers[1] = reader;
	readers[0].endpoint = other;
	readers[1].endpoint = "256.0.0.1:1";
	service.metrics.readers = readers;
	service.metrics.reader_count = 2;
	error = reload();
	assert_non_null(error);
	profcol_error_destroy(error);
	assert_false(ask(other, ""));
	scrape();
}

/* Closed first, or it could not be opened. */
static void a_reload_changes_the_host_of_a_port(void **state)
{
	char wide[32], before[32];

	(void)state;
	strcpy(before, endpoint);
	reader.endpoint = before;
	expect_success(start());
	snprintf(wide, sizeof(wide), "0.0.0.0%s", strchr(endpoint, ':'));
	reader.endpoint = wide;
	expect_success(reload());
	scrape();
	reader.endpoint = before;
	expect_success(reload());
	scrape();
}

static void what_was_prepared_may_come_to_nothing(void **state)
{
	char before[32], wide[32], other[32];
	struct config_metrics_reader readers[2];

	(void)state;
	strcpy(before, endpoint);
	reader.endpoint = before;
	expect_success(start());
	snprintf(wide, sizeof(wide), "0.0.0.0%s", strchr(endpoint, ':'));
	snprintf(other, sizeof(other), "127.0.0.1:%d", free_port());
	readers[0] = readers[1] = reader;
	readers[0].endpoint = wide;
	readers[1].endpoint = other;
	service.metrics.readers = readers;
	service.metrics.reader_count = 2;
	expect_success(telemetry_prepare(telemetry, &service));
	expect_success(telemetry_abort(telemetry));
	scrape();
	assert_false(ask(other, ""));

	// And one that fails after room has been made.
	readers[1].endpoint = "256.0.0.1:1";
	profcol_error_destroy(telemetry_prepare(telemetry, &service));
	scrape();
}

/* An old listener is left alone as long as nobody needs its port. */
static void who_was_served_is_served_until_the_commit(void **state)
{
	char other[32], before[32];

	(void)state;
	strcpy(before, endpoint);
	reader.endpoint = before;
	expect_success(start());
	snprintf(other, sizeof(other), "127.0.0.1:%d", free_port());
	reader.endpoint = other;
	expect_success(telemetry_prepare(telemetry, &service));
	scrape();
	telemetry_commit(telemetry);
	assert_false(ask(before, ""));
	strcpy(endpoint, other);
	scrape();
}

static void more_attributes_than_there_is_room_for_are_refused(void **state)
{
	static const char *const keys[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i" };
	const char *values[sizeof(keys) / sizeof(keys[0])];
	const size_t count = sizeof(keys) / sizeof(keys[0]);
	char value[251];
	struct profcol_error *error;

	(void)state;
	memset(value, 'x', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	for (size_t i = 0; i < count; i++)
		values[i] = value;
	service.resource = (struct profcol_map){ keys, values, count };
	error = start();
	assert_non_null(error);
	assert_non_null(strstr(profcol_error_message(error), "service::telemetry::resource: "));
	profcol_error_destroy(error);
	service.resource.count = 6;
	expect_success(start());
	scrape();
	assert_non_null(strstr(page, ",f=\""));
	assert_non_null(strstr(page, ",service_version=\""));
}

static void other_paths_are_not_there(void **state)
{
	(void)state;
	expect_success(start());
	assert_true(ask(endpoint, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
	assert_non_null(strstr(page, "404 "));
	assert_true(
		ask(endpoint, "HEAD /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
	assert_non_null(strstr(page, "200 OK"));
	assert_null(strstr(page, "# HELP"));
}

#define WITH_GRAPH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_GRAPH(samples_are_counted_along_their_way),
		WITH_GRAPH(what_an_exporter_refuses_is_refused_upstream_and_failed_there),
		WITH_GRAPH(a_receiver_has_one_transport),
		WITH_GRAPH(metrics_of_components_go_by_their_names),
		WITH_GRAPH(levels_show_less_and_more),
		WITH_GRAPH(a_reader_chooses_suffixes_and_labels),
		WITH_GRAPH(reloads_are_counted),
		WITH_GRAPH(a_reload_moves_the_listener),
		WITH_GRAPH(a_port_in_use_is_an_error_and_changes_nothing),
		WITH_GRAPH(a_reload_changes_the_host_of_a_port),
		WITH_GRAPH(what_was_prepared_may_come_to_nothing),
		WITH_GRAPH(who_was_served_is_served_until_the_commit),
		WITH_GRAPH(more_attributes_than_there_is_room_for_are_refused),
		WITH_GRAPH(other_paths_are_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
