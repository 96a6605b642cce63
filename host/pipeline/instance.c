// SPDX-License-Identifier: Apache-2.0
#include "instance.h"

#include "registry.h"
#include "services.h"

#include "sending/sending.h"

#include "base/base.h"
#include "profile/profile.h"

#include <profcol/batch.h>
#include <profcol/storage.h>

#include <string.h>
#include <time.h>

/* ---- status ---- */

/* Of a change that a component has reported. */
static void log_status(const struct instance *instance, enum profcol_status from,
		       enum profcol_status to, const char *message)
{
	const struct profcol_logger *logger = &instance->logger.base;

	// Who gives no reason for trouble has logged it, and so has what sends for an exporter.
	if (to == PROFCOL_STATUS_RECOVERABLE_ERROR && (!message || instance->sending))
		return;
	if (!message)
		message = "no reason given";
	if (to == PROFCOL_STATUS_OK && from == PROFCOL_STATUS_RECOVERABLE_ERROR)
		profcol_log_info(logger, "working again");
	else if (to == PROFCOL_STATUS_RECOVERABLE_ERROR)
		profcol_log_warn(logger, "in trouble, trying on: %s", message);
	else if (to == PROFCOL_STATUS_PERMANENT_ERROR)
		profcol_log_error(logger, "given up, the other components go on: %s", message);
	else if (to == PROFCOL_STATUS_FATAL_ERROR)
		profcol_log_error(logger, "cannot go on: %s", message);
}

void instance_report_status(struct instance *instance, enum profcol_status status,
			    const char *message)
{
	enum profcol_status from;

	// Changes only: a component may report after each batch.
	if (!status_change(&instance->status, status, message, &from))
		return;
	log_status(instance, from, status, message);
	if (status == PROFCOL_STATUS_FATAL_ERROR && instance->fatal)
		instance->fatal(profcol_error_create(PROFCOL_SYSTEM, "%s '%s': %s",
						     instance_kind(instance), instance->id,
						     message ? message : "no reason given"),
				instance->context);
}

/* Of start and stop, which whoever calls for them reports. */
static void enter_status(struct instance *instance, enum profcol_status status,
			 const struct profcol_error *error)
{
	enum profcol_status from;

	status_change(&instance->status, status, error ? profcol_error_message(error) : NULL,
		      &from);
}

/* ---- life ---- */

static bool instance_init(struct instance *instance, const struct config_component *configuration,
			  const struct instance_settings *settings)
{
	instance->configuration = configuration;
	instance->type = configuration->type;
	instance->id = strdup(configuration->id);
	instance->spawner = settings->spawner;
	instance->http = settings->http;
	instance->graph = settings->graph;
	instance->fatal = settings->fatal;
	instance->context = settings->context;
	metrics_init(&instance->metrics);
	account_init(&instance->account);
	status_init(&instance->status);
	pthread_rwlock_init(&instance->gate, NULL);
	pthread_mutex_init(&instance->serial, NULL);
	if (settings->pipeline)
		instance->pipeline = strdup(settings->pipeline);
	if (!edges_init(&instance->next) || !instance->id ||
	    (settings->pipeline && !instance->pipeline))
		return false;
	logging_init(&instance->logger, instance->id, settings->level, settings->log_fd,
		     settings->log);
	logging_set_component(&instance->logger, instance_kind(instance), instance->pipeline);
	services_init(instance, settings);
	return true;
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
	struct instance *extension;

	if (config->queue.enabled && config->queue.storage[0]) {
		extension = instance_find_extension(settings, config->queue.storage);
		if (!extension || !extension->type->storage)
			return profcol_error_create(PROFCOL_CONFIG,
						    "sending_queue::storage: no extension '%s' "
						    "keeps queues; add it to service::extensions",
						    config->queue.storage);
		target.storage = extension->type->storage;
		target.storage_self = extension->self;
		instance->storage = extension;
		atomic_fetch_add(&extension->references, 1);
	}
	return sending_create(&target, config, &instance->sending);
}

static bool is_complete_storage(const struct profcol_storage_operations *storage)
{
	return storage->size >= sizeof(*storage) && storage->open && storage->append &&
	       storage->take && storage->put_back && storage->finish && storage->figures &&
	       storage->close;
}

static bool is_complete(const struct profcol_component *type)
{
	if (!type->create || (type->storage && !is_complete_storage(type->storage)))
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
	if (!instance_init(instance, configuration, settings)) {
		instance_destroy(instance);
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	}
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
	if (instance->self && instance->type->destroy)
		instance->type->destroy(instance->self);
	if (instance->storage)
		atomic_fetch_sub(&instance->storage->references, 1);
	edges_deinit(&instance->next);
	pthread_mutex_destroy(&instance->serial);
	pthread_rwlock_destroy(&instance->gate);
	status_deinit(&instance->status);
	account_deinit(&instance->account);
	metrics_deinit(&instance->metrics);
	free(instance->pipeline);
	free(instance->id);
	free(instance);
}

struct instance *instance_find_extension(const struct instance_settings *settings, const char *id)
{
	for (size_t i = 0; i < settings->extension_count; i++)
		if (!strcmp(settings->extensions[i]->host.id, id))
			return settings->extensions[i];
	return NULL;
}

struct profcol_error *instance_start(struct instance *instance)
{
	const struct profcol_component *type = instance->type;
	struct profcol_error *error = NULL;

	enter_status(instance, PROFCOL_STATUS_STARTING, NULL);
	// Only on the way back to an old configuration are there extensions that did not start.
	if (instance->storage && atomic_load(&instance->storage->state) != INSTANCE_RUNNING)
		error = profcol_error_create(PROFCOL_SYSTEM, "extension '%s' does not run",
					     instance->storage->id);
	else if (instance->sending)
		error = sending_start(instance->sending);
	else if (type->start)
		error = type->start(instance->self);
	atomic_store(&instance->state, error ? INSTANCE_STOPPED : INSTANCE_RUNNING);
	if (error)
		enter_status(instance, PROFCOL_STATUS_PERMANENT_ERROR, error);
	else
		status_settle(&instance->status);
	return error;
}

bool instance_is_well(struct instance *instance)
{
	return atomic_load(&instance->state) == INSTANCE_RUNNING &&
	       status_get(&instance->status) != PROFCOL_STATUS_PERMANENT_ERROR;
}

/* Wait for those inside to leave, for so long. True when the gate is held for writing. */
static bool close_gate(struct instance *instance, uint64_t deadline_ns)
{
	struct timespec deadline = clock_timespec(deadline_ns);

	return pthread_rwlock_clockwrlock(&instance->gate, CLOCK_MONOTONIC, &deadline) == 0;
}

bool instance_reconfigure(struct instance *instance, const void *options, uint64_t deadline_ns)
{
	const struct profcol_component *type = instance->type;
	bool done;

	if (!type->reconfigure || instance->sending || !close_gate(instance, deadline_ns))
		return false;
	done = type->reconfigure(instance->self, options);
	pthread_rwlock_unlock(&instance->gate);
	return done;
}

static struct profcol_error *shut_component_down(struct instance *instance, uint64_t deadline_ns)
{
	const struct profcol_component *type = instance->type;

	if (instance->sending)
		return sending_shutdown(instance->sending, deadline_ns);
	return type->shutdown ? type->shutdown(instance->self, deadline_ns) : NULL;
}

struct profcol_error *instance_shutdown(struct instance *instance, uint64_t deadline_ns)
{
	struct profcol_error *error;

	atomic_store(&instance->state, INSTANCE_STOPPED);
	if (instance->shut_down)
		return NULL;
	instance->shut_down = true;
	enter_status(instance, PROFCOL_STATUS_STOPPING, NULL);
	// Upstream is down, so only a component that broke its contract still has a batch in here;
	// then shutdown is the one call that may get it out.
	if (close_gate(instance, deadline_ns))
		pthread_rwlock_unlock(&instance->gate);
	error = shut_component_down(instance, deadline_ns);
	enter_status(instance, error ? PROFCOL_STATUS_PERMANENT_ERROR : PROFCOL_STATUS_STOPPED,
		     error);
	return error;
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

enum profcol_kind instance_type_kind(const struct instance *instance)
{
	return instance->type->kind;
}

const char *instance_kind(const struct instance *instance)
{
	return registry_kind_name(instance_type_kind(instance));
}

/* ---- the edge ---- */

static struct profcol_error *instance_pass(struct instance *instance, struct profcol_batch *batch)
{
	const struct profcol_component *type = instance->type;
	struct profcol_error *error;

	if (atomic_load(&instance->state) != INSTANCE_RUNNING) {
		profcol_batch_unref(batch);
		return profcol_error_create(PROFCOL_SHUTDOWN, "not running, batch refused");
	}
	if (instance->sending)
		return sending_consume(instance->sending, batch);
	if (type->kind == PROFCOL_EXPORTER) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *taken = batch;

		// It may write the dictionary as it finds it.
		error = profile_tidy(taken, &batch);
		if (error)
			return error;
	}
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

	atomic_fetch_add_explicit(&instance->arrived, samples, memory_order_relaxed);
	batch_sizes_note(&instance->sizes, samples);
	pthread_rwlock_rdlock(&instance->gate);
	error = instance_pass(instance, batch);
	pthread_rwlock_unlock(&instance->gate);
	if (!error || profcol_error_is_counted(error))
		return error;
	account_book(&instance->account, PROFCOL_LOST, profcol_code_name(profcol_error_code(error)),
		     samples);
	error = profcol_error_prefix(error, "%s", instance->id);
	return profcol_error_set_counted(error);
}

/*
 * Each consumer gets a reference to the same sealed batch, also one that MUTATES:
 * a batch cannot change, and profcol_builder_from() copies only what is written to.
 */
struct profcol_error *instance_consume_next(struct instance *instance, struct profcol_batch *batch)
{
	uint64_t samples = profcol_batch_events(batch);
	struct edges_targets *next = edges_enter(&instance->next, samples);
	struct profcol_error *error = NULL;

	if (instance_type_kind(instance) == PROFCOL_RECEIVER)
		batch_sizes_note(&instance->sizes, samples);
	for (size_t i = 0; i < next->count; i++)
		error = profcol_error_join(
			error, instance_consume(next->items[i], profcol_batch_ref(batch)));
	edges_leave(&instance->next, next);
	atomic_fetch_add_explicit(error ? &instance->refused : &instance->accepted, samples,
				  memory_order_relaxed);
	profcol_batch_unref(batch);
	return error;
}

/* ---- what those that come after know ---- */

static bool instance_knows(struct instance *instance, const char *key, const char *value)
{
	const struct profcol_component *type = instance->type;
	bool knows;

	if (!type->knows)
		return true;
	// It is being shut down, or given new options.
	if (pthread_rwlock_tryrdlock(&instance->gate) != 0)
		return false;
	// Who does not run refuses batches: on the way back from a reload that failed it may run
	// again in a moment.
	knows = atomic_load(&instance->state) == INSTANCE_RUNNING &&
		type->knows(instance->self, key, value);
	pthread_rwlock_unlock(&instance->gate);
	return knows;
}

bool instance_known_next(struct instance *instance, const char *key, const char *value)
{
	struct edges_targets *next = edges_look(&instance->next);
	bool known = next != NULL;

	// As deep as the longest pipeline: nothing leads back.
	for (size_t i = 0; known && i < next->count; i++)
		known = instance_knows(next->items[i], key, value) &&
			instance_known_next(next->items[i], key, value);
	if (next)
		edges_leave(&instance->next, next);
	return known;
}

/* ---- what those that come after let in ---- */

static bool instance_has_room(struct instance *instance, size_t bytes)
{
	const struct profcol_component *type = instance->type;
	bool has_room;

	// Who is being shut down, or given new options, says what it has to say of the batch.
	if (!type->has_room || pthread_rwlock_tryrdlock(&instance->gate) != 0)
		return true;
	has_room = atomic_load(&instance->state) != INSTANCE_RUNNING ||
		   type->has_room(instance->self, bytes);
	pthread_rwlock_unlock(&instance->gate);
	return has_room;
}

bool instance_has_room_next(struct instance *instance, size_t bytes)
{
	struct edges_targets *next = edges_look(&instance->next);
	bool has_room = true;

	for (size_t i = 0; next && has_room && i < next->count; i++)
		has_room = instance_has_room(next->items[i], bytes) &&
			   instance_has_room_next(next->items[i], bytes);
	if (next)
		edges_leave(&instance->next, next);
	return has_room;
}
