// SPDX-License-Identifier: Apache-2.0
#include "answer.h"

#include "base/base.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	INTERIM_MAX = 8,
	DIGITS_MAX = 15, /* of a length or a chunk's size: no overflow in 64 bits, also as hex */
	TRAILER_MAX = 4 << 10,
};

static struct profcol_error *out_of_memory(void)
{
	return profcol_error_errno(ENOMEM, "read the answer");
}

__attribute__((format(printf, 1, 2))) static struct profcol_error *broken(const char *format, ...)
{
	char text[160];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return profcol_error_create(PROFCOL_BAD_DATA, "the answer is broken: %s", text);
}

bool http_answer_init(struct http_answer *answer, const struct http_client_request *request)
{
	*answer = (struct http_answer){ .request = request };
	answer->response.body = calloc(1, 1);
	answer->response.head = calloc(1, HTTP_ANSWER_HEAD_MAX + 1);
	return answer->response.body && answer->response.head;
}

void http_answer_deinit(struct http_answer *answer)
{
	http_client_response_deinit(&answer->response);
}

void http_client_response_deinit(struct http_client_response *response)
{
	free(response->head);
	free(response->body);
	*response = (struct http_client_response){ 0 };
}

/* ---- headers ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Value of header @name at or after *@at, which is left behind it; NULL when there is none. */
static const char *find_header(const char **at, const char *name, size_t *length_ret)
{
	size_t length = strlen(name);

	for (const char *line = *at; (line = strchr(line, '\n'));) {
		const char *begin, *end;

		line++;
		if (strncasecmp(line, name, length) || line[length] != ':')
			continue;
		begin = line + length + 1;
		end = begin + strcspn(begin, "\n");
		*at = end;
		while (begin < end && is_blank(*begin))
			begin++;
		while (end > begin && is_blank(end[-1]))
			end--;
		*length_ret = (size_t)(end - begin);
		return begin;
	}
	return NULL;
}

size_t http_client_response_header(const struct http_client_response *response, const char *name,
				   const char **value_ret)
{
	const char *at = response->head;
	size_t length = 0;

	*value_ret = find_header(&at, name, &length);
	return *value_ret ? length : 0;
}

/* ---- the body ---- */

static struct profcol_error *answer_keep(struct http_answer *answer, const char *bytes,
					 size_t length)
{
	struct http_client_response *response = &answer->response;
	size_t room = answer->request->max_bytes - response->length;
	char *grown;

	if (length > room && response->status == 200)
		return profcol_error_create(PROFCOL_BAD_DATA, "the answer has more than %zu bytes",
					    answer->request->max_bytes);
	if (length > room)
		length = room;
	grown = realloc(response->body, response->length + length + 1);
	if (!grown)
		return out_of_memory();
	memcpy(grown + response->length, bytes, length);
	response->body = grown;
	response->length += length;
	grown[response->length] = '\0';
	// The rest may have no end, and nobody wants it.
	if (response->status != 200 && response->length == answer->request->max_bytes)
		answer->state = HTTP_ANSWER_DONE;
	return NULL;
}

static struct profcol_error *answer_pass(struct http_answer *answer, const char *bytes,
					 size_t length)
{
	const struct http_client_request *request = answer->request;

	if (!length)
		return NULL;
	if (!request->take || answer->response.status != 200)
		return answer_keep(answer, bytes, length);
	if (!request->take(request->context, bytes, length))
		answer->state = HTTP_ANSWER_DONE;
	return NULL;
}

/* ---- the head ---- */

static bool parse_number(const char *text, size_t length, unsigned int base, uint64_t *ret)
{
	uint64_t number = 0;

	if (!length || length > DIGITS_MAX)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (base == 16 ? !isxdigit((unsigned char)text[i])
			       : !isdigit((unsigned char)text[i]))
			return false;
		number = number * base + (isdigit((unsigned char)text[i])
						  ? (unsigned int)(text[i] - '0')
						  : (unsigned int)(tolower(text[i]) - 'a' + 10));
	}
	*ret = number;
	return true;
}

/* "HTTP/1.1 200 OK" */
static bool parse_status(const char *head, int *ret)
{
	uint64_t status;

	if (strncmp(head, "HTTP/1.", 7) || !isdigit((unsigned char)head[7]) || head[8] != ' ' ||
	    !parse_number(head + 9, 3, 10, &status) || isdigit((unsigned char)head[12]) ||
	    status < 100 || status > 599)
		return false;
	*ret = (int)status;
	return true;
}

/* Of several Content-Length, all have to say the same. */
static struct profcol_error *answer_find_length(struct http_answer *answer, bool *found_ret)
{
	const char *at = answer->response.head, *value;
	uint64_t number;
	size_t length;

	*found_ret = false;
	while ((value = find_header(&at, "content-length", &length))) {
		if (!parse_number(value, length, 10, &number) ||
		    (*found_ret && number != answer->left))
			return broken("its Content-Length is no number");
		answer->left = number;
		*found_ret = true;
	}
	return NULL;
}

/* How the body ends. */
static struct profcol_error *answer_begin_body(struct http_answer *answer)
{
	const char *at = answer->response.head, *value;
	struct profcol_error *error;
	size_t length;
	bool found;

	value = find_header(&at, "transfer-encoding", &length);
	if (value && (length != 7 || strncasecmp(value, "chunked", 7)))
		return broken("its Transfer-Encoding is '%.*s'", (int)(length < 40 ? length : 40),
			      value);
	error = answer_find_length(answer, &found);
	if (error)
		return error;
	if (answer->response.status == 204 || answer->response.status == 304)
		answer->state = HTTP_ANSWER_DONE;
	else if (value)
		answer->state = HTTP_ANSWER_CHUNK_SIZE;
	else if (!found)
		answer->state = HTTP_ANSWER_ENDLESS;
	else
		answer->state = answer->left ? HTTP_ANSWER_BODY : HTTP_ANSWER_DONE;
	// A proxy that reads the other of both sees another end.
	answer->ambiguous = value && found;
	answer->whole = answer->state == HTTP_ANSWER_DONE;
	return NULL;
}

static struct profcol_error *answer_finish_head(struct http_answer *answer)
{
	struct http_client_response *response = &answer->response;

	if (memchr(response->head, '\0', answer->head_length) ||
	    !parse_status(response->head, &response->status))
		return broken("it does not begin as HTTP does");
	if (response->status >= 200)
		return answer_begin_body(answer);
	// "100 Continue" and the like: the answer itself follows.
	if (response->status == 101 || ++answer->interim > INTERIM_MAX)
		return broken("status %d was not asked for", response->status);
	answer->head_length = 0;
	response->head[0] = '\0';
	return NULL;
}

/* Is the head complete with the byte at its end? */
static bool ends_head(const char *head, size_t length)
{
	if (length < 2 || head[length - 1] != '\n')
		return false;
	return head[length - 2] == '\n' ||
	       (length > 2 && head[length - 2] == '\r' && head[length - 3] == '\n');
}

static struct profcol_error *answer_take_head(struct http_answer *answer, const char *bytes,
					      size_t length, size_t *used_ret)
{
	char *head = answer->response.head;

	for (size_t i = 0; i < length; i++) {
		if (answer->head_length == HTTP_ANSWER_HEAD_MAX)
			return broken("its head has more than %d bytes", HTTP_ANSWER_HEAD_MAX);
		head[answer->head_length++] = bytes[i];
		head[answer->head_length] = '\0';
		if (ends_head(head, answer->head_length)) {
			*used_ret = i + 1;
			return answer_finish_head(answer);
		}
	}
	*used_ret = length;
	return NULL;
}

/* ---- chunks ---- */

static struct profcol_error *answer_take_line(struct http_answer *answer)
{
	const char *line = answer->line;
	size_t length = answer->line_length;
	size_t digits = strcspn(line, "; \t");

	switch (answer->state) {
	case HTTP_ANSWER_CHUNK_SIZE:
		if (!parse_number(line, digits, 16, &answer->left))
			return broken("a chunk has no size");
		answer->state = answer->left ? HTTP_ANSWER_CHUNK : HTTP_ANSWER_TRAILER;
		return NULL;
	case HTTP_ANSWER_CHUNK_END:
		if (length)
			return broken("a chunk is longer than it says");
		answer->state = HTTP_ANSWER_CHUNK_SIZE;
		return NULL;
	default:
		answer->trailer_length += length;
		if (answer->trailer_length > TRAILER_MAX)
			return broken("it has too many headers at its end");
		if (!length) {
			answer->state = HTTP_ANSWER_DONE;
			answer->whole = true;
		}
		return NULL;
	}
}

static struct profcol_error *answer_gather_line(struct http_answer *answer, const char *bytes,
						size_t length, size_t *used_ret)
{
	const char *end = memchr(bytes, '\n', length);
	size_t part = end ? (size_t)(end - bytes) : length;
	struct profcol_error *error;

	if (part >= sizeof(answer->line) - answer->line_length || memchr(bytes, '\0', part))
		return broken("a line between chunks is too long");
	memcpy(answer->line + answer->line_length, bytes, part);
	answer->line_length += part;
	*used_ret = part + (end ? 1 : 0);
	if (!end)
		return NULL;
	if (answer->line_length && answer->line[answer->line_length - 1] == '\r')
		answer->line_length--;
	answer->line[answer->line_length] = '\0';
	error = answer_take_line(answer);
	answer->line_length = 0;
	return error;
}

/* ---- all of it ---- */

static struct profcol_error *answer_take_counted(struct http_answer *answer, const char *bytes,
						 size_t length, size_t *used_ret)
{
	struct profcol_error *error;

	if (length > answer->left)
		length = (size_t)answer->left;
	*used_ret = length;
	answer->left -= length;
	error = answer_pass(answer, bytes, length);
	if (error || answer->left || answer->state == HTTP_ANSWER_DONE)
		return error;
	answer->whole = answer->state == HTTP_ANSWER_BODY;
	answer->state = answer->whole ? HTTP_ANSWER_DONE : HTTP_ANSWER_CHUNK_END;
	return NULL;
}

static struct profcol_error *answer_take(struct http_answer *answer, const char *bytes,
					 size_t length, size_t *used_ret)
{
	switch (answer->state) {
	case HTTP_ANSWER_HEAD:
		return answer_take_head(answer, bytes, length, used_ret);
	case HTTP_ANSWER_BODY:
	case HTTP_ANSWER_CHUNK:
		return answer_take_counted(answer, bytes, length, used_ret);
	case HTTP_ANSWER_ENDLESS:
		*used_ret = length;
		return answer_pass(answer, bytes, length);
	default:
		return answer_gather_line(answer, bytes, length, used_ret);
	}
}

struct profcol_error *http_answer_feed(struct http_answer *answer, const char *bytes, size_t length)
{
	struct profcol_error *error;
	size_t used = 0;

	while (length && answer->state != HTTP_ANSWER_DONE) {
		error = answer_take(answer, bytes, length, &used);
		if (error)
			return error;
		bytes += used;
		length -= used;
	}
	if (length)
		answer->whole = false;
	return NULL;
}

bool http_answer_leaves_connection(const struct http_answer *answer)
{
	const char *at = answer->response.head, *value;
	size_t length;

	if (!answer->whole || answer->ambiguous || strncmp(answer->response.head, "HTTP/1.1 ", 9))
		return false;
	// Lists of options are rare: with any other than keep-alive a new one costs little.
	while ((value = find_header(&at, "connection", &length)))
		if (length != 10 || strncasecmp(value, "keep-alive", 10))
			return false;
	return true;
}

struct profcol_error *http_answer_end(struct http_answer *answer)
{
	if (answer->state == HTTP_ANSWER_ENDLESS)
		answer->state = HTTP_ANSWER_DONE;
	if (answer->state == HTTP_ANSWER_DONE)
		return NULL;
	return profcol_error_create(PROFCOL_UNAVAILABLE, "the server hung up %s",
				    answer->state == HTTP_ANSWER_HEAD && !answer->head_length
					    ? "without an answer"
					    : "in the middle of its answer");
}
