/* SPDX-License-Identifier: Apache-2.0 */
/* One file as the worker knows it. One thread at a time. */
#pragma once

#include "elf_facts.h"
#include "elf_symbols.h"

struct image {
	const void *file; /* borrowed */
	size_t file_bytes;
	struct elf_facts facts;
	struct elf_symbols symbols;
};

/* @file is borrowed until deinit. Returns 0, whatever the file holds, or -ENOMEM. */
int image_init(struct image *image, const void *file, size_t file_bytes);
void image_deinit(struct image *image);

size_t image_memory(const struct image *image); /* bytes on the heap */
