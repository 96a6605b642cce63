/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions that V8 has compiled to machine code. One thread at a time. */
#pragma once

#include "text.h"

/*
 * Does the regular expression with this @data run at @address? Its code alone says: a frame has the
 * data, which may be others by now.
 */
bool v8_is_regexp_at(const struct v8_heap *heap, uint64_t data, uint64_t address);

/* What V8's own profiler calls it, its source bounded, to the empty @text. False: it is not known.
 */
bool v8_name_regexp(const struct v8_heap *heap, uint64_t data, struct v8_text *text);
