// SPDX-License-Identifier: Apache-2.0
/* What the exporter otlp_http sends, which ways it goes, and what it makes of each answer. */
#include "certificates.h"
#include "fake_host.h"
#include "server_fixture.h"

#include "base/base.h"
#include "net/net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

enum { HEAD_MAX = 4096 };

extern const struct profcol_component profcol_exporter_otlp_http;

/* ---- the exporter ---- */

struct exporter {
	struct fake_host fake;
	char url[128];
	struct profcol_reply reply; /* to the last request */
};

static void exporter_init(struct exporter *exporter, const char *format, const char *address)
{
	*exporter = (struct exporter){ 0 };
	fake_host_init(&exporter->fake, &profcol_exporter_otlp_http);
	fake_host_set_texts(profcol_exporter_otlp_http.options, exporter->fake.config);
	snprintf(exporter->url, sizeof(exporter->url), format, address);
	fake_host_set_text(&exporter->fake, "endpoint", exporter->url);
	fake_host_set_int(&exporter->fake, "compression", NET_POST_GZIP);
}

static void exporter_deinit(struct exporter *exporter)
{
	fake_host_shutdown(&exporter->fake);
	fake_host_deinit(&exporter->fake);
	free(exporter->reply.message);
}

static struct profcol_error *exporter_send(struct exporter *exporter, const void *bytes,
					   size_t length)
{
	const struct profcol_request request = {
		.bytes = bytes,
		.length = length,
		.samples = 10,
		.profiles = 5,
		.deadline_ns = clock_monotonic_ns() + 60 * SECOND,
	};

	free(exporter->reply.message);
	exporter->reply = (struct profcol_reply){ 0 };
	return exporter->fake.component->send(exporter->fake.instance, &request, &exporter->reply);
}

/* ---- a peer that says what it is told, to one request ---- */

struct peer {
	int listen_fd;
	char address[32];
	const char *answer;  /* of HTTP; NULL = pass on to @behind, as CONNECT asks */
	const char *behind;  /* HOST:PORT */
	char head[HEAD_MAX]; /* what came, with the body if it says its length */
	pthread_t thread;
};

static void peer_write(int fd, const char *text, size_t length)
{
	assert_int_equal(send(fd, text, length, MSG_NOSIGNAL), length);
}

static int peer_connect(const char *address)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1)),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

/* Both ways, until either ends. */
static void peer_relay(int first, int second)
{
	struct pollfd ends[] = { { first, POLLIN, 0 }, { second, POLLIN, 0 } };
	char bytes[16384];

	for (;;) {
		poll(ends, 2, -1);
		for (int i = 0; i < 2; i++) {
			ssize_t got;

			if (!ends[i].revents)
				continue;
			got = recv(ends[i].fd, bytes, sizeof(bytes), 0);
			if (got <= 0 || send(ends[!i].fd, bytes, (size_t)got, MSG_NOSIGNAL) != got)
				return;
		}
	}
}

/* Has all of the request come? */
static bool peer_has_all(const struct peer *peer, size_t length)
{
	const char *end = strstr(peer->head, "\r\n\r\n");
	const char *says = strstr(peer->head, "\r\nContent-Length: ");

	if (!end)
		return false;
	return !says || length >= (size_t)(end + 4 - peer->head) + (size_t)atol(says + 18);
}

static void *peer_run(void *argument)
{
	static const char made[] = "HTTP/1.1 200 Connection established\r\n\r\n";
	struct peer *peer = argument;
	int fd = accept4(peer->listen_fd, NULL, NULL, SOCK_CLOEXEC), behind;
	size_t length = 0;
	ssize_t got;

	while (!peer_has_all(peer, length)) {
		got = recv(fd, peer->head + length, HEAD_MAX - 1 - length, 0);
		assert_true(got > 0);
		length += (size_t)got;
	}
	if (peer->answer) {
		peer_write(fd, peer->answer, strlen(peer->answer));
		shutdown(fd, SHUT_WR);
	} else {
		behind = peer_connect(peer->behind);
		peer_write(fd, made, sizeof(made) - 1);
		peer_relay(fd, behind);
		close(behind);
	}
	close(fd);
	return NULL;
}

static void peer_start(struct peer *peer, const char *answer, const char *behind)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);

	*peer = (struct peer){ .answer = answer, .behind = behind };
	peer->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(peer->listen_fd, (const struct sockaddr *)&address, length), 0);
	assert_int_equal(listen(peer->listen_fd, 4), 0);
	assert_int_equal(getsockname(peer->listen_fd, (struct sockaddr *)&address, &length), 0);
	snprintf(peer->address, sizeof(peer->address), "127.0.0.1:%u", ntohs(address.sin_port));
	assert_int_equal(pthread_create(&peer->thread, NULL, peer_run, peer), 0);
}

static void peer_stop(struct peer *peer)
{
	pthread_join(peer->thread, NULL);
	close(peer->listen_fd);
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in '%s'", part, text);
}

static void assert_lacks(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("'%s' is in '%s'", part, text);
}

/* ---- what is sent ---- */

static void fixture_begin(struct server_fixture *fixture)
{
	server_fixture_init(fixture);
	fixture->is_http = true;
}

static void a_request_is_what_it_was_in_every_compression(void **state)
{
	static const enum net_post_compression all[] = { NET_POST_EMPTY,         NET_POST_GZIP,
							 NET_POST_ZLIB,          NET_POST_DEFLATE,
							 NET_POST_ZSTD,          NET_POST_SNAPPY,
							 NET_POST_FRAMED_SNAPPY, NET_POST_NONE };
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP_FREE char *bytes = malloc(1 << 20);
	uint64_t before = 0;

	(void)state;
	assert_non_null(bytes);
	for (size_t i = 0; i < 1 << 20; i++)
		bytes[i] = (char)(i * i >> 8);
	fixture_begin(&fixture);
	server_fixture_start(&fixture);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		CLEANUP(exporter_deinit) struct exporter exporter;

		exporter_init(&exporter, "http://%s/", fixture.endpoint);
		fake_host_set_int(&exporter.fake, "compression", all[i]);
		fake_host_start(&exporter.fake);
		assert_no_error(exporter_send(&exporter, bytes, 1 << 20));
		assert_null(exporter.reply.message);
		assert_int_equal(fixture.bytes - before, 1 << 20);
		before = fixture.bytes;
	}
}

static void the_head_says_what_it_is(void **state)
{
	static const char *const headers[] = { "POST /v1development/profiles HTTP/1.1\r\n",
					       "\r\nContent-Type: application/x-protobuf\r\n",
					       "\r\nContent-Encoding: gzip\r\n",
					       "\r\nUser-Agent: profcol/",
					       "\r\notlp-profiles-development-version: 1\r\n" };
	CLEANUP(exporter_deinit) struct exporter exporter;
	struct peer peer;

	(void)state;
	peer_start(&peer, "HTTP/1.1 204 No Content\r\n\r\n", NULL);
	exporter_init(&exporter, "http://%s", peer.address);
	fake_host_start(&exporter.fake);
	assert_no_error(exporter_send(&exporter, "request", 7));
	peer_stop(&peer);
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		assert_has(peer.head, headers[i]);
	assert_int_equal(exporter.reply.rejected, 0);
	assert_null(exporter.reply.message);
}

static void a_whole_url_is_taken_as_it_is(void **state)
{
	CLEANUP(exporter_deinit) struct exporter exporter;
	struct peer peer;
	char url[64];

	(void)state;
	peer_start(&peer, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", NULL);
	exporter_init(&exporter, "http://%s", "127.0.0.1:1");
	snprintf(url, sizeof(url), "http://%s/ingest?tenant=7", peer.address);
	fake_host_set_text(&exporter.fake, "profiles_endpoint", url);
	fake_host_set_int(&exporter.fake, "compression", NET_POST_NONE);
	fake_host_start(&exporter.fake);
	assert_no_error(exporter_send(&exporter, "request", 7));
	peer_stop(&peer);
	assert_has(peer.head, "POST /ingest?tenant=7 HTTP/1.1\r\n");
	assert_has(peer.head, "\r\nContent-Length: 7\r\n");
	assert_lacks(peer.head, "Content-Encoding");
}

static void only_those_who_want_it_hang_up(void **state)
{
	(void)state;
	for (int off = 0; off < 2; off++) {
		CLEANUP(exporter_deinit) struct exporter exporter;
		struct peer peer;

		peer_start(&peer, "HTTP/1.1 204 No Content\r\n\r\n", NULL);
		exporter_init(&exporter, "http://%s", peer.address);
		fake_host_set_int(&exporter.fake, "disable_keep_alives", off);
		fake_host_start(&exporter.fake);
		assert_no_error(exporter_send(&exporter, "request", 7));
		peer_stop(&peer);
		(off ? assert_has : assert_lacks)(peer.head, "\r\nConnection: close\r\n");
	}
}

/* ExportProfilesServiceRequest{dictionary{string_table: "", string_table: "a"}} */
static const char small_request[] = "\x12\x05\x2a\x00\x2a\x01"
				    "a";

static struct profcol_error *send_json(struct exporter *exporter, struct peer *peer,
				       const char *answer, const void *bytes, size_t length)
{
	struct profcol_error *error;

	peer_start(peer, answer, NULL);
	exporter_init(exporter, "http://%s", peer->address);
	fake_host_set_int(&exporter->fake, "encoding", NET_POST_JSON);
	fake_host_set_int(&exporter->fake, "compression", NET_POST_NONE);
	fake_host_start(&exporter->fake);
	error = exporter_send(exporter, bytes, length);
	peer_stop(peer);
	return error;
}

#define JSON_ANSWER(status, length, text)                                                          \
	"HTTP/1.1 " status "\r\nContent-Type: application/json\r\nContent-Length: " length         \
	"\r\n\r\n" text

static void json_is_sent_as_json(void **state)
{
	CLEANUP(exporter_deinit) struct exporter exporter;
	struct peer peer;

	(void)state;
	assert_no_error(send_json(&exporter, &peer,
				  JSON_ANSWER("200 OK", "21", "{\"partialSuccess\":{}}"),
				  small_request, sizeof(small_request) - 1));
	assert_has(peer.head, "\r\nContent-Type: application/json\r\n");
	assert_has(peer.head, "\r\n\r\n{\"dictionary\":{\"stringTable\":[\"\",\"a\"]}}");
	assert_int_equal(exporter.reply.rejected, 0);
	assert_null(exporter.reply.message);
}

static void answers_in_json_are_read(void **state)
{
	static const char partial[] = JSON_ANSWER(
		"200 OK", "63",
		"{\"partialSuccess\":{\"rejectedProfiles\":\"2\",\"errorMessage\":\"no\"}}");
	CLEANUP(exporter_deinit) struct exporter exporter, other, third;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct peer peer;

	(void)state;
	assert_no_error(
		send_json(&exporter, &peer, partial, small_request, sizeof(small_request) - 1));
	assert_int_equal(exporter.reply.rejected, 4);
	assert_string_equal(exporter.reply.message, "no");
	// It has said OK: to send it again would double it.
	assert_no_error(send_json(&other, &peer, JSON_ANSWER("200 OK", "2", "{]"), small_request,
				  sizeof(small_request) - 1));
	assert_int_equal(other.reply.rejected, 0);
	assert_has(other.reply.message, "the answer cannot be read: not OTLP/JSON");
	error = send_json(&third, &peer,
			  JSON_ANSWER("400 Bad", "25", "{\"code\":3,\"message\":\"no\"}"),
			  small_request, sizeof(small_request) - 1);
	assert_non_null(error);
	assert_has(profcol_error_message(error), "HTTP status 400: no");
	assert_lacks(profcol_error_message(error), "code");
}

static void what_cannot_be_json_is_given_up(void **state)
{
	CLEANUP(exporter_deinit) struct exporter exporter;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	(void)state;
	exporter_init(&exporter, "http://%s", "127.0.0.1:1");
	fake_host_set_int(&exporter.fake, "encoding", NET_POST_JSON);
	fake_host_start(&exporter.fake);
	error = exporter_send(&exporter, "\xff\xff", 2);
	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_REJECTED);
	assert_string_equal(exporter.reply.cause, "internal");
	assert_false(exporter.reply.too_large);
}

/* ---- ways ---- */

static void tls_is_on_by_the_scheme(void **state)
{
	CLEANUP(certificates_deinit) struct certificates certificates;
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP(exporter_deinit) struct exporter exporter, stranger;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	(void)state;
	certificates_init(&certificates);
	certificates_found(&certificates, "ca");
	certificates_issue(&certificates, "server", "ca", "IP:127.0.0.1", 1);
	fixture_begin(&fixture);
	fixture.http.tls_named = true;
	fixture.http.tls = (struct confighttp_tls_config){
		.cert_file = certificates_path(&certificates, "server.pem"),
		.key_file = certificates_path(&certificates, "server.key"),
		.cert_pem = "",
		.key_pem = "",
		.client_ca_file = "",
		.ca_file = "",
		.ca_pem = "",
		.min_version = "1.2",
		.max_version = "",
	};
	server_fixture_start(&fixture);
	exporter_init(&exporter, "https://%s", fixture.endpoint);
	fake_host_set_text(&exporter.fake, "tls.ca_file",
			   certificates_path(&certificates, "ca.pem"));
	fake_host_start(&exporter.fake);
	assert_no_error(exporter_send(&exporter, "request", 7));
	// An authority that it does not know.
	certificates_found(&certificates, "other");
	exporter_init(&stranger, "https://%s", fixture.endpoint);
	fake_host_set_text(&stranger.fake, "tls.ca_file",
			   certificates_path(&certificates, "other.pem"));
	fake_host_start(&stranger.fake);
	error = exporter_send(&stranger, "request", 7);
	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_UNAVAILABLE);
	assert_has(profcol_error_message(error), "certificate is not accepted");
}

static void a_proxy_is_told_the_whole_url(void **state)
{
	CLEANUP(exporter_deinit) struct exporter exporter;
	struct peer peer;
	char proxy[64];

	(void)state;
	peer_start(&peer, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", NULL);
	exporter_init(&exporter, "http://%s", "peer.invalid:4318");
	snprintf(proxy, sizeof(proxy), "http://joe:s%%20t@%s", peer.address);
	fake_host_set_text(&exporter.fake, "proxy_url", proxy);
	fake_host_start(&exporter.fake);
	assert_no_error(exporter_send(&exporter, "request", 7));
	peer_stop(&peer);
	assert_has(peer.head, "POST http://peer.invalid:4318/v1development/profiles HTTP/1.1\r\n");
	assert_has(peer.head, "\r\nHost: peer.invalid:4318\r\n");
	assert_has(peer.head, "\r\nProxy-Authorization: Basic am9lOnMgdA==\r\n");
}

static void a_proxy_connects_where_tls_is_on(void **state)
{
	CLEANUP(certificates_deinit) struct certificates certificates;
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	struct exporter exporter;
	struct peer peer;

	(void)state;
	certificates_init(&certificates);
	certificates_found(&certificates, "ca");
	certificates_issue(&certificates, "server", "ca", "DNS:peer.invalid", 1);
	fixture_begin(&fixture);
	fixture.http.tls_named = true;
	fixture.http.tls = (struct confighttp_tls_config){
		.cert_file = certificates_path(&certificates, "server.pem"),
		.key_file = certificates_path(&certificates, "server.key"),
		.cert_pem = "",
		.key_pem = "",
		.client_ca_file = "",
		.ca_file = "",
		.ca_pem = "",
		.min_version = "1.2",
		.max_version = "",
	};
	server_fixture_start(&fixture);
	peer_start(&peer, NULL, fixture.endpoint);
	exporter_init(&exporter, "https://%s", "peer.invalid");
	setenv("HTTPS_PROXY", peer.address, 1);
	fake_host_set_text(&exporter.fake, "tls.ca_file",
			   certificates_path(&certificates, "ca.pem"));
	fake_host_start(&exporter.fake);
	unsetenv("HTTPS_PROXY");
	assert_no_error(exporter_send(&exporter, "request", 7));
	exporter_deinit(&exporter);
	peer_stop(&peer);
	assert_has(peer.head, "CONNECT peer.invalid:443 HTTP/1.1\r\nHost: peer.invalid:443\r\n");
	assert_int_equal(server_fixture_entered(&fixture), 1);
}

static void a_proxy_that_refuses_is_named(void **state)
{
	CLEANUP(exporter_deinit) struct exporter exporter;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct peer peer;
	char proxy[64];

	(void)state;
	peer_start(&peer, "HTTP/1.1 407 Who are you?\r\nContent-Length: 0\r\n\r\n", NULL);
	exporter_init(&exporter, "https://%s", "peer.invalid");
	snprintf(proxy, sizeof(proxy), "http://%s", peer.address);
	fake_host_set_text(&exporter.fake, "proxy_url", proxy);
	fake_host_set_int(&exporter.fake, "tls.insecure_skip_verify", true);
	fake_host_start(&exporter.fake);
	error = exporter_send(&exporter, "request", 7);
	peer_stop(&peer);
	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_UNAVAILABLE);
	assert_has(profcol_error_message(error), "makes no connection: HTTP/1.1 407 Who are you?");
}

/* ---- answers ---- */

struct answer {
	const char *text;
	enum profcol_code code;
	const char *cause, *says;
	bool too_large;
	uint64_t delay_ns;
};

static void expect_answer(const struct answer *answer)
{
	CLEANUP(exporter_deinit) struct exporter exporter;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct peer peer;

	peer_start(&peer, answer->text, NULL);
	exporter_init(&exporter, "http://%s", peer.address);
	fake_host_start(&exporter.fake);
	error = exporter_send(&exporter, "request", 7);
	peer_stop(&peer);
	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), answer->code);
	assert_string_equal(exporter.reply.cause, answer->cause);
	assert_has(profcol_error_message(error), answer->says);
	assert_int_equal(exporter.reply.too_large, answer->too_large);
	if (answer->delay_ns)
		assert_int_equal(profcol_error_delay(error), answer->delay_ns);
}

#define STATUS(line, rest) "HTTP/1.1 " line "\r\nContent-Length: 2\r\n" rest "\r\nno"

static void statuses_say_what_becomes_of_a_request(void **state)
{
	static const struct answer answers[] = {
		{ STATUS("429 Slow", "Retry-After: 7\r\n"), PROFCOL_THROTTLED, "resource_exhausted",
		  "HTTP status 429: no", false, 7 * SECOND },
		{ STATUS("429 Slow", ""), PROFCOL_UNAVAILABLE, "resource_exhausted", "429", false,
		  0 },
		{ STATUS("503 Later", "Retry-After: 2\r\n"), PROFCOL_THROTTLED, "unavailable",
		  "HTTP status 503: no", false, 2 * SECOND },
		{ STATUS("503 Later", "Retry-After: Thu, 01 Jan 1970 00:00:01 GMT\r\n"),
		  PROFCOL_UNAVAILABLE, "unavailable", "503", false, 0 },
		{ STATUS("502 Bad", "Retry-After: 2\r\n"), PROFCOL_UNAVAILABLE, "unavailable",
		  "502", false, 0 },
		{ STATUS("504 Late", ""), PROFCOL_UNAVAILABLE, "unavailable", "504", false, 0 },
		{ STATUS("413 Large", ""), PROFCOL_REJECTED, "resource_exhausted",
		  "lower max_request_bytes", true, 0 },
		{ STATUS("400 Bad", ""), PROFCOL_REJECTED, "invalid_argument",
		  "HTTP status 400: no", false, 0 },
		{ STATUS("401 Who", ""), PROFCOL_REJECTED, "unauthenticated", "check 'headers'",
		  false, 0 },
		{ STATUS("403 No", ""), PROFCOL_REJECTED, "permission_denied", "403", false, 0 },
		{ STATUS("404 No", ""), PROFCOL_REJECTED, "unimplemented", "no profiles pipeline",
		  false, 0 },
		{ STATUS("301 There", "Location: /\r\n"), PROFCOL_REJECTED, "unknown",
		  "follows no redirects", false, 0 },
		{ STATUS("500 Oh", ""), PROFCOL_REJECTED, "internal", "500", false, 0 },
		{ STATUS("418 Tea", ""), PROFCOL_REJECTED, "unknown", "418", false, 0 },
		{ "HTTP/1.1 400 Bad\r\nContent-Type: application/x-protobuf\r\n"
		  "Content-Length: 6\r\n\r\n\x12\x04oops",
		  PROFCOL_REJECTED, "invalid_argument", "HTTP status 400: oops", false, 0 },
		{ "HTTP/1.1 400 Bad\r\nContent-Length: 28\r\n\r\nhttp: request body too large",
		  PROFCOL_REJECTED, "resource_exhausted", "too large", true, 0 },
		{ "SMTP", PROFCOL_UNAVAILABLE, "unavailable", "", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		expect_answer(&answers[i]);
}

static void a_partial_success_is_passed_on(void **state)
{
	// ExportProfilesServiceResponse{partial_success{rejected_profiles: 2, error_message: "no"}}
	static const char partial[] = "\x0a\x06\x08\x02\x12\x02no";
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP(exporter_deinit) struct exporter exporter;

	(void)state;
	fixture_begin(&fixture);
	server_fixture_start(&fixture);
	exporter_init(&exporter, "http://%s", fixture.endpoint);
	fake_host_start(&exporter.fake);
	// What it is sent it says.
	assert_no_error(exporter_send(&exporter, partial, sizeof(partial) - 1));
	assert_int_equal(exporter.reply.rejected, 4);
	assert_string_equal(exporter.reply.message, "no");
}

static void an_answer_without_end_is_left(void **state)
{
	CLEANUP(exporter_deinit) struct exporter exporter;
	CLEANUP_FREE char *text = calloc(1, 200000);
	struct peer peer;

	(void)state;
	assert_non_null(text);
	strcpy(text, "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\n\r\n");
	memset(text + strlen(text), ' ', 150000);
	peer_start(&peer, text, NULL);
	exporter_init(&exporter, "http://%s", peer.address);
	fake_host_start(&exporter.fake);
	// It has said OK: to send it again would double it.
	assert_no_error(exporter_send(&exporter, "request", 7));
	peer_stop(&peer);
	assert_string_equal(exporter.reply.message, "the answer cannot be read: it is too long");
}

static void nobody_there_is_unavailable(void **state)
{
	CLEANUP(exporter_deinit) struct exporter exporter;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	(void)state;
	exporter_init(&exporter, "http://%s", "127.0.0.1:1");
	fake_host_start(&exporter.fake);
	error = exporter_send(&exporter, "request", 7);
	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_UNAVAILABLE);
	assert_string_equal(profcol_error_message(error),
			    "export to 'http://127.0.0.1:1/v1development/profiles': unavailable: "
			    "Connection refused");
}

/* ---- what cannot be meant ---- */

static void expect_refusal(const char *key, const char *value, const char *says)
{
	struct exporter exporter;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	exporter_init(&exporter, "http://%s", "localhost:4318");
	fake_host_set_text(&exporter.fake, key, value);
	error = fake_host_try_start(&exporter.fake);
	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_CONFIG);
	assert_has(profcol_error_message(error), says);
	fake_host_deinit(&exporter.fake);
}

static void what_cannot_be_meant_is_refused(void **state)
{
	(void)state;
	expect_refusal("endpoint", "", "at least one endpoint must be specified");
	expect_refusal("endpoint", "localhost:4318", "endpoint: 'localhost:4318' is not a URL");
	expect_refusal("profiles_endpoint", "ftp://x", "profiles_endpoint: 'ftp://x'");
	expect_refusal("proxy_url", "socks5://localhost", "proxy_url: ");
	expect_refusal("auth.authenticator", "basicauth", "auth.authenticator: ");
	expect_refusal("tls.min_version", "1.1", "tls.min_version");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_what_it_was_in_every_compression),
		cmocka_unit_test(the_head_says_what_it_is),
		cmocka_unit_test(a_whole_url_is_taken_as_it_is),
		cmocka_unit_test(only_those_who_want_it_hang_up),
		cmocka_unit_test(json_is_sent_as_json),
		cmocka_unit_test(answers_in_json_are_read),
		cmocka_unit_test(what_cannot_be_json_is_given_up),
		cmocka_unit_test(tls_is_on_by_the_scheme),
		cmocka_unit_test(a_proxy_is_told_the_whole_url),
		cmocka_unit_test(a_proxy_connects_where_tls_is_on),
		cmocka_unit_test(a_proxy_that_refuses_is_named),
		cmocka_unit_test(statuses_say_what_becomes_of_a_request),
		cmocka_unit_test(a_partial_success_is_passed_on),
		cmocka_unit_test(an_answer_without_end_is_left),
		cmocka_unit_test(nobody_there_is_unavailable),
		cmocka_unit_test(what_cannot_be_meant_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
