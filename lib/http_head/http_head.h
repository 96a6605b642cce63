/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/http_head: heads of HTTP/1.1 (RFC 9112), as every server of ours reads and writes them: a
 * request taken apart, and what a reply begins with. The one header that other folders include.
 * Pure, any thread.
 *
 * Where two readers could differ about what a request says or where it ends, it is refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- requests (request.c) ---- */

enum {
	HTTP_HEAD_MOST = 16 << 10, /* bytes of request line and fields, which the caller sees to */
	HTTP_FIELDS_MOST = 100,
};

/* Part of a head, or a literal; not terminated. */
struct http_text {
	const char *at;
	size_t length;
};

bool http_text_is(struct http_text text, const char *word);
bool http_text_is_nearly(struct http_text text, const char *word); /* whatever the case */
bool http_text_is_token(struct http_text text);                    /* RFC 9110, 5.6.2 */

/* Its name is a token; its value is without blanks around it and control characters inside. */
struct http_field {
	struct http_text name, value;
};

struct http_head {
	struct http_text method; /* a token */
	struct http_text target; /* as it is written: printable ASCII without blanks, not empty */
	/* Parts of the target: the path ends before '?', and is "/" where "http://name" has none.
	 * The name there is as untrusted as the field Host. */
	struct http_text path, query;
	bool is_1_1;  /* else 1.0 */
	bool is_head; /* HEAD: the reply has no body */
	struct http_field fields[HTTP_FIELDS_MOST];
	size_t field_count;

	/* Facts that the fields tell. */
	bool has_host;
	bool closes, keeps;  /* "close", "keep-alive" is among the words of Connection */
	bool wants_continue; /* Expect: 100-continue */
	bool is_chunked;     /* the body comes in chunks, ... */
	bool has_length;     /* or has this many bytes, or else there is none */
	uint64_t length;
};

/*
 * Bytes up to and with the empty line that ends a head; 0 when it is not among the @length
 * @bytes. Lines end in CRLF or LF alone. The first @known bytes are those of an earlier call, in
 * which it was not.
 */
size_t http_head_find_end(const char *bytes, size_t length, size_t known);

/*
 * Take a whole head apart; texts are borrowed of @bytes. @bare_lf: a line may end in LF alone.
 * Returns 0, or the status to refuse it with; the connection has to end then, since where the next
 * request begins is not known. `is_head` is always set.
 */
int http_head_parse(const char *bytes, size_t length, bool bare_lf, struct http_head *ret);

/* ---- replies (reply.c) ---- */

/* "Not Found"; "" for a status that no server of ours uses: a reason is for people. */
const char *http_status_reason(int status);

enum { HTTP_DATE_SIZE = 40 };

/* Now, as HTTP wants it, whatever the locale: "Sun, 06 Nov 1994 08:49:37 GMT". */
void http_date_print(char to[static HTTP_DATE_SIZE]);
