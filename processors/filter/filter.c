// SPDX-License-Identifier: Apache-2.0
/* The `filter` processor: drops resources, scopes, profiles and samples, text included. */
#include "conditions.h"
#include "decision.h"
#include "selection.h"

#include "base/base.h"
#include "profile/profile.h"

#include <profcol/batch.h>
#include <profcol/component.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

/* A condition fails with every batch, or never. */
#define LOG_INTERVAL_NS (60 * UINT64_C(1000000000))

struct filter {
	const struct profcol_host *host;   /* borrowed */
	struct conditions *conditions;     /* owned */
	struct selection *selection;       /* owned */
	struct profcol_metric *dropped;    /* the host's */
	atomic_uint_least64_t next_log_ns; /* on the monotonic clock */
};

/* On error, what is there is the caller's to deinit. */
static struct profcol_error *filter_compile(struct filter *filter,
					    const struct filter_config *config)
{
	struct profcol_error *error = conditions_create(config, &filter->conditions);

	return profcol_error_join(error, selection_create(config, &filter->selection));
}

static void filter_deinit(struct filter *filter)
{
	conditions_destroy(filter->conditions);
	selection_destroy(filter->selection);
}

static struct profcol_error *filter_validate(const void *options)
{
	struct filter filter = { 0 };
	struct profcol_error *error = filter_compile(&filter, options);

	filter_deinit(&filter);
	return error;
}

static void filter_destroy(void *self)
{
	if (!self)
		return;
	filter_deinit(self);
	free(self);
}

static struct profcol_error *filter_create(const struct profcol_host *host, const void *options,
					   void **ret)
{
	struct filter *filter = calloc(1, sizeof(*filter));
	struct profcol_error *error;

	if (!filter)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	filter->host = host;
	error = filter_compile(filter, options);
	if (error) {
		filter_destroy(filter);
		return error;
	}
	filter->dropped = host->metric(host, PROFCOL_COUNTER, "processor_filter_profiles_filtered",
				       "", "Number of profiles dropped by the filter processor");
	*ret = filter;
	return NULL;
}

/* ---- one batch ---- */

static void filter_book(const struct filter *filter, const struct decision *decision)
{
	static const char *const causes[] = {
		[CAUSE_CONDITION] = "condition",
		[CAUSE_NOT_INCLUDED] = "include_attributes",
		[CAUSE_EXCLUDED] = "exclude_attributes",
	};

	for (size_t cause = 0; cause < CAUSE_COUNT; cause++) {
		if (!decision->events[cause])
			continue;
		filter->host->account(filter->host, PROFCOL_FILTERED, causes[cause],
				      decision->events[cause]);
		profcol_metric_add(filter->dropped, (int64_t)decision->events[cause]);
	}
}

static void filter_log(struct filter *filter, const struct condition_failures *failures)
{
	uint64_t now = clock_monotonic_ns();
	uint64_t next = atomic_load(&filter->next_log_ns);

	// Whoever moves the time on logs.
	if (!failures->count || now < next ||
	    !atomic_compare_exchange_strong(&filter->next_log_ns, &next, now + LOG_INTERVAL_NS))
		return;
	profcol_log_warn(filter->host->logger,
			 "failed to eval condition: %s, %s; in this batch conditions failed "
			 "%" PRIu64 " times, and what they are about was kept",
			 failures->text, failures->message, failures->count);
}

/* What is left of @batch, to be passed on; *@ret is NULL when that is nothing. */
static struct profcol_error *filter_batch(struct filter *filter, struct profcol_batch *batch,
					  struct profcol_batch **ret)
{
	struct decision decision CLEANUP(decision_deinit) = { 0 };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *left = NULL;
	struct profcol_error *error =
		decision_make(&decision, filter->conditions, filter->selection, batch);

	if (error)
		return error;
	filter_log(filter, &decision.failures);
	if (decision.failures.refused)
		return profcol_error_create(PROFCOL_BAD_DATA, "failed to eval condition: %s, %s",
					    decision.failures.refused, decision.failures.reason);
	if (!decision.drops) {
		*ret = profcol_batch_ref(batch);
		return NULL;
	}
	error = profile_select(batch,
			       &(struct profile_kept){ .profiles = decision.profiles,
						       .samples = decision.samples },
			       &left);
	if (error)
		return error;
	filter_book(filter, &decision);
	*ret = profcol_batch_count(left, PROFCOL_PROFILES) ? TAKE(left) : NULL;
	return NULL;
}

static struct profcol_error *filter_consume(void *self, struct profcol_batch *batch)
{
	struct filter *filter = self;
	struct profcol_batch *left = NULL;
	struct profcol_error *error = filter_batch(filter, batch, &left);

	profcol_batch_unref(batch); // not needed while the others work
	if (error || !left)
		return error;
	return filter->host->consume_next(filter->host, left);
}

const struct profcol_component profcol_processor_filter = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_PROCESSOR,
	.stability = PROFCOL_ALPHA,
	.capabilities = PROFCOL_MUTATES,
	.type = "filter",
	.summary = "drops profiles and samples by conditions (OTTL) or by attributes",
	.options = filter_options,
	.config_size = sizeof(struct filter_config),
	.validate = filter_validate,
	.create = filter_create,
	.consume = filter_consume,
	.destroy = filter_destroy,
};
