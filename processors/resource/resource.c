// SPDX-License-Identifier: Apache-2.0
/* The `resource` processor: changes the attributes of resources, as the Collector's of this name.
 */
#include "attributes/attributes.h"
#include "base/base.h"

#include <profcol/batch.h>
#include <profcol/component.h>

#include <stdlib.h>

struct resource_config {
	struct profcol_sections attributes; /* struct attributes_action_config */
};

static const struct profcol_option resource_options[] = {
	PROFCOL_OPTION_SECTIONS("attributes", struct resource_config, attributes,
				struct attributes_action_config, attributes_action_options,
				"what to do, in this order; at least one"),
	PROFCOL_OPTION_END,
};

struct resource_processor {
	const struct profcol_host *host;    /* borrowed */
	struct attributes_actions *actions; /* owned */
};

static struct profcol_error *resource_compile(const struct resource_config *config,
					      struct attributes_actions **ret)
{
	if (!config->attributes.count)
		return profcol_error_create(PROFCOL_CONFIG,
					    "missing required field \"attributes\"; add a list of "
					    "actions");
	return attributes_actions_create(&config->attributes, "attributes", ret);
}

static struct profcol_error *resource_validate(const void *options)
{
	struct attributes_actions *actions = NULL;
	struct profcol_error *error = resource_compile(options, &actions);

	attributes_actions_destroy(actions);
	return error;
}

static void resource_destroy(void *self)
{
	struct resource_processor *processor = self;

	if (!processor)
		return;
	attributes_actions_destroy(processor->actions);
	free(processor);
}

static struct profcol_error *resource_create(const struct profcol_host *host, const void *options,
					     void **ret)
{
	struct resource_processor *processor = calloc(1, sizeof(*processor));
	struct profcol_error *error;

	if (!processor)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	processor->host = host;
	error = resource_compile(options, &processor->actions);
	if (error) {
		resource_destroy(processor);
		return error;
	}
	if (attributes_actions_use_context(processor->actions))
		profcol_log_warn(host->logger, "'from_context' finds nothing: profiles carry no "
					       "metadata of clients");
	*ret = processor;
	return NULL;
}

static struct profcol_error *resource_consume(void *self, struct profcol_batch *batch)
{
	const struct resource_processor *processor = self;
	PROFCOL_CLEANUP_BATCH struct profcol_batch *taken = batch;
	const struct attributes_transform transform = {
		.level = ATTRIBUTES_RESOURCE,
		.actions = processor->actions,
	};
	struct profcol_batch *changed;
	struct profcol_error *error = attributes_transform(&transform, taken, &changed);

	if (error)
		return error;
	profcol_batch_unref(TAKE(taken)); // not needed while the others work
	return processor->host->consume_next(processor->host, changed);
}

const struct profcol_component profcol_processor_resource = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_PROCESSOR,
	.stability = PROFCOL_ALPHA,
	.capabilities = PROFCOL_MUTATES,
	.type = "resource",
	.summary = "sets, removes, hashes and converts attributes of resources",
	.options = resource_options,
	.config_size = sizeof(struct resource_config),
	.validate = resource_validate,
	.create = resource_create,
	.consume = resource_consume,
	.destroy = resource_destroy,
};
