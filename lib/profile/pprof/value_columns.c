// SPDX-License-Identifier: Apache-2.0
#include "value_columns.h"

#include "any_value.h"
#include "keys.h"

#include <string.h>

/* A scope and what its attribute says of the order. */
struct scope_order {
	struct profcol_range profiles;
	uint32_t *profile_of; /* by column, counted from the scope's first profile */
	uint32_t columns;     /* 0 = the profiles are not from pprof */
};

static struct profcol_profile profile_at(const struct profcol_batch *batch, uint32_t id)
{
	struct profcol_range samples;

	return profcol_batch_profile(batch, id, &samples);
}

static bool string_is(const struct profcol_batch *batch, uint32_t id, const char *wanted)
{
	struct profcol_text text = profcol_batch_string(batch, id);

	return text.length == strlen(wanted) && memcmp(text.bytes, wanted, text.length) == 0;
}

/* The column, added when new; NO_COLUMN when there are too many, or no memory. */
static uint32_t column_get(struct value_columns *columns, struct value_column wanted)
{
	for (size_t i = 0; i < columns->columns.count; i++) {
		const struct value_column *column = &columns->columns.items[i];

		if (column->type == wanted.type && column->unit == wanted.unit &&
		    column->repetition == wanted.repetition)
			return (uint32_t)i;
	}
	if (columns->columns.count >= PPROF_MAX_COLUMNS || !VECTOR_PUSH(&columns->columns, wanted))
		return NO_COLUMN;
	return (uint32_t)columns->columns.count - 1;
}

/*
 * Entry i of the attribute is the column of profile i. Taken only as a permutation
 * that fits the profiles; a scope that was merged holds several rounds of them.
 */
static uint32_t order_read(const struct any_value *array, uint32_t profiles, uint32_t *profile_of)
{
	struct reader reader = reader_over(array->bytes, array->length);
	struct any_value item;
	uint32_t count = 0;

	for (; any_value_next_item(&reader, &item); count++)
		if (count >= PPROF_MAX_COLUMNS)
			return 0;
	if (!count || reader.failed || profiles % count)
		return 0;
	for (uint32_t i = 0; i < count; i++)
		profile_of[i] = NO_COLUMN;
	reader = reader_over(array->bytes, array->length);
	for (uint32_t i = 0; any_value_next_item(&reader, &item); i++) {
		if (item.type != PROFCOL_VALUE_INT || item.integer < 0 || item.integer >= count ||
		    profile_of[item.integer] != NO_COLUMN)
			return 0;
		profile_of[item.integer] = i;
	}
	return count;
}

static void order_init(struct scope_order *order, const struct profcol_batch *batch, uint32_t id)
{
	struct profcol_scope scope = profcol_batch_scope(batch, id, &order->profiles);
	struct profcol_value value;
	struct profcol_text blob;
	struct any_value any;

	order->columns = 0;
	if (!attribute_find(batch, scope.attributes, KEY_SAMPLE_TYPE_ORDER, PROFCOL_VALUE_ARRAY,
			    &value))
		return;
	blob = profcol_batch_blob(batch, value.blob);
	if (any_value_parse(blob.bytes, blob.length, &any) && any.type == PROFCOL_VALUE_ARRAY)
		order->columns = order_read(&any, order->profiles.end - order->profiles.begin,
					    order->profile_of);
}

/* The columns of one round of profiles that came from one pprof file. */
static bool add_round(struct value_columns *columns, const struct profcol_batch *batch,
		      const struct scope_order *order, uint32_t first)
{
	for (uint32_t i = 0; i < order->columns; i++) {
		struct profcol_profile profile = profile_at(batch, first + order->profile_of[i]);
		struct value_column wanted = { profile.sample_type, profile.sample_unit };
		uint32_t own;

		for (uint32_t j = 0; j < i; j++) {
			struct profcol_profile before =
				profile_at(batch, first + order->profile_of[j]);

			wanted.repetition += before.sample_type == wanted.type &&
					     before.sample_unit == wanted.unit;
		}
		own = column_get(columns, wanted);
		if (own == NO_COLUMN)
			return false;
		columns->profiles[first + order->profile_of[i]] =
			(struct profile_columns){ own, NO_COLUMN };
	}
	return true;
}

static bool add_scope(struct value_columns *columns, const struct profcol_batch *batch,
		      const struct scope_order *order)
{
	for (uint32_t i = order->profiles.begin; i < order->profiles.end;) {
		struct profcol_profile profile = profile_at(batch, i);
		struct value_column wanted = { profile.sample_type, profile.sample_unit };
		uint32_t own;

		if (order->columns) {
			if (!add_round(columns, batch, order, i))
				return false;
			i += order->columns;
			continue;
		}
		own = column_get(columns, wanted);
		if (own == NO_COLUMN)
			return false;
		columns->profiles[i++] = (struct profile_columns){ own, NO_COLUMN };
	}
	return true;
}

/* Does a count of samples times the period mean something else than a count? */
static bool is_worth_deriving(const struct profcol_batch *batch,
			      const struct profcol_profile *profile)
{
	return profile->period > 0 && profile->period_type &&
	       string_is(batch, profile->sample_type, "samples") &&
	       string_is(batch, profile->sample_unit, "count") &&
	       !string_is(batch, profile->period_unit, "count");
}

static bool derive_scope(struct value_columns *columns, const struct profcol_batch *batch,
			 uint32_t scope, struct profcol_range profiles)
{
	struct value_column *items = columns->columns.items;

	for (uint32_t i = profiles.begin; i < profiles.end; i++)
		items[columns->profiles[i].own].last_scope = scope + 1;
	for (uint32_t i = profiles.begin; i < profiles.end; i++) {
		struct profcol_profile profile = profile_at(batch, i);
		struct value_column wanted = { profile.period_type, profile.period_unit };
		uint32_t derived;

		if (!is_worth_deriving(batch, &profile))
			continue;
		derived = column_get(columns, wanted);
		if (derived == NO_COLUMN)
			return false;
		if (columns->columns.items[derived].last_scope == scope + 1)
			continue;
		columns->profiles[i].derived = derived;
		if (columns->first_derived == NO_COLUMN)
			columns->first_derived = derived;
	}
	return true;
}

static int compare_strings(const struct profcol_batch *batch, uint32_t one, uint32_t other)
{
	struct profcol_text left = profcol_batch_string(batch, one);
	struct profcol_text right = profcol_batch_string(batch, other);

	return strings_compare(left.bytes, left.length, right.bytes, right.length);
}

/* Samples that were counted come first, all else by its name. */
static bool comes_before(const struct profcol_batch *batch, const struct value_column *one,
			 const struct value_column *other)
{
	bool one_counts = string_is(batch, one->type, "samples");
	bool other_counts = string_is(batch, other->type, "samples");
	int difference;

	if (one_counts != other_counts)
		return one_counts;
	difference = compare_strings(batch, one->type, other->type);
	return difference ? difference < 0 : compare_strings(batch, one->unit, other->unit) < 0;
}

/*
 * Which kind a batch has first is chance: a process that only waited may be the first of one file
 * and not of the next. Readers that add up files want the same columns in the same order.
 */
static void sort_columns(struct value_columns *columns, const struct profcol_batch *batch)
{
	uint32_t count = (uint32_t)columns->columns.count, now_at[PPROF_MAX_COLUMNS];
	struct value_column *items = columns->columns.items;
	uint32_t was_at[PPROF_MAX_COLUMNS];

	for (uint32_t i = 0; i < count; i++) {
		struct value_column moved = items[i];
		uint32_t to = i;

		for (; to && comes_before(batch, &moved, &items[to - 1]); to--) {
			items[to] = items[to - 1];
			was_at[to] = was_at[to - 1];
		}
		items[to] = moved;
		was_at[to] = i;
	}
	for (uint32_t i = 0; i < count; i++)
		now_at[was_at[i]] = i;
	for (uint32_t i = 0; i < profcol_batch_count(batch, PROFCOL_PROFILES); i++)
		columns->profiles[i].own = now_at[columns->profiles[i].own];
	columns->first_seen = count ? now_at[0] : 0;
}

/* First all columns that profiles are of, then the derived ones. */
static bool add_all(struct value_columns *columns, const struct profcol_batch *batch,
		    uint32_t *profile_of, bool *is_from_pprof)
{
	uint32_t scopes = profcol_batch_count(batch, PROFCOL_SCOPES);
	struct scope_order order = { .profile_of = profile_of };
	bool has_order = false;

	for (uint32_t i = 0; i < scopes; i++) {
		order_init(&order, batch, i);
		is_from_pprof[i] = order.columns != 0;
		has_order |= is_from_pprof[i];
		if (!add_scope(columns, batch, &order))
			return false;
	}
	if (!has_order)
		sort_columns(columns, batch);
	for (uint32_t i = 0; i < scopes; i++) {
		profcol_batch_scope(batch, i, &order.profiles);
		if (!is_from_pprof[i] && !derive_scope(columns, batch, i, order.profiles))
			return false;
	}
	columns->is_from_pprof = scopes && is_from_pprof[0];
	return true;
}

struct profcol_error *value_columns_init(struct value_columns *columns,
					 const struct profcol_batch *batch)
{
	CLEANUP_FREE uint32_t *profile_of = calloc(PPROF_MAX_COLUMNS, sizeof(*profile_of));
	CLEANUP_FREE bool *is_from_pprof =
		calloc(profcol_batch_count(batch, PROFCOL_SCOPES) + 1ul, sizeof(bool));

	*columns = (struct value_columns){ .first_derived = NO_COLUMN };
	columns->profiles = calloc(profcol_batch_count(batch, PROFCOL_PROFILES) + 1ul,
				   sizeof(*columns->profiles));
	if (!profile_of || !is_from_pprof || !columns->profiles)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory to encode pprof");
	if (add_all(columns, batch, profile_of, is_from_pprof))
		return NULL;
	if (columns->columns.count < PPROF_MAX_COLUMNS)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory to encode pprof");
	return profcol_error_create(PROFCOL_REJECTED,
				    "batch has more than the %d kinds of samples that a pprof "
				    "file may have here; write fewer profiles into one file",
				    PPROF_MAX_COLUMNS);
}

void value_columns_deinit(struct value_columns *columns)
{
	VECTOR_DEINIT(&columns->columns);
	free(columns->profiles);
}
