// SPDX-License-Identifier: Apache-2.0
#include "fake_host.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void assert_no_error(struct profcol_error *error)
{
	if (error)
		fail_msg("%s", profcol_error_message(error));
}

static struct fake_host *fake_of_host(const struct profcol_host *host)
{
	return (struct fake_host *)((uintptr_t)host - offsetof(struct fake_host, host));
}

static void fake_account(const struct profcol_host *host, enum profcol_outcome outcome,
			 const char *cause, uint64_t samples)
{
	struct fake_host *fake = fake_of_host(host);

	if (outcome == PROFCOL_EXPORTED || outcome == PROFCOL_TAKEN) {
		atomic_fetch_add(outcome == PROFCOL_TAKEN ? &fake->taken : &fake->exported,
				 samples);
		return;
	}
	atomic_fetch_add(&fake->lost, samples);
	pthread_mutex_lock(&fake->lock);
	for (size_t i = 0; i < FAKE_CAUSES_MAX; i++) {
		if (fake->causes[i].cause && strcmp(fake->causes[i].cause, cause))
			continue;
		fake->causes[i].cause = cause;
		fake->causes[i].events += samples;
		break;
	}
	pthread_mutex_unlock(&fake->lock);
}

static struct profcol_metric *fake_metric(const struct profcol_host *host,
					  enum profcol_metric_kind kind, const char *name,
					  const char *label, const char *doc)
{
	struct fake_host *fake = fake_of_host(host);
	size_t i = 0;

	(void)kind;
	(void)doc;
	while (i < FAKE_METRICS_MAX - 1 && fake->metric_names[i] &&
	       (strcmp(fake->metric_names[i], name) != 0 ||
		strcmp(fake->metric_labels[i], label) != 0))
		i++;
	fake->metric_names[i] = name;
	snprintf(fake->metric_labels[i], sizeof(fake->metric_labels[i]), "%s", label);
	return &fake->metrics[i];
}

static bool fake_has_room(const struct profcol_host *host, size_t bytes)
{
	(void)bytes;
	return !atomic_load(&fake_of_host(host)->is_full);
}

static void fake_report_status(const struct profcol_host *host, enum profcol_status status,
			       const char *message)
{
	struct fake_host *fake = fake_of_host(host);

	(void)message;
	atomic_store(&fake->status, (int)status);
}

__attribute__((format(printf, 3, 0))) static void fake_log(const struct profcol_logger *logger,
							   enum profcol_level level,
							   const char *format, va_list arguments)
{
	struct fake_host *fake =
		(struct fake_host *)((uintptr_t)logger - offsetof(struct fake_host, logger));
	static const char *const levels[] = { "debug", "info", "warn", "error" };
	char *message = NULL, *line = NULL, *log;
	int length;

	if (vasprintf(&message, format, arguments) < 0)
		abort();
	length = asprintf(&line, "%s %s\n", levels[level], message);
	pthread_mutex_lock(&fake->lock);
	log = length < 0 ? NULL : realloc(fake->log, fake->log_length + (size_t)length + 1);
	if (!log)
		abort();
	memcpy(log + fake->log_length, line, (size_t)length + 1);
	fake->log = log;
	fake->log_length += (size_t)length;
	pthread_mutex_unlock(&fake->lock);
	free(message);
	free(line);
}

/* The option at @key, and in @field_ret the place of its field. */
static const struct profcol_option *fake_find(struct fake_host *fake, const char *key,
					      char **field_ret)
{
	const struct profcol_option *option = fake->component->options;
	char *base = fake->config;

	while (option->key) {
		size_t length = strlen(option->key);

		if (!strcmp(option->key, key)) {
			*field_ret = base + option->offset;
			return option;
		}
		if (option->nested && !strncmp(option->key, key, length) && key[length] == '.') {
			base += option->offset;
			key += length + 1;
			option = option->nested;
			continue;
		}
		option++;
	}
	fail_msg("there is no option %s", key);
	return NULL;
}

void fake_host_set_texts(const struct profcol_option *table, char *base)
{
	for (const struct profcol_option *option = table; option->key; option++) {
		char *field = base + option->offset;

		if (option->type == PROFCOL_OPTION_STRING || option->type == PROFCOL_OPTION_SECRET)
			*(const char **)(void *)field = "";
		else if (option->type == PROFCOL_OPTION_NESTED)
			fake_host_set_texts(option->nested, field);
	}
}

void fake_host_set_int(struct fake_host *fake, const char *key, int64_t value)
{
	char *field = NULL;
	const struct profcol_option *option = fake_find(fake, key, &field);

	switch (option->type) {
	case PROFCOL_OPTION_BOOL:
		*(bool *)field = value;
		break;
	case PROFCOL_OPTION_ENUM:
		*(int *)(void *)field = (int)value;
		break;
	case PROFCOL_OPTION_INT:
		*(int64_t *)(void *)field = value;
		break;
	case PROFCOL_OPTION_DURATION:
	case PROFCOL_OPTION_BYTES:
		*(uint64_t *)(void *)field = (uint64_t)value;
		break;
	case PROFCOL_OPTION_NESTED:
		assert_int_not_equal(option->named, 0);
		*(bool *)(field - option->offset + option->named - 1) = value;
		break;
	default:
		fail_msg("option %s is no number", key);
	}
}

void fake_host_set_text(struct fake_host *fake, const char *key, const char *value)
{
	char *field = NULL;

	fake_find(fake, key, &field);
	*(const char **)(void *)field = value;
}

void fake_host_set_list(struct fake_host *fake, const char *key, const char *const *items,
			size_t count)
{
	char *field = NULL;

	fake_find(fake, key, &field);
	*(struct profcol_list *)(void *)field =
		(struct profcol_list){ .items = items, .count = count };
}

void fake_host_init(struct fake_host *fake, const struct profcol_component *component)
{
	*fake = (struct fake_host){
		.host = {
			.size = sizeof(fake->host),
			.id = component->type,
			.version = "0.0.0",
			.logger = &fake->logger,
			.account = fake_account,
			.metric = fake_metric,
			.report_status = fake_report_status,
			.has_room = fake_has_room,
		},
		.logger = {
			.size = sizeof(fake->logger),
			.level = PROFCOL_DEBUG,
			.write = fake_log,
		},
		.component = component,
	};
	pthread_mutex_init(&fake->lock, NULL);
	fake->config = calloc(1, component->config_size);
	assert_non_null(fake->config);
}

void fake_host_deinit(struct fake_host *fake)
{
	fake->component->destroy(fake->instance);
	free(fake->config);
	free(fake->log);
	pthread_mutex_destroy(&fake->lock);
}

struct profcol_error *fake_host_try_start(struct fake_host *fake)
{
	const struct profcol_component *component = fake->component;
	struct profcol_error *error = NULL;

	if (component->validate)
		error = component->validate(fake->config);
	if (!error)
		error = component->create(&fake->host, fake->config, &fake->instance);
	if (!error && component->start)
		error = component->start(fake->instance);
	return error;
}

void fake_host_start(struct fake_host *fake)
{
	assert_no_error(fake_host_try_start(fake));
}

void fake_host_consume(struct fake_host *fake, struct profcol_batch *batch)
{
	assert_no_error(fake->component->consume(fake->instance, batch));
}

void fake_host_shutdown(struct fake_host *fake)
{
	if (fake->instance && fake->component->shutdown)
		assert_no_error(fake->component->shutdown(
			fake->instance, clock_monotonic_ns() + 3600 * PROFCOL_SECOND));
}

uint64_t fake_host_lost_by(struct fake_host *fake, const char *cause)
{
	uint64_t events = 0;

	pthread_mutex_lock(&fake->lock);
	for (size_t i = 0; i < FAKE_CAUSES_MAX; i++)
		if (fake->causes[i].cause && !strcmp(fake->causes[i].cause, cause))
			events = fake->causes[i].events;
	pthread_mutex_unlock(&fake->lock);
	return events;
}

int64_t fake_host_metric(struct fake_host *fake, const char *name)
{
	int64_t sum = 0;
	bool known = false;

	for (size_t i = 0; i < FAKE_METRICS_MAX && fake->metric_names[i]; i++) {
		if (strcmp(fake->metric_names[i], name) != 0)
			continue;
		sum += profcol_metric_get(&fake->metrics[i]);
		known = true;
	}
	if (!known)
		fail_msg("there is no metric %s", name);
	return sum;
}

int64_t fake_host_metric_with(struct fake_host *fake, const char *name, const char *label)
{
	for (size_t i = 0; i < FAKE_METRICS_MAX && fake->metric_names[i]; i++)
		if (!strcmp(fake->metric_names[i], name) && !strcmp(fake->metric_labels[i], label))
			return profcol_metric_get(&fake->metrics[i]);
	fail_msg("there is no metric %s with %s", name, label);
	return 0;
}

unsigned int fake_host_log_count(struct fake_host *fake, const char *text)
{
	unsigned int count = 0;

	pthread_mutex_lock(&fake->lock);
	for (const char *at = fake->log; at && (at = strstr(at, text)); at++)
		count++;
	pthread_mutex_unlock(&fake->lock);
	return count;
}
