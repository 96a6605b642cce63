/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `include_attributes` and `exclude_attributes`: samples by the attributes that they, their
 * resource, or what is on their stack have. A selection is immutable once made: any thread; a look
 * belongs to one.
 */
#pragma once

#include "config.h"

#include <profcol/batch.h>
#include <profcol/errors.h>

struct selection;

/* CONFIG errors, one a line, begin with the key they are about. *@ret is the caller's to destroy,
 * and written only on success. */
PROFCOL_MUST_CHECK struct profcol_error *selection_create(const struct filter_config *config,
							  struct selection **ret);
void selection_destroy(struct selection *selection); /* accepts NULL */

/* Does it keep everything? */
bool selection_is_empty(const struct selection *selection);

/* A selection looking at one batch: each attribute list and stack is looked at once. */
struct look;

/* Borrows both until the destroy. NULL without memory. */
struct look *look_create(const struct selection *selection, const struct profcol_batch *batch);
void look_destroy(struct look *look); /* accepts NULL */

enum look_result { LOOK_KEPT, LOOK_NOT_INCLUDED, LOOK_EXCLUDED };

/* @list is the attribute list of the sample's resource. */
enum look_result look_at(struct look *look, uint32_t list, const struct profcol_sample *sample);
