// SPDX-License-Identifier: Apache-2.0
/* An exporter that is built in as well; an alias counts like a type. */
#include <profcol/batch.h>
#include <profcol/plugin.h>

static const struct profcol_option options[] = { PROFCOL_OPTION_END };
static const char *const aliases[] = { "debug", NULL };

static struct profcol_error *same_create(const struct profcol_host *host, const void *config,
					 void **ret)
{
	(void)host;
	(void)config;
	*ret = NULL;
	return NULL;
}

static struct profcol_error *same_consume(void *self, struct profcol_batch *batch)
{
	(void)self;
	profcol_batch_unref(batch);
	return NULL;
}

static const struct profcol_component component = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_EXPORTER,
	.type = "same_type",
	.aliases = aliases,
	.summary = "wants to be called debug",
	.options = options,
	.config_size = 1,
	.create = same_create,
	.consume = same_consume,
};

PROFCOL_PLUGIN(&component);
