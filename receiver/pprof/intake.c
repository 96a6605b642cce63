// SPDX-License-Identifier: Apache-2.0
#include "intake.h"

#include "profile/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	/* What a file may have once it is inflated, and in memory, in multiples of the largest. */
	INFLATE_FACTOR = 16,
	DECODE_FACTOR = 64,
};

#define DECODE_MAX_BYTES   ((size_t)1 << 30)
#define NOTICE_INTERVAL_NS UINT64_C(60000000000)

static bool ask_for_room(void *context, size_t bytes)
{
	const struct profcol_host *host = context;

	return host->has_room(host, bytes);
}

void intake_init(struct intake *intake, const struct profcol_host *host)
{
	*intake = (struct intake){ .host = host };
	memory_budget_for_decoding(&intake->budget, ask_for_room, (void *)(uintptr_t)host);
}

void intake_register(struct intake *intake, enum intake_source source)
{
	static const char *const labels[INTAKE_SOURCES] = {
		[INTAKE_FILE] = "transport=file",
		[INTAKE_REMOTE] = "transport=remote",
		[INTAKE_SERVER] = "transport=http",
	};
	const struct profcol_host *host = intake->host;
	const char *label = labels[source];

	intake->sources[source].accepted =
		host->metric(host, PROFCOL_COUNTER, "receiver_accepted_profile_samples", label,
			     "samples that the pipelines have taken");
	intake->sources[source].refused =
		host->metric(host, PROFCOL_COUNTER, "receiver_refused_profile_samples", label,
			     "samples that a pipeline has refused");
	intake->sources[source].unread =
		host->metric(host, PROFCOL_COUNTER, "pprof_unread", label,
			     "profiles that could not be had or read: broken, too large, or out "
			     "of reach");
}

/* ---- where it comes from ---- */

static uint32_t add_text(struct profcol_builder *builder, const char *key, const char *text)
{
	return profcol_builder_attribute_string(builder, key, text, strlen(text));
}

static void describe_resource(struct profcol_builder *builder, const struct intake_origin *origin)
{
	uint32_t attributes[5], count = 0;
	int64_t port = strtol(origin->port, NULL, 10);

	attributes[count++] = add_text(builder, "server.address", origin->address);
	attributes[count++] = profcol_builder_attribute_int(builder, "server.port", port);
	if (origin->path[0])
		attributes[count++] = add_text(builder, "url.path", origin->path);
	if (origin->container_id[0])
		attributes[count++] = add_text(builder, "container.id", origin->container_id);
	if (origin->pod_uid[0])
		attributes[count++] = add_text(builder, "k8s.pod.uid", origin->pod_uid);
	profcol_builder_set_resource_attributes(
		builder, 0, profcol_builder_attribute_list(builder, attributes, count));
}

/* Adds one attribute to those of a profile. False without memory. */
static bool describe_profile(struct profcol_builder *builder, uint32_t row, uint32_t attribute)
{
	const struct profcol_batch *batch = profcol_builder_peek(builder);
	struct profcol_range samples;
	struct profcol_profile profile = profcol_batch_profile(batch, row, &samples);
	uint32_t count;
	const uint32_t *own = profcol_batch_attribute_list(batch, profile.attributes, &count);
	CLEANUP_FREE uint32_t *all = calloc(count + 1ul, sizeof(*all));

	if (!all)
		return false;
	if (count)
		memcpy(all, own, count * sizeof(*all));
	all[count] = attribute;
	profile.attributes = profcol_builder_attribute_list(builder, all, count + 1);
	profile_set_profile(builder, row, &profile);
	return true;
}

/* Takes @batch. */
static struct profcol_error *describe(struct profcol_batch *batch,
				      const struct intake_origin *origin,
				      struct profcol_batch **ret)
{
	struct profcol_builder *builder = profcol_builder_from(batch);
	uint32_t profiles = profcol_batch_count(batch, PROFCOL_PROFILES), name;
	bool is_whole = builder;

	profcol_batch_unref(batch);
	if (builder)
		describe_resource(builder, origin);
	if (builder && origin->name[0]) {
		name = add_text(builder, PROFCOL_PROFILE_NAME, origin->name);
		for (uint32_t i = 0; i < profiles && is_whole; i++)
			is_whole = describe_profile(builder, i, name);
	}
	if (is_whole)
		return profcol_builder_seal(builder, ret);
	profcol_builder_destroy(builder);
	return profcol_error_create(PROFCOL_NO_MEMORY, "no memory to decode pprof");
}

/* ---- in, and on ---- */

static size_t least(size_t first, size_t second)
{
	return first < second ? first : second;
}

struct profcol_error *intake_decode(struct intake *intake, const uint8_t *bytes, size_t length,
				    size_t largest, const struct intake_origin *origin,
				    struct memory_share *share, struct profcol_batch **ret)
{
	// Nobody has more of it than all may, even alone.
	const size_t most = least(DECODE_MAX_BYTES, intake->budget.most / 2);
	const struct pprof_decode_limits limits = {
		.max_bytes = least(largest, most / INFLATE_FACTOR) * INFLATE_FACTOR,
		.max_memory = least(largest, most / DECODE_FACTOR) * DECODE_FACTOR,
		.share = share,
	};
	struct profcol_batch *batch;
	struct profcol_error *error = pprof_decode(bytes, length, &limits, &batch);

	if (error)
		return error;
	if (origin)
		return describe(batch, origin, ret);
	*ret = batch;
	return NULL;
}

struct profcol_error *intake_pass_on(struct intake *intake, enum intake_source source,
				     struct profcol_batch *batch)
{
	const struct profcol_host *host = intake->host;
	uint64_t samples = profcol_batch_events(batch);
	struct profcol_error *error;

	if (!profcol_batch_count(batch, PROFCOL_SAMPLES)) {
		profcol_batch_unref(batch);
		return NULL;
	}
	// Also of what is refused: the edge that refuses books it as lost there.
	host->account(host, PROFCOL_TAKEN, NULL, samples);
	error = host->consume_next(host, batch);
	profcol_metric_add(error ? intake->sources[source].refused
				 : intake->sources[source].accepted,
			   (int64_t)samples);
	return error;
}

void intake_refuse(struct intake *intake, enum intake_source source, const char *name,
		   const struct profcol_error *error)
{
	_Atomic uint64_t *notice = &intake->sources[source].notice_after_ns;
	bool is_counted = profcol_error_is_counted(error);
	struct profcol_metric *metric =
		is_counted ? intake->sources[source].refused : intake->sources[source].unread;
	uint64_t now = clock_monotonic_ns(), after = atomic_load(notice);

	if (!is_counted)
		profcol_metric_add(metric, 1);
	if (now < after ||
	    !atomic_compare_exchange_strong(notice, &after, now + NOTICE_INTERVAL_NS))
		return;
	profcol_log_warn(intake->host->logger,
			 "cannot take a profile of %s: %s; %s counts others (%" PRId64 ")", name,
			 profcol_error_message(error),
			 is_counted ? "otelcol_receiver_refused_profile_samples"
				    : "profcol_pprof_unread",
			 profcol_metric_get(metric));
}
