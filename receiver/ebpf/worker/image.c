// SPDX-License-Identifier: Apache-2.0
#include "image.h"

#include <sys/mman.h>

void image_init(struct image *image, const void *file, size_t file_bytes)
{
	*image = (struct image){ .file = file, .file_bytes = file_bytes };
	elf_facts_read(file, file_bytes, &image->facts);
}

void image_deinit(struct image *image)
{
	elf_symbols_deinit(&image->symbols);
	if (image->has_source)
		unwind_source_deinit(&image->source);
}

void image_release(const struct image *image)
{
	if (image->mapped)
		madvise((void *)(uintptr_t)image->file, image->file_bytes, MADV_DONTNEED);
}

static void release(const void *context)
{
	image_release(context);
}

int image_read_symbols(struct image *image)
{
	int result = 0;

	if (!image->has_symbols)
		result = elf_symbols_read(image->file, image->file_bytes, &image->facts, release,
					  image, &image->symbols);
	image->has_symbols = !result;
	return result;
}

static void recognise(struct image *image)
{
	const struct runtime_file file = { .view = &image->view, .source = &image->source };

	for (size_t i = 0; i < RUNTIMES && image->runtime_count < WORKER_MAX_RUNTIMES; i++) {
		struct image_runtime *room = &image->runtimes[image->runtime_count];

		if (!runtimes[i] || !runtimes[i]->recognise(&file, room->layout))
			continue;
		room->runtime = runtimes[i];
		image->runtime_count++;
	}
}

int image_read_source(struct image *image)
{
	int result;

	if (image->has_source || !elf_view_init(&image->view, image->file, image->file_bytes) ||
	    image->view.machine != IMAGE_MACHINE)
		return 0;
	result = unwind_source_init(&image->source, &image->view);
	if (result)
		return result;
	image->has_source = true;
	image->text = text_pages_find(image->facts.segments, image->facts.segment_count);
	image->has_tables = image->text.limit && !unwind_source_is_empty(&image->source);
	recognise(image);
	return 0;
}

static size_t cfi_memory(const struct cfi *cfi)
{
	return cfi->index ? cfi->count * sizeof(*cfi->index) : 0;
}

static size_t source_memory(const struct unwind_source *source)
{
	return cfi_memory(&source->eh_frame) + cfi_memory(&source->debug_frame) +
	       source->inflated_bytes;
}

size_t image_memory(const struct image *image)
{
	return sizeof(*image) +
	       image->symbols.functions.count * sizeof(*image->symbols.functions.ranges) +
	       (image->has_source ? source_memory(&image->source) : 0);
}
