// SPDX-License-Identifier: Apache-2.0
/*
 * What is answered to any path and query about components that say anything: always one JSON
 * document, or one HTML page that nothing breaks out of. The input is lines: path, query, the
 * message and the id of a component, the id of its pipeline.
 */
#include "extensions/health_check/answers.h"
#include "extensions/zpages/pages.h"

#include "base/base.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_json(struct profcol_http_reply *reply)
{
	json_t *json = json_loadb(reply->body, reply->length, JSON_REJECT_DUPLICATES, NULL);

	if (!json)
		abort();
	json_decref(json);
	free(reply->body);
}

static void check_page(struct profcol_http_reply *reply)
{
	static const char end[] = "</body></html>\n";
	const char *body = reply->body;

	if (!body || reply->length < sizeof(end) || strlen(body) != reply->length ||
	    !strings_is_utf8(body, reply->length) ||
	    strcmp(body + reply->length - (sizeof(end) - 1), end) != 0 || strstr(body, "<script"))
		abort();
	free(reply->body);
}

/* Cut a line off @rest. */
static const char *next_line(char **rest)
{
	char *line = strsep(rest, "\n");

	return line ? line : "";
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const struct health_check_config config = {
		.component_health = { .include_permanent_errors = true },
	};
	struct profcol_component_view components[] = {
		{ .kind = "receiver", .id = "profiling", .message = "" },
		{ .kind = "exporter", .id = "", .message = "" },
	};
	struct profcol_pipeline_view pipeline = {
		.components = components,
		.receiver_count = 1,
		.exporter_count = 1,
	};
	const struct profcol_service_view view = {
		.version = "1",
		.start_unix_ns = 1,
		.ready = true,
		.ready_unix_ns = 1,
		.pipelines = &pipeline,
		.pipeline_count = 1,
		.extensions = components,
		.extension_count = 1,
	};
	CLEANUP_FREE char *text = malloc(size + 1);
	struct profcol_http_reply probe = { 0 }, status = { 0 }, page = { 0 };
	const char *path, *query;
	char *rest = text;

	if (!text)
		return 0;
	memcpy(text, bytes, size);
	text[size] = '\0';
	path = next_line(&rest);
	query = next_line(&rest);
	components[1].message = next_line(&rest);
	components[1].id = next_line(&rest);
	pipeline.id = next_line(&rest);
	components[0].status = (enum profcol_status)(size % 9);
	components[1].status = (enum profcol_status)(size / 9 % 9);
	components[1].since_unix_ns = (uint64_t)size << 40;
	answer_probe(&config, &view, UINT64_C(1) << 60, &probe);
	check_json(&probe);
	answer_status(&config, &view, query, UINT64_C(1) << 60, &status);
	check_json(&status);
	pages_answer(path, &view, UINT64_C(1) << 60, &page);
	check_page(&page);
	return 0;
}
