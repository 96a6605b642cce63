// SPDX-License-Identifier: Apache-2.0
#include "instance.h"

#include "registry.h"
#include "spawner.h"

#include "sending/sending.h"

#include "base/base.h"

#include <profcol/batch.h>

#include <errno.h>
#include <string.h>
#include <time.h>

/* ---- the services ---- */

/* The host that a component is given is its instance's first member; it is const to the component
 * only. */
static struct instance *instance_of(const struct profcol_host *host)
{
	return (struct instance *)(uintptr_t)host;
}

/*
 * Each consumer gets a reference to the same sealed batch, also one that MUTATES:
 * a batch cannot change, and profcol_builder_from() copies only what is written to.
 */
static struct profcol_error *host_consume_next(const struct profcol_host *host,
					       struct profcol_batch *batch)
{
	struct instance *instance = instance_of(host);
	struct profcol_error *error = NULL;

	for (size_t i = 0; i < instance->next.count; i++) {
		struct profcol_error *refusal;

		refusal = instance_consume(instance->next.items[i], profcol_batch_ref(batch));
		error = profcol_error_join(error, refusal);
	}
	profcol_batch_unref(batch);
	return error;
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

/* Logs changes only: a component may report after each batch. */
static void host_report_status(const struct profcol_host *host, enum profcol_status status,
			       const char *message)
{
	struct instance *instance = instance_of(host);
	const struct profcol_logger *logger = &instance->logger.base;

	if (atomic_exchange(&instance->status, (int)status) == (int)status)
		return;
	// Who gives no reason for trouble has logged it.
	if (!message && status == PROFCOL_STATUS_RECOVERABLE_ERROR)
		return;
	if (!message)
		message = "no reason given";
	switch (status) {
	case PROFCOL_STATUS_OK:
		profcol_log_info(logger, "working again");
		break;
	case PROFCOL_STATUS_RECOVERABLE_ERROR:
		profcol_log_warn(logger, "in trouble, trying on: %s", message);
		break;
	case PROFCOL_STATUS_PERMANENT_ERROR:
		profcol_log_error(logger, "given up, the other components go on: %s", message);
		break;
	}
}

static struct profcol_error *host_spawn_helper(const struct profcol_host *host, int *socket_ret,
					       pid_t *pid_ret)
{
	struct instance *instance = instance_of(host);
	const struct profcol_component *type = instance->configuration->type;

	if (!type->helper || !instance->spawner)
		return profcol_error_create(PROFCOL_UNSUPPORTED, "component '%s' has no helper",
					    type->type);
	return spawner_spawn(instance->spawner, type->kind, type->type, socket_ret, pid_ret);
}

/* ---- life ---- */

static void instance_init(struct instance *instance, const struct config_component *configuration,
			  const struct instance_settings *settings)
{
	enum profcol_kind kind = configuration->type->kind;

	instance->configuration = configuration;
	instance->spawner = settings->spawner;
	logging_init(&instance->logger, configuration->id, settings->level, settings->log_fd);
	metrics_init(&instance->metrics);
	account_init(&instance->account);
	pthread_rwlock_init(&instance->gate, NULL);
	pthread_mutex_init(&instance->serial, NULL);
	instance->host = (struct profcol_host){
		.size = sizeof(instance->host),
		.id = configuration->id,
		.version = settings->version,
		.logger = &instance->logger.base,
		.consume_next = kind == PROFCOL_RECEIVER || kind == PROFCOL_PROCESSOR
					? host_consume_next
					: NULL,
		.account = host_account,
		.metric = host_metric,
		.report_status = host_report_status,
		.spawn_helper = host_spawn_helper,
	};
}

/* What stands before a component that has `send`. */
static struct profcol_error *create_sending(struct instance *instance,
					    const struct instance_settings *settings)
{
	const struct config_component *configuration = instance->configuration;
	const struct sending_config *config =
		sending_config_of(configuration->type, configuration->options);
	struct sending_target target = {
		.host = &instance->host,
		.type = configuration->type,
		.self = instance->self,
	};
	const struct instance *extension;

	if (config->queue.enabled && config->queue.storage[0]) {
		extension = instance_find_extension(settings, config->queue.storage);
		if (!extension || !extension->configuration->type->storage)
			return profcol_error_create(PROFCOL_CONFIG,
						    "sending_queue::storage: no extension '%s' "
						    "keeps queues; add it to service::extensions",
						    config->queue.storage);
		target.storage = extension->configuration->type->storage;
		target.storage_self = extension->self;
	}
	return sending_create(&target, config, &instance->sending);
}

static bool is_complete(const struct profcol_component *type)
{
	if (!type->create)
		return false;
	if (type->kind == PROFCOL_PROCESSOR)
		return type->consume;
	if (type->kind == PROFCOL_EXPORTER)
		return !type->consume != !type->send;
	return true;
}

struct profcol_error *instance_create(const struct config_component *configuration,
				      const struct instance_settings *settings,
				      struct instance **ret)
{
	const struct profcol_component *type = configuration->type;
	struct instance *instance;
	struct profcol_error *error;

	if (!is_complete(type))
		return profcol_error_create(PROFCOL_UNSUPPORTED,
					    "component type '%s' lacks a function it needs",
					    type->type);
	instance = calloc(1, sizeof(*instance));
	if (!instance)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	instance_init(instance, configuration, settings);
	error = type->create(&instance->host, configuration->options, &instance->self);
	if (error)
		instance->self = NULL;
	else if (type->send)
		error = create_sending(instance, settings);
	if (error) {
		instance_destroy(instance);
		return error;
	}
	*ret = instance;
	return NULL;
}

void instance_destroy(struct instance *instance)
{
	if (!instance)
		return;
	sending_destroy(instance->sending);
	if (instance->self && instance->configuration->type->destroy)
		instance->configuration->type->destroy(instance->self);
	VECTOR_DEINIT(&instance->next);
	pthread_mutex_destroy(&instance->serial);
	pthread_rwlock_destroy(&instance->gate);
	account_deinit(&instance->account);
	metrics_deinit(&instance->metrics);
	free(instance);
}

struct instance *instance_find_extension(const struct instance_settings *settings, const char *id)
{
	for (size_t i = 0; i < settings->extension_count; i++)
		if (!strcmp(settings->extensions[i]->host.id, id))
			return settings->extensions[i];
	return NULL;
}

bool instance_connect(struct instance *from, struct instance *to)
{
	return VECTOR_PUSH(&from->next, to);
}

struct profcol_error *instance_start(struct instance *instance)
{
	const struct profcol_component *type = instance->configuration->type;
	struct profcol_error *error = NULL;

	if (instance->sending)
		error = sending_start(instance->sending);
	else if (type->start)
		error = type->start(instance->self);
	if (!error)
		atomic_store(&instance->state, INSTANCE_RUNNING);
	return error;
}

struct profcol_error *instance_shutdown(struct instance *instance, uint64_t deadline_ns)
{
	const struct profcol_component *type = instance->configuration->type;
	struct timespec deadline = clock_timespec(deadline_ns);

	if (atomic_exchange(&instance->state, INSTANCE_STOPPED) == INSTANCE_STOPPED)
		return NULL;
	// Upstream is down, so only a component that broke its contract still has a batch in here;
	// then shutdown is the one call that may get it out.
	if (pthread_rwlock_clockwrlock(&instance->gate, CLOCK_MONOTONIC, &deadline) == 0)
		pthread_rwlock_unlock(&instance->gate);
	if (instance->sending)
		return sending_shutdown(instance->sending, deadline_ns);
	return type->shutdown ? type->shutdown(instance->self, deadline_ns) : NULL;
}

void instance_expect_shutdown(struct instance *instance, uint64_t deadline_ns)
{
	if (instance->sending)
		sending_stop_waiting(instance->sending, deadline_ns);
}

void instance_drain(struct instance *instance, uint64_t deadline_ns)
{
	if (instance->sending)
		sending_drain(instance->sending, deadline_ns);
}

const char *instance_kind(const struct instance *instance)
{
	return registry_kind_name(instance->configuration->type->kind);
}

/* ---- the edge ---- */

static struct profcol_error *instance_pass(struct instance *instance, struct profcol_batch *batch)
{
	const struct profcol_component *type = instance->configuration->type;
	struct profcol_error *error;

	if (atomic_load(&instance->state) != INSTANCE_RUNNING) {
		profcol_batch_unref(batch);
		return profcol_error_create(PROFCOL_SHUTDOWN, "not running, batch refused");
	}
	if (instance->sending)
		return sending_consume(instance->sending, batch);
	if (!(type->capabilities & PROFCOL_SERIAL))
		return type->consume(instance->self, batch);
	pthread_mutex_lock(&instance->serial);
	error = type->consume(instance->self, batch);
	pthread_mutex_unlock(&instance->serial);
	return error;
}

struct profcol_error *instance_consume(struct instance *instance, struct profcol_batch *batch)
{
	// Counted before the call: the batch is the callee's afterwards.
	uint64_t samples = profcol_batch_events(batch);
	struct profcol_error *error;

	pthread_rwlock_rdlock(&instance->gate);
	error = instance_pass(instance, batch);
	pthread_rwlock_unlock(&instance->gate);
	if (!error || profcol_error_is_counted(error))
		return error;
	account_book(&instance->account, PROFCOL_LOST, profcol_code_name(profcol_error_code(error)),
		     samples);
	error = profcol_error_prefix(error, "%s", instance->host.id);
	return profcol_error_set_counted(error);
}
