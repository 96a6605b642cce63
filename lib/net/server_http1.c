// SPDX-License-Identifier: Apache-2.0
/*
 * HTTP/1.1 with bodies, one request after the other (RFC 9112). Where two readers could differ
 * about where a request ends, it is refused and the connection ends.
 */
#include "server.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum {
	/* Of a request line with fields: as many as the head may count. */
	HEAD_LINES_BYTES = 16384,
	FIELDS_MOST = 100,
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

static bool is_token_byte(char byte)
{
	return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
	       (byte >= 'A' && byte <= 'Z') || (byte && strchr("!#$%&'*+-.^_`|~", byte));
}

static size_t token_length(const char *text, size_t length)
{
	size_t i = 0;

	while (i < length && is_token_byte(text[i]))
		i++;
	return i;
}

/* The line that begins at *@at, without its end, which has to be CRLF; false without one. */
static bool take_line(const char **at, const char *end, const char **line, size_t *length)
{
	const char *feed = memchr(*at, '\n', (size_t)(end - *at));

	if (!feed || feed == *at || feed[-1] != '\r')
		return false;
	*line = *at;
	*length = (size_t)(feed - 1 - *at);
	*at = feed + 1;
	return !memchr(*line, '\r', *length) && !memchr(*line, '\0', *length);
}

static bool add_field(struct net_call *call, const char *name, const char *value, size_t length)
{
	return call_add_field(call, (const uint8_t *)name, strlen(name), (const uint8_t *)value,
			      length);
}

/* "http://host/path": what a proxy is asked for. */
static void skip_authority(const char **target, size_t *length)
{
	const char *slash;

	if (*length < 7 || strncasecmp(*target, "http://", 7) != 0)
		return;
	slash = memchr(*target + 7, '/', *length - 7);
	if (!slash)
		return;
	*length -= (size_t)(slash - *target);
	*target = slash;
}

/* 0 or a status. */
static int parse_request_line(struct http1 *http1, const char *line, size_t length)
{
	size_t method = token_length(line, length), target_length;
	const char *target = line + method + 1, *version;

	if (!method || method == length || line[method] != ' ')
		return 400;
	version = memrchr(line, ' ', length);
	if (version < target)
		return 400;
	target_length = (size_t)(version - target);
	version++;
	if ((size_t)(line + length - version) != 8 || strncmp(version, "HTTP/1.", 7) != 0 ||
	    (version[7] != '0' && version[7] != '1'))
		return 505;
	for (size_t i = 0; i < target_length; i++)
		if (target[i] <= ' ' || target[i] >= 0x7f)
			return 400;
	skip_authority(&target, &target_length);
	http1->keep_alive = version[7] == '1';
	http1->head_only = method == 4 && !memcmp(line, "HEAD", 4);
	if (!add_field(http1->call, ":method", line, method) ||
	    !add_field(http1->call, ":path", target, target_length))
		return 503;
	return 0;
}

static int parse_field(struct http1 *http1, const char *line, size_t length)
{
	size_t name_length = token_length(line, length);
	const char *value = line + name_length + 1;
	uint8_t name[256];

	// Neither a blank before the colon nor a line that goes on with the one before.
	if (!name_length || name_length == length || line[name_length] != ':')
		return 400;
	if (name_length > sizeof(name))
		return 431;
	for (size_t i = 0; i < name_length; i++)
		name[i] = (uint8_t)(line[i] >= 'A' && line[i] <= 'Z' ? line[i] + 32 : line[i]);
	length -= name_length + 1;
	while (length && (*value == ' ' || *value == '\t')) {
		value++;
		length--;
	}
	while (length && (value[length - 1] == ' ' || value[length - 1] == '\t'))
		length--;
	return call_add_field(http1->call, name, name_length, (const uint8_t *)value, length) ? 0
											      : 503;
}

static bool find(const struct http1 *http1, const char *name, const char *wanted)
{
	const char *value;
	size_t length;

	return call_head_find(http1->call, name, &value, &length) && length == strlen(wanted) &&
	       !strncasecmp(value, wanted, length);
}

/* Where does the body end? 0 or a status. */
static int judge_framing(struct http1 *http1)
{
	const char *value;
	size_t length, lengths = call_head_find(http1->call, "content-length", &value, &length);
	size_t codings = call_head_find(http1->call, "transfer-encoding", &value, &length);

	http1->chunked = codings == 1 && find(http1, "transfer-encoding", "chunked");
	if (codings && !http1->chunked)
		return 501;
	// Two answers to one question, or an old client that cannot mean it.
	if (lengths > 1 || (lengths && codings) || (codings && !http1->keep_alive))
		return 400;
	if (find(http1, "connection", "close"))
		http1->keep_alive = false;
	else if (find(http1, "connection", "keep-alive"))
		http1->keep_alive = true;
	if (!http1->connection->server->http.config->keep_alives_enabled)
		http1->keep_alive = false;
	http1->wants_continue = find(http1, "expect", "100-continue");
	return 0;
}

static int parse_head(struct http1 *http1, const char *bytes, size_t length)
{
	const char *at = bytes, *end = bytes + length, *line;
	size_t line_length, fields = 0;
	int status;

	if (!take_line(&at, end, &line, &line_length))
		return 400;
	status = parse_request_line(http1, line, line_length);
	while (!status) {
		if (!take_line(&at, end, &line, &line_length))
			return 400;
		if (!line_length)
			return judge_framing(http1);
		if (++fields > FIELDS_MOST)
			return 431;
		status = parse_field(http1, line, line_length);
	}
	return status;
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
	size_t length = evbuffer_get_length(input), room;
	struct connection *connection = http1->connection;
	const char *bytes, *end;
	int status;

	// Empty lines before a request are harmless.
	while (!http1->known && length && memchr("\r\n", *(char *)evbuffer_pullup(input, 1), 2)) {
		evbuffer_drain(input, 1);
		length--;
	}
	if (!length)
		return false;
	if (!connection->head_ns)
		connection->head_ns = clock_monotonic_ns();
	room = length < HEAD_LINES_BYTES ? length : HEAD_LINES_BYTES;
	bytes = (const char *)evbuffer_pullup(input, (ssize_t)room);
	end = bytes ? memmem(bytes, room, "\r\n\r\n", 4) : NULL;
	if (!end && length < HEAD_LINES_BYTES && bytes) {
		http1->known = length;
		return false;
	}
	http1->call = call_create(connection, 0);
	if (!http1->call) {
		connection->doomed = true;
		return false;
	}
	connection->head_ns = 0;
	connection->greeted = connection->settled = true;
	http1->known = 0;
	status = end ? parse_head(http1, bytes, (size_t)(end + 4 - bytes)) : 431;
	evbuffer_drain(input, end ? (size_t)(end + 4 - bytes) : length);
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

static const char *reason_of(unsigned int status)
{
	static const struct {
		unsigned int status;
		const char *reason;
	} reasons[] = {
		{ 200, "OK" },
		{ 204, "No Content" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 413, "Content Too Large" },
		{ 415, "Unsupported Media Type" },
		{ 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" },
		{ 500, "Internal Server Error" },
		{ 501, "Not Implemented" },
		{ 503, "Service Unavailable" },
		{ 505, "HTTP Version Not Supported" },
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Error";
}

static bool write_response(struct http1 *http1, struct evbuffer *output)
{
	const struct server_http *http = &http1->connection->server->http;
	const struct response *response = &http1->call->response;
	time_t now = time(NULL);
	struct tm moment;
	char date[64];

	strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &moment));
	if (evbuffer_add_printf(output, "HTTP/1.1 %u %s\r\ndate: %s\r\n", response->status,
				reason_of(response->status), date) < 0)
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
