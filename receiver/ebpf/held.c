// SPDX-License-Identifier: Apache-2.0
#include "held.h"

#include "profile/profile.h"

#include "base/base.h"

#include <string.h>

/* Some 10 s of 64 CPUs, all in new containers, at 99 samples a second. And what is released is a
 * burst: of no more batches than those behind are used to in their queues. */
enum { MOST_BYTES = 16 << 20, MOST_SAMPLES = 100000, MOST_BATCHES = 256 };

static const char container_key[] = "container.id";

/* Of a resource: it waits, or why it does not. */
enum judgement {
	JUDGED_WAITING,
	JUDGED_KNOWN,
	JUDGED_AGE,
	JUDGED_BOUND,    /* too much is held */
	JUDGED_SHUTDOWN, /* the profiler ends */
	JUDGEMENTS,
};

#define WAITING (1u << JUDGED_WAITING) /* in a set of judgements */

static const char *const reasons[JUDGEMENTS] = {
	[JUDGED_KNOWN] = "reason=known",
	[JUDGED_AGE] = "reason=age",
	[JUDGED_BOUND] = "reason=bound",
	[JUDGED_SHUTDOWN] = "reason=shutdown",
};

/* All that had to wait of one batch. */
struct held_batch {
	struct profcol_batch *batch; /* owned */
	uint64_t samples;
	size_t bytes;
};

struct held {
	const struct profcol_host *host;
	uint64_t new_ns;
	void (*pass)(void *context, struct profcol_batch *batch);
	void *context;
	const struct containers *containers; /* borrowed */
	VECTOR(struct held_batch) batches;   /* the oldest first */
	uint64_t samples;                    /* sums over these */
	size_t bytes;

	VECTOR(uint8_t) judged;         /* enum judgement of each resource of one batch */
	VECTOR(uint8_t) profiles, rows; /* of what is selected: see struct profile_kept */
	struct profcol_metric *held_samples, *held_bytes, *released[JUDGEMENTS];
};

/* ---- life ---- */

static void register_metrics(struct held *held)
{
	const struct profcol_host *host = held->host;

	held->held_samples = host->metric(host, PROFCOL_GAUGE, "held_samples", "",
					  "Samples of new containers that are held back until the "
					  "components behind know these");
	held->held_bytes = host->metric(host, PROFCOL_GAUGE, "held_bytes", "",
					"Memory of the samples that are held back");
	for (size_t i = JUDGED_WAITING + 1; i < JUDGEMENTS; i++)
		held->released[i] =
			host->metric(host, PROFCOL_COUNTER, "held_samples_released", reasons[i],
				     "Samples that were held back and have gone on");
}

struct held *held_create(const struct profcol_host *host, const struct containers *containers,
			 uint64_t new_ns, void (*pass)(void *context, struct profcol_batch *batch),
			 void *context)
{
	struct held *held = calloc(1, sizeof(*held));

	if (!held)
		return NULL;
	held->host = host;
	held->new_ns = new_ns;
	held->pass = pass;
	held->context = context;
	held->containers = containers;
	register_metrics(held);
	return held;
}

void held_destroy(struct held *held)
{
	if (!held)
		return;
	for (size_t i = 0; i < held->batches.count; i++)
		profcol_batch_unref(held->batches.items[i].batch);
	VECTOR_DEINIT(&held->batches);
	VECTOR_DEINIT(&held->judged);
	VECTOR_DEINIT(&held->profiles);
	VECTOR_DEINIT(&held->rows);
	free(held);
}

/* ---- who waits ---- */

/* NULL when the resource does not say. Borrowed from @batch. */
static const char *find_container(const struct profcol_batch *batch,
				  struct profcol_resource resource)
{
	uint32_t count;
	const uint32_t *ids = profcol_batch_attribute_list(batch, resource.attributes, &count);

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_attribute row = profcol_batch_attribute(batch, ids[i]);

		if (row.value.type == PROFCOL_VALUE_STRING &&
		    !strcmp(profcol_batch_string(batch, row.key).bytes, container_key))
			return profcol_batch_string(batch, row.value.string).bytes;
	}
	return NULL;
}

static bool is_young(const struct held *held, const char *container, uint64_t now_ns)
{
	uint64_t first_ns;

	return containers_find(held->containers, container, &first_ns) &&
	       now_ns < first_ns + held->new_ns;
}

/* @fresh: it has not waited yet. */
static enum judgement judge(const struct held *held, const char *container, uint64_t now_ns,
			    bool fresh)
{
	bool young;

	if (!container)
		return JUDGED_AGE;
	young = is_young(held, container, now_ns);
	// As it mostly is: nobody has to be asked.
	if (fresh && !young)
		return JUDGED_AGE;
	if (held->host->known(held->host, container_key, container))
		return JUDGED_KNOWN;
	return young ? JUDGED_WAITING : JUDGED_AGE;
}

/* Judge all resources of @batch. Returns the set of judgements that there were, a bit for each; 0
 * without memory. */
static unsigned int judge_batch(struct held *held, const struct profcol_batch *batch,
				uint64_t now_ns, bool fresh)
{
	uint32_t count = profcol_batch_count(batch, PROFCOL_RESOURCES);
	enum judgement judgement = JUDGED_AGE;
	const char *last = NULL;
	unsigned int set = 0;

	held->judged.count = 0;
	if (!VECTOR_RESERVE(&held->judged, count))
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		struct profcol_range scopes;
		const char *container =
			find_container(batch, profcol_batch_resource(batch, i, &scopes));

		// Its processes mostly follow each other.
		if (!container || !last || strcmp(container, last) != 0)
			judgement = judge(held, container, now_ns, fresh);
		last = container;
		held->judged.items[held->judged.count++] = (uint8_t)judgement;
		set |= 1u << judgement;
	}
	return set;
}

/* ---- parts of batches ---- */

static void mark_profiles(struct held *held, const struct profcol_batch *batch, uint32_t resource,
			  bool kept)
{
	struct profcol_range scopes, profiles;

	profcol_batch_resource(batch, resource, &scopes);
	for (uint32_t i = scopes.begin; i < scopes.end; i++) {
		profcol_batch_scope(batch, i, &profiles);
		for (uint32_t j = profiles.begin; j < profiles.end; j++)
			held->profiles.items[j] = kept;
	}
}

/* The resources of @batch that have been judged to be in @set. */
static struct profcol_error *select_judged(struct held *held, const struct profcol_batch *batch,
					   unsigned int set, struct profcol_batch **ret)
{
	uint32_t profiles = profcol_batch_count(batch, PROFCOL_PROFILES);
	uint32_t rows = profcol_batch_count(batch, PROFCOL_SAMPLES);
	struct profile_kept kept;

	held->profiles.count = held->rows.count = 0;
	if (!VECTOR_RESERVE(&held->profiles, profiles) || !VECTOR_RESERVE(&held->rows, rows))
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory to part a batch");
	for (uint32_t i = 0; i < held->judged.count; i++)
		mark_profiles(held, batch, i, set & 1u << held->judged.items[i]);
	if (rows)
		memset(held->rows.items, 1, rows);
	kept = (struct profile_kept){ held->profiles.items, held->rows.items };
	return profile_select(batch, &kept, ret);
}

/* Part @batch: those that wait, and those that go on. False, with nothing made, without memory. */
static bool part_batch(struct held *held, const struct profcol_batch *batch,
		       struct profcol_batch **waiting_ret, struct profcol_batch **rest_ret)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	PROFCOL_CLEANUP_BATCH struct profcol_batch *first = NULL;

	error = select_judged(held, batch, WAITING, &first);
	if (!error)
		error = select_judged(held, batch, ~WAITING, rest_ret);
	if (!error)
		*waiting_ret = TAKE(first);
	return !error;
}

/* ---- what is held ---- */

static void show(const struct held *held)
{
	profcol_metric_set(held->held_samples, (int64_t)held->samples);
	profcol_metric_set(held->held_bytes, (int64_t)held->bytes);
}

/* Take the batch off item number @at, which is to go or to be refilled. */
static struct profcol_batch *empty_item(struct held *held, size_t at)
{
	struct held_batch *item = &held->batches.items[at];

	held->samples -= item->samples;
	held->bytes -= item->bytes;
	item->samples = item->bytes = 0;
	return TAKE(item->batch);
}

static void fill_item(struct held *held, size_t at, struct profcol_batch *batch)
{
	struct held_batch *item = &held->batches.items[at];

	*item = (struct held_batch){
		.batch = batch,
		.samples = profcol_batch_events(batch),
		.bytes = profile_memory(batch),
	};
	held->samples += item->samples;
	held->bytes += item->bytes;
}

static void drop_empty_items(struct held *held)
{
	size_t kept = 0;

	for (size_t i = 0; i < held->batches.count; i++)
		if (held->batches.items[i].batch)
			held->batches.items[kept++] = held->batches.items[i];
	held->batches.count = kept;
	show(held);
}

/* Takes @batch. */
static void release(struct held *held, struct profcol_batch *batch, enum judgement reason)
{
	profcol_metric_add(held->released[reason], (int64_t)profcol_batch_events(batch));
	held->pass(held->context, batch);
}

/* The oldest first, until what is left is within bounds. */
static void keep_bounds(struct held *held)
{
	for (size_t i = 0; held->bytes > MOST_BYTES || held->samples > MOST_SAMPLES ||
			   held->batches.count - i > MOST_BATCHES;
	     i++)
		release(held, empty_item(held, i), JUDGED_BOUND);
	drop_empty_items(held);
}

/* Takes @batch. */
static void hold(struct held *held, struct profcol_batch *batch)
{
	if (!VECTOR_RESERVE(&held->batches, 1)) {
		held->pass(held->context, batch);
		return;
	}
	fill_item(held, held->batches.count++, batch);
	keep_bounds(held);
}

void held_add(struct held *held, struct profcol_batch *batch, uint64_t now_ns)
{
	unsigned int set = held->new_ns ? judge_batch(held, batch, now_ns, true) : 0;
	struct profcol_batch *part = NULL, *rest = NULL;

	if (set == WAITING) {
		hold(held, batch);
	} else if (set & WAITING && part_batch(held, batch, &part, &rest)) {
		profcol_batch_unref(batch);
		held->pass(held->context, rest);
		hold(held, part);
	} else {
		held->pass(held->context, batch);
	}
}

/* ---- going on ---- */

static uint64_t count_samples(const struct profcol_batch *batch, uint32_t resource)
{
	struct profcol_range scopes, profiles, rows;
	uint64_t samples = 0;

	profcol_batch_resource(batch, resource, &scopes);
	for (uint32_t i = scopes.begin; i < scopes.end; i++) {
		profcol_batch_scope(batch, i, &profiles);
		for (uint32_t j = profiles.begin; j < profiles.end; j++) {
			profcol_batch_profile(batch, j, &rows);
			for (uint32_t k = rows.begin; k < rows.end; k++) {
				struct profcol_sample sample = profcol_batch_sample(batch, k);

				samples += profile_sample_events(&sample, true);
			}
		}
	}
	return samples;
}

/* Of a batch that has just been judged. */
static void count_released(const struct held *held, const struct profcol_batch *batch)
{
	for (uint32_t i = 0; i < held->judged.count; i++)
		if (held->judged.items[i] != JUDGED_WAITING)
			profcol_metric_add(held->released[held->judged.items[i]],
					   (int64_t)count_samples(batch, i));
}

static void check_item(struct held *held, size_t at, uint64_t now_ns)
{
	struct profcol_batch *batch = held->batches.items[at].batch, *part = NULL, *rest = NULL;
	unsigned int set = judge_batch(held, batch, now_ns, false);

	if (set == WAITING)
		return;
	if (set && !(set & WAITING)) {
		count_released(held, batch);
		held->pass(held->context, empty_item(held, at));
	} else if (set && part_batch(held, batch, &part, &rest)) {
		count_released(held, batch);
		profcol_batch_unref(empty_item(held, at));
		fill_item(held, at, part);
		held->pass(held->context, rest);
	} else { // no memory
		release(held, empty_item(held, at), JUDGED_BOUND);
	}
}

bool held_check(struct held *held, uint64_t now_ns)
{
	if (!held->batches.count)
		return false;
	for (size_t i = 0; i < held->batches.count; i++)
		check_item(held, i, now_ns);
	drop_empty_items(held);
	return held->batches.count;
}

void held_flush(struct held *held)
{
	held->new_ns = 0;
	for (size_t i = 0; i < held->batches.count; i++)
		release(held, empty_item(held, i), JUDGED_SHUTDOWN);
	drop_empty_items(held);
}
