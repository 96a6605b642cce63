/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which file the profile is of: readers of pprof show the first mapping as that, and look there for
 * source and code that is named without a file.
 */
#pragma once

#include <profcol/batch.h>

/* The mapping of the program that most samples are of, when it is more than half of them; 0: none.
 */
uint32_t main_mapping(const struct profcol_batch *batch);
