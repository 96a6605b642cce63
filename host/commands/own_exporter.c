// SPDX-License-Identifier: Apache-2.0
#include "own_exporter.h"

#include "pipeline/instance.h"

#include <profcol/batch.h>
#include <profcol/component.h>

#include <errno.h>

struct own_config {
	int64_t side;
};

static const struct profcol_option options[] = {
	PROFCOL_OPTION_INT("side", struct own_config, side, "0", 0, OWN_EXPORTER_SIDES - 1,
			   "whose profiles they are"),
	PROFCOL_OPTION_END,
};

struct own_exporter {
	const struct profcol_host *host; /* borrowed, as the next */
	const struct own_exporter_type *type;
	unsigned int side;
};

static struct profcol_error *exporter_create(const struct profcol_host *host, const void *config,
					     void **ret)
{
	const struct instance *instance = (const struct instance *)host;
	struct own_exporter *exporter = calloc(1, sizeof(*exporter));

	if (!exporter)
		return profcol_error_errno(ENOMEM, "create the exporter");
	*exporter = (struct own_exporter){
		.host = host,
		.type = (const struct own_exporter_type *)instance->type,
		.side = (unsigned int)((const struct own_config *)config)->side,
	};
	*ret = exporter;
	return NULL;
}

static struct profcol_error *exporter_consume(void *self, struct profcol_batch *batch)
{
	const struct own_exporter *exporter = self;
	uint64_t events = profcol_batch_events(batch);
	struct profcol_error *error =
		exporter->type->take(exporter->type->context, exporter->side, batch);

	if (!error)
		exporter->host->account(exporter->host, PROFCOL_EXPORTED, NULL, events);
	return error;
}

static void exporter_destroy(void *self)
{
	free(self);
}

struct own_exporter_type own_exporter_type(const char *name,
					   struct profcol_error *(*take)(void *, unsigned int,
									 struct profcol_batch *),
					   void *context)
{
	return (struct own_exporter_type){
		.component = {
			.abi = PROFCOL_ABI,
			.size = sizeof(struct profcol_component),
			.kind = PROFCOL_EXPORTER,
			.stability = PROFCOL_DEVELOPMENT,
			.type = name,
			.summary = "hands profiles to the command that runs",
			.options = options,
			.config_size = sizeof(struct own_config),
			.create = exporter_create,
			.consume = exporter_consume,
			.destroy = exporter_destroy,
		},
		.take = take,
		.context = context,
	};
}

const struct profcol_component **own_exporter_register(const struct component_registry *builtin,
						       const struct own_exporter_type *type,
						       struct component_registry *ret)
{
	const struct profcol_component **all = calloc(builtin->count + 1, sizeof(*all));

	if (!all)
		return NULL;
	for (size_t i = 0; i < builtin->count; i++)
		all[i] = builtin->components[i];
	all[builtin->count] = &type->component;
	*ret = (struct component_registry){ .components = all, .count = builtin->count + 1 };
	return all;
}
