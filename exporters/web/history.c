// SPDX-License-Identifier: Apache-2.0
#include "history.h"

#include "series.h"
#include "slice.h"

#include "base/base.h"
#include "profile/profile.h"

#include <profcol/options.h>

#include <errno.h>
#include <string.h>

enum {
	DICTIONARY_MIN_BYTES = 1 << 20, /* that a dictionary may have before it is made anew */
};

/* The last one is for all that is older. */
static const struct level {
	uint64_t width_ns;
	uint64_t until_ns; /* age at which slices become as wide as the next level's */
} levels[] = {
	{ 5 * PROFCOL_SECOND, 5 * PROFCOL_MINUTE },
	{ PROFCOL_MINUTE, PROFCOL_HOUR },
	{ 10 * PROFCOL_MINUTE, 0 },
};
enum { LEVELS = sizeof(levels) / sizeof(levels[0]) };

/* That a window may be long: a longer one is a mistake of whoever sent it. */
static const uint64_t window_max_ns = 24 * PROFCOL_HOUR;
static const uint64_t future_max_ns = PROFCOL_MINUTE;

struct history {
	struct history_settings settings;
	struct series_table *series; /* owned: with the dictionary */
	VECTOR(struct slice) slices; /* by begin; they do not overlap */
	uint64_t evicted, expired;   /* events */
	size_t dictionary_bytes;     /* when it was made anew */
	bool has_garbage;            /* slices have gone since then */
};

struct history *history_create(const struct history_settings *settings)
{
	struct history *history = calloc(1, sizeof(*history));

	if (!history)
		return NULL;
	history->settings = *settings;
	history->series = series_table_create();
	if (history->series)
		return history;
	history_destroy(history);
	return NULL;
}

/* The first @count slices go. Returns their events. */
static uint64_t drop_slices(struct history *history, size_t count)
{
	uint64_t events = 0;

	for (size_t i = 0; i < count; i++) {
		events += history->slices.items[i].events;
		slice_deinit(&history->slices.items[i]);
	}
	history->slices.count -= count;
	if (count)
		memmove(history->slices.items, history->slices.items + count,
			history->slices.count * sizeof(*history->slices.items));
	history->has_garbage |= count > 0;
	return events;
}

void history_destroy(struct history *history)
{
	if (!history)
		return;
	drop_slices(history, history->slices.count);
	VECTOR_DEINIT(&history->slices);
	series_table_destroy(history->series);
	free(history);
}

/* ---- memory ---- */

static size_t rows_memory(const struct history *history)
{
	size_t bytes = 0;

	for (size_t i = 0; i < history->slices.count; i++)
		bytes += slice_memory(&history->slices.items[i]);
	return bytes;
}

static size_t memory(const struct history *history)
{
	size_t spare = history->slices.capacity - history->slices.count;

	return sizeof(*history) + rows_memory(history) + spare * sizeof(*history->slices.items) +
	       series_table_memory(history->series);
}

/* Nothing is left; without memory even for that, false. */
static bool start_anew(struct history *history)
{
	struct series_table *series = series_table_create();

	history->evicted += drop_slices(history, history->slices.count);
	if (!series)
		return false;
	series_table_destroy(history->series);
	history->series = series;
	history->dictionary_bytes = 0;
	history->has_garbage = false;
	return true;
}

/* A dictionary of what the slices need. False without memory: all is as it was. */
static bool renew_dictionary(struct history *history)
{
	struct series_renewal *renewal = series_renewal_create(history->series);
	struct series_table *renewed;

	if (!renewal)
		return false;
	// Rows get their new ids at the end: until then nothing is changed.
	for (size_t i = 0; i < history->slices.count; i++)
		for (size_t j = 0; j < history->slices.items[i].rows.count; j++)
			series_renewal_need(renewal, &history->slices.items[i].rows.items[j]);
	renewed = series_renewal_finish(renewal);
	if (!renewed) {
		series_renewal_destroy(renewal);
		return false;
	}
	for (size_t i = 0; i < history->slices.count; i++) {
		struct slice *slice = &history->slices.items[i];

		for (size_t j = 0; j < slice->rows.count; j++)
			series_renewal_apply(renewal, &slice->rows.items[j]);
		slice->is_settled = false;
		slice_settle(slice);
	}
	series_renewal_destroy(renewal);
	series_table_destroy(history->series);
	history->series = renewed;
	history->dictionary_bytes = series_table_memory(renewed);
	history->has_garbage = false;
	return true;
}

static void renew_if_grown(struct history *history)
{
	if (history->has_garbage && series_table_memory(history->series) >
					    2 * history->dictionary_bytes + DICTIONARY_MIN_BYTES)
		(void)renew_dictionary(history);
}

/* The oldest slices that have a quarter of all rows, one at least, go. */
static void evict(struct history *history)
{
	size_t goal = rows_memory(history) / 4, bytes = 0, count = 0;

	while (count < history->slices.count && (!count || bytes < goal))
		bytes += slice_memory(&history->slices.items[count++]);
	history->evicted += drop_slices(history, count);
}

/* Once the memory is used up an eighth of it is made free, so that there is something to fill. */
static void keep_within_memory(struct history *history)
{
	uint64_t limit = history->settings.memory_bytes;

	if (memory(history) <= limit)
		return;
	limit -= limit / 8;
	for (;;) {
		if (history->has_garbage && !renew_dictionary(history)) {
			(void)start_anew(history);
			return;
		}
		if (memory(history) <= limit || !history->slices.count)
			return;
		evict(history);
	}
}

/* ---- time ---- */

static uint64_t aligned(uint64_t time_ns, uint64_t width_ns)
{
	return time_ns - time_ns % width_ns;
}

/* The position of the first slice that ends after @time_ns. */
static size_t find_slice(const struct history *history, uint64_t time_ns)
{
	size_t low = 0, high = history->slices.count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct slice *slice = &history->slices.items[middle];

		if (slice->begin_ns + slice->width_ns > time_ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* The slice for @time_ns, made now if there is none. NULL without memory. */
static struct slice *slice_at(struct history *history, uint64_t time_ns)
{
	size_t at = find_slice(history, time_ns);
	struct slice *items = history->slices.items;
	uint64_t width = levels[0].width_ns;

	if (at < history->slices.count && items[at].begin_ns <= time_ns)
		return &items[at];
	if (!VECTOR_RESERVE(&history->slices, 1))
		return NULL;
	items = history->slices.items + at;
	memmove(items + 1, items, (history->slices.count - at) * sizeof(*items));
	history->slices.count++;
	// Wider slices are aligned to multiples of this width: it overlaps none.
	*items = (struct slice){
		.begin_ns = aligned(time_ns, width),
		.width_ns = width,
		.first_ns = UINT64_MAX,
	};
	return items;
}

/* As wide as a slice that ended so long ago is to be. */
static uint64_t width_at_age(uint64_t age_ns)
{
	size_t level = 0;

	while (level + 1 < LEVELS && age_ns >= levels[level].until_ns)
		level++;
	return levels[level].width_ns;
}

/*
 * Slices of one wider slice that are all old enough become one. The first of them decides by the
 * end of the wider one, so that none becomes wider while others of it are still to come.
 */
static void widen(struct history *history, uint64_t now_ns)
{
	size_t to = 0;

	for (size_t from = 0; from < history->slices.count; from++) {
		struct slice *next = &history->slices.items[from];
		struct slice *last = to ? &history->slices.items[to - 1] : NULL;
		uint64_t width, begin, end;

		for (size_t level = LEVELS - 1; level > 0; level--) {
			width = levels[level].width_ns;
			begin = aligned(next->begin_ns, width);
			end = begin + width;
			if (next->width_ns >= width || now_ns < end ||
			    width_at_age(now_ns - end) < width)
				continue;
			next->begin_ns = begin;
			next->width_ns = width;
			break;
		}
		if (last && last->begin_ns == next->begin_ns && slice_join(last, next)) {
			last->width_ns =
				next->width_ns > last->width_ns ? next->width_ns : last->width_ns;
			slice_deinit(next);
			continue;
		}
		if (to != from)
			history->slices.items[to] = *next;
		to++;
	}
	history->slices.count = to;
	for (size_t i = 0; i < to; i++)
		slice_settle(&history->slices.items[i]);
}

void history_age(struct history *history, uint64_t now_unix_ns)
{
	uint64_t retention = history->settings.retention_ns;
	size_t old = 0;

	while (old < history->slices.count && now_unix_ns > retention &&
	       history->slices.items[old].last_ns < now_unix_ns - retention &&
	       history->slices.items[old].begin_ns + history->slices.items[old].width_ns <
		       now_unix_ns - retention)
		old++;
	history->expired += drop_slices(history, old);
	widen(history, now_unix_ns);
	renew_if_grown(history);
	keep_within_memory(history);
}

/* ---- adding ---- */

struct adding {
	struct history *history;
	const struct profcol_batch *batch;
	const struct history_range *only; /* NULL = all */
	uint64_t now_ns;
	struct series_intake *intake; /* owned */
};

static bool in_range(const struct history_range *range, uint64_t time_ns)
{
	return time_ns >= range->from_ns && time_ns < range->to_ns;
}

/* What @sample counts, within the range if there is one. */
static int64_t sample_value(const struct adding *adding, const struct profcol_sample *sample,
			    uint64_t *events)
{
	bool each = sample->value_count == sample->timestamp_count;
	int64_t value = 0;

	if (!adding->only || !sample->timestamp_count) {
		for (uint32_t i = 0; i < sample->value_count; i++)
			value = slice_sum(value, sample->values[i]);
		return sample->value_count ? value : sample->timestamp_count;
	}
	*events = 0;
	for (uint32_t i = 0; i < sample->timestamp_count; i++) {
		if (!in_range(adding->only, sample->timestamps_unix_ns[i]))
			continue;
		value = slice_sum(value, each ? sample->values[i] : 1);
		++*events;
	}
	return value;
}

static bool add_samples(struct adding *adding, struct slice *slice, uint32_t series,
			uint32_t profile, struct profcol_range samples, bool is_inside)
{
	bool counts_samples = profile_counts_samples(adding->batch, profile);

	for (uint32_t i = samples.begin; i < samples.end; i++) {
		struct profcol_sample sample = profcol_batch_sample(adding->batch, i);
		uint64_t events = profile_sample_events(&sample, counts_samples);
		struct slice_row row = { .series = series };

		if (!sample.timestamp_count && !is_inside)
			continue;
		row.value = sample_value(adding, &sample, &events);
		if (!row.value && !events)
			continue;
		series_intake_sample(adding->intake, &sample, &row);
		if (!slice_add(slice, &row, events))
			return false;
	}
	return true;
}

static bool add_profile(struct adding *adding, const struct profcol_resource *resource,
			const struct profcol_scope *scope, uint32_t id)
{
	struct profcol_range samples;
	struct profcol_profile profile = profcol_batch_profile(adding->batch, id, &samples);
	uint64_t begin = profile.time_unix_ns, length = profile.duration_ns;
	bool is_inside;
	struct slice *slice;
	uint32_t series;

	if (samples.begin == samples.end)
		return true;
	length = length < window_max_ns ? length : window_max_ns;
	if (!begin || begin > adding->now_ns + future_max_ns)
		begin = adding->now_ns - (length < adding->now_ns ? length : 0);
	is_inside = !adding->only || in_range(adding->only, begin + length / 2);
	if (!series_intake_series(adding->intake, resource, scope, &profile, &series))
		return false;
	slice = slice_at(adding->history, begin);
	if (!slice)
		return false;
	slice->first_ns = begin < slice->first_ns ? begin : slice->first_ns;
	slice->last_ns = begin + length > slice->last_ns ? begin + length : slice->last_ns;
	return add_samples(adding, slice, series, id, samples, is_inside);
}

static bool add_all(struct adding *adding)
{
	const struct profcol_batch *batch = adding->batch;
	uint32_t resources = profcol_batch_count(batch, PROFCOL_RESOURCES);

	for (uint32_t i = 0; i < resources; i++) {
		struct profcol_range scopes, profiles;
		struct profcol_resource resource = profcol_batch_resource(batch, i, &scopes);

		for (uint32_t j = scopes.begin; j < scopes.end; j++) {
			struct profcol_scope scope = profcol_batch_scope(batch, j, &profiles);

			for (uint32_t k = profiles.begin; k < profiles.end; k++)
				if (!add_profile(adding, &resource, &scope, k))
					return false;
		}
	}
	return series_table_is_whole(adding->history->series);
}

/* Slices in which nothing came to lie. */
static void drop_empty_slices(struct history *history)
{
	size_t to = 0;

	for (size_t from = 0; from < history->slices.count; from++) {
		struct slice *slice = &history->slices.items[from];

		slice_settle(slice);
		if (!slice->rows.count) {
			slice_deinit(slice);
			continue;
		}
		if (to != from)
			history->slices.items[to] = *slice;
		to++;
	}
	history->slices.count = to;
}

struct profcol_error *history_add(struct history *history, const struct profcol_batch *batch,
				  const struct history_range *only, uint64_t now_unix_ns)
{
	struct adding adding = {
		.history = history,
		.batch = batch,
		.only = only,
		.now_ns = now_unix_ns,
		.intake = series_intake_create(history->series, batch),
	};
	bool fits = adding.intake && add_all(&adding);

	series_intake_destroy(adding.intake);
	drop_empty_slices(history);
	if (!fits) {
		// What is half there cannot be told from the rest.
		(void)start_anew(history);
		return profcol_error_errno(ENOMEM, "keep a batch");
	}
	keep_within_memory(history);
	return NULL;
}

/* ---- reading ---- */

struct history_figures history_figures(const struct history *history)
{
	struct history_figures figures = {
		.memory_bytes = memory(history),
		.evicted_samples = history->evicted,
		.expired_samples = history->expired,
		.slices = history->slices.count,
	};

	for (size_t i = 0; i < history->slices.count; i++) {
		const struct slice *slice = &history->slices.items[i];

		figures.samples += slice->events;
		figures.rows += slice->rows.count;
		if (!i || slice->first_ns < figures.begin_ns)
			figures.begin_ns = slice->first_ns;
		if (slice->last_ns > figures.end_ns)
			figures.end_ns = slice->last_ns;
	}
	return figures;
}

static bool slice_overlaps(const struct slice *slice, struct history_range range)
{
	return slice->first_ns < range.to_ns && slice->last_ns > range.from_ns;
}

static bool slice_is_inside(const struct slice *slice, struct history_range range)
{
	return in_range(&range, slice->first_ns + (slice->last_ns - slice->first_ns) / 2);
}

struct profcol_error *history_read(const struct history *history, struct history_range range,
				   struct profcol_batch **ret, struct history_range *covered_ret)
{
	struct series_reading *reading = series_reading_create(history->series);
	struct history_range covered = { UINT64_MAX, 0 };
	bool inside = false, fits = reading;
	struct profcol_error *error;

	for (size_t i = 0; i < history->slices.count && !inside; i++)
		inside = slice_is_inside(&history->slices.items[i], range);
	for (size_t i = 0; i < history->slices.count && fits; i++) {
		const struct slice *slice = &history->slices.items[i];

		if (inside ? !slice_is_inside(slice, range) : !slice_overlaps(slice, range))
			continue;
		fits = series_reading_add(reading, slice->rows.items, slice->rows.count);
		if (slice->first_ns < covered.from_ns)
			covered.from_ns = slice->first_ns;
		if (slice->last_ns > covered.to_ns)
			covered.to_ns = slice->last_ns;
	}
	if (!covered.to_ns)
		covered.from_ns = 0;
	error = fits ? series_reading_finish(reading, covered.from_ns,
					     covered.to_ns - covered.from_ns, ret)
		     : profcol_error_errno(ENOMEM, "read what is kept");
	series_reading_destroy(reading);
	if (!error)
		*covered_ret = covered;
	return error;
}

size_t history_kind_count(const struct history *history)
{
	return series_table_kind_count(history->series);
}

struct history_kind history_kind(const struct history *history, size_t index)
{
	struct history_kind kind = { 0 };

	series_table_kind(history->series, index, &kind.type, &kind.unit);
	for (size_t i = 0; i < history->slices.count; i++)
		kind.value = slice_sum(kind.value, history_slice_load(history, i, index).value);
	return kind;
}

size_t history_keys(const struct history *history, const char *keys[HISTORY_KEYS_MAX])
{
	return series_table_keys(history->series, keys, HISTORY_KEYS_MAX);
}

size_t history_slice_count(const struct history *history)
{
	return history->slices.count;
}

struct history_load history_slice_load(const struct history *history, size_t index, size_t kind)
{
	const struct slice *slice = &history->slices.items[index];
	struct history_load load = { .range = { slice->first_ns, slice->last_ns } };

	for (size_t i = 0; i < slice->rows.count; i++)
		if (series_table_kind_of(history->series, slice->rows.items[i].series) == kind)
			load.value = slice_sum(load.value, slice->rows.items[i].value);
	return load;
}
