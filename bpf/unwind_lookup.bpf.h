/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From a pc to its rule: the process's range, the file's page, the row. The layout is that of
 * unwind_tables.h.
 */
#pragma once

#include "unwind_state.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set before load */
	__type(key, __u32);
	__type(value, struct unwind_bucket);
} unwind_processes SEC(".maps");

/* Set before load: the language runtimes that this program knows, 1 << enum runtime_number each. */
const volatile __u32 runtimes_known = ~0u;

/* Set before load: how many buckets there are, a power of two, less one. */
const volatile __u32 unwind_bucket_mask;

struct unwind_slab {
	__u8 bytes[UNWIND_SLAB_BYTES];
};

/* Sizes, not types: libbpf finds no type that is named in the map of a map only. */
struct unwind_slab_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, UNWIND_SLAB_BYTES);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1024); /* set before load */
	__type(key, __u32);
	__array(values, struct unwind_slab_map);
} unwind_slabs SEC(".maps");

/*
 * Packed rules that walks in each slot have found lately: those of several frames in one line of
 * memory. Small arrays are the kernel's own mapping of memory, and not one of small pages as large
 * and per-CPU ones are: that is most of what makes them quick.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1); /* set before load: slots (sampling.bpf.h) */
	__type(key, __u32);
	__array(values, struct unwind_slab_map);
} unwind_recent SEC(".maps");

/* Rules that have no packed form. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UNWIND_RULES);
	__type(key, __u32);
	__type(value, struct unwind_rule);
} unwind_rules SEC(".maps");

static __always_inline const struct unwind_rule *unwind_rule_of(__u32 number)
{
	return bpf_map_lookup_elem(&unwind_rules, &number);
}

/* ---- slabs ---- */

/* NULL when there is no such slab. */
static __always_inline struct unwind_slab *unwind_slab_of(__u32 handle)
{
	__u32 slab = handle >> UNWIND_LINE_BITS, zero = 0;
	void *map = bpf_map_lookup_elem(&unwind_slabs, &slab);

	return map ? bpf_map_lookup_elem(map, &zero) : NULL;
}

/* Before the first cache line in a slab: an array's value begins within one. */
static __always_inline __u32 unwind_slab_lead(void)
{
	return -bpf_core_field_offset(struct bpf_array___kernel, value) & (UNWIND_LINE_BYTES - 1);
}

static __always_inline __u32 unwind_offset_of(__u32 handle)
{
	return unwind_slab_lead() + (handle & ((1 << UNWIND_LINE_BITS) - 1)) * UNWIND_LINE_BYTES;
}

/* Through a pointer: where the compiler sees the array of bytes, it reads byte by byte. */
static __always_inline __u32 unwind_u16_at(const struct unwind_slab *slab, __u64 offset)
{
	const void *at = &slab->bytes[offset];

	return *(const __u16 *)at;
}

/* ---- processes ---- */

/*
 * By ranges that it had at @by_ns (CLOCK_BOOTTIME), or UNWIND_NOW. The two halves of a slot are
 * each written at once, after its time; a new one has another first half.
 */
#define UNWIND_NOW (~0ull)

static __always_inline bool unwind_find_process(struct unwind_walk *walk, __u32 pid, __u32 identity,
						__u64 by_ns)
{
	__u32 number = pid & unwind_bucket_mask;
	__u64 who = pid | (__u64)identity << 32;
	struct unwind_bucket *bucket = bpf_map_lookup_elem(&unwind_processes, &number);

	if (!bucket)
		return false;
#pragma unroll
	for (int i = 0; i < UNWIND_BUCKET_SLOTS; i++) {
		volatile struct unwind_process *slot = &bucket->slots[i];
		__u64 code;

		if (slot->who != who)
			continue;
		code = slot->code;
		walk->ranges = (__u32)code;
		walk->range_count = code >> 32 & (UNWIND_IN_PIECES | UNWIND_COUNT);
		walk->copies = code >> 32 & UNWIND_COPIES;
		walk->program = code >> (32 + UNWIND_PROGRAM_SHIFT) & (UNWIND_PROGRAMS - 1);
		// In another cache line, which others need not touch.
		if (walk->program || runtimes_known)
			walk->labels = (__u32) * (volatile __u64 *)&bucket->labels[i];
		if (by_ns != UNWIND_NOW && *(volatile __u64 *)&bucket->since_ns[i] > by_ns)
			return false;
		return slot->who == who;
	}
	return false;
}

/* ---- ranges, pages, rows ---- */

/* All ones when a < b, for addresses below 2^63: no branch, so that the verifier has one path. */
static __always_inline __u64 unwind_mask_less(__u64 a, __u64 b)
{
	__u64 difference = a - b;

	asm volatile("%0 s>>= 63" : "+r"(difference));
	return difference;
}

static __always_inline struct unwind_range *unwind_range_at(struct unwind_slab *slab, __u64 offset)
{
	if (offset > UNWIND_SLAB_BYTES - sizeof(struct unwind_range))
		return NULL;
	return (void *)&slab->bytes[offset];
}

/* The number of the last of the process's ranges that begins at or before @pc; of the first if none
 * does. Negative: the table is broken. */
static __always_inline long unwind_search_ranges(struct unwind_slab *slab, __u64 base, __u64 count,
						 __u64 pc)
{
	int step = count > 1 << UNWIND_FEW_RANGES ? UNWIND_RANGE_STEPS - 1 : UNWIND_FEW_RANGES - 1;
	__u64 found = 0;

#pragma clang loop unroll(disable)
	for (; step >= 0; step--) {
		__u64 probe = found + (1ull << step);
		__u64 inside = unwind_mask_less(probe, count);
		struct unwind_range *range =
			unwind_range_at(slab, base + (probe * sizeof(*range) & inside));

		if (!range)
			return -1;
		found += (1ull << step) & inside & ~unwind_mask_less(pc, range->start);
	}
	return (long)found;
}

static __always_inline struct unwind_piece *unwind_piece_at(struct unwind_slab *slab, __u64 offset)
{
	if (offset > UNWIND_SLAB_BYTES - sizeof(struct unwind_piece))
		return NULL;
	return (void *)&slab->bytes[offset];
}

/* As unwind_search_ranges, among the @count pieces at the handle @pieces. NULL: broken. */
static __noinline struct unwind_piece *unwind_find_piece(__u32 pieces, __u64 count, __u64 pc)
{
	struct unwind_slab *slab = unwind_slab_of(pieces);
	__u64 base = unwind_offset_of(pieces), found = 0;
	int step = count > 1 << UNWIND_FEW_PIECES ? UNWIND_PIECE_STEPS - 1 : UNWIND_FEW_PIECES - 1;

	if (!slab)
		return NULL;
#pragma clang loop unroll(disable)
	for (; step >= 0; step--) {
		__u64 probe = found + (1ull << step);
		__u64 inside = unwind_mask_less(probe, count);
		struct unwind_piece *piece =
			unwind_piece_at(slab, base + (probe * sizeof(*piece) & inside));

		if (!piece)
			return NULL;
		found += (1ull << step) & inside & ~unwind_mask_less(pc, piece->start);
	}
	return unwind_piece_at(slab, base + found * sizeof(struct unwind_piece));
}

static __always_inline void unwind_set_range(struct unwind_walk *walk,
					     const struct unwind_range *range)
{
	walk->code_start = range->start;
	walk->code_bytes = (__u64)range->pages << 12;
	walk->code_frame = 0;
	if (range->file && (range->kind < UNWIND_RANGE_RUNTIME || range->kind >= UNWIND_RANGE_LOOP))
		walk->code_frame = (UNWIND_FRAME_FILE | (__u64)range->file << UNWIND_FRAME_SHIFT |
				    (__u64)range->file_page << 12) -
				   range->start;
	walk->code_text = ((__u64)range->first << UNWIND_PAGE_SHIFT) + ((__u64)range->page << 12) -
			  range->start;
	walk->directory = range->directory;
	walk->kind = range->kind;
	if (range->kind >= UNWIND_RANGE_LOOP) {
		walk->area[0] = range->data;
		// As any other code of the file where the walk does not know the runtime.
		if (!(runtimes_known >> (range->kind - UNWIND_RANGE_LOOP) & 1))
			walk->kind = UNWIND_RANGE_TABLE;
	} else if (range->kind >= UNWIND_RANGE_RUNTIME) {
		walk->told = range->told;
		walk->area[0] = range->area[0];
		walk->area[1] = range->area[1];
	}
	walk->page_number = ~0ull;
}

/* Goes to the range that holds @pc; false when none does. */
static __always_inline bool unwind_enter_range(struct unwind_walk *walk, __u64 pc)
{
	__u32 ranges = walk->ranges, count = walk->range_count;
	__u64 *leaf = &walk->leaves[(ranges & 255) * UNWIND_LEAVES >> 8];
	struct unwind_range *range;
	struct unwind_slab *slab;
	__u64 base;
	long found;

	if (count & UNWIND_IN_PIECES) {
		struct unwind_piece *piece =
			unwind_find_piece(ranges, count & ~UNWIND_IN_PIECES, pc);

		if (!piece)
			return false;
		ranges = piece->ranges;
		count = piece->count;
	}
	slab = unwind_slab_of(ranges);
	base = unwind_offset_of(ranges);
	if (!slab)
		return false;
	// Saves the search, whose every step waits for memory. Stale ones miss.
	if (walk->at.first && (__u32)*leaf == ranges && *leaf >> 32 < count) {
		range = unwind_range_at(slab, base + (*leaf >> 32) * sizeof(*range));
		if (range && pc - range->start < (__u64)range->pages << 12) {
			unwind_set_range(walk, range);
			return true;
		}
	}
	found = unwind_search_ranges(slab, base, count, pc);
	if (found < 0)
		return false;
	range = unwind_range_at(slab, base + (__u64)found * sizeof(*range));
	if (!range)
		return false;
	unwind_set_range(walk, range);
	if (walk->at.first)
		*leaf = ranges | (__u64)found << 32;
	return pc - walk->code_start < walk->code_bytes;
}

/* The handle of the page with this number; 0: not there. */
static __always_inline __u32 unwind_find_page(const struct unwind_walk *walk, __u64 number)
{
	struct unwind_slab *slab = unwind_slab_of(walk->directory);
	__u64 offset = unwind_offset_of(walk->directory) + number * sizeof(__u32);
	const void *entry;

	// Handle 0 lies in a slab, too.
	if (!walk->directory || !slab || offset > UNWIND_SLAB_BYTES - sizeof(__u32))
		return 0;
	entry = &slab->bytes[offset];
	return *(const volatile __u32 *)entry;
}

/* The rule at @address, where a call ends; negative when the page is broken, or its rows have it.
 */
static __always_inline long unwind_find_call(struct unwind_slab *slab, __u64 page, __u64 address)
{
	__u64 offset = page + sizeof(struct unwind_calls) *
				      (address >> UNWIND_CALLS_SHIFT & (UNWIND_CALLS - 1));

	if (offset > UNWIND_SLAB_BYTES - sizeof(struct unwind_calls))
		return -1;
	return unwind_calls_find((const void *)&slab->bytes[offset],
				 address & ((1 << UNWIND_CALLS_SHIFT) - 1));
}

/* The 16 bits of the row that holds @address, in its page; negative when the page is broken. */
static __always_inline long unwind_find_row(struct unwind_slab *slab, __u64 page, __u64 address)
{
	__u64 block = page + UNWIND_PAGE_FIRST +
		      2 * ((address >> UNWIND_BLOCK_SHIFT) & (UNWIND_BLOCKS - 1));
	__u64 row, count, found = 0, offset;
	int step;

	if (block > UNWIND_SLAB_BYTES - 4)
		return -1;
	// With the one before the block, which holds where it begins.
	row = unwind_u16_at(slab, block);
	count = unwind_u16_at(slab, block + 2) - row + 1;
	row = page + (UNWIND_PAGE_ROWS - UNWIND_ROW_BYTES) + UNWIND_ROW_BYTES * row;
	step = count > 1 << UNWIND_FEW_ROWS ? UNWIND_ROW_STEPS - 1 : UNWIND_FEW_ROWS - 1;
#pragma clang loop unroll(disable)
	for (; step >= 0; step--) {
		__u64 probe = found + (1ull << step);
		__u64 inside = unwind_mask_less(probe, count);

		offset = row + (UNWIND_ROW_BYTES * probe & inside);
		if (offset > UNWIND_SLAB_BYTES - UNWIND_ROW_BYTES)
			return -1;
		found += (1ull << step) & inside &
			 ~unwind_mask_less(address & 0xff, slab->bytes[offset]);
	}
	offset = row + UNWIND_ROW_BYTES * found;
	if (offset > UNWIND_SLAB_BYTES - UNWIND_ROW_BYTES)
		return -1;
	return slab->bytes[offset + 1] | slab->bytes[offset + 2] << 8;
}

/* The recent rules of a slot; NULL when it has none. */
static __always_inline struct unwind_slab *unwind_recent_of(__u32 slot)
{
	void *map = bpf_map_lookup_elem(&unwind_recent, &slot);
	__u32 zero = 0;

	return map ? bpf_map_lookup_elem(map, &zero) : NULL;
}

/* NULL beyond the end. */
static __always_inline __u64 *unwind_recent_at(struct unwind_slab *slab, __u64 offset)
{
	// What the compiler knows of the bound the verifier does not.
	asm volatile("" : "+r"(offset));
	if (offset > UNWIND_SLAB_BYTES - sizeof(__u64))
		return NULL;
	return (void *)&slab->bytes[offset];
}

/* The line of recent rules that begins with the place of @tag. */
static __always_inline __u64 unwind_recent_offset(__u64 tag)
{
	return unwind_slab_lead() + unwind_recent_line(tag) * UNWIND_LINE_BYTES;
}

/* After the one at @offset, in its line; UNWIND_RECENT_END at its end. */
static __always_inline __u32 unwind_recent_next(__u64 offset)
{
	__u64 next = offset + sizeof(__u64) - unwind_slab_lead();

	return next & (UNWIND_LINE_BYTES - 1) ? (__u32)(next + unwind_slab_lead())
					      : UNWIND_RECENT_END;
}

/* The 16 bits of the rule at @pc; UNWIND_END_* + 2^16 where there is none. */
static __always_inline __u32 unwind_look_up(struct unwind_walk *walk, __u64 pc)
{
	__u64 address = walk->code_text + pc, number = address >> UNWIND_PAGE_SHIFT, page;
	struct unwind_slab *slab;
	long rule = -1;

	if (number != walk->page_number) {
		walk->page = unwind_find_page(walk, number);
		walk->page_number = number;
	}
	if (!walk->page)
		return UNWIND_NO_ROW | UNWIND_END_NO_PAGE;
	slab = unwind_slab_of(walk->page);
	if (!slab)
		return UNWIND_NO_ROW | UNWIND_END_BROKEN_TABLE;
	page = unwind_offset_of(walk->page);
	// The first frame's need not be a call's.
	if (!walk->at.exact && !walk->at.first)
		rule = unwind_find_call(slab, page, address);
	if (rule < 0)
		rule = unwind_find_row(slab, page, address);
	return rule < 0 ? UNWIND_NO_ROW | UNWIND_END_BROKEN_TABLE : (__u32)rule;
}
