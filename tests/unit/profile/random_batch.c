// SPDX-License-Identifier: Apache-2.0
#include "random_batch.h"

#include "profile/profile.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- chance: splitmix64, the same on every machine ---- */

struct chance {
	uint64_t state;
};

static uint64_t chance_next(struct chance *chance)
{
	uint64_t bits = chance->state += 0x9e3779b97f4a7c15;

	bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
	bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
	return bits ^ bits >> 31;
}

/* Below @limit, which is not 0. */
static uint32_t chance_below(struct chance *chance, uint32_t limit)
{
	return (uint32_t)(chance_next(chance) >> 32) % limit;
}

static bool chance_one_in(struct chance *chance, uint32_t odds)
{
	return chance_below(chance, odds) == 0;
}

/* A number of random size: small ones, huge ones, and the ends of the range. */
static uint64_t chance_number(struct chance *chance)
{
	if (chance_one_in(chance, 16))
		return chance_one_in(chance, 2) ? UINT64_MAX : (uint64_t)INT64_MAX + 1;
	return chance_next(chance) >> chance_below(chance, 64);
}

static void chance_bytes(struct chance *chance, uint8_t *to, size_t length)
{
	for (size_t i = 0; i < length; i++)
		to[i] = (uint8_t)chance_next(chance);
}

/* ---- dictionary ---- */

enum { POOL_ROWS = 24 };

/* Rows to draw from, so that they are shared; [0] is always the zero value. */
struct pools {
	struct chance *chance;
	struct profcol_builder *builder;
	uint32_t mappings[6], functions[POOL_ROWS], locations[POOL_ROWS * 2], stacks[POOL_ROWS];
	uint32_t lists[POOL_ROWS], plain_lists[6], links[4];
};

#define PICK(pools, name) ((pools)->name[chance_below((pools)->chance, COUNT((pools)->name))])

static uint32_t random_string(struct pools *pools)
{
	static const char *const words[] = {
		"",
		"main",
		"two words",
		"line\nbreak\ttab",
		"quote\"back\\slash",
		"r\xc3\xa9sum\xc3\xa9",
		"\xd0\x9f\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82",
		"\xe6\x97\xa5\xe6\x9c\xac",
		"\xf0\x9f\x94\xa5",
		"std::vector<int, std::allocator<int> >::push_back(int&&)",
		"/usr/lib/x86_64-linux-gnu/libc.so.6",
		"[vdso]",
	};
	char text[200];
	size_t length = 0;

	if (chance_one_in(pools->chance, 2))
		return profcol_builder_cstring(pools->builder,
					       words[chance_below(pools->chance, COUNT(words))]);
	if (chance_one_in(pools->chance, 20)) {
		length = 150;
		memset(text, 'x', length);
	}
	length += (size_t)snprintf(text + length, sizeof(text) - length, "function_%u",
				   chance_below(pools->chance, 60));
	return profcol_builder_string(pools->builder, text, length);
}

/* An AnyValue in wire form: an array of "a" and 3, or pairs of "k" and true. */
static uint32_t random_tree(struct pools *pools, bool pairs)
{
	static const uint8_t arrays[][12] = {
		{ 0x2a, 0x00 },
		{ 0x2a, 0x09, 0x0a, 0x03, 0x0a, 0x01, 'a', 0x0a, 0x02, 0x18, 0x03 },
	};
	static const size_t array_lengths[] = { 2, 11 };
	static const uint8_t lists[][12] = {
		{ 0x32, 0x00 },
		{ 0x32, 0x09, 0x0a, 0x07, 0x0a, 0x01, 'k', 0x12, 0x02, 0x10, 0x01 },
	};
	uint32_t which = chance_below(pools->chance, 2);

	return profcol_builder_blob(pools->builder, pairs ? lists[which] : arrays[which],
				    array_lengths[which]);
}

static struct profcol_value random_value(struct pools *pools)
{
	enum profcol_value_type type = chance_below(pools->chance, PROFCOL_VALUE_KVLIST + 1);
	struct profcol_value value = { .type = type };
	uint8_t bytes[8];

	switch (type) {
	case PROFCOL_VALUE_EMPTY:
		break;
	case PROFCOL_VALUE_STRING:
		value.string = random_string(pools);
		break;
	case PROFCOL_VALUE_BOOL:
		value.boolean = chance_one_in(pools->chance, 2);
		break;
	case PROFCOL_VALUE_INT:
		value.integer = (int64_t)chance_number(pools->chance);
		break;
	case PROFCOL_VALUE_DOUBLE:
		value.real = chance_one_in(pools->chance, 4)
				     ? 0
				     : (double)(int64_t)chance_number(pools->chance) / 3;
		break;
	case PROFCOL_VALUE_BYTES:
		chance_bytes(pools->chance, bytes, sizeof(bytes));
		value.blob = profcol_builder_blob(pools->builder, bytes,
						  chance_below(pools->chance, sizeof(bytes) + 1));
		break;
	case PROFCOL_VALUE_ARRAY:
	case PROFCOL_VALUE_KVLIST:
		value.blob = random_tree(pools, type == PROFCOL_VALUE_KVLIST);
		break;
	}
	return value;
}

/* Attributes with different keys; @units: some have one. */
static uint32_t random_list(struct pools *pools, bool units)
{
	static const char *const keys[] = {
		"process.pid",        "thread.id",    "thread.name", "container.id",
		"cpu.logical_number", "service.name", "with space",  "\xc3\xbcml\xc3\xa4ut",
	};
	uint32_t attributes[COUNT(keys)], count = 0;

	for (size_t i = 0; i < COUNT(keys); i++) {
		if (!chance_one_in(pools->chance, 3))
			continue;
		attributes[count++] = profcol_builder_attribute(
			pools->builder,
			&(struct profcol_attribute){
				.key = profcol_builder_cstring(pools->builder, keys[i]),
				.unit = units && chance_one_in(pools->chance, 4)
						? profcol_builder_cstring(pools->builder, "bytes")
						: 0,
				.value = random_value(pools),
			});
	}
	return profcol_builder_attribute_list(pools->builder, attributes, count);
}

static uint32_t random_mapping(struct pools *pools)
{
	uint64_t start = (uint64_t)chance_below(pools->chance, 1000) << 12;

	return profcol_builder_mapping(pools->builder, &(struct profcol_mapping){
							       .memory_start = start,
							       .memory_limit = start + 0x10000,
							       .file_offset = start / 2,
							       .filename = random_string(pools),
							       .attributes = PICK(pools, lists),
						       });
}

static uint32_t random_function(struct pools *pools)
{
	return profcol_builder_function(
		pools->builder,
		&(struct profcol_function){
			.name = random_string(pools),
			.system_name = chance_one_in(pools->chance, 3) ? random_string(pools) : 0,
			.filename = chance_one_in(pools->chance, 2) ? random_string(pools) : 0,
			.start_line = chance_below(pools->chance, 3) * 100,
		});
}

static uint32_t random_location(struct pools *pools)
{
	struct profcol_location location = {
		.mapping = PICK(pools, mappings),
		.attributes = chance_one_in(pools->chance, 2) ? PICK(pools, lists) : 0,
	};
	struct profcol_line lines[3];

	location.address = chance_one_in(pools->chance, 4) ? chance_number(pools->chance)
							   : chance_below(pools->chance, 0x10000);
	location.lines = lines;
	location.line_count = chance_below(pools->chance, COUNT(lines) + 1);
	for (uint32_t i = 0; i < location.line_count; i++)
		lines[i] = (struct profcol_line){
			.function = PICK(pools, functions),
			.line = chance_below(pools->chance, 2000),
			.column = chance_one_in(pools->chance, 2) ? 7 : 0,
		};
	return profcol_builder_location(pools->builder, &location);
}

static uint32_t random_stack(struct pools *pools)
{
	uint32_t locations[12], count = chance_below(pools->chance, COUNT(locations) + 1);

	for (uint32_t i = 0; i < count; i++)
		locations[i] = PICK(pools, locations);
	return profcol_builder_stack(pools->builder, locations, count);
}

static uint32_t random_link(struct pools *pools)
{
	struct profcol_link link;

	chance_bytes(pools->chance, link.trace_id, sizeof(link.trace_id));
	chance_bytes(pools->chance, link.span_id, sizeof(link.span_id));
	return profcol_builder_link(pools->builder, &link);
}

#define FILL(pools, name, call)                                                                    \
	for (size_t fill_ = 1; fill_ < COUNT((pools)->name); fill_++)                              \
	(pools)->name[fill_] = (call)

static void pools_fill(struct pools *pools)
{
	FILL(pools, lists, random_list(pools, true));
	FILL(pools, plain_lists, random_list(pools, false));
	FILL(pools, mappings, random_mapping(pools));
	FILL(pools, functions, random_function(pools));
	FILL(pools, locations, random_location(pools));
	FILL(pools, stacks, random_stack(pools));
	FILL(pools, links, random_link(pools));
}

/* ---- tree ---- */

enum {
	WINDOW_START = 1700000000, /* seconds */
	WINDOW_SECONDS = 60,
};

static uint64_t random_time(struct pools *pools)
{
	return WINDOW_START * UINT64_C(1000000000) +
	       chance_next(pools->chance) % (WINDOW_SECONDS * UINT64_C(1000000000));
}

static void add_random_sample(struct pools *pools, uint32_t most_observations)
{
	uint32_t observations = 1 + chance_below(pools->chance, most_observations);
	struct profcol_sample sample = {
		.stack = PICK(pools, stacks),
		.attributes = PICK(pools, lists),
		.link = chance_one_in(pools->chance, 3) ? PICK(pools, links) : 0,
	};
	uint64_t timestamps[6];
	int64_t values[6];

	for (uint32_t i = 0; i < observations; i++) {
		values[i] = (int64_t)(chance_number(pools->chance) & INT64_MAX);
		timestamps[i] = random_time(pools);
	}
	switch (chance_below(pools->chance, 3)) {
	case 0:
		sample.timestamp_count = observations;
		break;
	case 1:
		sample.value_count = 1;
		break;
	default:
		sample.value_count = sample.timestamp_count = observations;
		break;
	}
	sample.values = values;
	sample.timestamps_unix_ns = timestamps;
	profcol_builder_add_sample(pools->builder, &sample);
}

static void add_random_profile(struct pools *pools)
{
	struct profcol_profile profile = {
		.sample_type = profcol_builder_cstring(pools->builder, "samples"),
		.sample_unit = profcol_builder_cstring(pools->builder, "count"),
		.time_unix_ns = WINDOW_START * UINT64_C(1000000000),
		.duration_ns = WINDOW_SECONDS * UINT64_C(1000000000),
	};

	if (chance_one_in(pools->chance, 2)) {
		profile.period_type = profcol_builder_cstring(pools->builder, "cpu");
		profile.period_unit = profcol_builder_cstring(pools->builder, "nanoseconds");
		profile.period = 50000000;
	}
	if (chance_one_in(pools->chance, 2)) {
		chance_bytes(pools->chance, profile.profile_id, sizeof(profile.profile_id));
		profile.attributes = PICK(pools, lists);
		profile.dropped_attributes_count = chance_below(pools->chance, 3);
	}
	if (chance_one_in(pools->chance, 5)) {
		profile.original_payload_format = profcol_builder_cstring(pools->builder, "jfr");
		profile.original_payload = profcol_builder_blob(pools->builder, "\0payload\xff", 9);
	}
	profcol_builder_add_profile(pools->builder, &profile);
}

static void add_random_scope(struct pools *pools)
{
	struct profcol_scope scope = {
		.name = chance_one_in(pools->chance, 3) ? random_string(pools) : 0,
		.version = chance_one_in(pools->chance, 3) ? random_string(pools) : 0,
		.attributes = chance_one_in(pools->chance, 3) ? PICK(pools, plain_lists) : 0,
		.schema_url = chance_one_in(pools->chance, 3) ? random_string(pools) : 0,
		.dropped_attributes_count = chance_one_in(pools->chance, 4) ? 2 : 0,
	};

	profcol_builder_add_scope(pools->builder, &scope);
}

static void add_random_resource(struct pools *pools)
{
	/* Field 3, an EntityRef of type "process" whose id key is "process.pid". */
	static const char entity[] = "\x1a\x16\x12\x07process\x1a\x0bprocess.pid";
	struct profcol_resource resource = {
		.attributes = PICK(pools, plain_lists),
		.schema_url = chance_one_in(pools->chance, 3) ? random_string(pools) : 0,
		.dropped_attributes_count = chance_one_in(pools->chance, 4) ? 1 : 0,
	};

	if (chance_one_in(pools->chance, 4))
		resource.entity_refs =
			profcol_builder_blob(pools->builder, entity, sizeof(entity) - 1);
	profcol_builder_add_resource(pools->builder, &resource);
}

static void add_random_tree(struct pools *pools, bool samples)
{
	struct chance *chance = pools->chance;

	for (uint32_t resources = 1 + chance_below(chance, 3); resources; resources--) {
		add_random_resource(pools);
		for (uint32_t scopes = chance_below(chance, 4); scopes; scopes--) {
			add_random_scope(pools);
			for (uint32_t profiles = chance_below(chance, 4); profiles; profiles--) {
				uint32_t count = samples ? chance_below(chance, 16) : 0;

				add_random_profile(pools);
				while (count--)
					add_random_sample(pools, 6);
			}
		}
	}
}

static struct profcol_batch *seal_or_abort(struct profcol_builder *builder)
{
	struct profcol_batch *batch = NULL;
	struct profcol_error *error = profcol_builder_seal(builder, &batch);

	if (error) {
		fprintf(stderr, "random batch: %s\n", profcol_error_message(error));
		abort();
	}
	return batch;
}

static void pools_init(struct pools *pools, struct chance *chance)
{
	*pools = (struct pools){ .chance = chance, .builder = profcol_builder_create() };
	if (!pools->builder)
		abort();
}

struct profcol_batch *random_batch(uint64_t seed)
{
	struct chance chance = { .state = seed };
	struct pools pools;

	pools_init(&pools, &chance);
	if (seed % 16 != 0) {
		pools_fill(&pools);
		add_random_tree(&pools, seed % 8 != 0);
	}
	return seal_or_abort(pools.builder);
}

struct profcol_batch *random_batch_sized(uint64_t seed, uint32_t samples)
{
	struct chance chance = { .state = seed };
	struct pools pools;

	pools_init(&pools, &chance);
	pools_fill(&pools);
	add_random_resource(&pools);
	add_random_scope(&pools);
	add_random_profile(&pools);
	while (samples--) {
		if (chance_one_in(&chance, 2))
			pools.stacks[1 + chance_below(&chance, POOL_ROWS - 1)] =
				random_stack(&pools);
		add_random_sample(&pools, 1);
	}
	return seal_or_abort(pools.builder);
}

/* ---- comparison ---- */

char *batch_text(const struct profcol_batch *batch)
{
	char *text = NULL;
	size_t length;
	FILE *stream = open_memstream(&text, &length);
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	if (!stream)
		abort();
	error = profile_print(batch, stream);
	if (fclose(stream) || error)
		abort();
	return text;
}

static int compare_lines(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

void observations_add(struct observations *observations, const struct profcol_batch *batch)
{
	CLEANUP_FREE char *text = batch_text(batch);
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n")) && rest)
		if (!VECTOR_PUSH(observations, strdup(line)) ||
		    !observations->items[observations->count - 1])
			abort();
}

void observations_deinit(struct observations *observations)
{
	for (size_t i = 0; i < observations->count; i++)
		free(observations->items[i]);
	VECTOR_DEINIT(observations);
}

static void observations_sort(struct observations *observations)
{
	if (observations->count)
		qsort(observations->items, observations->count, sizeof(*observations->items),
		      compare_lines);
}

bool observations_equal(struct observations *left, struct observations *right)
{
	observations_sort(left);
	observations_sort(right);
	for (size_t i = 0; i < left->count || i < right->count; i++) {
		const char *left_line = i < left->count ? left->items[i] : "(none)";
		const char *right_line = i < right->count ? right->items[i] : "(none)";

		if (strcmp(left_line, right_line) == 0)
			continue;
		fprintf(stderr, "observation %zu (%zu left, %zu right):\n- %s\n+ %s\n", i,
			left->count, right->count, left_line, right_line);
		return false;
	}
	return true;
}

bool batch_same_observations(const struct profcol_batch *left, const struct profcol_batch *right)
{
	struct observations left_lines = { 0 }, right_lines = { 0 };
	bool equal;

	observations_add(&left_lines, left);
	observations_add(&right_lines, right);
	equal = observations_equal(&left_lines, &right_lines);
	observations_deinit(&left_lines);
	observations_deinit(&right_lines);
	return equal;
}
