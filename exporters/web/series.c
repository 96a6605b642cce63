// SPDX-License-Identifier: Apache-2.0
#include "series.h"

#include "base/base.h"
#include "profile/profile.h"

#include <errno.h>
#include <string.h>

/* Without padding: it is hashed and compared as bytes. */
struct series {
	struct profcol_resource resource;
	struct profcol_scope scope;
	uint32_t kind;
	uint32_t period_type, period_unit; /* string ids */
	uint32_t attributes;               /* of the profile; attribute list id */
	uint32_t zero;                     /* stands where there would be padding */
	int64_t period;
};

_Static_assert(sizeof(struct series) == 16 + 20 + 20 + 8, "no padding to compare");

struct kind {
	uint32_t type, unit; /* string ids */
};

struct series_table {
	struct profcol_builder *dictionary; /* owned; has no tree */
	VECTOR(struct series) series;
	VECTOR(struct kind) kinds;
	struct intern index; /* of the series */
	bool out_of_memory;
};

struct series_table *series_table_create(void)
{
	struct series_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->dictionary = profcol_builder_create();
	if (table->dictionary)
		return table;
	free(table);
	return NULL;
}

void series_table_destroy(struct series_table *table)
{
	if (!table)
		return;
	profcol_builder_destroy(table->dictionary);
	VECTOR_DEINIT(&table->series);
	VECTOR_DEINIT(&table->kinds);
	intern_deinit(&table->index);
	free(table);
}

size_t series_table_memory(const struct series_table *table)
{
	return sizeof(*table) + profile_builder_memory(table->dictionary) +
	       table->series.capacity * sizeof(*table->series.items) +
	       table->kinds.capacity * sizeof(*table->kinds.items) + intern_memory(&table->index);
}

bool series_table_is_whole(const struct series_table *table)
{
	return !table->out_of_memory && profile_builder_is_whole(table->dictionary);
}

size_t series_table_kind_count(const struct series_table *table)
{
	return table->kinds.count;
}

void series_table_kind(const struct series_table *table, size_t kind, const char **type_ret,
		       const char **unit_ret)
{
	const struct profcol_batch *batch = profcol_builder_peek(table->dictionary);

	*type_ret = profcol_batch_string(batch, table->kinds.items[kind].type).bytes;
	*unit_ret = profcol_batch_string(batch, table->kinds.items[kind].unit).bytes;
}

size_t series_table_kind_of(const struct series_table *table, uint32_t series)
{
	return table->series.items[series].kind;
}

size_t series_table_keys(const struct series_table *table, const char **keys, size_t max)
{
	const struct profcol_batch *batch = profcol_builder_peek(table->dictionary);
	uint32_t attributes = profcol_batch_count(batch, PROFCOL_ATTRIBUTES);
	CLEANUP_FREE uint8_t *seen = calloc(profcol_batch_count(batch, PROFCOL_STRINGS) + 1, 1);
	size_t count = 0;

	for (uint32_t i = 1; seen && i < attributes && count < max; i++) {
		uint32_t key = profcol_batch_attribute(batch, i).key;

		if (!seen[key])
			keys[count++] = profcol_batch_string(batch, key).bytes;
		seen[key] = 1;
	}
	return count;
}

/* ---- adding ---- */

struct wanted {
	const struct series_table *table;
	const struct series *series;
};

static bool series_equal(uint32_t id, const void *context)
{
	const struct wanted *wanted = context;

	return !memcmp(&wanted->table->series.items[id], wanted->series, sizeof(*wanted->series));
}

static bool find_kind(struct series_table *table, uint32_t type, uint32_t unit, uint32_t *ret)
{
	for (size_t i = 0; i < table->kinds.count; i++) {
		if (table->kinds.items[i].type != type || table->kinds.items[i].unit != unit)
			continue;
		*ret = (uint32_t)i;
		return true;
	}
	*ret = (uint32_t)table->kinds.count;
	return VECTOR_PUSH(&table->kinds, ((struct kind){ type, unit }));
}

static bool find_series(struct series_table *table, const struct series *series, uint32_t *ret)
{
	struct wanted wanted = { table, series };
	uint32_t hash = intern_hash(series, sizeof(*series));

	*ret = intern_find(&table->index, hash, series_equal, &wanted);
	if (*ret != INTERN_MISSING)
		return true;
	*ret = (uint32_t)table->series.count;
	return VECTOR_PUSH(&table->series, *series) && intern_insert(&table->index, hash, *ret);
}

struct series_intake {
	struct series_table *table;      /* borrowed */
	struct profile_carrier *carrier; /* owned */
};

struct series_intake *series_intake_create(struct series_table *table,
					   const struct profcol_batch *batch)
{
	struct series_intake *intake = calloc(1, sizeof(*intake));

	if (!intake)
		return NULL;
	intake->table = table;
	intake->carrier = profile_carrier_create(batch, table->dictionary);
	if (intake->carrier)
		return intake;
	free(intake);
	return NULL;
}

void series_intake_destroy(struct series_intake *intake)
{
	if (!intake)
		return;
	profile_carrier_destroy(intake->carrier);
	free(intake);
}

static struct profcol_resource carry_resource(struct profile_carrier *carrier,
					      const struct profcol_resource *from)
{
	return (struct profcol_resource){
		.attributes = profile_carry(carrier, PROFCOL_ATTRIBUTE_LISTS, from->attributes),
		.schema_url = profile_carry(carrier, PROFCOL_STRINGS, from->schema_url),
		.dropped_attributes_count = from->dropped_attributes_count,
		.entity_refs = profile_carry(carrier, PROFCOL_BLOBS, from->entity_refs),
	};
}

static struct profcol_scope carry_scope(struct profile_carrier *carrier,
					const struct profcol_scope *from)
{
	return (struct profcol_scope){
		.name = profile_carry(carrier, PROFCOL_STRINGS, from->name),
		.version = profile_carry(carrier, PROFCOL_STRINGS, from->version),
		.attributes = profile_carry(carrier, PROFCOL_ATTRIBUTE_LISTS, from->attributes),
		.schema_url = profile_carry(carrier, PROFCOL_STRINGS, from->schema_url),
		.dropped_attributes_count = from->dropped_attributes_count,
	};
}

bool series_intake_series(struct series_intake *intake, const struct profcol_resource *resource,
			  const struct profcol_scope *scope, const struct profcol_profile *profile,
			  uint32_t *ret)
{
	struct profile_carrier *carrier = intake->carrier;
	struct series series = { 0 };
	uint32_t type, unit;

	series.resource = carry_resource(carrier, resource);
	series.scope = carry_scope(carrier, scope);
	series.period_type = profile_carry(carrier, PROFCOL_STRINGS, profile->period_type);
	series.period_unit = profile_carry(carrier, PROFCOL_STRINGS, profile->period_unit);
	series.attributes = profile_carry(carrier, PROFCOL_ATTRIBUTE_LISTS, profile->attributes);
	series.period = profile->period;
	type = profile_carry(carrier, PROFCOL_STRINGS, profile->sample_type);
	unit = profile_carry(carrier, PROFCOL_STRINGS, profile->sample_unit);
	return find_kind(intake->table, type, unit, &series.kind) &&
	       find_series(intake->table, &series, ret);
}

void series_intake_sample(struct series_intake *intake, const struct profcol_sample *sample,
			  struct slice_row *row)
{
	row->stack = profile_carry(intake->carrier, PROFCOL_STACKS, sample->stack);
	row->attributes =
		profile_carry(intake->carrier, PROFCOL_ATTRIBUTE_LISTS, sample->attributes);
	row->link = profile_carry(intake->carrier, PROFCOL_LINKS, sample->link);
}

/* ---- renewal ---- */

struct series_renewal {
	const struct series_table *old;  /* borrowed */
	struct series_table *renewed;    /* owned until it is finished */
	struct profile_carrier *carrier; /* owned */
	uint32_t *ids;                   /* owned; of a series the new id + 1, 0 = not in use */
	bool out_of_memory;
};

struct series_renewal *series_renewal_create(const struct series_table *old)
{
	struct series_renewal *renewal = calloc(1, sizeof(*renewal));

	if (!renewal)
		return NULL;
	renewal->old = old;
	renewal->renewed = series_table_create();
	renewal->ids = calloc(old->series.count + 1, sizeof(*renewal->ids));
	if (renewal->renewed)
		renewal->carrier = profile_carrier_create(profcol_builder_peek(old->dictionary),
							  renewal->renewed->dictionary);
	if (renewal->carrier && renewal->ids)
		return renewal;
	series_renewal_destroy(renewal);
	return NULL;
}

void series_renewal_destroy(struct series_renewal *renewal)
{
	if (!renewal)
		return;
	profile_carrier_destroy(renewal->carrier);
	series_table_destroy(renewal->renewed);
	free(renewal->ids);
	free(renewal);
}

static void renew_series(struct series_renewal *renewal, uint32_t id)
{
	const struct series *from = &renewal->old->series.items[id];
	struct kind kind = renewal->old->kinds.items[from->kind];
	struct profile_carrier *carrier = renewal->carrier;
	struct series series = { 0 };
	uint32_t type, unit, renewed;

	series.resource = carry_resource(carrier, &from->resource);
	series.scope = carry_scope(carrier, &from->scope);
	series.period_type = profile_carry(carrier, PROFCOL_STRINGS, from->period_type);
	series.period_unit = profile_carry(carrier, PROFCOL_STRINGS, from->period_unit);
	series.attributes = profile_carry(carrier, PROFCOL_ATTRIBUTE_LISTS, from->attributes);
	series.period = from->period;
	type = profile_carry(carrier, PROFCOL_STRINGS, kind.type);
	unit = profile_carry(carrier, PROFCOL_STRINGS, kind.unit);
	if (find_kind(renewal->renewed, type, unit, &series.kind) &&
	    find_series(renewal->renewed, &series, &renewed))
		renewal->ids[id] = renewed + 1;
	else
		renewal->out_of_memory = true;
}

void series_renewal_need(struct series_renewal *renewal, const struct slice_row *row)
{
	if (!renewal->ids[row->series])
		renew_series(renewal, row->series);
	profile_carry(renewal->carrier, PROFCOL_STACKS, row->stack);
	profile_carry(renewal->carrier, PROFCOL_ATTRIBUTE_LISTS, row->attributes);
	profile_carry(renewal->carrier, PROFCOL_LINKS, row->link);
}

void series_renewal_apply(struct series_renewal *renewal, struct slice_row *row)
{
	// All of these are known by now.
	row->series = renewal->ids[row->series] - 1;
	row->stack = profile_carry(renewal->carrier, PROFCOL_STACKS, row->stack);
	row->attributes = profile_carry(renewal->carrier, PROFCOL_ATTRIBUTE_LISTS, row->attributes);
	row->link = profile_carry(renewal->carrier, PROFCOL_LINKS, row->link);
}

struct series_table *series_renewal_finish(struct series_renewal *renewal)
{
	if (renewal->out_of_memory || !series_table_is_whole(renewal->renewed))
		return NULL;
	return TAKE(renewal->renewed);
}

/* ---- reading ---- */

struct reading_row {
	uint64_t stack_and_attributes, series_and_link;
	int64_t value;
};

struct series_reading {
	const struct series_table *table; /* borrowed */
	uint32_t *ranks;                  /* owned; series id to its place in the order */
	uint32_t *order;                  /* owned; the other way round */
	VECTOR(struct reading_row) rows;
};

/* Equal resources, and in them equal scopes, stand together. */
static int compare_series(const void *left, const void *right, void *context)
{
	const struct series_table *table = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct series *items = table->series.items;
	int order = memcmp(&items[a].resource, &items[b].resource, sizeof(items[a].resource));

	order = order ? order : memcmp(&items[a].scope, &items[b].scope, sizeof(items[a].scope));
	return order ? order : (a < b ? -1 : a > b);
}

struct series_reading *series_reading_create(const struct series_table *table)
{
	struct series_reading *reading = calloc(1, sizeof(*reading));
	size_t count = table->series.count;

	if (!reading)
		return NULL;
	reading->table = table;
	reading->ranks = calloc(count + 1, sizeof(*reading->ranks));
	reading->order = calloc(count + 1, sizeof(*reading->order));
	if (!reading->ranks || !reading->order) {
		series_reading_destroy(reading);
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++)
		reading->order[i] = i;
	qsort_r(reading->order, count, sizeof(*reading->order), compare_series,
		(void *)(uintptr_t)table);
	for (uint32_t i = 0; i < count; i++)
		reading->ranks[reading->order[i]] = i;
	return reading;
}

void series_reading_destroy(struct series_reading *reading)
{
	if (!reading)
		return;
	free(reading->ranks);
	free(reading->order);
	VECTOR_DEINIT(&reading->rows);
	free(reading);
}

bool series_reading_add(struct series_reading *reading, const struct slice_row *rows, size_t count)
{
	if (!VECTOR_RESERVE(&reading->rows, count))
		return false;
	for (size_t i = 0; i < count; i++)
		reading->rows.items[reading->rows.count++] = (struct reading_row){
			(uint64_t)rows[i].stack << 32 | rows[i].attributes,
			(uint64_t)reading->ranks[rows[i].series] << 32 | rows[i].link,
			rows[i].value,
		};
	return true;
}

/* Equal rows of several slices become one. */
static bool join_rows(struct series_reading *reading)
{
	struct reading_row *items = reading->rows.items;
	size_t count = reading->rows.count, kept = 0;

	if (!count)
		return true;
	// Stable: afterwards they are sorted by series, and in one by stack and attributes.
	if (radix_sort(items, count, sizeof(*items),
		       offsetof(struct reading_row, stack_and_attributes)) ||
	    radix_sort(items, count, sizeof(*items), offsetof(struct reading_row, series_and_link)))
		return false;
	for (size_t i = 1; i < count; i++) {
		if (items[kept].stack_and_attributes == items[i].stack_and_attributes &&
		    items[kept].series_and_link == items[i].series_and_link)
			items[kept].value = slice_sum(items[kept].value, items[i].value);
		else
			items[++kept] = items[i];
	}
	reading->rows.count = kept + 1;
	return true;
}

/* Open what series @id is in, as far as it is not that of @before, or NULL. */
static void open_series(struct profcol_builder *builder, const struct series_table *table,
			const struct series *before, const struct series *series,
			const struct profcol_profile *window)
{
	struct kind kind = table->kinds.items[series->kind];
	struct profcol_profile profile = *window;
	bool same =
		before && !memcmp(&before->resource, &series->resource, sizeof(series->resource));

	if (!same)
		profcol_builder_add_resource(builder, &series->resource);
	if (!same || memcmp(&before->scope, &series->scope, sizeof(series->scope)) != 0)
		profcol_builder_add_scope(builder, &series->scope);
	profile.sample_type = kind.type;
	profile.sample_unit = kind.unit;
	profile.period_type = series->period_type;
	profile.period_unit = series->period_unit;
	profile.period = series->period;
	profile.attributes = series->attributes;
	profcol_builder_add_profile(builder, &profile);
}

static void add_rows(struct profcol_builder *builder, const struct series_reading *reading,
		     const struct profcol_profile *window)
{
	const struct series_table *table = reading->table;
	const struct series *open = NULL;

	for (size_t i = 0; i < reading->rows.count; i++) {
		const struct reading_row *row = &reading->rows.items[i];
		uint32_t id = reading->order[row->series_and_link >> 32];
		const struct series *series = &table->series.items[id];

		if (series != open)
			open_series(builder, table, open, series, window);
		open = series;
		profcol_builder_add_sample(
			builder, &(struct profcol_sample){
					 .stack = (uint32_t)(row->stack_and_attributes >> 32),
					 .attributes = (uint32_t)row->stack_and_attributes,
					 .link = (uint32_t)row->series_and_link,
					 .value_count = 1,
					 .values = &row->value,
				 });
	}
}

struct profcol_error *series_reading_finish(struct series_reading *reading, uint64_t time_unix_ns,
					    uint64_t duration_ns, struct profcol_batch **ret)
{
	const struct profcol_profile window = { .time_unix_ns = time_unix_ns,
						.duration_ns = duration_ns };
	struct profcol_builder *builder =
		profcol_builder_from(profcol_builder_peek(reading->table->dictionary));

	if (!builder || !join_rows(reading)) {
		profcol_builder_destroy(builder);
		return profcol_error_errno(ENOMEM, "read what is kept");
	}
	add_rows(builder, reading, &window);
	return profcol_builder_seal(builder, ret);
}
