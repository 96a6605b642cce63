// SPDX-License-Identifier: Apache-2.0
#include "image.h"

void image_init(struct image *image, const void *file, size_t file_bytes)
{
	*image = (struct image){ .file = file, .file_bytes = file_bytes };
	elf_facts_read(file, file_bytes, &image->facts);
}

void image_deinit(struct image *image)
{
	if (image->has_source)
		unwind_source_deinit(&image->source);
}

static void recognise(struct image *image)
{
	const struct runtime_file file = { .view = &image->view, .source = &image->source };

	for (size_t i = 0; i < RUNTIMES && image->runtime_count < WORKER_MAX_RUNTIMES; i++) {
		struct image_runtime *room = &image->runtimes[image->runtime_count];

		if (!all_runtimes[i] || !all_runtimes[i]->recognise(&file, room->layout))
			continue;
		room->runtime = all_runtimes[i];
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

const struct runtime *image_lines_by(const struct runtime_file *file)
{
	uint64_t layout[RUNTIME_LAYOUT_BYTES / sizeof(uint64_t)];

	for (size_t i = 0; i < RUNTIMES; i++)
		if (all_runtimes[i] && all_runtimes[i]->lines &&
		    all_runtimes[i]->recognise(file, layout))
			return all_runtimes[i];
	return NULL;
}

void image_read_lines(struct image *image)
{
	const struct runtime_file file = { .view = &image->view, .source = &image->source };

	if (image->has_lines || !elf_view_init(&image->view, image->file, image->file_bytes) ||
	    image->view.machine != IMAGE_MACHINE)
		return;
	if (!image->has_source)
		unwind_source_init_functions(&image->source, &image->view);
	image->has_lines = true;
	image->lines_by = image_lines_by(&file);
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
	return sizeof(*image) + (image->has_source ? source_memory(&image->source) : 0);
}
