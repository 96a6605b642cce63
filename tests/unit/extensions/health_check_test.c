// SPDX-License-Identifier: Apache-2.0
/* What probes and people are told, and which configurations are refused. */
#include "pages_fixture.h"

#include "base/base.h"
#include "confighttp/confighttp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

extern const struct profcol_component profcol_extension_health_check;

static int setup(void **state)
{
	static struct pages_fixture fixture;

	setenv("TZ", "UTC", 1);
	pages_fixture_init(&fixture, &profcol_extension_health_check);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	pages_fixture_deinit(*state);
	return 0;
}

static void json_cleanup(json_t **json)
{
	json_decref(*json);
}
#define CLEANUP_JSON CLEANUP(json_cleanup)

/* The reply as JSON: the caller's. */
static json_t *ask(struct pages_fixture *fixture, const char *target, int status)
{
	CLEANUP_FREE char *body = NULL;
	json_error_t error;
	json_t *json;
	int got;

	body = pages_fixture_ask(fixture, target, &got);
	if (got != status)
		fail_msg("%s: %d instead of %d: %s", target, got, status, body);
	json = json_loads(body, JSON_REJECT_DUPLICATES, &error);
	if (!json)
		fail_msg("%s: %s: %s", target, error.text, body);
	return json;
}

/* The text at @path, keys with '|' between; "" when it is not there. */
static const char *text_at(const json_t *json, const char *path)
{
	CLEANUP_FREE char *keys = strdup(path);
	char *rest = keys, *key;

	while ((key = strsep(&rest, "|")))
		json = json_object_get(json, key);
	if (json_is_boolean(json))
		return json_is_true(json) ? "true" : "false";
	return json_is_string(json) ? json_string_value(json) : "";
}

static void assert_text_at(const json_t *json, const char *path, const char *text)
{
	if (strcmp(text_at(json, path), text) != 0)
		fail_msg("%s is '%s', not '%s'", path, text_at(json, path), text);
}

static int status_of(struct pages_fixture *fixture, const char *target)
{
	CLEANUP_FREE char *body = NULL;
	int status;

	body = pages_fixture_ask(fixture, target, &status);
	return status;
}

/* ---- version 1 ---- */

static void a_probe_learns_that_all_runs_and_since_when(void **state)
{
	struct pages_fixture *fixture = *state;
	CLEANUP_FREE char *body = NULL;
	CLEANUP_JSON json_t *json = NULL;
	int status;

	fake_host_start(&fixture->fake);
	json = ask(fixture, "/", 200);
	assert_text_at(json, "status", "Server available");
	assert_int_equal(strncmp(text_at(json, "uptime"), "1m0.", 4), 0);
	assert_int_equal(strlen(text_at(json, "upSince")) > 20, 1);
	// Go's order of keys and its compact form.
	body = pages_fixture_ask(fixture, "/", &status);
	assert_int_equal(strncmp(body, "{\"status\":\"Server available\",\"upSince\":\"20", 41), 0);
	assert_string_equal(fixture->opened.endpoint, "localhost:13133");
}

static void a_probe_learns_that_it_has_to_wait(void **state)
{
	struct pages_fixture *fixture = *state;
	CLEANUP_FREE char *body = NULL;
	int status;

	fixture->view.ready = false;
	fake_host_start(&fixture->fake);
	body = pages_fixture_ask(fixture, "/", &status);
	assert_int_equal(status, 503);
	assert_string_equal(body, "{\"status\":\"Server not available\","
				  "\"upSince\":\"0001-01-01T00:00:00Z\",\"uptime\":\"\"}");
	fixture->view.ready = true;
	assert_int_equal(status_of(fixture, "/"), 200);
	fixture->no_view = true;
	assert_int_equal(status_of(fixture, "/"), 503);
	assert_int_equal(status_of(fixture, "/status"), 503);
}

/* Probes restart what they find ill: errors are for /status, but for those that end it all. */
static void errors_of_components_are_not_for_probes(void **state)
{
	struct pages_fixture *fixture = *state;

	fake_host_start(&fixture->fake);
	pages_fixture_set(fixture, PROFCOL_STATUS_PERMANENT_ERROR, 1, "disk gone");
	assert_int_equal(status_of(fixture, "/"), 200);
	pages_fixture_set(fixture, PROFCOL_STATUS_FATAL_ERROR, 1, "disk gone");
	assert_int_equal(status_of(fixture, "/"), 503);
}

static void configured_texts_are_the_whole_answer(void **state)
{
	struct pages_fixture *fixture = *state;
	CLEANUP_FREE char *well = NULL, *ill = NULL;
	int status;

	fake_host_set_int(&fixture->fake, "response_body", 1);
	fake_host_set_text(&fixture->fake, "response_body.healthy", "I'm well");
	fake_host_set_text(&fixture->fake, "response_body.unhealthy", "I'm ill");
	fake_host_start(&fixture->fake);
	well = pages_fixture_ask(fixture, "/", &status);
	assert_int_equal(status, 200);
	assert_string_equal(well, "I'm well");
	fixture->view.ready = false;
	ill = pages_fixture_ask(fixture, "/", &status);
	assert_int_equal(status, 503);
	assert_string_equal(ill, "I'm ill");
}

static void paths_are_found_as_go_finds_them(void **state)
{
	static const struct {
		const char *configured, *path;
		bool probe;
	} cases[] = {
		{ "/", "/", true },
		{ "/", "/anything", true },
		{ "/health", "/health", true },
		{ "/health", "/health/", false },
		{ "/health", "/", false },
		{ "/health/", "/health/x", true },
		{ "/health/", "/health", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pages_fixture fixture;

		(void)state;
		pages_fixture_init(&fixture, &profcol_extension_health_check);
		fake_host_set_text(&fixture.fake, "path", cases[i].configured);
		fake_host_start(&fixture.fake);
		assert_int_equal(status_of(&fixture, cases[i].path), cases[i].probe ? 200 : 404);
		// The statuses are there all the same.
		assert_int_equal(status_of(&fixture, "/status"), 200);
		pages_fixture_deinit(&fixture);
	}
}

/* ---- version 2 ---- */

static void the_status_tells_which_part_is_unwell_since_when_and_why(void **state)
{
	struct pages_fixture *fixture = *state;
	CLEANUP_JSON json_t *json = NULL, *all = NULL;

	fake_host_start(&fixture->fake);
	pages_fixture_set(fixture, PROFCOL_STATUS_RECOVERABLE_ERROR, 1705627000500000000,
			  "no space left on device");
	json = ask(fixture, "/status", 200);
	assert_text_at(json, "status", "StatusRecoverableError");
	assert_text_at(json, "healthy", "true");
	assert_text_at(json, "error", "no space left on device");
	assert_text_at(json, "status_time", "2024-01-19T01:16:40.5Z");
	assert_int_equal(strlen(text_at(json, "start_time")) > 20, 1);
	assert_null(json_object_get(json, "components"));

	all = ask(fixture, "/status?verbose", 200);
	assert_text_at(all, "error", "no space left on device");
	assert_text_at(all, "components|extensions|status", "StatusOK");
	assert_text_at(all, "components|extensions|components|extension:health_check|status",
		       "StatusOK");
	assert_text_at(all, "components|pipeline:profiles|status", "StatusOK");
	assert_text_at(all, "components|pipeline:profiles/raw|status", "StatusRecoverableError");
	assert_text_at(all, "components|pipeline:profiles/raw|components|exporter:pprof/node|error",
		       "no space left on device");
	assert_text_at(all,
		       "components|pipeline:profiles/raw|components|exporter:pprof/node|"
		       "status_time",
		       "2024-01-19T01:16:40.5Z");
	assert_text_at(all, "components|pipeline:profiles/raw|components|processor:filter|status",
		       "StatusOK");
	assert_text_at(all, "components|pipeline:profiles/raw|components|receiver:profiling|status",
		       "StatusOK");
}

static void one_pipeline_can_be_asked_for(void **state)
{
	struct pages_fixture *fixture = *state;
	CLEANUP_JSON json_t *raw = NULL, *other = NULL, *extensions = NULL, *unknown = NULL;
	CLEANUP_JSON json_t *malformed = NULL;

	fake_host_start(&fixture->fake);
	pages_fixture_set(fixture, PROFCOL_STATUS_FATAL_ERROR, 1, "gone");
	raw = ask(fixture, "/status?pipeline=profiles%2Fraw&verbose", 500);
	assert_text_at(raw, "status", "StatusFatalError");
	assert_text_at(raw, "healthy", "false");
	assert_text_at(raw, "components|exporter:pprof/node|error", "gone");
	other = ask(fixture, "/status?pipeline=profiles", 200);
	assert_text_at(other, "status", "StatusOK");
	assert_null(json_object_get(other, "components"));
	extensions = ask(fixture, "/status?pipeline=extensions&verbose", 200);
	assert_text_at(extensions, "components|extension:health_check|status", "StatusOK");
	unknown = ask(fixture, "/status?pipeline=traces", 404);
	malformed = ask(fixture, "/status?pipeline=profiles%zz", 400);
	assert_int_equal(status_of(fixture, "/status"), 500);
}

static void what_counts_is_a_matter_of_configuration(void **state)
{
	struct pages_fixture *fixture = *state;
	uint64_t now = clock_realtime_ns();

	fake_host_set_int(&fixture->fake, "component_health.include_recoverable_errors", 1);
	fake_host_set_int(&fixture->fake, "component_health.recovery_duration", 5 * PROFCOL_MINUTE);
	fake_host_start(&fixture->fake);
	pages_fixture_set(fixture, PROFCOL_STATUS_RECOVERABLE_ERROR, now - PROFCOL_MINUTE, "away");
	assert_int_equal(status_of(fixture, "/status"), 200);
	pages_fixture_set(fixture, PROFCOL_STATUS_RECOVERABLE_ERROR, now - 6 * PROFCOL_MINUTE,
			  "away");
	assert_int_equal(status_of(fixture, "/status"), 500);
	assert_int_equal(status_of(fixture, "/status?pipeline=profiles"), 200);
	pages_fixture_set(fixture, PROFCOL_STATUS_PERMANENT_ERROR, 1, "given up");
	assert_int_equal(status_of(fixture, "/status"), 200);
}

static void version_2_has_its_own_server(void **state)
{
	struct pages_fixture *fixture = *state;

	fake_host_set_int(&fixture->fake, "use_v2", 1);
	fake_host_set_int(&fixture->fake, "http", 1);
	fake_host_set_text(&fixture->fake, "http.endpoint", "0.0.0.0:13134");
	fake_host_set_int(&fixture->fake, "http.status.enabled", 1);
	fake_host_set_text(&fixture->fake, "http.status.path", "/health/status");
	fake_host_start(&fixture->fake);
	assert_string_equal(fixture->opened.endpoint, "0.0.0.0:13134");
	assert_int_equal(status_of(fixture, "/health/status?verbose"), 200);
	assert_int_equal(status_of(fixture, "/"), 404);
	assert_int_equal(status_of(fixture, "/status"), 404);
}

/* Messages quote peers and files: any bytes. */
static void hostile_messages_leave_the_answer_sound(void **state)
{
	struct pages_fixture *fixture = *state;
	CLEANUP_JSON json_t *json = NULL;

	fake_host_start(&fixture->fake);
	pages_fixture_set(fixture, PROFCOL_STATUS_PERMANENT_ERROR, 1,
			  "\"},\n\"x\":\t\001\xff\xc3 </script>");
	json = ask(fixture, "/status?verbose", 200);
	assert_text_at(json, "error", "\"},\n\"x\":\t\001?? </script>");
}

static void an_empty_service_is_well(void **state)
{
	struct pages_fixture *fixture = *state;
	CLEANUP_JSON json_t *json = NULL;

	fake_host_start(&fixture->fake);
	fixture->view.pipeline_count = fixture->view.extension_count = 0;
	json = ask(fixture, "/status?verbose", 200);
	assert_text_at(json, "status", "StatusOK");
}

/* ---- configurations ---- */

/* What the extension says of the configuration. */
static void assert_refused(struct pages_fixture *fixture, const char *message)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error =
		fixture->fake.component->validate(fixture->fake.config);

	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_CONFIG);
	if (strncmp(profcol_error_message(error), message, strlen(message)) != 0)
		fail_msg("'%s', not '%s'", profcol_error_message(error), message);
}

static void texts_that_cannot_be_are_refused(void **state)
{
	static const struct {
		const char *key, *value, *message;
	} cases[] = {
		{ "endpoint", "", "endpoint: requires a non-empty \"endpoint\"" },
		{ "endpoint", "localhost", "endpoint: address localhost: missing port in address" },
		{ "path", "health", "path: path must start with /; write /health" },
		{ "path", "", "path: path must start with /" },
		{ "auth.authenticator", "oidc",
		  "auth.authenticator: profcol has no authenticators" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pages_fixture fixture;

		(void)state;
		pages_fixture_init(&fixture, &profcol_extension_health_check);
		fake_host_set_text(&fixture.fake, cases[i].key, cases[i].value);
		assert_refused(&fixture, cases[i].message);
		pages_fixture_deinit(&fixture);
	}
}

static void tls_that_cannot_be_is_refused(void **state)
{
	static const struct {
		const char *keys[3], *values[3], *message;
	} cases[] = {
		{ { NULL }, { NULL }, "tls.cert_file: a server needs a certificate and its key" },
		{ { "tls.cert_file" }, { "a" }, "tls.key_file: for auth via TLS, provide both" },
		{ { "tls.key_pem" }, { "a" }, "tls.cert_file: for auth via TLS, provide both" },
		{ { "tls.cert_file", "tls.cert_pem", "tls.key_file" },
		  { "a", "b", "c" },
		  "tls.cert_file: provide either a certificate or the PEM-encoded string" },
		{ { "tls.cert_file", "tls.key_file", "tls.min_version" },
		  { "a", "b", "1.1" },
		  "tls.min_version: profcol offers TLS 1.2 and 1.3, not \"1.1\"" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pages_fixture fixture;

		(void)state;
		pages_fixture_init(&fixture, &profcol_extension_health_check);
		fake_host_set_int(&fixture.fake, "tls", 1);
		for (size_t j = 0; j < 3 && cases[i].keys[j]; j++)
			fake_host_set_text(&fixture.fake, cases[i].keys[j], cases[i].values[j]);
		assert_refused(&fixture, cases[i].message);
		pages_fixture_deinit(&fixture);
	}
}

static void version_2_needs_what_it_can_have(void **state)
{
	struct pages_fixture *fixture = *state;

	fake_host_set_int(&fixture->fake, "use_v2", 1);
	assert_refused(fixture, "use_v2: must specify at least one protocol; add 'http: {}'");
	fake_host_set_int(&fixture->fake, "grpc", 1);
	assert_refused(fixture, "grpc: profcol has no gRPC health service");
	fake_host_set_int(&fixture->fake, "grpc", 0);
	fake_host_set_int(&fixture->fake, "http", 1);
	fake_host_set_text(&fixture->fake, "http.endpoint", "x");
	assert_refused(fixture, "http.endpoint: address x: missing port in address");
	fake_host_set_text(&fixture->fake, "http.endpoint", "localhost:0");
	fake_host_set_int(&fixture->fake, "http.config.enabled", 1);
	assert_refused(fixture, "http.config.enabled: profcol does not serve its configuration");
}

static void what_does_nothing_is_said_once(void **state)
{
	struct pages_fixture *fixture = *state;

	fake_host_set_int(&fixture->fake, "check_collector_pipeline.enabled", 1);
	fake_host_set_int(&fixture->fake, "cors", 1);
	fake_host_set_int(&fixture->fake, "include_metadata", 1);
	fake_host_set_int(&fixture->fake, "grpc", 1);
	fake_host_start(&fixture->fake);
	assert_int_equal(fake_host_log_count(&fixture->fake,
					     "warn 'check_collector_pipeline' has no effect"),
			 1);
	assert_int_equal(fake_host_log_count(&fixture->fake,
					     "no effect on pages that are only read: cors, "
					     "include_metadata\n"),
			 1);
	assert_int_equal(fake_host_log_count(&fixture->fake, "have no effect without 'use_v2"), 1);
}

static void what_version_2_does_not_look_at_is_said(void **state)
{
	static const char *const keys[] = { "endpoint", "path", "tls", "response_body" };
	struct pages_fixture *fixture = *state;

	fake_host_set_int(&fixture->fake, "use_v2", 1);
	fake_host_set_int(&fixture->fake, "http", 1);
	fake_host_set_text(&fixture->fake, "http.endpoint", "localhost:13134");
	fake_host_set_text(&fixture->fake, "http.status.path", "/status");
	fake_host_set_text(&fixture->fake, "endpoint", "0.0.0.0:13133");
	fake_host_set_text(&fixture->fake, "path", "/health");
	fake_host_set_int(&fixture->fake, "tls", 1);
	fake_host_set_int(&fixture->fake, "response_body", 1);
	fake_host_start(&fixture->fake);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		char line[80];

		snprintf(line, sizeof(line), "warn '%s' has no effect with 'use_v2: true'",
			 keys[i]);
		assert_int_equal(fake_host_log_count(&fixture->fake, line), 1);
	}
}

static void a_header_of_the_server_is_refused(void **state)
{
	static const char *const keys[] = { "content-type", "Date", "Cache-Control", "Connection" };
	static const char value[] = "x";
	static const char *const values[] = { value };

	(void)state;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct confighttp_server_config config = {
			.endpoint = "localhost:1",
			.response_headers = { &keys[i], values, 1 },
			.auth.authenticator = "",
		};
		PROFCOL_CLEANUP_ERROR struct profcol_error *error =
			confighttp_server_validate(&config);

		assert_non_null(error);
		assert_non_null(strstr(profcol_error_message(error), keys[i]));
		assert_non_null(strstr(profcol_error_message(error), "response_headers: "));
	}
}

static void settings_reach_the_server(void **state)
{
	struct pages_fixture *fixture = *state;

	fake_host_set_int(&fixture->fake, "tls", 1);
	fake_host_set_text(&fixture->fake, "tls.cert_file", "c");
	fake_host_set_text(&fixture->fake, "tls.key_file", "k");
	fake_host_set_text(&fixture->fake, "tls.client_ca_file", "ca");
	fake_host_set_int(&fixture->fake, "tls.client_ca_file_reload", 1);
	fake_host_set_int(&fixture->fake, "read_timeout", 7);
	fake_host_set_int(&fixture->fake, "read_header_timeout", 5);
	fake_host_set_int(&fixture->fake, "idle_timeout", 9);
	fake_host_set_int(&fixture->fake, "keep_alives_enabled", 1);
	fake_host_start(&fixture->fake);
	assert_string_equal(fixture->opened.cert_file, "c");
	assert_string_equal(fixture->opened.key_file, "k");
	assert_string_equal(fixture->opened.client_ca_file, "ca");
	assert_int_equal(fixture->opened.reload_interval_ns, PROFCOL_SECOND);
	assert_int_equal(fixture->opened.header_timeout_ns, 5);
	assert_int_equal(fixture->opened.idle_timeout_ns, 9);
	assert_false(fixture->opened.close_after_reply);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_probe_learns_that_all_runs_and_since_when),
		TEST(a_probe_learns_that_it_has_to_wait),
		TEST(errors_of_components_are_not_for_probes),
		TEST(configured_texts_are_the_whole_answer),
		cmocka_unit_test(paths_are_found_as_go_finds_them),
		TEST(the_status_tells_which_part_is_unwell_since_when_and_why),
		TEST(one_pipeline_can_be_asked_for),
		TEST(what_counts_is_a_matter_of_configuration),
		TEST(version_2_has_its_own_server),
		TEST(hostile_messages_leave_the_answer_sound),
		TEST(an_empty_service_is_well),
		cmocka_unit_test(texts_that_cannot_be_are_refused),
		cmocka_unit_test(tls_that_cannot_be_is_refused),
		TEST(version_2_needs_what_it_can_have),
		TEST(what_does_nothing_is_said_once),
		TEST(what_version_2_does_not_look_at_is_said),
		cmocka_unit_test(a_header_of_the_server_is_refused),
		TEST(settings_reach_the_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
