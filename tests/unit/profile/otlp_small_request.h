/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small request that breaks no rule, as protobuf-c's objects, for tests to spoil: one
 * resource, scope, profile and sample, and in each table of the dictionary what
 * these need. Every table and list has room for a row more, zeroed: raise its count.
 */
#pragma once

#include <otlp.pb-c.h>

#include <stddef.h>
#include <stdint.h>

enum {
	SMALL_ROWS = 3,
	SMALL_STRINGS = 12,
	SMALL_ATTRIBUTES = 5,

	SMALL_TIME_SECONDS = 1700000000,
	SMALL_DURATION_SECONDS = 10,
};

/* Rows of a table, and what protobuf-c wants: pointers to them. */
#define SMALL_TABLE(type, name, count)                                                             \
	type name[count];                                                                          \
	type *name##_rows[count]

struct small_request {
	Otlp__ExportProfilesServiceRequest request;
	Otlp__ProfilesDictionary dictionary;
	SMALL_TABLE(Otlp__ResourceProfiles, resource_profiles, 2);
	SMALL_TABLE(Otlp__ScopeProfiles, scope_profiles, 2);
	SMALL_TABLE(Otlp__Profile, profiles, 2);
	SMALL_TABLE(Otlp__Sample, samples, SMALL_ROWS);

	Otlp__Resource resource;
	SMALL_TABLE(Otlp__KeyValue, resource_attributes, SMALL_ROWS);
	Otlp__AnyValue resource_values[SMALL_ROWS];
	Otlp__EntityRef entity, *entity_row;
	char *entity_keys[1];
	Otlp__InstrumentationScope scope;
	SMALL_TABLE(Otlp__KeyValue, scope_attributes, 2);
	Otlp__AnyValue scope_values[2];
	Otlp__ValueType sample_type, period_type;

	SMALL_TABLE(Otlp__Mapping, mappings, SMALL_ROWS);
	SMALL_TABLE(Otlp__Location, locations, SMALL_ROWS);
	SMALL_TABLE(Otlp__Function, functions, SMALL_ROWS);
	SMALL_TABLE(Otlp__Link, links, SMALL_ROWS);
	SMALL_TABLE(Otlp__Stack, stacks, SMALL_ROWS);
	SMALL_TABLE(Otlp__KeyValueAndUnit, attributes, SMALL_ATTRIBUTES);
	Otlp__AnyValue values[SMALL_ATTRIBUTES];
	char *strings[SMALL_STRINGS];
	SMALL_TABLE(Otlp__Line, lines, 2);

	uint8_t trace_id[17], span_id[9], profile_id[17]; /* a byte more than they should have */
	int32_t location_indices[2], sample_attributes[2], profile_attributes[2];
	int32_t mapping_attributes[2], location_attributes[2];
	int64_t sample_values[3];
	uint64_t sample_timestamps[3]; /* in the profile's window; two are in use */
};

/* @request is not to be moved afterwards. */
void small_request_init(struct small_request *request);

/* In wire form; the caller's to free(). */
uint8_t *small_request_pack(const struct small_request *request, size_t *length_ret);
