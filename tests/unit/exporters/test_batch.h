/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <profcol/batch.h>

#include <stdint.h>

/*
 * A batch with @count samples of one event each on stacks of their own (named
 * after @seed), from a window that starts at @start_ns.
 */
struct profcol_batch *test_batch(uint32_t seed, uint32_t count, uint64_t start_ns);
