/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a request keep the rules of OTLP profiles? Looks at what protobuf-c reads from its
 * bytes, so that no code of ours judges itself.
 *
 * Rules 1 to 42 are those of the public checker, profcheck, with all its switches on; the
 * others are in the texts of the proto and the specification, where it does not look.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum conformance_rule {
	RULE_RESOURCE_PROFILES = 1,
	RULE_SCOPE_PROFILES,
	RULE_PROFILES,
	RULE_PROFILE_ATTRIBUTES,
	RULE_SAMPLE_TYPE,
	RULE_PERIOD_TYPE,
	RULE_SAMPLE_STACK,
	RULE_SAMPLE_ATTRIBUTES,
	RULE_SAMPLE_LINK,
	RULE_TIMESTAMPS_IN_WINDOW,
	RULE_AS_MANY_VALUES,
	RULE_ONE_VALUE,
	RULE_SAMPLE_NOT_EMPTY,
	RULE_ONE_SHAPE,
	RULE_MAPPING_ZERO,
	RULE_MAPPING_FILENAME,
	RULE_MAPPING_ATTRIBUTES,
	RULE_MAPPING_RANGE,
	RULE_MAPPING_TWICE,
	RULE_LOCATION_ZERO,
	RULE_LOCATION_MAPPING,
	RULE_LOCATION_ATTRIBUTES,
	RULE_LINE_FUNCTION,
	RULE_LINE_NUMBERS,
	RULE_FUNCTION_ZERO,
	RULE_FUNCTION_STRINGS,
	RULE_FUNCTION_START,
	RULE_LINK_ZERO,
	RULE_LINK_LENGTHS,
	RULE_STRING_ZERO,
	RULE_STRING_TWICE,
	RULE_ATTRIBUTE_ZERO,
	RULE_ATTRIBUTE_STRINGS,
	RULE_STACK_ZERO,
	RULE_STACK_LOCATIONS,
	RULE_STRING_ORPHAN,
	RULE_ATTRIBUTE_ORPHAN,
	RULE_MAPPING_ORPHAN,
	RULE_FUNCTION_ORPHAN,
	RULE_LOCATION_ORPHAN,
	RULE_STACK_ORPHAN,
	RULE_LINK_ORPHAN,
	/* The rest is not in profcheck. */
	RULE_REFERENCES,
	RULE_ONE_KEY,
	RULE_KEYS_UNIQUE,
	RULE_PROFILE_ID,
	RULE_PAYLOAD_FORMAT,
	RULE_SAMPLE_TWICE,
	RULE_ROW_TWICE,
	RULE_MAPPING_BUILD_ID,
	RULE_FUNCTION_NAME,
	RULE_ENTITIES,
	RULE_UTF8,
	RULE_SAMPLES,
	RULE_ADDRESS_IN_MAPPING,
	RULES, /* one more than the last */
};

enum { RULES_OF_PROFCHECK = RULE_LINK_ORPHAN };

#define RULE_BIT(rule) (UINT64_C(1) << (rule))

/* What the texts only recommend. */
#define RULES_RECOMMENDED                                                                          \
	(RULE_BIT(RULE_SAMPLE_TWICE) | RULE_BIT(RULE_ROW_TWICE) | RULE_BIT(RULE_SAMPLES) |         \
	 RULE_BIT(RULE_ADDRESS_IN_MAPPING))

/*
 * What is up to whoever fills a batch, and random ones cannot help: parents without children,
 * samples of mixed shapes and alike, mappings without build ids, and so on.
 */
#define RULES_OF_CONTENT                                                                           \
	(RULE_BIT(RULE_RESOURCE_PROFILES) | RULE_BIT(RULE_SCOPE_PROFILES) |                        \
	 RULE_BIT(RULE_PROFILES) | RULE_BIT(RULE_SAMPLES) | RULE_BIT(RULE_ONE_SHAPE) |             \
	 RULE_BIT(RULE_SAMPLE_TWICE) | RULE_BIT(RULE_MAPPING_BUILD_ID) |                           \
	 RULE_BIT(RULE_FUNCTION_NAME) | RULE_BIT(RULE_ENTITIES) |                                  \
	 RULE_BIT(RULE_ADDRESS_IN_MAPPING))

struct conformance {
	uint64_t ignored; /* RULE_BITs not to look at */
	FILE *stream;     /* gets a line for each violation; NULL = nothing does */
	uint64_t broken;  /* RULE_BITs */
	size_t violations;
};

/*
 * Adds what it finds to @conformance. False when @bytes are not a request at all. Aborts
 * without memory. Bytes have to be of a sender that means well: nesting is not bounded.
 */
bool otlp_conformance_check(struct conformance *conformance, const uint8_t *bytes, size_t length);

/* A rule in a few words, e.g. "timestamps lie in the profile's window". */
const char *otlp_conformance_rule(enum conformance_rule rule);
