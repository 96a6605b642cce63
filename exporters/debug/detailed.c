// SPDX-License-Identifier: Apache-2.0
#include "detailed.h"

#include "frame.h"
#include "text.h"
#include "value.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

static void detailed_add_ids(struct text *text, const char *label, const uint32_t *ids,
			     uint32_t count)
{
	text_add(text, "%s: [", label);
	for (uint32_t i = 0; i < count && !text->cut; i++)
		text_add(text, i ? " %u" : "%u", ids[i]);
	text_add(text, "]\n");
}

/* Nothing when all of @bytes is zero. */
static void detailed_add_hex(struct text *text, const uint8_t *bytes, size_t length)
{
	size_t zeros = 0;

	while (zeros < length && !bytes[zeros])
		zeros++;
	for (size_t i = 0; zeros < length && i < length; i++)
		text_add(text, "%02x", bytes[i]);
}

static void detailed_add_string_line(struct text *text, const char *label,
				     const struct profcol_batch *batch, uint32_t id)
{
	text_add(text, "%s", label);
	text_add_string(text, profcol_batch_string(batch, id));
	text_add(text, "\n");
}

/* As Go prints a time in UTC: "2020-02-11 20:26:12.000000321 +0000 UTC". */
static void detailed_add_time(struct text *text, uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / 1000000000);
	unsigned int fraction = (unsigned int)(unix_ns % 1000000000), digits = 9;
	char stamp[32] = "";
	struct tm utc;

	if (gmtime_r(&seconds, &utc))
		strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S", &utc);
	text_add(text, "%s", stamp);
	while (fraction && fraction % 10 == 0) {
		fraction /= 10;
		digits--;
	}
	if (fraction)
		text_add(text, ".%0*u", (int)digits, fraction);
	text_add(text, " +0000 UTC");
}

/* ---- the dictionary ---- */

static void detailed_add_mapping(struct text *text, const struct profcol_batch *batch, uint32_t id)
{
	struct profcol_mapping mapping = profcol_batch_mapping(batch, id);
	uint32_t count;
	const uint32_t *attributes =
		profcol_batch_attribute_list(batch, mapping.attributes, &count);

	text_add(text, "Mapping #%u\n", id);
	text_add(text, "    Memory start: %" PRIu64 "\n", mapping.memory_start);
	text_add(text, "    Memory limit: %" PRIu64 "\n", mapping.memory_limit);
	text_add(text, "    File offset: %" PRIu64 "\n", mapping.file_offset);
	text_add(text, "    File name: %u\n", mapping.filename);
	detailed_add_ids(text, "    Attributes", attributes, count);
}

static void detailed_add_location(struct text *text, const struct profcol_batch *batch, uint32_t id)
{
	struct profcol_location location = profcol_batch_location(batch, id);
	uint32_t count;
	const uint32_t *attributes =
		profcol_batch_attribute_list(batch, location.attributes, &count);

	text_add(text, "Location #%u\n", id);
	text_add(text, "    Mapping index: %u\n", location.mapping);
	text_add(text, "    Address: %" PRIu64 "\n", location.address);
	for (uint32_t i = 0; i < location.line_count && !text->cut; i++) {
		text_add(text, "    Line #%u\n", i);
		text_add(text, "        Function index: %u\n", location.lines[i].function);
		text_add(text, "        Line: %" PRId64 "\n", location.lines[i].line);
		text_add(text, "        Column: %" PRId64 "\n", location.lines[i].column);
	}
	detailed_add_ids(text, "    Attributes", attributes, count);
}

static void detailed_add_function(struct text *text, const struct profcol_batch *batch, uint32_t id)
{
	struct profcol_function function = profcol_batch_function(batch, id);

	text_add(text, "Function #%u\n", id);
	text_add(text, "    Name: %u\n", function.name);
	text_add(text, "    System name: %u\n", function.system_name);
	text_add(text, "    Filename: %u\n", function.filename);
	text_add(text, "    Start line: %" PRId64 "\n", function.start_line);
}

static void detailed_add_stack(struct text *text, const struct profcol_batch *batch, uint32_t id)
{
	uint32_t count;
	const uint32_t *locations = profcol_batch_stack(batch, id, &count);

	text_add(text, "Stack #%u\n", id);
	detailed_add_ids(text, "    Locations", locations, count);
	for (uint32_t i = 0; i < count && !text->cut; i++) {
		struct profcol_location location = profcol_batch_location(batch, locations[i]);

		// A location without lines is one frame without a name.
		for (uint32_t j = 0; (!j || j < location.line_count) && !text->cut; j++) {
			text_add(text, "     -> ");
			frame_add(text, batch, frame_of_location(batch, &location, j));
			text_add(text, "\n");
		}
	}
}

/* One under the other, entry 0 first, as three lines each. */
static void detailed_add_attribute(struct text *text, const struct profcol_batch *batch,
				   uint32_t id)
{
	struct profcol_attribute attribute = profcol_batch_attribute(batch, id);

	if (!id)
		text_add(text, "Attribute table:\n");
	text_add(text, "     -> Key: Int(%u)\n     -> Value: ", attribute.key);
	value_add_typed(text, batch, attribute.value);
	text_add(text, "\n     -> unit: Int(%u)\n", attribute.unit);
}

static void detailed_add_link(struct text *text, const struct profcol_batch *batch, uint32_t id)
{
	struct profcol_link link = profcol_batch_link(batch, id);

	if (!id)
		text_add(text, "Link table:\n");
	text_add(text, "     -> Trace ID: Str(");
	detailed_add_hex(text, link.trace_id, sizeof(link.trace_id));
	text_add(text, ")\n     -> Span ID: Str(");
	detailed_add_hex(text, link.span_id, sizeof(link.span_id));
	text_add(text, ")\n");
}

static void detailed_add_string(struct text *text, const struct profcol_batch *batch, uint32_t id)
{
	if (!id)
		text_add(text, "String table:\n");
	detailed_add_string_line(text, "    ", batch, id);
}

static void detailed_add_dictionary(struct text *text, const struct profcol_batch *batch)
{
	static const struct {
		enum profcol_table table;
		void (*add)(struct text *text, const struct profcol_batch *batch, uint32_t id);
	} parts[] = {
		{ PROFCOL_MAPPINGS, detailed_add_mapping },
		{ PROFCOL_LOCATIONS, detailed_add_location },
		{ PROFCOL_FUNCTIONS, detailed_add_function },
		{ PROFCOL_STACKS, detailed_add_stack },
		{ PROFCOL_ATTRIBUTES, detailed_add_attribute },
		{ PROFCOL_LINKS, detailed_add_link },
		{ PROFCOL_STRINGS, detailed_add_string },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		uint32_t count = profcol_batch_count(batch, parts[i].table);

		for (uint32_t id = 0; id < count && !text->cut; id++)
			parts[i].add(text, batch, id);
	}
}

/* ---- the tree ---- */

static void detailed_add_sample(struct text *text, const struct profcol_batch *batch, uint32_t id,
				uint32_t number)
{
	struct profcol_sample sample = profcol_batch_sample(batch, id);

	text_add(text, "    Sample #%u\n", number);
	text_add(text, "        Values: [");
	for (uint32_t i = 0; i < sample.value_count && !text->cut; i++)
		text_add(text, i ? " %" PRId64 : "%" PRId64, sample.values[i]);
	text_add(text, "]\n        Timestamps: [");
	for (uint32_t i = 0; i < sample.timestamp_count && !text->cut; i++)
		text_add(text, i ? " %" PRIu64 : "%" PRIu64, sample.timestamps_unix_ns[i]);
	text_add(text, "]\n        Stack index: %u\n", sample.stack);
	if (sample.link)
		text_add(text, "        Link index: %u\n", sample.link);
	value_add_lines(text, batch, sample.attributes, "        ", "Attributes");
}

static void detailed_add_type(struct text *text, const char *label,
			      const struct profcol_batch *batch, uint32_t type, uint32_t unit)
{
	text_add(text, "    %-15s: ", label);
	text_add_string(text, profcol_batch_string(batch, type));
	text_add(text, " (");
	text_add_string(text, profcol_batch_string(batch, unit));
	text_add(text, ")\n");
}

static void detailed_add_profile(struct text *text, const struct profcol_batch *batch, uint32_t id,
				 uint32_t number)
{
	struct profcol_range samples;
	struct profcol_profile profile = profcol_batch_profile(batch, id, &samples);

	text_add(text, "Profile #%u\n    %-15s: ", number, "Profile ID");
	detailed_add_hex(text, profile.profile_id, sizeof(profile.profile_id));
	text_add(text, "\n    %-15s: ", "Start time");
	detailed_add_time(text, profile.time_unix_ns);
	text_add(text, "\n    %-15s: %" PRIu64 "\n", "DurationNano", profile.duration_ns);
	text_add(text, "    Dropped attributes count: %u\n", profile.dropped_attributes_count);
	detailed_add_type(text, "Sample type", batch, profile.sample_type, profile.sample_unit);
	detailed_add_type(text, "Period type", batch, profile.period_type, profile.period_unit);
	text_add(text, "    %-15s: %" PRId64 "\n", "Period", profile.period);
	value_add_lines(text, batch, profile.attributes, "    ", "Attributes");
	for (uint32_t i = samples.begin; i < samples.end && !text->cut; i++)
		detailed_add_sample(text, batch, i, i - samples.begin);
}

static void detailed_add_scope(struct text *text, const struct profcol_batch *batch, uint32_t id,
			       uint32_t number)
{
	struct profcol_range profiles;
	struct profcol_scope scope = profcol_batch_scope(batch, id, &profiles);

	text_add(text, "ScopeProfiles #%u\n", number);
	detailed_add_string_line(text, "ScopeProfiles SchemaURL: ", batch, scope.schema_url);
	text_add(text, "InstrumentationScope ");
	text_add_string(text, profcol_batch_string(batch, scope.name));
	detailed_add_string_line(text, " ", batch, scope.version);
	value_add_lines(text, batch, scope.attributes, "", "InstrumentationScope attributes");
	for (uint32_t i = profiles.begin; i < profiles.end && !text->cut; i++)
		detailed_add_profile(text, batch, i, i - profiles.begin);
}

void detailed_print(struct text *text, const struct profcol_batch *batch)
{
	uint32_t count = profcol_batch_count(batch, PROFCOL_RESOURCES);

	detailed_add_dictionary(text, batch);
	for (uint32_t i = 0; i < count && !text->cut; i++) {
		struct profcol_range scopes;
		struct profcol_resource resource = profcol_batch_resource(batch, i, &scopes);

		text_add(text, "ResourceProfiles #%u\n", i);
		detailed_add_string_line(text, "Resource SchemaURL: ", batch, resource.schema_url);
		value_add_lines(text, batch, resource.attributes, "", "Resource attributes");
		for (uint32_t j = scopes.begin; j < scopes.end && !text->cut; j++)
			detailed_add_scope(text, batch, j, j - scopes.begin);
	}
}
