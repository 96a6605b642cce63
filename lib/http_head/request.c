// SPDX-License-Identifier: Apache-2.0
#include "http_head.h"

#include <string.h>
#include <strings.h>

enum { LENGTH_DIGITS_MOST = 18 };

size_t http_head_find_end(const char *bytes, size_t length, size_t known)
{
	// The end may have begun among the known bytes: two of "\n\r\n" at most.
	for (size_t i = known > 2 ? known - 2 : 0; i < length; i++) {
		if (bytes[i] != '\n')
			continue;
		if (i + 1 < length && bytes[i + 1] == '\n')
			return i + 2;
		if (i + 2 < length && bytes[i + 1] == '\r' && bytes[i + 2] == '\n')
			return i + 3;
	}
	return 0;
}

/* ---- words ---- */

bool http_text_is(struct http_text text, const char *word)
{
	return text.length == strlen(word) && !memcmp(text.at, word, text.length);
}

bool http_text_is_nearly(struct http_text text, const char *word)
{
	return text.length == strlen(word) && !strncasecmp(text.at, word, text.length);
}

/* Cut up to @separator off @rest; all of it where there is none. */
static struct http_text text_cut(struct http_text *rest, char separator)
{
	const char *end = memchr(rest->at, separator, rest->length);
	struct http_text part = { rest->at, end ? (size_t)(end - rest->at) : rest->length };
	size_t used = part.length + (end ? 1 : 0);

	rest->at += used;
	rest->length -= used;
	return part;
}

static struct http_text text_trim(struct http_text text)
{
	while (text.length && (text.at[0] == ' ' || text.at[0] == '\t')) {
		text.at++;
		text.length--;
	}
	while (text.length && (text.at[text.length - 1] == ' ' || text.at[text.length - 1] == '\t'))
		text.length--;
	return text;
}

/* Cut the line that @rest begins with, without its end. False where that is not as it has to be. */
static bool text_cut_line(struct http_text *rest, bool bare_lf, struct http_text *line)
{
	if (!memchr(rest->at, '\n', rest->length))
		return false;
	*line = text_cut(rest, '\n');
	if (line->length && line->at[line->length - 1] == '\r') {
		line->length--;
		return true;
	}
	return bare_lf;
}

bool http_text_is_token(struct http_text text)
{
	static const char others[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < text.length; i++) {
		char c = text.at[i];

		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
		    !(c && strchr(others, c)))
			return false;
	}
	return text.length > 0;
}

static bool has_controls(struct http_text text)
{
	for (size_t i = 0; i < text.length; i++)
		if (((unsigned char)text.at[i] < ' ' && text.at[i] != '\t') || text.at[i] == 0x7f)
			return true;
	return false;
}

/* ---- the request line ---- */

/* Of what the client of a proxy would send, "http://name/path", what comes after the name. */
static bool skip_authority(struct http_text *target)
{
	static const char scheme[] = "http://";
	size_t length = sizeof(scheme) - 1;

	if (target->length < length || strncasecmp(target->at, scheme, length) != 0)
		return false;
	target->at += length;
	target->length -= length;
	while (target->length && target->at[0] != '/' && target->at[0] != '?') {
		target->at++;
		target->length--;
	}
	return true;
}

static int parse_target(struct http_head *head)
{
	struct http_text rest = head->target;
	bool is_absolute;

	for (size_t i = 0; i < rest.length; i++)
		if (rest.at[i] <= ' ' || rest.at[i] >= 0x7f)
			return 400;
	is_absolute = skip_authority(&rest);
	head->path = text_cut(&rest, '?');
	head->query = rest;
	if (is_absolute && !head->path.length)
		head->path = (struct http_text){ "/", 1 };
	return 0;
}

static int parse_request_line(struct http_text line, struct http_head *head)
{
	head->method = text_cut(&line, ' ');
	head->target = text_cut(&line, ' ');
	head->is_head = http_text_is(head->method, "HEAD");
	if (!http_text_is_token(head->method) || !head->target.length)
		return 400;
	head->is_1_1 = http_text_is(line, "HTTP/1.1");
	if (!head->is_1_1 && !http_text_is(line, "HTTP/1.0"))
		return line.length == 8 && !memcmp(line.at, "HTTP/", 5) ? 505 : 400;
	return parse_target(head);
}

/* ---- fields ---- */

static void note_connection(struct http_text value, struct http_head *head)
{
	while (value.length) {
		struct http_text word = text_trim(text_cut(&value, ','));

		head->closes |= http_text_is_nearly(word, "close");
		head->keeps |= http_text_is_nearly(word, "keep-alive");
	}
}

static int note_content_length(struct http_text value, struct http_head *head)
{
	// Two of them are how requests are smuggled past proxies.
	if (head->has_length || !value.length || value.length > LENGTH_DIGITS_MOST)
		return 400;
	for (size_t i = 0; i < value.length; i++) {
		if (value.at[i] < '0' || value.at[i] > '9')
			return 400;
		head->length = head->length * 10 + (uint64_t)(value.at[i] - '0');
	}
	head->has_length = true;
	return 0;
}

static int note_transfer_encoding(struct http_text value, struct http_head *head)
{
	if (head->is_chunked || !http_text_is_nearly(value, "chunked"))
		return 501;
	head->is_chunked = true;
	return 0;
}

static int note_host(struct http_head *head)
{
	if (head->has_host)
		return 400;
	head->has_host = true;
	return 0;
}

static int note_field(const struct http_field *field, struct http_head *head)
{
	if (http_text_is_nearly(field->name, "host"))
		return note_host(head);
	if (http_text_is_nearly(field->name, "content-length"))
		return note_content_length(field->value, head);
	if (http_text_is_nearly(field->name, "transfer-encoding"))
		return note_transfer_encoding(field->value, head);
	if (http_text_is_nearly(field->name, "connection"))
		note_connection(field->value, head);
	else if (http_text_is_nearly(field->name, "expect"))
		head->wants_continue =
			head->is_1_1 && http_text_is_nearly(field->value, "100-continue");
	return 0;
}

static int parse_field(struct http_text line, struct http_head *head)
{
	struct http_field *field = &head->fields[head->field_count];
	struct http_text value = line;

	if (head->field_count == HTTP_FIELDS_MOST)
		return 431;
	if (!memchr(line.at, ':', line.length))
		return 400;
	field->name = text_cut(&value, ':');
	// That refuses continued lines too, which begin with a blank.
	if (!http_text_is_token(field->name) || has_controls(value))
		return 400;
	field->value = text_trim(value);
	head->field_count++;
	return note_field(field, head);
}

/* ---- the head ---- */

/* Two answers to where the body ends, or an old client that cannot mean it. */
static bool is_framing_sound(const struct http_head *head)
{
	return !head->is_chunked || (head->is_1_1 && !head->has_length);
}

int http_head_parse(const char *bytes, size_t length, bool bare_lf, struct http_head *ret)
{
	struct http_text rest = { bytes, length }, line;
	int status;

	*ret = (struct http_head){ .is_head = length > 5 && !memcmp(bytes, "HEAD ", 5) };
	if (!text_cut_line(&rest, bare_lf, &line))
		return 400;
	status = parse_request_line(line, ret);
	while (!status) {
		if (!text_cut_line(&rest, bare_lf, &line))
			return 400;
		if (!line.length)
			return is_framing_sound(ret) ? 0 : 400;
		status = parse_field(line, ret);
	}
	return status;
}
