// SPDX-License-Identifier: Apache-2.0
/* What the receiver `otlp` passes on, what it tells its clients, and what it counts. */
#include "fake_host.h"
#include "raw_call.h"

#include "base/base.h"
#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SERVICE "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/"
#define VERSION "otlp-profiles-development-version"

extern const struct profcol_component profcol_receiver_otlp;

static const struct raw_header no_headers[2];

struct fixture {
	struct fake_host fake;
	char directory[64], endpoint[96], target[112];
	struct profcol_error *refusal; /* of the next batch; owned */
	atomic_uint batches;
	atomic_uint_least64_t samples;
};

static struct fixture *fixture_of(const struct profcol_host *host)
{
	return (struct fixture *)((uintptr_t)host - offsetof(struct fixture, fake.host));
}

static struct profcol_error *next_consume(const struct profcol_host *host,
					  struct profcol_batch *batch)
{
	struct fixture *fixture = fixture_of(host);

	atomic_fetch_add(&fixture->batches, 1);
	atomic_fetch_add(&fixture->samples, profcol_batch_count(batch, PROFCOL_SAMPLES));
	profcol_batch_unref(batch);
	return TAKE(fixture->refusal);
}

static void fixture_configure(struct fixture *fixture)
{
	*fixture = (struct fixture){ 0 };
	strcpy(fixture->directory, "/tmp/profcol-otlp-XXXXXX");
	assert_non_null(mkdtemp(fixture->directory));
	snprintf(fixture->endpoint, sizeof(fixture->endpoint), "unix://%s/socket",
		 fixture->directory);
	snprintf(fixture->target, sizeof(fixture->target), "unix:%s/socket", fixture->directory);
	fake_host_init(&fixture->fake, &profcol_receiver_otlp);
	fixture->fake.host.consume_next = next_consume;
	fake_host_set_texts(profcol_receiver_otlp.options, fixture->fake.config);
	fake_host_set_int(&fixture->fake, "protocols.grpc", true);
	fake_host_set_text(&fixture->fake, "protocols.grpc.endpoint", fixture->endpoint);
}

static void fixture_init(struct fixture *fixture)
{
	fixture_configure(fixture);
	fake_host_start(&fixture->fake);
}

static void fixture_deinit(struct fixture *fixture)
{
	fake_host_shutdown(&fixture->fake);
	fake_host_deinit(&fixture->fake);
	profcol_error_destroy(fixture->refusal);
	assert_int_equal(rmdir(fixture->directory), 0);
}

/* An encoded request with @samples samples of one timestamp each; free(). */
static uint8_t *make_request(unsigned int samples, size_t *length_ret)
{
	struct profcol_builder *builder = profcol_builder_create();
	struct profcol_batch *batch;
	uint8_t *bytes;

	profcol_builder_add_resource(builder, &(struct profcol_resource){ 0 });
	profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
	profcol_builder_add_profile(
		builder, &(struct profcol_profile){
				 .sample_type = profcol_builder_cstring(builder, "samples"),
				 .sample_unit = profcol_builder_cstring(builder, "count"),
				 .time_unix_ns = 1000,
				 .duration_ns = 1000,
			 });
	for (uint64_t i = 0; i < samples; i++) {
		const uint64_t time_ns = 1000 + i;

		profcol_builder_add_sample(
			builder, &(struct profcol_sample){ .timestamp_count = 1,
							   .timestamps_unix_ns = &time_ns });
	}
	assert_no_error(profcol_builder_seal(builder, &batch));
	assert_no_error(otlp_encode(batch, NULL, &bytes, length_ret));
	profcol_batch_unref(batch);
	return bytes;
}

/* Send a request of @samples samples, and compare the status; its message is the caller's. */
static char *send_samples(struct fixture *fixture, unsigned int samples, grpc_status_code expected)
{
	size_t length;
	CLEANUP_FREE uint8_t *bytes = make_request(samples, &length);
	char *message;

	assert_int_equal(raw_call(fixture->target, SERVICE "Export", bytes, length, false,
				  no_headers, &message),
			 expected);
	return message;
}

static void assert_says(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in '%s'", part, text);
}

/* ---- taken ---- */

static void a_request_is_passed_on_and_counted(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP_FREE char *message = NULL;

	(void)state;
	fixture_init(&fixture);
	message = send_samples(&fixture, 7, GRPC_STATUS_OK);
	assert_int_equal(fixture.batches, 1);
	assert_int_equal(fixture.samples, 7);
	assert_int_equal(fixture.fake.taken, 7);
	assert_int_equal(fake_host_metric(&fixture.fake, "receiver_accepted_profile_samples"), 7);
	assert_int_equal(fake_host_metric(&fixture.fake, "receiver_refused_profile_samples"), 0);
}

static void a_request_without_samples_is_acknowledged_and_dropped(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP_FREE char *none = NULL, *empty = NULL;

	(void)state;
	fixture_init(&fixture);
	none = send_samples(&fixture, 0, GRPC_STATUS_OK);
	assert_int_equal(
		raw_call(fixture.target, SERVICE "Export", "", 0, false, no_headers, &empty),
		GRPC_STATUS_OK);
	assert_int_equal(fixture.batches, 0);
	assert_int_equal(fixture.fake.taken, 0);
}

static void version_one_is_taken(void **state)
{
	static const struct raw_header one[2] = { { VERSION, "1" } };
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP_FREE char *message = NULL;
	CLEANUP_FREE uint8_t *bytes = NULL;
	size_t length;

	(void)state;
	fixture_init(&fixture);
	bytes = make_request(2, &length);
	assert_int_equal(
		raw_call(fixture.target, SERVICE "Export", bytes, length, false, one, &message),
		GRPC_STATUS_OK);
	assert_int_equal(fixture.samples, 2);
}

/* ---- refused unread ---- */

static void other_versions_are_refused_before_decoding(void **state)
{
	static const struct raw_header versions[][2] = {
		{ { VERSION, "2" } },
		{ { VERSION, "01" } },
		{ { VERSION, "" } },
		{ { VERSION, "1" }, { VERSION, "1" } },
	};
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		CLEANUP_FREE char *message = NULL;

		// Not even a message: the version comes first.
		assert_int_equal(raw_call(fixture.target, SERVICE "Export", "\xff\xff", 2, false,
					  versions[i], &message),
				 GRPC_STATUS_INVALID_ARGUMENT);
		assert_string_equal(message,
				    "invalid or unsupported " VERSION ": supported version is 1");
	}
	assert_int_equal(fake_host_metric(&fixture.fake, "receiver_refused_requests"), 4);
	// One line for all of them.
	assert_int_equal(fake_host_log_count(&fixture.fake, "refused a request from unix:"), 1);
}

static void other_methods_are_unimplemented(void **state)
{
	static const struct {
		const char *method, *text;
	} others[] = {
		{ "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
		  "TraceService/Export; profcol receives profiles only" },
		{ "/opentelemetry.proto.collector.profiles.v1experimental.ProfilesService/Export",
		  "profcol receives profiles as of " SERVICE "Export" },
		{ SERVICE "Import", "unknown method" },
	};
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		CLEANUP_FREE char *message = NULL;

		assert_int_equal(raw_call(fixture.target, others[i].method, "x", 1, false,
					  no_headers, &message),
				 GRPC_STATUS_UNIMPLEMENTED);
		assert_says(message, others[i].text);
	}
}

static void broken_data_is_the_clients_fault(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP_FREE char *message = NULL;

	(void)state;
	fixture_init(&fixture);
	assert_int_equal(raw_call(fixture.target, SERVICE "Export", "\x0a\xff", 2, false,
				  no_headers, &message),
			 GRPC_STATUS_INVALID_ARGUMENT);
	assert_true(strlen(message) > 10);
	assert_int_equal(fixture.batches, 0);
	assert_int_equal(fixture.fake.taken, 0);
	assert_int_equal(fake_host_metric(&fixture.fake, "receiver_refused_requests"), 1);
	assert_int_equal(fake_host_log_count(&fixture.fake, message), 1);
}

/* ---- refused downstream ---- */

static void what_may_pass_is_unavailable(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP_FREE char *full = NULL, *stopping = NULL;

	(void)state;
	fixture_init(&fixture);
	fixture.refusal = profcol_error_create(PROFCOL_UNAVAILABLE, "sending queue is full");
	full = send_samples(&fixture, 3, GRPC_STATUS_UNAVAILABLE);
	assert_string_equal(full, "sending queue is full");
	fixture.refusal = profcol_error_create(PROFCOL_SHUTDOWN, "not running");
	stopping = send_samples(&fixture, 4, GRPC_STATUS_UNAVAILABLE);
	assert_int_equal(fake_host_metric(&fixture.fake, "receiver_refused_profile_samples"), 7);
	assert_int_equal(fake_host_metric(&fixture.fake, "receiver_accepted_profile_samples"), 0);
	// The edge that refused has booked them as lost: they must have been taken.
	assert_int_equal(fixture.fake.taken, 7);
	assert_int_equal(fixture.fake.lost, 0);
}

static void what_is_refused_for_good_is_internal(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP_FREE char *message = NULL;

	(void)state;
	fixture_init(&fixture);
	fixture.refusal = profcol_error_create(PROFCOL_REJECTED, "never");
	message = send_samples(&fixture, 3, GRPC_STATUS_INTERNAL);
	assert_string_equal(message, "never");
}

/* ---- configuration ---- */

static void a_protocol_has_to_be_named(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	PROFCOL_CLEANUP_ERROR struct profcol_error *none = NULL;

	(void)state;
	fixture_configure(&fixture);
	fake_host_set_int(&fixture.fake, "protocols.grpc", false);
	none = fake_host_try_start(&fixture.fake);
	assert_non_null(none);
	assert_says(profcol_error_message(none),
		    "must specify at least one protocol when using the OTLP receiver");
}

/* ---- HTTP ---- */

/* Where the log says that it listens. */
static int http_port(struct fixture *fixture)
{
	const char *text = strstr(fixture->fake.log, "receiving OTLP over HTTP at ");

	assert_non_null(text);
	return atoi(strchr(text + strlen("receiving OTLP over HTTP at "), ':') + 1);
}

/* The answer to @length bytes of @type; free(). */
static char *post(int port, const char *type, const void *bytes, size_t length)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons((uint16_t)port),
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	CLEANUP_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char *answer = calloc(1, 4096);
	size_t got = 0;
	ssize_t part;

	assert_non_null(answer);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_true(dprintf(fd,
			    "POST /v1development/profiles HTTP/1.1\r\nHost: x\r\nConnection: "
			    "close\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n",
			    type, length) > 0);
	assert_int_equal(send(fd, bytes, length, MSG_NOSIGNAL), length);
	while (got < 4095 && (part = read(fd, answer + got, 4095 - got)) > 0)
		got += (size_t)part;
	return answer;
}

static void requests_over_http_are_passed_on_in_both_encodings(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP_FREE char *proto = NULL, *json = NULL, *broken = NULL, *text = NULL;
	CLEANUP_FREE uint8_t *bytes = NULL;
	size_t length, text_length;
	int port;

	(void)state;
	fixture_configure(&fixture);
	fake_host_set_int(&fixture.fake, "protocols.http", true);
	fake_host_set_text(&fixture.fake, "protocols.http.endpoint", "127.0.0.1:0");
	fake_host_start(&fixture.fake);
	port = http_port(&fixture);
	bytes = make_request(3, &length);
	proto = post(port, "application/x-protobuf", bytes, length);
	assert_says(proto, "200 OK");
	assert_int_equal(fixture.samples, 3);
	assert_no_error(otlp_to_json(bytes, length, &text, &text_length));
	json = post(port, "application/json", text, text_length);
	assert_says(json, "200 OK");
	assert_int_equal(fixture.samples, 6);
	broken = post(port, "application/json", "{\"dictionary\":7}", 16);
	assert_says(broken, "HTTP/1.1 400 ");
	assert_says(broken, "not OTLP/JSON: field dictionary is no number");
	assert_int_equal(fake_host_metric_with(&fixture.fake, "receiver_accepted_profile_samples",
					       "transport=http"),
			 6);
	assert_int_equal(
		fake_host_metric_with(&fixture.fake, "receiver_refused_requests", "transport=http"),
		1);
}

/* A small one is decoded anyway: who refuses it says so, and has it in the books. */
static void memory_is_asked_for_before_much_of_it_is_taken(void **state)
{
	const unsigned int many = 50000;
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP_FREE char *refused = NULL, *taken = NULL, *small = NULL;

	(void)state;
	fixture_init(&fixture);
	atomic_store(&fixture.fake.is_full, true);
	refused = send_samples(&fixture, many, GRPC_STATUS_UNAVAILABLE);
	assert_says(refused, "data refused due to high memory usage");
	assert_int_equal(fixture.fake.taken, 0);
	assert_int_equal(fake_host_metric(&fixture.fake, "receiver_refused_requests"), 1);
	small = send_samples(&fixture, 7, GRPC_STATUS_OK);
	assert_int_equal(fixture.fake.taken, 7);
	atomic_store(&fixture.fake.is_full, false);
	taken = send_samples(&fixture, many, GRPC_STATUS_OK);
	assert_int_equal(fixture.samples, many + 7);
}

static void faults_are_named_by_their_whole_key(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	(void)state;
	fixture_configure(&fixture);
	fake_host_set_text(&fixture.fake, "protocols.grpc.auth.authenticator", "basicauth");
	error = fake_host_try_start(&fixture.fake);
	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_CONFIG);
	assert_says(profcol_error_message(error), "protocols.grpc.auth.authenticator: ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_passed_on_and_counted),
		cmocka_unit_test(a_request_without_samples_is_acknowledged_and_dropped),
		cmocka_unit_test(version_one_is_taken),
		cmocka_unit_test(other_versions_are_refused_before_decoding),
		cmocka_unit_test(other_methods_are_unimplemented),
		cmocka_unit_test(broken_data_is_the_clients_fault),
		cmocka_unit_test(what_may_pass_is_unavailable),
		cmocka_unit_test(what_is_refused_for_good_is_internal),
		cmocka_unit_test(a_protocol_has_to_be_named),
		cmocka_unit_test(requests_over_http_are_passed_on_in_both_encodings),
		cmocka_unit_test(memory_is_asked_for_before_much_of_it_is_taken),
		cmocka_unit_test(faults_are_named_by_their_whole_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
