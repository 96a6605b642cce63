// SPDX-License-Identifier: Apache-2.0
/*
 * Splitting by encoded size. How large a front will be is not known before its
 * dictionary is: so fronts are made and measured, and the sizes seen so far lead
 * to the next guess. Beginning small, the work is bound to the head's size and not
 * to the batch's. A head need not be the largest possible: one that is nearly
 * full ends the search.
 */
#include "front.h"
#include "profile.h"

#include "base/base.h"

#include <errno.h>

enum {
	BYTES_PER_SAMPLE = 128, /* for the first guess; what batches of the eBPF receiver have */
	MOST_GROWTH = 8,        /* from one guess to the next */
	BISECT_EVERY = 3,       /* steps: keeps odd sizes from stalling the search */
};

struct measure {
	uint32_t position;
	size_t bytes;
};

/*
 * A front is named by its position: how many samples it has, or, `inside`, how many
 * observations of the first sample.
 */
struct search {
	const struct profcol_batch *batch;         /* borrowed */
	const struct otlp_encode_options *options; /* borrowed; NULL: the defaults */
	size_t max_bytes;
	bool inside;
	uint32_t last;              /* the largest position */
	uint32_t fits, over;        /* 0 counts as fitting, last + 1 as not */
	struct measure now, before; /* the latest two */
	struct profcol_batch *head; /* owned: the front at `fits`; NULL at 0 */
};

static void search_deinit(struct search *search)
{
	profcol_batch_unref(search->head);
}

static struct front search_front(const struct search *search, uint32_t position)
{
	return search->inside ? front_of(search->batch, 0, position)
			      : front_of(search->batch, position, 0);
}

static struct profcol_error *search_measure(struct search *search, uint32_t position)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *head = NULL;
	struct profcol_error *error =
		front_extract(search->batch, search_front(search, position), &head);

	if (error)
		return error;
	search->before = search->now;
	search->now = (struct measure){ position, otlp_encoded_size(head, search->options) };
	if (search->now.bytes > search->max_bytes) {
		search->over = position;
		return NULL;
	}
	search->fits = position;
	profcol_batch_unref(search->head);
	search->head = TAKE(head);
	return NULL;
}

static bool search_is_done(const struct search *search)
{
	size_t enough = search->max_bytes - search->max_bytes / 16;

	return search->over - search->fits <= 1 ||
	       (search->now.position == search->fits && search->now.bytes >= enough);
}

/*
 * Where a straight line through the latest two sizes reaches the middle of what is
 * enough; strictly between `fits` and `over`.
 */
static uint32_t search_next(const struct search *search)
{
	size_t slack = search->max_bytes / 32;
	double target = (double)(search->max_bytes - slack);
	double rise = (double)search->now.bytes - (double)search->before.bytes;
	double run = (double)search->now.position - (double)search->before.position;
	double most = (double)search->over - 1, least = (double)search->fits + 1, guess;

	if (rise * run <= 0)
		return search->fits + (search->over - search->fits) / 2;
	guess = search->now.position + (target - (double)search->now.bytes) * run / rise;
	if (search->over > search->last && most > (double)search->fits * MOST_GROWTH)
		most = (double)search->fits * MOST_GROWTH;
	if (guess > most)
		guess = most;
	return (uint32_t)(guess < least ? least : guess);
}

/*
 * A nearly full front may be most of a batch that fits: then that must not be cut.
 * Asked of all up to four times the front's length, which bounds the work; more
 * would have to be all but free of bytes to fit.
 */
static struct profcol_error *search_try_all(struct search *search)
{
	bool all_may_fit = search->fits < search->last && search->over > search->last;

	if (!all_may_fit || search->last / 4 > search->fits)
		return NULL;
	return search_measure(search, search->last);
}

static struct profcol_error *search_run(struct search *search, uint32_t last)
{
	size_t first = search->max_bytes / BYTES_PER_SAMPLE;
	uint32_t position = first < last ? (uint32_t)first : last;

	search->last = last;
	search->over = last + 1;
	search->now = (struct measure){ 0 };
	for (unsigned int step = 1;; step++) {
		struct profcol_error *error = search_measure(search, position ? position : 1);

		if (error)
			return error;
		if (search_is_done(search))
			return search_try_all(search);
		position = step % BISECT_EVERY || search->over > last
				   ? search_next(search)
				   : search->fits + (search->over - search->fits) / 2;
	}
}

/* ---- tail ---- */

static bool tail_copy(struct profcol_batch *tail, const struct profcol_batch *batch,
		      enum column_id id, uint32_t begin)
{
	const struct column *from = &batch->columns[id];
	const unsigned char *cells = column_cells(from);

	return from->length == begin ||
	       column_append_copy(&tail->columns[id], id, cells + begin * column_cell_size(id),
				  from->length - begin);
}

/* As above for a column of ends in a column of which @removed cells are gone. */
static bool tail_copy_ends(struct profcol_batch *tail, const struct profcol_batch *batch,
			   enum column_id id, uint32_t begin, uint32_t removed)
{
	uint32_t *ends;

	if (!tail_copy(tail, batch, id, begin))
		return false;
	if (!tail->columns[id].length)
		return true;
	ends = column_own(&tail->columns[id], id);
	for (uint32_t i = 0; ends && i < tail->columns[id].length; i++)
		ends[i] -= removed;
	return ends != NULL;
}

static bool tail_copy_samples(struct profcol_batch *tail, const struct profcol_batch *batch,
			      const struct front *front)
{
	const uint32_t *values_end = COLUMN(batch, COLUMN_SAMPLE_VALUES_END, uint32_t);
	const uint32_t *timestamps_end = COLUMN(batch, COLUMN_SAMPLE_TIMESTAMPS_END, uint32_t);
	struct profcol_sample cut = profcol_batch_sample(batch, front->samples);
	uint32_t values = column_row_begin(values_end, front->samples);
	uint32_t timestamps = column_row_begin(timestamps_end, front->samples);

	if (cut.value_count)
		values += front->observations;
	if (cut.timestamp_count)
		timestamps += front->observations;
	return tail_copy(tail, batch, COLUMN_SAMPLE_STACK, front->samples) &&
	       tail_copy(tail, batch, COLUMN_SAMPLE_ATTRIBUTES, front->samples) &&
	       tail_copy(tail, batch, COLUMN_SAMPLE_LINK, front->samples) &&
	       tail_copy_ends(tail, batch, COLUMN_SAMPLE_VALUES_END, front->samples, values) &&
	       tail_copy_ends(tail, batch, COLUMN_SAMPLE_TIMESTAMPS_END, front->samples,
			      timestamps) &&
	       tail_copy(tail, batch, COLUMN_VALUE, values) &&
	       tail_copy(tail, batch, COLUMN_TIMESTAMP, timestamps);
}

/* The rows of the tree from the ones that the front leaves unfinished on. */
static bool tail_copy_tree(struct profcol_batch *tail, const struct profcol_batch *batch,
			   const struct front *front)
{
	const struct resource_row *resources = COLUMN(batch, COLUMN_RESOURCE, struct resource_row);
	const struct scope_row *scopes = COLUMN(batch, COLUMN_SCOPE, struct scope_row);
	const struct profile_row *profiles = COLUMN(batch, COLUMN_PROFILE, struct profile_row);
	uint32_t resource = front->resources, scope = front->scopes, profile = front->profiles;

	if (profiles[profile - 1].samples_end > front->samples)
		profile--;
	if (scopes[scope - 1].profiles_end > profile)
		scope--;
	if (resources[resource - 1].scopes_end > scope)
		resource--;
	for (uint32_t i = resource; i < column_length(batch, COLUMN_RESOURCE); i++) {
		struct resource_row *row =
			column_append(&tail->columns[COLUMN_RESOURCE], COLUMN_RESOURCE, 1);

		if (!row)
			return false;
		*row = resources[i];
		row->scopes_end -= scope;
	}
	for (uint32_t i = scope; i < column_length(batch, COLUMN_SCOPE); i++) {
		struct scope_row *row =
			column_append(&tail->columns[COLUMN_SCOPE], COLUMN_SCOPE, 1);

		if (!row)
			return false;
		*row = scopes[i];
		row->profiles_end -= profile;
	}
	for (uint32_t i = profile; i < column_length(batch, COLUMN_PROFILE); i++) {
		struct profile_row *row =
			column_append(&tail->columns[COLUMN_PROFILE], COLUMN_PROFILE, 1);

		if (!row)
			return false;
		*row = profiles[i];
		row->samples_end -= front->samples;
	}
	return true;
}

/* What @front leaves of @batch, with all of its dictionary, shared. NULL without memory. */
static struct profcol_batch *tail_create(const struct profcol_batch *batch, struct front front)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *tail = batch_create();

	if (!tail)
		return NULL;
	for (unsigned int id = 0; id <= COLUMN_LINK; id++)
		column_share(&tail->columns[id], &batch->columns[id]);
	tail->has_unused = batch->has_unused;
	if (!tail_copy_tree(tail, batch, &front) || !tail_copy_samples(tail, batch, &front))
		return NULL;
	return TAKE(tail);
}

/* ---- split ---- */

/*
 * Find a front that fits, between samples if one does, else inside the first.
 * Leaves search->head NULL and search->fits at what has to do when not even one
 * observation fits.
 */
static struct profcol_error *split_search(struct search *search)
{
	struct profcol_sample first = profcol_batch_sample(search->batch, 0);
	struct profcol_error *error =
		search_run(search, profcol_batch_count(search->batch, PROFCOL_SAMPLES));

	if (!error && !search->fits && front_observations(&first) > 1) {
		search->inside = true;
		error = search_run(search, front_observations(&first) - 1);
	}
	if (!error && !search->fits)
		search->fits = 1;
	return error;
}

static struct profcol_error *split(const struct profcol_batch *batch,
				   const struct otlp_encode_options *options, size_t max_bytes,
				   struct profcol_batch **head_ret, struct profcol_batch **tail_ret)
{
	struct search search CLEANUP(search_deinit) = {
		.batch = batch,
		.options = options,
		.max_bytes = max_bytes,
	};
	PROFCOL_CLEANUP_BATCH struct profcol_batch *tail = NULL;
	struct profcol_error *error = NULL;
	struct front front;

	if (!profcol_batch_count(batch, PROFCOL_SAMPLES)) {
		error = profile_compact(batch, head_ret);
		if (!error)
			*tail_ret = NULL;
		return error;
	}
	error = split_search(&search);
	if (error)
		return error;
	front = search_front(&search, search.fits);
	if (front.samples < profcol_batch_count(batch, PROFCOL_SAMPLES)) {
		tail = tail_create(batch, front);
		if (!tail)
			return profcol_error_errno(ENOMEM, "copy batch");
	}
	if (!search.head)
		error = front_extract(batch, front, &search.head);
	if (error)
		return error;
	*head_ret = TAKE(search.head);
	*tail_ret = TAKE(tail);
	return NULL;
}

struct profcol_error *profile_split(const struct profcol_batch *batch,
				    const struct otlp_encode_options *options, size_t max_bytes,
				    struct profcol_batch **head_ret,
				    struct profcol_batch **tail_ret)
{
	return profcol_error_prefix(split(batch, options, max_bytes, head_ret, tail_ret),
				    "split batch");
}
