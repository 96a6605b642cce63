// SPDX-License-Identifier: Apache-2.0
/*
 * The `attributes` processor: changes the attributes of samples, resources, locations or mappings,
 * by the keys of the Collector's processor of this name, which has none for profiles.
 */
#include "attributes/attributes.h"
#include "base/base.h"

#include <profcol/batch.h>
#include <profcol/component.h>

#include <stdlib.h>

struct attributes_config {
	int level;                       /* enum attributes_level */
	struct profcol_sections actions; /* struct attributes_action_config */
	bool include_named, exclude_named;
	struct attributes_match_config include, exclude;
};

static const struct profcol_option attributes_options[] = {
	PROFCOL_OPTION_ENUM("level", struct attributes_config, level, "sample",
			    attributes_level_names, "whose attributes"),
	PROFCOL_OPTION_OPTIONAL("include", struct attributes_config, include, include_named,
				attributes_match_options, "change only what has all of this"),
	PROFCOL_OPTION_OPTIONAL("exclude", struct attributes_config, exclude, exclude_named,
				attributes_match_options, "and not what has all of this"),
	PROFCOL_OPTION_SECTIONS("actions", struct attributes_config, actions,
				struct attributes_action_config, attributes_action_options,
				"what to do, in this order; at least one"),
	PROFCOL_OPTION_END,
};

struct attributes_processor {
	const struct profcol_host *host; /* borrowed */
	enum attributes_level level;
	struct attributes_actions *actions;         /* owned, as the rest */
	struct attributes_match *include, *exclude; /* or NULL */
};

static void processor_deinit(struct attributes_processor *processor)
{
	attributes_actions_destroy(processor->actions);
	attributes_match_destroy(processor->include);
	attributes_match_destroy(processor->exclude);
}

/* On error, what is there is the caller's to deinit. */
static struct profcol_error *processor_compile(struct attributes_processor *processor,
					       const struct attributes_config *config)
{
	struct profcol_error *error = NULL;

	processor->level = (enum attributes_level)config->level;
	if (!config->actions.count)
		return profcol_error_create(PROFCOL_CONFIG,
					    "missing required field \"actions\"; add a list of "
					    "actions");
	if (config->include_named)
		error = attributes_match_create(&config->include, processor->level, "include",
						&processor->include);
	if (config->exclude_named)
		error = profcol_error_join(
			error, attributes_match_create(&config->exclude, processor->level,
						       "exclude", &processor->exclude));
	return profcol_error_join(
		error, attributes_actions_create(&config->actions, "actions", &processor->actions));
}

static struct profcol_error *attributes_validate(const void *options)
{
	struct attributes_processor processor = { 0 };
	struct profcol_error *error = processor_compile(&processor, options);

	processor_deinit(&processor);
	return error;
}

static void attributes_destroy(void *self)
{
	if (!self)
		return;
	processor_deinit(self);
	free(self);
}

static struct profcol_error *attributes_create(const struct profcol_host *host, const void *options,
					       void **ret)
{
	struct attributes_processor *processor = calloc(1, sizeof(*processor));
	struct profcol_error *error;

	if (!processor)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	processor->host = host;
	error = processor_compile(processor, options);
	if (error) {
		attributes_destroy(processor);
		return error;
	}
	if (attributes_actions_use_context(processor->actions))
		profcol_log_warn(host->logger, "'from_context' finds nothing: profiles carry no "
					       "metadata of clients");
	*ret = processor;
	return NULL;
}

static struct profcol_error *attributes_consume(void *self, struct profcol_batch *batch)
{
	const struct attributes_processor *processor = self;
	PROFCOL_CLEANUP_BATCH struct profcol_batch *taken = batch;
	const struct attributes_transform transform = {
		.level = processor->level,
		.actions = processor->actions,
		.include = processor->include,
		.exclude = processor->exclude,
	};
	struct profcol_batch *changed;
	struct profcol_error *error = attributes_transform(&transform, taken, &changed);

	if (error)
		return error;
	profcol_batch_unref(TAKE(taken)); // not needed while the others work
	return processor->host->consume_next(processor->host, changed);
}

const struct profcol_component profcol_processor_attributes = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_PROCESSOR,
	.stability = PROFCOL_ALPHA,
	.capabilities = PROFCOL_MUTATES,
	.type = "attributes",
	.summary =
		"sets, removes, hashes and converts attributes of samples and what they refer to",
	.options = attributes_options,
	.config_size = sizeof(struct attributes_config),
	.validate = attributes_validate,
	.create = attributes_create,
	.consume = attributes_consume,
	.destroy = attributes_destroy,
};
