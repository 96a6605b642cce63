// SPDX-License-Identifier: Apache-2.0
#include "pprof_content.h"

#include <profcol/batch.h>

#include <inttypes.h>
#include <pprof.pb-c.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: pprof content: not so: %s\n", __FILE__, __LINE__,  \
				#condition);                                                       \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* ---- text ---- */

void content_print_text(FILE *stream, const char *bytes, size_t length)
{
	fputc('"', stream);
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)bytes[i] < ' ' || strchr("\"\\|", bytes[i]))
			fprintf(stream, "\\x%02x", (unsigned char)bytes[i]);
		else
			fputc(bytes[i], stream);
	fputc('"', stream);
}

uint64_t content_hash(const char *text)
{
	return (uint64_t)intern_hash_seeded(text, strlen(text), 1) << 32 |
	       intern_hash_seeded(text, strlen(text), 2);
}

void content_line(struct content *content, const char *format, ...)
{
	va_list arguments;
	char *line;

	va_start(arguments, format);
	MUST(vasprintf(&line, format, arguments) >= 0);
	va_end(arguments);
	MUST(VECTOR_PUSH(&content->lines, line));
}

void content_add(struct content *content, const char *key, const int64_t *values)
{
	struct content_sample sample = {
		.key = strdup(key),
		.values = calloc(content->columns + 1, sizeof(int64_t)),
	};

	MUST(sample.key && sample.values);
	if (content->columns)
		memcpy(sample.values, values, content->columns * sizeof(int64_t));
	MUST(VECTOR_PUSH(&content->samples, sample));
}

static int compare_samples(const void *left, const void *right)
{
	return strcmp(((const struct content_sample *)left)->key,
		      ((const struct content_sample *)right)->key);
}

static int compare_strings(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static void add_values(int64_t *sums, const int64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (__builtin_add_overflow(sums[i], values[i], &sums[i]))
			sums[i] = values[i] < 0 ? INT64_MIN : INT64_MAX;
}

static void print_samples(struct content *content, FILE *stream)
{
	struct content_sample *samples = content->samples.items;
	size_t count = content->samples.count;

	if (count)
		qsort(samples, count, sizeof(*samples), compare_samples);
	for (size_t i = 0; i < count; i++) {
		if (i + 1 < count && strcmp(samples[i].key, samples[i + 1].key) == 0) {
			add_values(samples[i + 1].values, samples[i].values, content->columns);
		} else {
			fprintf(stream, "sample %s =", samples[i].key);
			for (size_t j = 0; j < content->columns; j++)
				fprintf(stream, " %" PRId64, samples[i].values[j]);
			fputc('\n', stream);
		}
		free(samples[i].key);
		free(samples[i].values);
	}
	VECTOR_DEINIT(&content->samples);
}

char *content_finish(struct content *content)
{
	char *text = NULL;
	size_t length;
	FILE *stream = open_memstream(&text, &length);

	MUST(stream);
	if (content->lines.count)
		qsort(content->lines.items, content->lines.count, sizeof(char *), compare_strings);
	for (size_t i = 0; i < content->lines.count; i++) {
		// Rows that a file holds twice say nothing more than once.
		if (!i || strcmp(content->lines.items[i], content->lines.items[i - 1]) != 0)
			fprintf(stream, "%s\n", content->lines.items[i]);
		if (i)
			free(content->lines.items[i - 1]);
	}
	if (content->lines.count)
		free(content->lines.items[content->lines.count - 1]);
	VECTOR_DEINIT(&content->lines);
	print_samples(content, stream);
	fclose(stream);
	return text;
}

bool content_equal(const char *left, const char *right)
{
	while (*left && *left == *right) {
		const char *end = strchrnul(left, '\n'), *other = strchrnul(right, '\n');

		if (end - left != other - right || memcmp(left, right, (size_t)(end - left)) != 0)
			break;
		left = end + (*end != 0);
		right = other + (*other != 0);
	}
	if (strcmp(left, right) == 0)
		return true;
	fprintf(stderr, "- %.*s\n+ %.*s\n", (int)strcspn(left, "\n"), left,
		(int)strcspn(right, "\n"), right);
	return false;
}

/* ---- labels ---- */

static void label_push(struct content_labels *labels, const char *key, const char *value)
{
	char *label;

	// Stable by key: position in between, as the sort has none.
	MUST(asprintf(&label, "%s%c%08zu%c%s", key, 0, labels->labels.count, 0, value) >= 0);
	MUST(VECTOR_PUSH(&labels->labels, label));
}

void content_label_string(struct content_labels *labels, const char *key, const char *bytes,
			  size_t length)
{
	CLEANUP_FREE char *value = NULL;
	size_t value_length;
	FILE *stream = open_memstream(&value, &value_length);

	MUST(stream);
	content_print_text(stream, bytes, length);
	fclose(stream);
	label_push(labels, key, value);
}

void content_label_number(struct content_labels *labels, const char *key, int64_t number,
			  const char *unit)
{
	CLEANUP_FREE char *value = NULL;

	if (!unit || (!number && strcmp(unit, key) == 0))
		unit = "";
	MUST(asprintf(&value, "%" PRId64 " %s", number, unit) >= 0);
	label_push(labels, key, value);
}

bool content_labels_have(const struct content_labels *labels, const char *key)
{
	for (size_t i = 0; i < labels->labels.count; i++)
		if (strcmp(labels->labels.items[i], key) == 0)
			return true;
	return false;
}

static int compare_labels(const void *left, const void *right)
{
	const char *a = *(char *const *)left, *b = *(char *const *)right;
	int order = strcmp(a, b);

	return order ? order : strcmp(a + strlen(a) + 1, b + strlen(b) + 1);
}

void content_labels_print(struct content_labels *labels, FILE *stream)
{
	if (labels->labels.count)
		qsort(labels->labels.items, labels->labels.count, sizeof(char *), compare_labels);
	for (size_t i = 0; i < labels->labels.count; i++) {
		const char *key = labels->labels.items[i];
		const char *position = key + strlen(key) + 1;

		fputc(' ', stream);
		content_print_text(stream, key, strlen(key));
		fprintf(stream, ":%s", position + strlen(position) + 1);
		free(labels->labels.items[i]);
	}
	VECTOR_DEINIT(&labels->labels);
}

/* ---- a file's content ---- */

/* id and index in the message's table, sorted by id */
struct id_row {
	uint64_t id;
	size_t index;
};

struct file {
	const Perftools__Profile *profile;
	struct content content;
	struct id_row *mappings, *functions, *locations;
	uint64_t *location_hashes; /* by index */
};

static int compare_ids(const void *left, const void *right)
{
	const struct id_row *a = left, *b = right;

	return a->id < b->id ? -1 : a->id > b->id;
}

#define SORTED_IDS(items, count)                                                                   \
	({                                                                                         \
		struct id_row *rows_ = calloc((count) + 1, sizeof(*rows_));                        \
		MUST(rows_);                                                                       \
		for (size_t i_ = 0; i_ < (count); i_++)                                            \
			rows_[i_] = (struct id_row){ (items)[i_]->id, i_ };                        \
		qsort(rows_, (count), sizeof(*rows_), compare_ids);                                \
		rows_;                                                                             \
	})

static size_t find_id(const struct id_row *rows, size_t count, uint64_t id)
{
	struct id_row wanted = { .id = id };
	const struct id_row *row = bsearch(&wanted, rows, count, sizeof(*rows), compare_ids);

	MUST(row);
	return row->index;
}

static struct profcol_text string_at(const struct file *file, int64_t index)
{
	const ProtobufCBinaryData *text;

	MUST(index >= 0 && (size_t)index < file->profile->n_string_table);
	text = &file->profile->string_table[index];
	return (struct profcol_text){ text->len ? (const char *)text->data : "", text->len };
}

static void print_string(const struct file *file, FILE *stream, int64_t index)
{
	struct profcol_text text = string_at(file, index);

	fputc(' ', stream);
	content_print_text(stream, text.bytes, text.length);
}

static void print_mapping(const struct file *file, FILE *stream, const Perftools__Mapping *mapping)
{
	fprintf(stream, "mapping %" PRIx64 "-%" PRIx64 "@%" PRIx64 " %d%d%d%d",
		mapping->memory_start, mapping->memory_limit, mapping->file_offset,
		mapping->has_functions, mapping->has_filenames, mapping->has_line_numbers,
		mapping->has_inline_frames);
	print_string(file, stream, mapping->filename);
	print_string(file, stream, mapping->build_id);
}

static void print_function(const struct file *file, FILE *stream,
			   const Perftools__Function *function)
{
	fputs("function", stream);
	print_string(file, stream, function->name);
	print_string(file, stream, function->system_name);
	print_string(file, stream, function->filename);
	fprintf(stream, " %" PRId64, function->start_line);
}

static void print_location(const struct file *file, FILE *stream,
			   const Perftools__Location *location)
{
	const Perftools__Profile *profile = file->profile;

	fprintf(stream, "location %" PRIx64 "%s", location->address,
		location->is_folded ? " folded" : "");
	if (location->mapping_id) {
		fputs(" ", stream);
		print_mapping(file, stream,
			      profile->mapping[find_id(file->mappings, profile->n_mapping,
						       location->mapping_id)]);
	}
	for (size_t i = 0; i < location->n_line; i++) {
		fprintf(stream, "; %" PRId64 ":%" PRId64 " ", location->line[i]->line,
			location->line[i]->column);
		print_function(file, stream,
			       profile->function[find_id(file->functions, profile->n_function,
							 location->line[i]->function_id)]);
	}
}

/* A table's row as a line; its hash. */
#define ADD_ROW(file, print, row)                                                                  \
	({                                                                                         \
		char *text_ = NULL;                                                                \
		size_t length_;                                                                    \
		uint64_t hash_;                                                                    \
		FILE *stream_ = open_memstream(&text_, &length_);                                  \
		MUST(stream_);                                                                     \
		print(file, stream_, row);                                                         \
		fclose(stream_);                                                                   \
		hash_ = content_hash(text_);                                                       \
		content_line(&(file)->content, "%s #%016" PRIx64, text_, hash_);                   \
		free(text_);                                                                       \
		hash_;                                                                             \
	})

static void add_tables(struct file *file)
{
	const Perftools__Profile *profile = file->profile;

	file->mappings = SORTED_IDS(profile->mapping, profile->n_mapping);
	file->functions = SORTED_IDS(profile->function, profile->n_function);
	file->locations = SORTED_IDS(profile->location, profile->n_location);
	file->location_hashes = calloc(profile->n_location + 1, sizeof(uint64_t));
	MUST(file->location_hashes);
	for (size_t i = 0; i < profile->n_mapping; i++)
		ADD_ROW(file, print_mapping, profile->mapping[i]);
	for (size_t i = 0; i < profile->n_function; i++)
		ADD_ROW(file, print_function, profile->function[i]);
	for (size_t i = 0; i < profile->n_location; i++)
		file->location_hashes[i] = ADD_ROW(file, print_location, profile->location[i]);
}

static void add_labels(const struct file *file, FILE *stream, const Perftools__Sample *sample)
{
	struct content_labels labels = { 0 };

	for (size_t i = 0; i < sample->n_label; i++) {
		const Perftools__Label *label = sample->label[i];
		struct profcol_text key = string_at(file, label->key);
		struct profcol_text text = string_at(file, label->str);
		struct profcol_text unit = string_at(file, label->num_unit);
		CLEANUP_FREE char *key_text = strndup(key.bytes, key.length);
		CLEANUP_FREE char *unit_text = strndup(unit.bytes, unit.length);

		if (label->str)
			content_label_string(&labels, key_text, text.bytes, text.length);
		else
			content_label_number(&labels, key_text, label->num, unit_text);
	}
	content_labels_print(&labels, stream);
}

static void add_samples(struct file *file)
{
	const Perftools__Profile *profile = file->profile;

	for (size_t i = 0; i < profile->n_sample; i++) {
		const Perftools__Sample *sample = profile->sample[i];
		CLEANUP_FREE char *key = NULL;
		size_t length;
		FILE *stream = open_memstream(&key, &length);

		MUST(stream && sample->n_value == profile->n_sample_type);
		for (size_t j = 0; j < sample->n_location_id; j++)
			fprintf(stream, "%016" PRIx64 " ",
				file->location_hashes[find_id(file->locations, profile->n_location,
							      sample->location_id[j])]);
		fputc('|', stream);
		add_labels(file, stream, sample);
		fclose(stream);
		content_add(&file->content, key, sample->value);
	}
}

static void add_text(struct file *file, const char *what, size_t number, int64_t index)
{
	struct profcol_text text = string_at(file, index);

	content_line(&file->content, "%s %zu: %.*s", what, number, (int)text.length, text.bytes);
}

static void add_header(struct file *file)
{
	const Perftools__Profile *profile = file->profile;

	content_line(&file->content, "time %" PRId64 " for %" PRId64 " every %" PRId64,
		     profile->time_nanos, profile->duration_nanos, profile->period);
	add_text(file, "period type", 0, profile->period_type ? profile->period_type->type : 0);
	add_text(file, "period unit", 0, profile->period_type ? profile->period_type->unit : 0);
	add_text(file, "default", 0, profile->default_sample_type);
	add_text(file, "drop", 0, profile->drop_frames);
	add_text(file, "keep", 0, profile->keep_frames);
	add_text(file, "doc", 0, profile->doc_url);
	for (size_t i = 0; i < profile->n_comment; i++)
		add_text(file, "comment", i, profile->comment[i]);
	for (size_t i = 0; i < profile->n_sample_type; i++) {
		add_text(file, "sample type", i, profile->sample_type[i]->type);
		add_text(file, "sample unit", i, profile->sample_type[i]->unit);
	}
}

uint8_t *pprof_plain(const uint8_t *bytes, size_t length, size_t *length_ret)
{
	bool packed = length > 18 && bytes[0] == 0x1f && bytes[1] == 0x8b;
	uint32_t size = (uint32_t)length;
	z_stream stream = { .next_in = (Bytef *)(uintptr_t)bytes, .avail_in = size };
	uint8_t *plain;

	// A gzip member ends with the length of what it holds.
	if (packed)
		memcpy(&size, bytes + length - sizeof(size), sizeof(size));
	plain = malloc(size + 1ul);
	MUST(plain);
	*length_ret = size;
	if (!packed) {
		memcpy(plain, bytes, length);
		return plain;
	}
	stream.next_out = plain;
	stream.avail_out = size;
	MUST(inflateInit2(&stream, 15 + 16) == Z_OK);
	MUST(inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.total_out == size);
	inflateEnd(&stream);
	return plain;
}

char *pprof_content(const uint8_t *bytes, size_t length)
{
	size_t plain_length;
	CLEANUP_FREE uint8_t *plain = pprof_plain(bytes, length, &plain_length);
	Perftools__Profile *profile = perftools__profile__unpack(NULL, plain_length, plain);
	struct file file = { .profile = profile };

	MUST(profile && profile->n_string_table && !profile->string_table[0].len);
	file.content.columns = profile->n_sample_type;
	add_header(&file);
	add_tables(&file);
	add_samples(&file);
	free(file.mappings);
	free(file.functions);
	free(file.locations);
	free(file.location_hashes);
	perftools__profile__free_unpacked(profile, NULL);
	return content_finish(&file.content);
}
