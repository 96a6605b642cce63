// SPDX-License-Identifier: Apache-2.0
/* What the exporter otlp_grpc sends, and what it makes of each answer. */
#include "fake_host.h"
#include "test_server.h"

#include "base/base.h"
#include "net/net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

extern const struct profcol_component profcol_exporter_otlp_grpc;

/* Status{details: [Any{RetryInfo{Duration{seconds: 3}}}]} */
static const char retry_info[] = "\x1a\x30\x0a\x28type.googleapis.com/google.rpc.RetryInfo"
				 "\x12\x04\x0a\x02\x08\x03";

struct fixture {
	struct fake_host fake;
	struct test_server server;
	char endpoint[64];
	uint64_t samples, profiles; /* in each request */
	struct profcol_reply reply; /* to the last request */
};

static void exporter_configure(struct fake_host *fake, const char *endpoint)
{
	fake_host_init(fake, &profcol_exporter_otlp_grpc);
	fake_host_set_texts(profcol_exporter_otlp_grpc.options, fake->config);
	fake_host_set_text(fake, "endpoint", endpoint);
	fake_host_set_int(fake, "tls.insecure", true);
	fake_host_set_int(fake, "compression", NET_GZIP);
	fake_host_set_int(fake, "balancer_name", NET_ROUND_ROBIN);
}

static void fixture_init(struct fixture *fixture)
{
	*fixture = (struct fixture){ .samples = 1, .profiles = 1 };
	test_server_start(&fixture->server, "127.0.0.1:0", NULL);
	snprintf(fixture->endpoint, sizeof(fixture->endpoint), "127.0.0.1:%d",
		 fixture->server.port);
	exporter_configure(&fixture->fake, fixture->endpoint);
	fake_host_start(&fixture->fake);
}

static void fixture_deinit(struct fixture *fixture)
{
	fake_host_shutdown(&fixture->fake);
	fake_host_deinit(&fixture->fake);
	test_server_stop(&fixture->server);
	free(fixture->reply.message);
}

static struct profcol_error *fixture_send(struct fixture *fixture)
{
	const struct profcol_request request = {
		.bytes = (const uint8_t *)"request",
		.length = 7,
		.samples = fixture->samples,
		.profiles = fixture->profiles,
		.deadline_ns = clock_monotonic_ns() + 20 * SECOND,
	};

	free(fixture->reply.message);
	fixture->reply = (struct profcol_reply){ 0 };
	return fixture->fake.component->send(fixture->fake.instance, &request, &fixture->reply);
}

static void assert_says(const struct profcol_error *error, const char *text)
{
	assert_non_null(error);
	if (!strstr(profcol_error_message(error), text))
		fail_msg("'%s' is not in '%s'", text, profcol_error_message(error));
}

static void a_request_goes_to_the_profiles_service(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	assert_no_error(fixture_send(&fixture));
	assert_int_equal(fixture.reply.rejected, 0);
	assert_null(fixture.reply.message);
	assert_string_equal(fixture.server.method,
			    "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/"
			    "Export");
	assert_string_equal(
		test_server_header(&fixture.server, "otlp-profiles-development-version"), "1");
	assert_true(fixture.server.body_compressed);
}

static void a_partial_success_is_passed_on(void **state)
{
	static const struct {
		uint64_t samples, profiles;
		uint64_t rejected; /* samples, of 5 profiles that the peer says it rejected */
	} cases[] = {
		{ 700, 5, 700 },   { 700, 3, 700 }, { 1000, 10, 500 },
		{ 1001, 10, 501 }, { 3, 100, 1 },   { UINT64_MAX, 10, UINT64_MAX / 2 + 1 },
		{ 700, 0, 700 },   { 0, 10, 0 },
	};
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	test_server_answer(
		&fixture.server,
		(struct test_answer){ .body = "\x0a\x09\x08\x05\x12\x05stale", .body_length = 11 });
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fixture.samples = cases[i].samples;
		fixture.profiles = cases[i].profiles;
		assert_no_error(fixture_send(&fixture));
		assert_int_equal(fixture.reply.rejected, cases[i].rejected);
		assert_string_equal(fixture.reply.message, "stale");
	}
}

static void an_answer_that_cannot_be_read_still_counts_as_taken(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	test_server_answer(&fixture.server,
			   (struct test_answer){ .body = "no gzip",
						 .body_length = 7,
						 .body_compression = GRPC_COMPRESS_GZIP });
	assert_no_error(fixture_send(&fixture));
	assert_int_equal(fixture.reply.rejected, 0);
	assert_non_null(fixture.reply.message);
	assert_non_null(strstr(fixture.reply.message, "the answer cannot be read"));
}

static void an_answer_that_is_no_otlp_still_counts_as_taken(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	test_server_answer(&fixture.server,
			   (struct test_answer){ .body = "\x0a\xff", .body_length = 2 });
	assert_no_error(fixture_send(&fixture));
	assert_non_null(strstr(fixture.reply.message, "no response of an OTLP service"));
}

static void codes_are_retried_as_the_collector_does(void **state)
{
	static const struct {
		grpc_status_code code;
		const char *cause;
		bool retried;
	} codes[] = {
		{ GRPC_STATUS_CANCELLED, "canceled", true },
		{ GRPC_STATUS_UNKNOWN, "unknown", false },
		{ GRPC_STATUS_INVALID_ARGUMENT, "invalid_argument", false },
		{ GRPC_STATUS_DEADLINE_EXCEEDED, "deadline_exceeded", true },
		{ GRPC_STATUS_NOT_FOUND, "not_found", false },
		{ GRPC_STATUS_ALREADY_EXISTS, "already_exists", false },
		{ GRPC_STATUS_PERMISSION_DENIED, "permission_denied", false },
		{ GRPC_STATUS_RESOURCE_EXHAUSTED, "resource_exhausted", false },
		{ GRPC_STATUS_FAILED_PRECONDITION, "failed_precondition", false },
		{ GRPC_STATUS_ABORTED, "aborted", true },
		{ GRPC_STATUS_OUT_OF_RANGE, "out_of_range", true },
		{ GRPC_STATUS_UNIMPLEMENTED, "unimplemented", false },
		{ GRPC_STATUS_INTERNAL, "internal", false },
		{ GRPC_STATUS_UNAVAILABLE, "unavailable", true },
		{ GRPC_STATUS_DATA_LOSS, "data_loss", true },
		{ GRPC_STATUS_UNAUTHENTICATED, "unauthenticated", false },
	};
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

		test_server_answer(&fixture.server, (struct test_answer){ .code = codes[i].code,
									  .message = "because" });
		error = fixture_send(&fixture);
		assert_says(error, "because");
		assert_says(error, fixture.endpoint);
		assert_int_equal(profcol_error_code(error),
				 codes[i].retried ? PROFCOL_UNAVAILABLE : PROFCOL_REJECTED);
		assert_string_equal(fixture.reply.cause, codes[i].cause);
		assert_int_equal(fixture.reply.too_large,
				 codes[i].code == GRPC_STATUS_RESOURCE_EXHAUSTED);
	}
}

static void a_delay_is_kept_to(void **state)
{
	static const grpc_status_code codes[] = { GRPC_STATUS_RESOURCE_EXHAUSTED,
						  GRPC_STATUS_UNAVAILABLE };
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	for (size_t i = 0; i < 2; i++) {
		PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

		test_server_answer(
			&fixture.server,
			(struct test_answer){ .code = codes[i],
					      .message = "busy",
					      .details = retry_info,
					      .details_length = sizeof(retry_info) - 1 });
		error = fixture_send(&fixture);
		assert_says(error, "busy");
		assert_int_equal(profcol_error_code(error), PROFCOL_THROTTLED);
		assert_int_equal(profcol_error_delay(error), 3 * SECOND);
		assert_false(fixture.reply.too_large);
	}
}

static void frequent_troubles_are_explained(void **state)
{
	static const struct {
		grpc_status_code code;
		const char *said, *explained;
	} troubles[] = {
		{ GRPC_STATUS_UNIMPLEMENTED, "unknown service",
		  "the peer has no profiles pipeline" },
		{ GRPC_STATUS_UNIMPLEMENTED,
		  "unknown method Export for service opentelemetry.proto.collector.profiles",
		  "service.profilesSupport" },
		{ GRPC_STATUS_UNIMPLEMENTED, "Method not found: opentelemetry.proto.collector",
		  "service.profilesSupport" },
		{ GRPC_STATUS_UNIMPLEMENTED, "", "service.profilesSupport" },
		{ GRPC_STATUS_INVALID_ARGUMENT,
		  "invalid or unsupported otlp-profiles-development-version: supported version is "
		  "2",
		  "speaks another version of OTLP profiles" },
		{ GRPC_STATUS_INTERNAL, "grpc: error unmarshalling request: proto: wrong wireType",
		  "an older OTLP profiles" },
		{ GRPC_STATUS_UNAUTHENTICATED, "no token", "check 'headers'" },
		{ GRPC_STATUS_PERMISSION_DENIED, "go away", "the peer refused us" },
	};
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++) {
		PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

		test_server_answer(&fixture.server,
				   (struct test_answer){ .code = troubles[i].code,
							 .message = troubles[i].said });
		error = fixture_send(&fixture);
		assert_says(error, troubles[i].said);
		assert_says(error, troubles[i].explained);
	}
}

static void what_a_peer_does_not_implement_for_its_own_reasons_is_not_explained(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	(void)state;
	fixture_init(&fixture);
	test_server_answer(&fixture.server,
			   (struct test_answer){ .code = GRPC_STATUS_UNIMPLEMENTED,
						 .message = "no decompressor for \"gzip\"" });
	error = fixture_send(&fixture);
	assert_says(error, "unimplemented: no decompressor");
	assert_null(strstr(profcol_error_message(error), "pipeline"));
}

static void after_shutdown_a_request_is_left_for_later(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	(void)state;
	fixture_init(&fixture);
	fake_host_shutdown(&fixture.fake);
	error = fixture_send(&fixture);
	assert_says(error, "canceled");
	assert_true(profcol_error_is_retryable(error));
}

/* The error with which a configuration is refused, starting with @text. */
static void assert_invalid(struct fake_host *fake, const char *text)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = fake->component->validate(fake->config);

	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_CONFIG);
	if (strncmp(profcol_error_message(error), text, strlen(text)))
		fail_msg("'%s' does not begin '%s'", text, profcol_error_message(error));
}

static void an_endpoint_may_be_written_in_many_ways(void **state)
{
	static const char *const good[] = {
		"localhost:4317",
		"10.0.0.1:4317",
		"[::1]:4317",
		"http://gateway:4317",
		"HTTPS://gateway:1",
		"dns:///gateway:4317",
		"dns://gateway:4317",
		"dns:gateway:65535",
		"unix:///run/otlp.sock",
		"unix:/run/otlp.sock",
		"unix:relative.sock",
		"passthrough:///gateway:4317",
		"dns://10.0.0.53/gateway:4317",
		"dns://10.0.0.53:5353/gateway:4317",
		"dns://[fd00::53]/gateway:4317",
		"dns://[fd00::53]:5353/[::1]:4317",
	};
	static const struct {
		const char *endpoint, *error;
	} bad[] = {
		{ "localhost", "endpoint: address localhost: missing port in address" },
		{ "::1:4317", "endpoint: address ::1:4317: missing port in address" },
		{ "[::1]", "endpoint: address [::1]: missing port in address" },
		{ "localhost:otlp", "endpoint: invalid port \"otlp\"" },
		{ "localhost:0", "endpoint: invalid port \"0\"" },
		{ "localhost:65536", "endpoint: invalid port \"65536\"" },
		{ "localhost:4317/v1", "endpoint: invalid port \"4317/v1\"" },
		{ ":4317", "endpoint: \"\" is no host name" },
		{ "a b:4317", "endpoint: \"a b\" is no host name" },
		{ "https://", "endpoint: requires a non-empty \"endpoint\"" },
		{ "ftp://x:1", "endpoint: the scheme of \"ftp://x:1\" is not known" },
		{ "dns://names/gateway:4317",
		  "endpoint: \"names\" is no address of a name server" },
		{ "dns://10.0.0.53:0/gateway:4317", "endpoint: \"10.0.0.53:0\" is no address" },
		{ "dns://[10.0.0.53]/gateway:4317", "endpoint: \"[10.0.0.53]\" is no address" },
		{ "dns://[/gateway:4317", "endpoint: \"[\" is no address of a name server" },
		{ "dns://10.0.0.53/gateway", "endpoint: address gateway: missing port" },
		{ "unix://", "endpoint: unix socket path cannot be empty" },
	};
	struct fake_host fake;

	(void)state;
	exporter_configure(&fake, "");
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		fake_host_set_text(&fake, "endpoint", good[i]);
		assert_no_error(fake.component->validate(fake.config));
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		fake_host_set_text(&fake, "endpoint", bad[i].endpoint);
		assert_invalid(&fake, bad[i].error);
	}
	fake_host_deinit(&fake);
}

static void what_is_not_supported_is_refused(void **state)
{
	static const char *const middleware = "limiter";
	struct fake_host fake;

	(void)state;
	exporter_configure(&fake, "localhost:4317");
	fake_host_set_text(&fake, "auth.authenticator", "oauth2client");
	assert_invalid(&fake, "auth.authenticator: profcol has no authenticators");
	fake_host_set_text(&fake, "auth.authenticator", "");
	fake_host_set_list(&fake, "middlewares", &middleware, 1);
	assert_invalid(&fake, "middlewares: ");
	fake_host_deinit(&fake);
}

/* Nobody is there: the error of one request. */
static struct profcol_error *send_nowhere(const char *endpoint)
{
	const struct profcol_request request = {
		.bytes = (const uint8_t *)"x",
		.length = 1,
		.deadline_ns = clock_monotonic_ns() + 20 * SECOND,
	};
	struct profcol_reply reply = { 0 };
	struct profcol_error *error;
	struct fake_host fake;

	exporter_configure(&fake, endpoint);
	fake_host_start(&fake);
	error = fake.component->send(fake.instance, &request, &reply);
	fake_host_deinit(&fake);
	return error;
}

static void an_absent_peer_is_named(void **state)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = send_nowhere("127.0.0.1:1");

	(void)state;
	assert_says(error, "export to '127.0.0.1:1': unavailable: connection refused: nobody "
			   "listens at port 1 of '127.0.0.1'");
	assert_int_equal(profcol_error_code(error), PROFCOL_UNAVAILABLE);
}

static void an_absent_socket_is_named(void **state)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error =
		send_nowhere("unix:///tmp/profcol-no-such-socket");

	(void)state;
	assert_says(error, "there is no socket '/tmp/profcol-no-such-socket'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_goes_to_the_profiles_service),
		cmocka_unit_test(a_partial_success_is_passed_on),
		cmocka_unit_test(an_answer_that_cannot_be_read_still_counts_as_taken),
		cmocka_unit_test(an_answer_that_is_no_otlp_still_counts_as_taken),
		cmocka_unit_test(codes_are_retried_as_the_collector_does),
		cmocka_unit_test(a_delay_is_kept_to),
		cmocka_unit_test(frequent_troubles_are_explained),
		cmocka_unit_test(
			what_a_peer_does_not_implement_for_its_own_reasons_is_not_explained),
		cmocka_unit_test(after_shutdown_a_request_is_left_for_later),
		cmocka_unit_test(an_endpoint_may_be_written_in_many_ways),
		cmocka_unit_test(what_is_not_supported_is_refused),
		cmocka_unit_test(an_absent_peer_is_named),
		cmocka_unit_test(an_absent_socket_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
