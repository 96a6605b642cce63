// SPDX-License-Identifier: Apache-2.0
/* A call's message on its way: as gRPC frames it, or as a body; into the room, to the workers. */
#include "server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* For a message of unknown length. */
	GROW_LEAST = 65536,
	/* More than the message and its prefix: who sends that is told so. */
	GRANT_MORE = 1024,
	PREFIX_BYTES = sizeof(((struct net_call *)NULL)->prefix),
	/* Calls that are tried in vain, one after the other, when there is room again. */
	TRIED_IN_VAIN = 64,
};

/* ---- what is refused ---- */

/* The message is too large, @when. */
char *call_explain_size(struct net_call *call, const char *when)
{
	char *text;

	call->too_large = true;
	if (asprintf(&text,
		     "the request has more than %zu MiB%s; raise the receiver's %s, or send "
		     "smaller ones",
		     call->server->bounds.message_bytes >> 20, when,
		     call_is_http(call) ? "max_request_body_size" : "max_recv_msg_size_mib") < 0)
		return NULL;
	return text;
}

static void call_refuse_size(struct net_call *call)
{
	call_refuse(call, NET_RESOURCE_EXHAUSTED, call_explain_size(call, ""));
}

static void call_refuse_compression(struct net_call *call)
{
	const char *name = "";
	size_t length = 0;
	char *text;

	call_head_find(call, "grpc-encoding", &name, &length);
	if (asprintf(&text,
		     "no decompressor for grpc-encoding \"%.*s\"; use gzip, zstd, deflate or none",
		     length < 64 ? (int)length : 64, name) < 0)
		text = NULL;
	call_refuse(call, NET_UNIMPLEMENTED, text);
}

/* ---- room ---- */

/* Room for @bytes of the message in memory. */
static bool call_reserve(struct net_call *call, size_t bytes)
{
	size_t wanted = call->expected;
	uint8_t *grown;

	if (bytes <= call->capacity)
		return true;
	// Without room of its own it gets no more than it needs.
	if (!call->taken.calls || wanted == LENGTH_UNKNOWN)
		wanted = bytes > call->taken.bytes ? bytes : call->taken.bytes;
	grown = realloc(call->bytes, wanted);
	if (!grown)
		return false;
	call->bytes = grown;
	call->capacity = wanted;
	return true;
}

/* What of the room it lacks: of a message of unknown length, twice what there is. */
static size_t call_lacks(const struct net_call *call)
{
	size_t wanted = call->expected, most = call->server->bounds.message_bytes;

	if (wanted == LENGTH_UNKNOWN)
		wanted = call->length < GROW_LEAST / 2 ? GROW_LEAST : call->length * 2;
	if (wanted > most)
		wanted = most;
	return wanted > call->taken.bytes ? wanted - call->taken.bytes : 0;
}

/* Is it in, so that all of its message, or more of it, may come? Else it waits. */
static bool call_enter(struct net_call *call)
{
	if (!room_take(call, call_lacks(call))) {
		room_wait(call);
		return false;
	}
	room_forget(call);
	if (!call->connection->http2)
		return true;
	if (call->expected == LENGTH_UNKNOWN)
		http2_consume(call);
	else if (call->expected + PREFIX_BYTES > FIRST_BYTES || call->granted)
		http2_grant(call, call->expected + PREFIX_BYTES + GRANT_MORE);
	return true;
}

static void call_make_ready(struct net_call *call)
{
	struct net_server *server = call->server;

	// Of an unknown length, it may have waited for more room than it has turned out to need.
	room_forget(call);
	call->phase = CALL_READY;
	pthread_mutex_lock(&server->lock);
	room_make_ready(call);
	pthread_cond_signal(&server->work);
	pthread_mutex_unlock(&server->lock);
}

/* A whole message goes to the workers, also one that was small enough to come without room: those
 * who have taken the room and send nothing do not keep it out. */
static void call_advance(struct net_call *call)
{
	if (call->phase == CALL_BODY && call->complete)
		call_make_ready(call);
}

void call_admit_waiting(struct net_server *server)
{
	struct net_call *call;

	room_forget_full(server);
	for (int vain = 0; vain < TRIED_IN_VAIN && (call = room_next(server));) {
		if (call_enter(call)) {
			vain = 0;
			connection_settle_later(call->connection);
		} else {
			vain++;
		}
	}
}

/* The five bytes before a message; false while they are not all there. */
static bool call_receive_prefix(struct net_call *call, const uint8_t **bytes, size_t *length)
{
	while (call->prefix_length < PREFIX_BYTES && *length) {
		call->prefix[call->prefix_length++] = *(*bytes)++;
		--*length;
	}
	return call->prefix_length == PREFIX_BYTES;
}

/* The prefix is there: what does it announce? False when the call is answered already. */
static bool call_begin_message(struct net_call *call)
{
	const uint8_t *prefix = call->prefix;
	size_t length = (size_t)prefix[1] << 24 | (size_t)prefix[2] << 16 | (size_t)prefix[3] << 8 |
			prefix[4];

	if (prefix[0] > 1) {
		call_refuse(call, NET_INTERNAL, strdup("this is no message of gRPC"));
		return false;
	}
	if (!prefix[0]) {
		call->compression = INFLATE_NONE;
	} else if (call->compression == INFLATE_NONE) {
		call_refuse(
			call, NET_INTERNAL,
			strdup("a message is compressed, but no header grpc-encoding says how"));
		return false;
	} else if (call->compression == INFLATE_UNKNOWN) {
		call_refuse_compression(call);
		return false;
	}
	if (length > call->server->bounds.message_bytes) {
		call_refuse_size(call);
		return false;
	}
	call->expected = length;
	call_enter(call);
	return true;
}

/* The head of a request over HTTP is there, and its body may come. */
void call_begin_body(struct net_call *call)
{
	if (call->expected == LENGTH_UNKNOWN)
		return;
	if (call->expected > call->server->bounds.message_bytes)
		call_refuse_size(call);
	else
		call_enter(call);
}

/* More of a body whose length nobody has told: room for it, and for as much again. */
static bool call_grow(struct net_call *call, size_t length)
{
	if (length > call->server->bounds.message_bytes - call->length) {
		call_refuse_size(call);
		return false;
	}
	if (!call->waits && call->length + length > call->taken.bytes)
		call_enter(call);
	return true;
}

static void call_store(struct net_call *call, const uint8_t *bytes, size_t length)
{
	if (!length)
		return;
	if (!call_reserve(call, call->length + length)) {
		call_refuse(call, NET_UNAVAILABLE, strdup(message_fault_text(MESSAGE_NO_MEMORY)));
		return;
	}
	memcpy(call->bytes + call->length, bytes, length);
	call->length += length;
}

static void call_receive_body(struct net_call *call, const uint8_t *bytes, size_t length)
{
	bool unknown = call->expected == LENGTH_UNKNOWN;

	if (unknown && !call_grow(call, length))
		return;
	if (!unknown && length > call->expected - call->length) {
		call_refuse(call, NET_INVALID_ARGUMENT,
			    strdup("the body is longer than its content-length"));
		return;
	}
	call_store(call, bytes, length);
	if (unknown && !call->waits && call->connection->http2)
		http2_consume(call);
}

void call_receive(struct net_call *call, const uint8_t *bytes, size_t length)
{
	bool begun = call->prefix_length == PREFIX_BYTES;

	if (call_is_http(call)) {
		call_receive_body(call, bytes, length);
		return;
	}
	if (!call_receive_prefix(call, &bytes, &length) || (!begun && !call_begin_message(call)))
		return;
	if (length > call->expected - call->length)
		call_refuse(
			call, NET_INTERNAL,
			strdup("more than one message came, or a longer one than was announced"));
	else
		call_store(call, bytes, length);
}

void call_complete(struct net_call *call)
{
	if (call->phase != CALL_BODY)
		return;
	if (call_is_http(call) && call->expected == LENGTH_UNKNOWN)
		call->expected = call->length;
	if ((!call_is_http(call) && call->prefix_length < PREFIX_BYTES) ||
	    call->length < call->expected) {
		call_refuse(call, call_is_http(call) ? NET_INVALID_ARGUMENT : NET_INTERNAL,
			    strdup("the request ended without a message"));
		return;
	}
	call->complete = true;
	call_advance(call);
}
