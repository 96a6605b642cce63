/* SPDX-License-Identifier: Apache-2.0 */
/* `top`: where the time of a batch went. Pure; any thread. */
#pragma once

#include <profcol/errors.h>

#include <stdint.h>

struct profcol_batch;
struct text;

/*
 * For each kind of sample (type and unit) in @batch a table of the @limit
 * functions with the largest flat value, kernel and user together. Flat: the
 * function was running; cumulative: it was running or had called what was, each
 * stack counted once however often the function is on it. Fails with NO_MEMORY;
 * memory grows with the batch's distinct stacks and functions.
 */
PROFCOL_MUST_CHECK struct profcol_error *
hottest_print(struct text *text, const struct profcol_batch *batch, uint32_t limit);
