/* SPDX-License-Identifier: Apache-2.0 */
/* Attribute values as the Collector writes them. Pure; any thread. */
#pragma once

#include <profcol/batch.h>

struct text;

/*
 * The value alone: text as it is, bytes in base64. Arrays and maps are given by
 * their size; a batch holds them in wire form.
 */
void value_add(struct text *text, const struct profcol_batch *batch, struct profcol_value value);

/* With its type: "Str(value)". */
void value_add_typed(struct text *text, const struct profcol_batch *batch,
		     struct profcol_value value);

/* Each attribute of list @id as " key=value". */
void value_add_pairs(struct text *text, const struct profcol_batch *batch, uint32_t id);

/* Each attribute of list @id as a line "@indent     -> key: Str(value)"; none without any. */
void value_add_lines(struct text *text, const struct profcol_batch *batch, uint32_t id,
		     const char *indent, const char *header);
