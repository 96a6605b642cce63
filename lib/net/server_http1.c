// SPDX-License-Identifier: Apache-2.0
/*
 * HTTP/1.1 with bodies, one request after the other (RFC 9112). Where two readers could differ
 * about where a request ends, it is refused and the connection ends.
 */
#include "server.h"

#include "http_head/http_head.h"
#include "stream/stream.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* Of a field's name. */
	NAME_MOST = 256,
	/* A line with the size of a chunk, or of a trailer, which nobody reads. */
	LINE_MOST = 1024,
	TRAILERS_MOST = 8192,
	/* At once to a call, whose room may end in between. */
	PIECE_BYTES = 16384,
	/* Beyond this, what comes waits in the kernel. */
	INPUT_MOST = 64 << 10,
	CHUNK_DIGITS_MOST = 8,
};

enum http1_state {
	HTTP1_HEAD,
	HTTP1_BODY,       /* @left bytes of it, or of a chunk */
	HTTP1_CHUNK_SIZE, /* the line before a chunk */
	HTTP1_CHUNK_END,  /* and the one behind it */
	HTTP1_TRAILERS,
	HTTP1_ANSWER, /* all is there, or refused */
};

struct http1 {
	struct connection *connection; /* borrowed: it owns us */
	struct net_call *call;         /* borrowed: the connection's */
	enum http1_state state;
	size_t known; /* bytes in which the end of the head is not */
	size_t left, trailers;
	bool chunked, keep_alive, wants_continue, head_only;
};

/* ---- the head ---- */

static bool add_field(struct net_call *call, const char *name, struct http_text value)
{
	return call_add_field(call, (const uint8_t *)name, strlen(name), (const uint8_t *)value.at,
			      value.length);
}

/* 0 or a status. */
static int add_fields(struct net_call *call, const struct http_head *head)
{
	char name[NAME_MOST + 1];

	if (!add_field(call, ":method", head->method) || !add_field(call, ":path", head->path))
		return 503;
	for (size_t i = 0; i < head->field_count; i++) {
		const struct http_field *field = &head->fields[i];

		if (field->name.length > NAME_MOST)
			return 431;
		// HTTP/2 has names in lower case only.
		for (size_t k = 0; k < field->name.length; k++)
			name[k] = (char)tolower((unsigned char)field->name.at[k]);
		name[field->name.length] = '\0';
		if (!add_field(call, name, field->value))
			return 503;
	}
	return 0;
}

/* 0 or a status. */
static int http1_read_head(struct http1 *http1, const char *bytes, size_t length)
{
	struct http_head head;
	int status = http_head_parse(bytes, length, false, &head);

	http1->head_only = head.is_head;
	http1->chunked = head.is_chunked;
	http1->wants_continue = head.wants_continue;
	http1->keep_alive = !head.closes && (head.is_1_1 || head.keeps) &&
			    http1->connection->server->http.config->keep_alives_enabled;
	return status ? status : add_fields(http1->call, &head);
}

/* ---- from the bytes to the call ---- */

static void http1_refuse(struct http1 *http1, int status)
{
	struct response *response = &http1->call->response;

	response_deinit(response);
	response->status = (unsigned int)status;
	http1->keep_alive = false;
	http1->state = HTTP1_ANSWER;
	call_refuse_plain(http1->call);
}

/* After the head: what follows depends on whether the call goes on. */
static void http1_begin_body(struct http1 *http1)
{
	struct net_call *call = http1->call;

	if (call->phase != CALL_BODY) {
		// Its body is not read: nothing can follow.
		http1->keep_alive = http1->keep_alive && !http1->chunked && call->expected == 0;
		http1->state = HTTP1_ANSWER;
		return;
	}
	if (http1->wants_continue && (http1->chunked || call->expected))
		evbuffer_add_printf(bufferevent_get_output(http1->connection->stream),
				    "HTTP/1.1 100 Continue\r\n\r\n");
	if (http1->chunked) {
		http1->state = HTTP1_CHUNK_SIZE;
		return;
	}
	// Without either there is no body.
	http1->left = call->expected == LENGTH_UNKNOWN ? 0 : call->expected;
	http1->state = HTTP1_BODY;
}

/* False: there is not all of it. */
static bool http1_take_head(struct http1 *http1, struct evbuffer *input)
{
	struct connection *connection = http1->connection;
	const char *bytes;
	size_t length;
	enum stream_head found = stream_find_head(input, &http1->known, &bytes, &length);
	int status = 431;

	if (found == STREAM_NOTHING)
		return false;
	if (!connection->head_ns)
		connection->head_ns = clock_monotonic_ns();
	if (found == STREAM_BEGUN)
		return false;
	http1->call = call_create(connection, 0);
	if (!http1->call || found == STREAM_NO_MEMORY) {
		connection->doomed = true;
		return false;
	}
	connection->head_ns = 0;
	connection->greeted = connection->settled = true;
	if (found == STREAM_WHOLE)
		status = http1_read_head(http1, bytes, length);
	evbuffer_drain(input, length);
	if (status) {
		http1_refuse(http1, status);
		return true;
	}
	call_begin(http1->call);
	http1_begin_body(http1);
	return true;
}

/* A line of at most LINE_MOST bytes, without its end; false when it is not there. */
static bool http1_take_line(struct http1 *http1, struct evbuffer *input, char line[LINE_MOST + 1])
{
	struct evbuffer_ptr end = evbuffer_search_eol(input, NULL, NULL, EVBUFFER_EOL_CRLF_STRICT);

	if (end.pos > LINE_MOST || (end.pos < 0 && evbuffer_get_length(input) > LINE_MOST)) {
		http1_refuse(http1, 400);
		return false;
	}
	if (end.pos < 0)
		return false;
	evbuffer_remove(input, line, (size_t)end.pos);
	line[end.pos] = '\0';
	evbuffer_drain(input, 2);
	return true;
}

static bool http1_take_chunk_size(struct http1 *http1, struct evbuffer *input)
{
	char line[LINE_MOST + 1];
	size_t digits, size = 0;

	if (!http1_take_line(http1, input, line))
		return false;
	digits = strspn(line, "0123456789abcdefABCDEF");
	// What follows a semicolon is an extension, which means nothing here.
	if (!digits || digits > CHUNK_DIGITS_MOST ||
	    (line[digits] && line[digits] != ';' && line[digits] != ' ')) {
		http1_refuse(http1, 400);
		return true;
	}
	size = strtoul(line, NULL, 16);
	http1->left = size;
	http1->state = size ? HTTP1_BODY : HTTP1_TRAILERS;
	return true;
}

static bool http1_take_trailer(struct http1 *http1, struct evbuffer *input)
{
	char line[LINE_MOST + 1];

	if (!http1_take_line(http1, input, line))
		return false;
	http1->trailers += strlen(line) + 1;
	if (http1->trailers > TRAILERS_MOST) {
		http1_refuse(http1, 431);
	} else if (!line[0]) {
		http1->state = HTTP1_ANSWER;
		http1->trailers = 0;
		call_complete(http1->call);
	}
	return true;
}

static bool http1_take_body(struct http1 *http1, struct evbuffer *input)
{
	struct net_call *call = http1->call;
	size_t length = evbuffer_get_length(input);
	const uint8_t *bytes;

	if (!http1->left) {
		http1->state = http1->chunked ? HTTP1_CHUNK_END : HTTP1_ANSWER;
		if (!http1->chunked)
			call_complete(call);
		return true;
	}
	if (length > http1->left)
		length = http1->left;
	if (length > PIECE_BYTES)
		length = PIECE_BYTES;
	// Without room no more than the first bytes are taken.
	if (!length || (call->waits && call->length + length > FIRST_BYTES))
		return false;
	bytes = evbuffer_pullup(input, (ssize_t)length);
	if (!bytes) {
		http1->connection->doomed = true;
		return false;
	}
	call_receive(call, bytes, length);
	evbuffer_drain(input, length);
	http1->left -= length;
	if (call->phase != CALL_BODY) {
		http1->keep_alive = false;
		http1->state = HTTP1_ANSWER;
	}
	return true;
}

static bool http1_take_chunk_end(struct http1 *http1, struct evbuffer *input)
{
	char end[2];

	if (evbuffer_get_length(input) < sizeof(end))
		return false;
	evbuffer_remove(input, end, sizeof(end));
	if (end[0] != '\r' || end[1] != '\n')
		http1_refuse(http1, 400);
	else
		http1->state = HTTP1_CHUNK_SIZE;
	return true;
}

static bool http1_write(struct http1 *http1);

void http1_advance(struct http1 *http1)
{
	struct connection *connection = http1->connection;
	struct evbuffer *input = bufferevent_get_input(connection->stream);
	bool moved = true;

	while (moved && !connection->doomed && !connection->mute) {
		// It may have been refused meanwhile, by the clock or since the server stops.
		if (http1->call && http1->call->phase == CALL_ANSWERING &&
		    http1->state != HTTP1_ANSWER) {
			http1->keep_alive = false;
			http1->state = HTTP1_ANSWER;
		}
		switch (http1->state) {
		case HTTP1_HEAD:
			moved = !connection->ending && http1_take_head(http1, input);
			break;
		case HTTP1_BODY:
			moved = http1_take_body(http1, input);
			break;
		case HTTP1_CHUNK_SIZE:
			moved = http1_take_chunk_size(http1, input);
			break;
		case HTTP1_CHUNK_END:
			moved = http1_take_chunk_end(http1, input);
			break;
		case HTTP1_TRAILERS:
			moved = http1_take_trailer(http1, input);
			break;
		case HTTP1_ANSWER:
			moved = http1_write(http1);
			break;
		}
	}
}

bool http1_is_full(const struct http1 *http1)
{
	return evbuffer_get_length(bufferevent_get_input(http1->connection->stream)) >= INPUT_MOST;
}

/* ---- the answer ---- */

static bool write_response(struct http1 *http1, struct evbuffer *output)
{
	const struct server_http *http = &http1->connection->server->http;
	const struct response *response = &http1->call->response;
	char date[HTTP_DATE_SIZE];

	http_date_print(date);
	if (evbuffer_add_printf(output, "HTTP/1.1 %u %s\r\ndate: %s\r\n", response->status,
				http_status_reason((int)response->status), date) < 0)
		return false;
	for (size_t i = 0; i < response->header_count; i++)
		evbuffer_add_printf(output, "%s: %s\r\n", response->headers[i].name,
				    response->headers[i].value);
	for (size_t i = 0; i < http->extra_count; i++)
		evbuffer_add_printf(output, "%s: %s\r\n", http->extra[i].name,
				    http->extra[i].value);
	if (!http1->keep_alive)
		evbuffer_add_printf(output, "connection: close\r\n");
	if (response->status != 204)
		evbuffer_add_printf(output, "content-length: %zu\r\n", response->length);
	if (evbuffer_add_printf(output, "\r\n") < 0)
		return false;
	return !response->length || http1->head_only ||
	       !evbuffer_add(output, response->body, response->length);
}

static bool http1_write(struct http1 *http1)
{
	struct connection *connection = http1->connection;
	struct net_call *call = http1->call;

	if (call->phase != CALL_ANSWERING)
		return false;
	if (connection->ending || server_is_stopping(connection->server))
		http1->keep_alive = false;
	if (!write_response(http1, bufferevent_get_output(connection->stream)))
		connection->doomed = true;
	http1->call = NULL;
	http1->state = HTTP1_HEAD;
	call_close(call);
	// Closing on what is still coming would destroy the answer on its way.
	if (!http1->keep_alive)
		connection->ending = connection->said_goodbye = connection->mute = true;
	return true;
}

/* ---- life ---- */

struct http1 *http1_create(struct connection *connection)
{
	struct http1 *http1 = calloc(1, sizeof(*http1));

	if (http1)
		http1->connection = connection;
	return http1;
}

void http1_destroy(struct http1 *http1)
{
	free(http1);
}
