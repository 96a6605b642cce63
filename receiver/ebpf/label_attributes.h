/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The labels of a capture as attributes of samples. One thread at a time.
 */
#pragma once

#include "capture.h"

#include <profcol/batch.h>

/* Kept for its memory from batch to batch. */
struct label_attributes {
	VECTOR(uint32_t) ids;    /* of attributes */
	VECTOR(uint32_t) limits; /* row i of capture.labels has those from limits[i - 1] on */
};

/* `process.context.label.KEY` for each label: UTF-8 without control characters. Where two keys are
 * the same then, the first one stays. False without memory. */
bool label_attributes_build(struct label_attributes *attributes, const struct capture *capture,
			    struct profcol_builder *builder);
void label_attributes_deinit(struct label_attributes *attributes);
