/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which pieces of code have an entry of their own in a file's tables. Compilers and linkers write
 * one for each function, each cold part of one, each piece of assembly and each table of stubs, so
 * that they tell functions apart where no name does. One thread at a time.
 */
#pragma once

#include "source.h"

/* Positions of entries, in the order of the table, which need not be that of addresses. */
size_t unwind_entries_count(const struct unwind_source *source);

/* Where the entry at @position begins. Quick: its contents are not read. */
uint64_t unwind_entries_start(const struct unwind_source *source, size_t position);

/* Where it ends, exclusive; 0 when it is broken or of no code. */
uint64_t unwind_entries_limit(const struct unwind_source *source, size_t position);
