// SPDX-License-Identifier: Apache-2.0
/* An extension that is refused by nobody, but cannot start. */
#include <profcol/plugin.h>

static const struct profcol_option options[] = { PROFCOL_OPTION_END };

static struct profcol_error *failing_create(const struct profcol_host *host, const void *config,
					    void **ret)
{
	(void)host;
	(void)config;
	*ret = NULL;
	return NULL;
}

static struct profcol_error *failing_start(void *self)
{
	(void)self;
	return profcol_error_create(PROFCOL_UNSUPPORTED, "there is no such machine");
}

static const struct profcol_component component = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_EXTENSION,
	.type = "start_fails",
	.summary = "cannot start",
	.options = options,
	.config_size = 1,
	.create = failing_create,
	.start = failing_start,
};

PROFCOL_PLUGIN(&component);
