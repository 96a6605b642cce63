/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a symbol table as linkers write it (aliases, nested and unsized functions,
 * any order) to ranges that do not overlap: each address has one function, the
 * innermost one. Knows nothing of ELF. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The lower of two wins among aliases; bits may be combined. */
enum {
	FUNCTION_RANK_LOCAL = 1,
	FUNCTION_RANK_WEAK = 2,
	FUNCTION_RANK_LABEL = 4,   /* not marked as a function: hand-written assembly */
	FUNCTION_RANK_UNSIZED = 8, /* set by function_ranges_build */
};

/* In place of a name: code without one, which belongs to what began so many bytes before (the lower
 * bits). */
#define FUNCTION_UNNAMED (1u << 31)
/* The same: what code is called that is known by what it does (known_code.h), its number in the
 * lower bits. Offsets of names are below both. */
#define FUNCTION_KNOWN (1u << 30)

struct function_candidate {
	uint64_t start;
	uint64_t limit; /* exclusive; of an unsized one the farthest it can reach */
	uint32_t name;  /* offset in the strings */
	uint8_t rank;
	uint8_t unsized; /* 0 or 1: ends where the next one starts, or at limit */
};

struct function_range {
	uint64_t start;
	uint32_t size;
	uint32_t name; /* as of the candidate, or with FUNCTION_UNNAMED */
};

struct function_ranges {
	struct function_range *ranges; /* owned, by start */
	size_t count;
};

/*
 * @candidates are reordered. Each has start < limit and a name that is a NUL-terminated string
 * inside @strings. Returns 0 or -ENOMEM; time is linear but for the comparison of aliases.
 */
int function_ranges_build(struct function_candidate *candidates, size_t count, const char *strings,
			  size_t strings_bytes, struct function_ranges *ret);
void function_ranges_deinit(struct function_ranges *ranges);

/* The first range whose end lies behind @address: it holds it, or is the next one; count if none.
 */
size_t function_ranges_seek(const struct function_ranges *ranges, uint64_t address);
