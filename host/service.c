// SPDX-License-Identifier: Apache-2.0
#include "service.h"

#include "lifecycle/lifecycle.h"
#include "lifecycle/reload.h"
#include "lifecycle/signals.h"
#include "lifecycle/watch.h"
#include "spawner.h"
#include "stuck_threads.h"
#include "trimming.h"

#include "http/http.h"
#include "telemetry/log_output.h"
#include "telemetry/telemetry.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

enum { SAMPLES_LINE_BYTES = 4096, THREADS_BYTES = 256 };

static const uint64_t trim_interval_ns = 5000000000;

struct service {
	const struct service_settings *settings; /* borrowed */
	struct config *config;                   /* owned, as all that follow; of the start */
	struct log_output *log;
	struct logger logger;
	struct events events;
	struct signals *signals;
	struct spawner *spawner;
	struct http_server *http;
	struct graph *graph;
	struct telemetry *telemetry;
	struct watch *watch;
	struct lifecycle_patience patience;
	struct trimming trimming;
	uint64_t end_ns; /* CLOCK_MONOTONIC: a signal has asked for the end; 0 = none has */
};

static void service_deinit(struct service *service)
{
	int signal;

	watch_destroy(service->watch);
	telemetry_destroy(service->telemetry);
	graph_destroy(service->graph);
	http_server_destroy(service->http);
	spawner_destroy(service->spawner);
	signal = signals_destroy(service->signals);
	if (service->settings->signal)
		*service->settings->signal = signal;
	events_deinit(&service->events);
	log_output_destroy(service->log);
	config_destroy(service->config);
}

/* ---- the end ---- */

static void log_samples(const struct service *service, const char *rest)
{
	char line[SAMPLES_LINE_BYTES];

	graph_format_samples(service->graph, rest, line, sizeof(line));
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

static void log_metrics(struct instance *instance, void *context)
{
	(void)context;
	metrics_visit(&instance->metrics, log_metric, instance);
}

/* Called from a thread of the lifecycle, while the main thread hangs in @stuck. */
static void give_up(const struct instance *stuck, void *context)
{
	const struct service *service = context;
	char threads[THREADS_BYTES];

	stuck_threads_list(threads, sizeof(threads));
	profcol_log_error(
		&service->logger.base, "%s '%s' has not shut down in time, ending without it%s%s",
		instance_kind(stuck), stuck->id,
		*threads ? "; a disk or file system does not answer its thread " : "", threads);
	log_samples(service, "shutdown");
	_exit(1);
}

/* The time counts from the signal, which may have come during a reload. */
static uint64_t drain_time(const struct service *service)
{
	uint64_t gone_ns = service->end_ns ? clock_monotonic_ns() - service->end_ns : 0;

	return gone_ns < service->patience.drain_ns ? service->patience.drain_ns - gone_ns : 0;
}

static struct profcol_error *shut_down(struct service *service)
{
	struct lifecycle_patience patience = service->patience;
	struct profcol_error *error;

	graph_set_ready(service->graph, false);
	watch_destroy(TAKE(service->watch));
	profcol_log_info(&service->logger.base, "Starting shutdown...");
	patience.drain_ns = drain_time(service);
	error = lifecycle_shutdown(service->graph, &patience);
	profcol_log_info(&service->logger.base, "Shutdown complete.");
	return error;
}

/* ---- who goes along ---- */

void service_end(struct service *service)
{
	events_post_end(&service->events, 0);
}

static void count_metric(const struct metrics_entry *entry, void *context)
{
	struct service_samples *samples = context;
	int64_t value = profcol_metric_get(&entry->metric);

	if (value > 0 && !strcmp(entry->name, "receiver_refused_requests"))
		samples->refused_requests += (uint64_t)value;
	if (value > 0 && !strcmp(entry->name, "processes_known"))
		samples->processes += (uint64_t)value;
	if (value > 0 && !strcmp(entry->name, "select_programs") &&
	    !strcmp(entry->label, "verdict=selected"))
		samples->selected += (uint64_t)value;
}

static void count_outcomes(struct instance *instance, void *context)
{
	struct service_samples *samples = context;
	const struct account *account = &instance->account;

	samples->exported += account_samples(account, PROFCOL_EXPORTED, NULL);
	samples->filtered += account_samples(account, PROFCOL_FILTERED, NULL);
	samples->lost += account_samples(account, PROFCOL_LOST, NULL);
	metrics_visit(&instance->metrics, count_metric, samples);
}

static void count_taken(struct instance *instance, void *context)
{
	struct service_samples *samples = context;

	samples->taken += account_samples(&instance->account, PROFCOL_TAKEN, NULL);
}

struct service_samples service_count(struct service *service)
{
	struct service_samples samples = { 0 };

	graph_lock(service->graph);
	graph_visit(service->graph, count_outcomes, &samples);
	// Last, and of all: samples are taken before anything becomes of them.
	graph_visit(service->graph, count_taken, &samples);
	graph_unlock(service->graph);
	return samples;
}

static void count_losses(const struct service *service, struct service_losses *losses)
{
	struct balance balance;

	graph_balance(service->graph, losses->exporter, &balance);
	losses->samples = balance.totals[PROFCOL_LOST];
	balance_format_causes(&balance, PROFCOL_LOST, losses->causes, sizeof(losses->causes));
}

/* ---- what happens meanwhile ---- */

/* Of a component. Any thread. */
static void post_fatal(struct profcol_error *error, void *context)
{
	struct service *service = context;

	events_post_fatal(&service->events, error);
}

static struct profcol_error *run_reload(struct service *service)
{
	const struct reload reload = {
		.sources = service->settings->sources,
		.registry = service->settings->registry,
		.plugins = &service->config->service.plugins,
		.graph = service->graph,
		.log = service->log,
		.telemetry = service->telemetry,
		.watch = service->watch,
		.logger = &service->logger,
		.patience = &service->patience,
	};

	return reload_run(&reload);
}

/* By the names that the Collector's runtime has for them. */
static void log_signal(const struct service *service, int number)
{
	const char *name = number == SIGHUP   ? "hangup"
			   : number == SIGINT ? "interrupt"
					      : "terminated";
	const struct log_field field = { .key = "signal", .text = name };

	logging_write_fields(&service->logger, PROFCOL_INFO, __FILE__, __LINE__,
			     "Received signal from OS", &field, 1);
}

/* Meanwhile what the start, and whatever is rare, has left in memory goes. */
static struct event next_event(struct service *service)
{
	while (!events_wait_until(&service->events, clock_monotonic_ns() + trim_interval_ns))
		trimming_look(&service->trimming);
	return events_wait(&service->events);
}

/* Until the run is to end: NULL when a signal asked for it. */
static struct profcol_error *await_end(struct service *service)
{
	struct profcol_error *fatal = NULL;

	while (!fatal) {
		struct event event = next_event(service);

		switch (event.kind) {
		case EVENT_END:
			service->end_ns = event.since_ns;
			if (event.number)
				log_signal(service, event.number);
			return NULL;
		case EVENT_FATAL:
			fatal = event.error;
			break;
		case EVENT_RELOAD:
			log_signal(service, SIGHUP);
			if (service->settings->hangup_ends)
				return NULL;
			// Who has moved the files of the log away asks for this.
			log_output_reopen(service->log);
			fatal = run_reload(service);
			break;
		case EVENT_FILES_CHANGED:
			profcol_log_info(&service->logger.base,
					 "A file of the configuration has changed");
			fatal = run_reload(service);
			break;
		}
	}
	profcol_log_error(&service->logger.base,
			  "Asynchronous error received, terminating process: %s",
			  profcol_error_message(fatal));
	return fatal;
}

/* ---- the start ---- */

/* The Collector's code for it is 1, whatever is wrong: not that of a configuration. */
static struct profcol_error *fail_start(struct profcol_error *error)
{
	struct profcol_error *failure = profcol_error_create(
		PROFCOL_SYSTEM, "cannot start pipelines: %s", profcol_error_message(error));

	profcol_error_destroy(error);
	return failure;
}

static void log_start(const struct service *service)
{
	const struct log_field fields[] = {
		{ .key = "Version", .text = service->settings->version },
		{ .key = "NumCPU", .number = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) },
	};

	logging_write_fields(&service->logger, PROFCOL_INFO, __FILE__, __LINE__,
			     "Starting profcol...", fields, 2);
}

/* From here to the end. */
static struct profcol_error *follow(struct service *service)
{
	const struct service_companion *companion = service->settings->companion;
	struct profcol_error *error;

	// Who has been asked to end while starting has not started.
	if (!companion || lifecycle_is_ending(service->graph))
		return await_end(service);
	companion->started(service, companion->context);
	error = await_end(service);
	companion->ending(companion->context);
	return error;
}

static struct profcol_error *run_graph(struct service *service)
{
	struct profcol_error *error = lifecycle_start(service->graph);
	struct profcol_error *failure;

	if (error) {
		// What the undoing runs into is of no interest next to the cause.
		profcol_error_destroy(shut_down(service));
		return fail_start(error);
	}
	if (!lifecycle_is_ending(service->graph)) {
		graph_set_ready(service->graph, true);
		profcol_log_info(&service->logger.base,
				 "Everything is ready. Begin running and processing data.");
	}
	error = follow(service);
	failure = shut_down(service);
	if (service->settings->samples)
		*service->settings->samples = service_count(service);
	if (service->settings->losses)
		count_losses(service, service->settings->losses);
	graph_lock(service->graph);
	graph_visit(service->graph, log_metrics, NULL);
	graph_unlock(service->graph);
	log_samples(service, NULL);
	return profcol_error_join(error,
				  profcol_error_prefix(failure, "failed to shutdown pipelines"));
}

/* What the components need, before there are any. */
static struct profcol_error *make_surroundings(struct service *service)
{
	const struct service_settings *settings = service->settings;
	struct profcol_error *error;

	error = log_output_create(&service->config->service, settings->version, settings->log_fd,
				  &service->log);
	if (error)
		return error;
	logging_init(&service->logger, "profcol", log_output_level(service->log), settings->log_fd,
		     service->log);
	error = signals_create(&service->events, &service->signals);
	if (!error)
		error = spawner_create(&service->spawner);
	if (!error)
		error = http_server_create(&service->http);
	if (!error)
		spawner_set_plugins(service->spawner, settings->plugins);
	return error;
}

static struct profcol_error *make_graph(struct service *service)
{
	const struct instance_settings settings = {
		.version = service->settings->version,
		.level = log_output_level(service->log),
		.log_fd = service->settings->log_fd,
		.log = service->log,
		.spawner = service->spawner,
		.http = service->http,
		.end_fd = service->events.end_fd,
		.fatal = post_fatal,
		.context = service,
	};
	struct telemetry_settings telemetry = {
		.service = &service->config->service,
		.http = service->http,
		.log = service->log,
		.version = service->settings->version,
		.logger = &service->logger.base,
	};
	struct profcol_error *error = graph_create(service->config, &settings, &service->graph);

	if (error)
		return error;
	telemetry.graph = service->graph;
	error = telemetry_start(&telemetry, &service->telemetry);
	if (error)
		return fail_start(error);
	if (service->settings->watch)
		error = watch_create(&service->events, &watch_usual_pace, service->config->watched,
				     service->config->watched_count, &service->watch);
	return error;
}

struct profcol_error *service_run(const struct service_settings *settings, struct config *config)
{
	CLEANUP(service_deinit) struct service service = {
		.settings = settings,
		.config = config,
		.patience = {
			.drain_ns = config->service.shutdown_timeout_ns,
			.grace_ns = settings->grace_ns,
			.give_up = give_up,
			.context = &service,
		},
	};
	struct profcol_error *error;

	events_init(&service.events);
	error = make_surroundings(&service);
	if (error)
		return error;
	log_start(&service);
	for (size_t i = 0; i < config->warning_count; i++)
		profcol_log_warn(&service.logger.base, "%s", config->warnings[i]);
	error = make_graph(&service);
	return error ? error : run_graph(&service);
}
