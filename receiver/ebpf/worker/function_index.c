// SPDX-License-Identifier: Apache-2.0
#include "function_index.h"

#include "cut_names.h"
#include "known_code.h"

#include "base/base.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

static const char magic[8] = "PROFCOLF";

enum {
	LEVEL = 1,                    /* 3 saves a tenth, for half as much time again */
	MAX_BLOCKS = 1 << 17,         /* offsets of names have 31 bits */
	BLOCK_BITS = 14,              /* of FUNCTION_INDEX_BLOCK */
	ALIGNMENT = sizeof(uint64_t), /* of the block table */
	PIECE_ROWS = 32768,           /* a few MB of names */
	LONGEST_NAME = 32 << 10,      /* what lies beyond does not tell names apart */
};

_Static_assert(1 << BLOCK_BITS == FUNCTION_INDEX_BLOCK, "the block of a name is its upper bits");
_Static_assert(sizeof(struct function_index_row) == 12, "no padding");
_Static_assert(sizeof(struct function_index_head) % 8 == 0, "segments follow, aligned");

/* ---- writing ---- */

struct writer {
	uint8_t *to;
	size_t room, used;
	ZSTD_CCtx *zstd; /* owned */
	VECTOR(uint32_t) blocks;
	char block[FUNCTION_INDEX_BLOCK]; /* the names that are being collected */
	size_t filled;
	uint32_t last_from, last_to; /* the last name, where it was and where it is */
};

static void writer_cleanup(struct writer **writer)
{
	if (!*writer)
		return;
	ZSTD_freeCCtx((*writer)->zstd);
	VECTOR_DEINIT(&(*writer)->blocks);
	free(*writer);
}

static int writer_put(struct writer *writer, const void *bytes, size_t length)
{
	if (length > writer->room - writer->used)
		return -EFBIG;
	if (length)
		memcpy(writer->to + writer->used, bytes, length);
	writer->used += length;
	return 0;
}

/* Pack the names collected so far into a block. */
static int writer_end_block(struct writer *writer)
{
	size_t packed;

	if (!writer->filled)
		return 0;
	if (writer->blocks.count == MAX_BLOCKS || writer->used > UINT32_MAX)
		return -EFBIG;
	if (!VECTOR_PUSH(&writer->blocks, (uint32_t)writer->used))
		return -ENOMEM;
	packed = ZSTD_compressCCtx(writer->zstd, writer->to + writer->used,
				   writer->room - writer->used, writer->block, writer->filled,
				   LEVEL);
	if (ZSTD_isError(packed))
		return -EFBIG;
	writer->used += packed;
	writer->filled = 0;
	return 0;
}

/* Where the name @text, which is at @from of its table, is in the index. */
static int writer_add_name(struct writer *writer, const char *text, size_t most, uint32_t from,
			   uint32_t *ret)
{
	size_t whole = strnlen(text, most < LONGEST_NAME ? most : LONGEST_NAME);
	size_t length = whole < FUNCTION_INDEX_NAME ? whole : FUNCTION_INDEX_NAME - 1;
	int result = 0;

	if (from == writer->last_from) { // what a nested function parts has one name
		*ret = writer->last_to;
		return 0;
	}
	if (length + 1 > sizeof(writer->block) - writer->filled)
		result = writer_end_block(writer);
	if (result)
		return result;
	*ret = (uint32_t)(writer->blocks.count << BLOCK_BITS | writer->filled);
	memcpy(writer->block + writer->filled, text, length);
	if (length < whole)
		cut_name_mark(writer->block + writer->filled, length, text, whole);
	writer->block[writer->filled + length] = '\0';
	writer->filled += length + 1;
	writer->last_from = from;
	writer->last_to = *ret;
	return 0;
}

static struct function_index_head head_of(const struct function_index_contents *contents)
{
	const struct elf_facts *facts = contents->facts;
	struct function_index_head head = {
		.version = FUNCTION_INDEX_VERSION,
		.source = contents->source,
		.segment_count = (uint32_t)facts->segment_count,
		.flags = contents->has_tables ? FUNCTION_INDEX_TABLES : 0,
	};

	memcpy(head.magic, magic, sizeof(magic));
	memcpy(head.htlhash, facts->htlhash, sizeof(facts->htlhash));
	memcpy(head.build_id_gnu, facts->build_id_gnu, sizeof(facts->build_id_gnu));
	memcpy(head.build_id_go, facts->build_id_go, sizeof(facts->build_id_go));
	if (!contents->range_count)
		return head;
	head.base = contents->ranges[0].start;
	while (head.row_count < contents->range_count &&
	       contents->ranges[head.row_count].start - head.base <= UINT32_MAX)
		head.row_count++;
	return head;
}

/* The rows go to where room was left for them, the names behind. */
static int writer_put_functions(struct writer *writer,
				const struct function_index_contents *contents,
				const struct function_index_head *head, size_t rows_at)
{
	for (uint32_t i = 0; i < head->row_count; i++) {
		const struct function_range *range = &contents->ranges[i];
		struct function_index_row row = {
			.start = (uint32_t)(range->start - head->base),
			.size = range->size,
			.name = range->name,
		};
		int result = 0;

		if (range->name < FUNCTION_KNOWN)
			result = writer_add_name(writer, contents->strings + range->name,
						 contents->strings_bytes - range->name, range->name,
						 &row.name);
		else if (!(range->name & FUNCTION_UNNAMED))
			result = writer_add_name(writer,
						 known_code_name(range->name & ~FUNCTION_KNOWN),
						 FUNCTION_INDEX_NAME, range->name, &row.name);
		if (result)
			return result;
		memcpy(writer->to + rows_at + i * sizeof(row), &row, sizeof(row));
		if (contents->release && i % PIECE_ROWS == PIECE_ROWS - 1)
			contents->release->release(contents->release->context);
	}
	return writer_end_block(writer);
}

static int writer_put_blocks(struct writer *writer, struct function_index_head *head)
{
	static const uint8_t padding[ALIGNMENT];
	int result = 0;

	if (writer->used > UINT32_MAX)
		return -EFBIG;
	if (!VECTOR_PUSH(&writer->blocks, (uint32_t)writer->used))
		return -ENOMEM;
	if (writer->used % ALIGNMENT)
		result = writer_put(writer, padding, ALIGNMENT - writer->used % ALIGNMENT);
	head->blocks = writer->used;
	head->block_count = (uint32_t)writer->blocks.count - 1;
	if (!result)
		result = writer_put(writer, writer->blocks.items,
				    writer->blocks.count * sizeof(*writer->blocks.items));
	return result;
}

int function_index_write(const struct function_index_contents *contents, void *to, size_t room,
			 size_t *bytes_ret)
{
	CLEANUP(writer_cleanup) struct writer *writer = calloc(1, sizeof(*writer));
	struct function_index_head head = head_of(contents);
	size_t rows_at, rows_bytes = head.row_count * sizeof(struct function_index_row);
	int result;

	if (!writer)
		return -ENOMEM;
	writer->zstd = ZSTD_createCCtx();
	if (!writer->zstd)
		return -ENOMEM;
	writer->to = to;
	writer->room = room;
	writer->last_from = FUNCTION_UNNAMED;
	result = writer_put(writer, &head, sizeof(head));
	if (!result)
		result = writer_put(writer, contents->facts->segments,
				    contents->facts->segment_count *
					    sizeof(*contents->facts->segments));
	rows_at = writer->used;
	if (!result && rows_bytes > writer->room - writer->used)
		result = -EFBIG;
	writer->used += rows_bytes;
	if (!result)
		result = writer_put_functions(writer, contents, &head, rows_at);
	if (!result)
		result = writer_put_blocks(writer, &head);
	if (result)
		return result;
	head.bytes = writer->used;
	memcpy(to, &head, sizeof(head));
	*bytes_ret = writer->used;
	return 0;
}

/* ---- reading ---- */

static bool ends(const char *text, size_t room)
{
	return memchr(text, '\0', room);
}

static bool head_is_sound(const struct function_index_head *head, size_t size)
{
	uint64_t least = sizeof(*head);

	if (memcmp(head->magic, magic, sizeof(magic)) != 0 ||
	    head->version != FUNCTION_INDEX_VERSION || head->bytes > size ||
	    head->segment_count > WORKER_MAX_SEGMENTS || head->block_count > MAX_BLOCKS ||
	    head->blocks % ALIGNMENT)
		return false;
	least += head->segment_count * sizeof(struct worker_segment);
	least += (uint64_t)head->row_count * sizeof(struct function_index_row);
	return head->blocks >= least && head->blocks <= head->bytes &&
	       head->block_count + 1ull <= (head->bytes - head->blocks) / sizeof(uint32_t) &&
	       ends(head->htlhash, sizeof(((struct elf_facts *)0)->htlhash)) &&
	       ends(head->build_id_gnu, sizeof(((struct elf_facts *)0)->build_id_gnu)) &&
	       ends(head->build_id_go, sizeof(((struct elf_facts *)0)->build_id_go));
}

static void facts_of(const struct function_index_head *head, struct elf_facts *ret)
{
	*ret = (struct elf_facts){ .segment_count = head->segment_count };
	memcpy(ret->htlhash, head->htlhash, sizeof(ret->htlhash));
	memcpy(ret->build_id_gnu, head->build_id_gnu, sizeof(ret->build_id_gnu));
	memcpy(ret->build_id_go, head->build_id_go, sizeof(ret->build_id_go));
	memcpy(ret->segments, head + 1, head->segment_count * sizeof(*ret->segments));
}

bool function_index_open(struct function_index *index, const void *bytes, size_t size)
{
	const struct function_index_head *head = bytes;

	if (size < sizeof(*head) || !head_is_sound(head, size))
		return false;
	index->head = head;
	index->bytes = bytes;
	index->rows = (const void *)((const uint8_t *)(head + 1) +
				     head->segment_count * sizeof(struct worker_segment));
	index->blocks = (const void *)(index->bytes + head->blocks);
	index->unpacked = UINT32_MAX;
	facts_of(head, &index->facts);
	return true;
}

uint64_t function_index_start(const struct function_index *index, size_t at)
{
	return index->head->base + index->rows[at].start;
}

uint64_t function_index_limit(const struct function_index *index, size_t at)
{
	return function_index_start(index, at) + index->rows[at].size;
}

size_t function_index_seek(const struct function_index *index, uint64_t address)
{
	size_t low = 0, high = index->head->row_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (function_index_limit(index, middle) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool index_unpack(struct function_index *index, uint32_t block)
{
	uint32_t from = index->blocks[block], limit = index->blocks[block + 1];
	size_t got;

	index->unpacked = UINT32_MAX;
	if (from > limit || limit > index->head->blocks)
		return false;
	got = ZSTD_decompress(index->names, FUNCTION_INDEX_BLOCK, index->bytes + from,
			      limit - from);
	if (ZSTD_isError(got))
		return false;
	memset(index->names + got, 0, sizeof(index->names) - got);
	index->unpacked = block;
	return true;
}

const char *function_index_name(struct function_index *index, uint32_t name)
{
	uint32_t block = name >> BLOCK_BITS, at = name & (FUNCTION_INDEX_BLOCK - 1);

	if (block >= index->head->block_count ||
	    (block != index->unpacked && !index_unpack(index, block)) || !index->names[at])
		return NULL;
	return index->names + at;
}
