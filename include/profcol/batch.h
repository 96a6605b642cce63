/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch of profiles: the OTLP profiles data model (opentelemetry-proto 1.11,
 * profiles v1development) as tables.
 *
 * Dictionary tables (strings, functions, mappings, locations, stacks, attributes,
 * attribute lists, links) hold each entry once; entry 0 is the zero value. The
 * rest is a tree in four tables: resources own scopes, scopes own profiles,
 * profiles own samples; children of one parent stand next to each other.
 *
 * A batch is made by a builder, immutable from the seal on, and reference
 * counted. Ids are positions in a table of that one batch.
 *
 * Threads: a sealed batch may be read from any thread; a builder belongs to one.
 */
#pragma once

#include <profcol/errors.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profcol_batch;
struct profcol_builder;

/*
 * Attribute of a location that has no function: what a reader may be shown in place of one, so that
 * different functions without a name stay apart, "libc.so.6+0x8a2c0". It says nothing that mapping
 * and address do not say, and is no name.
 */
#define PROFCOL_FRAME_LABEL "profcol.frame.label"

/*
 * Attribute of a profile that a program shows by a name, "heap" or "mutex": which one it is, since
 * the types of its samples do not tell all of them apart. One with a duration of 0 is how things
 * stand at its time, and takes the place of those before it.
 */
#define PROFCOL_PROFILE_NAME "profcol.profile.name"

/* Bytes with a length, followed by a NUL that the length does not count. */
struct profcol_text {
	const char *bytes;
	size_t length;
};

enum profcol_value_type {
	PROFCOL_VALUE_EMPTY,
	PROFCOL_VALUE_STRING, /* .string: string id */
	PROFCOL_VALUE_BOOL,   /* .boolean */
	PROFCOL_VALUE_INT,    /* .integer */
	PROFCOL_VALUE_DOUBLE, /* .real; equal when the bits are */
	PROFCOL_VALUE_BYTES,  /* .blob: blob id */
	/* .blob: the whole AnyValue in OTLP wire form, strings inline. Rare: never interpreted. */
	PROFCOL_VALUE_ARRAY,
	PROFCOL_VALUE_KVLIST,
};

struct profcol_value {
	enum profcol_value_type type;
	union {
		uint32_t string;
		uint32_t blob;
		bool boolean;
		int64_t integer;
		double real;
	};
};

struct profcol_attribute {
	uint32_t key;  /* string id */
	uint32_t unit; /* string id; 0 = none */
	struct profcol_value value;
};

/* `start` and `limit` are ELF virtual addresses of the file, not of a process. */
struct profcol_mapping {
	uint64_t memory_start;
	uint64_t memory_limit; /* exclusive */
	uint64_t file_offset;  /* bytes, of memory_start */
	uint32_t filename;     /* string id */
	uint32_t attributes;   /* attribute list id */
};

struct profcol_function {
	uint32_t name;        /* string id */
	uint32_t system_name; /* string id, e.g. the mangled name */
	uint32_t filename;    /* string id */
	int64_t start_line;   /* 0 = unknown */
};

struct profcol_line {
	uint32_t function; /* function id */
	int64_t line;      /* 1-based; 0 = unknown */
	int64_t column;    /* 1-based; 0 = unknown */
};

struct profcol_location {
	uint32_t mapping;    /* mapping id; 0 = none */
	uint32_t attributes; /* attribute list id */
	uint64_t address;    /* in the mapping's space; return addresses already reduced by 1 */
	const struct profcol_line *lines; /* innermost inlined call first */
	uint32_t line_count;
};

struct profcol_link {
	uint8_t trace_id[16];
	uint8_t span_id[8];
};

struct profcol_resource {
	uint32_t attributes; /* attribute list id; units unused */
	uint32_t schema_url; /* string id */
	uint32_t dropped_attributes_count;
	uint32_t entity_refs; /* blob id: repeated EntityRef fields in wire form, tags included */
};

struct profcol_scope {
	uint32_t name;       /* string id */
	uint32_t version;    /* string id */
	uint32_t attributes; /* attribute list id; units unused */
	uint32_t schema_url; /* string id */
	uint32_t dropped_attributes_count;
};

struct profcol_profile {
	uint32_t sample_type, sample_unit; /* string ids */
	uint32_t period_type, period_unit; /* string ids */
	int64_t period;                    /* in period_unit */
	uint64_t time_unix_ns;             /* start of the window */
	uint64_t duration_ns;              /* the window is half-open: [time, time + duration) */
	uint8_t profile_id[16];            /* all zero = unset */
	uint32_t attributes;               /* attribute list id */
	uint32_t dropped_attributes_count;
	uint32_t original_payload_format; /* string id */
	uint32_t original_payload;        /* blob id */
};

/*
 * Either timestamps only (each one event of value 1), or one value, or as many
 * values as timestamps.
 */
struct profcol_sample {
	uint32_t stack;      /* stack id */
	uint32_t attributes; /* attribute list id */
	uint32_t link;       /* link id */
	uint32_t value_count;
	uint32_t timestamp_count;
	const int64_t *values;
	const uint64_t *timestamps_unix_ns;
};

/* Rows `begin` (inclusive) to `end` (exclusive) of the table below. */
struct profcol_range {
	uint32_t begin, end;
};

/* The program's, also to a plugin: it is not linked with them. */
#pragma GCC visibility push(default)

/* ---- life ---- */

struct profcol_batch *profcol_batch_ref(struct profcol_batch *batch);
void profcol_batch_unref(struct profcol_batch *batch); /* accepts NULL */

static inline void profcol_batch_cleanup(struct profcol_batch **batch)
{
	profcol_batch_unref(*batch);
}
#define PROFCOL_CLEANUP_BATCH __attribute__((cleanup(profcol_batch_cleanup)))

/* ---- reading: constant time; an id outside its table gives the zero value ---- */

enum profcol_table {
	PROFCOL_STRINGS,
	PROFCOL_BLOBS,
	PROFCOL_FUNCTIONS,
	PROFCOL_MAPPINGS,
	PROFCOL_LOCATIONS,
	PROFCOL_STACKS,
	PROFCOL_ATTRIBUTES,
	PROFCOL_ATTRIBUTE_LISTS,
	PROFCOL_LINKS,
	PROFCOL_RESOURCES,
	PROFCOL_SCOPES,
	PROFCOL_PROFILES,
	PROFCOL_SAMPLES,
};

/* Entries of a table; of the dictionary tables including entry 0. */
uint32_t profcol_batch_count(const struct profcol_batch *batch, enum profcol_table table);

struct profcol_text profcol_batch_string(const struct profcol_batch *batch, uint32_t id);
struct profcol_text profcol_batch_blob(const struct profcol_batch *batch, uint32_t id);
struct profcol_function profcol_batch_function(const struct profcol_batch *batch, uint32_t id);
struct profcol_mapping profcol_batch_mapping(const struct profcol_batch *batch, uint32_t id);
struct profcol_location profcol_batch_location(const struct profcol_batch *batch, uint32_t id);
struct profcol_attribute profcol_batch_attribute(const struct profcol_batch *batch, uint32_t id);
struct profcol_link profcol_batch_link(const struct profcol_batch *batch, uint32_t id);

/* Location ids, leaf first; borrowed from the batch. */
const uint32_t *profcol_batch_stack(const struct profcol_batch *batch, uint32_t id,
				    uint32_t *count_ret);
/* Attribute ids, in the order they were given; borrowed from the batch. */
const uint32_t *profcol_batch_attribute_list(const struct profcol_batch *batch, uint32_t id,
					     uint32_t *count_ret);

struct profcol_resource profcol_batch_resource(const struct profcol_batch *batch, uint32_t id,
					       struct profcol_range *scopes_ret);
struct profcol_scope profcol_batch_scope(const struct profcol_batch *batch, uint32_t id,
					 struct profcol_range *profiles_ret);
struct profcol_profile profcol_batch_profile(const struct profcol_batch *batch, uint32_t id,
					     struct profcol_range *samples_ret);
struct profcol_sample profcol_batch_sample(const struct profcol_batch *batch, uint32_t id);

/* Events in the batch, as metrics.h counts them: per sample the larger of its two counts, or
 * where a sample of samples/count has but a value, that value. */
uint64_t profcol_batch_events(const struct profcol_batch *batch);

/* ---- building ---- */

/* NULL without memory. */
struct profcol_builder *profcol_builder_create(void);

/*
 * A builder that starts with all of @batch (borrowed); tables stay shared until
 * they are written to.
 */
struct profcol_builder *profcol_builder_from(const struct profcol_batch *batch);
void profcol_builder_destroy(struct profcol_builder *builder); /* accepts NULL */

/*
 * Each returns the id of an equal entry or adds one. Arguments are borrowed for
 * the call. Running out of memory or of ids (2^31 - 1 entries or bytes a table)
 * gives 0 and makes the seal fail; ids are checked there too.
 */
uint32_t profcol_builder_string(struct profcol_builder *builder, const char *bytes, size_t length);
uint32_t profcol_builder_cstring(struct profcol_builder *builder, const char *text);
uint32_t profcol_builder_blob(struct profcol_builder *builder, const void *bytes, size_t length);
uint32_t profcol_builder_function(struct profcol_builder *builder,
				  const struct profcol_function *function);
uint32_t profcol_builder_mapping(struct profcol_builder *builder,
				 const struct profcol_mapping *mapping);
uint32_t profcol_builder_location(struct profcol_builder *builder,
				  const struct profcol_location *location);
uint32_t profcol_builder_stack(struct profcol_builder *builder, const uint32_t *locations,
			       uint32_t count);
uint32_t profcol_builder_attribute(struct profcol_builder *builder,
				   const struct profcol_attribute *attribute);
/* Shorthands: intern key, value and the attribute; no unit. */
uint32_t profcol_builder_attribute_string(struct profcol_builder *builder, const char *key,
					  const char *bytes, size_t length);
uint32_t profcol_builder_attribute_int(struct profcol_builder *builder, const char *key,
				       int64_t value);
uint32_t profcol_builder_attribute_list(struct profcol_builder *builder, const uint32_t *attributes,
					uint32_t count);
uint32_t profcol_builder_link(struct profcol_builder *builder, const struct profcol_link *link);

/*
 * Open a resource, a scope in the last resource, a profile in the last scope, a
 * sample in the last profile. Each returns its row. A call without an open
 * parent makes the seal fail.
 */
uint32_t profcol_builder_add_resource(struct profcol_builder *builder,
				      const struct profcol_resource *resource);
uint32_t profcol_builder_add_scope(struct profcol_builder *builder,
				   const struct profcol_scope *scope);
uint32_t profcol_builder_add_profile(struct profcol_builder *builder,
				     const struct profcol_profile *profile);
uint32_t profcol_builder_add_sample(struct profcol_builder *builder,
				    const struct profcol_sample *sample);

/* Replace the attribute list of a row that is there already (editing). */
void profcol_builder_set_resource_attributes(struct profcol_builder *builder, uint32_t resource,
					     uint32_t attribute_list);
void profcol_builder_set_sample_attributes(struct profcol_builder *builder, uint32_t sample,
					   uint32_t attribute_list);
/* The same of an entry of the dictionary, for all that refer to it. Entries may so become equal;
 * the zero value stays as it is. */
void profcol_builder_set_location_attributes(struct profcol_builder *builder, uint32_t location,
					     uint32_t attribute_list);
void profcol_builder_set_mapping_attributes(struct profcol_builder *builder, uint32_t mapping,
					    uint32_t attribute_list);

/* The builder's rows so far, readable like a batch; borrowed until the next call that adds. */
const struct profcol_batch *profcol_builder_peek(const struct profcol_builder *builder);

/*
 * Check every id, give the batch, and destroy the builder, on error too.
 * BAD_DATA names the first row that is wrong, NO_MEMORY says that something
 * could not be added. *@ret is written only on success.
 */
PROFCOL_MUST_CHECK struct profcol_error *profcol_builder_seal(struct profcol_builder *builder,
							      struct profcol_batch **ret);

#pragma GCC visibility pop
