/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of attributes that is being made: a key stands in it once, and the last value counts.
 * Private.
 */
#pragma once

#include "rules.h"
#include "stored.h"

#include "base/base.h"

enum { DRAFT_ATTRIBUTES_MAX = 512, DRAFT_KEY_MAX = 4 << 10 };

struct draft {
	struct text_pool *texts; /* borrowed */
	VECTOR(struct stored_attribute) items;
	bool no_memory;
};

void draft_init(struct draft *draft, struct text_pool *texts);
void draft_deinit(struct draft *draft);

/* What would be one too many is left out. */
void draft_put(struct draft *draft, const char *key, const char *value);

/* The value that @key has so far, borrowed until the next put; NULL = none. */
struct text *draft_find(const struct draft *draft, const char *key);

/* As above, unless the field is not wanted, or nothing is known: "" or NULL. */
void draft_put_field(struct draft *draft, const struct rules *rules, enum metadata_field field,
		     const char *value);

/* What @rules take from the labels or annotations @pairs of an object of @kind. */
void draft_put_pairs(struct draft *draft, const struct field_rules *rules, enum k8s_kind kind,
		     bool annotations, const struct k8s_pair *pairs, size_t count);

/* Moves all into @ret, which the caller then owns. False without memory, @ret being empty then. */
bool draft_finish(struct draft *draft, struct stored_attributes *ret);
void draft_release(struct text_pool *texts, struct stored_attributes *attributes);
