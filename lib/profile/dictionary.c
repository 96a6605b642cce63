// SPDX-License-Identifier: Apache-2.0
/*
 * Interning into the tables of a builder's dictionary. Three kinds of tables:
 *
 * - runs: a row is a run of cells in the column below (bytes, or ids);
 * - records: a row has a fixed size; what identifies it is its key, the row
 *   without padding, since padding cannot be compared;
 * - locations: a record with a run of lines.
 *
 * An index holds the rows of its table in their order, so its count says which are still missing.
 * The first rows are in the index that a batch has kept from the builder it came from, if the table
 * is one of those it keeps; the builder's own has those behind. What is not in either enters when
 * something is looked up there.
 */
#include "builder.h"

#include <string.h>

/* A row being looked up, or one that is there, in the form that is hashed and compared. */
struct entry {
	const struct profcol_batch *batch; /* where the rows are that it is compared with */
	const void *cells;                 /* a run, or a record's key */
	size_t bytes;
	const struct profcol_line *lines; /* a location's */
	uint32_t line_count;
};

/* The key of a record: no padding, unused words 0. */
struct record_key {
	uint64_t words[4];
};

static uint64_t pack(uint32_t low, uint32_t high)
{
	return (uint64_t)high << 32 | low;
}

static struct record_key function_key(const struct profcol_function *function)
{
	return (struct record_key){ {
		pack(function->name, function->system_name),
		function->filename,
		(uint64_t)function->start_line,
	} };
}

static struct record_key mapping_key(const struct profcol_mapping *mapping)
{
	return (struct record_key){ {
		mapping->memory_start,
		mapping->memory_limit,
		mapping->file_offset,
		pack(mapping->filename, mapping->attributes),
	} };
}

static struct record_key link_key(const struct profcol_link *link)
{
	struct record_key key = { 0 };

	_Static_assert(sizeof(*link) <= sizeof(key), "a link fits its key");
	memcpy(&key, link, sizeof(*link));
	return key;
}

static uint64_t value_payload(const struct profcol_value *value)
{
	uint64_t bits;

	switch (value->type) {
	case PROFCOL_VALUE_EMPTY:
		return 0;
	case PROFCOL_VALUE_STRING:
		return value->string;
	case PROFCOL_VALUE_BOOL:
		return value->boolean;
	case PROFCOL_VALUE_INT:
		return (uint64_t)value->integer;
	case PROFCOL_VALUE_DOUBLE:
		memcpy(&bits, &value->real, sizeof(bits));
		return bits;
	case PROFCOL_VALUE_BYTES:
	case PROFCOL_VALUE_ARRAY:
	case PROFCOL_VALUE_KVLIST:
		return value->blob;
	}
	return 0; // not a type: the seal refuses it
}

static struct record_key attribute_key(const struct profcol_attribute *attribute)
{
	return (struct record_key){ {
		pack(attribute->key, attribute->unit),
		(uint64_t)attribute->value.type,
		value_payload(&attribute->value),
	} };
}

static struct record_key location_key(const struct profcol_location *location)
{
	return (struct record_key){ {
		location->address,
		pack(location->mapping, location->attributes),
		location->line_count,
	} };
}

static struct record_key line_key(const struct profcol_line *line)
{
	return (struct record_key){ {
		line->function,
		(uint64_t)line->line,
		(uint64_t)line->column,
	} };
}

/* ---- rows as entries ---- */

static struct entry entry_of_text(struct profcol_text text)
{
	return (struct entry){ .cells = text.bytes, .bytes = text.length };
}

static struct entry entry_of_ids(const uint32_t *ids, uint32_t count)
{
	return (struct entry){ .cells = ids, .bytes = count * sizeof(*ids) };
}

static struct entry entry_of_key(const struct record_key *key)
{
	return (struct entry){ .cells = key, .bytes = sizeof(*key) };
}

/* Row @id of @table; @key is storage for a record's key. */
static struct entry entry_of_row(const struct profcol_batch *batch, enum profcol_table table,
				 uint32_t id, struct record_key *key)
{
	struct profcol_location location;
	struct entry entry;
	uint32_t count;

	switch (table) {
	case PROFCOL_STRINGS:
		return entry_of_text(profcol_batch_string(batch, id));
	case PROFCOL_BLOBS:
		return entry_of_text(profcol_batch_blob(batch, id));
	case PROFCOL_STACKS: {
		const uint32_t *ids = profcol_batch_stack(batch, id, &count);

		return entry_of_ids(ids, count);
	}
	case PROFCOL_ATTRIBUTE_LISTS: {
		const uint32_t *ids = profcol_batch_attribute_list(batch, id, &count);

		return entry_of_ids(ids, count);
	}
	case PROFCOL_FUNCTIONS:
		*key = function_key(&COLUMN(batch, COLUMN_FUNCTION, struct profcol_function)[id]);
		break;
	case PROFCOL_MAPPINGS:
		*key = mapping_key(&COLUMN(batch, COLUMN_MAPPING, struct profcol_mapping)[id]);
		break;
	case PROFCOL_ATTRIBUTES:
		*key = attribute_key(
			&COLUMN(batch, COLUMN_ATTRIBUTE, struct profcol_attribute)[id]);
		break;
	case PROFCOL_LINKS:
		*key = link_key(&COLUMN(batch, COLUMN_LINK, struct profcol_link)[id]);
		break;
	default: // PROFCOL_LOCATIONS
		location = profcol_batch_location(batch, id);
		*key = location_key(&location);
		entry = entry_of_key(key);
		entry.lines = location.lines;
		entry.line_count = location.line_count;
		return entry;
	}
	return entry_of_key(key);
}

static uint32_t entry_hash(const struct entry *entry, uint64_t seed)
{
	uint32_t hash = intern_hash_seeded(entry->cells, entry->bytes, seed);

	for (uint32_t i = 0; i < entry->line_count; i++) {
		struct record_key key = line_key(&entry->lines[i]);

		hash = intern_hash_seeded(&key, sizeof(key), seed ^ hash);
	}
	return hash;
}

static bool entry_equals_row(const struct entry *entry, enum profcol_table table, uint32_t id)
{
	struct record_key key;
	struct entry row = entry_of_row(entry->batch, table, id, &key);

	if (row.bytes != entry->bytes || row.line_count != entry->line_count ||
	    (row.bytes && memcmp(row.cells, entry->cells, row.bytes)))
		return false;
	for (uint32_t i = 0; i < row.line_count; i++)
		if (row.lines[i].function != entry->lines[i].function ||
		    row.lines[i].line != entry->lines[i].line ||
		    row.lines[i].column != entry->lines[i].column)
			return false;
	return true;
}

/* One equality for each table, so that the switch above folds away. */
#define ENTRY_EQUAL(name, table)                                                                   \
	static bool name##_equal(uint32_t id, const void *entry)                                   \
	{                                                                                          \
		return entry_equals_row(entry, table, id);                                         \
	}

ENTRY_EQUAL(string, PROFCOL_STRINGS)
ENTRY_EQUAL(blob, PROFCOL_BLOBS)
ENTRY_EQUAL(function, PROFCOL_FUNCTIONS)
ENTRY_EQUAL(mapping, PROFCOL_MAPPINGS)
ENTRY_EQUAL(location, PROFCOL_LOCATIONS)
ENTRY_EQUAL(stack, PROFCOL_STACKS)
ENTRY_EQUAL(attribute, PROFCOL_ATTRIBUTES)
ENTRY_EQUAL(attribute_list, PROFCOL_ATTRIBUTE_LISTS)
ENTRY_EQUAL(link, PROFCOL_LINKS)

static const intern_equal_function equals[DICTIONARY_TABLES] = {
	[PROFCOL_STRINGS] = string_equal,       [PROFCOL_BLOBS] = blob_equal,
	[PROFCOL_FUNCTIONS] = function_equal,   [PROFCOL_MAPPINGS] = mapping_equal,
	[PROFCOL_LOCATIONS] = location_equal,   [PROFCOL_STACKS] = stack_equal,
	[PROFCOL_ATTRIBUTES] = attribute_equal, [PROFCOL_ATTRIBUTE_LISTS] = attribute_list_equal,
	[PROFCOL_LINKS] = link_equal,
};

/* ---- look-up ---- */

/* Enter the rows that the index of @table lacks. False without memory. */
static bool dictionary_index(struct profcol_builder *builder, enum profcol_table table)
{
	uint32_t rows = profcol_batch_count(builder->batch, table);
	const struct intern *base = sealed_index_of(builder->base, table);
	struct intern *index = &builder->indexes[table];

	for (uint32_t id = index->count + (base ? base->count : 0); id < rows; id++) {
		struct record_key key;
		struct entry row = entry_of_row(builder->batch, table, id, &key);

		if (!intern_insert(index, entry_hash(&row, builder->hash_seed), id))
			return false;
	}
	return true;
}

void dictionary_expect(struct profcol_builder *builder, enum profcol_table table, uint32_t rows)
{
	const struct intern *base = sealed_index_of(builder->base, table);
	uint32_t present = profcol_batch_count(builder->batch, table) - (base ? base->count : 0);

	if (rows > INT32_MAX || !intern_reserve(&builder->indexes[table], present + rows))
		builder->out_of_memory = true;
}

/*
 * The row equal to @entry, or INTERN_MISSING with *@hash_ret set for
 * dictionary_added(). Id 0 and out_of_memory without memory.
 */
static uint32_t dictionary_find(struct profcol_builder *builder, enum profcol_table table,
				struct entry *entry, uint32_t *hash_ret)
{
	const struct intern *base = sealed_index_of(builder->base, table);
	uint32_t id = INTERN_MISSING;

	if (!dictionary_index(builder, table)) {
		builder->out_of_memory = true;
		return 0;
	}
	entry->batch = builder->batch;
	*hash_ret = entry_hash(entry, builder->hash_seed);
	if (base)
		id = intern_find(base, *hash_ret, equals[table], entry);
	return id != INTERN_MISSING
		       ? id
		       : intern_find(&builder->indexes[table], *hash_ret, equals[table], entry);
}

/* The id of the row just appended (@appended says whether that went well). */
static uint32_t dictionary_added(struct profcol_builder *builder, enum profcol_table table,
				 uint32_t hash, bool appended)
{
	uint32_t id = profcol_batch_count(builder->batch, table) - 1;

	if (appended && intern_insert(&builder->indexes[table], hash, id))
		return id;
	builder->out_of_memory = true;
	return 0;
}

/* ---- runs ---- */

struct run_columns {
	enum column_id ends, cells;
	uint32_t terminators; /* zeroed cells after each run */
};

static const struct run_columns string_columns = { COLUMN_STRING_END, COLUMN_STRING_BYTES, 1 };
static const struct run_columns blob_columns = { COLUMN_BLOB_END, COLUMN_BLOB_BYTES, 1 };
static const struct run_columns stack_columns = { COLUMN_STACK_END, COLUMN_STACK_LOCATION, 0 };
static const struct run_columns attribute_list_columns = { COLUMN_ATTRIBUTE_LIST_END,
							   COLUMN_ATTRIBUTE_LIST_ITEM, 0 };

/* A row is there once its end is: cells without an end are dropped again. */
static bool append_run(struct profcol_batch *batch, const struct run_columns *run, const void *from,
		       uint32_t count)
{
	struct column *ends = &batch->columns[run->ends], *cells = &batch->columns[run->cells];

	if (!column_reserve(ends, run->ends, 1) ||
	    !column_append_copy(cells, run->cells, from, count))
		return false;
	if (run->terminators) {
		unsigned char *terminator = column_append(cells, run->cells, run->terminators);

		if (!terminator) {
			cells->length -= count;
			return false;
		}
		memset(terminator, 0, run->terminators * column_cell_size(run->cells));
	}
	((uint32_t *)ends->block->cells)[ends->length++] = cells->length;
	return true;
}

static uint32_t intern_run(struct profcol_builder *builder, enum profcol_table table,
			   const struct run_columns *run, struct entry entry, uint32_t count)
{
	uint32_t hash, id = dictionary_find(builder, table, &entry, &hash);

	if (id != INTERN_MISSING)
		return id;
	return dictionary_added(builder, table, hash,
				append_run(builder->batch, run, entry.cells, count));
}

static uint32_t intern_bytes(struct profcol_builder *builder, enum profcol_table table,
			     const struct run_columns *run, const void *bytes, size_t length)
{
	if (length > INT32_MAX) {
		builder->out_of_memory = true;
		return 0;
	}
	return intern_run(builder, table, run, (struct entry){ .cells = bytes, .bytes = length },
			  (uint32_t)length);
}

uint32_t profcol_builder_string(struct profcol_builder *builder, const char *bytes, size_t length)
{
	return intern_bytes(builder, PROFCOL_STRINGS, &string_columns, bytes, length);
}

uint32_t profcol_builder_cstring(struct profcol_builder *builder, const char *text)
{
	return profcol_builder_string(builder, text, strlen(text));
}

uint32_t profcol_builder_blob(struct profcol_builder *builder, const void *bytes, size_t length)
{
	return intern_bytes(builder, PROFCOL_BLOBS, &blob_columns, bytes, length);
}

uint32_t profcol_builder_stack(struct profcol_builder *builder, const uint32_t *locations,
			       uint32_t count)
{
	return intern_run(builder, PROFCOL_STACKS, &stack_columns, entry_of_ids(locations, count),
			  count);
}

uint32_t profcol_builder_attribute_list(struct profcol_builder *builder, const uint32_t *attributes,
					uint32_t count)
{
	return intern_run(builder, PROFCOL_ATTRIBUTE_LISTS, &attribute_list_columns,
			  entry_of_ids(attributes, count), count);
}

/* ---- records ---- */

static uint32_t intern_record(struct profcol_builder *builder, enum profcol_table table,
			      enum column_id id, const struct record_key *key, const void *record)
{
	struct entry entry = entry_of_key(key);
	uint32_t hash, found = dictionary_find(builder, table, &entry, &hash);

	if (found != INTERN_MISSING)
		return found;
	return dictionary_added(builder, table, hash,
				column_append_copy(&builder->batch->columns[id], id, record, 1));
}

uint32_t profcol_builder_function(struct profcol_builder *builder,
				  const struct profcol_function *function)
{
	struct record_key key = function_key(function);

	return intern_record(builder, PROFCOL_FUNCTIONS, COLUMN_FUNCTION, &key, function);
}

uint32_t profcol_builder_mapping(struct profcol_builder *builder,
				 const struct profcol_mapping *mapping)
{
	struct record_key key = mapping_key(mapping);

	return intern_record(builder, PROFCOL_MAPPINGS, COLUMN_MAPPING, &key, mapping);
}

uint32_t profcol_builder_attribute(struct profcol_builder *builder,
				   const struct profcol_attribute *attribute)
{
	struct record_key key = attribute_key(attribute);

	return intern_record(builder, PROFCOL_ATTRIBUTES, COLUMN_ATTRIBUTE, &key, attribute);
}

uint32_t profcol_builder_attribute_string(struct profcol_builder *builder, const char *key,
					  const char *bytes, size_t length)
{
	return profcol_builder_attribute(
		builder,
		&(struct profcol_attribute){
			.key = profcol_builder_cstring(builder, key),
			.value = { .type = PROFCOL_VALUE_STRING,
				   .string = profcol_builder_string(builder, bytes, length) },
		});
}

uint32_t profcol_builder_attribute_int(struct profcol_builder *builder, const char *key,
				       int64_t value)
{
	return profcol_builder_attribute(
		builder, &(struct profcol_attribute){
				 .key = profcol_builder_cstring(builder, key),
				 .value = { .type = PROFCOL_VALUE_INT, .integer = value },
			 });
}

uint32_t profcol_builder_link(struct profcol_builder *builder, const struct profcol_link *link)
{
	struct record_key key = link_key(link);

	return intern_record(builder, PROFCOL_LINKS, COLUMN_LINK, &key, link);
}

/* ---- locations ---- */

static bool append_location(struct profcol_batch *batch, const struct profcol_location *location)
{
	struct column *rows = &batch->columns[COLUMN_LOCATION];
	struct column *lines = &batch->columns[COLUMN_LINE];
	struct location_row *row;

	if (!column_reserve(rows, COLUMN_LOCATION, 1) ||
	    !column_append_copy(lines, COLUMN_LINE, location->lines, location->line_count))
		return false;
	row = (struct location_row *)rows->block->cells + rows->length++;
	*row = (struct location_row){
		.address = location->address,
		.mapping = location->mapping,
		.attributes = location->attributes,
		.lines_end = lines->length,
	};
	return true;
}

uint32_t profcol_builder_location(struct profcol_builder *builder,
				  const struct profcol_location *location)
{
	struct record_key key = location_key(location);
	struct entry entry = entry_of_key(&key);
	uint32_t hash, id;

	entry.lines = location->lines;
	entry.line_count = location->line_count;
	id = dictionary_find(builder, PROFCOL_LOCATIONS, &entry, &hash);
	if (id != INTERN_MISSING)
		return id;
	return dictionary_added(builder, PROFCOL_LOCATIONS, hash,
				append_location(builder->batch, location));
}

bool dictionary_init(struct profcol_builder *builder)
{
	profcol_builder_string(builder, "", 0);
	profcol_builder_blob(builder, "", 0);
	profcol_builder_function(builder, &(struct profcol_function){ 0 });
	profcol_builder_mapping(builder, &(struct profcol_mapping){ 0 });
	profcol_builder_location(builder, &(struct profcol_location){ 0 });
	profcol_builder_stack(builder, NULL, 0);
	profcol_builder_attribute(builder, &(struct profcol_attribute){ 0 });
	profcol_builder_attribute_list(builder, NULL, 0);
	profcol_builder_link(builder, &(struct profcol_link){ 0 });
	return !builder->out_of_memory;
}
