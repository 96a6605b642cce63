// SPDX-License-Identifier: Apache-2.0
/*
 * nghttp2 between a connection and its calls. nghttp2 itself bounds CONTINUATION frames, resets,
 * settings and what waits to be acknowledged; the tokens here bound all other frames that cost us
 * work and the client nothing, also those that make us reset streams.
 */
#include "server.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>

#include <errno.h>
#include <string.h>

enum {
	/* Bytes that a client may send beyond what is read: they go to their calls at once. */
	CONNECTION_WINDOW = 4 << 20,
	/* Beyond this, what is to be sent waits in nghttp2, whose own bound is ACKNOWLEDGED_MOST.
	 */
	OUTPUT_MOST = 64 << 10,
	ACKNOWLEDGED_MOST = 100,
	CONTINUATIONS_MOST = 4,
	STREAMS_DEFAULT = 100,
	/* Streams that the client resets: so many at once, and a second. */
	RESETS_MOST = 200,
	RESETS_A_SECOND = 50,
	/* Frames without a request or a message, and what else costs as much. */
	FRAMES_MOST = 2000,
	FRAMES_A_SECOND = 500,
	RESET_COST = 10,
	/* Pings that come too early: as gRPC's other servers have it. */
	EARLY_PINGS_MOST = 2,
};

#define MINUTE_NS UINT64_C(60000000000)
/* Between two pings of a client, unless the configuration says otherwise. */
#define PING_MIN_DEFAULT_NS (5 * MINUTE_NS)
#define PING_MIN_IDLE_NS    (120 * MINUTE_NS)

struct http2 {
	struct connection *connection; /* borrowed: it owns us */
	nghttp2_session *session;
	struct tokens frames;
	uint64_t pinged_ns; /* by the client, last */
	unsigned int early_pings;
};

/* ---- what costs ---- */

/* Nothing that the client says is looked at any more. False when that was so before. */
static bool http2_silence(struct http2 *http2, enum net_refusal refusal)
{
	struct connection *connection = http2->connection;

	if (connection->mute)
		return false;
	connection->ending = connection->said_goodbye = connection->mute = true;
	server_refused(connection->server, refusal, connection->peer_text);
	return true;
}

static void http2_charge(struct http2 *http2, uint32_t cost)
{
	if (tokens_take(&http2->frames, cost, FRAMES_A_SECOND, FRAMES_MOST, clock_monotonic_ns()))
		return;
	if (http2_silence(http2, NET_REFUSED_FLOOD))
		nghttp2_session_terminate_session(http2->session, NGHTTP2_ENHANCE_YOUR_CALM);
}

/* As gRPC's servers do: a client that keeps our machine busy by keepalive is sent away. */
static void http2_judge_ping(struct http2 *http2)
{
	struct connection *connection = http2->connection;
	const struct net_enforcement_policy_config *policy =
		&connection->server->config->keepalive.enforcement_policy;
	uint64_t min_ns = policy->min_time_ns ? policy->min_time_ns : PING_MIN_DEFAULT_NS;
	uint64_t now_ns = clock_monotonic_ns(), before_ns = http2->pinged_ns;

	if (!connection->call_count && !policy->permit_without_stream)
		min_ns = PING_MIN_IDLE_NS;
	http2->pinged_ns = now_ns;
	if (!before_ns || now_ns - before_ns >= min_ns || http2->early_pings++ < EARLY_PINGS_MOST)
		return;
	if (!http2_silence(http2, NET_REFUSED_FLOOD))
		return;
	nghttp2_submit_goaway(http2->session, NGHTTP2_FLAG_NONE,
			      nghttp2_session_get_last_proc_stream_id(http2->session),
			      NGHTTP2_ENHANCE_YOUR_CALM, (const uint8_t *)"too_many_pings", 14);
}

/* ---- frames that come ---- */

static struct net_call *call_of(nghttp2_session *session, int32_t stream)
{
	return stream ? nghttp2_session_get_stream_user_data(session, stream) : NULL;
}

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *head, void *user_data)
{
	struct http2 *http2 = user_data;

	(void)session;
	http2->connection->greeted = true;
	if (head->type != NGHTTP2_CONTINUATION)
		http2->connection->head_ns = 0;
	// Heads and messages have bounds of their own.
	if (head->type == NGHTTP2_HEADERS || head->type == NGHTTP2_CONTINUATION ||
	    (head->type == NGHTTP2_DATA &&
	     (head->length || (head->flags & NGHTTP2_FLAG_END_STREAM))))
		return 0;
	http2_charge(http2, 1);
	return 0;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
	struct http2 *http2 = user_data;
	struct connection *connection = http2->connection;
	struct net_call *call;

	connection->head_ns = clock_monotonic_ns();
	if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	call = connection->mute ? NULL : call_create(connection, frame->hd.stream_id);
	if (call)
		nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, call);
	else
		nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
					  NGHTTP2_REFUSED_STREAM);
	return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_length, const uint8_t *value, size_t value_length, uint8_t flags,
		     void *user_data)
{
	struct net_call *call = call_of(session, frame->hd.stream_id);

	(void)flags;
	(void)user_data;
	// What follows the message says nothing that we need.
	if (!call || call->phase != CALL_HEAD)
		return 0;
	if (call_add_field(call, name, name_length, value, value_length))
		return 0;
	return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

/* The first windows are now as we have asked for: those that were opened before have shrunk, too.
 */
static void http2_grant_again(struct http2 *http2)
{
	struct net_call *call;

	http2->connection->settled = true;
	TAILQ_FOREACH(call, &http2->connection->calls, entry)
	if (call->granted)
		http2_grant(call, call->granted);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
	struct http2 *http2 = user_data;
	struct net_call *call = call_of(session, frame->hd.stream_id);

	switch (frame->hd.type) {
	case NGHTTP2_HEADERS:
		http2->connection->head_ns = 0;
		if (call && call->phase == CALL_HEAD)
			call_begin(call);
		break;
	case NGHTTP2_PING:
		if (frame->hd.flags & NGHTTP2_FLAG_ACK)
			http2->connection->pinged = false;
		else
			http2_judge_ping(http2);
		break;
	case NGHTTP2_SETTINGS:
		if (frame->hd.flags & NGHTTP2_FLAG_ACK)
			http2_grant_again(http2);
		break;
	case NGHTTP2_GOAWAY:
		http2->connection->ending = true;
		break;
	default:
		break;
	}
	// Answering may have ended it.
	call = call_of(session, frame->hd.stream_id);
	if (call && (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
	    (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		call_complete(call);
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes,
		   size_t length, void *user_data)
{
	struct net_call *call = call_of(session, stream);

	(void)flags;
	(void)user_data;
	// It goes to its call, or to nobody: what a call may have is bounded by its own window.
	nghttp2_session_consume_connection(session, length);
	if (call && call->phase == CALL_BODY) {
		call->unconsumed += length;
		call_receive(call, bytes, length);
	}
	return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream, uint32_t code, void *user_data)
{
	struct net_call *call = call_of(session, stream);

	(void)code;
	(void)user_data;
	if (call) {
		nghttp2_session_set_stream_user_data(session, stream, NULL);
		call_close(call);
	}
	return 0;
}

/* ---- frames that go ---- */

/* nghttp2 may have found something itself. */
static void http2_note_verdict(struct http2 *http2, uint32_t code)
{
	// Of resets that come too fast it says that the fault is ours.
	bool flood = code == NGHTTP2_INTERNAL_ERROR || code == NGHTTP2_ENHANCE_YOUR_CALM;

	if (code != NGHTTP2_NO_ERROR)
		http2_silence(http2, flood ? NET_REFUSED_FLOOD : NET_REFUSED_PROTOCOL);
}

/* Has the call of @stream made room for one of somebody else? */
static bool is_displaced(nghttp2_session *session, int32_t stream)
{
	const struct net_call *call = call_of(session, stream);

	return call && call->is_displaced;
}

static int on_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
	struct http2 *http2 = user_data;
	int32_t stream = frame->hd.stream_id;

	if (frame->hd.type == NGHTTP2_RST_STREAM &&
	    frame->rst_stream.error_code != NGHTTP2_NO_ERROR && !is_displaced(session, stream))
		http2_charge(http2, RESET_COST);
	if (frame->hd.type == NGHTTP2_GOAWAY)
		http2_note_verdict(http2, frame->goaway.error_code);
	if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
		return 0;
	http2->early_pings = 0;
	http2->pinged_ns = 0;
	// Answered before all was said: the rest is not wanted.
	if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) &&
	    !nghttp2_session_get_stream_remote_close(session, stream))
		nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream, NGHTTP2_NO_ERROR);
	return 0;
}

static nghttp2_nv pair(const char *name, const char *value)
{
	return (nghttp2_nv){ (uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
			     strlen(value), NGHTTP2_NV_FLAG_NONE };
}

static ssize_t on_body_wanted(nghttp2_session *session, int32_t stream, uint8_t *to, size_t room,
			      uint32_t *flags, nghttp2_data_source *source, void *user_data)
{
	struct net_call *call = call_of(session, stream);
	nghttp2_nv fields[RESPONSE_FIELDS_MAX];
	struct response *response;
	size_t part;

	(void)source;
	(void)user_data;
	if (!call)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	response = &call->response;
	part = response->length - response->sent;
	if (part > room)
		part = room;
	if (part)
		memcpy(to, response->body + response->sent, part);
	response->sent += part;
	if (response->sent < response->length)
		return (ssize_t)part;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (response->trailer_count) {
		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
		for (size_t i = 0; i < response->trailer_count; i++)
			fields[i] = pair(response->trailers[i].name, response->trailers[i].value);
		if (nghttp2_submit_trailer(session, stream, fields, response->trailer_count))
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	return (ssize_t)part;
}

void http2_respond(struct net_call *call)
{
	const struct response *response = &call->response;
	nghttp2_data_provider body = { .read_callback = on_body_wanted };
	nghttp2_session *session = call->connection->http2->session;
	const struct server_http *http = &call->server->http;
	nghttp2_nv fields[1 + RESPONSE_FIELDS_MAX + RESPONSE_EXTRA_MAX];
	size_t count = 0;
	bool has_body = response->length || response->trailer_count;
	char status[8];

	snprintf(status, sizeof(status), "%u", response->status % 1000);
	fields[count++] = pair(":status", status);
	for (size_t i = 0; i < response->header_count; i++)
		fields[count++] = pair(response->headers[i].name, response->headers[i].value);
	for (size_t i = 0; i < http->extra_count; i++)
		fields[count++] = pair(http->extra[i].name, http->extra[i].value);
	if (nghttp2_submit_response(session, call->stream, fields, count, has_body ? &body : NULL))
		http2_reset(call, NGHTTP2_INTERNAL_ERROR);
}

void http2_grant(struct net_call *call, size_t bytes)
{
	call->granted = bytes;
	// Without memory the client waits, until it is given up.
	(void)nghttp2_session_set_local_window_size(call->connection->http2->session,
						    NGHTTP2_FLAG_NONE, call->stream,
						    bytes < INT32_MAX ? (int32_t)bytes : INT32_MAX);
}

void http2_consume(struct net_call *call)
{
	nghttp2_session_consume_stream(call->connection->http2->session, call->stream,
				       call->unconsumed);
	call->unconsumed = 0;
}

void http2_reset(struct net_call *call, uint32_t code)
{
	nghttp2_submit_rst_stream(call->connection->http2->session, NGHTTP2_FLAG_NONE, call->stream,
				  code);
}

void http2_ping(struct http2 *http2)
{
	nghttp2_submit_ping(http2->session, NGHTTP2_FLAG_NONE, NULL);
}

void http2_goodbye(struct http2 *http2, bool now)
{
	if (now)
		nghttp2_submit_goaway(http2->session, NGHTTP2_FLAG_NONE,
				      nghttp2_session_get_last_proc_stream_id(http2->session),
				      NGHTTP2_NO_ERROR, NULL, 0);
	else
		nghttp2_submit_shutdown_notice(http2->session);
}

/* ---- bytes ---- */

bool http2_feed(struct http2 *http2, const uint8_t *bytes, size_t length)
{
	ssize_t used = nghttp2_session_mem_recv(http2->session, bytes, length);

	if (used == (ssize_t)length)
		return true;
	// What is left of the errors is a head, or a queue of answers, without end.
	http2_silence(http2, used == NGHTTP2_ERR_BAD_CLIENT_MAGIC ? NET_REFUSED_PROTOCOL
								  : NET_REFUSED_FLOOD);
	return false;
}

bool http2_is_full(const struct http2 *http2)
{
	return evbuffer_get_length(bufferevent_get_output(http2->connection->stream)) >=
	       OUTPUT_MOST;
}

bool http2_flush(struct http2 *http2)
{
	struct evbuffer *output = bufferevent_get_output(http2->connection->stream);

	while (!http2_is_full(http2)) {
		const uint8_t *bytes;
		ssize_t length = nghttp2_session_mem_send(http2->session, &bytes);

		if (length < 0)
			return false;
		if (!length)
			return true;
		if (evbuffer_add(output, bytes, (size_t)length))
			return false;
	}
	return true;
}

bool http2_is_over(const struct http2 *http2)
{
	return !nghttp2_session_want_read(http2->session) &&
	       !nghttp2_session_want_write(http2->session);
}

/* ---- life ---- */

struct profcol_error *http2_prepare(struct net_server *server)
{
	nghttp2_session_callbacks *callbacks;

	if (nghttp2_session_callbacks_new(&server->callbacks) ||
	    nghttp2_option_new(&server->option))
		return profcol_error_errno(ENOMEM, "create the server");
	callbacks = server->callbacks;
	nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
	nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_sent);
	// Windows open when there is room.
	nghttp2_option_set_no_auto_window_update(server->option, 1);
	nghttp2_option_set_no_closed_streams(server->option, 1);
	nghttp2_option_set_max_outbound_ack(server->option, ACKNOWLEDGED_MOST);
	nghttp2_option_set_max_continuations(server->option, CONTINUATIONS_MOST);
	nghttp2_option_set_stream_reset_rate_limit(server->option, RESETS_MOST, RESETS_A_SECOND);
	// Our answers are too short and too seldom for a table.
	nghttp2_option_set_max_deflate_dynamic_table_size(server->option, 0);
	return NULL;
}

struct http2 *http2_create(struct connection *connection)
{
	const struct net_server *server = connection->server;
	int64_t streams = server->config->max_concurrent_streams;
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
		  streams ? (uint32_t)streams : STREAMS_DEFAULT },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, FIRST_BYTES },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEAD_MAX_BYTES },
	};
	struct http2 *http2 = calloc(1, sizeof(*http2));

	if (!http2)
		return NULL;
	http2->connection = connection;
	if (nghttp2_session_server_new2(&http2->session, server->callbacks, http2,
					server->option) ||
	    nghttp2_submit_settings(http2->session, NGHTTP2_FLAG_NONE, settings, 3) ||
	    nghttp2_session_set_local_window_size(http2->session, NGHTTP2_FLAG_NONE, 0,
						  CONNECTION_WINDOW)) {
		http2_destroy(http2);
		return NULL;
	}
	return http2;
}

void http2_destroy(struct http2 *http2)
{
	if (!http2)
		return;
	nghttp2_session_del(http2->session);
	free(http2);
}
