// SPDX-License-Identifier: Apache-2.0
// Profile of proto/profile.proto, github.com/google/pprof.
//
// Mappings, locations and functions are written whole and in the batch's order, an id
// being the row, so nothing has to be renumbered, but for the mapping that comes first. Row 0, the
// zero value, is written only where it is used: under the number after the last row, since ids are
// not 0.
#include "gzip.h"
#include "header.h"
#include "keys.h"
#include "main_mapping.h"
#include "sample_table.h"

#include "../columns.h"
#include "../profile.h"
#include "proto/proto.h"

enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING_TABLE,
	PROFILE_DROP_FRAMES,
	PROFILE_KEEP_FRAMES,
	PROFILE_TIME_NANOS,
	PROFILE_DURATION_NANOS,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_COMMENT,
	PROFILE_DEFAULT_SAMPLE_TYPE,
	PROFILE_DOC_URL,
};

/* Bits of mapping_fields.flags, in the order of the fields has_functions... */
enum { HAS_FUNCTIONS, HAS_FILENAMES, HAS_LINE_NUMBERS, HAS_INLINE_FRAMES, HAS_COUNT };

struct mapping_fields {
	uint32_t filename, build_id; /* string numbers */
	uint8_t flags;
};

struct pprof_encoder {
	const struct profcol_batch *batch; /* borrowed, sealed: its ids are good */
	struct string_numbers strings;
	struct labels labels;
	struct value_columns columns;
	struct sample_table samples;
	struct pprof_header header;
	struct mapping_fields *mappings; /* by row */
	uint32_t main_mapping;           /* row of the one that is written first; 0: row 1 */
	/* Functions that are made of what locations say in place of one: string ids, and by string
	 * id 1 + the place among these. */
	VECTOR(uint32_t) labels_used;
	uint32_t *label_places; /* owned; NULL: there are none */
	bool uses_location_0, uses_function_0;
	VECTOR(uint32_t) ids; /* of one stack */
	struct proto_sizes sizes;
	struct proto_writer writer;
	bool names_are_final;
	bool failed; /* no memory */
};

/* ---- before writing: what has to be known of tables as a whole ---- */

static uint32_t find_build_id(struct pprof_encoder *encoder, uint32_t attributes)
{
	static const char *const keys[] = { KEY_BUILD_ID_GNU, KEY_BUILD_ID_GO,
					    KEY_BUILD_ID_HTLHASH };
	struct profcol_value value;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (attribute_find(encoder->batch, attributes, keys[i], PROFCOL_VALUE_STRING,
				   &value))
			return string_numbers_get(&encoder->strings, value.string);
	return 0;
}

/* What a location's lines let its mapping say. */
static uint8_t line_flags(const struct profcol_batch *batch, const struct profcol_line *lines,
			  uint32_t count)
{
	uint8_t flags = 0;

	for (uint32_t i = 0; i < count; i++) {
		flags |= 1 << HAS_FUNCTIONS;
		if (profcol_batch_function(batch, lines[i].function).filename)
			flags |= 1 << HAS_FILENAMES;
		if (lines[i].line)
			flags |= 1 << HAS_LINE_NUMBERS;
		if (i)
			flags |= 1 << HAS_INLINE_FRAMES;
	}
	return flags;
}

/* An attribute that says so, or its contrary, is believed. */
static uint8_t stated_flags(const struct profcol_batch *batch, uint32_t attributes, uint8_t flags)
{
	static const char *const keys[HAS_COUNT] = {
		[HAS_FUNCTIONS] = KEY_HAS_FUNCTIONS,
		[HAS_FILENAMES] = KEY_HAS_FILENAMES,
		[HAS_LINE_NUMBERS] = KEY_HAS_LINE_NUMBERS,
		[HAS_INLINE_FRAMES] = KEY_HAS_INLINE_FRAMES,
	};
	struct profcol_value value;

	for (int i = 0; i < HAS_COUNT; i++) {
		if (!attribute_find(batch, attributes, keys[i], PROFCOL_VALUE_BOOL, &value))
			continue;
		flags &= (uint8_t)~(1 << i);
		flags |= (uint8_t)(value.boolean << i);
	}
	return flags;
}

static void prepare_mappings(struct pprof_encoder *encoder)
{
	const struct profcol_batch *batch = encoder->batch;
	const struct profcol_mapping *mappings =
		COLUMN(batch, COLUMN_MAPPING, struct profcol_mapping);
	const struct location_row *locations = COLUMN(batch, COLUMN_LOCATION, struct location_row);
	const struct profcol_line *lines = COLUMN(batch, COLUMN_LINE, struct profcol_line);
	uint32_t count = column_length(batch, COLUMN_MAPPING);

	encoder->mappings = calloc(count + 1ul, sizeof(*encoder->mappings));
	if (!encoder->mappings) {
		encoder->failed = true;
		return;
	}
	for (uint32_t i = 1; i < column_length(batch, COLUMN_LOCATION); i++) {
		uint32_t begin = locations[i - 1].lines_end, end = locations[i].lines_end;

		if (begin < end)
			encoder->mappings[locations[i].mapping].flags |=
				line_flags(batch, lines + begin, end - begin);
	}
	for (uint32_t i = 1; i < count; i++) {
		struct mapping_fields *fields = &encoder->mappings[i];

		if (encoder->names_are_final)
			fields->flags |= 1 << HAS_FUNCTIONS;
		fields->filename = string_numbers_get(&encoder->strings, mappings[i].filename);
		fields->build_id = find_build_id(encoder, mappings[i].attributes);
		fields->flags = stated_flags(batch, mappings[i].attributes, fields->flags);
	}
}

static void prepare_functions(struct pprof_encoder *encoder)
{
	const struct profcol_batch *batch = encoder->batch;
	const struct profcol_function *functions =
		COLUMN(batch, COLUMN_FUNCTION, struct profcol_function);
	const struct profcol_line *lines = COLUMN(batch, COLUMN_LINE, struct profcol_line);

	for (uint32_t i = 0; i < column_length(batch, COLUMN_FUNCTION); i++) {
		string_numbers_get(&encoder->strings, functions[i].name);
		string_numbers_get(&encoder->strings, functions[i].system_name);
		string_numbers_get(&encoder->strings, functions[i].filename);
	}
	for (uint32_t i = 0; i < column_length(batch, COLUMN_LINE); i++)
		encoder->uses_function_0 |= lines[i].function == 0;
}

static void prepare_label(struct pprof_encoder *encoder, uint32_t label)
{
	if (!encoder->label_places)
		encoder->label_places = calloc(profcol_batch_count(encoder->batch, PROFCOL_STRINGS),
					       sizeof(*encoder->label_places));
	if (!encoder->label_places) {
		encoder->failed = true;
		return;
	}
	if (encoder->label_places[label])
		return;
	if (!VECTOR_PUSH(&encoder->labels_used, label)) {
		encoder->failed = true;
		return;
	}
	encoder->label_places[label] = (uint32_t)encoder->labels_used.count;
	string_numbers_get(&encoder->strings, label);
}

/* A reader of pprof has nothing but functions to be shown. The mapping does not say that it has
 * some for that: tools may look for the true ones. */
static void prepare_location_labels(struct pprof_encoder *encoder)
{
	uint32_t count = column_length(encoder->batch, COLUMN_LOCATION);

	for (uint32_t i = 1; i < count && !encoder->failed; i++) {
		struct profcol_location location = profcol_batch_location(encoder->batch, i);
		uint32_t label = profile_location_label(encoder->batch, &location);

		if (label)
			prepare_label(encoder, label);
	}
}

static void prepare_stacks(struct pprof_encoder *encoder)
{
	const struct profcol_batch *batch = encoder->batch;
	const uint32_t *ends = COLUMN(batch, COLUMN_STACK_END, uint32_t);
	const uint32_t *locations = COLUMN(batch, COLUMN_STACK_LOCATION, uint32_t);
	uint32_t longest = 0;

	for (size_t i = 0; i < encoder->samples.keys.count; i++) {
		uint32_t stack = encoder->samples.keys.items[i].stack;
		uint32_t begin = column_row_begin(ends, stack), end = ends[stack];

		longest = end - begin > longest ? end - begin : longest;
		for (uint32_t at = begin; at < end; at++)
			encoder->uses_location_0 |= locations[at] == 0;
	}
	if (!VECTOR_RESERVE(&encoder->ids, longest))
		encoder->failed = true;
}

/* ---- writing, twice: to measure and to write ---- */

static void put_value_type(struct proto_writer *writer, uint32_t field, uint32_t type,
			   uint32_t unit)
{
	struct proto_message message = proto_begin(writer, field);

	proto_put_uint(writer, 1, type);
	proto_put_uint(writer, 2, unit);
	proto_end(writer, message);
}

static void put_labels(struct pprof_encoder *encoder, uint32_t set)
{
	struct proto_writer *writer = &encoder->writer;
	size_t count;
	const struct pprof_label *labels = labels_get(&encoder->labels, set, &count);

	for (size_t i = 0; i < count; i++) {
		struct proto_message message = proto_begin(writer, 3);

		proto_put_uint(writer, 1, labels[i].key);
		proto_put_uint(writer, 2, labels[i].str);
		proto_put_int(writer, 3, labels[i].num);
		proto_put_uint(writer, 4, labels[i].unit);
		proto_end(writer, message);
	}
}

static void put_samples(struct pprof_encoder *encoder)
{
	const struct profcol_batch *batch = encoder->batch;
	const uint32_t *ends = COLUMN(batch, COLUMN_STACK_END, uint32_t);
	const uint32_t *locations = COLUMN(batch, COLUMN_STACK_LOCATION, uint32_t);
	uint32_t location_0 = column_length(batch, COLUMN_LOCATION);
	size_t columns = encoder->columns.columns.count;
	struct proto_writer *writer = &encoder->writer;

	for (size_t i = 0; i < encoder->samples.keys.count; i++) {
		const struct sample_key *key = &encoder->samples.keys.items[i];
		struct proto_message message = proto_begin(writer, PROFILE_SAMPLE);
		uint32_t begin = column_row_begin(ends, key->stack);
		uint32_t count = ends[key->stack] - begin;

		for (uint32_t j = 0; j < count; j++)
			encoder->ids.items[j] = locations[begin + j] ?: location_0;
		proto_put_packed_u32(writer, 1, encoder->ids.items, count);
		proto_put_packed_i64(writer, 2, encoder->samples.values.items + i * columns,
				     columns);
		put_labels(encoder, key->labels);
		proto_end(writer, message);
	}
}

/* The id of the mapping in @row. */
static uint32_t mapping_id(const struct pprof_encoder *encoder, uint32_t row)
{
	if (!row || row > encoder->main_mapping)
		return row;
	return row == encoder->main_mapping ? 1 : row + 1;
}

static void put_mapping(struct pprof_encoder *encoder, uint32_t row)
{
	const struct profcol_mapping *mapping =
		&COLUMN(encoder->batch, COLUMN_MAPPING, struct profcol_mapping)[row];
	const struct mapping_fields *fields = &encoder->mappings[row];
	struct proto_writer *writer = &encoder->writer;
	struct proto_message message = proto_begin(writer, PROFILE_MAPPING);

	proto_put_uint(writer, 1, mapping_id(encoder, row));
	proto_put_uint(writer, 2, mapping->memory_start);
	proto_put_uint(writer, 3, mapping->memory_limit);
	proto_put_uint(writer, 4, mapping->file_offset);
	proto_put_uint(writer, 5, fields->filename);
	proto_put_uint(writer, 6, fields->build_id);
	for (uint32_t bit = 0; bit < HAS_COUNT; bit++)
		proto_put_uint(writer, 7 + bit, fields->flags >> bit & 1);
	proto_end(writer, message);
}

static void put_mappings(struct pprof_encoder *encoder)
{
	if (encoder->main_mapping)
		put_mapping(encoder, encoder->main_mapping);
	for (uint32_t i = 1; i < column_length(encoder->batch, COLUMN_MAPPING); i++)
		if (i != encoder->main_mapping)
			put_mapping(encoder, i);
}

/* The number of the first function that is made of a label. */
static uint32_t first_label_function(const struct pprof_encoder *encoder)
{
	return column_length(encoder->batch, COLUMN_FUNCTION) + 1;
}

static void put_label_line(struct pprof_encoder *encoder, const struct location_row *row)
{
	const struct profcol_location location = { .attributes = row->attributes };
	uint32_t label = profile_location_label(encoder->batch, &location);
	struct proto_message line;

	if (!label)
		return;
	line = proto_begin(&encoder->writer, 4);
	proto_put_uint(&encoder->writer, 1,
		       first_label_function(encoder) + encoder->label_places[label] - 1);
	proto_end(&encoder->writer, line);
}

static void put_location(struct pprof_encoder *encoder, uint32_t id,
			 const struct location_row *location, uint32_t lines_begin)
{
	const struct profcol_line *lines = COLUMN(encoder->batch, COLUMN_LINE, struct profcol_line);
	uint32_t function_0 = column_length(encoder->batch, COLUMN_FUNCTION);
	struct proto_writer *writer = &encoder->writer;
	struct proto_message message = proto_begin(writer, PROFILE_LOCATION);
	struct profcol_value is_folded = { 0 };

	proto_put_uint(writer, 1, id);
	proto_put_uint(writer, 2, mapping_id(encoder, location->mapping));
	proto_put_uint(writer, 3, location->address);
	for (uint32_t i = lines_begin; i < location->lines_end; i++) {
		struct proto_message line = proto_begin(writer, 4);

		proto_put_uint(writer, 1, lines[i].function ?: function_0);
		proto_put_int(writer, 2, lines[i].line);
		proto_put_int(writer, 3, lines[i].column);
		proto_end(writer, line);
	}
	if (lines_begin == location->lines_end)
		put_label_line(encoder, location);
	attribute_find(encoder->batch, location->attributes, KEY_IS_FOLDED, PROFCOL_VALUE_BOOL,
		       &is_folded);
	proto_put_uint(writer, 5, is_folded.boolean);
	proto_end(writer, message);
}

static void put_locations(struct pprof_encoder *encoder)
{
	const struct location_row *locations =
		COLUMN(encoder->batch, COLUMN_LOCATION, struct location_row);
	uint32_t count = column_length(encoder->batch, COLUMN_LOCATION);

	for (uint32_t i = 1; i < count; i++)
		put_location(encoder, i, &locations[i], locations[i - 1].lines_end);
	if (encoder->uses_location_0)
		put_location(encoder, count, &(struct location_row){ 0 }, 0);
}

static void put_functions(struct pprof_encoder *encoder)
{
	const struct profcol_function *functions =
		COLUMN(encoder->batch, COLUMN_FUNCTION, struct profcol_function);
	uint32_t count = column_length(encoder->batch, COLUMN_FUNCTION);
	struct string_numbers *strings = &encoder->strings;
	struct proto_writer *writer = &encoder->writer;

	for (uint32_t i = 1; i < count + encoder->uses_function_0; i++) {
		struct profcol_function function =
			i < count ? functions[i] : (struct profcol_function){ 0 };
		struct proto_message message = proto_begin(writer, PROFILE_FUNCTION);

		proto_put_uint(writer, 1, i);
		proto_put_uint(writer, 2, string_numbers_get(strings, function.name));
		proto_put_uint(writer, 3, string_numbers_get(strings, function.system_name));
		proto_put_uint(writer, 4, string_numbers_get(strings, function.filename));
		proto_put_int(writer, 5, function.start_line);
		proto_end(writer, message);
	}
}

static void put_label_functions(struct pprof_encoder *encoder)
{
	for (uint32_t i = 0; i < encoder->labels_used.count; i++) {
		struct proto_message message = proto_begin(&encoder->writer, PROFILE_FUNCTION);

		proto_put_uint(&encoder->writer, 1, first_label_function(encoder) + i);
		proto_put_uint(
			&encoder->writer, 2,
			string_numbers_get(&encoder->strings, encoder->labels_used.items[i]));
		proto_end(&encoder->writer, message);
	}
}

static void put_header(struct pprof_encoder *encoder)
{
	const struct pprof_header *header = &encoder->header;
	struct proto_writer *writer = &encoder->writer;

	for (size_t i = 0; i < encoder->strings.texts.count; i++)
		proto_put_string(writer, PROFILE_STRING_TABLE,
				 encoder->strings.texts.items[i].bytes,
				 encoder->strings.texts.items[i].length);
	proto_put_uint(writer, PROFILE_DROP_FRAMES, header->drop_frames);
	proto_put_uint(writer, PROFILE_KEEP_FRAMES, header->keep_frames);
	proto_put_int(writer, PROFILE_TIME_NANOS, header->time_ns);
	proto_put_int(writer, PROFILE_DURATION_NANOS, header->duration_ns);
	if (header->period_type || header->period_unit)
		put_value_type(writer, PROFILE_PERIOD_TYPE, header->period_type,
			       header->period_unit);
	proto_put_int(writer, PROFILE_PERIOD, header->period);
	proto_put_packed_u32(writer, PROFILE_COMMENT, header->comments.items,
			     header->comments.count);
	proto_put_uint(writer, PROFILE_DEFAULT_SAMPLE_TYPE, header->default_sample_type);
	proto_put_uint(writer, PROFILE_DOC_URL, header->doc_url);
}

static void put_profile(void *context)
{
	struct pprof_encoder *encoder = context;

	for (size_t i = 0; i < encoder->columns.columns.count; i++) {
		const struct value_column *column = &encoder->columns.columns.items[i];

		put_value_type(&encoder->writer, PROFILE_SAMPLE_TYPE,
			       string_numbers_get(&encoder->strings, column->type),
			       string_numbers_get(&encoder->strings, column->unit));
	}
	put_samples(encoder);
	put_mappings(encoder);
	put_locations(encoder);
	put_functions(encoder);
	put_label_functions(encoder);
	put_header(encoder);
}

/* ---- the whole ---- */

static struct profcol_error *encoder_init(struct pprof_encoder *encoder,
					  const struct profcol_batch *batch,
					  const struct pprof_encode_options *options)
{
	struct profcol_error *error;

	*encoder = (struct pprof_encoder){ .batch = batch,
					   .names_are_final = options->names_are_final };
	string_numbers_init(&encoder->strings, batch);
	labels_init(&encoder->labels, batch, &encoder->strings);
	error = value_columns_init(&encoder->columns, batch);
	if (error)
		return error;
	for (size_t i = 0; i < encoder->columns.columns.count; i++) {
		string_numbers_get(&encoder->strings, encoder->columns.columns.items[i].type);
		string_numbers_get(&encoder->strings, encoder->columns.columns.items[i].unit);
	}
	sample_table_init(&encoder->samples, batch, &encoder->columns, &encoder->labels);
	header_init(&encoder->header, batch, &encoder->columns, &encoder->strings);
	encoder->main_mapping = main_mapping(batch);
	prepare_mappings(encoder);
	prepare_functions(encoder);
	prepare_location_labels(encoder);
	prepare_stacks(encoder);
	if (encoder->failed || encoder->strings.failed || encoder->labels.failed ||
	    encoder->samples.failed || encoder->header.failed)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory to encode pprof");
	return NULL;
}

static void encoder_deinit(struct pprof_encoder *encoder)
{
	string_numbers_deinit(&encoder->strings);
	labels_deinit(&encoder->labels);
	value_columns_deinit(&encoder->columns);
	sample_table_deinit(&encoder->samples);
	header_deinit(&encoder->header);
	free(encoder->mappings);
	free(encoder->label_places);
	VECTOR_DEINIT(&encoder->labels_used);
	VECTOR_DEINIT(&encoder->ids);
	proto_sizes_deinit(&encoder->sizes);
}

struct profcol_error *pprof_encode(const struct profcol_batch *batch,
				   const struct pprof_encode_options *options, uint8_t **bytes_ret,
				   size_t *length_ret)
{
	CLEANUP(encoder_deinit) struct pprof_encoder encoder;
	CLEANUP_FREE uint8_t *plain = NULL;
	struct profcol_error *error;
	size_t length;

	error = encoder_init(&encoder, batch, options);
	if (!error)
		error = proto_encode(&encoder.writer, &encoder.sizes, put_profile, &encoder,
				     "pprof", "write files more often", &plain, &length);
	if (error)
		return error;
	if (options->compression_level > 0)
		return gzip_compress(plain, length, options->compression_level, bytes_ret,
				     length_ret);
	*bytes_ret = TAKE(plain);
	*length_ret = length;
	return NULL;
}
