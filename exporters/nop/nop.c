// SPDX-License-Identifier: Apache-2.0
/* The exporter `nop`: what comes in is counted, and given up. */
#include <profcol/batch.h>
#include <profcol/component.h>

#include <errno.h>
#include <stdlib.h>

static const struct profcol_option nop_options[] = { PROFCOL_OPTION_END };

struct nop {
	const struct profcol_host *host; /* borrowed */
};

static struct profcol_error *create(const struct profcol_host *host, const void *config, void **ret)
{
	struct nop *nop = calloc(1, sizeof(*nop));

	(void)config;
	if (!nop)
		return profcol_error_errno(ENOMEM, "create the exporter");
	nop->host = host;
	*ret = nop;
	return NULL;
}

static struct profcol_error *consume(void *self, struct profcol_batch *batch)
{
	const struct nop *nop = self;

	nop->host->account(nop->host, PROFCOL_EXPORTED, NULL, profcol_batch_events(batch));
	profcol_batch_unref(batch);
	return NULL;
}

const struct profcol_component profcol_exporter_nop = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_EXPORTER,
	.stability = PROFCOL_ALPHA,
	.type = "nop",
	.summary = "gives up what it gets: where a pipeline has to have an exporter",
	.options = nop_options,
	.create = create,
	.consume = consume,
	.destroy = free,
};
