// SPDX-License-Identifier: Apache-2.0
#include "answer.h"

#include "query.h"
#include "status.h"

#include "base/base.h"
#include "flame/flame.h"
#include "profile/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { COMPRESSION_LEVEL = 6, TOP_FUNCTIONS = 1000 };

static const char html_type[] = "text/html; charset=utf-8";
static const char json_type[] = "application/json";

/* Scripts and styles of this server alone, which may ask it; nothing shows the page in a frame. */
static const char page_policy[] =
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static const char page[] =
	"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
	"<title>profcol</title>\n<link rel=\"stylesheet\" href=\"app.css\"></head>\n"
	"<body><noscript>This page needs JavaScript. Without it: "
	"<a href=\"api/profile.svg\">a picture</a>, <a "
	"href=\"debug/pprof/\">files</a>.</noscript>\n"
	"<script src=\"app.js\"></script></body></html>\n";

static const char page_missing[] =
	"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	"<title>profcol</title></head><body><p>This program was built without the page. "
	"<a href=\"api/profile.svg\">A picture</a> of all that is kept; "
	"<a href=\"debug/pprof/\">files</a>.</p></body></html>\n";

static const char pprof_index[] =
	"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	"<title>/debug/pprof/</title></head><body>\n<h1>/debug/pprof/</h1>\n"
	"<p>Profiles of this machine for <code>go tool pprof</code>.</p>\n<ul>\n"
	"<li><a href=\"profile?seconds=10\">profile?seconds=10</a>: from now on, for 10 "
	"seconds</li>\n"
	"<li><a href=\"profile?from=now-5m\">profile?from=now-5m</a>: what is kept of the last "
	"five "
	"minutes</li>\n"
	"<li><a href=\"offcpu?seconds=10\">offcpu?seconds=10</a>: what threads wait for, where the "
	"profiler samples <code>off_cpu</code></li>\n</ul>\n<p>Parts of the machine: "
	"<code>&amp;pid=</code>, "
	"<code>&amp;comm=</code>, "
	"<code>&amp;container=</code>, <code>&amp;pod=</code>, <code>&amp;namespace=</code>, "
	"<code>&amp;service=</code>, <code>&amp;where=</code> a condition.</p>\n"
	"<p>The same as <a href=\"../../api/profile.folded\">folded stacks</a>, "
	"<a href=\"../../api/profile.otlp\">OTLP</a>, <a href=\"../../api/profile.svg\">a "
	"picture</a>, "
	"<a href=\"../../api/profile.html\">a page in one file</a>; <a href=\"../../\">the "
	"page</a>."
	"</p></body></html>\n";

/* ---- plain answers ---- */

static void answer_copy(struct profcol_http_answer *answer, const char *type, const char *bytes,
			size_t length)
{
	answer->reply.body = malloc(length + 1);
	if (!answer->reply.body) {
		answer_refuse(answer, 503, "out of memory");
		return;
	}
	memcpy(answer->reply.body, bytes, length);
	answer->reply.length = length;
	answer->reply.status = 200;
	answer->reply.content_type = type;
}

static void answer_text(struct profcol_http_answer *answer, const char *type, const char *text)
{
	answer_copy(answer, type, text, strlen(text));
}

void answer_refuse(struct profcol_http_answer *answer, int status, const char *text)
{
	int length;

	free(TAKE(answer->reply.body));
	answer->reply.length = 0;
	answer->reply.content_type = NULL;
	answer->reply.status = status;
	if (status == 401)
		answer->headers =
			"WWW-Authenticate: Basic realm=\"profcol\", charset=\"UTF-8\"\r\n";
	else if (status == 503)
		answer->headers = "Retry-After: 1\r\n";
	length = asprintf(&answer->reply.body, "%s\n", text);
	if (length < 0)
		answer->reply.body = NULL;
	else
		answer->reply.length = (size_t)length;
}

void answer_fail(struct profcol_http_answer *answer, struct profcol_error *error)
{
	int status;

	switch (profcol_error_code(error)) {
	case PROFCOL_BAD_DATA:
	case PROFCOL_REJECTED:
		status = 400;
		break;
	case PROFCOL_NO_MEMORY:
	case PROFCOL_UNAVAILABLE:
		status = 503;
		break;
	default:
		status = 500;
	}
	answer_refuse(answer, status, profcol_error_message(error));
	profcol_error_destroy(error);
}

/* What @stream has written to @body; an error goes before. */
static void answer_stream(struct profcol_http_answer *answer, const char *type, FILE *stream,
			  char **body, const size_t *length, struct profcol_error *error)
{
	bool failed = !stream || ferror(stream);

	if (stream && fclose(stream))
		failed = true;
	if (!error && failed)
		error = profcol_error_errno(ENOMEM, "make the answer");
	if (error) {
		free(TAKE(*body));
		answer_fail(answer, error);
		return;
	}
	answer->reply = (struct profcol_http_reply){
		.status = 200,
		.content_type = type,
		.body = TAKE(*body),
		.length = *length,
	};
}

/* ---- files ---- */

static void answer_file(const struct answer_context *context, enum answer_route route,
			const struct parameters *parameters, struct profcol_http_answer *answer)
{
	const struct pprof_encode_options options = { .compression_level = COMPRESSION_LEVEL,
						      .names_are_final = true };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct query_result result;
	struct profcol_error *error;
	uint8_t *bytes = NULL;
	size_t length = 0;

	error = query_batch(context->history, &parameters->now, context->deadline_ns, &batch,
			    &result);
	if (!error && route == ROUTE_FOLDED)
		error = folded_encode(batch, &bytes, &length);
	else if (!error && route == ROUTE_OTLP)
		error = otlp_encode(batch, NULL, &bytes, &length);
	else if (!error)
		error = pprof_encode(batch, &options, &bytes, &length);
	if (error) {
		answer_fail(answer, error);
		return;
	}
	answer->reply = (struct profcol_http_reply){
		.status = 200,
		.body = (char *)bytes,
		.length = length,
	};
	if (route == ROUTE_FOLDED) {
		answer->headers =
			"Content-Disposition: attachment; filename=\"profcol.folded\"\r\n";
	} else if (route == ROUTE_OTLP) {
		answer->reply.content_type = "application/x-protobuf";
		answer->headers = "Content-Disposition: attachment; filename=\"profcol.otlp\"\r\n";
	} else {
		answer->reply.content_type = "application/octet-stream";
		answer->headers = "Content-Disposition: attachment; filename=\"profcol.pb.gz\"\r\n";
	}
}

/* ---- call trees ---- */

static void write_range(FILE *stream, const char *prefix, struct history_range range)
{
	fprintf(stream, ",\"%sfrom\":%" PRIu64 ",\"%sto\":%" PRIu64, prefix,
		range.from_ns / 1000000, prefix, range.to_ns / 1000000);
}

/* Members of the JSON about the query: NULL without memory. */
static char *describe(const struct parameters *parameters, const struct query_result *result,
		      const struct query_result *base)
{
	uint64_t failures = result->failures + (parameters->has_base ? base->failures : 0);
	const char *message = result->failures ? result->message : base->message;
	char *text = NULL;
	size_t length;
	FILE *stream = open_memstream(&text, &length);

	if (!stream)
		return NULL;
	fprintf(stream, "\"condition_failures\":%" PRIu64, failures);
	if (failures) {
		fputs(",\"condition_message\":", stream);
		flame_write_json_text(stream, message, strlen(message));
	}
	write_range(stream, "", result->covered);
	if (parameters->has_base)
		write_range(stream, "base_", base->covered);
	if (fclose(stream)) {
		free(text);
		return NULL;
	}
	return text;
}

static struct profcol_error *write_top(struct flame *flame, FILE *stream)
{
	CLEANUP_FREE struct flame_function *functions = NULL;
	struct profcol_error *error;
	size_t count = 0;

	error = flame_top(flame, FLAME_NOW, TOP_FUNCTIONS, &functions, &count);
	if (error)
		return error;
	fputs("{\"format\":1,\"type\":", stream);
	flame_write_json_text(stream, flame_type(flame), strlen(flame_type(flame)));
	fputs(",\"unit\":", stream);
	flame_write_json_text(stream, flame_unit(flame), strlen(flame_unit(flame)));
	fprintf(stream, ",\"total\":%" PRId64 ",\"functions\":[", flame_total(flame, FLAME_NOW));
	for (size_t i = 0; i < count; i++) {
		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", stream);
		flame_write_json_text(stream, functions[i].name.bytes, functions[i].name.length);
		fputs(",\"file\":", stream);
		flame_write_json_text(stream, functions[i].file.bytes, functions[i].file.length);
		fprintf(stream, ",\"self\":%" PRId64 ",\"total\":%" PRId64 "}", functions[i].self,
			functions[i].total);
	}
	fputs("]}\n", stream);
	return NULL;
}

static struct profcol_error *write_flame(enum answer_route route,
					 const struct parameters *parameters, struct flame *flame,
					 const char *members, FILE *stream)
{
	const struct flame_json_settings settings = {
		.nodes_max = parameters->nodes_max,
		.has_base = parameters->has_base,
		.members = members,
	};

	switch (route) {
	case ROUTE_SVG:
		return flame_write_svg(flame, "profcol", stream);
	case ROUTE_HTML:
		return flame_write_html(flame, &settings, stream);
	case ROUTE_TOP:
		return write_top(flame, stream);
	default:
		return flame_write_json(flame, &settings, stream);
	}
}

static void answer_flame(const struct answer_context *context, enum answer_route route,
			 const struct parameters *parameters, struct profcol_http_answer *answer)
{
	FLAME_CLEANUP struct flame *flame = NULL;
	CLEANUP_FREE char *members = NULL;
	struct query_result result = { 0 }, base = { 0 };
	struct profcol_error *error;
	char *body = NULL;
	size_t length = 0;
	FILE *stream;

	error = query_flame(context->history, parameters, context->deadline_ns, &flame, &result,
			    &base);
	members = error ? NULL : describe(parameters, &result, &base);
	if (!error && !members)
		error = profcol_error_errno(ENOMEM, "make the answer");
	if (error) {
		answer_fail(answer, error);
		return;
	}
	stream = open_memstream(&body, &length);
	if (stream)
		error = write_flame(route, parameters, flame, members, stream);
	answer_stream(answer,
		      route == ROUTE_SVG    ? "image/svg+xml"
		      : route == ROUTE_HTML ? html_type
					    : json_type,
		      stream, &body, &length, error);
	if (answer->reply.status == 200 && route == ROUTE_HTML)
		answer->headers = "Content-Disposition: attachment; filename=\"profcol.html\"\r\n";
}

static void answer_status(const struct answer_context *context, enum answer_route route,
			  const struct parameters *parameters, struct profcol_http_answer *answer)
{
	char *body = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&body, &length);

	if (stream && route == ROUTE_STATUS)
		status_write(context, stream);
	else if (stream)
		status_write_load(context, parameters, stream);
	answer_stream(answer, json_type, stream, &body, &length, NULL);
}

/* ---- routes ---- */

enum answer_route answer_find_route(const char *path)
{
	static const struct {
		const char *path;
		enum answer_route route;
	} routes[] = {
		{ "/", ROUTE_PAGE },
		{ "/app.js", ROUTE_SCRIPT },
		{ "/app.css", ROUTE_STYLE },
		{ "/api/status.json", ROUTE_STATUS },
		{ "/api/load.json", ROUTE_LOAD },
		{ "/api/flame.json", ROUTE_FLAME },
		{ "/api/top.json", ROUTE_TOP },
		{ "/api/profile.pb.gz", ROUTE_PPROF },
		{ "/api/profile.folded", ROUTE_FOLDED },
		{ "/api/profile.otlp", ROUTE_OTLP },
		{ "/api/profile.svg", ROUTE_SVG },
		{ "/api/profile.html", ROUTE_HTML },
		{ "/debug/pprof", ROUTE_PPROF_INDEX },
		{ "/debug/pprof/", ROUTE_PPROF_INDEX },
		{ "/debug/pprof/profile", ROUTE_PPROF_PROFILE },
		{ "/debug/pprof/offcpu", ROUTE_PPROF_OFF_CPU },
	};

	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
		if (!strcmp(path, routes[i].path))
			return routes[i].route;
	return strncmp(path, "/debug/pprof/", 13) ? ROUTE_NONE : ROUTE_PPROF_OTHER;
}

static void answer_asset(struct profcol_http_answer *answer, enum flame_asset asset,
			 const char *type)
{
	struct profcol_text text = flame_asset(asset);

	if (text.bytes)
		answer_copy(answer, type, text.bytes, text.length);
	else
		answer_refuse(answer, 404, "this program was built without the page");
}

void answer_make(const struct answer_context *context, enum answer_route route,
		 const struct parameters *parameters, struct profcol_http_answer *answer)
{
	switch (route) {
	case ROUTE_NONE:
		answer_refuse(answer, 404, "there is nothing of that name; / is the page");
		break;
	case ROUTE_PPROF_OTHER:
		answer_refuse(answer, 404,
			      "there are /debug/pprof/profile and /debug/pprof/offcpu");
		break;
	case ROUTE_PAGE:
		answer_text(answer, html_type,
			    flame_asset(FLAME_SCRIPT).bytes ? page : page_missing);
		answer->policy = page_policy;
		break;
	case ROUTE_SCRIPT:
		answer_asset(answer, FLAME_SCRIPT, "text/javascript; charset=utf-8");
		break;
	case ROUTE_STYLE:
		answer_asset(answer, FLAME_STYLE, "text/css; charset=utf-8");
		break;
	case ROUTE_PPROF_INDEX:
		answer_text(answer, html_type, pprof_index);
		break;
	case ROUTE_STATUS:
	case ROUTE_LOAD:
		answer_status(context, route, parameters, answer);
		break;
	case ROUTE_FLAME:
	case ROUTE_TOP:
	case ROUTE_SVG:
	case ROUTE_HTML:
		answer_flame(context, route, parameters, answer);
		break;
	case ROUTE_PPROF:
	case ROUTE_FOLDED:
	case ROUTE_OTLP:
	case ROUTE_PPROF_PROFILE:
	case ROUTE_PPROF_OFF_CPU:
		answer_file(context, route, parameters, answer);
		break;
	}
}
