/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Walks the user stack of the current thread by the tables of unwind_tables.h. One frame is one
 * call of unwind_step(), a global function: the verifier checks it once, not per frame.
 *
 * What it costs is cold cache lines, at any usual rate: per frame one of the directory, two of a
 * page, and what the search among the process's ranges touches; the stack is read through a
 * window.
 */
#pragma once

#include "kernel.bpf.h"
#include "unwind_tables.h"

enum {
	UNWIND_WINDOW_WORDS = 64,
	UNWIND_RANGE_STEPS = 10, /* 2^10 > UNWIND_RANGES */
	UNWIND_ROW_STEPS = 8,    /* a block has at most 256 rows */
	UNWIND_LOWEST = 4096,    /* no code below */
};

/* Set before load: bits of an address. arm64 signs return addresses in those above. */
const volatile __u64 unwind_address_mask = ~0ull;

/* The state of a walk. The window holds the stack from window_start on. */
struct unwind_walk {
	__u64 pc, sp, fp;
	__u64 link;  /* arm64: the link register, of the first frame */
	__u64 entry; /* address of the user's registers in the kernel; 0: those of the context */
	__u64 window_start;
	__u64 window[UNWIND_WINDOW_WORDS];
	__u32 ranges, range_count; /* of the process */
	__u32 range;               /* number of that which the last frame lay in */
	__u32 base, count;         /* frames: where in the record, how many so far */
	bool exact;                /* the pc is where execution stood, no return address */
	bool first;                /* all registers are those of the interrupt */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UNWIND_BUCKETS);
	__type(key, __u32);
	__type(value, struct unwind_bucket);
} unwind_processes SEC(".maps");

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

/* Rules that have no packed form. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UNWIND_RULES);
	__type(key, __u32);
	__type(value, struct unwind_rule);
} unwind_rules SEC(".maps");

/* ---- slabs ---- */

/* NULL when there is no such slab. */
static __always_inline struct unwind_slab *unwind_slab_of(__u32 handle)
{
	__u32 slab = handle >> UNWIND_LINE_BITS, zero = 0;
	void *map = bpf_map_lookup_elem(&unwind_slabs, &slab);

	return map ? bpf_map_lookup_elem(map, &zero) : NULL;
}

static __always_inline __u32 unwind_offset_of(__u32 handle)
{
	return (handle & ((1 << UNWIND_LINE_BITS) - 1)) * UNWIND_LINE_BYTES;
}

/* ---- processes ---- */

/* The two halves of a slot are each written at once; a new one has another first half. */
static __always_inline bool unwind_find_process(struct unwind_walk *walk, __u32 pid, __u32 identity)
{
	__u32 number = pid & (UNWIND_BUCKETS - 1);
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
		walk->range_count = code >> 32;
		return slot->who == who;
	}
	return false;
}

/* ---- user memory ---- */

/* The window begins at @address if that can be read. */
static __always_inline void unwind_move_window(struct unwind_walk *walk, __u64 address)
{
	walk->window_start = address;
	if (bpf_probe_read_user(walk->window, sizeof(walk->window), (void *)address))
		walk->window_start = 0;
}

static __always_inline bool unwind_read(struct unwind_walk *walk, __u64 address, __u64 *ret)
{
	__u64 distance = address - walk->window_start;

	if (distance <= sizeof(walk->window) - 8 && !(distance & 7)) {
		distance >>= 3;
		// The compiler knows the bound; this tells it to the verifier.
		asm volatile("%0 &= 63" : "+r"(distance));
		*ret = walk->window[distance];
		return true;
	}
	return !bpf_probe_read_user(ret, sizeof(*ret), (void *)address);
}

/* ---- from the pc to its rule ---- */

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

static __always_inline bool unwind_range_holds(const struct unwind_range *range, __u64 pc)
{
	return pc >= range->start && pc - range->start < (__u64)range->pages << 12;
}

/*
 * The range that holds @pc, or NULL: that of the frame before, or else the last one that begins at
 * or before it.
 */
static __always_inline struct unwind_range *unwind_find_range(struct unwind_walk *walk, __u64 pc)
{
	struct unwind_slab *slab = unwind_slab_of(walk->ranges);
	__u64 base = unwind_offset_of(walk->ranges), found = 0;
	struct unwind_range *range;

	if (!slab)
		return NULL;
	range = unwind_range_at(slab, base + (__u64)walk->range * sizeof(*range));
	if (range && unwind_range_holds(range, pc))
		return range;
#pragma unroll
	for (__u64 step = 1 << (UNWIND_RANGE_STEPS - 1); step; step >>= 1) {
		__u64 probe = found + step;

		range = unwind_range_at(slab, base + (probe * sizeof(*range) &
						      unwind_mask_less(probe, walk->range_count)));
		if (!range)
			return NULL;
		found += step & unwind_mask_less(probe, walk->range_count) &
			 ~unwind_mask_less(pc, range->start);
	}
	walk->range = (__u32)found;
	range = unwind_range_at(slab, base + found * sizeof(*range));
	return range && unwind_range_holds(range, pc) ? range : NULL;
}

/* The handle of the page that holds @distance from the range's start; 0: not there. */
static __always_inline __u32 unwind_find_page(const struct unwind_range *range, __u64 distance)
{
	struct unwind_slab *slab = unwind_slab_of(range->directory);
	__u64 entry = range->first + ((range->page_offset + distance) >> UNWIND_PAGE_SHIFT);
	__u64 offset = unwind_offset_of(range->directory) + entry * sizeof(__u32);

	// Handle 0 lies in a slab, too.
	if (!range->directory || !slab || offset > UNWIND_SLAB_BYTES - sizeof(__u32))
		return 0;
	return *(__u32 *)&slab->bytes[offset];
}

/* The 16 bits of the row that holds @address, in its page; negative when the page is broken. */
static __always_inline long unwind_find_row(__u32 handle, __u32 address)
{
	struct unwind_slab *slab = unwind_slab_of(handle);
	__u64 page = unwind_offset_of(handle);
	__u64 block = page + 2 * ((address >> UNWIND_BLOCK_SHIFT) & (UNWIND_BLOCKS - 1));
	__u64 row, count, found = 0, offset;

	if (!slab || block > UNWIND_SLAB_BYTES - 4)
		return -1;
	row = *(__u16 *)&slab->bytes[block];
	count = *(__u16 *)&slab->bytes[block + 2] - row;
	row = page + UNWIND_PAGE_HEAD_BYTES + 4 * row;
	// Most blocks have a handful: the first rounds are for those that have more.
#pragma unroll
	for (__u64 step = 1 << (UNWIND_ROW_STEPS - 1); step; step >>= 1) {
		__u64 probe = found + step;
		__u64 inside = unwind_mask_less(probe, count);

		offset = row + (4 * probe & inside);
		if (offset > UNWIND_SLAB_BYTES - 4)
			return -1;
		found += step & inside & ~unwind_mask_less(address & 0xff, slab->bytes[offset]);
	}
	offset = row + 4 * found;
	if (offset > UNWIND_SLAB_BYTES - 4)
		return -1;
	return *(__u16 *)&slab->bytes[offset + 2];
}

/* ---- from a frame to its caller ---- */

/*
 * Goes on at the caller. Stacks grow downwards: the canonical frame address of a called function
 * lies above its stack pointer, unless the caller was on @other_stack.
 */
static __always_inline int unwind_return(struct unwind_walk *walk, __u64 cfa, __u64 ra, __u64 fp,
					 bool other_stack)
{
	ra &= unwind_address_mask;
	if (!ra)
		return UNWIND_END_ENTRY;
	if (ra < UNWIND_LOWEST)
		return UNWIND_END_NO_MAPPING;
	if (cfa <= walk->sp && !walk->first && !other_stack)
		return UNWIND_END_BAD_CFA;
	walk->sp = cfa;
	walk->pc = ra;
	walk->fp = fp;
	walk->link = 0;
	walk->exact = false;
	walk->first = false;
	return 0;
}

static __always_inline int unwind_apply_packed(struct unwind_walk *walk, __u32 rule)
{
	bool by_sp = rule & UNWIND_PACKED_SP;
	__u32 depth = by_sp ? rule >> 5 & (UNWIND_PACKED_SP_DEPTHS - 1)
			    : rule >> 5 & (UNWIND_PACKED_FP_DEPTHS - 1);
	__u64 cfa = (by_sp ? walk->sp : walk->fp) + 8ull * depth;
	__u32 slot = rule & (UNWIND_PACKED_SLOTS - 1);
	__u64 fp = walk->fp, ra;

	// Beyond the window: the next frames are there, too.
	if (cfa - walk->window_start > sizeof(walk->window))
		unwind_move_window(walk, (cfa - 8 * (slot + 1)) & ~7ull);
	if (!unwind_read(walk, cfa - 8, &ra) ||
	    (slot && !unwind_read(walk, cfa - 8 * (slot + 1), &fp)))
		return UNWIND_END_UNREADABLE;
	return unwind_return(walk, cfa, ra, fp, false);
}

/* Code that no table describes: by the frame pointer, if it looks like one. */
static __always_inline int unwind_by_frame_pointer(struct unwind_walk *walk)
{
	__u64 frame = walk->fp, fp, ra;

	if (frame & 7 || frame < walk->sp)
		return UNWIND_END_BAD_POINTER;
	if (frame - walk->window_start > sizeof(walk->window) - 16)
		unwind_move_window(walk, frame);
	if (!unwind_read(walk, frame, &fp) || !unwind_read(walk, frame + 8, &ra))
		return UNWIND_END_UNREADABLE;
	// Memory that was never written looks like the end of a chain.
	if (!ra && fp)
		return UNWIND_END_BAD_POINTER;
	return unwind_return(walk, frame + 16, ra, fp, false);
}

/* The barrier keeps the loads apart: joined into one from a computed place the verifier refuses it.
 */
#define UNWIND_REGISTER(number, user_name, kernel_name)                                            \
	case number: {                                                                             \
		__u64 value = walk->entry ? BPF_CORE_READ(entry, kernel_name) : user->user_name;   \
                                                                                                   \
		asm volatile("" : "+r"(value));                                                    \
		return value;                                                                      \
	}

/* A register of the interrupted code by its DWARF number; 0 for one that has none. */
static __always_inline __u64 unwind_register(struct bpf_perf_event_data *ctx,
					     const struct unwind_walk *walk, __u32 number)
{
	const struct pt_regs___kernel *entry = (void *)walk->entry;
	const bpf_user_pt_regs_t *user = &ctx->regs;

#if defined(__TARGET_ARCH_x86)
	// System V ABI AMD64, figure 3.36.
	switch (number) {
		UNWIND_REGISTER(0, rax, ax)
		UNWIND_REGISTER(1, rdx, dx)
		UNWIND_REGISTER(2, rcx, cx)
		UNWIND_REGISTER(3, rbx, bx)
		UNWIND_REGISTER(4, rsi, si)
		UNWIND_REGISTER(5, rdi, di)
		UNWIND_REGISTER(8, r8, r8)
		UNWIND_REGISTER(9, r9, r9)
		UNWIND_REGISTER(10, r10, r10)
		UNWIND_REGISTER(11, r11, r11)
		UNWIND_REGISTER(12, r12, r12)
		UNWIND_REGISTER(13, r13, r13)
		UNWIND_REGISTER(14, r14, r14)
		UNWIND_REGISTER(15, r15, r15)
	}
#else
	(void)entry;
	(void)user;
	(void)number;
#endif
	return 0;
}

/* DWARF numbers. */
enum {
#if defined(__TARGET_ARCH_x86)
	UNWIND_SP = 7,
	UNWIND_FP = 6,
#else
	UNWIND_SP = 31,
	UNWIND_FP = 29,
#endif
};

/* False: unknown, since @number is another one, and this is not the first frame. */
static __always_inline bool unwind_base(struct bpf_perf_event_data *ctx, struct unwind_walk *walk,
					__u32 number, __u64 *ret)
{
	if (number == UNWIND_SP)
		*ret = walk->sp;
	else if (number == UNWIND_FP)
		*ret = walk->fp;
	else if (walk->first)
		*ret = unwind_register(ctx, walk, number);
	else
		return false;
	return true;
}

static __always_inline bool unwind_saved(struct unwind_walk *walk, __u32 how, __s32 offset,
					 __u64 cfa, __u64 same, __u64 *ret)
{
	__u64 base = how == UNWIND_AT_SP ? walk->sp : how == UNWIND_AT_FP ? walk->fp : cfa;

	*ret = same;
	if (how == UNWIND_SAME)
		return true;
	// In another register: that is not carried from frame to frame.
	if (how == UNWIND_LOST || how == UNWIND_IN_REGISTER) {
		*ret = 0;
		return true;
	}
	return unwind_read(walk, base + (__s64)offset, ret);
}

static __always_inline int unwind_apply_wide(struct bpf_perf_event_data *ctx,
					     struct unwind_walk *walk, __u32 number, __u64 *frame)
{
	struct unwind_rule *rule = bpf_map_lookup_elem(&unwind_rules, &number);
	__u64 cfa, ra, fp, link = 0;
	int end;

	if (!rule)
		return UNWIND_END_BROKEN_TABLE;
	// Nobody called a signal's trampoline: the byte before it is another function's.
	if (rule->signal && !walk->exact && !walk->first)
		(*frame)++;
	if (rule->cfa < UNWIND_CFA_REGISTER || rule->cfa > UNWIND_CFA_PLT ||
	    !unwind_base(ctx, walk, rule->cfa_register, &cfa))
		return UNWIND_END_UNSUPPORTED;
	cfa += (__s64)rule->cfa_offset;
	if (rule->cfa == UNWIND_CFA_DEREFERENCED) {
		if (!unwind_read(walk, cfa, &cfa))
			return UNWIND_END_UNREADABLE;
		cfa += (__s64)rule->cfa_addend;
	} else if (rule->cfa == UNWIND_CFA_PLT && (walk->pc & 15) >= (__u32)rule->cfa_addend) {
		cfa += 8;
	}
	if (rule->ra == UNWIND_SAME && !walk->link)
		return UNWIND_END_UNSUPPORTED;
	if (rule->ra == UNWIND_IN_REGISTER) {
		if (!walk->first)
			return UNWIND_END_UNSUPPORTED;
		ra = unwind_register(ctx, walk, rule->ra_offset);
	} else if (!unwind_saved(walk, rule->ra, rule->ra_offset, cfa, walk->link, &ra)) {
		return UNWIND_END_UNREADABLE;
	}
	if (!unwind_saved(walk, rule->fp, rule->fp_offset, cfa, walk->fp, &fp))
		return UNWIND_END_UNREADABLE;
#if defined(__TARGET_ARCH_arm64)
	// In struct sigcontext x30 lies two registers before the pc.
	if (rule->signal && !unwind_read(walk, walk->sp + (__s64)rule->ra_offset - 16, &link))
		return UNWIND_END_UNREADABLE;
#endif
	end = unwind_return(walk, cfa, ra, fp, rule->signal || rule->stack_switch);
	// What a signal interrupted did not call.
	walk->exact = rule->signal;
	walk->link = link;
	return end;
}

/* ---- the walk ---- */

/* The registers to begin with: those of the interrupt, or those that the kernel was entered with.
 * Returns 0, or why not. */
static __always_inline int unwind_begin(struct bpf_perf_event_data *ctx, struct unwind_walk *walk)
{
	bool is_32_bit;

	walk->entry = 0;
	walk->link = 0;
	walk->count = 0;
	walk->range = 0;
	walk->exact = walk->first = true;
	if (kernel_interrupted_user(&ctx->regs)) {
		const bpf_user_pt_regs_t *user = &ctx->regs;

#if defined(__TARGET_ARCH_x86)
		walk->pc = user->rip;
		walk->sp = user->rsp;
		walk->fp = user->rbp;
		is_32_bit = user->cs == KERNEL_USER32_CS;
#else
		walk->pc = user->pc;
		walk->sp = user->sp;
		walk->fp = user->regs[29];
		walk->link = user->regs[30];
		is_32_bit = user->pstate & KERNEL_PSTATE_MODE32;
#endif
	} else {
		const struct pt_regs___kernel *entry = kernel_user_registers();

		walk->entry = (__u64)entry;
#if defined(__TARGET_ARCH_x86)
		// In a system call, what is executed is the instruction before.
		walk->exact = (long)BPF_CORE_READ(entry, orig_ax) < 0;
		walk->pc = BPF_CORE_READ(entry, ip);
		walk->sp = BPF_CORE_READ(entry, sp);
		walk->fp = BPF_CORE_READ(entry, bp);
		is_32_bit = BPF_CORE_READ(entry, cs) == KERNEL_USER32_CS;
#else
		walk->exact = BPF_CORE_READ(entry, syscallno) < 0;
		walk->pc = BPF_CORE_READ(entry, pc);
		walk->sp = BPF_CORE_READ(entry, sp);
		walk->fp = BPF_CORE_READ(entry, regs[29]);
		walk->link = BPF_CORE_READ(entry, regs[30]);
		is_32_bit = BPF_CORE_READ(entry, pstate) & KERNEL_PSTATE_MODE32;
#endif
	}
	if (is_32_bit)
		return UNWIND_END_NO_PROCESS;
	return walk->pc < UNWIND_LOWEST ? UNWIND_END_REGISTERS : 0;
}

/*
 * Writes the frame of the walk's pc to *@frame, which is 0 and stays so if there is none, and goes
 * on at its caller. Returns 0, or why not (enum unwind_end).
 */
static __always_inline int unwind_frame(struct bpf_perf_event_data *ctx, struct unwind_walk *walk,
					__u64 *frame)
{
	// A return address may be the first byte of another function: the call lies before it.
	__u64 pc = walk->pc - (walk->exact ? 0 : 1), distance, address;
	struct unwind_range *range = unwind_find_range(walk, pc);
	__u32 page;
	long rule;

	if (!range) {
		// A return address that lies in no code is a piece of data that led here.
		if ((walk->exact || walk->first) && pc < UNWIND_ADDRESS_LIMIT)
			*frame = pc;
		return UNWIND_END_NO_MAPPING;
	}
	*frame = pc;
	distance = pc - range->start;
	if (range->file)
		*frame = UNWIND_FRAME_FILE | (__u64)range->file << UNWIND_FRAME_SHIFT |
			 (((__u64)range->file_page << 12) + distance);
	if (range->kind == UNWIND_RANGE_BARE)
		return unwind_by_frame_pointer(walk);
	page = unwind_find_page(range, distance);
	if (!page)
		return UNWIND_END_NO_PAGE;
	address = range->page_offset + distance;
	rule = unwind_find_row(page, (__u32)address);
	if (rule < 0)
		return UNWIND_END_BROKEN_TABLE;
	if (rule >= UNWIND_PACKED_FP)
		return unwind_apply_packed(walk, (__u32)rule);
	if (rule == UNWIND_RULE_END)
		return UNWIND_END_ENTRY;
	if (rule == UNWIND_RULE_UNKNOWN)
		return unwind_by_frame_pointer(walk);
	return unwind_apply_wide(ctx, walk, (__u32)rule, frame);
}
