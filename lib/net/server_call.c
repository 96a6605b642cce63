// SPDX-License-Identifier: Apache-2.0
#include "server.h"

#include "message.h"
#include "status.h"

#include "base/base.h"

#include <grpc/support/alloc.h>
#include <grpc/support/time.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

static void call_destroy(struct net_call *call)
{
	grpc_call_details_destroy(&call->details);
	grpc_metadata_array_destroy(&call->headers);
	if (call->request)
		grpc_byte_buffer_destroy(call->request);
	if (call->response)
		grpc_byte_buffer_destroy(call->response);
	grpc_slice_unref(call->message);
	if (call->answer.has_retry) {
		grpc_slice_unref(call->trailer.key);
		grpc_slice_unref(call->trailer.value);
	}
	net_answer_deinit(&call->answer);
	free(call->method);
	gpr_free(call->peer);
	if (call->call)
		grpc_call_unref(call->call);
	free(call);
}

static void call_proceed(struct net_call *call, bool success);
static void call_close(struct net_call *call, bool success);

static struct net_call *call_create(struct net_server *server)
{
	struct net_call *call = calloc(1, sizeof(*call));

	if (!call)
		return NULL;
	call->server = server;
	call->proceed = (struct call_event){ call, call_proceed };
	call->close = (struct call_event){ call, call_close };
	call->message = grpc_empty_slice();
	grpc_call_details_init(&call->details);
	grpc_metadata_array_init(&call->headers);
	return call;
}

/* Under the lock. */
static bool server_has_room(const struct net_server *server)
{
	return !server->stopping && !server->awaiting && server->call_count < server->max_calls;
}

static bool call_enlist(struct net_call *call)
{
	struct net_server *server = call->server;
	bool room;

	pthread_mutex_lock(&server->lock);
	room = server_has_room(server);
	if (room) {
		server->awaiting = true;
		server->call_count++;
		call->link = &server->calls;
		call->next = server->calls;
		if (call->next)
			call->next->link = &call->next;
		server->calls = call;
	}
	pthread_mutex_unlock(&server->lock);
	return room;
}

/* Take @call off the list and free it. */
static void call_end(struct net_call *call)
{
	struct net_server *server = call->server;

	pthread_mutex_lock(&server->lock);
	if (call->phase == CALL_AWAITED)
		server->awaiting = false;
	*call->link = call->next;
	if (call->next)
		call->next->link = call->link;
	server->call_count--;
	pthread_cond_broadcast(&server->quiet);
	pthread_mutex_unlock(&server->lock);
	call_destroy(call);
}

void call_await(struct net_server *server)
{
	struct net_call *call = call_create(server);

	// Without memory the next call that ends asks again; there always is one, or one awaited.
	if (!call)
		return;
	if (!call_enlist(call)) {
		call_destroy(call);
		return;
	}
	call->pending = 1;
	if (grpc_server_request_call(server->server, &call->call, &call->details, &call->headers,
				     server->queue, server->queue, &call->proceed) != GRPC_CALL_OK)
		call_end(call);
}

/* ---- the answer ---- */

static void call_add_retry(struct net_call *call)
{
	size_t length;
	uint8_t *bytes = status_encode_retry(&call->answer, &length);

	if (!bytes) {
		call->answer.has_retry = false;
		return;
	}
	call->trailer.key = grpc_slice_from_static_string("grpc-status-details-bin");
	call->trailer.value = grpc_slice_new(bytes, length, free);
}

/* What we quote of the request has to be fit to be sent. */
static void call_set_text(struct net_call *call)
{
	const char *text = call->answer.message ? call->answer.message : "";
	char *clean = status_copy_text(text, strlen(text));

	free(call->answer.message);
	call->answer.message = clean;
	if (clean)
		call->message = grpc_slice_from_copied_string(clean);
}

/* Under the lock: have gRPC do @operations; @event when all are done. */
static void call_start(struct net_call *call, const grpc_op *operations, size_t count,
		       struct call_event *event)
{
	call->pending++;
	// What goes wrong with the peer is reported through the queue; what is refused here is a
	// fault of ours, a call that is answered twice for instance.
	if (grpc_call_start_batch(call->call, operations, count, event, NULL) != GRPC_CALL_OK)
		abort();
}

/* Under the lock. */
static void call_answer_locked(struct net_call *call)
{
	struct net_answer *answer = &call->answer;
	grpc_op operations[3] = {
		{ .op = GRPC_OP_SEND_INITIAL_METADATA },
		{ .op = GRPC_OP_SEND_STATUS_FROM_SERVER,
		  .data.send_status_from_server = { .status = (grpc_status_code)answer->code,
						    .status_details = &call->message } },
	};
	size_t count = 2;

	call_set_text(call);
	if (answer->has_retry)
		call_add_retry(call);
	if (answer->has_retry) {
		operations[1].data.send_status_from_server.trailing_metadata = &call->trailer;
		operations[1].data.send_status_from_server.trailing_metadata_count = 1;
	}
	if (answer->code == NET_OK) {
		call->response = message_pack(answer->bytes, answer->length, false);
		operations[count++] = (grpc_op){ .op = GRPC_OP_SEND_MESSAGE,
						 .data.send_message.send_message = call->response };
	}
	call->phase = CALL_ANSWERING;
	call->began_ns = clock_monotonic_ns();
	call_start(call, operations, count, &call->proceed);
}

static void call_answer(struct net_call *call)
{
	pthread_mutex_lock(&call->server->lock);
	call_answer_locked(call);
	pthread_mutex_unlock(&call->server->lock);
}

static void call_set_answer(struct net_call *call, enum net_code code, char *message)
{
	call->answer.code = code;
	call->answer.message = message;
}

static void call_refuse(struct net_call *call, enum net_code code, char *message)
{
	call_set_answer(call, code, message);
	call_answer(call);
}

/* ---- the phases ---- */

static bool call_is_admitted(struct net_call *call)
{
	struct net_server *server = call->server;

	call->method = strndup((const char *)GRPC_SLICE_START_PTR(call->details.method),
			       GRPC_SLICE_LENGTH(call->details.method));
	if (call->method)
		return server->service.admit(server->service.context, call, &call->answer);
	call_set_answer(call, NET_UNAVAILABLE, strdup("no memory"));
	return false;
}

/* The head is there: have it looked at, then wait for its message. */
static void call_begin(struct net_call *call)
{
	const grpc_op receive = { .op = GRPC_OP_RECV_MESSAGE,
				  .data.recv_message.recv_message = &call->request };
	const grpc_op close = { .op = GRPC_OP_RECV_CLOSE_ON_SERVER,
				.data.recv_close_on_server.cancelled = &call->cancelled };
	struct net_server *server = call->server;
	bool admitted = call_is_admitted(call);

	call_await(server);
	pthread_mutex_lock(&server->lock);
	call->began_ns = clock_monotonic_ns();
	call_start(call, &close, 1, &call->close);
	if (admitted && server->stopping) {
		call_set_answer(call, NET_UNAVAILABLE, strdup("profcol is shutting down"));
		admitted = false;
	}
	if (admitted) {
		call->phase = CALL_RECEIVING;
		call_start(call, &receive, 1, &call->proceed);
	} else {
		call_answer_locked(call);
	}
	pthread_mutex_unlock(&server->lock);
}

/* Under the lock: the message is there, or will not come. */
static void call_receive(struct net_call *call)
{
	struct net_server *server = call->server;

	// Too large for gRPC, which has said so, or the client has gone.
	if (!call->request) {
		call_set_answer(call, NET_CANCELED, strdup("the request ended without a message"));
		call_answer_locked(call);
		return;
	}
	call->phase = CALL_READY;
	*server->ready_end = call;
	server->ready_end = &call->next_ready;
	pthread_cond_signal(&server->work);
}

/* Under the lock: was that the last that gRPC had to say of it? */
static bool call_is_over(struct net_call *call)
{
	call->pending--;
	return call->phase == CALL_ANSWERING && !call->pending;
}

/* The stream is closed: by our answer, or because the client has gone. */
static void call_close(struct net_call *call, bool success)
{
	struct net_server *server = call->server;
	bool over;

	(void)success;
	pthread_mutex_lock(&server->lock);
	call->closed = true;
	over = call_is_over(call);
	pthread_mutex_unlock(&server->lock);
	if (!over)
		return;
	call_end(call);
	call_await(server);
}

/* What its phase waits for is done. */
static void call_proceed(struct net_call *call, bool success)
{
	struct net_server *server = call->server;
	bool awaited, over;

	pthread_mutex_lock(&server->lock);
	over = call_is_over(call);
	awaited = call->phase == CALL_AWAITED;
	if (awaited && success) {
		server->awaiting = false;
		call->phase = CALL_BEGINNING;
	} else if (call->phase == CALL_RECEIVING) {
		call_receive(call);
	}
	pthread_mutex_unlock(&server->lock);
	if (awaited && success) {
		call_begin(call);
	} else if (awaited || over) {
		// An awaited one that does not come: the server shuts down.
		call_end(call);
		call_await(server);
	}
}

/* ---- the impatient ---- */

/* Under the lock: @call is still on its way. */
static void call_give_up(struct net_call *call, const char *reason)
{
	call_set_answer(call, NET_UNAVAILABLE, strdup(reason));
	call_answer_locked(call);
}

/* Under the lock: nobody else gets in. */
static bool server_is_full(const struct net_server *server)
{
	return !server->awaiting && server->call_count >= server->max_calls;
}

bool call_expire(struct net_server *server)
{
	const struct server_patience *patience = &server->patience;
	uint64_t now, receive_ns;
	bool living;

	pthread_mutex_lock(&server->lock);
	now = clock_monotonic_ns();
	receive_ns = server_is_full(server) ? patience->full_ns : patience->receive_ns;
	for (struct net_call *call = server->calls; call; call = call->next) {
		uint64_t age_ns = now - call->began_ns;

		if (call->phase == CALL_RECEIVING && age_ns >= receive_ns) {
			call_give_up(call, "the request did not arrive in time");
		} else if (call->phase == CALL_ANSWERING && age_ns >= patience->answer_ns &&
			   !call->cut) {
			// Whoever does not read would keep its place for good.
			call->cut = true;
			grpc_call_cancel(call->call, NULL);
		}
	}
	// A worker does not tell when it begins to answer, so all calls are looked after.
	living = server->call_count > server->awaiting;
	pthread_mutex_unlock(&server->lock);
	return living;
}

void call_refuse_unreceived(struct net_server *server, const char *reason)
{
	pthread_mutex_lock(&server->lock);
	for (struct net_call *call = server->calls; call; call = call->next)
		if (call->phase == CALL_RECEIVING)
			call_give_up(call, reason);
	pthread_mutex_unlock(&server->lock);
}

/* ---- handling ---- */

/* Who does not wait any longer will send it again: to take it would double it. */
static bool call_is_given_up(struct net_call *call)
{
	gpr_timespec deadline = call->details.deadline;
	bool closed;

	pthread_mutex_lock(&call->server->lock);
	closed = call->closed;
	pthread_mutex_unlock(&call->server->lock);
	return closed || gpr_time_cmp(gpr_now(deadline.clock_type), deadline) >= 0;
}

static char *call_explain(const struct net_server *server, enum message_fault fault)
{
	char *text;

	if (fault != MESSAGE_TOO_LARGE)
		return strdup(message_fault_text(fault));
	if (asprintf(&text,
		     "the request has more than %zu MiB after decompression; raise the receiver's "
		     "max_recv_msg_size_mib, or send smaller ones",
		     server->max_message_bytes >> 20) < 0)
		return NULL;
	return text;
}

void call_handle(struct net_call *call)
{
	static const enum net_code codes[] = {
		[MESSAGE_TOO_LARGE] = NET_RESOURCE_EXHAUSTED,
		[MESSAGE_BROKEN] = NET_INVALID_ARGUMENT,
		[MESSAGE_NO_MEMORY] = NET_UNAVAILABLE,
	};
	struct net_server *server = call->server;
	CLEANUP_FREE uint8_t *bytes = NULL;
	enum message_fault fault;
	const char *encoding;
	char *text = NULL;
	size_t length;

	if (call_is_given_up(call)) {
		call_refuse(call, NET_DEADLINE_EXCEEDED, strdup("the client waited no longer"));
		return;
	}
	fault = message_unpack(TAKE(call->request), server->max_message_bytes, &bytes, &length);
	if (fault != MESSAGE_SOUND) {
		call_refuse(call, codes[fault], call_explain(server, fault));
		return;
	}
	encoding = message_recognize(bytes, length);
	if (encoding) {
		if (asprintf(&text, "no decompressor for grpc-encoding \"%s\"; use gzip or none",
			     encoding) < 0)
			text = NULL;
		call_refuse(call, NET_UNIMPLEMENTED, text);
		return;
	}
	server->service.handle(server->service.context, call, bytes, length, &call->answer);
	call_answer(call);
}

/* ---- what a service may ask ---- */

const char *net_call_method(const struct net_call *call)
{
	return call->method;
}

const char *net_call_peer(struct net_call *call)
{
	if (!call->peer)
		call->peer = grpc_call_get_peer(call->call);
	return call->peer ? call->peer : "?";
}

size_t net_call_header(const struct net_call *call, const char *key, const char **value_ret,
		       size_t *length_ret)
{
	size_t count = 0;

	for (size_t i = 0; i < call->headers.count; i++) {
		const grpc_metadata *entry = &call->headers.metadata[i];

		if (grpc_slice_str_cmp(entry->key, key) || count++)
			continue;
		*value_ret = (const char *)GRPC_SLICE_START_PTR(entry->value);
		*length_ret = GRPC_SLICE_LENGTH(entry->value);
	}
	return count;
}
