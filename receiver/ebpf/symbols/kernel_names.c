// SPDX-License-Identifier: Apache-2.0
#include "kernel_names.h"

#include "base/base.h"

#include <libdeflate.h>
#include <string.h>

enum {
	BLOCK_BYTES = 4096, /* unpacked, in 6 us; larger ones would not be much smaller */
	LEVEL = 1,          /* the highest saves 15 % more, for three times the time */
};

struct block {
	uint32_t start;  /* of the text */
	uint32_t packed; /* where in the packed bytes */
};

struct kernel_names {
	VECTOR(struct block) blocks; /* one more at the end closes the last */
	VECTOR(char) packed;
	struct arena *read; /* names that have been asked for */
	struct libdeflate_decompressor *decompressor;
};

void kernel_names_destroy(struct kernel_names *names)
{
	if (!names)
		return;
	libdeflate_free_decompressor(names->decompressor);
	arena_destroy(names->read);
	VECTOR_DEINIT(&names->blocks);
	VECTOR_DEINIT(&names->packed);
	free(names);
}

static void names_cleanup(struct kernel_names **names)
{
	kernel_names_destroy(*names);
}

static void compressor_cleanup(struct libdeflate_compressor **compressor)
{
	libdeflate_free_compressor(*compressor);
}

/* How many of the @bytes at @text make the next block: whole names, and at least one. */
static size_t block_length(const char *text, size_t bytes)
{
	const char *last;

	if (bytes <= BLOCK_BYTES)
		return bytes;
	last = memrchr(text, '\0', BLOCK_BYTES);
	if (!last)
		last = memchr(text, '\0', bytes);
	return last ? (size_t)(last + 1 - text) : bytes;
}

static bool names_add_block(struct kernel_names *names, struct libdeflate_compressor *compressor,
			    const char *text, struct block block, size_t length)
{
	size_t bound = libdeflate_deflate_compress_bound(compressor, length);

	if (!VECTOR_PUSH(&names->blocks, block) || !VECTOR_RESERVE(&names->packed, bound))
		return false;
	names->packed.count +=
		libdeflate_deflate_compress(compressor, text + block.start, length,
					    names->packed.items + names->packed.count, bound);
	return true;
}

static bool names_pack(struct kernel_names *names, const char *text, size_t bytes)
{
	CLEANUP(compressor_cleanup)
	struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(LEVEL);
	struct block block = { 0 };
	void *shrunk;

	if (!compressor)
		return false;
	while (block.start < bytes) {
		size_t length = block_length(text + block.start, bytes - block.start);

		block.packed = (uint32_t)names->packed.count;
		if (!names_add_block(names, compressor, text, block, length))
			return false;
		block.start += (uint32_t)length;
	}
	block.packed = (uint32_t)names->packed.count;
	if (!VECTOR_PUSH(&names->blocks, block))
		return false;
	shrunk = realloc(names->packed.items, names->packed.count + 1);
	if (shrunk) {
		names->packed.items = shrunk;
		names->packed.capacity = names->packed.count + 1;
	}
	return true;
}

struct kernel_names *kernel_names_create(const char *text, size_t bytes)
{
	CLEANUP(names_cleanup) struct kernel_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->read = arena_create(0);
	names->decompressor = libdeflate_alloc_decompressor();
	if (!names->read || !names->decompressor || !names_pack(names, text, bytes))
		return NULL;
	return TAKE(names);
}

/* The block that @offset lies in; NULL when it lies in none. */
static const struct block *names_find(const struct kernel_names *names, uint32_t offset)
{
	size_t low = 0, high = names->blocks.count - 1;

	if (!high || offset >= names->blocks.items[high].start)
		return NULL;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (names->blocks.items[middle].start <= offset)
			low = middle;
		else
			high = middle;
	}
	return &names->blocks.items[low];
}

const char *kernel_names_read(struct kernel_names *names, uint32_t offset)
{
	const struct block *block = names_find(names, offset);
	CLEANUP_FREE char *text = NULL;
	size_t length;

	if (!block)
		return NULL;
	length = block[1].start - block->start;
	text = malloc(length);
	if (!text ||
	    libdeflate_deflate_decompress(names->decompressor, names->packed.items + block->packed,
					  block[1].packed - block->packed, text, length, NULL))
		return NULL;
	offset -= block->start;
	return arena_strndup(names->read, text + offset, strnlen(text + offset, length - offset));
}

size_t kernel_names_memory(const struct kernel_names *names)
{
	return sizeof(*names) + names->blocks.capacity * sizeof(*names->blocks.items) +
	       names->packed.capacity + arena_memory(names->read);
}
