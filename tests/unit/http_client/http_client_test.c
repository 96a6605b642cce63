// SPDX-License-Identifier: Apache-2.0
/* Calls to servers that are there, slow, silent, gone, or somebody else. */
#include "certificates.h"
#include "stand_in.h"

#include "http_client/http_client.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <event2/event.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#define MILLISECOND UINT64_C(1000000)

static const struct stand_in_route routes[] = {
	{ .request = "GET /hello ", .status = 200, .body = "hello" },
	{ .request = "PUT /token ", .needs = "X-Ttl: 60\r\n", .status = 200, .body = "secret" },
	{ .request = "GET /chunks ",
	  .raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		 "5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n" },
	{ .request = "GET /slow ", .status = 200, .body = "late", .delay_ms = 3600000 },
	{ .request = "GET /drip ", .status = 200, .body = "drop by drop", .byte_ms = 2 },
	{ .request = "GET /trickle ", .status = 200, .body = "drop by drop", .byte_ms = 25 },
	{ .request = "GET /stalls ",
	  .raw = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nsome",
	  .byte_ms = 1 },
	{ .request = "GET /huge ", .status = 200, .padding = 4 << 20 },
	{ .request = "GET /garbage ", .raw = "\1\2\3\4 what is this?\n\n" },
	{ .request = "GET /nothing " },
	{ .request = "GET /watch ",
	  .raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		 "4\r\none\n\r\n4\r\ntwo\n\r\n6\r\nthree\n\r\n",
	  .byte_ms = 1 },
	{ .request = "GET /endless ",
	  .raw = "HTTP/1.1 500 Oh\r\n\r\n12345678",
	  .padding = 20000,
	  .byte_ms = 1 },
	{ .request = "GET /more ", .status = 200, .body = "more", .goes_on = true },
	{ .request = "GET /more_chunks ",
	  .raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nmore\r\n0\r\n\r\n",
	  .goes_on = true },
	{ .request = "GET /once ",
	  .status = 200,
	  .body = "once",
	  .goes_on = true,
	  .once_only = true },
	{ .request = "GET /part ", .raw = "HTTP/1.1 200 O", .goes_on = false },
	{ .request = "GET /last ",
	  .status = 200,
	  .headers = "Connection: close\r\n",
	  .body = "last",
	  .goes_on = true },
	{ .request = "GET /surplus ",
	  .raw = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmoreHTTP/1.1 200 OK\r\n",
	  .goes_on = true },
	{ .request = "GET /both ",
	  .raw = "HTTP/1.1 200 OK\r\nContent-Length: 14\r\nTransfer-Encoding: chunked\r\n\r\n"
		 "4\r\nboth\r\n0\r\n\r\n",
	  .goes_on = true },
	{ .request = NULL },
};

/* ---- the loop of a call, which may fail ---- */

static bool loop_fails;

int __real_event_base_dispatch(struct event_base *base);
int __wrap_event_base_dispatch(struct event_base *base);

int __wrap_event_base_dispatch(struct event_base *base)
{
	return loop_fails ? -1 : __real_event_base_dispatch(base);
}

struct fixture {
	struct stand_in *server;
	struct http_client *client;
	char url[256];
	struct http_client_request request;
	struct http_client_response response;
};

static void fixture_init(struct fixture *fixture)
{
	*fixture = (struct fixture){ .server = stand_in_start(routes, NULL) };
	assert_null(http_client_create(NULL, &fixture->client));
	fixture->request.max_bytes = 1 << 16;
	fixture->request.deadline_ns = clock_monotonic_ns() + 120000 * MILLISECOND;
}

static void fixture_deinit(struct fixture *fixture)
{
	http_client_destroy(fixture->client);
	stand_in_stop(fixture->server);
	http_client_response_deinit(&fixture->response);
}

static struct profcol_error *fixture_get(struct fixture *fixture, const char *path)
{
	snprintf(fixture->url, sizeof(fixture->url), "http://%s%s",
		 stand_in_address(fixture->server), path);
	fixture->request.url = fixture->url;
	http_client_response_deinit(&fixture->response);
	return http_client_call(fixture->client, &fixture->request, &fixture->response);
}

static void expect_error(struct profcol_error *error, enum profcol_code code, const char *text)
{
	if (!error)
		fail_msg("no error");
	if (profcol_error_code(error) != code || !strstr(profcol_error_message(error), text))
		fail_msg("%s: %s", profcol_code_name(profcol_error_code(error)),
			 profcol_error_message(error));
	profcol_error_destroy(error);
}

static void answers_come_back(void **state)
{
	const struct http_client_header header = { "X-Ttl", "60" };
	struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	assert_null(fixture_get(&fixture, "/hello"));
	assert_int_equal(fixture.response.status, 200);
	assert_string_equal(fixture.response.body, "hello");
	assert_null(fixture_get(&fixture, "/chunks"));
	assert_string_equal(fixture.response.body, "hello, world");
	assert_null(fixture_get(&fixture, "/drip"));
	assert_string_equal(fixture.response.body, "drop by drop");
	assert_null(fixture_get(&fixture, "/elsewhere"));
	assert_int_equal(fixture.response.status, 404);
	fixture.request.method = "PUT";
	assert_null(fixture_get(&fixture, "/token"));
	assert_int_equal(fixture.response.status, 404);
	fixture.request.headers = &header;
	fixture.request.header_count = 1;
	assert_null(fixture_get(&fixture, "/token"));
	assert_string_equal(fixture.response.body, "secret");
	fixture_deinit(&fixture);
}

static void names_are_looked_up(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	snprintf(fixture.url, sizeof(fixture.url), "http://localhost:%s/hello",
		 stand_in_port(fixture.server));
	fixture.request.url = fixture.url;
	assert_null(http_client_call(fixture.client, &fixture.request, &fixture.response));
	assert_string_equal(fixture.response.body, "hello");
	fixture.request.url = "http://no-such-name.invalid/";
	expect_error(http_client_call(fixture.client, &fixture.request, &fixture.response),
		     PROFCOL_UNAVAILABLE, "name 'no-such-name.invalid' has no address");
	http_client_response_deinit(&fixture.response);
	fixture_deinit(&fixture);
}

static void a_deadline_holds_for_all_of_it(void **state)
{
	uint64_t begin;
	struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	fixture.request.deadline_ns =
		clock_monotonic_ns() + 1000 * MILLISECOND; // enough to connect
	expect_error(fixture_get(&fixture, "/slow"), PROFCOL_UNAVAILABLE,
		     "no whole answer in time");
	expect_error(fixture_get(&fixture, "/hello"), PROFCOL_UNAVAILABLE, "in time");
	fixture.request.deadline_ns = UINT64_MAX;
	fixture.request.idle_ns = 100 * MILLISECOND;
	expect_error(fixture_get(&fixture, "/slow"), PROFCOL_UNAVAILABLE, "silent for too long");
	// One that is slow but not silent has time.
	fixture.request.idle_ns = 1000 * MILLISECOND;
	begin = clock_monotonic_ns();
	assert_null(fixture_get(&fixture, "/trickle"));
	assert_true(clock_monotonic_ns() - begin > fixture.request.idle_ns);
	fixture_deinit(&fixture);
}

static uint64_t ticks_ns(void)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_MONOTONIC_COARSE, &now), 0);
	return (uint64_t)now.tv_sec * 1000 * MILLISECOND + (uint64_t)now.tv_nsec;
}

/* Comes back between two ticks of the kernel's, in the middle; returns the time from one to the
 * other. */
static uint64_t wait_between_ticks(void)
{
	uint64_t last_ns = ticks_ns();
	struct timespec tick;

	assert_int_equal(clock_getres(CLOCK_MONOTONIC_COARSE, &tick), 0);
	while (ticks_ns() == last_ns)
		usleep(100);
	usleep((useconds_t)tick.tv_nsec / 2 / 1000);
	return (uint64_t)tick.tv_nsec;
}

/*
 * libevent may count by a clock that goes from tick to tick. By that, what begins between two and
 * takes a number of them is over with the last one, before its time, if the loop wakes then for
 * something else: the bytes that come all the while.
 */
static void no_deadline_comes_early(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	for (int i = 0; i < 20; i++) {
		uint64_t tick_ns = wait_between_ticks();

		fixture.request.deadline_ns = clock_monotonic_ns() + 5 * tick_ns;
		expect_error(fixture_get(&fixture, "/endless"), PROFCOL_UNAVAILABLE, "in time");
		assert_true(clock_monotonic_ns() >= fixture.request.deadline_ns);
	}
	fixture_deinit(&fixture);
}

static void what_is_wrong_is_told(void **state)
{
	const struct http_client_header broken = { "Authorization", "Bearer a\nX: b" };
	struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	expect_error(fixture_get(&fixture, "/huge"), PROFCOL_BAD_DATA, "more than 65536 bytes");
	expect_error(fixture_get(&fixture, "/garbage"), PROFCOL_BAD_DATA,
		     "does not begin as HTTP does");
	expect_error(fixture_get(&fixture, "/stalls"), PROFCOL_UNAVAILABLE,
		     "hung up in the middle of its answer");
	expect_error(fixture_get(&fixture, "/nothing"), PROFCOL_UNAVAILABLE,
		     "hung up without an answer");
	fixture.request.headers = &broken;
	fixture.request.header_count = 1;
	expect_error(fixture_get(&fixture, "/hello"), PROFCOL_CONFIG,
		     "header 'Authorization' cannot be sent");
	fixture.request.header_count = 0;
	fixture.request.url = "localhost:80";
	expect_error(http_client_call(fixture.client, &fixture.request, &fixture.response),
		     PROFCOL_CONFIG, "not a URL");
	// Nobody listens at the port of a server that is gone.
	snprintf(fixture.url, sizeof(fixture.url), "http://%s/hello",
		 stand_in_address(fixture.server));
	stand_in_stop(fixture.server);
	fixture.server = stand_in_start(routes, NULL);
	fixture.request.url = fixture.url;
	expect_error(http_client_call(fixture.client, &fixture.request, &fixture.response),
		     PROFCOL_UNAVAILABLE, "Connection refused");
	fixture_deinit(&fixture);
}

static void a_call_without_an_answer_is_no_success(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	loop_fails = true;
	expect_error(fixture_get(&fixture, "/hello"), PROFCOL_UNAVAILABLE, "ended early");
	loop_fails = false;
	assert_null(fixture_get(&fixture, "/hello"));
	fixture_deinit(&fixture);
}

struct taken {
	char text[64];
	size_t length, stop_at; /* no more from so many bytes on; 0 = never */
};

static bool take(void *context, const char *bytes, size_t length)
{
	struct taken *taken = context;

	assert_true(taken->length + length < sizeof(taken->text));
	memcpy(taken->text + taken->length, bytes, length);
	taken->length += length;
	return !taken->stop_at || taken->length < taken->stop_at;
}

/* As a watch of an API server: lines come as they happen, until somebody has enough. */
static void streams_are_passed_on_as_they_come(void **state)
{
	struct taken taken = { .stop_at = 5 };
	struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	fixture.request.take = take;
	fixture.request.context = &taken;
	fixture.request.max_bytes = 0;
	fixture.request.deadline_ns = UINT64_MAX;
	fixture.request.idle_ns = 120000 * MILLISECOND;
	assert_null(fixture_get(&fixture, "/watch"));
	assert_int_equal(fixture.response.status, 200);
	assert_int_equal(fixture.response.length, 0);
	assert_int_equal(strncmp(taken.text, "one\nt", 5), 0);
	// One that ends without its last chunk was cut off; what has come is there.
	taken = (struct taken){ 0 };
	expect_error(fixture_get(&fixture, "/watch"), PROFCOL_UNAVAILABLE, "in the middle");
	assert_string_equal(taken.text, "one\ntwo\nthree\n");
	fixture_deinit(&fixture);
}

/* An error page that goes on for ever, and nobody who counts the time. */
static void errors_without_an_end_are_left(void **state)
{
	struct taken taken = { 0 };
	struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	fixture.request.take = take;
	fixture.request.context = &taken;
	fixture.request.max_bytes = 8;
	fixture.request.deadline_ns = UINT64_MAX;
	fixture.request.idle_ns = 120000 * MILLISECOND;
	assert_null(fixture_get(&fixture, "/endless"));
	assert_int_equal(fixture.response.status, 500);
	assert_string_equal(fixture.response.body, "12345678");
	assert_int_equal(taken.length, 0);
	fixture_deinit(&fixture);
}

struct canceller {
	struct fixture *fixture;
	struct profcol_error *error;
};

static void *call_slow(void *argument)
{
	struct canceller *canceller = argument;

	canceller->error = fixture_get(canceller->fixture, "/slow");
	return NULL;
}

static void calls_can_be_cancelled(void **state)
{
	struct fixture fixture;
	struct canceller canceller = { .fixture = &fixture };
	pthread_t thread;

	(void)state;
	fixture_init(&fixture);
	fixture.request.cancel_fd = eventfd(0, EFD_CLOEXEC);
	fixture.request.deadline_ns = UINT64_MAX;
	assert_int_equal(pthread_create(&thread, NULL, call_slow, &canceller), 0);
	while (!stand_in_count(fixture.server, "GET /slow"))
		sched_yield();
	eventfd_write(fixture.request.cancel_fd, 1);
	pthread_join(thread, NULL); // in an hour, if it waited
	expect_error(canceller.error, PROFCOL_SHUTDOWN, "cancelled");
	expect_error(fixture_get(&fixture, "/slow"), PROFCOL_SHUTDOWN, "cancelled");
	close(fixture.request.cancel_fd);
	fixture_deinit(&fixture);
}

/* ---- TLS ---- */

static SSL_CTX *serve_with(const struct certificates *certificates, const char *certificate,
			   const char *key, const char *client_authority)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());

	assert_int_equal(SSL_CTX_use_certificate_file(context,
						      certificates_path(certificates, certificate),
						      SSL_FILETYPE_PEM),
			 1);
	assert_int_equal(SSL_CTX_use_PrivateKey_file(context, certificates_path(certificates, key),
						     SSL_FILETYPE_PEM),
			 1);
	if (client_authority) {
		SSL_CTX_load_verify_locations(
			context, certificates_path(certificates, client_authority), NULL);
		SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
				   NULL);
	}
	return context;
}

struct tls_case {
	const char *server, *host, *authority;
	bool skip;
	const char *fault; /* NULL: it works */
};

static void expect_tls(const struct certificates *certificates, const struct tls_case *one)
{
	char certificate[64], key[64], url[128];
	struct http_client_settings settings = { .insecure_skip_verify = one->skip };
	struct http_client_request request = { .max_bytes = 100, .url = url };
	struct http_client_response response = { 0 };
	struct http_client *client;
	struct profcol_error *error;
	struct stand_in *server;
	SSL_CTX *context;

	snprintf(certificate, sizeof(certificate), "%s.pem", one->server);
	snprintf(key, sizeof(key), "%s.key", one->server);
	context = serve_with(certificates, certificate, key, NULL);
	server = stand_in_start(routes, context);
	if (one->authority)
		settings.ca_file = certificates_path(certificates, one->authority);
	assert_null(http_client_create(&settings, &client));
	snprintf(url, sizeof(url), "https://%s:%s/hello", one->host, stand_in_port(server));
	request.deadline_ns = clock_monotonic_ns() + 120000 * MILLISECOND;
	error = http_client_call(client, &request, &response);
	if (one->fault)
		expect_error(error, PROFCOL_UNAVAILABLE, one->fault);
	else if (error)
		fail_msg("%s", profcol_error_message(error));
	else
		assert_string_equal(response.body, "hello");
	http_client_response_deinit(&response);
	http_client_destroy(client);
	stand_in_stop(server);
	SSL_CTX_free(context);
}

static void certificates_are_checked(void **state)
{
	static const struct tls_case cases[] = {
		{ "server", "localhost", "authority.pem", false, NULL },
		{ "server", "127.0.0.1", "authority.pem", false, NULL },
		{ "other", "localhost", "authority.pem", false, "certificate is not accepted" },
		{ "other", "127.0.0.1", "authority.pem", false, "certificate is not accepted" },
		{ "expired", "localhost", "authority.pem", false, "has expired" },
		{ "server", "localhost", "stranger.pem", false, "certificate is not accepted" },
		{ "server", "localhost", NULL, false, "certificate is not accepted" },
		{ "other", "localhost", "stranger.pem", true, NULL },
	};
	struct certificates certificates;

	(void)state;
	certificates_init(&certificates);
	certificates_found(&certificates, "authority");
	certificates_found(&certificates, "stranger");
	certificates_issue(&certificates, "server", "authority", "DNS:localhost,IP:127.0.0.1", 1);
	certificates_issue(&certificates, "other", "authority", "DNS:elsewhere,IP:127.0.0.9", 1);
	certificates_issue(&certificates, "expired", "authority", "DNS:localhost", -1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_tls(&certificates, &cases[i]);
	certificates_deinit(&certificates);
}

static void a_client_shows_its_own_certificate(void **state)
{
	struct certificates certificates;
	struct http_client_request request = { .max_bytes = 100 };
	struct http_client_settings settings = { 0 };
	struct http_client_response response = { 0 };
	CLEANUP_FREE char *cert = NULL, *key = NULL, *other_key = NULL, *authority = NULL;
	struct http_client *client = NULL;
	struct stand_in *server;
	SSL_CTX *context;
	char url[128];

	(void)state;
	certificates_init(&certificates);
	certificates_found(&certificates, "authority");
	certificates_issue(&certificates, "server", "authority", "DNS:localhost", 1);
	certificates_issue(&certificates, "client", "authority", "DNS:client", 1);
	context = serve_with(&certificates, "server.pem", "server.key", "authority.pem");
	server = stand_in_start(routes, context);
	cert = certificates_read(&certificates, "client.pem");
	key = certificates_read(&certificates, "client.key");
	other_key = certificates_read(&certificates, "server.key");
	authority = certificates_read(&certificates, "authority.pem");
	settings = (struct http_client_settings){ .ca_pem = authority,
						  .cert_pem = cert,
						  .key_pem = other_key };
	expect_error(http_client_create(&settings, &client), PROFCOL_CONFIG, "fit each other");
	settings.key_pem = key;
	assert_null(http_client_create(&settings, &client));
	snprintf(url, sizeof(url), "https://localhost:%s/hello", stand_in_port(server));
	request.url = url;
	request.deadline_ns = clock_monotonic_ns() + 120000 * MILLISECOND;
	assert_null(http_client_call(client, &request, &response));
	assert_string_equal(response.body, "hello");
	http_client_response_deinit(&response);
	http_client_destroy(client);
	settings.ca_pem = "no certificate";
	expect_error(http_client_create(&settings, &client), PROFCOL_CONFIG, "PEM format");
	settings = (struct http_client_settings){ .ca_file = "/nowhere/ca.crt" };
	expect_error(http_client_create(&settings, &client), PROFCOL_CONFIG,
		     "'/nowhere/ca.crt': No such file");
	stand_in_stop(server);
	SSL_CTX_free(context);
	certificates_deinit(&certificates);
}

/* ---- connections that wait ---- */

static void a_session_is_used_again(void **state)
{
	struct http_client_settings settings = { 0 };
	struct certificates certificates;
	struct fixture fixture = { 0 };
	SSL_CTX *context;

	(void)state;
	certificates_init(&certificates);
	certificates_found(&certificates, "authority");
	certificates_issue(&certificates, "server", "authority", "IP:127.0.0.1", 1);
	settings.ca_file = certificates_path(&certificates, "authority.pem");
	context = serve_with(&certificates, "server.pem", "server.key", NULL);
	fixture.server = stand_in_start(routes, context);
	assert_null(http_client_create(&settings, &fixture.client));
	assert_null(http_client_keep(fixture.client, 2, 0));
	fixture.request.max_bytes = 100;
	fixture.request.deadline_ns = clock_monotonic_ns() + 120000 * MILLISECOND;
	snprintf(fixture.url, sizeof(fixture.url), "https://%s/more",
		 stand_in_address(fixture.server));
	fixture.request.url = fixture.url;
	for (int i = 0; i < 5; i++) {
		http_client_response_deinit(&fixture.response);
		assert_null(http_client_call(fixture.client, &fixture.request, &fixture.response));
		assert_string_equal(fixture.response.body, "more");
	}
	assert_int_equal(stand_in_connections(fixture.server), 1);
	fixture_deinit(&fixture);
	SSL_CTX_free(context);
	certificates_deinit(&certificates);
}

static void expect_body(struct fixture *fixture, const char *path, const char *body)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = fixture_get(fixture, path);

	if (error)
		fail_msg("%s: %s", path, profcol_error_message(error));
	assert_string_equal(fixture->response.body, body);
}

static void expect_connections(struct fixture *fixture, unsigned int count)
{
	assert_int_equal(stand_in_connections(fixture->server), count);
}

static void a_connection_is_used_again(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	assert_null(http_client_keep(fixture.client, 2, 0));
	for (int i = 0; i < 10; i++)
		expect_body(&fixture, i % 2 ? "/more" : "/more_chunks", "more");
	expect_connections(&fixture, 1);
	fixture_deinit(&fixture);
}

static void without_keeping_each_call_has_its_own(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	for (int i = 0; i < 3; i++)
		expect_body(&fixture, "/more", "more");
	expect_connections(&fixture, 3);
	assert_int_equal(stand_in_count(fixture.server, "GET /more HTTP/1.1\r\n"), 3);
	fixture_deinit(&fixture);
}

static void connections_wait_no_longer_than_they_may(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	assert_null(http_client_keep(fixture.client, 2, 1));
	for (int i = 0; i < 3; i++)
		expect_body(&fixture, "/more", "more");
	expect_connections(&fixture, 3);
	fixture_deinit(&fixture);
}

static void what_a_server_has_closed_is_not_used(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	assert_null(http_client_keep(fixture.client, 2, 0));
	// It says nothing of hanging up after each answer: seen before the next request, or by it.
	for (int i = 0; i < 5; i++)
		expect_body(&fixture, "/hello", "hello");
	expect_connections(&fixture, 5);
	fixture_deinit(&fixture);
}

static void a_request_that_nobody_heard_is_sent_once_more(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	assert_null(http_client_keep(fixture.client, 2, 0));
	expect_body(&fixture, "/once", "once");
	expect_body(&fixture, "/once", "once");
	// The second came twice, on the old connection and on a new one.
	assert_int_equal(stand_in_count(fixture.server, "GET /once "), 3);
	expect_connections(&fixture, 2);
	// On a new connection it is the server's answer to this request: none.
	expect_error(fixture_get(&fixture, "/nothing"), PROFCOL_UNAVAILABLE, "hung up");
	assert_int_equal(stand_in_count(fixture.server, "GET /nothing "), 2);
	expect_error(fixture_get(&fixture, "/nothing"), PROFCOL_UNAVAILABLE, "hung up");
	assert_int_equal(stand_in_count(fixture.server, "GET /nothing "), 3);
	fixture_deinit(&fixture);
}

static void a_request_that_was_heard_is_not_repeated(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	assert_null(http_client_keep(fixture.client, 2, 0));
	expect_body(&fixture, "/more", "more");
	expect_error(fixture_get(&fixture, "/part"), PROFCOL_UNAVAILABLE, "hung up");
	assert_int_equal(stand_in_count(fixture.server, "GET /part "), 1);
	expect_connections(&fixture, 1);
	fixture_deinit(&fixture);
}

static void answers_that_leave_doubt_end_a_connection(void **state)
{
	static const struct {
		const char *path, *body;
	} cases[] = { { "/last", "last" }, { "/surplus", "more" }, { "/both", "both" } };
	struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	assert_null(http_client_keep(fixture.client, 2, 0));
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		expect_body(&fixture, cases[i].path, cases[i].body);
		expect_connections(&fixture, 2 * i + 1);
		expect_body(&fixture, cases[i].path, cases[i].body);
		expect_connections(&fixture, 2 * i + 2);
	}
	fixture_deinit(&fixture);
}

static void secrets_in_urls_are_not_shown(void **state)
{
	static const struct {
		const char *url, *shown;
	} cases[] = {
		{ "http://host:4318/v1/profiles", "http://host:4318/v1/profiles" },
		{ "https://host/path?token=secret&x=y#part", "https://host/path?..." },
		{ "https://host?secret", "https://host?..." },
		{ "https://host/path#part", "https://host/path" },
		{ "http://user:secret@host:1/path", "http://...@host:1/path" },
		{ "http://secret@host", "http://...@host" },
		{ "http://user:se?cr#et@host/a?b", "http://...@host/a?..." },
		{ "http://user:sec/ret@host/a", "http://...@host/a" },
		{ "http://user:sec?r/et@host/a", "http://...@host/a" },
		{ "http://host/a?to=me@there", "http://host/a?..." },
		{ "http://user:1a/secret@host/", "http://...@host/" },
		{ "https://sec/ret@host", "https://...@host" },
		{ "host/x?token=s&u=http://y", "host/x?..." },
		{ "http://host:80/me@there", "http://host:80/me@there" },
		{ "http://[::1]:4318/me@there", "http://[::1]:4318/me@there" },
		{ "http://[::1]/path", "http://[::1]/path" },
		{ "user:secret@host", "...@host" },
		{ "://", "://" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP_FREE char *shown = http_client_show_url(cases[i].url);

		assert_non_null(shown);
		assert_string_equal(shown, cases[i].shown);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_in_urls_are_not_shown),
		cmocka_unit_test(a_connection_is_used_again),
		cmocka_unit_test(a_session_is_used_again),
		cmocka_unit_test(without_keeping_each_call_has_its_own),
		cmocka_unit_test(connections_wait_no_longer_than_they_may),
		cmocka_unit_test(what_a_server_has_closed_is_not_used),
		cmocka_unit_test(a_request_that_nobody_heard_is_sent_once_more),
		cmocka_unit_test(a_request_that_was_heard_is_not_repeated),
		cmocka_unit_test(answers_that_leave_doubt_end_a_connection),
		cmocka_unit_test(answers_come_back),
		cmocka_unit_test(names_are_looked_up),
		cmocka_unit_test(a_deadline_holds_for_all_of_it),
		cmocka_unit_test(no_deadline_comes_early),
		cmocka_unit_test(what_is_wrong_is_told),
		cmocka_unit_test(streams_are_passed_on_as_they_come),
		cmocka_unit_test(a_call_without_an_answer_is_no_success),
		cmocka_unit_test(errors_without_an_end_are_left),
		cmocka_unit_test(calls_can_be_cancelled),
		cmocka_unit_test(certificates_are_checked),
		cmocka_unit_test(a_client_shows_its_own_certificate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
