// SPDX-License-Identifier: Apache-2.0
/*
 * The `batch` processor: for configurations that have one. It passes everything on as it comes;
 * exporters join and split requests by their bytes.
 */
#include "base/base.h"

#include <profcol/batch.h>
#include <profcol/component.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>

struct batch_config {
	uint64_t timeout_ns;
	int64_t send_batch_size, send_batch_max_size;
	struct profcol_list metadata_keys;
	int64_t metadata_cardinality_limit;
};

#define CONFIG struct batch_config

static const struct profcol_option batch_options[] = {
	PROFCOL_OPTION_DURATION("timeout", CONFIG, timeout_ns, "200ms", 0, 0, "no effect"),
	PROFCOL_OPTION_INT("send_batch_size", CONFIG, send_batch_size, "8192", 0, UINT32_MAX,
			   "no effect"),
	PROFCOL_OPTION_INT("send_batch_max_size", CONFIG, send_batch_max_size, "0", 0, UINT32_MAX,
			   "no effect; 0, or at least send_batch_size"),
	PROFCOL_OPTION_LIST("metadata_keys", CONFIG, metadata_keys, NULL, "no effect"),
	PROFCOL_OPTION_INT("metadata_cardinality_limit", CONFIG, metadata_cardinality_limit, "1000",
			   0, UINT32_MAX, "no effect"),
	PROFCOL_OPTION_END,
};

#undef CONFIG

struct batch {
	const struct profcol_host *host; /* borrowed */
};

/* The texts of the Collector. */
static struct profcol_error *batch_validate(const void *options)
{
	const struct batch_config *config = options;
	const struct profcol_list *keys = &config->metadata_keys;

	if (config->send_batch_max_size && config->send_batch_max_size < config->send_batch_size)
		return profcol_error_create(PROFCOL_CONFIG,
					    "send_batch_max_size: must be greater or equal to "
					    "send_batch_size (%" PRId64 "), or 0 for no limit",
					    config->send_batch_size);
	for (size_t i = 0; i < keys->count; i++)
		for (size_t j = 0; j < i; j++)
			if (!strcasecmp(keys->items[i], keys->items[j]))
				return profcol_error_create(PROFCOL_CONFIG,
							    "metadata_keys: duplicate entry in "
							    "metadata_keys: \"%s\" "
							    "(case-insensitive)",
							    keys->items[i]);
	return NULL;
}

static void batch_destroy(void *self)
{
	free(self);
}

static struct profcol_error *batch_create(const struct profcol_host *host, const void *options,
					  void **ret)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	(void)options;
	if (!batch)
		return profcol_error_errno(ENOMEM, "create the processor");
	batch->host = host;
	*ret = batch;
	return NULL;
}

static struct profcol_error *batch_start(void *self)
{
	struct batch *batch = self;

	profcol_log_info(batch->host->logger,
			 "does nothing: exporters batch by bytes themselves (sending_queue::batch, "
			 "max_request_bytes)");
	return NULL;
}

static struct profcol_error *batch_consume(void *self, struct profcol_batch *profiles)
{
	struct batch *batch = self;

	return batch->host->consume_next(batch->host, profiles);
}

const struct profcol_component profcol_processor_batch = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_PROCESSOR,
	.stability = PROFCOL_STABLE,
	.type = "batch",
	.summary = "passes everything on: exporters batch by bytes themselves",
	.options = batch_options,
	.config_size = sizeof(struct batch_config),
	.validate = batch_validate,
	.create = batch_create,
	.start = batch_start,
	.consume = batch_consume,
	.destroy = batch_destroy,
};
