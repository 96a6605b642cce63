/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of all functions of the kernel, compressed in blocks, which takes a quarter of their
 * text. A block is unpacked when one of its names is read; who reads a name keeps it, so that this
 * happens once for each function that runs.
 *
 * Threads: one at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct kernel_names;

/* Pack @bytes of @text: names that end with a NUL each. NULL without memory. */
struct kernel_names *kernel_names_create(const char *text, size_t bytes);
void kernel_names_destroy(struct kernel_names *names); /* accepts NULL */

/* The name at @offset of the text, which has to be where one begins; valid until destroy. NULL
 * without memory. The same offset gives another copy. */
const char *kernel_names_read(struct kernel_names *names, uint32_t offset);

size_t kernel_names_memory(const struct kernel_names *names); /* bytes */
