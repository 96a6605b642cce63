/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the conformance checker share. */
#pragma once

#include "otlp_conformance.h"

#include "base/base.h"

#include <otlp.pb-c.h>

struct checker {
	struct conformance *conformance;
	const Otlp__ExportProfilesServiceRequest *request;
	const Otlp__ProfilesDictionary *dictionary; /* never NULL: an empty one stands for none */
	int resource, scope, profile, sample;       /* where we are; -1 = not inside one */
};

/* Note that a rule is broken; the text says where and by what. */
void checker_tell(struct checker *checker, enum conformance_rule rule, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static inline bool index_is_in(int64_t index, size_t count)
{
	return index >= 0 && (uint64_t)index < count;
}

/* The key of attribute row @index; NULL when either is out of range. */
const char *checker_key(const struct checker *checker, int32_t index);

/* An attribute_indices list: in range, no key twice. @where names it. */
void check_attribute_indices(struct checker *checker, enum conformance_rule rule, const char *where,
			     size_t row, const int32_t *indices, size_t count);

/* References inside an AnyValue. */
void check_any_value(struct checker *checker, const char *where, size_t row,
		     const Otlp__AnyValue *value);

/* Rows of any kind as bytes, to find equal ones. */
struct checker_keys {
	struct arena *arena; /* owned */
	VECTOR(struct checker_key) items;
};

struct checker_key {
	const uint8_t *bytes;
	size_t length, row;
};

/* Memory for a key of @length bytes that stands for @row. */
uint8_t *checker_keys_add(struct checker_keys *keys, size_t row, size_t length);

/* Tell of each key that comes twice, and empty @keys. */
void checker_keys_tell(struct checker *checker, struct checker_keys *keys,
		       enum conformance_rule rule, const char *what);

void check_resource_profiles(struct checker *checker); /* conformance_tree.c */
void check_dictionary(struct checker *checker);        /* conformance_tables.c */
void check_orphans(struct checker *checker);           /* conformance_orphans.c */

/* conformance_text.c: all `string` fields of a message of @type. */
void check_text(struct checker *checker, const ProtobufCMessageDescriptor *type,
		const uint8_t *bytes, size_t length);
