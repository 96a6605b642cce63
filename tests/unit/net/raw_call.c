// SPDX-License-Identifier: Apache-2.0
#include "raw_call.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <grpc/grpc_security.h>

#include <arpa/inet.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static grpc_channel *channel_open(const char *target)
{
	grpc_channel_credentials *credentials = grpc_insecure_credentials_create();
	grpc_channel *channel = grpc_channel_create(target, credentials, NULL);

	grpc_channel_credentials_release(credentials);
	return channel;
}

static grpc_call *call_open(grpc_channel *channel, grpc_completion_queue *queue, const char *method)
{
	gpr_timespec deadline =
		gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_seconds(20, GPR_TIMESPAN));
	grpc_slice path = grpc_slice_from_copied_string(method);
	grpc_call *call = grpc_channel_create_call(channel, NULL, GRPC_PROPAGATE_DEFAULTS, queue,
						   path, NULL, deadline, NULL);

	grpc_slice_unref(path);
	return call;
}

static void wait_and_close(grpc_channel *channel, grpc_completion_queue *queue, grpc_call *call)
{
	grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
	grpc_call_unref(call);
	grpc_channel_destroy(channel);
	grpc_completion_queue_shutdown(queue);
	while (grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL).type !=
	       GRPC_QUEUE_SHUTDOWN)
		;
	grpc_completion_queue_destroy(queue);
}

grpc_status_code raw_call(const char *target, const char *method, const void *bytes, size_t length,
			  bool is_gzip, const struct raw_header headers[static 2],
			  char **message_ret)
{
	grpc_slice body = grpc_slice_from_copied_buffer(bytes, length);
	grpc_completion_queue *queue;
	grpc_byte_buffer *request, *response = NULL;
	grpc_metadata_array initial, trailing;
	grpc_status_code code = GRPC_STATUS_UNKNOWN;
	grpc_slice details = grpc_empty_slice();
	grpc_metadata metadata[3];
	grpc_channel *channel;
	size_t count = 0;
	grpc_call *call;

	grpc_init();
	channel = channel_open(target);
	queue = grpc_completion_queue_create_for_next(NULL);
	call = call_open(channel, queue, method);
	request = is_gzip ? grpc_raw_compressed_byte_buffer_create(&body, 1, GRPC_COMPRESS_GZIP)
			  : grpc_raw_byte_buffer_create(&body, 1);
	grpc_metadata_array_init(&initial);
	grpc_metadata_array_init(&trailing);
	for (size_t i = 0; i < 2; i++)
		if (headers[i].key)
			metadata[count++] = (grpc_metadata){
				.key = grpc_slice_from_static_string(headers[i].key),
				.value = grpc_slice_from_static_string(headers[i].value),
			};
	if (is_gzip)
		metadata[count++] = (grpc_metadata){
			.key = grpc_slice_from_static_string("grpc-encoding"),
			.value = grpc_slice_from_static_string("gzip"),
		};
	grpc_op operations[] = {
		{ .op = GRPC_OP_SEND_INITIAL_METADATA,
		  .data.send_initial_metadata = { .count = count, .metadata = metadata } },
		{ .op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = request },
		{ .op = GRPC_OP_SEND_CLOSE_FROM_CLIENT },
		{ .op = GRPC_OP_RECV_INITIAL_METADATA,
		  .data.recv_initial_metadata.recv_initial_metadata = &initial },
		{ .op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &response },
		{ .op = GRPC_OP_RECV_STATUS_ON_CLIENT,
		  .data.recv_status_on_client = { .trailing_metadata = &trailing,
						  .status = &code,
						  .status_details = &details } },
	};
	assert_int_equal(grpc_call_start_batch(call, operations, 6, call, NULL), GRPC_CALL_OK);
	wait_and_close(channel, queue, call);
	*message_ret =
		strndup((const char *)GRPC_SLICE_START_PTR(details), GRPC_SLICE_LENGTH(details));
	grpc_slice_unref(details);
	grpc_slice_unref(body);
	grpc_byte_buffer_destroy(request);
	if (response)
		grpc_byte_buffer_destroy(response);
	grpc_metadata_array_destroy(&initial);
	grpc_metadata_array_destroy(&trailing);
	grpc_shutdown_blocking();
	return code;
}

void raw_stalled_begin(struct raw_stalled *stalled, const char *target, const char *method)
{
	grpc_init();
	*stalled = (struct raw_stalled){ .details = grpc_empty_slice() };
	stalled->channel = channel_open(target);
	stalled->queue = grpc_completion_queue_create_for_next(NULL);
	stalled->call = call_open(stalled->channel, stalled->queue, method);
	grpc_metadata_array_init(&stalled->initial);
	grpc_metadata_array_init(&stalled->trailing);
	grpc_op operations[] = {
		{ .op = GRPC_OP_SEND_INITIAL_METADATA },
		{ .op = GRPC_OP_RECV_INITIAL_METADATA,
		  .data.recv_initial_metadata.recv_initial_metadata = &stalled->initial },
		{ .op = GRPC_OP_RECV_STATUS_ON_CLIENT,
		  .data.recv_status_on_client = { .trailing_metadata = &stalled->trailing,
						  .status = &stalled->code,
						  .status_details = &stalled->details } },
	};
	assert_int_equal(grpc_call_start_batch(stalled->call, operations, 3, stalled, NULL),
			 GRPC_CALL_OK);
}

void raw_stalled_work(struct raw_stalled *stalled)
{
	gpr_timespec until =
		gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(10, GPR_TIMESPAN));

	assert_int_equal(grpc_completion_queue_next(stalled->queue, until, NULL).type,
			 GRPC_QUEUE_TIMEOUT);
}

grpc_status_code raw_stalled_end(struct raw_stalled *stalled)
{
	wait_and_close(stalled->channel, stalled->queue, stalled->call);
	grpc_slice_unref(stalled->details);
	grpc_metadata_array_destroy(&stalled->initial);
	grpc_metadata_array_destroy(&stalled->trailing);
	grpc_shutdown_blocking();
	return stalled->code;
}

/* ---- HTTP/2 by hand ---- */

struct wire {
	uint8_t bytes[4096];
	size_t count;
};

static void wire_put(struct wire *wire, const void *bytes, size_t length)
{
	assert_true(length <= sizeof(wire->bytes) - wire->count);
	memcpy(wire->bytes + wire->count, bytes, length);
	wire->count += length;
}

/* The head of a frame; stream 0 or 1. */
static void wire_put_frame(struct wire *wire, uint8_t type, uint8_t flags, uint8_t stream,
			   size_t length)
{
	const uint8_t head[] = {
		0, (uint8_t)(length >> 8), (uint8_t)length, type, flags, 0, 0, 0, stream
	};

	wire_put(wire, head, sizeof(head));
}

/* HPACK: a literal without indexing, nothing compressed. */
static void wire_put_header(struct wire *wire, const char *key, const char *value)
{
	const uint8_t lengths[] = { (uint8_t)strlen(key), (uint8_t)strlen(value) };

	assert_true(lengths[0] < 127 && lengths[1] < 127);
	wire_put(wire, "", 1);
	wire_put(wire, &lengths[0], 1);
	wire_put(wire, key, lengths[0]);
	wire_put(wire, &lengths[1], 1);
	wire_put(wire, value, lengths[1]);
}

/* @settings of the connection, and a call. */
static void wire_put_request(struct wire *wire, const void *settings, size_t settings_length,
			     const char *encoding, const void *bytes, size_t length)
{
	const uint8_t prefix[] = { strcmp(encoding, "identity") != 0, 0, 0, (uint8_t)(length >> 8),
				   (uint8_t)length };
	struct wire headers = { .count = 0 };

	wire_put_header(&headers, ":method", "POST");
	wire_put_header(&headers, ":scheme", "http");
	wire_put_header(&headers, ":path", "/a.B/C");
	wire_put_header(&headers, ":authority", "localhost");
	wire_put_header(&headers, "te", "trailers");
	wire_put_header(&headers, "content-type", "application/grpc");
	wire_put_header(&headers, "grpc-encoding", encoding);
	wire_put(wire, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24);
	wire_put_frame(wire, 4, 0, 0, settings_length);
	wire_put(wire, settings, settings_length);
	wire_put_frame(wire, 1, 4, 1, headers.count);
	wire_put(wire, headers.bytes, headers.count);
	wire_put_frame(wire, 0, 1, 1, sizeof(prefix) + length);
	wire_put(wire, prefix, sizeof(prefix));
	wire_put(wire, bytes, length);
}

/* A connection to which @wire has been written. */
static int wire_send(const struct wire *wire, int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		abort();
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(write(fd, wire->bytes, wire->count), wire->count);
	return fd;
}

int raw_unread_call(int port)
{
	// SETTINGS_INITIAL_WINDOW_SIZE 0: nothing may be sent to us.
	static const uint8_t settings[] = { 0, 4, 0, 0, 0, 0 };
	struct wire wire = { .count = 0 };

	wire_put_request(&wire, settings, sizeof(settings), "identity", "ping", 4);
	return wire_send(&wire, port);
}

int raw_slow_call(int port, uint32_t announced)
{
	const uint8_t prefix[] = { 0, (uint8_t)(announced >> 24), (uint8_t)(announced >> 16),
				   (uint8_t)(announced >> 8), (uint8_t)announced };
	struct wire wire = { .count = 0 };

	wire_put_request(&wire, "", 0, "identity", "", 0);
	// The request's own frame of data is the last one: ours replaces it, and ends nothing.
	wire.count -= 9 + sizeof(prefix);
	wire_put_frame(&wire, 0, 0, 1, sizeof(prefix));
	wire_put(&wire, prefix, sizeof(prefix));
	return wire_send(&wire, port);
}

/* What is read of a connection: frames, and their heads as text. */
struct raw_reading {
	uint8_t bytes[16384];
	size_t count;
	nghttp2_hd_inflater *inflater;
	char *text; /* owned */
	size_t length;
};

static void reading_add_head(struct raw_reading *reading, const uint8_t *bytes, size_t length)
{
	int flags = 0;

	while (!(flags & NGHTTP2_HD_INFLATE_FINAL)) {
		nghttp2_nv field;
		ssize_t used =
			nghttp2_hd_inflate_hd2(reading->inflater, &field, &flags, bytes, length, 1);

		assert_true(used >= 0);
		bytes += used;
		length -= (size_t)used;
		if (!(flags & NGHTTP2_HD_INFLATE_EMIT))
			continue;
		reading->text = realloc(reading->text,
					reading->length + field.namelen + field.valuelen + 4);
		assert_non_null(reading->text);
		reading->length += (size_t)sprintf(reading->text + reading->length, "%.*s: %.*s\n",
						   (int)field.namelen, (char *)field.name,
						   (int)field.valuelen, (char *)field.value);
	}
	nghttp2_hd_inflate_end_headers(reading->inflater);
}

/* All frames that are there as a whole. */
static void reading_advance(struct raw_reading *reading)
{
	const uint8_t *at = reading->bytes;

	for (;;) {
		size_t left = reading->count - (size_t)(at - reading->bytes), length;

		if (left < 9)
			break;
		length = (size_t)at[0] << 16 | (size_t)at[1] << 8 | at[2];
		if (left < 9 + length)
			break;
		if (at[3] == NGHTTP2_HEADERS)
			reading_add_head(reading, at + 9, length);
		at += 9 + length;
	}
	reading->count -= (size_t)(at - reading->bytes);
	memmove(reading->bytes, at, reading->count);
}

char *raw_read_status(int fd)
{
	struct raw_reading reading = { .text = calloc(1, 1) };

	assert_non_null(reading.text);
	assert_int_equal(nghttp2_hd_inflate_new(&reading.inflater), 0);
	// Its status ends an answer.
	while (!strstr(reading.text, "grpc-status")) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };
		ssize_t part;

		if (poll(&ready, 1, 60000) <= 0)
			break;
		part = read(fd, reading.bytes + reading.count,
			    sizeof(reading.bytes) - reading.count);
		if (part <= 0)
			break;
		reading.count += (size_t)part;
		reading_advance(&reading);
	}
	nghttp2_hd_inflate_del(reading.inflater);
	return reading.text;
}

char *raw_encoded_call(int port, const char *encoding, const void *bytes, size_t length)
{
	CLEANUP_FD int fd = -1;
	struct wire wire = { .count = 0 };

	wire_put_request(&wire, "", 0, encoding, bytes, length);
	fd = wire_send(&wire, port);
	return raw_read_status(fd);
}
