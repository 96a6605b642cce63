// SPDX-License-Identifier: Apache-2.0
#include "html.h"

#include "base/base.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

static const char style[] =
	"body{font:14px/1.4 sans-serif;margin:1.5em;color:#222;background:#fff}"
	"h1{font-size:1.3em}h2{font-size:1.1em;margin:1.5em 0 .3em}"
	"table{border-collapse:collapse}th,td{text-align:left;vertical-align:top;"
	"padding:.2em .8em .2em 0;border-bottom:1px solid #ddd}"
	"nav a{margin-right:1em}.bad{color:#b00020;font-weight:bold}.dim{color:#777}";

void html_raw(FILE *to, const char *text)
{
	fputs(text, to);
}

void html_text(FILE *to, const char *text)
{
	size_t length = strlen(text);
	CLEANUP_FREE char *clean = malloc(length + 1);

	if (!clean)
		return;
	strings_sanitize_utf8(clean, text, length);
	for (const char *c = clean; *c; c++)
		switch (*c) {
		case '&':
			fputs("&amp;", to);
			break;
		case '<':
			fputs("&lt;", to);
			break;
		case '>':
			fputs("&gt;", to);
			break;
		case '"':
			fputs("&quot;", to);
			break;
		case '\'':
			fputs("&#39;", to);
			break;
		default:
			fputc(*c, to);
		}
}

void html_begin(FILE *to, const char *title)
{
	html_raw(to, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
	html_text(to, title);
	html_raw(to, " - profcol</title><style>");
	html_raw(to, style);
	html_raw(to, "</style></head>\n<body><h1>");
	html_text(to, title);
	html_raw(to, "</h1>\n");
}

void html_end(FILE *to)
{
	html_raw(to, "</body></html>\n");
}

void html_row(FILE *to, const char *name, const char *value)
{
	html_raw(to, "<tr><th>");
	html_text(to, name);
	html_raw(to, "</th><td>");
	html_text(to, value);
	html_raw(to, "</td></tr>\n");
}

/* The two largest units, as people say it. */
static void print_span(FILE *to, uint64_t seconds)
{
	if (seconds >= 86400)
		fprintf(to, "%" PRIu64 "d %" PRIu64 "h", seconds / 86400, seconds / 3600 % 24);
	else if (seconds >= 3600)
		fprintf(to, "%" PRIu64 "h %" PRIu64 "m", seconds / 3600, seconds / 60 % 60);
	else if (seconds >= 60)
		fprintf(to, "%" PRIu64 "m %" PRIu64 "s", seconds / 60, seconds % 60);
	else
		fprintf(to, "%" PRIu64 "s", seconds);
}

void html_since(FILE *to, uint64_t unix_ns, uint64_t now_unix_ns)
{
	time_t seconds = (time_t)(unix_ns / 1000000000u);
	char text[40];
	struct tm parts;

	if (!unix_ns || !gmtime_r(&seconds, &parts) ||
	    !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &parts)) {
		html_raw(to, "never");
		return;
	}
	html_raw(to, text);
	html_raw(to, ", ");
	print_span(to, now_unix_ns > unix_ns ? (now_unix_ns - unix_ns) / 1000000000u : 0);
	html_raw(to, " ago");
}
