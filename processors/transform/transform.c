// SPDX-License-Identifier: Apache-2.0
/* The `transform` processor: changes batches by statements in OTTL. */
#include "apply.h"
#include "groups.h"

#include "base/base.h"

#include <profcol/batch.h>
#include <profcol/component.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

/* A statement fails with every batch, or never. */
#define LOG_INTERVAL_NS (60 * UINT64_C(1000000000))

struct transform {
	const struct profcol_host *host;   /* borrowed */
	struct groups groups;              /* owned */
	atomic_uint_least64_t next_log_ns; /* on the monotonic clock */
};

static struct profcol_error *transform_validate(const void *options)
{
	struct groups groups = { 0 };
	struct profcol_error *error = groups_init(&groups, options);

	groups_deinit(&groups);
	return error;
}

static void transform_destroy(void *self)
{
	struct transform *transform = self;

	if (!transform)
		return;
	groups_deinit(&transform->groups);
	free(transform);
}

static struct profcol_error *transform_create(const struct profcol_host *host, const void *options,
					      void **ret)
{
	struct transform *transform = calloc(1, sizeof(*transform));
	struct profcol_error *error;

	if (!transform)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	transform->host = host;
	error = groups_init(&transform->groups, options);
	if (error)
		transform_destroy(transform);
	else
		*ret = transform;
	return error;
}

static void transform_log(struct transform *transform, const struct failures *failures)
{
	uint64_t now = clock_monotonic_ns();
	uint64_t next = atomic_load(&transform->next_log_ns);

	// Whoever moves the time on logs.
	if (!failures->count || now < next ||
	    !atomic_compare_exchange_strong(&transform->next_log_ns, &next, now + LOG_INTERVAL_NS))
		return;
	profcol_log_warn(transform->host->logger,
			 "failed to execute statement: %s, %s; in this batch statements failed "
			 "%" PRIu64 " times, and what they are about was left as it was",
			 failures->text, failures->message, failures->count);
}

static struct profcol_error *transform_batch(struct transform *transform,
					     struct profcol_batch *batch,
					     struct profcol_batch **ret)
{
	struct failures failures = { 0 };
	struct profcol_error *error = apply_groups(&transform->groups, batch, &failures, ret);

	if (error)
		return error;
	transform_log(transform, &failures);
	if (failures.refused)
		return profcol_error_create(PROFCOL_BAD_DATA, "failed to execute statement: %s, %s",
					    failures.refused, failures.reason);
	return NULL;
}

static struct profcol_error *transform_consume(void *self, struct profcol_batch *batch)
{
	struct transform *transform = self;
	struct profcol_batch *changed = NULL;
	struct profcol_error *error = transform_batch(transform, batch, &changed);

	profcol_batch_unref(batch); // not needed while the others work
	return error ? error : transform->host->consume_next(transform->host, changed);
}

const struct profcol_component profcol_processor_transform = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_PROCESSOR,
	.stability = PROFCOL_ALPHA,
	.capabilities = PROFCOL_MUTATES,
	.type = "transform",
	.summary = "changes attributes, fields and names by statements (OTTL)",
	.options = transform_options,
	.config_size = sizeof(struct transform_config),
	.validate = transform_validate,
	.create = transform_create,
	.consume = transform_consume,
	.destroy = transform_destroy,
};
