/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the kernel, its modules and BPF programs, as /proc/kallsyms had
 * them at one moment: 8 bytes a function, and its name (kernel_names).
 *
 * Threads: one at a time.
 */
#pragma once

#include "symbols.h"

struct kernel_table;

/*
 * @root is "", or a directory that stands for the root of /proc and /sys. An error says what the
 * administrator can do; its code is UNSUPPORTED when the kernel hides its addresses.
 */
PROFCOL_MUST_CHECK struct profcol_error *kernel_table_read(const char *root,
							   struct kernel_table **ret);
void kernel_table_destroy(struct kernel_table *table); /* accepts NULL */

/* The function at @address; text is borrowed until destroy. */
bool kernel_table_find(struct kernel_table *table, uint64_t address, struct kernel_symbol *ret);

size_t kernel_table_count(const struct kernel_table *table);  /* functions */
size_t kernel_table_memory(const struct kernel_table *table); /* bytes */
