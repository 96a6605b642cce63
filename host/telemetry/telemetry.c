// SPDX-License-Identifier: Apache-2.0
#include "telemetry.h"

#include "collect.h"
#include "exposition.h"
#include "log_output.h"
#include "process.h"
#include "resource.h"

#include "http/http.h"
#include "logging.h"
#include "pipeline/graph.h"

#include "base/base.h"

#include <fnmatch.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* One listener. */
struct scrape_reader {
	struct telemetry *telemetry;            /* borrowed */
	struct profcol_http_listener *listener; /* NULL: closed to make room for another one */
	char *endpoint;                         /* owned */
	/* From prepare to commit or abort; borrowed. NULL: it is to go. */
	const struct config_metrics_reader *wanted;
	/* Under telemetry.lock: */
	bool type_suffix, unit_suffix;
	struct exposition_labels labels;
};

struct telemetry {
	struct http_server *http; /* borrowed, as the next two */
	struct graph *graph;
	const struct log_output *log; /* may be NULL */
	char *version;                /* owned */
	uint64_t start_ns;            /* CLOCK_MONOTONIC */
	_Atomic uint64_t reloads_taken, reloads_refused;
	_Atomic uint64_t reload_unix_ns;        /* of the last one that was taken; 0: none */
	atomic_bool reload_refused;             /* the last one */
	const struct profcol_logger *logger;    /* borrowed; may be NULL */
	VECTOR(struct scrape_reader *) readers; /* owned; not touched by scrapes */
	size_t settled;                         /* of them: those behind are being prepared */
	struct resource *next;                  /* owned; prepared */
	enum config_metrics_level next_level;
	pthread_mutex_t lock; /* over the rest, and a scrape */
	enum config_metrics_level level;
	struct resource *resource; /* owned */
	struct exposition exposition;
};

/* ---- a scrape ---- */

static void collect_process(struct telemetry *telemetry)
{
	static const struct exposition_family uptime = { "otelcol_process_uptime", "seconds",
							 "Uptime of the process",
							 EXPOSITION_COUNTER };
	static const struct exposition_family cpu = { "otelcol_process_cpu_seconds", "seconds",
						      "Total CPU user and system time in seconds",
						      EXPOSITION_COUNTER };
	static const struct exposition_family memory = {
		"otelcol_process_memory_rss", "bytes", "Total physical memory (resident set size)",
		EXPOSITION_GAUGE
	};
	static const struct exposition_labels none;
	struct exposition *to = &telemetry->exposition;
	struct process_figures figures = process_read();

	exposition_add_real(to, &uptime, &none,
			    (double)(clock_monotonic_ns() - telemetry->start_ns) / 1e9);
	exposition_add_real(to, &cpu, &none, figures.cpu_seconds);
	if (figures.memory_bytes)
		exposition_add(to, &memory, &none, figures.memory_bytes);
}

static void collect_reloads(struct telemetry *telemetry)
{
	static const struct exposition_family reloads = {
		"profcol_config_reloads", "", "Times the configuration was read again, by result.",
		EXPOSITION_COUNTER
	};
	static const struct exposition_family last = {
		"profcol_config_last_reload_successful", "",
		"Whether the last reload was taken; 1 before the first.", EXPOSITION_GAUGE
	};
	static const struct exposition_family when = {
		"profcol_config_last_reload_success_timestamp_seconds", "",
		"When a reload was last taken, as Unix time.", EXPOSITION_GAUGE
	};
	static const struct exposition_labels none;
	struct exposition_labels taken = { .length = 0 }, refused = { .length = 0 };
	struct exposition *to = &telemetry->exposition;
	uint64_t unix_ns = atomic_load(&telemetry->reload_unix_ns);

	exposition_label(&taken, "result", "taken");
	exposition_label(&refused, "result", "refused");
	exposition_add(to, &reloads, &taken, (int64_t)atomic_load(&telemetry->reloads_taken));
	exposition_add(to, &reloads, &refused, (int64_t)atomic_load(&telemetry->reloads_refused));
	exposition_add(to, &last, &none, !atomic_load(&telemetry->reload_refused));
	if (unix_ns)
		exposition_add_real(to, &when, &none, (double)unix_ns / 1e9);
}

static void collect_log(struct telemetry *telemetry)
{
	static const struct exposition_family lines = { "profcol_log_lines", "",
							"Log lines written, by level.",
							EXPOSITION_COUNTER };
	static const struct exposition_family suppressed = {
		"profcol_log_suppressed_lines", "",
		"Log lines held back since they repeat themselves.", EXPOSITION_COUNTER
	};
	static const struct exposition_labels none;
	struct log_output_figures figures;

	if (!telemetry->log)
		return;
	log_output_figures(telemetry->log, &figures);
	for (size_t i = 0; i < LOGGING_LEVELS; i++) {
		struct exposition_labels labels = { .length = 0 };

		exposition_label(&labels, "level", logging_levels[i]);
		exposition_add(&telemetry->exposition, &lines, &labels, (int64_t)figures.lines[i]);
	}
	exposition_add(&telemetry->exposition, &suppressed, &none, (int64_t)figures.suppressed);
}

/* False when there was no room for one. */
static bool add_attributes(struct exposition_labels *labels, const struct profcol_map *attributes)
{
	bool fits = true;

	for (size_t i = 0; i < attributes->count; i++)
		fits &= exposition_label(labels, attributes->keys[i], attributes->values[i]);
	return fits;
}

static void collect_target(struct telemetry *telemetry)
{
	static const struct exposition_family family = { "target_info", "", "Target metadata",
							 EXPOSITION_GAUGE, .bare = true };
	struct exposition_labels labels = { .length = 0 };

	add_attributes(&labels, &telemetry->resource->attributes);
	exposition_add(&telemetry->exposition, &family, &labels, 1);
}

static void visit_instance(struct instance *instance, void *context)
{
	struct telemetry *telemetry = context;

	collect_instance(&telemetry->exposition, telemetry->level, instance);
}

static char *scrape(struct scrape_reader *reader, size_t *length_ret)
{
	struct telemetry *telemetry = reader->telemetry;
	struct exposition_style style = {
		.type_suffix = reader->type_suffix,
		.unit_suffix = reader->unit_suffix,
		.labels = reader->labels.length ? reader->labels.text : "",
	};

	exposition_clear(&telemetry->exposition);
	collect_process(telemetry);
	collect_target(telemetry);
	if (telemetry->level >= CONFIG_METRICS_NORMAL) {
		collect_reloads(telemetry);
		collect_log(telemetry);
	}
	graph_lock(telemetry->graph);
	graph_visit(telemetry->graph, visit_instance, telemetry);
	graph_unlock(telemetry->graph);
	return exposition_write(&telemetry->exposition, &style, length_ret);
}

static void answer(void *context, const struct profcol_http_request *request,
		   struct profcol_http_reply *reply)
{
	static const char not_found[] = "404 page not found; metrics are at /metrics\n";
	struct scrape_reader *reader = context;

	if (strcmp(request->path, "/metrics") != 0) {
		reply->status = 404;
		reply->body = strdup(not_found);
		reply->length = reply->body ? sizeof(not_found) - 1 : 0;
		return;
	}
	pthread_mutex_lock(&reader->telemetry->lock);
	reply->body = scrape(reader, &reply->length);
	pthread_mutex_unlock(&reader->telemetry->lock);
	reply->status = reply->body ? 200 : 500;
	if (reply->body)
		reply->content_type = "text/plain; version=0.0.4; charset=utf-8";
}

/* ---- readers ---- */

static bool matches(const char *key, const struct profcol_list *patterns)
{
	for (size_t i = 0; i < patterns->count; i++)
		if (fnmatch(patterns->items[i], key, 0) == 0)
			return true;
	return false;
}

static void add_scope(struct exposition_labels *labels, const char *version)
{
	exposition_label(labels, "otel_scope_name", "profcol");
	exposition_label(labels, "otel_scope_version", version);
	exposition_label(labels, "otel_scope_schema_url", "");
}

/* What @config says beyond the endpoint. */
static void set_style(struct scrape_reader *reader, const struct config_metrics_reader *config,
		      const struct resource *resource)
{
	const struct profcol_map *attributes = &resource->attributes;

	reader->type_suffix = !config->without_type_suffix;
	reader->unit_suffix = !config->without_units;
	reader->labels.length = 0;
	if (!config->without_scope_info)
		add_scope(&reader->labels, reader->telemetry->version);
	for (size_t i = 0; i < attributes->count; i++)
		if (matches(attributes->keys[i], &config->resource_labels) &&
		    !matches(attributes->keys[i], &config->excluded_resource_labels))
			exposition_label(&reader->labels, attributes->keys[i],
					 attributes->values[i]);
}

static void reader_destroy(struct scrape_reader *reader)
{
	if (!reader)
		return;
	http_listener_close(reader->listener);
	free(reader->endpoint);
	free(reader);
}

static struct profcol_error *reader_open(struct scrape_reader *reader)
{
	const struct telemetry *telemetry = reader->telemetry;

	return http_server_open(telemetry->http,
				&(const struct profcol_http_settings){
					.size = sizeof(struct profcol_http_settings),
					.endpoint = reader->endpoint,
					.handle = answer,
					.context = reader,
					.logger = telemetry->logger,
				},
				&reader->listener);
}

/* "127.0.0.1:8888" and "[::]:8888" share theirs. Port 0 is another one each time. */
static bool share_port(const char *a, const char *b)
{
	const char *port_a = strrchr(a, ':'), *port_b = strrchr(b, ':');

	return port_a && port_b && !strcmp(port_a, port_b) && strcmp(port_a, ":0") != 0;
}

/* Close those that are not wanted any more and may be in the way of @endpoint; any there? */
static bool make_room(struct telemetry *telemetry, const char *endpoint)
{
	bool made = false;

	for (size_t i = 0; i < telemetry->settled; i++) {
		struct scrape_reader *reader = telemetry->readers.items[i];

		if (reader->wanted || !reader->listener || !share_port(reader->endpoint, endpoint))
			continue;
		http_listener_close(TAKE(reader->listener));
		made = true;
	}
	return made;
}

static struct profcol_error *reader_create(struct telemetry *telemetry,
					   const struct config_metrics_reader *config,
					   struct scrape_reader **ret)
{
	struct scrape_reader *reader = calloc(1, sizeof(*reader));
	struct profcol_error *error;

	if (reader)
		reader->endpoint = strdup(config->endpoint);
	if (!reader || !reader->endpoint) {
		reader_destroy(reader);
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	}
	reader->telemetry = telemetry;
	reader->wanted = config;
	set_style(reader, config, telemetry->next);
	error = reader_open(reader);
	if (error && make_room(telemetry, config->endpoint)) {
		profcol_error_destroy(error);
		error = reader_open(reader);
	}
	if (error) {
		reader_destroy(reader);
		error = profcol_error_prefix(error, "service::telemetry::metrics::readers");
		// The default reader stands nowhere.
		return config->place ? profcol_error_prefix(error, "%s", config->place) : error;
	}
	*ret = reader;
	return NULL;
}

/* The reader that is to be as @config says; else, one of its endpoint that nothing else wants. */
static struct scrape_reader *find_reader(const struct telemetry *telemetry,
					 const struct config_metrics_reader *config)
{
	struct scrape_reader *free_one = NULL;

	for (size_t i = 0; i < telemetry->readers.count; i++) {
		struct scrape_reader *reader = telemetry->readers.items[i];

		if (reader->wanted == config)
			return reader;
		if (!reader->wanted && !free_one && !strcmp(reader->endpoint, config->endpoint))
			free_one = reader;
	}
	return free_one;
}

/* Close what came after the first @count. */
static void cut_readers(struct telemetry *telemetry, size_t count)
{
	while (telemetry->readers.count > count)
		reader_destroy(telemetry->readers.items[--telemetry->readers.count]);
}

/* Note which ones stay, then open those that are new, behind the others. */
static struct profcol_error *open_readers(struct telemetry *telemetry,
					  const struct config_metrics *metrics)
{
	struct profcol_error *error = NULL;
	struct scrape_reader *reader;

	if (metrics->level == CONFIG_METRICS_NONE)
		return NULL;
	if (!VECTOR_RESERVE(&telemetry->readers, metrics->reader_count))
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	for (size_t i = 0; i < metrics->reader_count; i++) {
		reader = find_reader(telemetry, &metrics->readers[i]);
		if (reader)
			reader->wanted = &metrics->readers[i];
	}
	for (size_t i = 0; i < metrics->reader_count && !error; i++) {
		if (find_reader(telemetry, &metrics->readers[i]))
			continue;
		error = reader_create(telemetry, &metrics->readers[i], &reader);
		if (!error)
			telemetry->readers.items[telemetry->readers.count++] = reader;
	}
	return error;
}

/* Give those that are wanted the style of now, and close the others. */
static void settle_readers(struct telemetry *telemetry)
{
	size_t kept = 0;

	for (size_t i = 0; i < telemetry->readers.count; i++) {
		struct scrape_reader *reader = telemetry->readers.items[i];

		if (!reader->wanted) {
			reader_destroy(reader);
			continue;
		}
		pthread_mutex_lock(&telemetry->lock);
		set_style(reader, TAKE(reader->wanted), telemetry->resource);
		pthread_mutex_unlock(&telemetry->lock);
		telemetry->readers.items[kept++] = reader;
	}
	telemetry->settled = telemetry->readers.count = kept;
}

/* ---- reloading ---- */

/* Prometheus would miss what does not fit. The reader's own labels need room beside it. */
static struct profcol_error *check_room(const struct telemetry *telemetry,
					const struct resource *resource)
{
	const struct profcol_map *attributes = &resource->attributes;
	struct exposition_labels labels = { .length = 0 };
	bool fits;

	add_scope(&labels, telemetry->version);
	fits = add_attributes(&labels, attributes);
	return fits ? NULL
		    : profcol_error_create(PROFCOL_CONFIG,
					   "service::telemetry::resource: as labels of metrics its "
					   "attributes take more than %zu bytes; make them shorter",
					   sizeof(labels.text));
}

struct profcol_error *telemetry_prepare(struct telemetry *telemetry,
					const struct config_service *service)
{
	const struct config_metrics *metrics = &service->metrics;
	struct profcol_error *error =
		resource_create(service, telemetry->version, &telemetry->next);

	if (!error && metrics->level != CONFIG_METRICS_NONE)
		error = check_room(telemetry, telemetry->next);
	if (!error)
		error = open_readers(telemetry, metrics);
	if (error)
		return profcol_error_join(error, telemetry_abort(telemetry));
	telemetry->next_level = (enum config_metrics_level)metrics->level;
	return NULL;
}

void telemetry_commit(struct telemetry *telemetry)
{
	struct resource *old = telemetry->resource;

	pthread_mutex_lock(&telemetry->lock);
	telemetry->resource = TAKE(telemetry->next);
	telemetry->level = telemetry->next_level;
	pthread_mutex_unlock(&telemetry->lock);
	resource_destroy(old);
	settle_readers(telemetry);
}

struct profcol_error *telemetry_abort(struct telemetry *telemetry)
{
	struct profcol_error *error = NULL;

	cut_readers(telemetry, telemetry->settled);
	for (size_t i = 0; i < telemetry->settled; i++) {
		struct scrape_reader *reader = telemetry->readers.items[i];

		reader->wanted = NULL;
		if (!reader->listener)
			error = profcol_error_join(
				error,
				profcol_error_prefix(reader_open(reader),
						     "the metrics of before are not served at %s "
						     "any more",
						     reader->endpoint));
	}
	resource_destroy(TAKE(telemetry->next));
	return error;
}

/* ---- life ---- */

struct profcol_error *telemetry_start(const struct telemetry_settings *settings,
				      struct telemetry **ret)
{
	struct telemetry *telemetry = calloc(1, sizeof(*telemetry));
	struct profcol_error *error;

	if (!telemetry)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	telemetry->http = settings->http;
	telemetry->graph = settings->graph;
	telemetry->log = settings->log;
	telemetry->logger = settings->logger;
	telemetry->start_ns = clock_monotonic_ns();
	pthread_mutex_init(&telemetry->lock, NULL);
	telemetry->version = strdup(settings->version);
	telemetry->level = (enum config_metrics_level)settings->service->metrics.level;
	error = resource_create(settings->service, settings->version, &telemetry->resource);
	if (!error && !telemetry->version)
		error = profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	// Everything is there by now: the first scrape may come while a later listener is opened.
	if (!error)
		error = telemetry_prepare(telemetry, settings->service);
	if (error) {
		telemetry_destroy(telemetry);
		return error;
	}
	telemetry_commit(telemetry);
	*ret = telemetry;
	return NULL;
}

void telemetry_destroy(struct telemetry *telemetry)
{
	if (!telemetry)
		return;
	cut_readers(telemetry, 0);
	VECTOR_DEINIT(&telemetry->readers);
	exposition_deinit(&telemetry->exposition);
	resource_destroy(telemetry->resource);
	resource_destroy(telemetry->next);
	pthread_mutex_destroy(&telemetry->lock);
	free(telemetry->version);
	free(telemetry);
}

void telemetry_note_reload(struct telemetry *telemetry, bool taken)
{
	if (!telemetry)
		return;
	atomic_store(&telemetry->reload_refused, !taken);
	atomic_fetch_add(taken ? &telemetry->reloads_taken : &telemetry->reloads_refused, 1);
	if (taken)
		atomic_store(&telemetry->reload_unix_ns, clock_realtime_ns());
}
