/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes that carry what pprof has a field for, and label names (OpenTelemetry
 * semantic conventions 1.45, pprof and process registries).
 */
#pragma once

#include <profcol/batch.h>

#include <stdbool.h>

/* of a resource */
#define KEY_EXECUTABLE_NAME "process.executable.name"
/* of a mapping, best first */
#define KEY_BUILD_ID_GNU     "process.executable.build_id.gnu"
#define KEY_BUILD_ID_GO      "process.executable.build_id.go"
#define KEY_BUILD_ID_HTLHASH "process.executable.build_id.htlhash"
/* bool, of a mapping */
#define KEY_HAS_FUNCTIONS     "pprof.mapping.has_functions"
#define KEY_HAS_FILENAMES     "pprof.mapping.has_filenames"
#define KEY_HAS_LINE_NUMBERS  "pprof.mapping.has_line_numbers"
#define KEY_HAS_INLINE_FRAMES "pprof.mapping.has_inline_frames"
/* bool, of a location */
#define KEY_IS_FOLDED "pprof.location.is_folded"
/* of a profile; the comment is an array of strings */
#define KEY_COMMENT     "pprof.profile.comment"
#define KEY_DROP_FRAMES "pprof.profile.drop_frames"
#define KEY_KEEP_FRAMES "pprof.profile.keep_frames"
#define KEY_DOC_URL     "pprof.profile.doc_url"
/* of a scope; the order is an array: for each profile the index of its column */
#define KEY_DEFAULT_SAMPLE_TYPE "pprof.scope.default_sample_type"
#define KEY_SAMPLE_TYPE_ORDER   "pprof.scope.sample_type_order"

/* The value of the first attribute of @list with @key and @type. */
bool attribute_find(const struct profcol_batch *batch, uint32_t list, const char *key,
		    enum profcol_value_type type, struct profcol_value *ret);
