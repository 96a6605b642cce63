/* SPDX-License-Identifier: Apache-2.0 */
/* Pages and tables in HTML. Every text is escaped on its way; only html_raw is not. Private to
 * extensions/zpages. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* From the doctype to the heading. */
void html_begin(FILE *to, const char *title);
void html_end(FILE *to);

/* @text as it is; for literals. */
void html_raw(FILE *to, const char *text);

/* For between tags, and in attributes with quotes. Bytes that are no UTF-8 become '?'. */
void html_text(FILE *to, const char *text);

/* "<tr><th>@name<td>@value" */
void html_row(FILE *to, const char *name, const char *value);

/* "2026-11-21 15:09:31 UTC, 12m ago"; "never" for 0. */
void html_since(FILE *to, uint64_t unix_ns, uint64_t now_unix_ns);
