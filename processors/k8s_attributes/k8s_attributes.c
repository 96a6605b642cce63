// SPDX-License-Identifier: Apache-2.0
/*
 * The `k8s_attributes` processor: says of every resource which pod and container it is of, and what
 * the cluster knows of them.
 */
#include "attribution.h"
#include "learning.h"

#include <errno.h>
#include <string.h>

struct k8s_attributes {
	const struct profcol_host *host; /* borrowed, as the next */
	const struct k8s_attributes_config *config;
	struct rules *rules; /* owned, as the rest */
	struct association *association;
	struct store *store;
	struct learning *learning; /* NULL with passthrough */
	struct misses misses;
};

/* ---- a batch ---- */

/* *@ret is the caller's; @batch is borrowed. NULL when nothing is to be changed. */
static struct profcol_error *attribute_batch(struct k8s_attributes *processor,
					     struct profcol_batch *batch,
					     struct profcol_batch **ret)
{
	CLEANUP(attributing_deinit)
	struct attributing attributing = {
		.rules = processor->rules,
		.association = processor->association,
		.store = processor->store,
		.passthrough = processor->config->passthrough,
		.synced = processor->learning && learning_has_pods(processor->learning),
		.batch = batch,
		.builder = profcol_builder_from(batch),
	};

	*ret = NULL;
	if (!attributing.builder)
		return profcol_error_errno(ENOMEM, "add attributes of pods");
	store_lock(processor->store);
	for (uint32_t row = 0; row < profcol_batch_count(batch, PROFCOL_RESOURCES); row++)
		attributing_edit(&attributing, row);
	store_unlock(processor->store);
	if (!attributing.passthrough)
		misses_add(&processor->misses, &attributing.misses);
	if (attributing.changed && !attributing.no_memory)
		return profcol_builder_seal(attributing.builder, ret);
	profcol_builder_destroy(attributing.builder);
	return attributing.no_memory ? profcol_error_errno(ENOMEM, "add attributes of pods") : NULL;
}

static struct profcol_error *k8s_attributes_consume(void *self, struct profcol_batch *batch)
{
	struct k8s_attributes *processor = self;
	PROFCOL_CLEANUP_BATCH struct profcol_batch *taken = batch;
	struct profcol_batch *changed = NULL;
	struct profcol_error *error = attribute_batch(processor, taken, &changed);

	if (error)
		return error;
	if (processor->learning)
		learning_refresh(processor->learning);
	if (!changed)
		return processor->host->consume_next(processor->host, TAKE(taken));
	profcol_batch_unref(TAKE(taken)); // not needed while the others work
	return processor->host->consume_next(processor->host, changed);
}

/* ---- what is known ---- */

static bool goes_by_container(const struct association *association)
{
	for (size_t i = 0; i < association->lookup_count; i++)
		if (association->lookups[i].shape == SHAPE_CONTAINER_ID)
			return true;
	return false;
}

static bool k8s_attributes_knows(void *self, const char *key, const char *value)
{
	struct k8s_attributes *processor = self;
	struct profcol_text id;
	bool known;

	if (processor->config->passthrough || strcmp(key, "container.id") != 0 ||
	    !goes_by_container(processor->association))
		return true;
	id = attribution_container_id((struct profcol_text){ value, strlen(value) });
	// It is being changed: asked again, it says what is then in it.
	if (!store_try_lock(processor->store))
		return false;
	known = store_find(processor->store, SHAPE_CONTAINER_ID, &id);
	store_unlock(processor->store);
	return known;
}

/* ---- life ---- */

static struct profcol_error *k8s_attributes_validate(const void *options)
{
	return k8s_attributes_config_validate(options);
}

static void k8s_attributes_diagnose(const void *options, struct profcol_findings *findings)
{
	const struct k8s_attributes_config *config = options;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct rules *rules = NULL;

	if (config->passthrough)
		return;
	error = rules_create(config, &rules);
	if (!error)
		learning_diagnose(config, rules, findings);
	rules_destroy(rules);
}

static void k8s_attributes_destroy(void *self)
{
	struct k8s_attributes *processor = self;

	if (!processor)
		return;
	learning_destroy(processor->learning);
	store_destroy(processor->store);
	association_destroy(processor->association);
	rules_destroy(processor->rules);
	misses_deinit(&processor->misses);
	free(processor);
}

static struct profcol_error *compose(struct k8s_attributes *processor)
{
	const struct k8s_attributes_config *config = processor->config;
	struct profcol_error *error = rules_create(config, &processor->rules);

	if (!error)
		error = association_create(config, &processor->association);
	if (error)
		return error;
	processor->store = store_create(
		processor->rules, processor->association,
		&(struct store_settings){ .grace_ns = config->pod_delete_grace_period_ns });
	if (!processor->store)
		return profcol_error_errno(ENOMEM, "create the processor");
	if (config->passthrough)
		return NULL;
	return learning_create(processor->host, config, processor->rules, processor->store,
			       &processor->learning);
}

/* What is written, but does less than it says. */
static void warn(const struct k8s_attributes *processor)
{
	const struct k8s_attributes_config *config = processor->config;
	const struct profcol_logger *logger = processor->host->logger;

	if (processor->association->by_connection)
		profcol_log_info(logger, "rules of pod_association by 'connection' are passed "
					 "over: profiles have none");
	if (config->passthrough)
		return;
	if (config->source == SOURCE_KUBELET && processor->rules->kinds)
		profcol_log_warn(logger, "the kubelet knows pods only: what `extract` asks for of "
					 "namespaces, nodes and workloads is not added; use "
					 "source: api_server");
	if (!config->extract.deployment_name_from_replicaset)
		profcol_log_warn(logger, "`deployment_name_from_replicaset: false` is deprecated, "
					 "watching replica sets");
	if (!config->filter.node[0] && !config->filter.node_from_env_var[0] &&
	    config->source == SOURCE_API_SERVER)
		profcol_log_info(logger, "pods of all nodes are watched; on a node, set "
					 "filter.node_from_env_var");
}

static struct profcol_error *k8s_attributes_create(const struct profcol_host *host,
						   const void *options, void **ret)
{
	struct k8s_attributes *processor = calloc(1, sizeof(*processor));
	struct profcol_error *error;

	if (!processor)
		return profcol_error_errno(ENOMEM, "create the processor");
	processor->host = host;
	processor->config = options;
	misses_init(&processor->misses, host);
	error = compose(processor);
	if (error) {
		k8s_attributes_destroy(processor);
		return error;
	}
	warn(processor);
	*ret = processor;
	return NULL;
}

static struct profcol_error *k8s_attributes_start(void *self)
{
	struct k8s_attributes *processor = self;

	return processor->learning ? learning_start(processor->learning) : NULL;
}

static struct profcol_error *k8s_attributes_shutdown(void *self, uint64_t deadline_ns)
{
	struct k8s_attributes *processor = self;

	(void)deadline_ns; // it takes less than a second
	if (processor->learning)
		learning_stop(processor->learning);
	return NULL;
}

static const char *const k8s_attributes_aliases[] = { "k8sattributes", NULL };

const struct profcol_component profcol_processor_k8s_attributes = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_PROCESSOR,
	.stability = PROFCOL_ALPHA,
	.capabilities = PROFCOL_MUTATES,
	.type = "k8s_attributes",
	.aliases = k8s_attributes_aliases,
	.summary = "adds to resources which pod, container and workload they are of",
	.options = k8s_attributes_options,
	.config_size = sizeof(struct k8s_attributes_config),
	.validate = k8s_attributes_validate,
	.create = k8s_attributes_create,
	.start = k8s_attributes_start,
	.consume = k8s_attributes_consume,
	.shutdown = k8s_attributes_shutdown,
	.destroy = k8s_attributes_destroy,
	.diagnose = k8s_attributes_diagnose,
	.knows = k8s_attributes_knows,
};
