// SPDX-License-Identifier: Apache-2.0
#include "request.h"

#include "base/base.h"
#include "http_head/http_head.h"

#include <string.h>

static int parse_target(const struct http_head *head, struct http_request *request)
{
	if (head->target.length > REQUEST_TARGET_MAX)
		return 414;
	if (!head->path.length || head->path.at[0] != '/' ||
	    !strings_decode_url(head->path.at, head->path.length, false, request->path))
		return 400;
	memcpy(request->query, head->query.at, head->query.length);
	request->query[head->query.length] = '\0';
	return 0;
}

/* Copy @value into @to of @size bytes; what is longer nobody has a use for. */
static int note_text(struct http_text value, char *to, size_t size)
{
	if (value.length >= size)
		return 431;
	memcpy(to, value.at, value.length);
	to[value.length] = '\0';
	return 0;
}

static int parse_fields(const struct http_head *head, struct http_request *request)
{
	unsigned int authorizations = 0;
	int status = 0;

	for (size_t i = 0; i < head->field_count && !status; i++) {
		const struct http_field *field = &head->fields[i];

		if (http_text_is_nearly(field->name, "host"))
			status = note_text(field->value, request->host, sizeof(request->host));
		if (!http_text_is_nearly(field->name, "authorization"))
			continue;
		// Two would leave open which one counts.
		if (authorizations++)
			return 400;
		status = note_text(field->value, request->authorization,
				   sizeof(request->authorization));
	}
	return status;
}

int http_request_parse(const char *bytes, size_t length, struct http_request *ret)
{
	struct http_head head;
	int status = http_head_parse(bytes, length, true, &head);

	ret->head = head.is_head;
	ret->keep_alive = false;
	ret->path[0] = ret->query[0] = ret->host[0] = ret->authorization[0] = '\0';
	if (!status && !head.is_head && !http_text_is(head.method, "GET"))
		status = 405;
	if (!status)
		status = parse_target(&head, ret);
	if (!status)
		status = parse_fields(&head, ret);
	if (!status && head.is_1_1 && !head.has_host)
		status = 400;
	if (!status && (head.is_chunked || head.length))
		status = 413;
	ret->keep_alive = !status && head.is_1_1 && !head.closes;
	return status;
}
