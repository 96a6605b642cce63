/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * Unwind tables as user space writes and the kernel side reads them. Part of the one header
 * that both include (sample.h); sizes are asserted on both sides.
 *
 * Everything lies in slabs, arrays of UNWIND_SLAB_BYTES bytes that are made as they are needed; an
 * object is found by its handle: slab << UNWIND_LINE_BITS | line of 64 bytes in it. These lines are
 * cache lines: the first one is the first that begins in the slab (unwind_slab_lead). No object
 * crosses the end of its slab. Handle 0 is none. There are four kinds:
 *
 *   ranges      struct unwind_range[], of one process, by address
 *
 *   pieces      struct unwind_piece[], by address: where the ranges lie of a process that has more
 *               of them than fit a slab
 *
 *   directory   u32[], of one file: the handle of each page of its text, 0 = not there
 *
 *   page        the rules of 64 KiB of a file's text
 *
 * A page:
 *
 *   struct unwind_calls calls[32]   for each 2 KiB the rules of all calls in it
 *   u16 first[257]                  for each block of 256 bytes how many rows lie before it, then
 *                                   that of all
 *   u16 reserved
 *   u8 rows[][3]                    by address, the first one at the page's start
 *
 * A row says from which byte of its block on which rule holds, up to the next row, in whatever
 * block: the byte, and the rule's 16 bits, low ones first. These are
 *
 *   1nnnnnnnnnn sssss   CFA = sp + 8 n, n > 0
 *   01nnnnnnnnn sssss   CFA = fp + 8 n, n > 0
 *   00iiiiiiiiiiiiii    number i of the table of rules
 *
 * In the first two the return address lies at CFA - 8, and the caller's frame pointer at
 * CFA - 8 (s + 1), or with s = 0 still in its register. amd64 only; everything else, and all of
 * arm64, is in the table.
 *
 * Most rows are of prologues and epilogues, where nothing is called: nine of ten in Debian's
 * programs. So the rules of return addresses, that is of all frames but the first, take one cache
 * line of a page, and one of a directory.
 */
#pragma once

#include <stdbool.h>

#include <linux/types.h>

enum {
	/* With what the kernel puts before it, an array of this size is the largest that has
	 * physically contiguous pages (bpf_map_area_alloc, kernel/bpf/syscall.c). */
	UNWIND_SLAB_BYTES = 32256,
	UNWIND_LINE_BYTES = 64,
	UNWIND_LINE_BITS = 9,
	/* Wherever the first one begins. */
	UNWIND_SLAB_LINES = UNWIND_SLAB_BYTES / UNWIND_LINE_BYTES - 1,
	UNWIND_OBJECT_BYTES = UNWIND_SLAB_LINES * UNWIND_LINE_BYTES, /* at most */

	UNWIND_PAGE_SHIFT = 16,
	UNWIND_BLOCK_SHIFT = 8,
	UNWIND_BLOCKS = 1 << (UNWIND_PAGE_SHIFT - UNWIND_BLOCK_SHIFT),
	UNWIND_CALLS_SHIFT = 11,
	UNWIND_CALLS = 1 << (UNWIND_PAGE_SHIFT - UNWIND_CALLS_SHIFT),
	UNWIND_CALLS_RULES = 12,
	UNWIND_CALLS_ROWS = 20,
	UNWIND_CALLS_FREE = 0x7fff,
	UNWIND_CALLS_NONE = 0xffff,
	UNWIND_PAGE_FIRST = UNWIND_CALLS * UNWIND_LINE_BYTES,           /* where these begin */
	UNWIND_PAGE_ROWS = UNWIND_PAGE_FIRST + 2 * (UNWIND_BLOCKS + 2), /* where these do */
	UNWIND_ROW_BYTES = 3,

	UNWIND_PACKED_SP = 1 << 15,
	UNWIND_PACKED_FP = 1 << 14,
	UNWIND_PACKED_SLOTS = 1 << 5,      /* of s */
	UNWIND_PACKED_SP_DEPTHS = 1 << 10, /* of n */
	UNWIND_PACKED_FP_DEPTHS = 1 << 9,
	UNWIND_RULES = 1 << 12, /* in the table at most */

	UNWIND_RULE_UNKNOWN = 0, /* fixed numbers in the table */
	UNWIND_RULE_END = 1,
};

/*
 * The rules at all calls in 2 KiB of text, in one cache line; what lies between two calls has the
 * rule of either, or of neither.
 */
struct unwind_calls {
	__u16 rules[UNWIND_CALLS_RULES];
	/* From which byte on which of the rules holds: byte << 4 | number, ascending, the first
	 * from byte 0 on. FREE, above all others, for those that are not used; with NONE as the
	 * first one there are too many, and it is for the page's rows to say. */
	__u16 rows[UNWIND_CALLS_ROWS];
};

/* The 16 bits of the rule at @byte of the line's 2 KiB, where a call ends; negative where it is for
 * the page's rows to say, or the line is broken. */
static inline long unwind_calls_find(const struct unwind_calls *calls, __u32 byte)
{
	typedef __u64 __attribute__((may_alias)) words;

	// The rows that begin at or before it are counted four at a time: each lane has a bit more
	// than a row, which stays where the row is not the greater one.
	const __u64 ones = 0x0001000100010001ull;
	const void *rows = calls->rows;
	__u64 last = (0x8000 | byte << 4 | 14) * ones, sum = 0;
	__u32 row;

	if (calls->rows[0] == UNWIND_CALLS_NONE)
		return -1;
	for (int i = 0; i < UNWIND_CALLS_ROWS / 4; i++)
		sum += (last - ((const words *)rows)[i]) >> 15 & ones;
	row = (__u32)(sum * ones >> 48) - 1;
	if (row >= UNWIND_CALLS_ROWS)
		return -1;
	// The number of a rule is less than 16: within the line.
	return ((const __u16 *)calls)[calls->rows[row] & 15];
}

/* Where the canonical frame address is: the caller's stack pointer, at the call. */
enum unwind_cfa {
	UNWIND_CFA_UNKNOWN,      /* no table says anything of this code */
	UNWIND_CFA_END,          /* the outermost frame: it has no caller */
	UNWIND_CFA_REGISTER,     /* register + offset */
	UNWIND_CFA_DEREFERENCED, /* *(register + offset) + addend */
	/* register + offset + (pc % 16 >= addend ? 8 : 0): a stub of the procedure linkage table */
	UNWIND_CFA_PLT,
	UNWIND_CFA_UNSUPPORTED, /* said, but not in a form of ours; .unsupported says why */
};

/* Where the caller's value of a register is. */
enum unwind_saved {
	UNWIND_SAME,        /* still in the register */
	UNWIND_AT_CFA,      /* *(cfa + offset) */
	UNWIND_AT_SP,       /* *(stack pointer of this frame + offset): signal frames */
	UNWIND_AT_FP,       /* *(frame pointer of this frame + offset): realigned stacks */
	UNWIND_IN_REGISTER, /* in the register of DWARF number `offset`; known in a leaf only */
	UNWIND_LOST,        /* the caller's value is gone */
};

/* Why the caller did not call: its pc is exact. */
enum unwind_signal {
	UNWIND_CALLED,     /* it did */
	UNWIND_TRAMPOLINE, /* nobody called this code: it is what a signal's handler returns to */
	UNWIND_INTERRUPTS, /* the handler of a signal went on here */
};

/* Machine-independent: `register` is sp, fp or, in a leaf, any other DWARF number. */
struct unwind_rule {
	__u8 cfa;          /* enum unwind_cfa */
	__u8 cfa_register; /* DWARF number */
	__u8 ra;           /* enum unwind_saved: the return address */
	__u8 fp;           /* enum unwind_saved: the frame pointer */
	__u8 signal;       /* enum unwind_signal */
	__u8 unsupported;  /* enum unwind_unsupported */
	__u8 stack_switch; /* 1: the caller is on another stack, which need not lie above */
	/* 1: a thread that begins there has no caller. Its system call has given it 0. */
	__u8 new_thread;
	__s32 cfa_offset, cfa_addend;
	__s32 ra_offset, fp_offset;
};

_Static_assert(sizeof(struct unwind_rule) == 24, "no padding: rules are compared as bytes");

enum unwind_range_kind {
	UNWIND_RANGE_TABLE, /* a file, with a directory */
	UNWIND_RANGE_BARE,  /* executable memory of no file, or of one without any table */
	/* From here on, by number of the runtime (runtimes/runtime_number.h): code that this one
	 * makes or runs, of which it says itself how its frames look. */
	UNWIND_RANGE_RUNTIME,
	/* From here on likewise: a file's code, with a directory, in which a runtime interprets a
	 * program. Its frames are reported in the place of this one. */
	UNWIND_RANGE_LOOP = 128,
};

/* Ranges end here at the latest: addresses are compared as signed numbers. */
#define UNWIND_ADDRESS_LIMIT (1ull << 63)

/* Executable memory of a process, sorted by address. Pages here are of 4 KiB, whatever the kernel's
 * are. */
struct unwind_range {
	__u64 start; /* address */
	__u32 pages; /* long */
	union {
		__u32 file; /* number under which frames are reported; 0 = as addresses */
		__u32 told; /* RUNTIME only: handle of a struct runtime_data; 0: there is none */
	};
	union {
		struct {
			__u32 directory; /* handle; TABLE and LOOP only */
			__u32 file_page; /* of start in the file */
			__u32 data;      /* LOOP only: handle of a struct runtime_data */
			__u16 first;     /* number of the directory's entry for what `start` lies
					    in */
			__u8 kind;       /* enum unwind_range_kind */
			__u8 page;       /* of start: its ELF address modulo 64 KiB */
		};
		__u64 area[2]; /* RUNTIME only: what the runtime's own code reads, around the kind
				*/
	};
};

enum { UNWIND_AREA_KIND = 14 }; /* the byte of an area that is the kind */

/* Why a walk ended. Also the last frame of a stack that was cut. */
enum unwind_end {
	UNWIND_END_ENTRY = 1,   /* the program's entry, or the thread's: complete */
	UNWIND_END_NO_PROCESS,  /* not in the tables yet, or of 32 bits */
	UNWIND_END_NO_MAPPING,  /* no executable memory there */
	UNWIND_END_NO_PAGE,     /* rules of that page are not in the tables (yet) */
	UNWIND_END_UNSUPPORTED, /* a rule that the table's writer could not express */
	UNWIND_END_BAD_CFA,     /* would not lead up the stack */
	UNWIND_END_BAD_POINTER, /* frame pointer of code without a table that leads nowhere */
	UNWIND_END_UNREADABLE,  /* user memory is not there */
	UNWIND_END_DEPTH,       /* more frames than the limit */
	UNWIND_END_REGISTERS,   /* the user's registers could not be had */
	UNWIND_END_BROKEN_TABLE,
	UNWIND_END_NOT_COPIED, /* beyond the copy of the stack that the walk was finished by */
	UNWIND_END_GUESSED,    /* at an entry, but callers of the leaf may be missing */
	UNWIND_END_COUNT,
};

/* A frame is an address, or with this bit a place in a file: bits 36..55 are its number, from 1 on,
 * 0..35 the offset in bytes. */
#define UNWIND_FRAME_FILE  (1ull << 63)
#define UNWIND_FRAME_SHIFT 36

/*
 * With this bit, and not the one of a file, it is a frame of a language runtime's and has two
 * words. In the first, bits 0..47 are the address of the object that says what runs (a function, a
 * method), 48..53 the number of the runtime, 54..61 what kind of frame of it that is. In the
 * second, bits 0..31 are the position in it, 32..63 a word by which to tell whether the object is
 * still the same.
 */
#define UNWIND_FRAME_RUNTIME (1ull << 62)
enum {
	UNWIND_FRAME_NUMBER_SHIFT = 48,
	UNWIND_FRAME_NUMBER_BITS = 6,
	UNWIND_FRAME_KIND_SHIFT = 54,
	UNWIND_FRAME_KIND_BITS = 8,
};

/* The two words of a frame. */
static inline __u64 unwind_runtime_frame(__u32 number, __u32 kind, __u64 object)
{
	return UNWIND_FRAME_RUNTIME | (__u64)kind << UNWIND_FRAME_KIND_SHIFT |
	       (__u64)number << UNWIND_FRAME_NUMBER_SHIFT |
	       (object & ((1ull << UNWIND_FRAME_NUMBER_SHIFT) - 1));
}

static inline __u64 unwind_runtime_second(__u32 position, __u32 check)
{
	return (__u64)check << 32 | position;
}

/* Has the frame that begins with @word two of them? */
static inline bool unwind_frame_is_wide(__u64 word)
{
	return (word & (UNWIND_FRAME_FILE | UNWIND_FRAME_RUNTIME)) == UNWIND_FRAME_RUNTIME;
}

/* Numbers of files end here, and begin anew. */
#define UNWIND_FRAME_FILES (1u << 20)

/*
 * The rules that a CPU's walks have found lately (unwind_recent): return addresses as places in
 * files, each in 48 bits, above the 16 of its rule. A line has eight, one after the other as they
 * were called; that of which the first one is the return address of a place is found by that.
 * Places further into a file than 256 MiB are not remembered.
 */
enum {
	UNWIND_RECENT_OFFSET_BITS = 28,
	UNWIND_RECENT_LINES = UNWIND_SLAB_LINES,
};

/* Of @frame, with no rule; 0 when it is not remembered. */
static inline __u64 unwind_recent_tag(__u64 frame)
{
	const __u64 offsets = (1ull << UNWIND_RECENT_OFFSET_BITS) - 1;
	const __u64 files = (__u64)UNWIND_FRAME_FILES - 1;

	if ((frame & ~(files << UNWIND_FRAME_SHIFT | offsets)) != UNWIND_FRAME_FILE)
		return 0;
	return (frame >> UNWIND_FRAME_SHIFT & files) << (UNWIND_RECENT_OFFSET_BITS + 16) |
	       (frame & offsets) << 16;
}

/*
 * Whether walks ask there: an asking in vain costs a cache line. Where less than a third of what is
 * asked for is found, only every eighth walk asks, and remembers, until it is more again.
 */
struct unwind_recent_use {
	__s32 worth; /* of asking */
	__u32 walks; /* since it is not worth it */
};

enum {
	UNWIND_RECENT_WORTH = 512, /* at most, and at least if negative */
	UNWIND_RECENT_SELDOM = 8,
};

/* Does the walk that begins now ask? */
static inline bool unwind_recent_asks(struct unwind_recent_use *use)
{
	return use->worth >= 0 || ++use->walks % UNWIND_RECENT_SELDOM == 0;
}

/* It has asked for one rule. */
static inline void unwind_recent_asked(struct unwind_recent_use *use, bool found)
{
	__s32 worth = use->worth + (found ? 2 : -1);

	if (worth <= UNWIND_RECENT_WORTH && worth >= -UNWIND_RECENT_WORTH)
		use->worth = worth;
}

/* Number of the line that begins with @tag. */
static inline __u64 unwind_recent_line(__u64 tag)
{
	// Odd, so that it mixes and loses nothing; of those tried it spreads neighbours best.
	return ((tag >> 16) * 0xff51afd7ed558ccdull >> 32) * UNWIND_RECENT_LINES >> 32;
}

/* Some of the ranges of a process, which are one object. */
struct unwind_piece {
	__u64 start;  /* of the first of them; address */
	__u32 ranges; /* handle */
	__u32 count;
};

enum {
	UNWIND_RANGES = UNWIND_OBJECT_BYTES / 32, /* in one object */
	UNWIND_PIECES = UNWIND_OBJECT_BYTES / 16, /* of one process */
	UNWIND_BUCKET_SLOTS = 4,
};

/* How many ranges a process has, in 16 bits, and with them: it is that of pieces. */
#define UNWIND_COUNT     0xffffu
#define UNWIND_IN_PIECES (1u << 31)

/* In the same: stacks of the process need not be walked, but may be copied (copy.bpf.h): those that
 * its threads began with, or those whose end a runtime knows. */
#define UNWIND_MAY_COPY            (1u << 30)
#define UNWIND_MAY_COPY_OF_RUNTIME (1u << 29)
#define UNWIND_COPIES              (UNWIND_MAY_COPY | UNWIND_MAY_COPY_OF_RUNTIME)

/* In the same, the number of the program that walks its stacks: 0 is the sampler itself, the others
 * know runtimes, too. */
enum {
	UNWIND_PROGRAM_SHIFT = 16,
	UNWIND_PROGRAMS = 1 << 8,
};

/* The processes whose pid ends in the bucket's number, of which there is a power of two; a walk
 * looks at the first cache line. */
struct unwind_bucket {
	struct unwind_process {
		__u64 who;  /* pid | unwind_identity() << 32; 0: free */
		__u64 code; /* handle of its ranges, or pieces | how many << 32 */
	} slots[UNWIND_BUCKET_SLOTS];

	/* The second, for forks: of each slot, since when it has its code; CLOCK_BOOTTIME ns. */
	__u64 since_ns[UNWIND_BUCKET_SLOTS];
	/* Likewise of each slot, the handle of what says where labels of its samples lie; 0: it has
	 * none. */
	__u64 labels[UNWIND_BUCKET_SLOTS];
};

/* Tells apart those that had one pid one after the other, and their programs. */
static inline __u32 unwind_identity(__u64 start_boottime_ns, __u32 exec_id)
{
	__u64 mixed = (start_boottime_ns ^ exec_id) * 0x9e3779b97f4a7c15ull;

	return (__u32)(mixed >> 32);
}

_Static_assert(sizeof(struct unwind_range) == 32, "layout of a range");
_Static_assert(__builtin_offsetof(struct unwind_range, kind) ==
		       __builtin_offsetof(struct unwind_range, area) + UNWIND_AREA_KIND,
	       "one kind");
_Static_assert(sizeof(struct unwind_piece) == 16, "layout of a piece");
_Static_assert(sizeof(struct unwind_bucket) == 128, "layout of a bucket");
_Static_assert(sizeof(struct unwind_calls) == UNWIND_LINE_BYTES, "one cache line");
_Static_assert((__u64)UNWIND_FRAME_FILES << UNWIND_RECENT_OFFSET_BITS == 1ull << 48,
	       "tags are whole");
_Static_assert(UNWIND_SLAB_LINES < 1 << UNWIND_LINE_BITS, "a line's number fits");
