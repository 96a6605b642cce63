/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's functions over time: the table is read anew, but rarely, when an
 * address turns up that it does not know, and when modules or BPF programs may
 * have changed. Text stays valid until kernel_forget.
 *
 * Threads: one at a time.
 */
#pragma once

#include "kernel_table.h"

struct kernel;

/* @root as for kernel_table_read; copied. NULL without memory. */
struct kernel *kernel_create(const char *root);
void kernel_destroy(struct kernel *kernel); /* accepts NULL */

/* From now on @code, which is borrowed, says what BPF programs have come and gone. Before the table
 * is read, so that it knows of all that is not in there. */
struct kernel_code;
void kernel_follow(struct kernel *kernel, struct kernel_code *code);

/* Read the table now. After an error what was known before stays known. */
PROFCOL_MUST_CHECK struct profcol_error *kernel_load(struct kernel *kernel, uint64_t now_ns);

/* @now_ns (CLOCK_MONOTONIC) decides what is old. Where several BPF programs have been at @address
 * since kernel_forget there is no telling. */
bool kernel_find(struct kernel *kernel, uint64_t address, uint64_t now_ns,
		 struct kernel_symbol *ret);
void kernel_forget(struct kernel *kernel);

size_t kernel_memory(const struct kernel *kernel); /* bytes */
