// SPDX-License-Identifier: Apache-2.0
#include "image.h"

int image_init(struct image *image, const void *file, size_t file_bytes)
{
	*image = (struct image){ .file = file, .file_bytes = file_bytes };
	elf_facts_read(file, file_bytes, &image->facts);
	return elf_symbols_read(file, file_bytes, &image->facts, &image->symbols);
}

void image_deinit(struct image *image)
{
	elf_symbols_deinit(&image->symbols);
}

size_t image_memory(const struct image *image)
{
	return sizeof(*image) +
	       image->symbols.functions.count * sizeof(*image->symbols.functions.ranges);
}
