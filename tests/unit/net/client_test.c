// SPDX-License-Identifier: Apache-2.0
/* Calls of a client: what goes over the wire, what comes back, and how they end. */
#include "client_fixture.h"

#include "base/base.h"
#include "net/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <libdeflate.h>

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

/* gzip of @length bytes at @bytes; free(). */
static uint8_t *gzip(const void *bytes, size_t length, size_t *length_ret)
{
	struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(6);
	size_t bound = libdeflate_gzip_compress_bound(compressor, length);
	uint8_t *packed = malloc(bound);

	assert_non_null(packed);
	*length_ret = libdeflate_gzip_compress(compressor, bytes, length, packed, bound);
	libdeflate_free_compressor(compressor);
	return packed;
}

static void a_call_carries_bytes_both_ways(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP(net_answer_deinit) struct net_answer answer;

	(void)state;
	fixture_init(&fixture);
	fixture_serve(&fixture, NULL, NULL);
	fixture.config.compression = NET_UNCOMPRESSED;
	fixture_connect(&fixture);
	test_server_answer(&fixture.server,
			   (struct test_answer){ .body = "pong", .body_length = 4 });
	answer = fixture_call(&fixture, "ping");
	assert_int_equal(answer.code, NET_OK);
	assert_true(answer.from_peer);
	assert_int_equal(answer.length, 4);
	assert_memory_equal(answer.bytes, "pong", 4);
	assert_string_equal(fixture.server.method, TEST_METHOD);
	assert_false(fixture.server.body_compressed);
	assert_int_equal(fixture.server.body_length, 4);
	assert_memory_equal(fixture.server.body, "ping", 4);
}

static void requests_are_sent_with_gzip(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP(net_answer_deinit) struct net_answer answer;
	struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
	char sent[4096], got[4096];
	size_t length = 0;

	(void)state;
	memset(sent, 'a', sizeof(sent) - 1);
	sent[sizeof(sent) - 1] = '\0';
	fixture_init(&fixture);
	fixture_serve(&fixture, NULL, NULL);
	fixture_connect(&fixture);
	answer = fixture_call(&fixture, sent);
	assert_int_equal(answer.code, NET_OK);
	assert_true(fixture.server.body_compressed);
	assert_in_range(fixture.server.body_length, 1, 100);
	assert_int_equal(libdeflate_gzip_decompress(decompressor, fixture.server.body,
						    fixture.server.body_length, got, sizeof(got),
						    &length),
			 LIBDEFLATE_SUCCESS);
	assert_int_equal(length, sizeof(sent) - 1);
	assert_memory_equal(got, sent, length);
	libdeflate_free_decompressor(decompressor);
}

static void an_empty_compression_is_none(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP(net_answer_deinit) struct net_answer answer;

	(void)state;
	fixture_init(&fixture);
	fixture_serve(&fixture, NULL, NULL);
	fixture.config.compression = NET_COMPRESSION_EMPTY;
	fixture_connect(&fixture);
	answer = fixture_call(&fixture, "ping");
	assert_int_equal(answer.code, NET_OK);
	assert_false(fixture.server.body_compressed);
}

static void compressions_that_grpc_lacks_become_gzip_with_one_warning(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	fixture_serve(&fixture, NULL, NULL);
	fixture.config.compression = NET_ZSTD;
	fixture_connect(&fixture);
	for (int i = 0; i < 2; i++) {
		CLEANUP(net_answer_deinit) struct net_answer answer = fixture_call(&fixture, "x");

		assert_int_equal(answer.code, NET_OK);
		assert_true(fixture.server.body_compressed);
	}
	assert_int_equal(fixture.warnings, 1);
	assert_non_null(strstr(fixture.warning, "'zstd'"));
}

static void headers_are_sent_in_lower_case(void **state)
{
	static const char *const keys[] = { "Authorization", "x-scope" };
	static const char *const values[] = { "Bearer abc", "tenant 7" };
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP(net_answer_deinit) struct net_answer answer;
	const char *agent;

	(void)state;
	fixture_init(&fixture);
	fixture_serve(&fixture, NULL, NULL);
	fixture.config.headers = (struct profcol_map){ .keys = keys, .values = values, .count = 2 };
	fixture_connect(&fixture);
	answer = fixture_call(&fixture, "x");
	assert_int_equal(answer.code, NET_OK);
	assert_string_equal(test_server_header(&fixture.server, "authorization"), "Bearer abc");
	assert_string_equal(test_server_header(&fixture.server, "x-scope"), "tenant 7");
	assert_string_equal(test_server_header(&fixture.server, "x-fixed"), "1");
	agent = test_server_header(&fixture.server, "user-agent");
	assert_non_null(agent);
	assert_int_equal(strncmp(agent, "profcol/1.2.3 (linux/", 21), 0);
}

static void answers_are_inflated(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP(net_answer_deinit) struct net_answer answer;
	size_t length;
	CLEANUP_FREE uint8_t *packed = gzip("hello hello hello", 17, &length);

	(void)state;
	fixture_init(&fixture);
	fixture_serve(&fixture, NULL, NULL);
	fixture_connect(&fixture);
	test_server_answer(&fixture.server,
			   (struct test_answer){ .body = packed,
						 .body_length = length,
						 .body_compression = GRPC_COMPRESS_GZIP });
	answer = fixture_call(&fixture, "x");
	assert_int_equal(answer.code, NET_OK);
	assert_int_equal(answer.length, 17);
	assert_memory_equal(answer.bytes, "hello hello hello", 17);
}

static void an_answer_that_inflates_without_end_is_not_read(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP(net_answer_deinit) struct net_answer answer;
	CLEANUP_FREE char *zeros = calloc(1, 8 << 20);
	size_t length;
	CLEANUP_FREE uint8_t *packed = gzip(zeros, 8 << 20, &length);

	(void)state;
	fixture_init(&fixture);
	fixture_serve(&fixture, NULL, NULL);
	fixture_connect(&fixture);
	test_server_answer(&fixture.server,
			   (struct test_answer){ .body = packed,
						 .body_length = length,
						 .body_compression = GRPC_COMPRESS_GZIP });
	answer = fixture_call(&fixture, "x");
	// The peer has taken the request.
	assert_int_equal(answer.code, NET_OK);
	assert_true(answer.from_peer);
	assert_non_null(strstr(answer.message, "inflates beyond the limit"));
	assert_null(answer.bytes);
}

static void an_answer_that_does_not_inflate_still_means_yes(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP(net_answer_deinit) struct net_answer answer;

	(void)state;
	fixture_init(&fixture);
	fixture_serve(&fixture, NULL, NULL);
	fixture_connect(&fixture);
	test_server_answer(&fixture.server,
			   (struct test_answer){ .body = "no gzip",
						 .body_length = 7,
						 .body_compression = GRPC_COMPRESS_GZIP });
	answer = fixture_call(&fixture, "x");
	assert_int_equal(answer.code, NET_OK);
	assert_true(answer.from_peer);
	assert_non_null(strstr(answer.message, "a compressed message is broken"));
	assert_null(answer.bytes);
}

static void an_answer_that_is_too_large_still_means_yes(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP(net_answer_deinit) struct net_answer answer;
	CLEANUP_FREE char *zeros = calloc(1, 5 << 20);

	(void)state;
	fixture_init(&fixture);
	fixture_serve(&fixture, NULL, NULL);
	fixture_connect(&fixture);
	test_server_answer(&fixture.server,
			   (struct test_answer){ .body = zeros, .body_length = 5 << 20 });
	answer = fixture_call(&fixture, "x");
	assert_int_equal(answer.code, NET_OK);
	assert_true(answer.from_peer);
	assert_non_null(strstr(answer.message, "too large"));
	assert_null(answer.bytes);
}

static void a_request_that_is_too_large_for_the_peer_is_its_word(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP(net_answer_deinit) struct net_answer answer;

	(void)state;
	fixture_init(&fixture);
	fixture_serve(&fixture, NULL, NULL);
	fixture_connect(&fixture);
	test_server_answer(&fixture.server,
			   (struct test_answer){
				   .code = GRPC_STATUS_RESOURCE_EXHAUSTED,
				   .message = "Received message larger than max (5242880 vs. "
					      "4194304)",
			   });
	answer = fixture_call(&fixture, "x");
	assert_int_equal(answer.code, NET_RESOURCE_EXHAUSTED);
	assert_true(answer.from_peer);
}

static void each_code_arrives_with_its_text(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	fixture_serve(&fixture, NULL, NULL);
	fixture_connect(&fixture);
	for (int code = 1; code < NET_CODES; code++) {
		CLEANUP(net_answer_deinit) struct net_answer answer;

		test_server_answer(&fixture.server,
				   (struct test_answer){ .code = (grpc_status_code)code,
							 .message = "one\ntwo\x1b[0m" });
		answer = fixture_call(&fixture, "x");
		assert_int_equal(answer.code, code);
		assert_true(answer.from_peer);
		assert_false(answer.has_retry);
		// What could forge lines of a log, or colour them, is gone.
		assert_string_equal(answer.message, "one two [0m");
	}
}

static void a_delay_that_the_peer_asks_for_is_understood(void **state)
{
	/* Status{code: 8, details: [Any{RetryInfo{Duration{seconds: 2, nanos: 500000000}}}]} */
	static const char type[] = "type.googleapis.com/google.rpc.RetryInfo";
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP(net_answer_deinit) struct net_answer answer;
	uint8_t details[128] = { 0x08, 8, 0x1a, (uint8_t)(2 + 40 + 2 + 10), 0x0a, 40 };
	size_t length = 6;

	(void)state;
	memcpy(details + length, type, 40);
	length += 40;
	memcpy(details + length, "\x12\x0a\x0a\x08\x08\x02\x10\x80\xca\xb5\xee\x01", 12);
	length += 12;
	fixture_init(&fixture);
	fixture_serve(&fixture, NULL, NULL);
	fixture_connect(&fixture);
	test_server_answer(&fixture.server, (struct test_answer){
						    .code = GRPC_STATUS_RESOURCE_EXHAUSTED,
						    .message = "slow down",
						    .details = details,
						    .details_length = length,
					    });
	answer = fixture_call(&fixture, "x");
	assert_int_equal(answer.code, NET_RESOURCE_EXHAUSTED);
	assert_true(answer.has_retry);
	assert_int_equal(answer.retry_delay_ns, 5 * SECOND / 2);
}

static void a_unix_socket_serves_as_well(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP(net_answer_deinit) struct net_answer answer;
	char directory[] = "/tmp/profcol-net-XXXXXX", address[64], path[64];

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(address, sizeof(address), "unix:%s/socket", directory);
	snprintf(path, sizeof(path), "%s/socket", directory);
	fixture_init(&fixture);
	fixture_serve(&fixture, address, NULL);
	snprintf(fixture.endpoint, sizeof(fixture.endpoint), "unix://%s/socket", directory);
	fixture_connect(&fixture);
	answer = fixture_call(&fixture, "x");
	assert_int_equal(answer.code, NET_OK);
	unlink(path);
	rmdir(directory);
}

static void a_peer_that_never_answers_meets_the_deadline(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP(net_answer_deinit) struct net_answer answer;

	(void)state;
	fixture_init(&fixture);
	fixture_serve(&fixture, NULL, NULL);
	fixture_connect(&fixture);
	// To connect may take longer than the deadline.
	answer = fixture_call(&fixture, "x");
	assert_int_equal(answer.code, NET_OK);
	net_answer_deinit(&answer);
	test_server_answer(&fixture.server, (struct test_answer){ .hang = true });
	net_client_call(fixture.client, TEST_METHOD, (const uint8_t *)"x", 1,
			clock_monotonic_ns() + SECOND / 5, &answer);
	assert_int_equal(answer.code, NET_DEADLINE_EXCEEDED);
	assert_false(answer.from_peer);
	assert_non_null(strstr(answer.message, "did not answer in time"));
}

static void *call_and_wait(void *argument)
{
	struct fixture *fixture = argument;
	struct net_answer *answer = malloc(sizeof(*answer));

	assert_non_null(answer);
	net_client_call(fixture->client, TEST_METHOD, (const uint8_t *)"x", 1, UINT64_MAX, answer);
	return answer;
}

static void cancelling_ends_all_calls_and_those_to_come(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	pthread_t threads[8];
	struct net_answer late;

	(void)state;
	fixture_init(&fixture);
	fixture_serve(&fixture, NULL, NULL);
	fixture_connect(&fixture);
	test_server_answer(&fixture.server, (struct test_answer){ .hang = true });
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, call_and_wait, &fixture), 0);
	test_server_wait_calls(&fixture.server, 8);
	net_client_cancel(fixture.client);
	for (size_t i = 0; i < 8; i++) {
		struct net_answer *answer;

		pthread_join(threads[i], (void **)&answer);
		assert_int_equal(answer->code, NET_CANCELED);
		assert_false(answer->from_peer);
		net_answer_deinit(answer);
		free(answer);
	}
	late = fixture_call(&fixture, "x");
	assert_int_equal(late.code, NET_CANCELED);
	net_answer_deinit(&late);
}

static void *call_often(void *argument)
{
	struct fixture *fixture = argument;
	uintptr_t good = 0;

	for (int i = 0; i < 50; i++) {
		CLEANUP(net_answer_deinit)
		struct net_answer answer = fixture_call(fixture, "some bytes");

		good += answer.code == NET_OK;
	}
	return (void *)good;
}

static void many_threads_call_at_once(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	pthread_t threads[10];

	(void)state;
	fixture_init(&fixture);
	fixture_serve(&fixture, NULL, NULL);
	fixture_connect(&fixture);
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, call_often, &fixture), 0);
	for (size_t i = 0; i < 10; i++) {
		void *good;

		pthread_join(threads[i], &good);
		assert_int_equal((uintptr_t)good, 50);
	}
	assert_int_equal(fixture.server.calls, 500);
}

static void a_call_can_wait_for_a_peer_that_comes_later(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP(net_answer_deinit) struct net_answer answer;
	char directory[] = "/tmp/profcol-net-XXXXXX", path[64];
	pthread_t thread;
	struct net_answer *waited;

	(void)state;
	assert_non_null(mkdtemp(directory));
	fixture_init(&fixture);
	snprintf(fixture.endpoint, sizeof(fixture.endpoint), "unix:%s/socket", directory);
	snprintf(path, sizeof(path), "%s/socket", directory);
	fixture.config.wait_for_ready = true;
	fixture_connect(&fixture);
	net_client_call(fixture.client, TEST_METHOD, (const uint8_t *)"x", 1,
			clock_monotonic_ns() + SECOND / 10, &answer);
	assert_int_equal(answer.code, NET_UNAVAILABLE);
	assert_non_null(strstr(answer.message, "there is no socket"));
	assert_int_equal(pthread_create(&thread, NULL, call_and_wait, &fixture), 0);
	fixture_serve(&fixture, fixture.endpoint, NULL);
	pthread_join(thread, (void **)&waited);
	assert_int_equal(waited->code, NET_OK);
	net_answer_deinit(waited);
	free(waited);
	unlink(path);
	rmdir(directory);
}

/* Of the sanitizer, where there is one: then mallinfo2 knows nothing. */
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t allocated_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	if (__sanitizer_get_current_allocated_bytes)
		return __sanitizer_get_current_allocated_bytes();
	return info.uordblks + info.hblkhd;
}

/* A call that waits for its peer. */
struct large_call {
	struct fixture *fixture;
	uint8_t *bytes;
	size_t length;
	struct net_answer answer;
};

static void *call_with_much(void *argument)
{
	struct large_call *call = argument;

	net_client_call(call->fixture->client, TEST_METHOD, call->bytes, call->length, UINT64_MAX,
			&call->answer);
	return NULL;
}

static void a_request_takes_no_memory_while_nobody_listens(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	struct large_call call = { .fixture = &fixture, .length = 32 << 20 };
	size_t before, most = 0;
	pthread_t thread;

	(void)state;
	fixture_init(&fixture);
	strcpy(fixture.endpoint, "unix:/tmp/profcol-no-such-socket");
	fixture.config.wait_for_ready = true;
	fixture.config.compression = NET_UNCOMPRESSED;
	fixture_connect(&fixture);
	call.bytes = calloc(1, call.length);
	assert_non_null(call.bytes);
	before = allocated_bytes();
	assert_int_equal(pthread_create(&thread, NULL, call_with_much, &call), 0);
	for (int i = 0; i < 30; i++) {
		size_t now = allocated_bytes();

		most = now > most ? now : most;
		usleep(10000);
	}
	net_client_cancel(fixture.client);
	pthread_join(thread, NULL);
	assert_in_range(most, 0, before + (4 << 20));
	assert_int_equal(call.answer.code, NET_CANCELED);
	net_answer_deinit(&call.answer);
	free(call.bytes);
}

static void a_request_takes_no_memory_while_its_answer_is_awaited(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	struct large_call call = { .fixture = &fixture, .length = 7 << 19 };
	size_t before, now;
	pthread_t thread;

	(void)state;
	fixture_init(&fixture);
	fixture_serve(&fixture, NULL, NULL);
	fixture.config.compression = NET_UNCOMPRESSED;
	fixture_connect(&fixture);
	test_server_answer(&fixture.server, (struct test_answer){ .hang = true });
	call.bytes = calloc(1, call.length);
	assert_non_null(call.bytes);
	before = allocated_bytes();
	assert_int_equal(pthread_create(&thread, NULL, call_with_much, &call), 0);
	test_server_wait_calls(&fixture.server, 1);
	// The server has it twice, being of this process: a third time is ours.
	for (int i = 0; i < 12000; i++) {
		now = allocated_bytes();
		if (now < before + 5 * call.length / 2)
			break;
		usleep(10000);
	}
	net_client_cancel(fixture.client);
	pthread_join(thread, NULL);
	assert_in_range(now, 0, before + 5 * call.length / 2);
	net_answer_deinit(&call.answer);
	free(call.bytes);
}

static void a_compressed_request_takes_what_it_needs(void **state)
{
	CLEANUP_FREE uint8_t *zeros = calloc(1, 8 << 20);
	size_t before = allocated_bytes(), after;
	grpc_byte_buffer *buffer = message_pack(zeros, 8 << 20, true);

	(void)state;
	after = allocated_bytes();
	assert_non_null(buffer);
	grpc_byte_buffer_destroy(buffer);
	assert_in_range(after, 0, before + (1 << 20));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		// Before gRPC has threads, which let go of memory when they come to it.
		cmocka_unit_test(a_compressed_request_takes_what_it_needs),
		cmocka_unit_test(a_call_carries_bytes_both_ways),
		cmocka_unit_test(requests_are_sent_with_gzip),
		cmocka_unit_test(an_empty_compression_is_none),
		cmocka_unit_test(compressions_that_grpc_lacks_become_gzip_with_one_warning),
		cmocka_unit_test(headers_are_sent_in_lower_case),
		cmocka_unit_test(answers_are_inflated),
		cmocka_unit_test(an_answer_that_inflates_without_end_is_not_read),
		cmocka_unit_test(an_answer_that_does_not_inflate_still_means_yes),
		cmocka_unit_test(an_answer_that_is_too_large_still_means_yes),
		cmocka_unit_test(a_request_that_is_too_large_for_the_peer_is_its_word),
		cmocka_unit_test(each_code_arrives_with_its_text),
		cmocka_unit_test(a_delay_that_the_peer_asks_for_is_understood),
		cmocka_unit_test(a_unix_socket_serves_as_well),
		cmocka_unit_test(a_peer_that_never_answers_meets_the_deadline),
		cmocka_unit_test(cancelling_ends_all_calls_and_those_to_come),
		cmocka_unit_test(many_threads_call_at_once),
		cmocka_unit_test(a_call_can_wait_for_a_peer_that_comes_later),
		cmocka_unit_test(a_request_takes_no_memory_while_nobody_listens),
		cmocka_unit_test(a_request_takes_no_memory_while_its_answer_is_awaited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
