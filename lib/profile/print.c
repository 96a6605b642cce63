// SPDX-License-Identifier: Apache-2.0
/*
 * Batches as text: a line for each observation, every id resolved, in one fixed
 * form, so that two batches with the same contents print the same lines whatever
 * their tables look like.
 */
#include "columns.h"
#include "profile.h"

#include "base/base.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Quoted; line breaks, quotes and bytes that are not text escaped. */
static void print_text(FILE *stream, struct profcol_text text)
{
	bool is_utf8 = strings_is_utf8(text.bytes, text.length);

	putc('"', stream);
	for (size_t i = 0; i < text.length; i++) {
		unsigned char byte = (unsigned char)text.bytes[i];

		if (byte == '"' || byte == '\\')
			fprintf(stream, "\\%c", byte);
		else if (byte == '\n')
			fputs("\\n", stream);
		else if (byte < ' ' || byte == 0x7f || (byte > 0x7f && !is_utf8))
			fprintf(stream, "\\x%02x", byte);
		else
			putc(byte, stream);
	}
	putc('"', stream);
}

static void print_string(FILE *stream, const struct profcol_batch *batch, uint32_t id)
{
	print_text(stream, profcol_batch_string(batch, id));
}

static void print_hex(FILE *stream, const void *bytes, size_t length)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < length; i++) {
		unsigned char byte = ((const unsigned char *)bytes)[i];

		putc(digits[byte >> 4], stream);
		putc(digits[byte & 15], stream);
	}
}

static void print_blob(FILE *stream, const struct profcol_batch *batch, const char *type,
		       uint32_t id)
{
	struct profcol_text blob = profcol_batch_blob(batch, id);

	fprintf(stream, "%s:", type);
	print_hex(stream, blob.bytes, blob.length);
}

static void print_value(FILE *stream, const struct profcol_batch *batch,
			const struct profcol_value *value)
{
	uint64_t bits;

	switch (value->type) {
	case PROFCOL_VALUE_EMPTY:
		fputs("empty", stream);
		break;
	case PROFCOL_VALUE_STRING:
		print_string(stream, batch, value->string);
		break;
	case PROFCOL_VALUE_BOOL:
		fputs(value->boolean ? "true" : "false", stream);
		break;
	case PROFCOL_VALUE_INT:
		fprintf(stream, "%" PRId64, value->integer);
		break;
	case PROFCOL_VALUE_DOUBLE:
		// The bits as well: every NaN is its own value here.
		memcpy(&bits, &value->real, sizeof(bits));
		fprintf(stream, "%g/%016" PRIx64, value->real, bits);
		break;
	case PROFCOL_VALUE_BYTES:
		print_blob(stream, batch, "bytes", value->blob);
		break;
	case PROFCOL_VALUE_ARRAY:
		print_blob(stream, batch, "array", value->blob);
		break;
	case PROFCOL_VALUE_KVLIST:
		print_blob(stream, batch, "kvlist", value->blob);
		break;
	}
}

static void print_attributes(FILE *stream, const struct profcol_batch *batch, uint32_t list)
{
	uint32_t count;
	const uint32_t *ids = profcol_batch_attribute_list(batch, list, &count);

	putc('{', stream);
	for (uint32_t i = 0; i < count; i++) {
		struct profcol_attribute attribute = profcol_batch_attribute(batch, ids[i]);

		fputs(i ? ", " : "", stream);
		print_string(stream, batch, attribute.key);
		putc('=', stream);
		print_value(stream, batch, &attribute.value);
		if (attribute.unit) {
			fputs(" in ", stream);
			print_string(stream, batch, attribute.unit);
		}
	}
	putc('}', stream);
}

/* ---- stacks ---- */

static void print_mapping(FILE *stream, const struct profcol_batch *batch, uint32_t id)
{
	struct profcol_mapping mapping = profcol_batch_mapping(batch, id);

	if (!id)
		return;
	print_string(stream, batch, mapping.filename);
	fprintf(stream, "[%" PRIx64 "-%" PRIx64 "@%" PRIx64 "]", mapping.memory_start,
		mapping.memory_limit, mapping.file_offset);
	if (mapping.attributes)
		print_attributes(stream, batch, mapping.attributes);
}

static void print_line(FILE *stream, const struct profcol_batch *batch,
		       const struct profcol_line *line)
{
	struct profcol_function function = profcol_batch_function(batch, line->function);

	putc(' ', stream);
	print_string(stream, batch, function.name);
	if (function.system_name) {
		putc('(', stream);
		print_string(stream, batch, function.system_name);
		putc(')', stream);
	}
	if (function.filename || function.start_line || line->line || line->column) {
		putc('@', stream);
		print_string(stream, batch, function.filename);
		fprintf(stream, "%" PRId64 ":%" PRId64 ":%" PRId64, function.start_line, line->line,
			line->column);
	}
}

static void print_stack(FILE *stream, const struct profcol_batch *batch, uint32_t id)
{
	uint32_t count;
	const uint32_t *locations = profcol_batch_stack(batch, id, &count);

	putc('[', stream);
	for (uint32_t i = 0; i < count; i++) {
		struct profcol_location location = profcol_batch_location(batch, locations[i]);

		fputs(i ? "; " : "", stream);
		print_mapping(stream, batch, location.mapping);
		fprintf(stream, "+%" PRIx64, location.address);
		for (uint32_t line = 0; line < location.line_count; line++)
			print_line(stream, batch, &location.lines[line]);
		if (location.attributes)
			print_attributes(stream, batch, location.attributes);
	}
	putc(']', stream);
}

/* ---- tree ---- */

static void print_resource(FILE *stream, const struct profcol_batch *batch,
			   const struct profcol_resource *resource)
{
	fputs("resource ", stream);
	print_attributes(stream, batch, resource->attributes);
	putc(' ', stream);
	print_string(stream, batch, resource->schema_url);
	fprintf(stream, " dropped %" PRIu32 " ", resource->dropped_attributes_count);
	print_blob(stream, batch, "entities", resource->entity_refs);
}

static void print_scope(FILE *stream, const struct profcol_batch *batch,
			const struct profcol_scope *scope)
{
	fputs(" | scope ", stream);
	print_string(stream, batch, scope->name);
	putc(' ', stream);
	print_string(stream, batch, scope->version);
	putc(' ', stream);
	print_attributes(stream, batch, scope->attributes);
	putc(' ', stream);
	print_string(stream, batch, scope->schema_url);
	fprintf(stream, " dropped %" PRIu32, scope->dropped_attributes_count);
}

static void print_profile(FILE *stream, const struct profcol_batch *batch,
			  const struct profcol_profile *profile)
{
	fputs(" | profile ", stream);
	print_string(stream, batch, profile->sample_type);
	putc('/', stream);
	print_string(stream, batch, profile->sample_unit);
	fprintf(stream, " every %" PRId64 " ", profile->period);
	print_string(stream, batch, profile->period_type);
	putc('/', stream);
	print_string(stream, batch, profile->period_unit);
	fprintf(stream, " from %" PRIu64 " for %" PRIu64 " id ", profile->time_unix_ns,
		profile->duration_ns);
	print_hex(stream, profile->profile_id, sizeof(profile->profile_id));
	putc(' ', stream);
	print_attributes(stream, batch, profile->attributes);
	fprintf(stream, " dropped %" PRIu32 " payload ", profile->dropped_attributes_count);
	print_string(stream, batch, profile->original_payload_format);
	putc(' ', stream);
	print_blob(stream, batch, "bytes", profile->original_payload);
}

static void print_link(FILE *stream, const struct profcol_batch *batch, uint32_t id)
{
	struct profcol_link link = profcol_batch_link(batch, id);

	if (!id) {
		fputs(" link -", stream);
		return;
	}
	fputs(" link ", stream);
	print_hex(stream, link.trace_id, sizeof(link.trace_id));
	putc('/', stream);
	print_hex(stream, link.span_id, sizeof(link.span_id));
}

/* A part of a line that many lines have in common, put together once. */
struct part {
	FILE *stream;
	char *text; /* owned; complete once closed */
	size_t length;
};

static bool part_open(struct part *part)
{
	*part = (struct part){ 0 };
	part->stream = open_memstream(&part->text, &part->length);
	return part->stream != NULL;
}

/* False without memory. */
static bool part_close(struct part *part)
{
	bool failed = ferror(part->stream);

	return fclose(part->stream) == 0 && !failed;
}

static void part_deinit(struct part *part)
{
	free(part->text);
}

/* One line for each observation of @sample, all beginning with @head. False without memory. */
static bool print_sample(FILE *stream, const struct profcol_batch *batch, const char *head,
			 const struct profcol_sample *sample)
{
	uint32_t count = sample->timestamp_count ? sample->timestamp_count : sample->value_count;
	struct part body CLEANUP(part_deinit);

	if (!part_open(&body))
		return false;
	print_stack(body.stream, batch, sample->stack);
	putc(' ', body.stream);
	print_attributes(body.stream, batch, sample->attributes);
	print_link(body.stream, batch, sample->link);
	if (!part_close(&body))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		fputs(head, stream);
		fputs(body.text, stream);
		fprintf(stream, " value %" PRId64, sample->value_count ? sample->values[i] : 1);
		if (sample->timestamp_count)
			fprintf(stream, " at %" PRIu64 "\n", sample->timestamps_unix_ns[i]);
		else
			fputs(" at -\n", stream);
	}
	return true;
}

static bool print_scope_profiles(FILE *stream, const struct profcol_batch *batch,
				 const struct profcol_resource *resource, uint32_t scope_row)
{
	struct profcol_range profiles, samples;
	struct profcol_scope scope = profcol_batch_scope(batch, scope_row, &profiles);

	for (uint32_t i = profiles.begin; i < profiles.end; i++) {
		struct profcol_profile profile = profcol_batch_profile(batch, i, &samples);
		struct part head CLEANUP(part_deinit);

		if (!part_open(&head))
			return false;
		print_resource(head.stream, batch, resource);
		print_scope(head.stream, batch, &scope);
		print_profile(head.stream, batch, &profile);
		fputs(" | ", head.stream);
		if (!part_close(&head))
			return false;
		for (uint32_t row = samples.begin; row < samples.end; row++) {
			struct profcol_sample sample = profcol_batch_sample(batch, row);

			if (!print_sample(stream, batch, head.text, &sample))
				return false;
		}
	}
	return true;
}

struct profcol_error *profile_print(const struct profcol_batch *batch, FILE *stream)
{
	uint32_t resources = profcol_batch_count(batch, PROFCOL_RESOURCES);
	struct profcol_range scopes;

	for (uint32_t i = 0; i < resources; i++) {
		struct profcol_resource resource = profcol_batch_resource(batch, i, &scopes);

		for (uint32_t scope = scopes.begin; scope < scopes.end; scope++)
			if (!print_scope_profiles(stream, batch, &resource, scope))
				return profcol_error_errno(ENOMEM, "print batch");
	}
	if (fflush(stream) || ferror(stream))
		return profcol_error_errno(errno, "print batch");
	return NULL;
}
