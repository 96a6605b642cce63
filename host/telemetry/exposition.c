// SPDX-License-Identifier: Apache-2.0
#include "exposition.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_BYTES = 256 };

struct exposition_row {
	size_t name, help, labels; /* positions in text */
	const char *unit;
	enum exposition_type type;
	bool is_real, bare;
	union {
		int64_t integer; /* of a histogram: its sum */
		double real;
	} value;
	const uint64_t *bounds;
	size_t bound_count, first_count; /* position in counts */
};

void exposition_deinit(struct exposition *exposition)
{
	VECTOR_DEINIT(&exposition->text);
	VECTOR_DEINIT(&exposition->rows);
	VECTOR_DEINIT(&exposition->counts);
}

void exposition_clear(struct exposition *exposition)
{
	exposition->text.count = exposition->rows.count = exposition->counts.count = 0;
	exposition->failed = false;
}

/* ---- labels ---- */

static bool is_name_character(char c, bool first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (!first && c >= '0' && c <= '9');
}

/* As the Collector's reader has it: dots and all else that cannot be there become one '_'. */
static size_t add_key(char *to, size_t room, const char *key)
{
	size_t length = 0;

	for (const char *at = key; *at && length < room; at++) {
		bool valid = is_name_character(*at, false);

		if (length == 0 && *at >= '0' && *at <= '9')
			to[length++] = '_';
		if (length < room && (valid || length == 0 || to[length - 1] != '_'))
			to[length++] = valid ? *at : '_';
	}
	return length;
}

static size_t add_value(char *to, size_t room, const char *value)
{
	char clean[VALUE_BYTES + 1];
	size_t taken = strings_cut_utf8(value, strnlen(value, VALUE_BYTES + 1), VALUE_BYTES);
	size_t length = 0;

	strings_sanitize_utf8(clean, value, taken);
	for (const char *at = clean; *at && length + 2 <= room; at++) {
		bool escaped = *at == '"' || *at == '\\' || *at == '\n';

		if (escaped)
			to[length++] = '\\';
		to[length++] = *at == '\n' ? 'n' : *at;
	}
	return length;
}

/* One of `a="b",c="d"`. */
struct label {
	const char *text;
	size_t key_length, length;
};

/* The label at *@at, which is moved on to the next one; false at the end. */
static bool next_label(const char **at, struct label *ret)
{
	const char *end;

	if (!**at)
		return false;
	ret->text = *at;
	ret->key_length = strcspn(*at, "=");
	// Behind the equals sign and the quote.
	for (end = *at + ret->key_length + 2; *end && *end != '"'; end++)
		end += *end == '\\' && end[1];
	end += *end == '"';
	ret->length = (size_t)(end - *at);
	*at = end + (*end == ',');
	return true;
}

static bool has_key(const char *labels, const char *key, size_t length)
{
	struct label label;

	while (next_label(&labels, &label))
		if (label.key_length == length && !memcmp(label.text, key, length))
			return true;
	return false;
}

bool exposition_label(struct exposition_labels *labels, const char *key, const char *value)
{
	char clean_key[VALUE_BYTES + 1], clean_value[2 * VALUE_BYTES];
	size_t key_length = add_key(clean_key, sizeof(clean_key), key), value_length;

	// Prometheus refuses all of a page on which a key is there twice.
	if (!key_length || (labels->length && has_key(labels->text, clean_key, key_length)))
		return true;
	value_length = add_value(clean_value, sizeof(clean_value), value);
	if (labels->length + strlen(",=\"\"") + key_length + value_length >= sizeof(labels->text))
		return false;
	labels->length += (size_t)snprintf(labels->text + labels->length,
					   sizeof(labels->text) - labels->length, "%s%.*s=\"%.*s\"",
					   labels->length ? "," : "", (int)key_length, clean_key,
					   (int)value_length, clean_value);
	return true;
}

/* ---- gathering ---- */

static bool keep_text(struct exposition *exposition, const char *text, size_t length, size_t *ret)
{
	if (!VECTOR_RESERVE(&exposition->text, length + 1))
		return false;
	*ret = exposition->text.count;
	memcpy(exposition->text.items + *ret, text, length);
	exposition->text.items[*ret + length] = '\0';
	exposition->text.count += length + 1;
	return true;
}

static void add_row(struct exposition *exposition, const struct exposition_family *family,
		    const struct exposition_labels *labels, struct exposition_row row)
{
	row.unit = family->unit;
	row.type = family->type;
	row.bare = family->bare;
	if (!keep_text(exposition, family->name, strlen(family->name), &row.name) ||
	    !keep_text(exposition, family->help, strlen(family->help), &row.help) ||
	    !keep_text(exposition, labels->text, labels->length, &row.labels) ||
	    !VECTOR_PUSH(&exposition->rows, row))
		exposition->failed = true;
}

void exposition_add(struct exposition *exposition, const struct exposition_family *family,
		    const struct exposition_labels *labels, int64_t value)
{
	add_row(exposition, family, labels, (struct exposition_row){ .value.integer = value });
}

void exposition_add_real(struct exposition *exposition, const struct exposition_family *family,
			 const struct exposition_labels *labels, double value)
{
	add_row(exposition, family, labels,
		(struct exposition_row){ .is_real = true, .value.real = value });
}

void exposition_add_histogram(struct exposition *exposition, const struct exposition_family *family,
			      const struct exposition_labels *labels,
			      const struct exposition_histogram *histogram)
{
	struct exposition_row row = {
		.value.integer = (int64_t)histogram->sum,
		.bounds = histogram->bounds,
		.bound_count = histogram->bound_count,
		.first_count = exposition->counts.count,
	};

	for (size_t i = 0; i <= histogram->bound_count; i++)
		if (!VECTOR_PUSH(&exposition->counts, histogram->counts[i]))
			exposition->failed = true;
	add_row(exposition, family, labels, row);
}

/* ---- order ---- */

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct exposition_row *a = left, *b = right;
	const char *text = context;
	int order = strcmp(text + a->name, text + b->name);

	return order ? order : strcmp(text + a->labels, text + b->labels);
}

static void add_up(struct exposition *exposition, struct exposition_row *to,
		   const struct exposition_row *from)
{
	if (to->is_real)
		to->value.real += from->value.real;
	else
		to->value.integer += from->value.integer;
	for (size_t i = 0; i <= to->bound_count && to->type == EXPOSITION_HISTOGRAM; i++)
		exposition->counts.items[to->first_count + i] +=
			exposition->counts.items[from->first_count + i];
}

/* Sort, and leave one row of each name and labels. A family has the type of its first row. */
static void put_in_order(struct exposition *exposition)
{
	struct exposition_row *rows = exposition->rows.items;
	const char *text = exposition->text.items;
	size_t kept = 0;

	if (!exposition->rows.count)
		return;
	qsort_r(rows, exposition->rows.count, sizeof(*rows), compare_rows, exposition->text.items);
	for (size_t i = 1; i < exposition->rows.count; i++) {
		struct exposition_row *last = &rows[kept];
		bool same_name = !strcmp(text + last->name, text + rows[i].name);

		if (same_name && (last->type != rows[i].type || last->is_real != rows[i].is_real ||
				  last->bounds != rows[i].bounds))
			continue;
		if (same_name && !strcmp(text + last->labels, text + rows[i].labels))
			add_up(exposition, last, &rows[i]);
		else
			rows[++kept] = rows[i];
	}
	exposition->rows.count = kept + 1;
}

/* ---- writing ---- */

struct output {
	VECTOR(char) bytes;
	const struct exposition *exposition;
	const struct exposition_style *style;
	bool failed;
};

static void put_bytes(struct output *output, const char *text, size_t length)
{
	if (!VECTOR_RESERVE(&output->bytes, length)) {
		output->failed = true;
		return;
	}
	memcpy(output->bytes.items + output->bytes.count, text, length);
	output->bytes.count += length;
}

static void put(struct output *output, const char *text)
{
	put_bytes(output, text, strlen(text));
}

static void put_escaped(struct output *output, const char *text)
{
	char character[2] = { 0 };

	for (; *text; text++) {
		character[0] = *text;
		put(output, *text == '\\' ? "\\\\" : *text == '\n' ? "\\n" : character);
	}
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length >= end_length && !strcmp(text + length - end_length, end);
}

static void put_name(struct output *output, const struct exposition_row *row)
{
	const char *name = output->exposition->text.items + row->name;
	bool total = output->style->type_suffix && row->type == EXPOSITION_COUNTER;
	bool unit = output->style->unit_suffix && row->unit[0] && !ends_with(name, row->unit);

	put(output, name);
	if (unit) {
		put(output, "_");
		put(output, row->unit);
	}
	if (total && (unit || !ends_with(name, "_total")))
		put(output, "_total");
}

static void put_head(struct output *output, const struct exposition_row *row)
{
	static const char *const types[] = {
		[EXPOSITION_COUNTER] = " counter\n",
		[EXPOSITION_GAUGE] = " gauge\n",
		[EXPOSITION_HISTOGRAM] = " histogram\n",
	};

	put(output, "# HELP ");
	put_name(output, row);
	put(output, " ");
	put_escaped(output, output->exposition->text.items + row->help);
	put(output, "\n# TYPE ");
	put_name(output, row);
	put(output, types[row->type]);
}

/* @bound is of a bucket; NULL: there is none. */
static void put_labels(struct output *output, const struct exposition_row *row, const char *bound)
{
	const char *own = output->exposition->text.items + row->labels;
	const char *constant = row->bare ? "" : output->style->labels;
	const char *between = own[0] ? "," : "";
	struct label label;

	if (!own[0] && !constant[0] && !bound)
		return;
	put(output, "{");
	put(output, own);
	while (next_label(&constant, &label)) {
		if (has_key(own, label.text, label.key_length) ||
		    (row->type == EXPOSITION_HISTOGRAM && label.key_length == 2 &&
		     !memcmp(label.text, "le", 2)))
			continue;
		put(output, between);
		put_bytes(output, label.text, label.length);
		between = ",";
	}
	if (bound) {
		put(output, between);
		put(output, "le=\"");
		put(output, bound);
		put(output, "\"");
	}
	put(output, "}");
}

static void put_value(struct output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void put_value(struct output *output, const char *format, ...)
{
	char text[48];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	put(output, text);
}

static void put_histogram(struct output *output, const struct exposition_row *row)
{
	const uint64_t *counts = output->exposition->counts.items + row->first_count;
	uint64_t seen = 0;

	for (size_t i = 0; i <= row->bound_count; i++) {
		char bound[24] = "+Inf";

		if (i < row->bound_count)
			snprintf(bound, sizeof(bound), "%" PRIu64, row->bounds[i]);
		seen += counts[i];
		put_name(output, row);
		put(output, "_bucket");
		put_labels(output, row, bound);
		put_value(output, " %" PRIu64 "\n", seen);
	}
	put_name(output, row);
	put(output, "_sum");
	put_labels(output, row, NULL);
	put_value(output, " %" PRId64 "\n", row->value.integer);
	put_name(output, row);
	put(output, "_count");
	put_labels(output, row, NULL);
	put_value(output, " %" PRIu64 "\n", seen);
}

static void put_row(struct output *output, const struct exposition_row *row)
{
	if (row->type == EXPOSITION_HISTOGRAM) {
		put_histogram(output, row);
		return;
	}
	put_name(output, row);
	put_labels(output, row, NULL);
	if (row->is_real)
		put_value(output, " %.15g\n", row->value.real);
	else
		put_value(output, " %" PRId64 "\n", row->value.integer);
}

char *exposition_write(struct exposition *exposition, const struct exposition_style *style,
		       size_t *length_ret)
{
	struct output output = { .exposition = exposition, .style = style };
	const char *last = NULL;

	if (exposition->failed)
		return NULL;
	put_in_order(exposition);
	for (size_t i = 0; i < exposition->rows.count; i++) {
		const struct exposition_row *row = &exposition->rows.items[i];
		const char *name = exposition->text.items + row->name;

		if (!last || strcmp(last, name) != 0)
			put_head(&output, row);
		last = name;
		put_row(&output, row);
	}
	if (output.failed) {
		VECTOR_DEINIT(&output.bytes);
		return NULL;
	}
	*length_ret = output.bytes.count;
	return output.bytes.items;
}
