// SPDX-License-Identifier: Apache-2.0
#include "profile.h"

#include "base/base.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What was counted on one stack of one process; all ids are of strings, but for the stack. */
struct count {
	uint32_t type, unit;
	uint32_t process; /* 0 = its name is not known */
	uint32_t stack;
	uint64_t value;
};

struct line {
	char *text; /* owned */
	uint64_t value;
};

struct folding {
	const struct profcol_batch *batch;                         /* borrowed */
	uint32_t executable_name, thread_name, frame_type, kernel; /* string ids; 0 = not there */
	VECTOR(struct count) counts;
	VECTOR(struct line) lines;
	bool several_types;
};

static void folding_deinit(struct folding *folding)
{
	for (size_t i = 0; i < folding->lines.count; i++)
		free(folding->lines.items[i].text);
	VECTOR_DEINIT(&folding->lines);
	VECTOR_DEINIT(&folding->counts);
}

static void folding_init(struct folding *folding, const struct profcol_batch *batch)
{
	uint32_t count = profcol_batch_count(batch, PROFCOL_STRINGS);

	*folding = (struct folding){ .batch = batch };
	for (uint32_t i = 1; i < count; i++) {
		const char *text = profcol_batch_string(batch, i).bytes;

		if (!strcmp(text, "process.executable.name"))
			folding->executable_name = i;
		else if (!strcmp(text, "thread.name"))
			folding->thread_name = i;
		else if (!strcmp(text, "profile.frame.type"))
			folding->frame_type = i;
		else if (!strcmp(text, "kernel"))
			folding->kernel = i;
	}
}

/* The string that attribute @key has in @list; 0 without. */
static uint32_t find(const struct profcol_batch *batch, uint32_t list, uint32_t key)
{
	uint32_t count;
	const uint32_t *ids = profcol_batch_attribute_list(batch, list, &count);

	for (uint32_t i = 0; key && i < count; i++) {
		struct profcol_attribute attribute = profcol_batch_attribute(batch, ids[i]);

		if (attribute.key == key && attribute.value.type == PROFCOL_VALUE_STRING)
			return attribute.value.string;
	}
	return 0;
}

/* ---- counting ---- */

static uint64_t sample_value(const struct profcol_sample *sample)
{
	uint64_t sum = 0;

	if (!sample->value_count)
		return sample->timestamp_count;
	for (uint32_t i = 0; i < sample->value_count; i++)
		sum += sample->values[i] > 0 ? (uint64_t)sample->values[i] : 0;
	return sum;
}

static bool count_profile(struct folding *folding, uint32_t id, uint32_t executable)
{
	const struct profcol_batch *batch = folding->batch;
	struct profcol_range samples;
	struct profcol_profile profile = profcol_batch_profile(batch, id, &samples);

	for (uint32_t i = samples.begin; i < samples.end; i++) {
		struct profcol_sample sample = profcol_batch_sample(batch, i);
		struct count count = {
			.type = profile.sample_type,
			.unit = profile.sample_unit,
			.process = executable,
			.stack = sample.stack,
			.value = sample_value(&sample),
		};

		if (!count.process)
			count.process = find(batch, sample.attributes, folding->executable_name);
		if (!count.process)
			count.process = find(batch, sample.attributes, folding->thread_name);
		if (count.value && !VECTOR_PUSH(&folding->counts, count))
			return false;
	}
	return true;
}

static bool count_all(struct folding *folding)
{
	uint32_t resources = profcol_batch_count(folding->batch, PROFCOL_RESOURCES);
	struct profcol_range scopes, profiles;

	for (uint32_t i = 0; i < resources; i++) {
		struct profcol_resource resource =
			profcol_batch_resource(folding->batch, i, &scopes);
		uint32_t executable =
			find(folding->batch, resource.attributes, folding->executable_name);

		for (uint32_t scope = scopes.begin; scope < scopes.end; scope++) {
			(void)profcol_batch_scope(folding->batch, scope, &profiles);
			for (uint32_t id = profiles.begin; id < profiles.end; id++)
				if (!count_profile(folding, id, executable))
					return false;
		}
	}
	return true;
}

static int compare_ids(uint32_t left, uint32_t right)
{
	return left < right ? -1 : left > right;
}

static int compare_counts(const void *left, const void *right)
{
	const struct count *a = left, *b = right;
	int order = compare_ids(a->type, b->type);

	order = order ? order : compare_ids(a->unit, b->unit);
	order = order ? order : compare_ids(a->process, b->process);
	return order ? order : compare_ids(a->stack, b->stack);
}

/* Equal ones become one. */
static void join_counts(struct folding *folding)
{
	struct count *items = folding->counts.items;
	size_t kept = 0;

	if (!folding->counts.count)
		return;
	qsort(items, folding->counts.count, sizeof(*items), compare_counts);
	for (size_t i = 1; i < folding->counts.count; i++) {
		folding->several_types |=
			items[i].type != items[0].type || items[i].unit != items[0].unit;
		if (!compare_counts(&items[kept], &items[i]))
			items[kept].value += items[i].value;
		else
			items[++kept] = items[i];
	}
	folding->counts.count = kept + 1;
}

/* ---- lines ---- */

/* Where the number that @name ends in has its blank, or @length. */
static size_t blank_before_number(const char *name, size_t length)
{
	size_t at = length;

	while (at && ((name[at - 1] >= '0' && name[at - 1] <= '9') || name[at - 1] == '.'))
		at--;
	return at && at < length && name[at - 1] == ' ' ? at - 1 : length;
}

static void put_name(FILE *stream, struct profcol_text name)
{
	bool is_utf8 = strings_is_utf8(name.bytes, name.length);
	size_t blank = blank_before_number(name.bytes, name.length);

	for (size_t i = 0; i < name.length; i++) {
		unsigned char byte = (unsigned char)name.bytes[i];

		if (byte == ';')
			byte = ':';
		else if (i == blank)
			byte = '_';
		else if (byte < ' ' || byte == 0x7f || (byte > 0x7f && !is_utf8))
			byte = '?';
		putc(byte, stream);
	}
}

/* What stands for a frame that nobody knows a name of. */
static void put_nameless(FILE *stream, const struct profcol_batch *batch,
			 const struct profcol_location *location)
{
	uint32_t filename = profcol_batch_mapping(batch, location->mapping).filename;
	struct profcol_text file = profcol_batch_string(batch, filename);
	const char *slash = file.length ? memrchr(file.bytes, '/', file.length) : NULL;

	if (slash) {
		file.length -= (size_t)(slash + 1 - file.bytes);
		file.bytes = slash + 1;
	}
	putc('[', stream);
	if (file.length)
		put_name(stream, file);
	else
		fputs("unknown", stream);
	putc(']', stream);
}

static void put_location(FILE *stream, const struct folding *folding, uint32_t id)
{
	const struct profcol_batch *batch = folding->batch;
	struct profcol_location location = profcol_batch_location(batch, id);
	bool kernel = folding->kernel &&
		      find(batch, location.attributes, folding->frame_type) == folding->kernel;
	uint32_t label = profile_location_label(batch, &location);
	// What was inlined lies on top of what it was inlined into.
	uint32_t left = location.line_count ? location.line_count : 1;

	while (left--) {
		struct profcol_function function = { 0 };
		struct profcol_text name;

		if (left < location.line_count)
			function = profcol_batch_function(batch, location.lines[left].function);
		name = profcol_batch_string(batch, function.name          ? function.name
						   : function.system_name ? function.system_name
									  : label);
		putc(';', stream);
		if (name.length)
			put_name(stream, name);
		else
			put_nameless(stream, batch, &location);
		if (kernel)
			fputs("_[k]", stream);
	}
}

static void put_stack(FILE *stream, const struct folding *folding, const struct count *count)
{
	const struct profcol_batch *batch = folding->batch;
	struct profcol_text process = profcol_batch_string(batch, count->process);
	uint32_t depth;
	const uint32_t *locations = profcol_batch_stack(batch, count->stack, &depth);

	if (folding->several_types) {
		put_name(stream, profcol_batch_string(batch, count->type));
		putc(' ', stream);
		put_name(stream, profcol_batch_string(batch, count->unit));
		putc(';', stream);
	}
	if (process.length)
		put_name(stream, process);
	else
		fputs("[unknown]", stream);
	while (depth--)
		put_location(stream, folding, locations[depth]);
}

/* False without memory. */
static bool make_line(struct folding *folding, const struct count *count)
{
	struct line line = { .value = count->value };
	size_t length;
	FILE *stream = open_memstream(&line.text, &length);
	bool failed;

	if (!stream)
		return false;
	put_stack(stream, folding, count);
	failed = ferror(stream);
	if (fclose(stream) || failed || !VECTOR_PUSH(&folding->lines, line)) {
		free(line.text);
		return false;
	}
	return true;
}

static int compare_lines(const void *left, const void *right)
{
	return strcmp(((const struct line *)left)->text, ((const struct line *)right)->text);
}

/* Stacks that differ in addresses only read the same. */
static void put_lines(FILE *stream, const struct folding *folding)
{
	const struct line *items = folding->lines.items;

	for (size_t i = 0; i < folding->lines.count; i++) {
		uint64_t value = items[i].value;

		while (i + 1 < folding->lines.count && !compare_lines(&items[i], &items[i + 1]))
			value += items[++i].value;
		fprintf(stream, "%s %" PRIu64 "\n", items[i].text, value);
	}
}

struct profcol_error *folded_encode(const struct profcol_batch *batch, uint8_t **bytes_ret,
				    size_t *length_ret)
{
	CLEANUP(folding_deinit) struct folding folding;
	char *bytes = NULL;
	size_t length;
	FILE *stream;
	bool made, failed;

	folding_init(&folding, batch);
	made = count_all(&folding);
	join_counts(&folding);
	for (size_t i = 0; made && i < folding.counts.count; i++)
		made = make_line(&folding, &folding.counts.items[i]);
	if (folding.lines.count)
		qsort(folding.lines.items, folding.lines.count, sizeof(*folding.lines.items),
		      compare_lines);
	stream = made ? open_memstream(&bytes, &length) : NULL;
	if (!stream)
		return profcol_error_errno(ENOMEM, "fold stacks");
	put_lines(stream, &folding);
	failed = ferror(stream);
	if (fclose(stream) || failed) {
		free(bytes);
		return profcol_error_errno(ENOMEM, "fold stacks");
	}
	*bytes_ret = (uint8_t *)bytes;
	*length_ret = length;
	return NULL;
}
