// SPDX-License-Identifier: Apache-2.0
#include "pages.h"

#include "html.h"

#include <stdlib.h>
#include <string.h>

/* What a page is made from. */
struct moment {
	const struct profcol_service_view *view;
	uint64_t now_unix_ns;
};

struct page {
	const char *path, *title;
	void (*write)(FILE *to, const struct moment *moment);
};

static const char *status_name(enum profcol_status status)
{
	static const char *const names[] = {
		[PROFCOL_STATUS_NONE] = "not started",
		[PROFCOL_STATUS_STARTING] = "starting",
		[PROFCOL_STATUS_OK] = "OK",
		[PROFCOL_STATUS_RECOVERABLE_ERROR] = "recoverable error",
		[PROFCOL_STATUS_PERMANENT_ERROR] = "permanent error",
		[PROFCOL_STATUS_FATAL_ERROR] = "fatal error",
		[PROFCOL_STATUS_STOPPING] = "stopping",
		[PROFCOL_STATUS_STOPPED] = "stopped",
	};

	return (unsigned int)status < sizeof(names) / sizeof(names[0]) ? names[status] : "unknown";
}

static bool is_bad(enum profcol_status status)
{
	return status == PROFCOL_STATUS_RECOVERABLE_ERROR ||
	       status == PROFCOL_STATUS_PERMANENT_ERROR || status == PROFCOL_STATUS_FATAL_ERROR;
}

/* ---- components ---- */

static void write_component(FILE *to, const struct moment *moment,
			    const struct profcol_component_view *component)
{
	html_raw(to, "<tr><td>");
	html_text(to, component->kind);
	html_raw(to, "</td><td>");
	html_text(to, component->id);
	html_raw(to, component->mutates ? "</td><td>yes</td>" : "</td><td class=\"dim\">no</td>");
	html_raw(to, is_bad(component->status) ? "<td class=\"bad\">" : "<td>");
	html_text(to, status_name(component->status));
	html_raw(to, "</td><td>");
	html_since(to, component->since_unix_ns, moment->now_unix_ns);
	html_raw(to, "</td><td>");
	html_text(to, component->message ? component->message : "");
	html_raw(to, "</td></tr>\n");
}

static void write_components(FILE *to, const struct moment *moment,
			     const struct profcol_component_view *components, size_t count)
{
	html_raw(to, "<table><tr><th>kind</th><th>id</th><th>mutates data</th><th>status</th>"
		     "<th>since</th><th>message</th></tr>\n");
	for (size_t i = 0; i < count; i++)
		write_component(to, moment, &components[i]);
	html_raw(to, "</table>\n");
}

/* ---- pages ---- */

static void write_service(FILE *to, const struct moment *moment)
{
	const struct profcol_service_view *view = moment->view;

	html_raw(to, "<table>\n");
	html_row(to, "Command", "profcol");
	html_row(to, "Version", view->version);
	html_raw(to, "<tr><th>Started</th><td>");
	html_since(to, view->start_unix_ns, moment->now_unix_ns);
	html_raw(to, view->ready ? "</td></tr>\n<tr><th>Ready since</th><td>"
				 : "</td></tr>\n<tr><th class=\"bad\">Not ready since</th><td>");
	html_since(to, view->ready_unix_ns, moment->now_unix_ns);
	html_raw(to, "</td></tr>\n</table>\n");
}

static void write_pipelines(FILE *to, const struct moment *moment)
{
	const struct profcol_service_view *view = moment->view;

	for (size_t i = 0; i < view->pipeline_count; i++) {
		const struct profcol_pipeline_view *pipeline = &view->pipelines[i];

		html_raw(to, "<h2 id=\"");
		html_text(to, pipeline->id);
		html_raw(to, "\">");
		html_text(to, pipeline->id);
		html_raw(to, pipeline->mutates ? " <span class=\"dim\">(mutates data)</span></h2>\n"
					       : "</h2>\n");
		write_components(to, moment, pipeline->components,
				 pipeline->receiver_count + pipeline->processor_count +
					 pipeline->exporter_count);
	}
}

static void write_extensions(FILE *to, const struct moment *moment)
{
	write_components(to, moment, moment->view->extensions, moment->view->extension_count);
}

static void write_features(FILE *to, const struct moment *moment)
{
	(void)moment;
	html_raw(to, "<p>profcol has no features of its own behind gates. "
		     "<code>service.profilesSupport</code>, which the Collector needs for "
		     "profiles, is always on. The Collector's other gates are accepted without "
		     "effect: <code>profcol featuregate</code> lists them.</p>\n");
}

static const struct page pages[] = {
	{ "/debug/servicez", "Service", write_service },
	{ "/debug/pipelinez", "Pipelines", write_pipelines },
	{ "/debug/extensionz", "Extensions", write_extensions },
	{ "/debug/featurez", "Feature gates", write_features },
};

enum { PAGES = sizeof(pages) / sizeof(pages[0]) };

static void write_links(FILE *to)
{
	html_raw(to, "<nav>");
	for (size_t i = 0; i < PAGES; i++) {
		html_raw(to, "<a href=\"");
		html_text(to, pages[i].path);
		html_raw(to, "\">");
		html_text(to, pages[i].title);
		html_raw(to, "</a>");
	}
	html_raw(to, "</nav>\n");
}

/* The page @page, or without one the names of those that there are. */
static void write_page(FILE *to, const struct page *page, const struct moment *moment)
{
	html_begin(to, page ? page->title : "No such page");
	write_links(to);
	if (page && moment->view)
		page->write(to, moment);
	else if (page)
		html_raw(to, "<p>The statuses are not at hand; try again.</p>\n");
	html_end(to);
}

void pages_answer(const char *path, const struct profcol_service_view *view, uint64_t now_unix_ns,
		  struct profcol_http_reply *reply)
{
	const struct moment moment = { .view = view, .now_unix_ns = now_unix_ns };
	const struct page *page = NULL;
	FILE *to = open_memstream(&reply->body, &reply->length);

	if (!to) {
		reply->status = 500;
		return;
	}
	for (size_t i = 0; i < PAGES; i++)
		if (!strcmp(pages[i].path, path))
			page = &pages[i];
	write_page(to, page, &moment);
	reply->status = !page ? 404 : view ? 200 : 503;
	reply->content_type = "text/html; charset=utf-8";
	if (fclose(to)) {
		free(reply->body);
		reply->body = NULL;
		reply->length = 0;
		reply->status = 500;
	}
}
