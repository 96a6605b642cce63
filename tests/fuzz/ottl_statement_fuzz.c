// SPDX-License-Identifier: Apache-2.0
/*
 * A statement from the grammar, carried out on all rows of a random batch, both drawn from the
 * input, and the input itself as a statement. The batch is
 * whole afterwards, and has as many events as before.
 */
#include "ottl/ottl.h"
#include "profile/profile.h"
#include "random_batch.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum { TEXT_MAX = 2000 };

struct writer {
	const uint8_t *bytes;
	size_t left;
	char text[TEXT_MAX + 256];
	size_t length;
};

static void check(bool holds)
{
	if (!holds)
		abort();
}

static unsigned int draw(struct writer *writer, unsigned int limit)
{
	if (!writer->left || writer->length > TEXT_MAX)
		return 0;
	writer->left--;
	return *writer->bytes++ % limit;
}

static void put(struct writer *writer, const char *text)
{
	size_t length = strlen(text);

	if (writer->length + length >= sizeof(writer->text))
		return;
	memcpy(writer->text + writer->length, text, length + 1);
	writer->length += length;
}

#define PICK(writer, array) ((array)[draw(writer, sizeof(array) / sizeof((array)[0]))])

static const char *const sample_targets[] = {
	"attributes",
	"attributes[\"thread.name\"]",
	"attributes[\"a\"][\"b\"][1]",
	"attributes[\"new\"]",
	"attributes[\"new\"][3]",
	"resource.attributes",
	"resource.attributes[\"service.name\"]",
	"resource.attributes[attributes[\"thread.name\"]]",
	"resource.schema_url",
	"resource.dropped_attributes_count",
	"scope.name",
	"scope.version",
	"scope.attributes[\"x\"]",
	"profile.attributes",
	"profile.period",
	"profile.time",
	"profile.time_unix_nano",
	"profile.duration",
	"profile.profile_id",
	"profile.profile_id.string",
	"profile.sample_type.type",
	"profile.original_payload",
	"profile.original_payload_format",
	"cache",
	"cache[\"x\"][\"y\"]",
};

static const char *const frame_targets[] = { "frame.function", "frame.file", "frame.cache" };

static const char *const values[] = {
	"1",
	"nil",
	"\"\"",
	"\"a<b>c\"",
	"1.5",
	"0x0102",
	"[1, [2]]",
	"{\"a\": {\"b\": [1]}}",
	"cache",
	"cache[\"x\"]",
	"\"\\u00dc\\xff\"",
	"true",
};

static const char *const sample_values[] = {
	"attributes",
	"resource.attributes",
	"attributes[\"thread.name\"]",
	"profile.time",
	"profile.profile_id",
	"profile.sample_type",
	"scope.attributes",
	"resource.schema_url",
	"values",
	"profile.profile_id.string",
};

static const char *const frame_values[] = { "frame.function", "frame.file", "frame.type",
					    "mapping.filename" };

static const char *const patterns[] = { "\"a\"", "\"(.)(?P<n>.)\"", "\"x*\"", "\"<.*>\"",
					"\"^$\"" };

static void put_value(struct writer *writer, bool of_frame)
{
	switch (draw(writer, 4)) {
	case 0:
	case 1:
		put(writer, PICK(writer, values));
		break;
	case 2:
		put(writer, of_frame ? PICK(writer, frame_values) : PICK(writer, sample_values));
		break;
	default:
		put(writer, "String(");
		put(writer, of_frame ? PICK(writer, frame_values) : PICK(writer, sample_values));
		put(writer, ")");
	}
}

static void put_replacement(struct writer *writer)
{
	static const char *const replacements[] = {
		"\"\"",
		"\"$2-${n}$$\"",
		"\"$1x\"",
		"\"$0$0\", SHA256",
		"\"$1\", ToUpperCase, \"<%s>\"",
	};

	put(writer, ", ");
	put(writer, PICK(writer, patterns));
	put(writer, ", ");
	put(writer, PICK(writer, replacements));
}

static void put_arguments(struct writer *writer, unsigned int editor, bool of_frame)
{
	static const char *const rests[] = {
		", \"a\"", ", [\"a\", \"thread.name\"]", ", 2, [\"a\"]", ", 3, true, \"~\"",
		"",        ", \"p\", 2, true",           ", \"\", 1",    ", {\"a\": 1}, \"upsert\"",
	};

	if (editor == 0) {
		put(writer, ", ");
		put_value(writer, of_frame);
	} else if (editor <= 2) {
		put_replacement(writer);
	} else if (editor == 3) {
		put(writer, draw(writer, 2) ? ", \"key\"" : ", \"value\"");
		put_replacement(writer);
	} else if (editor <= 5) {
		put(writer, ", ");
		put(writer, PICK(writer, patterns));
	} else {
		put(writer, PICK(writer, rests));
	}
}

static void put_statement(struct writer *writer, bool of_frame)
{
	static const char *const editors[] = {
		"set",
		"replace_pattern",
		"replace_match",
		"replace_all_patterns",
		"delete_matching_keys",
		"keep_matching_keys",
		"delete_key",
		"keep_keys",
		"limit",
		"truncate_all",
		"stringify_all",
		"flatten",
		"merge_maps",
		"append",
		"replace_all_matches",
	};
	static const char *const wheres[] = { "", " where true", " where 1 / 0 == 1",
					      " where cache == nil" };
	unsigned int editor = draw(writer, sizeof(editors) / sizeof(editors[0]));

	put(writer, editors[editor]);
	put(writer, "(");
	put(writer, of_frame ? PICK(writer, frame_targets) : PICK(writer, sample_targets));
	put_arguments(writer, editor, of_frame);
	put(writer, ")");
	put(writer, PICK(writer, wheres));
}

static void execute(const struct ottl_statement *statement, struct ottl_run *run,
		    struct ottl_position *position)
{
	ottl_run_begin_row(run);
	for (int i = 0; i < 2; i++) {
		enum ottl_result result = ottl_execute(statement, run, position);

		check(result != OTTL_ERROR || ottl_run_message(run)[0] != '\0');
	}
}

static void execute_on_samples(const struct ottl_statement *statement, struct ottl_run *run,
			       const struct profcol_builder *builder)
{
	struct profcol_range scopes, profiles, samples;
	struct ottl_position at = { 0 };
	const struct profcol_batch *batch = profcol_builder_peek(builder);
	uint32_t resources = profcol_batch_count(batch, PROFCOL_RESOURCES);

	for (; at.resource < resources; at.resource++) {
		profcol_batch_resource(profcol_builder_peek(builder), at.resource, &scopes);
		for (at.scope = scopes.begin; at.scope < scopes.end; at.scope++) {
			profcol_batch_scope(profcol_builder_peek(builder), at.scope, &profiles);
			for (at.profile = profiles.begin; at.profile < profiles.end; at.profile++) {
				profcol_batch_profile(profcol_builder_peek(builder), at.profile,
						      &samples);
				for (at.sample = samples.begin; at.sample < samples.end;
				     at.sample++)
					execute(statement, run, &at);
			}
		}
	}
}

static void execute_on_frames(const struct ottl_statement *statement, struct ottl_run *run,
			      struct profcol_builder *builder)
{
	uint32_t count = profcol_batch_count(profcol_builder_peek(builder), PROFCOL_LOCATIONS);

	for (uint32_t id = 1; id < count; id++) {
		const struct profcol_batch *batch = profcol_builder_peek(builder);
		struct profcol_location location = profcol_batch_location(batch, id);

		for (uint32_t i = 0; i < location.line_count; i++) {
			struct ottl_position at = { .mapping = location.mapping,
						    .location_attributes = location.attributes };

			location = profcol_batch_location(profcol_builder_peek(builder), id);
			at.function = location.lines[i].function;
			execute(statement, run, &at);
			profile_set_line_function(builder, id, i, at.function);
		}
	}
}

static void run_statement(const struct ottl_statement *statement, bool of_frame,
			  const struct profcol_batch *batch)
{
	struct profcol_builder *builder = profcol_builder_from(batch);
	struct ottl_run *run = ottl_run_create_editing(builder);
	struct profcol_batch *edited = NULL, *compact = NULL;

	check(builder && run);
	if (of_frame)
		execute_on_frames(statement, run, builder);
	else
		execute_on_samples(statement, run, builder);
	ottl_run_destroy(run);
	check(!profcol_builder_seal(builder, &edited));
	check(profcol_batch_events(edited) == profcol_batch_events(batch));
	check(!profile_compact(edited, &compact));
	profcol_batch_unref(compact);
	profcol_batch_unref(edited);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct writer writer = { .bytes = bytes, .left = length };
	struct profcol_batch *batch = random_batch(draw(&writer, 256) << 8 | draw(&writer, 256));
	struct ottl_statement *statement = NULL;
	bool of_frame = draw(&writer, 4) == 0;
	struct profcol_error *error;

	put_statement(&writer, of_frame);
	error = ottl_statement_compile(of_frame ? OTTL_FRAME : OTTL_SAMPLE, false, writer.text,
				       &statement);
	if (statement)
		run_statement(statement, of_frame, batch);
	ottl_statement_destroy(statement);
	profcol_error_destroy(error);
	// The text itself, as somebody may write it.
	CLEANUP_FREE char *text = strndup((const char *)bytes, length);
	check(text != NULL);
	statement = NULL;
	error = ottl_statement_compile(OTTL_SAMPLE, false, text, &statement);
	if (statement)
		run_statement(statement, false, batch);
	ottl_statement_destroy(statement);
	profcol_error_destroy(error);
	profcol_batch_unref(batch);
	return 0;
}
