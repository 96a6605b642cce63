/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of one file, compact and by address: made once, kept by the profiler as bytes that
 * it never looks into, and searched by whichever worker is asked. It has all that an answer needs,
 * so that the file is not opened again. Numbers are the machine's own.
 *
 *   head, segments, rows by address, names in blocks (zstd), block table
 *
 * A worker that made one may have been taken over by the file, so readers check everything.
 * One thread at a time.
 */
#pragma once

#include "elf_facts.h"
#include "function_ranges.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of the layout, and of what is made of a file: a kept one of another version is made anew. */
enum { FUNCTION_INDEX_VERSION = 2 };

enum {
	FUNCTION_INDEX_BLOCK = 16 << 10, /* bytes of names that are unpacked at a time: 15 us */
	FUNCTION_INDEX_NAME = 8 << 10,   /* longer names are cut (cut_names.h), NUL included */
};

struct function_index_head {
	char magic[8];
	uint32_t version;
	uint32_t source; /* enum worker_source */
	uint64_t bytes;  /* of all */
	uint64_t base;   /* address that rows begin from */
	uint64_t blocks; /* where the block table is */
	uint32_t row_count;
	uint32_t block_count;
	uint32_t segment_count;
	uint32_t flags; /* FUNCTION_INDEX_... */
	char htlhash[40];
	char build_id_gnu[2 * ELF_FACTS_GNU_BYTES + 8];
	char build_id_go[ELF_FACTS_GO_BYTES + 8];
};

enum {
	FUNCTION_INDEX_TABLES = 1, /* the file has unwind tables, or a function table of Go's */
};

struct function_index_row {
	uint32_t start; /* from base */
	uint32_t size;
	uint32_t name; /* offset in the names, or FUNCTION_UNNAMED and the way back to the entry */
};

/* What is written. @ranges by start, without overlap; their names are offsets in @strings. */
struct function_index_contents {
	const struct elf_facts *facts;
	enum worker_source source;
	bool has_tables;
	const struct function_range *ranges;
	size_t range_count;
	const char *strings;
	size_t strings_bytes;
	const struct elf_release *release; /* called after each piece of them; or NULL */
};

/* Write it to @to, which has room for @room bytes. 0 and the length, -EFBIG when there is more than
 * fits, or -ENOMEM. What lies more than 4 GiB behind the first function is left out. */
int function_index_write(const struct function_index_contents *contents, void *to, size_t room,
			 size_t *bytes_ret);

struct function_index {
	const struct function_index_head *head; /* in the bytes, as what follows */
	const struct function_index_row *rows;
	const uint8_t *bytes;
	const uint32_t *blocks; /* where each begins, and behind the last one */
	struct elf_facts facts;
	uint32_t unpacked; /* number of the block in names; UINT32_MAX: none */
	char names[FUNCTION_INDEX_BLOCK + 1];
};

/* @bytes (aligned to 8) are borrowed as long as @index is used. False: they are no index. */
bool function_index_open(struct function_index *index, const void *bytes, size_t size);

/* The first row that ends behind @address: it holds it, or is the next one; row_count if none. */
size_t function_index_seek(const struct function_index *index, uint64_t address);

/* Addresses of row @at. */
uint64_t function_index_start(const struct function_index *index, size_t at);
uint64_t function_index_limit(const struct function_index *index, size_t at);

/* The name at offset @name, until the next call; NULL when there is none there. */
const char *function_index_name(struct function_index *index, uint32_t name);
