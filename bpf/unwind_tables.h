/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * Unwind tables as user space writes and the kernel side reads them. Part of the one header
 * that both include (sample.h); sizes are asserted on both sides.
 *
 * Everything lies in slabs, arrays of UNWIND_SLAB_BYTES bytes that are made as they are needed; an
 * object is found by its handle: slab << UNWIND_LINE_BITS | line of 64 bytes in it. No object
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
 *   u16 first[257]   for each block of 256 bytes the number of its first row, then that of all
 *   u16 reserved
 *   u32 rows[]       of each block by address, the first one at its start
 *
 * A row says from which byte of its block on which rule holds:
 *
 *   bits  0..7   byte
 *   bits 16..31  rule: 1nnnnnnnnnn sssss   CFA = sp + 8 n, n > 0
 *                      01nnnnnnnnn sssss   CFA = fp + 8 n, n > 0
 *                      00iiiiiiiiiiiiii    number i of the table of rules
 *
 * In the first two the return address lies at CFA - 8, and the caller's frame pointer at
 * CFA - 8 (s + 1), or with s = 0 still in its register. amd64 only; everything else, and all of
 * arm64, is in the table. So that one frame touches few cache lines: one of a directory, one of
 * `first`, one of `rows`.
 */
#pragma once

#include <linux/types.h>

enum {
	/* With what the kernel puts before it, an array of this size is the largest that has
	 * physically contiguous pages (bpf_map_area_alloc, kernel/bpf/syscall.c). */
	UNWIND_SLAB_BYTES = 32256,
	UNWIND_LINE_BYTES = 64,
	UNWIND_LINE_BITS = 9,
	UNWIND_SLAB_LINES = UNWIND_SLAB_BYTES / UNWIND_LINE_BYTES,

	UNWIND_PAGE_SHIFT = 16,
	UNWIND_BLOCK_SHIFT = 8,
	UNWIND_BLOCKS = 1 << (UNWIND_PAGE_SHIFT - UNWIND_BLOCK_SHIFT),
	UNWIND_PAGE_HEAD_BYTES = 2 * (UNWIND_BLOCKS + 2),
	UNWIND_PAGE_ROWS = (UNWIND_SLAB_BYTES - UNWIND_PAGE_HEAD_BYTES) / 4, /* at most */

	UNWIND_PACKED_SP = 1 << 15,
	UNWIND_PACKED_FP = 1 << 14,
	UNWIND_PACKED_SLOTS = 1 << 5,      /* of s */
	UNWIND_PACKED_SP_DEPTHS = 1 << 10, /* of n */
	UNWIND_PACKED_FP_DEPTHS = 1 << 9,
	UNWIND_RULES = 1 << 12, /* in the table at most */

	UNWIND_RULE_UNKNOWN = 0, /* fixed numbers in the table */
	UNWIND_RULE_END = 1,
};

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

/* Machine-independent: `register` is sp, fp or, in a leaf, any other DWARF number. */
struct unwind_rule {
	__u8 cfa;          /* enum unwind_cfa */
	__u8 cfa_register; /* DWARF number */
	__u8 ra;           /* enum unwind_saved: the return address */
	__u8 fp;           /* enum unwind_saved: the frame pointer */
	__u8 signal;       /* 1: interrupted there, not called; the pc is exact */
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
};

/* Ranges end here at the latest: addresses are compared as signed numbers. */
#define UNWIND_ADDRESS_LIMIT (1ull << 63)

/* Executable memory of a process, sorted by address. Pages here are of 4 KiB, whatever the kernel's
 * are. */
struct unwind_range {
	__u64 start;       /* address */
	__u32 pages;       /* long */
	__u32 file_page;   /* of start in the file */
	__u32 directory;   /* handle; TABLE only */
	__u32 first;       /* number of the directory's entry for what `start` lies in */
	__u32 file;        /* number under which frames are reported; 0 = as addresses */
	__u16 page_offset; /* of start: ELF address modulo 64 KiB */
	__u8 kind;         /* enum unwind_range_kind */
	__u8 reserved;
};

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
	UNWIND_END_COUNT,
};

/* A frame is an address, or with this bit a place in a file: bits 36..62 are its number, from 1 on,
 * 0..35 the offset in bytes. */
#define UNWIND_FRAME_FILE  (1ull << 63)
#define UNWIND_FRAME_SHIFT 36

/* Numbers of files end here: 27 bits. */
#define UNWIND_FRAME_FILES (UNWIND_FRAME_FILE >> UNWIND_FRAME_SHIFT)

/*
 * The rules that a CPU's walks have found lately (unwind_recent) are told apart by file and offset,
 * up to 4 GiB, 59 bits in all. These are mixed, one number for each, so that the place in the table
 * and 48 bits that are kept there with the rule say the rest: no two places in files share both.
 */
enum { UNWIND_RECENT_SLOTS = UNWIND_SLAB_BYTES / 8 };

/* Of @frame, which is a place in a file. */
static inline __u64 unwind_recent_key(__u64 frame)
{
	__u64 file = frame >> UNWIND_FRAME_SHIFT & (UNWIND_FRAME_FILES - 1);

	// Odd, so that it mixes and loses nothing; of those tried it spreads neighbours best.
	return (file << 32 | (__u32)frame) * 0xff51afd7ed558ccdull & ((1ull << 59) - 1);
}

/* The upper 32 bits, made fit. At most 2^21 of their values share a place, in one row: the lower 21
 * bits tell these apart. */
static inline __u64 unwind_recent_place(__u64 key)
{
	return (key >> 27) * UNWIND_RECENT_SLOTS >> 32;
}

/* What is kept of @key, above the 16 bits of a rule. */
static inline __u64 unwind_recent_tag(__u64 key)
{
	return key << 16;
}

/* Some of the ranges of a process, which are one object. */
struct unwind_piece {
	__u64 start;  /* of the first of them; address */
	__u32 ranges; /* handle */
	__u32 count;
};

enum {
	UNWIND_RANGES = UNWIND_SLAB_BYTES / 32, /* in one object */
	UNWIND_PIECES = UNWIND_SLAB_BYTES / 16, /* of one process */
	UNWIND_BUCKET_SLOTS = 4,
};

/* In the number of ranges: it is that of pieces. */
#define UNWIND_IN_PIECES (1u << 31)

/* The processes whose pid ends in the bucket's number, of which there is a power of two; a walk
 * looks at the first cache line. */
struct unwind_bucket {
	struct unwind_process {
		__u64 who;  /* pid | unwind_identity() << 32; 0: free */
		__u64 code; /* handle of its ranges, or pieces | how many << 32 */
	} slots[UNWIND_BUCKET_SLOTS];

	/* The second, for forks: of each slot, since when it has its code; CLOCK_BOOTTIME ns. */
	__u64 since_ns[UNWIND_BUCKET_SLOTS];
	__u64 reserved[4];
};

/* Tells apart those that had one pid one after the other, and their programs. */
static inline __u32 unwind_identity(__u64 start_boottime_ns, __u32 exec_id)
{
	__u64 mixed = (start_boottime_ns ^ exec_id) * 0x9e3779b97f4a7c15ull;

	return (__u32)(mixed >> 32);
}

_Static_assert(sizeof(struct unwind_range) == 32, "layout of a range");
_Static_assert(sizeof(struct unwind_piece) == 16, "layout of a piece");
_Static_assert(sizeof(struct unwind_bucket) == 128, "layout of a bucket");
_Static_assert((1ull << 32) / UNWIND_RECENT_SLOTS < 1ull << 21,
	       "a tag tells keys of a place apart");
_Static_assert(UNWIND_SLAB_LINES < 1 << UNWIND_LINE_BITS, "a line's number fits");
