// SPDX-License-Identifier: Apache-2.0
/*
 * Built with the headers before profcol_component.diagnose: what stands there is no part of the
 * descriptor.
 */
#include <profcol/plugin.h>

#undef PROFCOL_PLUGIN_ABI
#define PROFCOL_PLUGIN_ABI                                                                         \
	{ .abi = PROFCOL_ABI,                                                                      \
	  .size = sizeof(struct profcol_plugin),                                                   \
	  .component_size = offsetof(struct profcol_component, diagnose),                          \
	  .host_size = offsetof(struct profcol_host, view),                                        \
	  .option_size = sizeof(struct profcol_option) }

static const struct profcol_option options[] = { PROFCOL_OPTION_END };

static struct profcol_error *older_create(const struct profcol_host *host, const void *config,
					  void **ret)
{
	(void)host;
	(void)config;
	*ret = NULL;
	return NULL;
}

static void no_member(const void *config, struct profcol_findings *findings)
{
	(void)config;
	(void)findings;
}

static const struct profcol_component component = {
	.abi = PROFCOL_ABI,
	.size = offsetof(struct profcol_component, diagnose),
	.kind = PROFCOL_EXTENSION,
	.type = "older",
	.summary = "was there first",
	.options = options,
	.config_size = 1,
	.create = older_create,
	.diagnose = no_member,
};

PROFCOL_PLUGIN(&component);
