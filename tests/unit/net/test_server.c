// SPDX-License-Identifier: Apache-2.0
#include "test_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <grpc/byte_buffer_reader.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum phase { PHASE_NEW, PHASE_RECEIVED, PHASE_DONE };

struct test_call {
	enum phase phase;
	grpc_call *call;
	grpc_call_details details;
	grpc_metadata_array headers;
	grpc_byte_buffer *request, *response;
	grpc_metadata trailer;
	grpc_slice message;
	int cancelled;
};

static char *slice_text(grpc_slice slice)
{
	char *text = strndup((const char *)GRPC_SLICE_START_PTR(slice), GRPC_SLICE_LENGTH(slice));

	if (!text)
		abort();
	return text;
}

static void server_request(struct test_server *server)
{
	struct test_call *call = calloc(1, sizeof(*call));

	if (!call)
		abort();
	grpc_call_details_init(&call->details);
	grpc_metadata_array_init(&call->headers);
	call->message = grpc_empty_slice();
	grpc_server_request_call(server->server, &call->call, &call->details, &call->headers,
				 server->queue, server->queue, call);
}

static void call_destroy(struct test_call *call)
{
	grpc_call_details_destroy(&call->details);
	grpc_metadata_array_destroy(&call->headers);
	if (call->request)
		grpc_byte_buffer_destroy(call->request);
	if (call->response)
		grpc_byte_buffer_destroy(call->response);
	if (call->trailer.key.refcount || GRPC_SLICE_LENGTH(call->trailer.key)) {
		grpc_slice_unref(call->trailer.key);
		grpc_slice_unref(call->trailer.value);
	}
	grpc_slice_unref(call->message);
	if (call->call)
		grpc_call_unref(call->call);
	free(call);
}

static void server_forget(struct test_server *server)
{
	free(server->body);
	free(server->method);
	for (size_t i = 0; i < server->header_count; i++) {
		free(server->headers[i].key);
		free(server->headers[i].value);
	}
	server->body = NULL;
	server->method = NULL;
	server->header_count = 0;
}

static void server_record_body(struct test_server *server, grpc_byte_buffer *buffer)
{
	grpc_byte_buffer_reader reader;
	grpc_slice slice;

	if (!buffer || !grpc_byte_buffer_reader_init(&reader, buffer))
		return;
	slice = grpc_byte_buffer_reader_readall(&reader);
	server->body_length = GRPC_SLICE_LENGTH(slice);
	server->body = malloc(server->body_length + 1);
	if (!server->body)
		abort();
	memcpy(server->body, GRPC_SLICE_START_PTR(slice), server->body_length);
	server->body_compressed = buffer->data.raw.compression != GRPC_COMPRESS_NONE;
	grpc_slice_unref(slice);
	grpc_byte_buffer_reader_destroy(&reader);
}

/* Keep the request, and take the answer it gets. */
static struct test_answer server_record(struct test_server *server, struct test_call *call)
{
	struct test_answer answer;

	pthread_mutex_lock(&server->lock);
	server_forget(server);
	server->method = slice_text(call->details.method);
	for (size_t i = 0; i < call->headers.count && i < TEST_SERVER_HEADERS_MAX; i++) {
		server->headers[i].key = slice_text(call->headers.metadata[i].key);
		server->headers[i].value = slice_text(call->headers.metadata[i].value);
		server->header_count++;
	}
	server_record_body(server, call->request);
	server->calls++;
	answer = server->answer;
	pthread_cond_broadcast(&server->changed);
	pthread_mutex_unlock(&server->lock);
	return answer;
}

static void call_answer(struct test_call *call, const struct test_answer *answer)
{
	grpc_op operations[4] = {
		{ .op = GRPC_OP_RECV_CLOSE_ON_SERVER,
		  .data.recv_close_on_server.cancelled = &call->cancelled },
		{ .op = GRPC_OP_SEND_INITIAL_METADATA },
		{ .op = GRPC_OP_SEND_STATUS_FROM_SERVER,
		  .data.send_status_from_server = { .status = answer->code } },
	};
	size_t count = answer->hang ? 1 : 3;

	if (answer->message) {
		call->message = grpc_slice_from_copied_string(answer->message);
		operations[2].data.send_status_from_server.status_details = &call->message;
	}
	if (answer->details) {
		call->trailer.key = grpc_slice_from_static_string("grpc-status-details-bin");
		call->trailer.value =
			grpc_slice_from_copied_buffer(answer->details, answer->details_length);
		operations[2].data.send_status_from_server.trailing_metadata = &call->trailer;
		operations[2].data.send_status_from_server.trailing_metadata_count = 1;
	}
	if (answer->code == GRPC_STATUS_OK && !answer->hang) {
		grpc_slice body = grpc_slice_from_copied_buffer(answer->body ? answer->body : "",
								answer->body_length);

		call->response =
			grpc_raw_compressed_byte_buffer_create(&body, 1, answer->body_compression);
		grpc_slice_unref(body);
		operations[count++] = (grpc_op){
			.op = GRPC_OP_SEND_MESSAGE,
			.data.send_message.send_message = call->response,
		};
	}
	if (answer->body_compression == GRPC_COMPRESS_GZIP) {
		static grpc_metadata encoding;

		encoding.key = grpc_slice_from_static_string("grpc-encoding");
		encoding.value = grpc_slice_from_static_string("gzip");
		operations[1].data.send_initial_metadata.metadata = &encoding;
		operations[1].data.send_initial_metadata.count = 1;
	}
	call->phase = PHASE_DONE;
	grpc_call_start_batch(call->call, operations, count, call, NULL);
}

static void server_advance(struct test_server *server, struct test_call *call, bool success)
{
	struct test_answer answer;

	switch (call->phase) {
	case PHASE_NEW:
		if (!success) {
			call_destroy(call);
			return;
		}
		server_request(server);
		call->phase = PHASE_RECEIVED;
		grpc_call_start_batch(
			call->call,
			&(grpc_op){ .op = GRPC_OP_RECV_MESSAGE,
				    .data.recv_message.recv_message = &call->request },
			1, call, NULL);
		return;
	case PHASE_RECEIVED:
		answer = server_record(server, call);
		call_answer(call, &answer);
		return;
	case PHASE_DONE:
		call_destroy(call);
		return;
	}
}

static void *server_run(void *argument)
{
	struct test_server *server = argument;
	bool stopping = false;

	for (;;) {
		grpc_event event = grpc_completion_queue_next(
			server->queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);

		if (event.type == GRPC_QUEUE_SHUTDOWN)
			return NULL;
		if (event.tag == server && !stopping) {
			stopping = true;
			grpc_completion_queue_shutdown(server->queue);
		} else {
			server_advance(server, event.tag, event.success);
		}
	}
}

void test_server_start(struct test_server *server, const char *address,
		       grpc_server_credentials *credentials)
{
	grpc_arg argument = {
		.type = GRPC_ARG_INTEGER,
		.key = (char *)(uintptr_t)GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION,
		.value.integer = 0,
	};
	grpc_channel_args arguments = { .num_args = 1, .args = &argument };

	*server = (struct test_server){ 0 };
	pthread_mutex_init(&server->lock, NULL);
	pthread_cond_init(&server->changed, NULL);
	grpc_init();
	if (!credentials)
		credentials = grpc_insecure_server_credentials_create();
	server->server = grpc_server_create(&arguments, NULL);
	server->queue = grpc_completion_queue_create_for_next(NULL);
	grpc_server_register_completion_queue(server->server, server->queue, NULL);
	server->port = grpc_server_add_http2_port(server->server, address, credentials);
	grpc_server_credentials_release(credentials);
	assert_int_not_equal(server->port, 0);
	grpc_server_start(server->server);
	server_request(server);
	assert_int_equal(pthread_create(&server->thread, NULL, server_run, server), 0);
}

void test_server_stop(struct test_server *server)
{
	grpc_server_shutdown_and_notify(server->server, server->queue, server);
	grpc_server_cancel_all_calls(server->server);
	pthread_join(server->thread, NULL);
	grpc_server_destroy(server->server);
	grpc_completion_queue_destroy(server->queue);
	grpc_shutdown_blocking();
	server_forget(server);
	pthread_cond_destroy(&server->changed);
	pthread_mutex_destroy(&server->lock);
}

void test_server_answer(struct test_server *server, struct test_answer answer)
{
	pthread_mutex_lock(&server->lock);
	server->answer = answer;
	pthread_mutex_unlock(&server->lock);
}

void test_server_wait_calls(struct test_server *server, unsigned int calls)
{
	pthread_mutex_lock(&server->lock);
	while (server->calls < calls)
		pthread_cond_wait(&server->changed, &server->lock);
	pthread_mutex_unlock(&server->lock);
}

const char *test_server_header(struct test_server *server, const char *key)
{
	for (size_t i = 0; i < server->header_count; i++)
		if (!strcmp(server->headers[i].key, key))
			return server->headers[i].value;
	return NULL;
}
