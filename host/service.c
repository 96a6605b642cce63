// SPDX-License-Identifier: Apache-2.0
#include "service.h"

#include "lifecycle.h"
#include "signals.h"
#include "spawner.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

enum { SAMPLES_LINE_BYTES = 4096 };

struct service {
	const struct service_settings *settings; /* borrowed */
	struct logger logger;
	struct signals *signals; /* owned, as the next two */
	struct spawner *spawner;
	struct graph *graph;
};

static void service_deinit(struct service *service)
{
	graph_destroy(service->graph);
	spawner_destroy(service->spawner);
	signals_destroy(service->signals);
}

static void log_samples(const struct service *service)
{
	char line[SAMPLES_LINE_BYTES];

	graph_format_samples(service->graph, line, sizeof(line));
	profcol_log_info(&service->logger.base, "%s", line);
}

static void log_metric(const struct metrics_entry *entry, void *context)
{
	const struct instance *instance = context;
	bool labelled = entry->label[0] != '\0';

	profcol_log_debug(&instance->logger.base, "%s%s%s%s=%" PRId64, entry->name,
			  labelled ? "{" : "", entry->label, labelled ? "}" : "",
			  profcol_metric_get(&entry->metric));
}

static void log_metrics(const struct service *service)
{
	for (size_t i = 0; i < service->graph->instances.count; i++) {
		struct instance *instance = service->graph->instances.items[i];

		metrics_visit(&instance->metrics, log_metric, instance);
	}
}

/* Called from a thread of the lifecycle, while the main thread hangs in @stuck. */
static void give_up(const struct instance *stuck, void *context)
{
	const struct service *service = context;

	profcol_log_error(&service->logger.base,
			  "%s '%s' has not shut down in time, ending without it",
			  instance_kind(stuck), stuck->host.id);
	log_samples(service);
	_exit(1);
}

static struct profcol_error *shut_down(struct service *service)
{
	const struct lifecycle_patience patience = {
		.drain_ns = service->settings->drain_ns,
		.grace_ns = service->settings->grace_ns,
		.give_up = give_up,
		.context = service,
	};
	struct profcol_error *error;

	profcol_log_info(&service->logger.base, "Starting shutdown...");
	error = lifecycle_shutdown(service->graph, &patience);
	profcol_log_info(&service->logger.base, "Shutdown complete.");
	return error;
}

static void await_end(struct service *service)
{
	const struct profcol_logger *logger = &service->logger.base;
	int number;

	while ((number = signals_wait(service->signals)) == SIGHUP)
		profcol_log_warn(logger, "configuration reload is not supported, ignoring SIGHUP");
	profcol_log_info(logger, "Received signal from OS: SIG%s", sigabbrev_np(number));
}

static struct profcol_error *run_graph(struct service *service)
{
	struct profcol_error *error = lifecycle_start(service->graph);

	if (error) {
		// What the undoing runs into is of no interest next to the cause.
		profcol_error_destroy(shut_down(service));
		return profcol_error_prefix(error, "cannot start pipelines");
	}
	profcol_log_info(&service->logger.base,
			 "Everything is ready. Begin running and processing data.");
	await_end(service);
	error = shut_down(service);
	log_metrics(service);
	log_samples(service);
	return profcol_error_prefix(error, "failed to shutdown pipelines");
}

struct profcol_error *service_run(const struct service_settings *settings,
				  const struct config *config)
{
	CLEANUP(service_deinit) struct service service = { .settings = settings };
	struct instance_settings instance_settings = {
		.version = settings->version,
		.level = settings->level,
		.log_fd = settings->log_fd,
	};
	struct profcol_error *error;

	logging_init(&service.logger, "profcol", settings->level, settings->log_fd);
	error = signals_create(&service.signals);
	if (!error)
		error = spawner_create(&service.spawner);
	if (error)
		return error;
	profcol_log_info(&service.logger.base, "Starting profcol %s, %ld CPUs", settings->version,
			 sysconf(_SC_NPROCESSORS_ONLN));
	for (size_t i = 0; i < config->warning_count; i++)
		profcol_log_warn(&service.logger.base, "%s", config->warnings[i]);
	instance_settings.spawner = service.spawner;
	error = graph_create(config, &instance_settings, &service.graph);
	return error ? error : run_graph(&service);
}
