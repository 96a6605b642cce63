// SPDX-License-Identifier: Apache-2.0
#include "log_output.h"

#include "log_line.h"
#include "log_sampling.h"
#include "log_sinks.h"
#include "resource.h"

#include "logging.h"

#include "base/base.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Of what the configuration adds to every line: a longer one would crowd out the message. */
enum { FIELDS_BYTES = 4096, NOTICES_AT_ONCE = 8 };

/* Constant while it is in use. */
struct setup {
	enum profcol_level level;
	bool json, caller;
	char *fields; /* `"k": "v", "resource": {...}`; "" for none */
	struct log_sinks sinks, errors;
	bool sampling;
	uint64_t tick_ns;
	int64_t initial, thereafter;
};

struct log_output {
	char *version;
	int stderr_fd;
	pthread_rwlock_t lock; /* held for reading over a line, for writing over a change */
	struct setup *setup;   /* owned */
	struct log_sampling sampling;
	_Atomic uint64_t lines[PROFCOL_ERROR + 1];
	_Atomic uint64_t suppressed;
};

/* ---- fields ---- */

/* As zap lays JSON out: with spaces in console lines, without in JSON ones. */
static void add_key(struct log_line *line, const char *key, bool json)
{
	char last = line->length ? line->bytes[line->length - 1] : '{';

	if (last != '{' && last != '\t')
		log_line_add(line, json ? "," : ", ");
	log_line_add_string(line, key);
	log_line_add(line, json ? ":" : ": ");
}

static void add_field(struct log_line *line, const char *key, const char *value, bool json)
{
	add_key(line, key, json);
	log_line_add_string(line, value);
}

static void add_map(struct log_line *line, const struct profcol_map *map, bool json)
{
	for (size_t i = 0; i < map->count; i++)
		add_field(line, map->keys[i], map->values[i], json);
}

/* What is on every line, initial_fields first as zap has it. */
static struct profcol_error *make_fields(const struct config_service *service, const char *version,
					 struct setup *setup)
{
	CLEANUP_FREE struct log_line *line = calloc(1, sizeof(*line));
	struct resource *resource = NULL;
	struct profcol_error *error = resource_create(service, version, &resource);

	if (!error && !line)
		error = profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	if (error) {
		resource_destroy(resource);
		return error;
	}
	add_map(line, &service->logs.initial_fields, setup->json);
	if (resource->attributes.count && !service->logs.disable_zap_resource) {
		add_key(line, "resource", setup->json);
		log_line_add(line, "{");
		add_map(line, &resource->attributes, setup->json);
		log_line_add(line, "}");
	}
	resource_destroy(resource);
	if (line->length > FIELDS_BYTES)
		return profcol_error_create(PROFCOL_CONFIG,
					    "service::telemetry: the resource and "
					    "logs::initial_fields take more than %d bytes of every "
					    "log line; make them shorter",
					    FIELDS_BYTES);
	setup->fields = strndup(line->bytes, line->length);
	return setup->fields ? NULL : profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
}

/* ---- life ---- */

static void setup_destroy(struct setup *setup)
{
	if (!setup)
		return;
	log_sinks_deinit(&setup->sinks);
	log_sinks_deinit(&setup->errors);
	free(setup->fields);
	free(setup);
}

static struct profcol_error *setup_create(const struct log_output *output,
					  const struct config_service *service, struct setup **ret)
{
	const struct config_logs *logs = &service->logs;
	struct setup *setup = calloc(1, sizeof(*setup));
	struct profcol_error *error;

	if (!setup)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	*setup = (struct setup){
		.level = (enum profcol_level)logs->level,
		.json = logs->encoding == CONFIG_JSON,
		.caller = !logs->disable_caller,
		.sampling = logs->sampling,
		.tick_ns = logs->sampling_tick_ns,
		.initial = logs->sampling_initial,
		.thereafter = logs->sampling_thereafter,
	};
	error = make_fields(service, output->version, setup);
	if (!error)
		error = log_sinks_init(&setup->sinks, &logs->output_paths,
				       "service::telemetry::logs::output_paths", output->stderr_fd);
	if (!error)
		error = log_sinks_init(&setup->errors, &logs->error_output_paths,
				       "service::telemetry::logs::error_output_paths",
				       output->stderr_fd);
	if (error)
		setup_destroy(setup);
	else
		*ret = setup;
	return error;
}

struct profcol_error *log_output_configure(struct log_output *output,
					   const struct config_service *service)
{
	struct setup *setup, *old;
	struct profcol_error *error = setup_create(output, service, &setup);

	if (error)
		return error;
	pthread_rwlock_wrlock(&output->lock);
	old = output->setup;
	output->setup = setup;
	log_sampling_configure(&output->sampling, setup->sampling, setup->tick_ns, setup->initial,
			       setup->thereafter);
	pthread_rwlock_unlock(&output->lock);
	setup_destroy(old);
	return NULL;
}

struct profcol_error *log_output_create(const struct config_service *service, const char *version,
					int stderr_fd, struct log_output **ret)
{
	struct log_output *output = calloc(1, sizeof(*output));
	struct profcol_error *error;

	if (!output)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	output->stderr_fd = stderr_fd;
	pthread_rwlock_init(&output->lock, NULL);
	log_sampling_init(&output->sampling);
	output->version = strdup(version);
	error = output->version ? log_output_configure(output, service)
				: profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	if (error)
		log_output_destroy(output);
	else
		*ret = output;
	return error;
}

void log_output_reopen(struct log_output *output)
{
	struct setup *setup = output->setup;
	int sinks[LOG_SINKS_MAX], errors[LOG_SINKS_MAX];

	// Opening may take time, and lines go on meanwhile: only configure, which is not called
	// meanwhile, changes paths.
	log_sinks_open_again(&setup->sinks, sinks);
	log_sinks_open_again(&setup->errors, errors);
	pthread_rwlock_wrlock(&output->lock);
	log_sinks_replace(&setup->sinks, sinks);
	log_sinks_replace(&setup->errors, errors);
	pthread_rwlock_unlock(&output->lock);
}

enum profcol_level log_output_level(const struct log_output *output)
{
	// Only configure writes it, and that is not called meanwhile.
	return output->setup->level;
}

/* ---- lines ---- */

/* "host/service.c:120": the last folder is enough, as zap has it. */
static void add_place(struct log_line *line, const struct log_record *record,
		      enum log_line_escape escape)
{
	const char *at = strrchr(record->file, '/');

	while (at && at > record->file && at[-1] != '/')
		at--;
	log_line_add_text(line, at ? at : record->file, escape, line->length + LOG_LINE_ID_BYTES);
	log_line_add(line, ":");
	log_line_add_number(line, record->line);
}

static void add_own_fields(struct log_line *line, const struct log_record *record, bool json)
{
	for (size_t i = 0; i < record->field_count; i++) {
		const struct log_field *field = &record->fields[i];

		add_key(line, field->key, json);
		if (field->text)
			log_line_add_string(line, field->text);
		else
			log_line_add_number(line, field->number);
	}
}

static void add_fields(struct log_line *line, const struct setup *setup,
		       const struct log_record *record, uint64_t suppressed)
{
	if (setup->fields[0]) {
		if (setup->json)
			log_line_add(line, ",");
		log_line_add(line, setup->fields);
	}
	if (record->kind) {
		add_field(line, "otelcol.component.id", record->id, setup->json);
		add_field(line, "otelcol.component.kind", record->kind, setup->json);
		if (record->pipeline)
			add_field(line, "otelcol.pipeline.id", record->pipeline, setup->json);
		if (strcmp(record->kind, "extension") != 0)
			add_field(line, "otelcol.signal", "profiles", setup->json);
	}
	add_own_fields(line, record, setup->json);
	if (suppressed) {
		add_key(line, "suppressed", setup->json);
		log_line_add_number(line, suppressed);
	}
}

static void lay_out_json(struct log_line *line, const struct setup *setup,
			 const struct log_record *record, uint64_t suppressed)
{
	log_line_add(line, "{\"level\":\"");
	log_line_add(line, logging_levels[record->level]);
	log_line_add(line, "\",\"ts\":\"");
	log_line_add_time(line);
	log_line_add(line, "\"");
	if (setup->caller && record->file) {
		log_line_add(line, ",\"caller\":\"");
		add_place(line, record, LOG_LINE_JSON);
		log_line_add(line, "\"");
	}
	log_line_add(line, ",\"msg\":\"");
	log_line_add_text(line, record->message, LOG_LINE_JSON, LOG_LINE_TEXT_END);
	log_line_add(line, "\"");
	add_fields(line, setup, record, suppressed);
	log_line_add(line, "}");
}

static void lay_out_console(struct log_line *line, const struct setup *setup,
			    const struct log_record *record, uint64_t suppressed)
{
	log_line_add_time(line);
	log_line_add(line, "\t");
	log_line_add(line, logging_levels[record->level]);
	log_line_add(line, "\t");
	if (setup->caller) {
		// A line without a place has the column all the same, for who splits it at tabs.
		if (record->file)
			add_place(line, record, LOG_LINE_CONSOLE);
		else
			log_line_add_text(line, record->id, LOG_LINE_CONSOLE,
					  line->length + LOG_LINE_ID_BYTES);
		log_line_add(line, "\t");
	}
	log_line_add_text(line, record->message, record->text ? LOG_LINE_TEXT : LOG_LINE_CONSOLE,
			  LOG_LINE_TEXT_END);
	if (!setup->fields[0] && !record->kind && !record->field_count && !suppressed)
		return;
	log_line_add(line, "\t{");
	add_fields(line, setup, record, suppressed);
	log_line_add(line, "}");
}

/* The caller holds the lock. */
static void write_line(struct log_output *output, const struct log_record *record,
		       uint64_t suppressed)
{
	struct log_line line;

	line.length = 0;
	if (output->setup->json)
		lay_out_json(&line, output->setup, record, suppressed);
	else
		lay_out_console(&line, output->setup, record, suppressed);
	if (log_sinks_write(&output->setup->sinks, &line, &output->setup->errors))
		atomic_fetch_add_explicit(&output->lines[record->level], 1, memory_order_relaxed);
}

/* A line about lines that no other line has told of. */
static void write_suppressed(struct log_output *output, const struct log_suppressed *held)
{
	char message[LOG_SAMPLING_TEXT + 64];
	const struct log_record record = {
		.level = held->level,
		.id = held->id,
		.format = message,
		.message = message,
	};

	snprintf(message, sizeof(message), "Suppressed repetitions of: %s", held->text);
	write_line(output, &record, held->count);
}

/* What programs print through the log, line by line, is data and not a message that repeats. */
static bool is_data(const struct log_record *record)
{
	return record->level <= PROFCOL_INFO &&
	       (record->text || !strcmp(record->format, "%s") || !strcmp(record->format, "%.*s"));
}

static void sample_line(struct log_output *output, const struct log_record *record)
{
	uint64_t now_ns = clock_monotonic_ns(), suppressed;
	struct log_suppressed held;
	uint64_t key = log_sampling_key(record->level, record->id, record->format, record->message);
	bool admitted = log_sampling_admit(&output->sampling, key, record->level, record->id,
					   record->message, now_ns, &suppressed, &held);

	if (held.count)
		write_suppressed(output, &held);
	if (admitted)
		write_line(output, record, suppressed);
	else
		atomic_fetch_add_explicit(&output->suppressed, 1, memory_order_relaxed);
}

void log_output_write(struct log_output *output, const struct log_record *record)
{
	struct log_suppressed held;

	pthread_rwlock_rdlock(&output->lock);
	if (record->level >= output->setup->level && record->level <= PROFCOL_ERROR) {
		if (!output->setup->sampling || is_data(record))
			write_line(output, record, 0);
		else
			sample_line(output, record);
		for (int i = 0; i < NOTICES_AT_ONCE; i++) {
			if (!log_sampling_take_expired(&output->sampling, clock_monotonic_ns(),
						       &held))
				break;
			write_suppressed(output, &held);
		}
	}
	pthread_rwlock_unlock(&output->lock);
}

void log_output_figures(const struct log_output *output, struct log_output_figures *ret)
{
	for (size_t i = 0; i <= PROFCOL_ERROR; i++)
		ret->lines[i] = atomic_load_explicit(&output->lines[i], memory_order_relaxed);
	ret->suppressed = atomic_load_explicit(&output->suppressed, memory_order_relaxed);
}

void log_output_destroy(struct log_output *output)
{
	struct log_suppressed held;

	if (!output)
		return;
	for (int i = 0; output->setup && i < LOG_SAMPLING_SLOTS; i++) {
		if (!log_sampling_take_expired(&output->sampling, UINT64_MAX, &held))
			break;
		write_suppressed(output, &held);
	}
	setup_destroy(output->setup);
	log_sampling_deinit(&output->sampling);
	pthread_rwlock_destroy(&output->lock);
	free(output->version);
	free(output);
}
