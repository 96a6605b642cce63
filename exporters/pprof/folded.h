/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks, as flamegraph.pl and speedscope read them: a line for each distinct stack, frames
 * from the root on, the process in front, then how much was counted.
 *
 *   shop;main;serve;vfs_read_[k] 12
 *
 * Kernel frames end in "_[k]". A frame without a name is its file in brackets, "[libc.so.6]", or
 * "[unknown]". Where a batch counts several things, such as samples and nanoseconds, the first
 * frame of each line says what. In names ';' is written as ':' and what is no printable text as
 * '?'; the blank before a number at the end of a name as '_', or flamegraph.pl would take it for a
 * count. Lines are sorted. Pure; any thread.
 */
#pragma once

#include <profcol/batch.h>

/* *@bytes_ret is the caller's to free(). */
PROFCOL_MUST_CHECK struct profcol_error *folded_encode(const struct profcol_batch *batch,
						       uint8_t **bytes_ret, size_t *length_ret);
