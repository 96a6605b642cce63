// SPDX-License-Identifier: Apache-2.0
#include "services.h"

#include "graph.h"
#include "registry.h"
#include "spawner.h"
#include "view.h"

#include "http/http.h"

#include <profcol/http.h>

/* The host that a component is given is its instance's first member; it is const to the component
 * only. */
static struct instance *instance_of(const struct profcol_host *host)
{
	return (struct instance *)(uintptr_t)host;
}

static struct profcol_error *host_consume_next(const struct profcol_host *host,
					       struct profcol_batch *batch)
{
	return instance_consume_next(instance_of(host), batch);
}

static void host_account(const struct profcol_host *host, enum profcol_outcome outcome,
			 const char *cause, uint64_t samples)
{
	account_book(&instance_of(host)->account, outcome, cause, samples);
}

static struct profcol_metric *host_metric(const struct profcol_host *host,
					  enum profcol_metric_kind kind, const char *name,
					  const char *label, const char *doc)
{
	return metrics_register(&instance_of(host)->metrics, kind, name, label, doc);
}

static void host_report_status(const struct profcol_host *host, enum profcol_status status,
			       const char *message)
{
	// Start and stop are for the host to tell.
	if (status == PROFCOL_STATUS_OK || status == PROFCOL_STATUS_RECOVERABLE_ERROR ||
	    status == PROFCOL_STATUS_PERMANENT_ERROR || status == PROFCOL_STATUS_FATAL_ERROR)
		instance_report_status(instance_of(host), status, message);
}

static struct profcol_error *host_spawn_helper(const struct profcol_host *host, int *socket_ret,
					       pid_t *pid_ret)
{
	struct instance *instance = instance_of(host);
	const struct profcol_component *type = instance->type;

	if (!type->helper || !instance->spawner)
		return profcol_error_create(PROFCOL_UNSUPPORTED, "component '%s' has no helper",
					    type->type);
	return spawner_spawn(instance->spawner, type->kind, type->type, socket_ret, pid_ret);
}

static struct profcol_service_view *host_view(const struct profcol_host *host)
{
	return view_create(instance_of(host)->graph, host->version);
}

/* What a component wants to be called with, for one instance after the other. */
struct visiting {
	void (*visit)(void *context, const char *kind, const char *id, enum profcol_outcome outcome,
		      const char *cause, uint64_t samples);
	void *context;
	const struct instance *instance;
};

static void visit_entry(const struct account_entry *entry, void *context)
{
	const struct visiting *visiting = context;
	uint64_t samples = atomic_load(&entry->samples);

	if (samples)
		visiting->visit(visiting->context,
				registry_kind_name(instance_type_kind(visiting->instance)),
				visiting->instance->id, entry->outcome, entry->cause, samples);
}

static void visit_instance(struct instance *instance, void *context)
{
	struct visiting *visiting = context;

	visiting->instance = instance;
	account_visit(&instance->account, visit_entry, visiting);
}

static void host_visit_accounts(const struct profcol_host *host,
				void (*visit)(void *context, const char *kind, const char *id,
					      enum profcol_outcome outcome, const char *cause,
					      uint64_t samples),
				void *context)
{
	struct graph *graph = instance_of(host)->graph;
	struct visiting visiting = { .visit = visit, .context = context };

	graph_lock(graph);
	graph_visit(graph, visit_instance, &visiting);
	graph_unlock(graph);
}

static struct profcol_error *host_http_open(const struct profcol_host *host,
					    const struct profcol_http_settings *settings,
					    struct profcol_http_listener **ret)
{
	struct instance *instance = instance_of(host);

	if (!instance->http)
		return profcol_error_create(PROFCOL_UNSUPPORTED,
					    "cannot listen on '%s': there is no HTTP server here",
					    settings->endpoint);
	return http_server_open(instance->http, settings, ret);
}

static bool host_known(const struct profcol_host *host, const char *key, const char *value)
{
	return instance_known_next(instance_of(host), key, value);
}

static bool host_has_room(const struct profcol_host *host, size_t bytes)
{
	return instance_has_room_next(instance_of(host), bytes);
}

void services_init(struct instance *instance, const struct instance_settings *settings)
{
	enum profcol_kind kind = instance->type->kind;
	bool has_next = kind == PROFCOL_RECEIVER || kind == PROFCOL_PROCESSOR;

	instance->host = (struct profcol_host){
		.size = sizeof(instance->host),
		.id = instance->id,
		.version = settings->version,
		.logger = &instance->logger.base,
		.consume_next = has_next ? host_consume_next : NULL,
		.account = host_account,
		.metric = host_metric,
		.report_status = host_report_status,
		.spawn_helper = host_spawn_helper,
		.view = host_view,
		.view_release = view_release,
		.http_open = host_http_open,
		.http_close = http_listener_close,
		.http_answer = http_answer,
		.http_is_gone = http_is_gone,
		.visit_accounts = host_visit_accounts,
		.known = has_next ? host_known : NULL,
		.end_fd = settings->end_fd,
		.has_room = has_next ? host_has_room : NULL,
	};
}
