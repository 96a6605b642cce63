/* SPDX-License-Identifier: Apache-2.0 */
/* The component of plugins that are never to run. */
#pragma once

#include <profcol/plugin.h>

#include <stdio.h>
#include <stdlib.h>

/* A constructor runs as soon as a file is loaded: the tests look for what it leaves. */
__attribute__((constructor)) static void run_at_load(void)
{
	setenv("REFUSED_PLUGIN_HAS_RUN", "1", 1);
	fputs("the refused plugin has run\n", stderr);
}

static const struct profcol_option options[] = { PROFCOL_OPTION_END };

static struct profcol_error *refused_create(const struct profcol_host *host, const void *config,
					    void **ret)
{
	(void)host;
	(void)config;
	*ret = NULL;
	return NULL;
}

static const struct profcol_component component = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_EXTENSION,
	.type = "refused",
	.summary = "never runs",
	.options = options,
	.config_size = 1,
	.create = refused_create,
};
