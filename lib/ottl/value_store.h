/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the language on their way into a batch. */
#pragma once

#include "value.h"

#include <profcol/batch.h>

/*
 * A copy of @value with all of its bytes in @scratch: what a builder holds moves when something is
 * added to it. False without memory.
 */
bool value_keep(const struct value *value, struct scratch *scratch, struct value *ret);

/* Lists and maps inside each other; what a peer takes in one message is some more. */
enum { VALUE_STORE_DEPTH_MAX = 32 };

/* Can an attribute be @value? Times, durations, ids and messages cannot, nor what is too deep. */
bool value_is_storable(const struct value *value);

/*
 * @value, which is storable and whose bytes are not the builder's, as an attribute's value. False
 * without memory, or when it would be larger than 2^31 - 1 bytes.
 */
bool value_store(const struct value *value, struct profcol_builder *builder,
		 struct profcol_value *ret);
