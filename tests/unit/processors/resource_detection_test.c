// SPDX-License-Identifier: Apache-2.0
/*
 * The processor `resource_detection`: what becomes of resources, and of the start, when services
 * answer late, badly, or not at all. detectors_test.c has what each detector finds.
 */
#include "detection_fixture.h"

#include "processors/resource_detection/detection.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

/* What services do that never answer. */
#define FOR_EVER_MS 3600000

/*
 * The start waits for detectors with wake_wait(), which here waits as long as the test says, and
 * keeps the longest time that it was to wait.
 */
static struct {
	uint64_t patience_ns; /* 0 = as long as it is told */
	uint64_t longest_ns;
} waits;

enum wake __real_wake_wait(int event_fd, int end_fd, uint64_t deadline_ns);
enum wake __wrap_wake_wait(int event_fd, int end_fd, uint64_t deadline_ns);

enum wake __wrap_wake_wait(int event_fd, int end_fd, uint64_t deadline_ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (deadline_ns > now_ns && deadline_ns - now_ns > waits.longest_ns)
		waits.longest_ns = deadline_ns - now_ns;
	return __real_wake_wait(event_fd, end_fd,
				waits.patience_ns ? now_ns + waits.patience_ns : deadline_ns);
}

static int forget_waits(void **state)
{
	memset(&waits, 0, sizeof(waits));
	return forget_machine(state);
}

/* ---- env ---- */

static void attributes_come_from_the_environment(void **state)
{
	struct processor processor;

	(void)state;
	setenv("OTEL_RESOURCE_ATTRIBUTES", " team = pay , place=a%20b+c%2C,empty=,", 1);
	processor_start(&processor, PROCESSOR, "{}");
	EXPECT_FOUND(&processor, { "team", "pay" }, { "place", "a b c," }, { "empty", "" },
		     { "service.namespace", NULL });
	assert_int_equal(fake_host_log_count(&processor.fake,
					     "detected resource information: team=pay, place=a b "
					     "c,, empty="),
			 1);
	processor_deinit(&processor);
	unsetenv("OTEL_RESOURCE_ATTRIBUTES");
	setenv("OTEL_RESOURCE", "old=1", 1);
	processor_start(&processor, PROCESSOR, "{detectors: [\" env \"]}");
	EXPECT_FOUND(&processor, { "old", "1" });
	processor_deinit(&processor);
	unsetenv("OTEL_RESOURCE");
	processor_start(&processor, PROCESSOR, "{}");
	EXPECT_FOUND(&processor, { "old", NULL });
	processor_deinit(&processor);
}

static void an_environment_that_makes_no_sense_stops_the_start(void **state)
{
	static const struct {
		const char *value, *text;
	} rows[] = {
		{ "team", "OTEL_RESOURCE_ATTRIBUTES: invalid resource format, invalid text: "
			  "\"team\"" },
		{ "a=1,=2", "invalid resource format" },
		{ "a=1,,b=2", "invalid resource format, invalid text" },
		{ "a=100%", "a % has to be followed by two digits" },
		{ "a=%zz", "a % has to be followed by two digits" },
		{ "a=\xc3\xa4", "256 characters of ASCII" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		setenv("OTEL_RESOURCE_ATTRIBUTES", rows[i].value, 1);
		assert_refused(PROCESSOR, "{}", rows[i].text);
		assert_refused(PROCESSOR, "{}", "resource detection failed: detector 'env'");
	}
}

/* ---- resources ---- */

static void what_a_resource_has_is_replaced_or_kept(void **state)
{
	struct processor processor;
	const struct profcol_batch *batch;
	struct profcol_batch *before = shop_batch_create();
	uint32_t count_before, count;

	(void)state;
	setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=found,team=pay", 1);
	processor_start(&processor, PROCESSOR, "{}");
	EXPECT_FOUND(&processor, { "service.name", "found" }, { "team", "pay" });
	// In place of the old one, not beside it.
	profcol_batch_attribute_list(before, resource_list(before, 0), &count_before);
	profcol_batch_attribute_list(processor.passed, resource_list(processor.passed, 0), &count);
	assert_int_equal(count, count_before + 1);
	profcol_batch_unref(before);
	processor_deinit(&processor);

	processor_start(&processor, PROCESSOR, "{override: false}");
	batch = processor_consume(&processor, shop_batch_create());
	expect_text(batch, resource_list(batch, 0), "service.name", "shop");
	expect_text(batch, resource_list(batch, 1), "service.name", "cron");
	expect_text(batch, resource_list(batch, 1), "team", "pay");
	processor_deinit(&processor);
}

static void without_anything_found_batches_pass_unchanged(void **state)
{
	struct processor processor;
	struct profcol_batch *batch = shop_batch_create();

	(void)state;
	processor_start(&processor, PROCESSOR, "{}");
	assert_ptr_equal(processor_consume(&processor, batch), batch);
	processor_deinit(&processor);
}

/* ---- system ---- */

static void the_system_tells_what_it_is(void **state)
{
	struct processor processor;
	const struct profcol_batch *batch;
	struct utsname kernel;
	struct profcol_value value;

	(void)state;
	assert_int_equal(uname(&kernel), 0);
	processor_start(&processor, PROCESSOR,
			"{detectors: [system], system: {hostname_sources: [os]}}");
	EXPECT_FOUND(&processor, { "host.name", kernel.nodename }, { "os.type", "linux" },
		     { "os.description", NULL }, { "host.arch", NULL });
	processor_deinit(&processor);

	processor_start(&processor, PROCESSOR,
			"detectors: [system]\n"
			"system:\n"
			"  hostname_sources: [lookup, cname, dns, os]\n"
			"  resource_attributes:\n"
			"    host.name: {enabled: false}\n"
			"    host.arch: {enabled: true}\n"
			"    host.interface: {enabled: true}\n"
			"    host.ip: {enabled: true}\n"
			"    host.mac: {enabled: true}\n"
			"    host.id: {enabled: true}\n"
			"    host.cpu.cache.l2.size: {enabled: true}\n"
			"    host.cpu.model.name: {enabled: true}\n"
			"    os.description: {enabled: true}\n"
			"    os.name: {enabled: true}\n"
			"    os.version: {enabled: true}\n"
			"    os.build.id: {enabled: true}\n");
	batch = processor_consume(&processor, shop_batch_create());
	expect_text(batch, resource_list(batch, 0), "host.name", NULL);
	value = find_value(batch, resource_list(batch, 0), "os.description");
	assert_int_equal(value.type, PROFCOL_VALUE_STRING);
	assert_non_null(strstr(profcol_batch_string(batch, value.string).bytes, kernel.release));
	value = find_value(batch, resource_list(batch, 0), "os.build.id");
	assert_int_equal(value.type, PROFCOL_VALUE_STRING);
	processor_deinit(&processor);
}

static void lists_are_lists(void **state)
{
	// AnyValue { array_value: ArrayValue { values: [AnyValue { string_value: "..." }] } }
	struct processor processor;
	const struct profcol_batch *batch;
	struct profcol_value value;
	struct profcol_text blob;

	(void)state;
	processor_start(&processor, PROCESSOR,
			"{detectors: [system], system: {resource_attributes: {host.interface: "
			"{enabled: true}}}}");
	batch = processor_consume(&processor, shop_batch_create());
	value = find_value(batch, resource_list(batch, 0), "host.interface");
	// A machine may have no interface but loopback.
	if (value.type != PROFCOL_VALUE_EMPTY) {
		assert_int_equal(value.type, PROFCOL_VALUE_ARRAY);
		blob = profcol_batch_blob(batch, value.blob);
		assert_true(blob.length > 6);
		assert_int_equal(blob.bytes[0], 0x2a);
		assert_int_equal(blob.bytes[1], blob.length - 2);
		assert_int_equal(blob.bytes[2], 0x0a);
		assert_int_equal(blob.bytes[4], 0x0a);
	}
	processor_deinit(&processor);
}

/* ---- services that are not there, or not well ---- */

static void without_a_cloud_nothing_is_added_and_nobody_waits(void **state)
{
	struct processor processor;

	(void)state;
	waits.patience_ns = PROFCOL_MINUTE * 60; // what it waits for has to come
	setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1", 1);
	setenv("OTEL_RESOURCE_ATTRIBUTES", "team=pay", 1);
	setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "/x/eks.amazonaws.com/y", 1);
	processor_start(&processor, PROCESSOR,
			"{detectors: [env, ec2, gcp, azure, aks], timeout: 10s}");
	EXPECT_FOUND(&processor, { "team", "pay" }, { "cloud.provider", NULL });
	assert_int_equal(fake_host_log_count(&processor.fake, "detector 'ec2' has no answer"), 1);
	assert_int_equal(fake_host_log_count(&processor.fake, "Connection refused; its attributes "
							      "are missing until it has, trying "
							      "on"),
			 4);
	processor_deinit(&processor);
}

static void a_slow_service_holds_nothing_up(void **state)
{
	static const struct stand_in_route slow[] = {
		{ .request = "", .status = 200, .body = "late", .delay_ms = FOR_EVER_MS },
		{ .request = NULL },
	};
	struct stand_in *server = stand_in_start(slow, NULL);
	struct processor processor;

	(void)state;
	use_clouds(server);
	setenv("OTEL_RESOURCE_ATTRIBUTES", "team=pay", 1);
	processor_start(&processor, PROCESSOR,
			"{detectors: [ec2, env], timeout: 1s, retry: {initial_interval: 10ms}}");
	assert_in_range(waits.longest_ns, 1, PROFCOL_SECOND);
	EXPECT_FOUND(&processor, { "team", "pay" }, { "cloud.provider", NULL });
	// It wakes up, and is found without a restart.
	stand_in_change(server, detection_ec2_routes);
	wait_for_attributes(&processor, 10);
	EXPECT_FOUND(&processor, { "team", "pay" }, { "cloud.provider", "aws" });
	assert_int_equal(fake_host_log_count(&processor.fake, "detector 'ec2' has found "), 1);
	stand_in_change(server, slow);
	processor_deinit(&processor); // in an hour, if it waited
	stand_in_stop(server);
}

/* Whatever `timeout` says: a signal to end, or a reload, would have to wait as long. */
static void a_patient_configuration_holds_nothing_up(void **state)
{
	static const struct stand_in_route silent[] = {
		{ .request = "", .status = 200, .delay_ms = FOR_EVER_MS },
		{ .request = NULL },
	};
	struct stand_in *server = stand_in_start(silent, NULL);
	struct processor processor;

	(void)state;
	waits.patience_ns = 50 * PROFCOL_MILLISECOND;
	use_clouds(server);
	setenv("OTEL_RESOURCE_ATTRIBUTES", "team=pay", 1);
	processor_start(&processor, PROCESSOR, "{detectors: [env, gcp], timeout: 10m}");
	assert_in_range(waits.longest_ns, 1, 5 * PROFCOL_SECOND);
	EXPECT_FOUND(&processor, { "team", "pay" }, { "cloud.provider", NULL });
	processor_deinit(&processor); // in ten minutes, if it waited
	stand_in_stop(server);
}

static void the_start_waits_no_longer_than_it_may(void **state)
{
	static const struct {
		uint64_t timeout_s, elapsed_s, patience_s, required_s;
	} rows[] = {
		{ 2, 0, 2, 2 },    { 2, 20, 2, 20 }, { 2, 600, 2, 30 },
		{ 600, 0, 5, 30 }, { 0, 10, 5, 30 }, { 5, 0, 5, 5 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct resource_detection_config config = {
			.timeout_ns = rows[i].timeout_s * PROFCOL_SECOND,
			.retry.max_elapsed_time_ns = rows[i].elapsed_s * PROFCOL_SECOND,
		};

		assert_int_equal(detection_patience(&config, false),
				 rows[i].patience_s * PROFCOL_SECOND);
		assert_int_equal(detection_patience(&config, true),
				 rows[i].required_s * PROFCOL_SECOND);
	}
}

static void the_end_does_not_wait_for_a_slow_service(void **state)
{
	static const struct stand_in_route slow[] = {
		{ .request = "", .status = 200, .delay_ms = FOR_EVER_MS },
		{ .request = NULL },
	};
	struct stand_in *server = stand_in_start(slow, NULL);
	struct processor processor;

	(void)state;
	waits.patience_ns = 50 * PROFCOL_MILLISECOND;
	use_clouds(server);
	processor_start(&processor, PROCESSOR,
			"{detectors: [gcp, azure], timeout: 1h, retry: {initial_interval: 0s}}");
	while (stand_in_count(server, "GET /computeMetadata") < 1)
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	processor_deinit(&processor); // in an hour, if it waited
	stand_in_stop(server);
}

/* Huge, broken and odd answers: nothing is found, nothing fails. */
static void bad_answers_do_no_harm(void **state)
{
	static const struct {
		struct stand_in_route routes[2];
		const char *words;
	} rows[] = {
		{ { { .request = "", .status = 200, .padding = 1 << 20 } },
		  "more than 65536 bytes" },
		{ { { .request = "", .raw = "\x16\x03\x01 garbage\n\n" } }, "does not begin" },
		{ { { .request = "", .status = 200, .body = "line\r\nbreak: x" } },
		  "gives no token" },
		{ { { .request = "", .status = 500 } }, "answers with status 500" },
		{ { { .request = "" } }, "hung up without an answer" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stand_in *server = stand_in_start(rows[i].routes, NULL);
		struct processor processor;

		use_clouds(server);
		processor_start(&processor, PROCESSOR,
				"{detectors: [ec2], retry: {enabled: false}}");
		EXPECT_FOUND(&processor, { "cloud.provider", NULL });
		assert_int_equal(fake_host_log_count(&processor.fake, rows[i].words), 1);
		assert_int_equal(fake_host_metric(&processor.fake, "resource_detection_failures"),
				 1);
		processor_deinit(&processor);
		stand_in_stop(server);
	}
}

static void broken_documents_are_not_believed(void **state)
{
	static const char *const documents[] = {
		"", "[]", "{\"region\": ", "\"text\"", "{\"region\": [1, {}], \"accountId\": 5}",
	};
	static struct stand_in_route routes[] = {
		EC2_ROUTES,
		{ .request = NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
		struct stand_in *server;
		struct processor processor;

		routes[2].body = documents[i];
		server = stand_in_start(routes, NULL);
		use_clouds(server);
		processor_start(&processor, PROCESSOR,
				"{detectors: [ec2], retry: {enabled: false}}");
		EXPECT_FOUND(&processor, { "cloud.region", NULL }, { "cloud.account.id", NULL });
		processor_deinit(&processor);
		stand_in_stop(server);
	}
}

static void metadata_can_be_demanded(void **state)
{
	static const struct stand_in_route away[] = {
		{ .request = "", .status = 503 },
		{ .request = NULL },
	};
	struct stand_in *server = stand_in_start(away, NULL);

	(void)state;
	use_clouds(server);
	// The last attempt ends before the start has waited for a second, or is under way then.
	assert_refused(PROCESSOR,
		       "{detectors: [gcp], fail_on_missing_metadata: true, timeout: 1s, retry: "
		       "{initial_interval: 10ms}}",
		       "/project-id' answers with status 503");
	assert_true(stand_in_count(server, "GET /computeMetadata") > 1);
	assert_refused(PROCESSOR,
		       "{detectors: [ec2], ec2: {fail_on_missing_metadata: true}, retry: {enabled: "
		       "false}}",
		       "answers with status 503");
	stand_in_stop(server);
}

static void what_was_found_is_refreshed(void **state)
{
	static const struct stand_in_route other[] = {
		{ .request = "PUT ", .status = 404 },
		{ .request = "GET /latest/meta-data/instance-id ", .status = 200, .body = "i-1" },
		{ .request = "GET /latest/dynamic/",
		  .status = 200,
		  .body = "{\"region\": \"eu-north-1\"}" },
		{ .request = "GET /latest/meta-data/hostname ", .status = 200, .body = "moved" },
		{ .request = NULL },
	};
	static const struct stand_in_route away[] = {
		{ .request = "", .status = 503 },
		{ .request = NULL },
	};
	static const struct stand_in_route nothing[] = {
		{ .request = "", .status = 404 },
		{ .request = NULL },
	};
	struct stand_in *server = stand_in_start(detection_ec2_routes, NULL);
	struct processor processor;
	unsigned int asked;

	(void)state;
	use_clouds(server);
	processor_start(&processor, PROCESSOR, "{detectors: [ec2], refresh_interval: 20ms}");
	EXPECT_FOUND(&processor, { "cloud.region", "us-west-2" }, { "host.id", "i-0123" });
	stand_in_change(server, other);
	while (fake_host_metric(&processor.fake, "resource_detection_attributes") > 4)
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	EXPECT_FOUND(&processor, { "cloud.region", "eu-north-1" }, { "host.id", NULL });
	// What is known stays when the service goes away.
	stand_in_change(server, away);
	asked = stand_in_count(server, "PUT ");
	while (stand_in_count(server, "PUT ") < asked + 2)
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	EXPECT_FOUND(&processor, { "cloud.region", "eu-north-1" });
	// Nor is it lost when something else answers in its place.
	stand_in_change(server, nothing);
	asked = stand_in_count(server, "GET /latest/meta-data/instance-id");
	while (stand_in_count(server, "GET /latest/meta-data/instance-id") < asked + 2)
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	EXPECT_FOUND(&processor, { "cloud.region", "eu-north-1" });
	assert_int_equal(fake_host_metric(&processor.fake, "resource_detection_attributes"), 4);
	processor_deinit(&processor);
	stand_in_stop(server);
}

/* ---- configuration ---- */

static void what_makes_no_sense_is_refused(void **state)
{
	static const struct {
		const char *yaml, *text;
	} rows[] = {
		{ "{detectors: [env, moon]}", "invalid detector key: moon" },
		{ "{timeout: 0}", "retry.enabled requires either timeout > 0 or "
				  "retry.max_elapsed_time > 0 to bound detection" },
		{ "{system: {hostname_sources: [dns, os, sky]}}",
		  "hostname_sources contains invalid value: \"sky\"" },
		{ "{ec2: {tags: ['(']}}", "ec2::tags: '(': " },
		{ "{k8s_api: {auth_type: kubeConfig}}", "kubeConfig is not supported" },
		{ "{system: {resource_attributes: {host.nam: {enabled: true}}}}",
		  "invalid keys: host.nam" },
		{ "{gcp: {zone: x}}", "invalid keys: zone" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_refused(PROCESSOR, rows[i].yaml, rows[i].text);
}

static void what_other_detectors_would_find_is_missing_and_said(void **state)
{
	struct processor processor;

	(void)state;
	processor_start(&processor, PROCESSOR,
			"{detectors: [docker, env, dynatrace], docker: {resource_attributes: "
			"{host.name: {enabled: true}}}, tls: {insecure: true}, max_idle_conns: 5}");
	EXPECT_FOUND(&processor, { "host.name", NULL });
	assert_int_equal(fake_host_log_count(&processor.fake, "is not supported here"), 2);
	processor_deinit(&processor);
}

#define TEST(function) cmocka_unit_test_setup(function, forget_waits)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(attributes_come_from_the_environment),
		TEST(an_environment_that_makes_no_sense_stops_the_start),
		TEST(what_a_resource_has_is_replaced_or_kept),
		TEST(without_anything_found_batches_pass_unchanged),
		TEST(the_system_tells_what_it_is),
		TEST(lists_are_lists),
		TEST(without_a_cloud_nothing_is_added_and_nobody_waits),
		TEST(a_slow_service_holds_nothing_up),
		TEST(a_patient_configuration_holds_nothing_up),
		TEST(the_start_waits_no_longer_than_it_may),
		TEST(the_end_does_not_wait_for_a_slow_service),
		TEST(bad_answers_do_no_harm),
		TEST(broken_documents_are_not_believed),
		TEST(metadata_can_be_demanded),
		TEST(what_was_found_is_refreshed),
		TEST(what_makes_no_sense_is_refused),
		TEST(what_other_detectors_would_find_is_missing_and_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
