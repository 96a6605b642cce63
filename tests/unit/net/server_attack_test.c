// SPDX-License-Identifier: Apache-2.0
/*
 * A server under attack by one client: the attacker is sent away, memory stays where it was, and
 * another client is answered throughout.
 */
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
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#define SECOND UINT64_C(1000000000)
#define MIB    ((size_t)1 << 20)

enum {
	FRAME_DATA = 0,
	FRAME_HEADERS = 1,
	FRAME_PRIORITY = 2,
	FRAME_RST_STREAM = 3,
	FRAME_SETTINGS = 4,
	FRAME_PING = 6,
	FRAME_WINDOW_UPDATE = 8,
	FRAME_CONTINUATION = 9,
	END_STREAM = 1,
	END_HEADERS = 4,
	/* Of an attack, before it counts as borne: each would be without end. */
	ATTACK_BYTES = 64 << 20,
};

/* ---- bytes of HTTP/2 ---- */

struct bytes {
	VECTOR(uint8_t) of;
};

static void put(struct bytes *to, const void *bytes, size_t length)
{
	assert_true(VECTOR_RESERVE(&to->of, length));
	if (length)
		memcpy(to->of.items + to->of.count, bytes, length);
	to->of.count += length;
}

static void put_frame(struct bytes *to, uint8_t type, uint8_t flags, uint32_t stream,
		      const void *payload, size_t length)
{
	const uint8_t head[] = { (uint8_t)(length >> 16),
				 (uint8_t)(length >> 8),
				 (uint8_t)length,
				 type,
				 flags,
				 (uint8_t)(stream >> 24),
				 (uint8_t)(stream >> 16),
				 (uint8_t)(stream >> 8),
				 (uint8_t)stream };

	put(to, head, sizeof(head));
	put(to, payload, length);
}

/* HPACK: a literal, nothing compressed; lengths below 127 * 128. */
static void put_text(struct bytes *to, const char *text, size_t length)
{
	const uint8_t longer[] = { 127, (uint8_t)((length - 127) | 128),
				   (uint8_t)((length - 127) >> 7) };
	const uint8_t shorter = (uint8_t)length;

	put(to, length < 127 ? &shorter : longer, length < 127 ? 1 : 3);
	put(to, text, length);
}

static void put_field(struct bytes *to, const char *name, const char *value)
{
	put(to, "", 1);
	put_text(to, name, strlen(name));
	put_text(to, value, strlen(value));
}

static void put_head(struct bytes *to)
{
	put_field(to, ":method", "POST");
	put_field(to, ":scheme", "http");
	put_field(to, ":path", TEST_METHOD);
	put_field(to, ":authority", "localhost");
	put_field(to, "content-type", "application/grpc");
	put_field(to, "te", "trailers");
}

static void bytes_deinit(struct bytes *bytes)
{
	VECTOR_DEINIT(&bytes->of);
}

/* ---- an attacker ---- */

struct attacker {
	int fd;
	uint32_t stream; /* the next */
	size_t sent;
};

/* Of 127.0.0.@host. */
static void attacker_init_from(struct attacker *attacker, const struct server_fixture *fixture,
			       uint32_t host)
{
	const struct sockaddr_in own = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl((INADDR_LOOPBACK & ~0xffu) | host),
	};
	const struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(strrchr(fixture->endpoint, ':') + 1)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct bytes hello = { 0 };

	*attacker = (struct attacker){ .stream = 1 };
	attacker->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(attacker->fd >= 0);
	assert_int_equal(bind(attacker->fd, (const struct sockaddr *)&own, sizeof(own)), 0);
	assert_int_equal(connect(attacker->fd, (const struct sockaddr *)&address, sizeof(address)),
			 0);
	put(&hello, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24);
	put_frame(&hello, FRAME_SETTINGS, 0, 0, "", 0);
	put_frame(&hello, FRAME_SETTINGS, 1, 0, "", 0);
	assert_int_equal(send(attacker->fd, hello.of.items, hello.of.count, MSG_NOSIGNAL),
			 hello.of.count);
	bytes_deinit(&hello);
}

static void attacker_init(struct attacker *attacker, const struct server_fixture *fixture)
{
	attacker_init_from(attacker, fixture, 1);
}

static void attacker_deinit(struct attacker *attacker)
{
	close(attacker->fd);
}

/* False once the server has ended the connection. What it says is read, and not looked at. */
static bool attacker_send(struct attacker *attacker, const struct bytes *bytes)
{
	size_t done = 0;

	while (done < bytes->of.count) {
		struct pollfd ready = { .fd = attacker->fd, .events = POLLIN | POLLOUT };
		char heard[65536];
		ssize_t part;

		assert_true(poll(&ready, 1, CALL_PATIENCE_MS) > 0);
		if (ready.revents & POLLIN && read(attacker->fd, heard, sizeof(heard)) <= 0)
			return false;
		if (!(ready.revents & POLLOUT))
			continue;
		part = send(attacker->fd, bytes->of.items + done, bytes->of.count - done,
			    MSG_NOSIGNAL | MSG_DONTWAIT);
		if (part < 0 && errno != EAGAIN)
			return false;
		done += part > 0 ? (size_t)part : 0;
		attacker->sent += part > 0 ? (size_t)part : 0;
	}
	return true;
}

/* ---- attacks: each adds some of what it consists of ---- */

static void add_resets(struct attacker *attacker, struct bytes *to)
{
	struct bytes head = { 0 };

	put_head(&head);
	for (int i = 0; i < 100; i++, attacker->stream += 2) {
		put_frame(to, FRAME_HEADERS, END_HEADERS, attacker->stream, head.of.items,
			  head.of.count);
		put_frame(to, FRAME_RST_STREAM, 0, attacker->stream, "\0\0\0\10", 4);
	}
	bytes_deinit(&head);
}

/* The server is made to reset the streams itself. */
static void add_faults(struct attacker *attacker, struct bytes *to)
{
	struct bytes head = { 0 };

	put_head(&head);
	for (int i = 0; i < 100; i++, attacker->stream += 2) {
		put_frame(to, FRAME_HEADERS, END_HEADERS, attacker->stream, head.of.items,
			  head.of.count);
		put_frame(to, FRAME_WINDOW_UPDATE, 0, attacker->stream, "\0\0\0\0", 4);
	}
	bytes_deinit(&head);
}

static void add_continuations(struct attacker *attacker, struct bytes *to)
{
	char value[4001];
	struct bytes head = { 0 };

	memset(value, 'v', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	if (!attacker->sent) {
		put_head(&head);
		put_frame(to, FRAME_HEADERS, 0, 1, head.of.items, head.of.count);
		head.of.count = 0;
	}
	put_field(&head, "x-pad", value);
	put_frame(to, FRAME_CONTINUATION, 0, 1, head.of.items, head.of.count);
	bytes_deinit(&head);
}

static void add_long_value(struct attacker *attacker, struct bytes *to)
{
	static const uint8_t value[16384];
	struct bytes head = { 0 };

	if (!attacker->sent) {
		put_head(&head);
		put(&head, "\0\1a\x7f\x81\xff\xff\xff\x07", 9); // a value of 2 GiB
		put_frame(to, FRAME_HEADERS, 0, 1, head.of.items, head.of.count);
	}
	put_frame(to, FRAME_CONTINUATION, 0, 1, value, sizeof(value));
	bytes_deinit(&head);
}

static void add_pings(struct attacker *attacker, struct bytes *to)
{
	(void)attacker;
	for (int i = 0; i < 200; i++)
		put_frame(to, FRAME_PING, 0, 0, "12345678", 8);
}

static void add_settings(struct attacker *attacker, struct bytes *to)
{
	(void)attacker;
	for (int i = 0; i < 200; i++)
		put_frame(to, FRAME_SETTINGS, 0, 0, "\0\4\0\0\xff\xff", 6);
}

static void add_priorities(struct attacker *attacker, struct bytes *to)
{
	(void)attacker;
	for (int i = 0; i < 200; i++)
		put_frame(to, FRAME_PRIORITY, 0, 1, "\0\0\0\0\1", 5);
}

static void add_nothing(struct attacker *attacker, struct bytes *to)
{
	struct bytes head = { 0 };

	if (!attacker->sent) {
		put_head(&head);
		put_frame(to, FRAME_HEADERS, END_HEADERS, 1, head.of.items, head.of.count);
	}
	for (int i = 0; i < 500; i++)
		put_frame(to, FRAME_DATA, 0, 1, "", 0);
	bytes_deinit(&head);
}

static void add_junk(struct attacker *attacker, struct bytes *to)
{
	(void)attacker;
	put_frame(to, FRAME_DATA, 0, 12345678, "x", 1);
}

static long resident_kib(void)
{
	CLEANUP_FILE FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	long kib = -1;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file) && kib < 0)
		if (sscanf(line, "RssAnon: %ld", &kib) != 1)
			kib = -1;
	return kib;
}

static void assert_served(struct server_fixture *fixture)
{
	CLEANUP(net_answer_deinit)
	struct net_answer answer = server_fixture_call(fixture, fixture->endpoint, "ping", 4,
						       NET_GZIP, CALL_PATIENCE_MS);

	assert_int_equal(answer.code, NET_OK);
}

static void floods_are_ended_and_cost_no_memory(void **state)
{
	static const struct {
		const char *name;
		void (*add)(struct attacker *attacker, struct bytes *to);
	} attacks[] = {
		{ "resets", add_resets },
		{ "faults", add_faults },
		{ "continuations", add_continuations },
		{ "long value", add_long_value },
		{ "pings", add_pings },
		{ "settings", add_settings },
		{ "priorities", add_priorities },
		{ "empty frames", add_nothing },
		{ "junk", add_junk },
	};
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;

	(void)state;
	server_fixture_init(&fixture);
	server_fixture_start(&fixture);
	assert_served(&fixture);
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		long before = resident_kib();
		struct attacker attacker;
		bool borne;

		attacker_init(&attacker, &fixture);
		attacker.sent = 0;
		do {
			CLEANUP(bytes_deinit) struct bytes bytes = { 0 };

			attacks[i].add(&attacker, &bytes);
			borne = attacker_send(&attacker, &bytes);
		} while (borne && attacker.sent < ATTACK_BYTES);
		if (borne)
			fail_msg("%s: the server bears %zu MiB", attacks[i].name,
				 attacker.sent / MIB);
		attacker_deinit(&attacker);
		// What sanitizers keep of freed memory is among it.
		if (resident_kib() - before > 32 << 10)
			fail_msg("%s: %ld KiB", attacks[i].name, resident_kib() - before);
		assert_served(&fixture);
	}
	assert_true(fixture.refused[NET_REFUSED_FLOOD] >= 4);
}

/* ---- the greedy ---- */

/* As many calls as may be, each of which announces the largest message and sends no more. */
static void who_announces_much_leaves_room_for_others(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	struct bytes bytes = { 0 }, head = { 0 };
	struct attacker attacker;

	(void)state;
	server_fixture_init(&fixture);
	server_fixture_start(&fixture);
	attacker_init(&attacker, &fixture);
	put_head(&head);
	for (int i = 0; i < 100; i++, attacker.stream += 2) {
		put_frame(&bytes, FRAME_HEADERS, END_HEADERS, attacker.stream, head.of.items,
			  head.of.count);
		put_frame(&bytes, FRAME_DATA, 0, attacker.stream, "\0\0\x40\0\0xxx", 8);
	}
	assert_true(attacker_send(&attacker, &bytes));
	server_fixture_wait_admitted(&fixture, 100);
	assert_served(&fixture);
	assert_true(fixture.server->share.calls <= fixture.server->bounds.room_calls / 2);
	attacker_deinit(&attacker);
	bytes_deinit(&bytes);
	bytes_deinit(&head);
}

enum { CALLS = 8 };

/* Two addresses begin as many calls as there may be; they send no message, or let no answer
 * through. */
static void fill_with_calls(struct server_fixture *fixture, struct attacker attackers[static 2],
			    bool unread)
{
	// SETTINGS_INITIAL_WINDOW_SIZE
	static const uint8_t no_window[] = { 0, 4, 0, 0, 0, 0 };
	struct bytes head = { 0 };

	// There is no connection yet, so nobody looks at it.
	fixture->server->bounds.calls = CALLS;
	fixture->server->bounds.calls_of_peer = CALLS / 2;
	put_head(&head);
	for (uint32_t i = 0; i < 2; i++) {
		struct bytes bytes = { 0 };

		attacker_init_from(&attackers[i], fixture, 2 + i);
		if (unread)
			put_frame(&bytes, FRAME_SETTINGS, 0, 0, no_window, sizeof(no_window));
		for (int call = 0; call < CALLS / 2; call++, attackers[i].stream += 2) {
			put_frame(&bytes, FRAME_HEADERS, END_HEADERS, attackers[i].stream,
				  head.of.items, head.of.count);
			if (unread)
				put_frame(&bytes, FRAME_DATA, END_STREAM, attackers[i].stream,
					  "\0\0\0\0\0", 5);
		}
		assert_true(attacker_send(&attackers[i], &bytes));
		bytes_deinit(&bytes);
	}
	server_fixture_wait_admitted(fixture, CALLS);
	bytes_deinit(&head);
}

static void who_has_most_calls_makes_room_for_others(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	struct attacker attackers[2];

	(void)state;
	server_fixture_init(&fixture);
	server_fixture_start(&fixture);
	fill_with_calls(&fixture, attackers, false);
	for (int i = 0; i < CALLS; i++)
		assert_served(&fixture);
	assert_true(fixture.refused[NET_REFUSED_CALLS] >= 1);
	for (int i = 0; i < 2; i++)
		attacker_deinit(&attackers[i]);
}

/* An answer has a second; so others are refused at first. */
static void who_does_not_read_answers_makes_room_for_others(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	struct attacker attackers[2];
	bool served = false;

	(void)state;
	server_fixture_init(&fixture);
	server_fixture_start(&fixture);
	fill_with_calls(&fixture, attackers, true);
	for (int i = 0; i < 400 && !served; i++) {
		CLEANUP(net_answer_deinit)
		struct net_answer answer = server_fixture_call(&fixture, fixture.endpoint, "ping",
							       4, NET_GZIP, CALL_PATIENCE_MS);

		served = answer.code == NET_OK;
		if (!served)
			usleep(50000);
	}
	assert_true(served);
	for (int i = 0; i < 2; i++)
		attacker_deinit(&attackers[i]);
}

static void connections_that_say_nothing_keep_nobody_out(void **state)
{
	enum { MOST = 8, CROWD = 40 };
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	struct attacker attackers[CROWD];

	(void)state;
	server_fixture_init(&fixture);
	server_fixture_start(&fixture);
	// There is no connection yet, so nobody looks at it.
	fixture.server->bounds.connections = MOST;
	fixture.server->bounds.connections_of_peer = MOST / 2;
	for (int i = 0; i < CROWD; i++)
		attacker_init(&attackers[i], &fixture);
	assert_served(&fixture);
	server_fixture_wait_refused(&fixture, NET_REFUSED_CONNECTION, CROWD - MOST / 2);
	for (int i = 0; i < CROWD; i++)
		attacker_deinit(&attackers[i]);
}

static void who_does_not_come_to_the_point_is_sent_away(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	struct bytes bytes = { 0 }, head = { 0 };
	struct attacker attacker;
	char heard;

	(void)state;
	server_fixture_init(&fixture);
	server_fixture_start(&fixture);
	pthread_mutex_lock(&fixture.server->lock);
	fixture.server->patience.head_ns = SECOND / 2;
	pthread_mutex_unlock(&fixture.server->lock);
	attacker_init(&attacker, &fixture);
	put_head(&head);
	put_frame(&bytes, FRAME_HEADERS, 0, 1, head.of.items, head.of.count);
	assert_true(attacker_send(&attacker, &bytes));
	while (read(attacker.fd, &heard, 1) > 0)
		;
	server_fixture_wait_refused(&fixture, NET_REFUSED_SLOW, 1);
	attacker_deinit(&attacker);
	bytes_deinit(&bytes);
	bytes_deinit(&head);
}

/* ---- memory for messages ---- */

/* A call on a thread of its own, of @length zeros. */
struct caller {
	struct server_fixture *fixture;
	size_t length;
	enum net_code code;
	pthread_t thread;
};

static void *caller_run(void *argument)
{
	struct caller *caller = argument;
	CLEANUP_FREE char *zeros = calloc(1, caller->length);
	struct net_answer answer;

	answer = server_fixture_call(caller->fixture, caller->fixture->endpoint, zeros,
				     caller->length, NET_GZIP, CALL_PATIENCE_MS);
	caller->code = answer.code;
	net_answer_deinit(&answer);
	return NULL;
}

static void messages_share_one_budget_and_wait_for_their_turn_elsewhere(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	struct caller first = { .fixture = &fixture, .length = 3 * MIB };
	CLEANUP_FREE char *zeros = calloc(1, 3 * MIB);
	struct net_answer answer;

	(void)state;
	assert_non_null(zeros);
	server_fixture_init(&fixture);
	fixture.budget.most = 4 * MIB;
	server_fixture_hold(&fixture, true);
	server_fixture_start(&fixture);
	assert_int_equal(pthread_create(&first.thread, NULL, caller_run, &first), 0);
	server_fixture_wait_inside(&fixture, 1);
	answer = server_fixture_call(&fixture, fixture.endpoint, zeros, 3 * MIB, NET_GZIP,
				     CALL_PATIENCE_MS);
	assert_int_equal(answer.code, NET_UNAVAILABLE);
	assert_string_equal(answer.message, "no memory for a message: other requests have what "
					    "memory there is for that; try again");
	net_answer_deinit(&answer);
	server_fixture_hold(&fixture, false);
	pthread_join(first.thread, NULL);
	assert_int_equal(first.code, NET_OK);
	answer = server_fixture_call(&fixture, fixture.endpoint, zeros, 3 * MIB, NET_GZIP,
				     CALL_PATIENCE_MS);
	assert_int_equal(answer.code, NET_OK);
	net_answer_deinit(&answer);
	assert_int_equal(atomic_load(&fixture.budget.used), 0);
}

struct limiter {
	atomic_bool refuses;
	atomic_size_t asked;
};

static bool limiter_ask(void *context, size_t bytes)
{
	struct limiter *limiter = context;

	atomic_fetch_add(&limiter->asked, bytes);
	return !atomic_load(&limiter->refuses);
}

/* What inflates beyond what is free is refused at once and unheard; what is small gets through. */
static void who_limits_memory_is_asked_before_it_is_taken(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP_FREE char *zeros = calloc(1, 3 * MIB);
	struct limiter limiter = { .refuses = true };
	struct net_answer answer;

	(void)state;
	assert_non_null(zeros);
	server_fixture_init(&fixture);
	fixture.budget = (struct memory_budget){
		.most = 64 * MIB, .ask = limiter_ask, .context = &limiter, .unasked = MIB
	};
	server_fixture_start(&fixture);
	answer = server_fixture_call(&fixture, fixture.endpoint, zeros, 3 * MIB, NET_GZIP,
				     CALL_PATIENCE_MS);
	assert_int_equal(answer.code, NET_UNAVAILABLE);
	assert_string_equal(answer.message, "no memory for a message: data refused due to high "
					    "memory usage; try again");
	net_answer_deinit(&answer);
	assert_int_equal(server_fixture_entered(&fixture), 0);
	server_fixture_wait_refused(&fixture, NET_REFUSED_MEMORY, 1);
	assert_int_equal(atomic_load(&limiter.asked), 3 * MIB);
	answer = server_fixture_call(&fixture, fixture.endpoint, zeros, MIB / 2, NET_GZIP,
				     CALL_PATIENCE_MS);
	assert_int_equal(answer.code, NET_OK);
	net_answer_deinit(&answer);
	atomic_store(&limiter.refuses, false);
	answer = server_fixture_call(&fixture, fixture.endpoint, zeros, 3 * MIB, NET_GZIP,
				     CALL_PATIENCE_MS);
	assert_int_equal(answer.code, NET_OK);
	net_answer_deinit(&answer);
	assert_int_equal(atomic_load(&fixture.budget.used), 0);
}

/* ---- bounds ---- */

static void bounds_fit_the_memory(void **state)
{
	const struct server_bounds small = bounds_choose(128 * MIB, 4 * MIB);
	const struct server_bounds large = bounds_choose((uint64_t)64 << 30, 4 * MIB);
	const struct server_bounds tiny = bounds_choose(1, 64 * MIB);

	(void)state;
	assert_int_equal(small.connections, 1024);
	assert_int_equal(small.calls, 512);
	assert_int_equal(small.room_bytes, 16 * MIB);
	assert_int_equal(small.room_calls, 64);
	assert_int_equal(large.connections, NET_CONNECTIONS_MOST);
	assert_int_equal(large.room_bytes, 256 * MIB);
	assert_int_equal(tiny.room_calls, 64);
	assert_true(tiny.connections_of_peer > 0 && tiny.calls_of_peer > 0);
}

static void tokens_are_earned_by_the_second(void **state)
{
	struct tokens tokens = { 0 };

	(void)state;
	assert_true(tokens_take(&tokens, 10, 5, 10, SECOND));
	assert_false(tokens_take(&tokens, 1, 5, 10, SECOND + 1));
	assert_true(tokens_take(&tokens, 5, 5, 10, 2 * SECOND + 1));
	assert_false(tokens_take(&tokens, 1, 5, 10, 2 * SECOND + 2));
	// No more than may be saved up, however long that took.
	assert_true(tokens_take(&tokens, 10, 5, 10, UINT64_MAX - 1));
	assert_false(tokens_take(&tokens, 1, 5, 10, UINT64_MAX - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(floods_are_ended_and_cost_no_memory),
		cmocka_unit_test(who_announces_much_leaves_room_for_others),
		cmocka_unit_test(who_has_most_calls_makes_room_for_others),
		cmocka_unit_test(who_does_not_read_answers_makes_room_for_others),
		cmocka_unit_test(connections_that_say_nothing_keep_nobody_out),
		cmocka_unit_test(who_does_not_come_to_the_point_is_sent_away),
		cmocka_unit_test(messages_share_one_budget_and_wait_for_their_turn_elsewhere),
		cmocka_unit_test(who_limits_memory_is_asked_before_it_is_taken),
		cmocka_unit_test(bounds_fit_the_memory),
		cmocka_unit_test(tokens_are_earned_by_the_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
