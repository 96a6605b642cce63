// SPDX-License-Identifier: Apache-2.0
/* A client's stream: requests in it, however their bytes come, and what is thrown away at its end.
 */
#include "stream/stream.h"

#include "base/base.h"
#include "http_head/http_head.h"
#include "loop/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DISCARD_MOST = 256 << 10 };

static void add(struct evbuffer *input, const char *text)
{
	assert_int_equal(evbuffer_add(input, text, strlen(text)), 0);
}

static void a_head_is_found_however_its_bytes_come(void **state)
{
	static const char head[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
	struct evbuffer *input = evbuffer_new();
	size_t known = 0, length;
	const char *bytes;

	(void)state;
	assert_non_null(input);
	assert_int_equal(stream_find_head(input, &known, &bytes, &length), STREAM_NOTHING);
	for (size_t i = 0; i < sizeof(head) - 1; i++) {
		// Each byte in a piece of its own.
		assert_int_equal(evbuffer_add_reference(input, head + i, 1, NULL, NULL), 0);
		if (i < sizeof(head) - 2)
			assert_int_equal(stream_find_head(input, &known, &bytes, &length),
					 STREAM_BEGUN);
	}
	add(input, "rest");
	assert_int_equal(stream_find_head(input, &known, &bytes, &length), STREAM_WHOLE);
	assert_int_equal(length, sizeof(head) - 1);
	assert_memory_equal(bytes, head, length);
	assert_int_equal(known, 0);
	assert_int_equal(evbuffer_drain(input, length), 0);
	assert_int_equal(evbuffer_get_length(input), 4);
	evbuffer_free(input);
}

static void empty_lines_before_a_head_are_no_head(void **state)
{
	struct evbuffer *input = evbuffer_new();
	size_t known = 0, length;
	const char *bytes;

	(void)state;
	assert_non_null(input);
	add(input, "\r\n\n\r\n");
	assert_int_equal(stream_find_head(input, &known, &bytes, &length), STREAM_NOTHING);
	assert_int_equal(evbuffer_get_length(input), 0);
	add(input, "\r\nA");
	assert_int_equal(stream_find_head(input, &known, &bytes, &length), STREAM_BEGUN);
	// Inside of one they are its end.
	add(input, "\n\nB\n\n");
	assert_int_equal(stream_find_head(input, &known, &bytes, &length), STREAM_WHOLE);
	assert_int_equal(length, 3);
	evbuffer_free(input);
}

static void a_head_has_a_bound(void **state)
{
	static char fill[HTTP_HEAD_MOST];
	struct evbuffer *input = evbuffer_new();
	size_t known = 0, length;
	const char *bytes;

	(void)state;
	memset(fill, 'a', sizeof(fill));
	assert_non_null(input);
	assert_int_equal(evbuffer_add(input, fill, sizeof(fill) - 2), 0);
	assert_int_equal(stream_find_head(input, &known, &bytes, &length), STREAM_BEGUN);
	add(input, "\n\nnext");
	assert_int_equal(stream_find_head(input, &known, &bytes, &length), STREAM_WHOLE);
	assert_int_equal(length, HTTP_HEAD_MOST);
	evbuffer_drain(input, evbuffer_get_length(input));
	assert_int_equal(evbuffer_add(input, fill, sizeof(fill) - 1), 0);
	add(input, "\n\n");
	assert_int_equal(stream_find_head(input, &known, &bytes, &length), STREAM_TOO_LARGE);
	assert_int_equal(length, HTTP_HEAD_MOST + 1);
	assert_int_equal(known, 0);
	evbuffer_free(input);
}

static void who_goes_on_talking_is_heard_out_up_to_a_bound(void **state)
{
	static char fill[64 << 10];
	struct event_base *base = loop_create(EVENT_BASE_FLAG_NOLOCK);
	size_t discarded = 0, rounds = 0;
	struct bufferevent *stream;
	int ends[2];
	char byte;

	(void)state;
	assert_non_null(base);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
			 0);
	stream = stream_accept(base, ends[0], NULL);
	assert_non_null(stream);
	bufferevent_enable(stream, EV_READ | EV_WRITE);
	stream_end_output(stream);
	// The client hears that no more comes, while it still may talk.
	assert_int_equal(read(ends[1], &byte, 1), 0);
	do {
		assert_true(send(ends[1], fill, sizeof(fill), MSG_NOSIGNAL) > 0);
		event_base_loop(base, EVLOOP_NONBLOCK);
		assert_true(rounds++ < 1000);
	} while (stream_discard(stream, &discarded));
	assert_true(discarded > DISCARD_MOST);
	assert_int_equal(evbuffer_get_length(bufferevent_get_input(stream)), 0);
	stream_destroy(stream);
	loop_destroy(base);
	assert_int_equal(send(ends[1], fill, 1, MSG_NOSIGNAL), -1);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_head_is_found_however_its_bytes_come),
		cmocka_unit_test(empty_lines_before_a_head_are_no_head),
		cmocka_unit_test(a_head_has_a_bound),
		cmocka_unit_test(who_goes_on_talking_is_heard_out_up_to_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
