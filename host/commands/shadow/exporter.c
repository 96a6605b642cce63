// SPDX-License-Identifier: Apache-2.0
#include "exporter.h"

#include "pipeline/instance.h"

#include <profcol/component.h>

#include <errno.h>

struct tally_config {
	int side; /* enum tally_side */
};

static const char *const side_names[] = {
	[TALLY_OWN] = "own",
	[TALLY_OTHER] = "other",
	NULL,
};

static const struct profcol_option options[] = {
	PROFCOL_OPTION_ENUM("side", struct tally_config, side, "own", side_names,
			    "whose profiles they are"),
	PROFCOL_OPTION_END,
};

struct tally_exporter {
	const struct profcol_host *host; /* borrowed */
	struct tally *tally;             /* borrowed */
	enum tally_side side;
};

static struct profcol_error *exporter_create(const struct profcol_host *host, const void *config,
					     void **ret)
{
	const struct instance *instance = (const struct instance *)host;
	const struct tally_exporter_type *type = (const struct tally_exporter_type *)instance->type;
	struct tally_exporter *exporter = calloc(1, sizeof(*exporter));

	if (!exporter)
		return profcol_error_errno(ENOMEM, "create the exporter");
	*exporter = (struct tally_exporter){
		.host = host,
		.tally = type->tally,
		.side = (enum tally_side)((const struct tally_config *)config)->side,
	};
	*ret = exporter;
	return NULL;
}

static struct profcol_error *exporter_consume(void *self, struct profcol_batch *batch)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *taken = batch;
	struct tally_exporter *exporter = self;
	struct profcol_error *error =
		tally_add(exporter->tally, exporter->side, taken, clock_realtime_ns());

	if (!error)
		exporter->host->account(exporter->host, PROFCOL_EXPORTED, NULL,
					profcol_batch_events(taken));
	return error;
}

static void exporter_destroy(void *self)
{
	free(self);
}

struct tally_exporter_type tally_exporter_type(struct tally *tally)
{
	return (struct tally_exporter_type){
		.component = {
			.abi = PROFCOL_ABI,
			.size = sizeof(struct profcol_component),
			.kind = PROFCOL_EXPORTER,
			.stability = PROFCOL_DEVELOPMENT,
			.type = "tally",
			.summary = "counts for a comparison",
			.options = options,
			.config_size = sizeof(struct tally_config),
			.create = exporter_create,
			.consume = exporter_consume,
			.destroy = exporter_destroy,
		},
		.tally = tally,
	};
}

const struct profcol_component **tally_exporter_register(const struct component_registry *builtin,
							 const struct tally_exporter_type *type,
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
