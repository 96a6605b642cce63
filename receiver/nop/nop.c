// SPDX-License-Identifier: Apache-2.0
/* The receiver `nop`: a pipeline needs one, and this one never has anything. */
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
		return profcol_error_errno(ENOMEM, "create the receiver");
	nop->host = host;
	*ret = nop;
	return NULL;
}

const struct profcol_component profcol_receiver_nop = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_RECEIVER,
	.stability = PROFCOL_ALPHA,
	.type = "nop",
	.summary = "receives nothing: where a pipeline has to have a receiver",
	.options = nop_options,
	.create = create,
	.destroy = free,
};
