// SPDX-License-Identifier: Apache-2.0
/*
 * The head of a request: what is taken has only texts of the head, and says the same to a strict
 * reader once it is written anew, with one blank where blanks are and CRLF at each line's end. The
 * lowest bit of the first byte says whether lines may end in LF alone, the others after how many
 * bytes there is a pause.
 */
#include "http_head/http_head.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_inside(struct http_text text, const char *bytes, size_t length)
{
	// A path may be the literal "/".
	check(http_text_is(text, "/") || !text.length ||
	      (text.at >= bytes && text.at + text.length <= bytes + length));
	for (size_t i = 0; i < text.length; i++)
		check((unsigned char)text.at[i] >= ' ' || text.at[i] == '\t');
}

static void check_same(struct http_text first, struct http_text second)
{
	check(first.length == second.length && !memcmp(first.at, second.at, first.length));
}

static char *write_anew(const struct http_head *head, size_t *length_ret)
{
	char *text = NULL;
	FILE *stream = open_memstream(&text, length_ret);

	check(stream);
	fwrite(head->method.at, 1, head->method.length, stream);
	fputc(' ', stream);
	fwrite(head->target.at, 1, head->target.length, stream);
	fprintf(stream, " HTTP/1.%d\r\n", head->is_1_1);
	for (size_t i = 0; i < head->field_count; i++) {
		fwrite(head->fields[i].name.at, 1, head->fields[i].name.length, stream);
		fputs(": ", stream);
		fwrite(head->fields[i].value.at, 1, head->fields[i].value.length, stream);
		fputs("\r\n", stream);
	}
	fputs("\r\n", stream);
	check(!fclose(stream));
	return text;
}

static void check_head(const struct http_head *head, const char *bytes, size_t length)
{
	check(head->method.length && head->target.length && head->field_count <= HTTP_FIELDS_MOST);
	check(!head->is_chunked || (head->is_1_1 && !head->has_length));
	check(head->has_length || !head->length);
	check_inside(head->method, bytes, length);
	check_inside(head->target, bytes, length);
	check_inside(head->path, bytes, length);
	check_inside(head->query, bytes, length);
	for (size_t i = 0; i < head->field_count; i++) {
		check(head->fields[i].name.length);
		check_inside(head->fields[i].name, bytes, length);
		check_inside(head->fields[i].value, bytes, length);
	}
}

static void check_rewritten(const struct http_head *head)
{
	struct http_head again;
	size_t length;
	char *text = write_anew(head, &length);

	check(http_head_find_end(text, length, 0) == length);
	check(!http_head_parse(text, length, false, &again));
	check_same(head->method, again.method);
	check_same(head->path, again.path);
	check_same(head->query, again.query);
	check(head->field_count == again.field_count);
	for (size_t i = 0; i < head->field_count; i++) {
		check_same(head->fields[i].name, again.fields[i].name);
		check_same(head->fields[i].value, again.fields[i].value);
	}
	check(head->is_1_1 == again.is_1_1 && head->is_head == again.is_head &&
	      head->has_host == again.has_host && head->closes == again.closes &&
	      head->keeps == again.keeps && head->wants_continue == again.wants_continue &&
	      head->is_chunked == again.is_chunked && head->has_length == again.has_length &&
	      head->length == again.length);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const char *text = (const char *)bytes + 1;
	struct http_head head;
	size_t pause, length, end;
	int status;
	char *copy;

	if (!size)
		return 0;
	length = size - 1;
	pause = bytes[0] >> 1 < length ? bytes[0] >> 1 : length;
	end = http_head_find_end(text, length, 0);
	// However the bytes come, the end is in the same place.
	if (!http_head_find_end(text, pause, 0))
		check(http_head_find_end(text, length, pause) == end);
	// What is no whole head is one to be refused, too.
	length = end ? end : length;
	copy = malloc(length + 1);
	check(copy);
	memcpy(copy + 1, text, length);
	status = http_head_parse(copy + 1, length, bytes[0] & 1, &head);
	check(!status || (status >= 400 && status < 600));
	check(status || end);
	if (!status) {
		check_head(&head, copy + 1, length);
		check_rewritten(&head);
	}
	free(copy);
	return 0;
}
