// SPDX-License-Identifier: Apache-2.0
#include "answers.h"

#include "go_text.h"
#include "health.h"
#include "query.h"

#include "base/base.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What one answer is made from. */
struct answer {
	const struct component_health_config *config;
	const struct profcol_service_view *view;
	uint64_t now_unix_ns;
	bool verbose;
};

/* Without memory the body stays empty, and the code says enough. */
static void reply_json(struct profcol_http_reply *reply, int status, const json_t *json)
{
	reply->status = status;
	reply->content_type = "application/json";
	reply->body = json ? json_dumps(json, JSON_COMPACT) : NULL;
	reply->length = reply->body ? strlen(reply->body) : 0;
}

static void json_cleanup(json_t **json)
{
	json_decref(*json);
}

/* @text may be anything. */
static json_t *json_text(const char *text)
{
	size_t length = strlen(text);
	CLEANUP_FREE char *clean = malloc(length + 1);

	if (!clean)
		return NULL;
	strings_sanitize_utf8(clean, text, length);
	return json_string(clean);
}

static json_t *json_time(uint64_t unix_ns)
{
	char text[GO_TEXT_MAX];

	go_text_time(unix_ns, text);
	return json_string(text);
}

/* ---- version 1 ---- */

static bool is_available(const struct profcol_service_view *view)
{
	if (!view || !view->ready)
		return false;
	for (size_t i = 0; i < view->pipeline_count; i++) {
		const struct profcol_pipeline_view *pipeline = &view->pipelines[i];
		size_t count = pipeline->receiver_count + pipeline->processor_count +
			       pipeline->exporter_count;

		for (size_t j = 0; j < count; j++)
			if (pipeline->components[j].status == PROFCOL_STATUS_FATAL_ERROR)
				return false;
	}
	return true;
}

void answer_probe(const struct health_check_config *config, const struct profcol_service_view *view,
		  uint64_t now_unix_ns, struct profcol_http_reply *reply)
{
	CLEANUP(json_cleanup) json_t *json = NULL;
	bool available = is_available(view);
	uint64_t since = available ? view->ready_unix_ns : 0;
	char uptime[GO_TEXT_MAX] = "";

	if (config->response_body_named) {
		reply->status = available ? 200 : 503;
		reply->body = strdup(available ? config->response_body.healthy
					       : config->response_body.unhealthy);
		reply->length = reply->body ? strlen(reply->body) : 0;
		return;
	}
	if (available)
		go_text_duration(now_unix_ns > since ? now_unix_ns - since : 0, uptime);
	json = json_pack("{s:s, s:o, s:s}", "status",
			 available ? "Server available" : "Server not available", "upSince",
			 json_time(since), "uptime", uptime);
	reply_json(reply, available ? 200 : 503, json);
}

/* ---- version 2 ---- */

/* One part; its own parts, if there are any, go into "components" later. */
static json_t *json_health(const struct answer *answer, const struct health *health)
{
	json_t *json = json_object();

	// jansson takes NULL as a value, and answers with an error that an empty reply shows.
	json_object_set_new(
		json, "healthy",
		json_boolean(health_is_good(health, answer->config, answer->now_unix_ns)));
	json_object_set_new(json, "status", json_string(health_status_name(health->status)));
	if (health->message[0])
		json_object_set_new(json, "error", json_text(health->message));
	json_object_set_new(json, "status_time", json_time(health->since_unix_ns));
	return json;
}

/* "pipeline:profiles/raw" */
static void set_named(json_t *to, const char *kind, const char *id, json_t *part)
{
	CLEANUP_FREE char *key = NULL;
	int length = asprintf(&key, "%s:%s", kind, id);

	if (length < 0) {
		key = NULL;
		json_decref(part);
		return;
	}
	strings_sanitize_utf8(key, key, (size_t)length);
	json_object_set_new(to, key, part);
}

/* The health of @components together; their own go into *@json_ret, if wanted. */
static struct health join_components(const struct answer *answer,
				     const struct profcol_component_view *components, size_t count,
				     json_t **json_ret)
{
	CLEANUP_FREE struct health *parts = calloc(count + 1, sizeof(*parts));
	json_t *json = answer->verbose ? json_object() : NULL;

	*json_ret = json;
	// Without memory nothing is said to be well.
	if (!parts)
		return (struct health){ PROFCOL_STATUS_NONE, answer->now_unix_ns, "" };
	for (size_t i = 0; i < count; i++) {
		parts[i] = health_of_component(&components[i]);
		if (json)
			set_named(json, components[i].kind, components[i].id,
				  json_health(answer, &parts[i]));
	}
	return health_join(parts, count, answer->config, answer->view->start_unix_ns);
}

static struct health join_pipeline(const struct answer *answer,
				   const struct profcol_pipeline_view *pipeline, json_t **json_ret)
{
	return join_components(answer, pipeline->components,
			       pipeline->receiver_count + pipeline->processor_count +
				       pipeline->exporter_count,
			       json_ret);
}

/* Add one group of the service and its parts, which are taken. */
static void set_group(const struct answer *answer, json_t *groups, const char *id,
		      const struct health *health, json_t *parts)
{
	json_t *group;

	if (!groups) {
		json_decref(parts);
		return;
	}
	group = json_health(answer, health);
	if (parts && json_object_size(parts))
		json_object_set_new(group, "components", parts);
	else
		json_decref(parts);
	if (id)
		set_named(groups, "pipeline", id, group);
	else
		json_object_set_new(groups, "extensions", group);
}

static struct health join_service(const struct answer *answer, json_t **json_ret)
{
	const struct profcol_service_view *view = answer->view;
	CLEANUP_FREE struct health *parts = calloc(view->pipeline_count + 1, sizeof(*parts));
	json_t *groups = answer->verbose ? json_object() : NULL;
	size_t count = view->extension_count ? 1 : 0;
	json_t *json;

	*json_ret = groups;
	if (!parts)
		return (struct health){ PROFCOL_STATUS_NONE, answer->now_unix_ns, "" };
	if (count) {
		parts[0] = join_components(answer, view->extensions, view->extension_count, &json);
		set_group(answer, groups, NULL, &parts[0], json);
	}
	for (size_t i = 0; i < view->pipeline_count; i++, count++) {
		parts[count] = join_pipeline(answer, &view->pipelines[i], &json);
		set_group(answer, groups, view->pipelines[i].id, &parts[count], json);
	}
	return health_join(parts, count, answer->config, view->start_unix_ns);
}

/* What `pipeline=` asks for; false when there is no such thing. */
static bool join_scope(const struct answer *answer, const char *scope, struct health *ret,
		       json_t **json_ret)
{
	const struct profcol_service_view *view = answer->view;

	if (!scope[0]) {
		*ret = join_service(answer, json_ret);
		return true;
	}
	for (size_t i = 0; i < view->pipeline_count; i++) {
		if (strcmp(view->pipelines[i].id, scope) != 0)
			continue;
		*ret = join_pipeline(answer, &view->pipelines[i], json_ret);
		return true;
	}
	if (strcmp(scope, "extensions") != 0)
		return false;
	*ret = join_components(answer, view->extensions, view->extension_count, json_ret);
	return true;
}

static void reply_error(struct profcol_http_reply *reply, int status, const char *message)
{
	CLEANUP(json_cleanup) json_t *json = json_pack("{s:s}", "error_message", message);

	reply_json(reply, status, json);
}

void answer_status(const struct health_check_config *config,
		   const struct profcol_service_view *view, const char *query, uint64_t now_unix_ns,
		   struct profcol_http_reply *reply)
{
	const struct answer answer = {
		.config = &config->component_health,
		.view = view,
		.now_unix_ns = now_unix_ns,
		.verbose = query_is_on(query, "verbose"),
	};
	CLEANUP_FREE char *scope = NULL;
	CLEANUP(json_cleanup) json_t *json = NULL;
	json_t *parts = NULL, *health_json;
	struct health health;

	if (!view) {
		reply_error(reply, 503, "the statuses are not at hand; try again");
		return;
	}
	// Not taken for the whole service, which may be well while what was asked for is not.
	if (query_value(query, "pipeline", &scope) == QUERY_MALFORMED) {
		reply_error(reply, 400, "the value of ?pipeline= cannot be decoded");
		return;
	}
	if (!join_scope(&answer, scope ? scope : "", &health, &parts)) {
		reply_error(reply, 404,
			    "there is no such pipeline; ?verbose names those there are");
		return;
	}
	json = json_object();
	json_object_set_new(json, "start_time", json_time(view->start_unix_ns));
	health_json = json_health(&answer, &health);
	json_object_update(json, health_json);
	json_decref(health_json);
	if (parts)
		json_object_set_new(json, "components", parts);
	reply_json(reply,
		   health_code(&health, health_is_good(&health, answer.config, answer.now_unix_ns)),
		   json);
}
