// SPDX-License-Identifier: Apache-2.0
/*
 * A condition from the grammar over a random batch, both drawn from the input. It is asked of every
 * sample, twice by one run and once by a run of its own: all three say the same.
 */
#include "ottl/ottl.h"
#include "random_batch.h"

#include "base/base.h"

#include <stdio.h>
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

/* A number below @limit; 0 when the input is used up, which every rule below makes an end of. */
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

static const char *const values[] = {
	"1",
	"-2",
	"0",
	"1.5",
	"\"a\"",
	"\"\"",
	"nil",
	"true",
	"false",
	"0x61",
	"[1, \"a\"]",
	"{\"a\": 1}",
	"[]",
	"9223372036854775807",
	"\"\\u00dc\"",
	"attributes",
	"attributes[\"thread.name\"]",
	"attributes[\"thread.id\"]",
	"values",
	"timestamps",
	"timestamps_unix_nano",
	"link_index",
	"attribute_indices",
	"resource.attributes",
	"resource.attributes[\"service.name\"][0]",
	"resource.schema_url",
	"resource.dropped_attributes_count",
	"scope.name",
	"scope.version",
	"scope.attributes",
	"profile.period",
	"profile.time",
	"profile.duration",
	"profile.sample_type",
	"profile.sample_type.type",
	"profile.profile_id",
	"profile.profile_id.string",
	"profile.original_payload",
	"profile.attributes",
	"profile.sample",
	"cache[\"x\"]",
	"frame.function",
	"frame.file",
	"frame.type",
	"mapping.filename",
	"stack.depth",
};

static const char *const patterns[] = { "\"a\"", "\"^[a-z]+$\"", "\"(?i)e\"", "\"\\\\d\"",
					"\"^$\"" };

#define PICK(writer, array) ((array)[draw(writer, sizeof(array) / sizeof((array)[0]))])

static void write_value(struct writer *writer, unsigned int depth);

static void write_call(struct writer *writer, unsigned int depth)
{
	static const struct {
		const char *name;
		unsigned int arguments;
	} functions[] = {
		{ "Len", 1 },      { "Int", 1 },         { "Double", 1 },    { "String", 1 },
		{ "IsString", 1 }, { "ToLowerCase", 1 }, { "HasPrefix", 2 }, { "HasSuffix", 2 },
		{ "Index", 2 },    { "Split", 2 },       { "Substring", 3 },
	};
	unsigned int function = draw(writer, 13);

	if (function >= 11) {
		put(writer, function == 11 ? "IsMatch(" : "Concat([");
		write_value(writer, depth);
		put(writer, ", ");
		if (function == 11) {
			put(writer, PICK(writer, patterns));
		} else {
			write_value(writer, depth);
			put(writer, "], \"-\"");
		}
		put(writer, ")");
		return;
	}
	put(writer, functions[function].name);
	for (unsigned int i = 0; i < functions[function].arguments; i++) {
		put(writer, i ? ", " : "(");
		write_value(writer, depth);
	}
	put(writer, ")");
	if (function == 9 && draw(writer, 2))
		put(writer, "[0]");
}

static void write_value(struct writer *writer, unsigned int depth)
{
	static const char *const operators[] = { " + ", " - ", " * ", " / " };
	unsigned int kind = depth ? draw(writer, 6) : 0;

	if (kind < 3) {
		put(writer, PICK(writer, values));
	} else if (kind == 3) {
		write_call(writer, depth - 1);
	} else {
		put(writer, kind == 4 ? "(" : "");
		write_value(writer, depth - 1);
		put(writer, PICK(writer, operators));
		write_value(writer, depth - 1);
		put(writer, kind == 4 ? ")" : "");
	}
}

static void write_condition(struct writer *writer, unsigned int depth)
{
	static const char *const operators[] = { " == ", " != ", " < ", " <= ", " > ", " >= " };
	unsigned int kind = depth ? draw(writer, 7) : 0;

	if (kind < 3) {
		write_value(writer, 2);
		put(writer, PICK(writer, operators));
		write_value(writer, 2);
	} else if (kind == 3) {
		write_call(writer, 1);
	} else if (kind == 4) {
		put(writer, "not (");
		write_condition(writer, depth - 1);
		put(writer, ")");
	} else {
		write_condition(writer, depth - 1);
		put(writer, kind == 5 ? " and " : " or ");
		write_condition(writer, depth - 1);
	}
}

static enum ottl_result evaluate(const struct ottl_condition *condition, struct ottl_run *run,
				 const struct ottl_position *position)
{
	enum ottl_result result = ottl_evaluate(condition, run, position);

	check(result != OTTL_ERROR || ottl_run_message(run)[0] != '\0');
	return result;
}

static void evaluate_sample(const struct ottl_condition *condition,
			    const struct profcol_batch *batch, struct ottl_run *run,
			    const struct ottl_position *position)
{
	OTTL_CLEANUP_RUN struct ottl_run *fresh = ottl_run_create(batch);
	enum ottl_result result = evaluate(condition, run, position);

	check(fresh != NULL);
	check(evaluate(condition, run, position) == result);
	check(evaluate(condition, fresh, position) == result);
}

static void evaluate_all(const struct ottl_condition *condition, const struct profcol_batch *batch)
{
	OTTL_CLEANUP_RUN struct ottl_run *run = ottl_run_create(batch);
	struct profcol_range scopes, profiles, samples;
	struct ottl_position at = { 0 };

	check(run != NULL);
	for (; at.resource < profcol_batch_count(batch, PROFCOL_RESOURCES); at.resource++) {
		profcol_batch_resource(batch, at.resource, &scopes);
		for (at.scope = scopes.begin; at.scope < scopes.end; at.scope++) {
			profcol_batch_scope(batch, at.scope, &profiles);
			for (at.profile = profiles.begin; at.profile < profiles.end; at.profile++) {
				profcol_batch_profile(batch, at.profile, &samples);
				for (at.sample = samples.begin; at.sample < samples.end;
				     at.sample++)
					evaluate_sample(condition, batch, run, &at);
			}
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct writer writer = { .bytes = bytes, .left = length };
	struct profcol_batch *batch = random_batch(draw(&writer, 256) << 8 | draw(&writer, 256));
	struct ottl_condition *condition = NULL;
	struct profcol_error *error;

	write_condition(&writer, 4);
	error = ottl_compile(OTTL_SAMPLE, writer.text, &condition);
	if (condition)
		evaluate_all(condition, batch);
	ottl_condition_destroy(condition);
	profcol_error_destroy(error);
	profcol_batch_unref(batch);
	return 0;
}
