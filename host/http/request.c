// SPDX-License-Identifier: Apache-2.0
#include "request.h"

#include "base/base.h"

#include <string.h>
#include <strings.h>

/* Part of the head; not terminated. */
struct text {
	const char *at;
	size_t length;
};

/* What the headers say together. */
struct facts {
	unsigned int hosts, authorizations;
	bool has_body, close;
	struct text length; /* the value of Content-Length */
};

size_t http_request_find_end(const char *bytes, size_t length, size_t known)
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

static bool text_is(struct text text, const char *word)
{
	return text.length == strlen(word) && !memcmp(text.at, word, text.length);
}

static bool text_is_nearly(struct text text, const char *word)
{
	return text.length == strlen(word) && !strncasecmp(text.at, word, text.length);
}

/* Cut up to @separator off @rest; all of it where there is none. */
static struct text text_cut(struct text *rest, char separator)
{
	const char *end = memchr(rest->at, separator, rest->length);
	struct text part = { rest->at, end ? (size_t)(end - rest->at) : rest->length };
	size_t used = part.length + (end ? 1 : 0);

	rest->at += used;
	rest->length -= used;
	return part;
}

/* Ends in LF, or in CRLF. */
static struct text text_cut_line(struct text *rest)
{
	struct text line = text_cut(rest, '\n');

	if (line.length && line.at[line.length - 1] == '\r')
		line.length--;
	return line;
}

static struct text text_trim(struct text text)
{
	while (text.length && (text.at[0] == ' ' || text.at[0] == '\t')) {
		text.at++;
		text.length--;
	}
	while (text.length && (text.at[text.length - 1] == ' ' || text.at[text.length - 1] == '\t'))
		text.length--;
	return text;
}

/* RFC 9110, 5.6.2 */
static bool is_token(struct text text)
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

static bool has_controls(struct text text)
{
	for (size_t i = 0; i < text.length; i++)
		if (((unsigned char)text.at[i] < ' ' && text.at[i] != '\t') || text.at[i] == 0x7f)
			return true;
	return false;
}

/* ---- the request line ---- */

/* What a proxy's client would send: "http://name/path". The name is as untrusted as Host. */
static struct text skip_authority(struct text target)
{
	static const char scheme[] = "http://";
	size_t length = sizeof(scheme) - 1;

	if (target.length < length || strncasecmp(target.at, scheme, length) != 0)
		return target;
	target.at += length;
	target.length -= length;
	while (target.length && target.at[0] != '/' && target.at[0] != '?') {
		target.at++;
		target.length--;
	}
	return target;
}

static int parse_target(struct text target, struct http_request *request)
{
	struct text path;

	if (target.length > REQUEST_TARGET_MAX)
		return 414;
	for (size_t i = 0; i < target.length; i++)
		if (target.at[i] <= ' ' || target.at[i] >= 0x7f)
			return 400;
	if (target.length && target.at[0] != '/') {
		target = skip_authority(target);
		if (!target.length || target.at[0] == '?')
			strcpy(request->path, "/");
		else if (target.at[0] != '/')
			return 400;
	}
	path = text_cut(&target, '?');
	if (path.length && !strings_decode_url(path.at, path.length, false, request->path))
		return 400;
	memcpy(request->query, target.at, target.length);
	request->query[target.length] = '\0';
	return request->path[0] == '/' ? 0 : 400;
}

static int parse_request_line(struct text line, struct http_request *request, bool *is_1_1_ret)
{
	struct text method = text_cut(&line, ' '), target = text_cut(&line, ' ');

	request->head = text_is(method, "HEAD");
	if (!is_token(method) || !target.length)
		return 400;
	*is_1_1_ret = text_is(line, "HTTP/1.1");
	if (!*is_1_1_ret && !text_is(line, "HTTP/1.0"))
		return line.length == 8 && !memcmp(line.at, "HTTP/", 5) ? 505 : 400;
	if (!request->head && !text_is(method, "GET"))
		return 405;
	return parse_target(target, request);
}

/* ---- headers ---- */

static void note_connection(struct text value, struct facts *facts)
{
	while (value.length)
		if (text_is_nearly(text_trim(text_cut(&value, ',')), "close"))
			facts->close = true;
}

static int note_content_length(struct text value, struct facts *facts)
{
	bool repeated = facts->length.at;

	if (!value.length || value.length > 19)
		return 400;
	for (size_t i = 0; i < value.length; i++) {
		if (value.at[i] < '0' || value.at[i] > '9')
			return 400;
		if (value.at[i] != '0')
			facts->has_body = true;
	}
	// Two that differ are how requests are smuggled past proxies.
	if (repeated && (value.length != facts->length.length ||
			 memcmp(value.at, facts->length.at, value.length) != 0))
		return 400;
	facts->length = value;
	return 0;
}

/* Copy @value into @to of @size bytes; what is longer nobody has a use for. */
static int note_text(struct text value, char *to, size_t size)
{
	if (value.length >= size)
		return 431;
	memcpy(to, value.at, value.length);
	to[value.length] = '\0';
	return 0;
}

static int parse_header(struct text line, struct http_request *request, struct facts *facts)
{
	struct text rest = line, name;

	if (!memchr(line.at, ':', line.length))
		return 400;
	name = text_cut(&rest, ':');
	// That refuses continued lines too, which begin with a blank.
	if (!is_token(name) || has_controls(rest))
		return 400;
	rest = text_trim(rest);
	if (text_is_nearly(name, "host")) {
		facts->hosts++;
		return note_text(rest, request->host, sizeof(request->host));
	}
	if (text_is_nearly(name, "authorization")) {
		// Two would leave open which one counts.
		if (facts->authorizations++)
			return 400;
		return note_text(rest, request->authorization, sizeof(request->authorization));
	}
	if (text_is_nearly(name, "connection"))
		note_connection(rest, facts);
	else if (text_is_nearly(name, "content-length"))
		return note_content_length(rest, facts);
	else if (text_is_nearly(name, "transfer-encoding"))
		facts->has_body = true;
	return 0;
}

int http_request_parse(const char *head, size_t length, struct http_request *ret)
{
	struct text rest = { head, length }, line = text_cut_line(&rest);
	struct facts facts = { 0 };
	bool is_1_1 = false;
	int status;

	ret->keep_alive = false;
	ret->path[0] = ret->query[0] = ret->host[0] = ret->authorization[0] = '\0';
	status = parse_request_line(line, ret, &is_1_1);
	for (size_t count = 0; !status && rest.length; count++) {
		line = text_cut_line(&rest);
		if (!line.length)
			break;
		status = count < REQUEST_HEADERS_MAX ? parse_header(line, ret, &facts) : 431;
	}
	if (status)
		return status;
	if (facts.hosts > 1 || (is_1_1 && !facts.hosts))
		return 400;
	if (facts.has_body)
		return 413;
	ret->keep_alive = is_1_1 && !facts.close;
	return 0;
}
