/* SPDX-License-Identifier: Apache-2.0 */
/* A batch again, without some of its samples: entries of a batch cannot be taken out. */
#pragma once

#include <profcol/batch.h>

/* What copy_batch asks of each sample @id: the attribute list it is to have, or false to leave it
 * out. @builder has all of @batch's dictionary under the same ids. */
struct copy_choice {
	bool (*keep)(const struct profcol_batch *batch, struct profcol_builder *builder,
		     uint32_t id, uint32_t *attributes, void *context);
	void *context;
};

/* @batch is borrowed. *@ret is written only on success. */
PROFCOL_MUST_CHECK struct profcol_error *copy_batch(const struct profcol_batch *batch,
						    const struct copy_choice *choice,
						    struct profcol_batch **ret);
