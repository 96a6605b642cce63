// SPDX-License-Identifier: Apache-2.0
#include "server.h"

#include "status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* What RFC 9113 counts for each field of a head, besides its name and value. */
	FIELD_COST = 32,
	NS_OF_BYTE = 1000000000 >> 20, /* at a MiB a second */
	UNREAD_NS = 1000000000, /* an answer that is not read for so long makes room for others */
};

/* ---- life ---- */

static bool is_arriving(const struct net_call *call)
{
	return call->phase == CALL_HEAD || call->phase == CALL_BODY;
}

/* End @call without an answer: its stream with @error, or over HTTP/1.1 its connection. */
static void call_reset(struct net_call *call, uint32_t error)
{
	if (call->connection->http2)
		http2_reset(call, error);
	else
		call->connection->doomed = true;
}

/* May @call make room for a call of somebody else? It is arriving, or its answer is not read. */
static bool is_displaceable(const struct net_call *call, uint64_t now_ns)
{
	return is_arriving(call) ||
	       (call->phase == CALL_ANSWERING && now_ns - call->began_ns >= UNREAD_NS);
}

/* Find the oldest call that may make room, of the address with most calls of those that have such a
 * call and more than @calls in all; NULL: there is none. */
static struct net_call *find_displaceable(struct net_server *server, size_t calls)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct connection *connection;
	struct net_call *call, *found = NULL;

	TAILQ_FOREACH(connection, &server->connections, entry)
	{
		size_t of_peer = connection->peer->calls;

		if (connection->doomed || of_peer <= calls ||
		    (found && of_peer < found->peer->calls))
			continue;
		TAILQ_FOREACH(call, &connection->calls, entry)
		if (is_displaceable(call, now_ns) &&
		    (!found || of_peer > found->peer->calls || call->began_ns < found->began_ns))
			found = call;
	}
	return found;
}

/* Free the head of @call, which nobody asks for once it is read or the call is over. */
static void call_drop_head(struct net_call *call)
{
	VECTOR_DEINIT(&call->head.fields);
	VECTOR_DEINIT(&call->head.text);
}

static void call_drop_message(struct net_call *call)
{
	free(TAKE(call->bytes));
	call->length = call->capacity = 0;
}

/* It has its answer, or needs none. */
static void call_end_living(struct net_call *call)
{
	struct net_server *server = call->server;

	if (!call->is_living)
		return;
	call->is_living = false;
	pthread_mutex_lock(&server->lock);
	server->living--;
	pthread_cond_broadcast(&server->quiet);
	pthread_mutex_unlock(&server->lock);
}

/* Let go of all that @call has on its way; nothing goes on with it but its answer, if any. */
static void call_settle(struct net_call *call)
{
	call_end_living(call);
	call_drop_message(call);
	call_drop_head(call);
	room_forget(call);
	room_give(call);
}

/* End @call without an answer, as call_reset() does. */
static void call_end(struct net_call *call, uint32_t error)
{
	if (call->connection)
		call_reset(call, error);
	call_settle(call);
	call->phase = CALL_ENDED;
}

/* An address with many more calls than @peer loses one. A client that does not read keeps even the
 * end of a call from leaving, and loses its connection. */
static bool call_displace(struct net_server *server, const struct peer *peer)
{
	struct net_call *call = find_displaceable(server, peer->calls + 1);

	if (!call)
		return false;
	server_refused(server, NET_REFUSED_CALLS, call->peer_text);
	call->is_displaced = true;
	call_end(call, NGHTTP2_REFUSED_STREAM);
	if (call->connection->http2 && http2_is_full(call->connection->http2))
		call->connection->doomed = true;
	connection_settle_later(call->connection);
	return true;
}

struct net_call *call_create(struct connection *connection, int32_t stream)
{
	struct net_server *server = connection->server;
	const struct server_bounds *bounds = &server->bounds;
	struct net_call *call;

	if (connection->peer->calls >= bounds->calls_of_peer ||
	    (server->call_count >= bounds->calls && !call_displace(server, connection->peer))) {
		server_refused(server, NET_REFUSED_CALLS, connection->peer_text);
		return NULL;
	}
	call = calloc(1, sizeof(*call));
	if (!call)
		return NULL;
	call->server = server;
	call->connection = connection;
	call->peer = connection->peer;
	call->stream = stream;
	call->began_ns = clock_monotonic_ns();
	call->deadline_ns = UINT64_MAX;
	memcpy(call->peer_text, connection->peer_text, sizeof(call->peer_text));
	TAILQ_INSERT_TAIL(&connection->calls, call, entry);
	connection->call_count++;
	call->peer->calls++;
	server->call_count++;
	call->is_living = true;
	pthread_mutex_lock(&server->lock);
	server->living++;
	pthread_mutex_unlock(&server->lock);
	server_tick(server);
	return call;
}

/* Nobody has it any more. */
static void call_destroy(struct net_call *call)
{
	struct net_server *server = call->server;

	room_give(call);
	call->peer->calls--;
	server->call_count--;
	call_end_living(call);
	call_drop_head(call);
	call_drop_message(call);
	response_deinit(&call->response);
	net_answer_deinit(&call->answer);
	free(call->method);
	free(call);
}

void call_close(struct net_call *call)
{
	struct connection *connection = call->connection;
	struct net_server *server = call->server;
	bool with_worker = call->phase == CALL_READY;

	room_forget(call);
	if (!with_worker)
		room_give(call);
	TAILQ_REMOVE(&connection->calls, call, entry);
	if (!--connection->call_count)
		connection->idle_ns = clock_monotonic_ns();
	if (with_worker) {
		connection->share.calls -= call->taken.calls;
		connection->share.bytes -= call->taken.bytes;
		atomic_store(&call->gone, true);
		pthread_mutex_lock(&server->lock);
		room_withdraw(call);
		pthread_mutex_unlock(&server->lock);
		call->connection = NULL;
		server_wake(server);
		return;
	}
	call->connection = NULL;
	call_destroy(call);
	call_admit_waiting(server);
}

/* ---- the head ---- */

bool call_add_field(struct net_call *call, const uint8_t *name, size_t name_length,
		    const uint8_t *value, size_t value_length)
{
	struct call_head *head = &call->head;
	size_t at = head->text.count;

	head->bytes += name_length + value_length + FIELD_COST;
	// Of a head without end no more than this is kept.
	if (head->bytes > HEAD_MAX_BYTES) {
		head->too_large = true;
		return true;
	}
	if (!VECTOR_RESERVE(&head->text, name_length + value_length) ||
	    !VECTOR_PUSH(&head->fields, ((struct call_field){ (uint16_t)at, (uint16_t)name_length,
							      (uint16_t)(at + name_length),
							      (uint16_t)value_length })))
		return false;
	memcpy(head->text.items + at, name, name_length);
	memcpy(head->text.items + at + name_length, value, value_length);
	head->text.count += name_length + value_length;
	return true;
}

size_t call_head_find(const struct net_call *call, const char *name, const char **value_ret,
		      size_t *length_ret)
{
	const struct call_head *head = &call->head;
	size_t length = strlen(name), count = 0;

	for (size_t i = 0; i < head->fields.count; i++) {
		const struct call_field *field = &head->fields.items[i];

		if (field->name_length != length ||
		    memcmp(head->text.items + field->name, name, length) != 0 || count++)
			continue;
		*value_ret = head->text.items + field->value;
		*length_ret = field->value_length;
	}
	return count;
}

/* ---- the answer ---- */

static void call_respond(struct net_call *call)
{
	call->phase = CALL_ANSWERING;
	call->began_ns = clock_monotonic_ns();
	call_settle(call);
	// HTTP/1.1 looks for it when the connection is seen to.
	if (call->connection && call->connection->http2)
		http2_respond(call);
}

void call_refuse_plain(struct net_call *call)
{
	call_respond(call);
}

bool call_is_http(const struct net_call *call)
{
	return call->server->http.config;
}

/* The service's answer, or ours, goes out. */
static void call_answer(struct net_call *call)
{
	char *text = call->answer.message;

	// What we quote of the request has to be fit to be sent.
	if (text) {
		call->answer.message = status_copy_text(text, strlen(text));
		free(text);
	}
	if (call_is_http(call) ? http_call_make_response(call) : grpc_call_make_response(call)) {
		call_respond(call);
		return;
	}
	response_deinit(&call->response);
	call_end(call, NGHTTP2_INTERNAL_ERROR);
}

static void call_set_answer(struct net_call *call, enum net_code code, char *message)
{
	free(call->answer.message);
	call->answer.code = code;
	call->answer.message = message;
}

void call_refuse(struct net_call *call, enum net_code code, char *message)
{
	call_set_answer(call, code, message);
	call_answer(call);
}

/* ---- from the head to the worker ---- */

void call_begin(struct net_call *call)
{
	struct net_server *server = call->server;

	call->began_ns = clock_monotonic_ns();
	if (call->head.too_large) {
		server_refused(server, NET_REFUSED_HEAD, call->peer_text);
		if (call_is_http(call)) {
			http_call_refuse_head(call);
			call_respond(call);
			return;
		}
		call_refuse(call, NET_RESOURCE_EXHAUSTED,
			    strdup("the request has more than 8 KiB of metadata"));
		return;
	}
	if (call_is_http(call) ? !http_call_read_head(call) : !grpc_call_read_head(call)) {
		call_respond(call);
		return;
	}
	if (call->answer.code) {
		call_answer(call);
		return;
	}
	if (server_is_stopping(server)) {
		call_refuse(call, NET_UNAVAILABLE, strdup("profcol is shutting down"));
		return;
	}
	call->phase = CALL_BODY;
	if (!server->service.admit(server->service.context, call, &call->answer))
		call_answer(call);
	else if (call_is_http(call))
		call_begin_body(call);
}

/* ---- the impatient ---- */

static void call_give_up(struct net_call *call, const char *reason)
{
	server_refused(call->server, NET_REFUSED_SLOW, call->peer_text);
	call_refuse(call, NET_UNAVAILABLE, strdup(reason));
}

/* @call has room that others lack, and does not send a MiB a second, or waits for more itself. What
 * others of its own connection lack hurries it only while it waits, too: they may wait for each
 * other. */
static bool call_is_too_slow(const struct net_call *call, const struct server_patience *patience,
			     bool is_full, uint64_t now_ns)
{
	// What waits and has no room keeps nobody out.
	if (!call->taken.calls)
		return false;
	is_full |= call->peer->is_full;
	if (call->waits)
		return (is_full || call->connection->is_full) &&
		       now_ns - call->waits_ns >= patience->stuck_ns;
	return is_full && now_ns - call->taken_ns >= patience->full_ns + call->length * NS_OF_BYTE;
}

/* Give @call up if it is late. Returns whether it was. */
static bool call_is_late(struct net_call *call, const struct server_patience *patience,
			 bool is_full, uint64_t now_ns)
{
	uint64_t age_ns = now_ns - call->began_ns;

	if (is_arriving(call)) {
		if (age_ns < patience->receive_ns &&
		    !call_is_too_slow(call, patience, is_full, now_ns))
			return false;
		call_give_up(call, "the request did not arrive in time");
		return true;
	}
	if (call->phase != CALL_ANSWERING || age_ns < patience->answer_ns)
		return false;
	// Whoever does not read would keep its place for good.
	call_end(call, NGHTTP2_CANCEL);
	return true;
}

void call_expire(struct net_server *server)
{
	struct connection *connection, *next_connection;
	bool is_full = server->is_full && !TAILQ_EMPTY(&server->waiting);
	uint64_t now_ns = clock_monotonic_ns();
	struct server_patience patience = server_patience(server);

	for (connection = TAILQ_FIRST(&server->connections); connection;
	     connection = next_connection) {
		struct net_call *call, *next;
		bool late = false;

		next_connection = TAILQ_NEXT(connection, entry);
		for (call = TAILQ_FIRST(&connection->calls); call; call = next) {
			next = TAILQ_NEXT(call, entry);
			late |= call_is_late(call, &patience, is_full, now_ns);
		}
		if (late)
			connection_settle_later(connection);
	}
	call_admit_waiting(server);
}

static void call_refuse_at_end(struct net_call *call)
{
	if (call->phase == CALL_BODY)
		call_refuse(call, NET_UNAVAILABLE, strdup("profcol is shutting down"));
	else if (call->phase == CALL_HEAD && call->connection->http2)
		http2_reset(call, NGHTTP2_REFUSED_STREAM);
}

void call_refuse_unreceived(struct net_server *server)
{
	struct connection *connection;
	struct net_call *call;

	TAILQ_FOREACH(connection, &server->connections, entry)
	{
		TAILQ_FOREACH(call, &connection->calls, entry)
		call_refuse_at_end(call);
		connection_settle_later(connection);
	}
}

/* ---- workers ---- */

static char *call_explain_memory(const struct memory_share *share)
{
	char *text;

	if (asprintf(&text, "%s: %s; try again", message_fault_text(MESSAGE_NO_MEMORY),
		     share->budget ? memory_share_reason(share) : "the process has no more") < 0)
		return NULL;
	return text;
}

static void call_explain(struct net_call *call, enum message_fault fault,
			 const struct memory_share *share)
{
	static const enum net_code codes[] = {
		[MESSAGE_TOO_LARGE] = NET_RESOURCE_EXHAUSTED,
		[MESSAGE_BROKEN] = NET_INVALID_ARGUMENT,
		[MESSAGE_NO_MEMORY] = NET_UNAVAILABLE,
	};

	char *text;

	if (fault == MESSAGE_TOO_LARGE)
		text = call_explain_size(call, " after decompression");
	else if (fault == MESSAGE_NO_MEMORY)
		text = call_explain_memory(share);
	else
		text = strdup(message_fault_text(fault));
	call_set_answer(call, codes[fault], text);
}

void call_handle(struct net_call *call)
{
	struct net_server *server = call->server;
	struct memory_share share = { .budget = server->service.budget };
	CLEANUP_FREE uint8_t *bytes = NULL;
	enum message_fault fault = MESSAGE_SOUND;
	size_t length = call->length;

	// Who does not wait any longer will send it again: to take it would double it.
	if (atomic_load(&call->gone) || clock_monotonic_ns() >= call->deadline_ns) {
		call_set_answer(call, NET_DEADLINE_EXCEEDED, strdup("the client waited no longer"));
		return;
	}
	if (!length || call->compression == INFLATE_NONE) {
		bytes = TAKE(call->bytes);
		if (!memory_share_take(&share, length))
			fault = MESSAGE_NO_MEMORY;
	} else {
		fault = inflate_message(call->compression, call->bytes, length,
					server->bounds.message_bytes, &share, &bytes, &length);
		// Not both of them while it is handled.
		free(TAKE(call->bytes));
	}
	call->no_memory = fault == MESSAGE_NO_MEMORY;
	if (fault == MESSAGE_SOUND)
		server->service.handle(server->service.context, call, bytes, length, &share,
				       &call->answer);
	else
		call_explain(call, fault, &share);
	memory_share_give(&share);
}

void call_take_answers(struct net_server *server)
{
	struct call_list answered = TAILQ_HEAD_INITIALIZER(answered);
	struct net_call *call;

	pthread_mutex_lock(&server->lock);
	TAILQ_CONCAT(&answered, &server->answered, queue_entry);
	pthread_mutex_unlock(&server->lock);
	while ((call = TAILQ_FIRST(&answered))) {
		struct connection *connection = call->connection;

		TAILQ_REMOVE(&answered, call, queue_entry);
		if (call->no_memory)
			server_refused(server, NET_REFUSED_MEMORY, call->peer_text);
		if (connection) {
			call_answer(call);
			connection_settle_later(connection);
		} else {
			call_destroy(call);
		}
	}
	call_admit_waiting(server);
}

/* ---- what a service may ask ---- */

const char *net_call_method(const struct net_call *call)
{
	return call->method;
}

bool net_call_is_json(const struct net_call *call)
{
	return call->is_json;
}

const char *net_call_peer(struct net_call *call)
{
	return call->peer_text;
}

size_t net_call_header(const struct net_call *call, const char *key, const char **value_ret,
		       size_t *length_ret)
{
	return call_head_find(call, key, value_ret, length_ret);
}
