// SPDX-License-Identifier: Apache-2.0
/* The server: what it takes, what it refuses, how it bears a crowd, and how it ends. */
#include "client_fixture.h"
#include "raw_call.h"
#include "server_fixture.h"

#include "base/base.h"
#include "net/server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <zlib.h>
#include <zstd.h>

#define SECOND UINT64_C(1000000000)

static const struct raw_header no_headers[2];

static void assert_says(const char *text, const char *part)
{
	if (!text || !strstr(text, part))
		fail_msg("'%s' is not in '%s'", part, text ? text : "(nothing)");
}

static int port_of(const struct server_fixture *fixture)
{
	return atoi(strrchr(fixture->endpoint, ':') + 1);
}

/* ---- messages ---- */

static void calls_are_answered_plain_and_with_gzip(void **state)
{
	static const int compressions[] = { NET_UNCOMPRESSED, NET_GZIP };
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;

	(void)state;
	server_fixture_init(&fixture);
	server_fixture_start(&fixture);
	for (size_t i = 0; i < 2; i++) {
		CLEANUP(net_answer_deinit)
		struct net_answer answer =
			server_fixture_call(&fixture, fixture.endpoint, "hello hello", 11,
					    compressions[i], CALL_PATIENCE_MS);

		assert_int_equal(answer.code, NET_OK);
		assert_int_equal(answer.length, 11);
		assert_memory_equal(answer.bytes, "hello hello", 11);
	}
}

static void a_delay_goes_to_the_client(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP(net_answer_deinit) struct net_answer answer;

	(void)state;
	server_fixture_init(&fixture);
	fixture.say = (struct net_answer){ .code = NET_UNAVAILABLE,
					   .message = (char *)"not now",
					   .has_retry = true,
					   .retry_delay_ns = 2500000000 };
	server_fixture_start(&fixture);
	answer =
		server_fixture_call(&fixture, fixture.endpoint, "x", 1, NET_GZIP, CALL_PATIENCE_MS);
	assert_int_equal(answer.code, NET_UNAVAILABLE);
	assert_string_equal(answer.message, "not now");
	assert_true(answer.has_retry);
	assert_int_equal(answer.retry_delay_ns, 2500000000);
}

static void a_message_may_be_as_large_as_the_limit_and_no_larger(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP_FREE char *bytes = calloc(1, (4 << 20) + 1);

	(void)state;
	assert_non_null(bytes);
	server_fixture_init(&fixture);
	server_fixture_start(&fixture);
	for (size_t extra = 0; extra < 2; extra++) {
		for (int gzip = 0; gzip < 2; gzip++) {
			CLEANUP(net_answer_deinit)
			struct net_answer answer = server_fixture_call(
				&fixture, fixture.endpoint, bytes, (4 << 20) + extra,
				gzip ? NET_GZIP : NET_UNCOMPRESSED, CALL_PATIENCE_MS);

			assert_int_equal(answer.code, extra ? NET_RESOURCE_EXHAUSTED : NET_OK);
			if (extra && gzip)
				assert_says(answer.message, "more than 4 MiB after decompression");
		}
	}
	assert_int_equal(fixture.entered, 2);
}

/* gzip of 16 MiB of zeros, @times over; free(). Its checksum is wrong, but that is at its end. */
static uint8_t *make_bomb(unsigned int times, size_t *length_ret)
{
	const uInt part = 16 << 20;
	CLEANUP_FREE uint8_t *zeros = calloc(1, part);
	uint8_t *bomb = malloc((size_t)times * (part / 500) + 64), *at = bomb;
	z_stream stream = { 0 };
	size_t head, body;

	assert_true(zeros && bomb);
	assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
	stream.next_out = bomb;
	stream.avail_out = part / 500;
	assert_int_equal(deflate(&stream, Z_FULL_FLUSH), Z_OK);
	head = stream.total_out;
	stream.next_in = zeros;
	stream.avail_in = part;
	assert_int_equal(deflate(&stream, Z_FULL_FLUSH), Z_OK);
	body = stream.total_out - head;
	at += head;
	for (unsigned int i = 0; i < times; i++, at += body)
		if (i)
			memcpy(at, bomb + head, body);
	memcpy(at, "\x03\x00\0\0\0\0\0\0\0\0", 10);
	*length_ret = (size_t)(at + 10 - bomb);
	deflateEnd(&stream);
	return bomb;
}

static long peak_kib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

static void a_bomb_is_refused_with_little_memory(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP_FREE char *message = NULL;
	CLEANUP_FREE uint8_t *bomb = NULL;
	grpc_status_code code;
	size_t length;
	long before;

	(void)state;
	server_fixture_init(&fixture);
	server_fixture_start(&fixture);
	bomb = make_bomb(94, &length);
	assert_in_range(length, 1400000, 1700000);
	before = peak_kib();
	code = raw_call(fixture.target, TEST_METHOD, bomb, length, true, no_headers, &message);
	assert_int_equal(code, GRPC_STATUS_RESOURCE_EXHAUSTED);
	assert_says(message, "after decompression");
	assert_true(peak_kib() - before < 32 << 10);
	assert_int_equal(fixture.entered, 0);
}

static void what_gzip_cannot_read_is_the_clients_fault(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP_FREE char *message = NULL;

	(void)state;
	server_fixture_init(&fixture);
	server_fixture_start(&fixture);
	assert_int_equal(raw_call(fixture.target, TEST_METHOD, "no gzip at all", 14, true,
				  no_headers, &message),
			 GRPC_STATUS_INVALID_ARGUMENT);
	assert_says(message, "compressed message is broken");
}

static void zstd_is_taken(void **state)
{
	static const char message[] = "hello hello hello hello";
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP_FREE char *got = NULL;
	char packed[128];
	size_t length = ZSTD_compress(packed, sizeof(packed), message, sizeof(message), 3);

	(void)state;
	assert_false(ZSTD_isError(length));
	server_fixture_init(&fixture);
	server_fixture_start(&fixture);
	got = raw_encoded_call(port_of(&fixture), "zstd", packed, length);
	assert_says(got, "grpc-status: 0\n");
	assert_int_equal(fixture.bytes, sizeof(message));
}

static void several_gzip_streams_are_one_message(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP_FREE char *got = NULL;
	unsigned char packed[256];
	size_t length = 0;

	(void)state;
	for (int i = 0; i < 2; i++) {
		z_stream stream = { .next_in = (Bytef *)(uintptr_t)"half",
				    .avail_in = 4,
				    .next_out = packed + length,
				    .avail_out = 128 };

		assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY),
				 Z_OK);
		assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
		length += stream.total_out;
		deflateEnd(&stream);
	}
	server_fixture_init(&fixture);
	server_fixture_start(&fixture);
	got = raw_encoded_call(port_of(&fixture), "gzip", packed, length);
	assert_says(got, "grpc-status: 0\n");
	assert_int_equal(fixture.bytes, 8);
}

static void other_compressions_are_refused_by_name(void **state)
{
	static const struct {
		const char *name, *bytes;
	} others[] = {
		{ "br", "\x28\xb5\x2f\xfd\x04\x58\x09\x01\x01\x61" },
		{ "snappy", "\xff\x06\0\0sNaPpY" },
	};
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;

	(void)state;
	server_fixture_init(&fixture);
	server_fixture_start(&fixture);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		CLEANUP_FREE char *got =
			raw_encoded_call(port_of(&fixture), others[i].name, others[i].bytes, 10);

		// 12 is Unimplemented.
		assert_says(got, "grpc-status: 12\n");
		assert_says(got, others[i].name);
		assert_says(got, "use gzip");
	}
	assert_int_equal(fixture.entered, 0);
}

/* ---- a crowd ---- */

enum { CLIENTS = 4, CALLS_EACH = 25 };

static void *client_run(void *argument)
{
	struct server_fixture *fixture = argument;

	for (int i = 0; i < CALLS_EACH; i++) {
		struct net_answer answer = server_fixture_call(fixture, fixture->endpoint, "ping",
							       4, NET_GZIP, CALL_PATIENCE_MS);

		if (answer.code != NET_OK)
			return (void *)1;
		net_answer_deinit(&answer);
	}
	return NULL;
}

static void four_clients_are_served_at_once(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	pthread_t threads[CLIENTS];
	void *failed;

	(void)state;
	server_fixture_init(&fixture);
	server_fixture_start(&fixture);
	for (int i = 0; i < CLIENTS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, client_run, &fixture), 0);
	for (int i = 0; i < CLIENTS; i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	assert_int_equal(fixture.entered, CLIENTS * CALLS_EACH);
}

/* A call on a thread of its own. */
struct caller {
	struct server_fixture *fixture;
	size_t length; /* of its message */
	unsigned int timeout_ms;
	struct net_answer answer;
	pthread_t thread;
};

static void *caller_run(void *argument)
{
	struct caller *caller = argument;

	caller->answer = server_fixture_call(caller->fixture, caller->fixture->endpoint, "ping",
					     caller->length, NET_GZIP, caller->timeout_ms);
	return NULL;
}

static void caller_start(struct caller *caller, struct server_fixture *fixture, size_t length,
			 unsigned int timeout_ms)
{
	*caller = (struct caller){ .fixture = fixture, .length = length, .timeout_ms = timeout_ms };
	assert_int_equal(pthread_create(&caller->thread, NULL, caller_run, caller), 0);
}

/* Its code. */
static enum net_code caller_join(struct caller *caller)
{
	enum net_code code;

	pthread_join(caller->thread, NULL);
	code = caller->answer.code;
	net_answer_deinit(&caller->answer);
	return code;
}

/* At least this many are handled at a time, at most that many. */
enum { WORKERS_LEAST = 4, WORKERS_MOST = 8, CROWD = 12 };

static void who_finds_no_room_waits(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	struct caller callers[CROWD];

	(void)state;
	server_fixture_init(&fixture);
	// So few calls of that size may be in memory at once.
	fixture.config.max_recv_msg_size_mib = 64;
	server_fixture_hold(&fixture, true);
	server_fixture_start(&fixture);
	for (int i = 0; i < CROWD; i++)
		caller_start(&callers[i], &fixture, 4, CALL_PATIENCE_MS);
	server_fixture_wait_inside(&fixture, WORKERS_LEAST);
	assert_in_range(fixture.entered, WORKERS_LEAST, WORKERS_MOST);
	server_fixture_hold(&fixture, false);
	for (int i = 0; i < CROWD; i++)
		assert_int_equal(caller_join(&callers[i]), NET_OK);
	assert_int_equal(fixture.entered, CROWD);
}

static size_t connections_of(struct server_fixture *fixture)
{
	size_t open;

	pthread_mutex_lock(&fixture->server->lock);
	open = fixture->server->open;
	pthread_mutex_unlock(&fixture->server->lock);
	return open;
}

static void who_has_given_up_waiting_is_not_handled(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	struct caller callers[WORKERS_MOST], early;
	enum net_code code;

	(void)state;
	server_fixture_init(&fixture);
	server_fixture_hold(&fixture, true);
	server_fixture_start(&fixture);
	for (int i = 0; i < WORKERS_MOST; i++)
		caller_start(&callers[i], &fixture, 4, CALL_PATIENCE_MS);
	server_fixture_wait_admitted(&fixture, WORKERS_MOST);
	// To connect may take longer than the deadline; then it is another try.
	do {
		caller_start(&early, &fixture, 1, 200);
		code = caller_join(&early);
	} while (code == NET_UNAVAILABLE);
	assert_int_equal(code, NET_DEADLINE_EXCEEDED);
	// The server has heard all that was said on a connection whose end it knows.
	while (connections_of(&fixture) > WORKERS_MOST)
		sched_yield();
	server_fixture_hold(&fixture, false);
	for (int i = 0; i < WORKERS_MOST; i++)
		assert_int_equal(caller_join(&callers[i]), NET_OK);
	net_server_shutdown(fixture.server, clock_monotonic_ns() + 3600 * SECOND);
	assert_int_equal(fixture.bytes, WORKERS_MOST * 4);
}

/* ---- the slow ---- */

/* A server that takes messages larger than all the room it has. */
static void start_narrow(struct server_fixture *fixture)
{
	server_fixture_init(fixture);
	fixture->config.max_recv_msg_size_mib = 1024;
	server_fixture_start(fixture);
}

static void set_patience(struct server_fixture *fixture, struct server_patience patience)
{
	pthread_mutex_lock(&fixture->server->lock);
	patience.head_ns = fixture->server->patience.head_ns;
	patience.stuck_ns = fixture->server->patience.stuck_ns;
	fixture->server->patience = patience;
	pthread_mutex_unlock(&fixture->server->lock);
}

static void who_does_not_read_its_answer_loses_its_place(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP(net_answer_deinit) struct net_answer answer = { 0 };
	CLEANUP_FD int fd = -1;

	(void)state;
	start_narrow(&fixture);
	set_patience(&fixture, (struct server_patience){ 60 * SECOND, 60 * SECOND, SECOND / 2, 0 });
	fd = raw_unread_call(port_of(&fixture));
	server_fixture_wait_admitted(&fixture, 1);
	answer = server_fixture_call(&fixture, fixture.endpoint, "ping", 4, NET_GZIP,
				     CALL_PATIENCE_MS);
	assert_int_equal(answer.code, NET_OK);
	assert_int_equal(fixture.entered, 2);
}

static void who_sends_slowly_loses_its_place_to_others(void **state)
{
	static char large[1 << 20]; // larger than what may come without room
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP(net_answer_deinit) struct net_answer answer = { 0 };
	CLEANUP_FREE char *status = NULL;
	CLEANUP_FD int fd = -1;

	(void)state;
	start_narrow(&fixture);
	set_patience(&fixture, (struct server_patience){ 60 * SECOND, SECOND / 2, 60 * SECOND, 0 });
	fd = raw_slow_call(port_of(&fixture), 1000 << 20);
	server_fixture_wait_admitted(&fixture, 1);
	answer = server_fixture_call(&fixture, fixture.endpoint, large, sizeof(large),
				     NET_UNCOMPRESSED, CALL_PATIENCE_MS);
	assert_int_equal(answer.code, NET_OK);
	status = raw_read_status(fd);
	assert_says(status, "grpc-status: 14\n");
	assert_says(status, "did not arrive in time");
}

static void where_there_is_room_a_client_may_send_slowly(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	struct raw_stalled stalled;
	uint64_t begun;

	(void)state;
	server_fixture_init(&fixture);
	server_fixture_start(&fixture);
	set_patience(&fixture, (struct server_patience){ SECOND, 0, 60 * SECOND, 0 });
	begun = clock_monotonic_ns();
	raw_stalled_begin(&stalled, fixture.target, TEST_METHOD);
	assert_int_equal(raw_stalled_end(&stalled), GRPC_STATUS_UNAVAILABLE);
	assert_true(clock_monotonic_ns() - begun >= SECOND);
}

/* A small message is handled although a client that sends nothing holds all the room. */
static void a_small_message_needs_no_room(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP(net_answer_deinit) struct net_answer answer = { 0 };
	CLEANUP_FD int fd = -1;

	(void)state;
	start_narrow(&fixture);
	set_patience(&fixture,
		     (struct server_patience){ 3600 * SECOND, 3600 * SECOND, 3600 * SECOND, 0 });
	fd = raw_slow_call(port_of(&fixture), 1000 << 20);
	server_fixture_wait_admitted(&fixture, 1);
	answer = server_fixture_call(&fixture, fixture.endpoint, "ping", 4, NET_GZIP,
				     CALL_PATIENCE_MS);
	assert_int_equal(answer.code, NET_OK);
}

/* Others come in beside a message that does not come on, however large the largest one may be. */
static void where_large_messages_are_allowed_small_ones_are_taken_together(void **state)
{
	static char large[1 << 20];
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP(net_answer_deinit) struct net_answer answer = { 0 };
	CLEANUP_FD int fd = -1;

	(void)state;
	start_narrow(&fixture);
	set_patience(&fixture,
		     (struct server_patience){ 3600 * SECOND, 3600 * SECOND, 3600 * SECOND, 0 });
	fd = raw_slow_call(port_of(&fixture), 1 << 20);
	server_fixture_wait_admitted(&fixture, 1);
	answer = server_fixture_call(&fixture, fixture.endpoint, large, sizeof(large),
				     NET_UNCOMPRESSED, CALL_PATIENCE_MS);
	assert_int_equal(answer.code, NET_OK);
}

/* TCP_USER_TIMEOUT of the connections that have @port at our end; -1 = there are none. */
static int user_timeout_at(int port)
{
	for (int fd = 3; fd < 256; fd++) {
		struct sockaddr_in address = { 0 }, peer;
		socklen_t length = sizeof(address), peer_length = sizeof(peer);
		unsigned int timeout_ms = 0;

		if (getsockname(fd, (struct sockaddr *)&address, &length) ||
		    getpeername(fd, (struct sockaddr *)&peer, &peer_length) ||
		    ntohs(address.sin_port) != port)
			continue;
		length = sizeof(timeout_ms);
		assert_int_equal(
			getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, &length), 0);
		return (int)timeout_ms;
	}
	return -1;
}

static void connections_that_stand_still_are_ended_by_the_kernel(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP_FD int fd = -1;

	(void)state;
	server_fixture_init(&fixture);
	server_fixture_start(&fixture);
	fd = raw_unread_call(port_of(&fixture));
	server_fixture_wait_admitted(&fixture, 1);
	assert_int_equal(user_timeout_at(port_of(&fixture)), 20000);
}

/* ---- the end ---- */

static void *shutdown_run(void *argument)
{
	struct server_fixture *fixture = argument;

	net_server_shutdown(fixture->server, clock_monotonic_ns() + 3600 * SECOND);
	return NULL;
}

static void a_shutdown_lets_calls_end_and_refuses_what_is_half_there(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	struct raw_stalled stalled;
	struct caller caller;
	pthread_t thread;

	(void)state;
	server_fixture_init(&fixture);
	server_fixture_hold(&fixture, true);
	server_fixture_start(&fixture);
	caller_start(&caller, &fixture, 4, CALL_PATIENCE_MS);
	server_fixture_wait_inside(&fixture, 1);
	raw_stalled_begin(&stalled, fixture.target, TEST_METHOD);
	while (server_fixture_admitted(&fixture) < 2)
		raw_stalled_work(&stalled);
	assert_int_equal(pthread_create(&thread, NULL, shutdown_run, &fixture), 0);
	// It does not wait for the client that sends nothing ...
	assert_int_equal(raw_stalled_end(&stalled), GRPC_STATUS_UNAVAILABLE);
	server_fixture_hold(&fixture, false);
	pthread_join(thread, NULL);
	// ... and the other one got its answer.
	assert_int_equal(caller_join(&caller), NET_OK);
}

static void a_shutdown_does_not_wait_past_its_deadline(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	struct raw_stalled stalled;

	(void)state;
	server_fixture_init(&fixture);
	server_fixture_start(&fixture);
	raw_stalled_begin(&stalled, fixture.target, TEST_METHOD);
	while (server_fixture_admitted(&fixture) < 1)
		raw_stalled_work(&stalled);
	// The message never comes: who waited for it would not come back.
	net_server_shutdown(fixture.server, clock_monotonic_ns() + SECOND / 10);
	assert_int_equal(raw_stalled_end(&stalled), GRPC_STATUS_UNAVAILABLE);
}

/* Without a deadline that would come: it returns since nobody is waited for. */
static void a_shutdown_waits_neither_for_idle_clients_nor_for_those_who_do_not_read(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	struct net_answer answer;
	int unread, slow;

	(void)state;
	server_fixture_init(&fixture);
	server_fixture_start(&fixture);
	answer = server_fixture_call(&fixture, fixture.endpoint, "ping", 4, NET_UNCOMPRESSED,
				     CALL_PATIENCE_MS);
	assert_int_equal(answer.code, NET_OK);
	net_answer_deinit(&answer);
	unread = raw_unread_call(port_of(&fixture));
	slow = raw_slow_call(port_of(&fixture), 1000);
	server_fixture_wait_admitted(&fixture, 3);
	while (server_fixture_entered(&fixture) < 2)
		sched_yield();
	net_server_shutdown(fixture.server, clock_monotonic_ns() + 3600 * SECOND);
	close(unread);
	close(slow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_answered_plain_and_with_gzip),
		cmocka_unit_test(a_delay_goes_to_the_client),
		cmocka_unit_test(a_message_may_be_as_large_as_the_limit_and_no_larger),
		cmocka_unit_test(a_bomb_is_refused_with_little_memory),
		cmocka_unit_test(what_gzip_cannot_read_is_the_clients_fault),
		cmocka_unit_test(zstd_is_taken),
		cmocka_unit_test(several_gzip_streams_are_one_message),
		cmocka_unit_test(other_compressions_are_refused_by_name),
		cmocka_unit_test(four_clients_are_served_at_once),
		cmocka_unit_test(who_finds_no_room_waits),
		cmocka_unit_test(who_has_given_up_waiting_is_not_handled),
		cmocka_unit_test(who_does_not_read_its_answer_loses_its_place),
		cmocka_unit_test(who_sends_slowly_loses_its_place_to_others),
		cmocka_unit_test(a_small_message_needs_no_room),
		cmocka_unit_test(where_there_is_room_a_client_may_send_slowly),
		cmocka_unit_test(where_large_messages_are_allowed_small_ones_are_taken_together),
		cmocka_unit_test(connections_that_stand_still_are_ended_by_the_kernel),
		cmocka_unit_test(a_shutdown_lets_calls_end_and_refuses_what_is_half_there),
		cmocka_unit_test(a_shutdown_does_not_wait_past_its_deadline),
		cmocka_unit_test(
			a_shutdown_waits_neither_for_idle_clients_nor_for_those_who_do_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
