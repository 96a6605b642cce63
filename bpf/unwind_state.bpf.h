/* SPDX-License-Identifier: GPL-2.0 */
/* What a walk knows while it goes on. */
#pragma once

#include "kernel.bpf.h"
#include "unwind_cursor.h"

enum {
	UNWIND_WINDOW_WORDS = 256,
	UNWIND_WINDOW_FIRST = 64, /* words that are read at first, in shallow stacks */
	UNWIND_RANGE_STEPS = 10,  /* 2^10 > UNWIND_RANGES */
	UNWIND_FEW_RANGES = 6,    /* 2^6: so many steps do for most processes */
	UNWIND_PIECE_STEPS = 11,  /* 2^11 > UNWIND_PIECES */
	UNWIND_FEW_PIECES = 4,
	UNWIND_ROW_STEPS = 9, /* 2^9 > 257: a block has at most 256 rows, and one before */
	UNWIND_FEW_ROWS = 4,  /* 2^4: so many steps do for most blocks */
	UNWIND_DEEP = 32,     /* frames; deeper stacks are often those of a recursion */
	UNWIND_SEEN = 32,     /* return addresses remembered in those; a power of two */
	UNWIND_OBJECTS = 512, /* objects of runtimes that were met lately; a power of two */
	UNWIND_AHEAD = 16,    /* a power of two */
	UNWIND_LEAVES = 56,   /* processes whose leaf's range is remembered; at most 256 */
	UNWIND_NO_ROW = 1 << 16,
	UNWIND_RECENT_END = UNWIND_SLAB_BYTES, /* beyond all of them */
};

/* Set before load: bits of an address. arm64 signs return addresses in those above. */
const volatile __u64 unwind_address_mask = ~0ull;

/* What a return address of this walk led to before. */
struct unwind_seen {
	__u64 walk, pc; /* valid in the walk of this number only */
	__u64 frame;
	__u64 rule; /* packed */
};

/* Where the text of a label lies, as the program says. */
struct label_place {
	__u64 key, key_bytes, value, value_bytes;
};

/* The state of a walk. The window holds the stack from window_start on. */
struct unwind_walk {
	struct unwind_cursor at;
	__u64 entry;  /* address of the user's registers, where the thread was in the kernel; 0: it
		       * was interrupted in user mode */
	__u64 number; /* no other walk in this slot has it */
	__u32 base, count;         /* words of frames: where in the record, how many so far */
	__u32 before;              /* so many when the last step began */
	__u32 ranges, range_count; /* of the process */
	__u32 recent;              /* where the next frame's rule may be among the recent ones */
	bool asks_recent;          /* whether it is looked for there */
	bool marked, doubted;      /* a leaf's caller was guessed: unwind_apply.h */
	__u8 chained;              /* number of the runtime whose chains those are; 0: nobody's */
	__u32 copies;              /* UNWIND_COPIES, of the process */
	__u32 program;             /* which program walks its stacks (runtime_walks); 0: this one */
	__u32 labels;              /* handle of what says where its labels lie; 0: it has none */
	__u32 label_count;         /* found: struct label_place, in `scratch` */
	__u32 label_flags;         /* enum sample_labels_flag, of what was not */
	struct unwind_recent_use recent_use; /* on this CPU */

	/* The range that the last frame lay in. */
	__u64 code_start, code_bytes;
	__u64 code_frame; /* + pc: the frame to report; 0 = the pc */
	__u64 code_text;  /* + pc: address from the first page of its directory on */
	__u32 directory;
	__u32 kind;    /* enum unwind_range_kind */
	__u64 area[2]; /* of a runtime's range: as the range has it, or the handle of its data */
	__u64 of_runtime[2]; /* for the code of that runtime to use, within one step, */
	__u64 scratch[48];   /* and for more of what it has read */
	__u64 given;         /* first word of the frame that it has given for its pc; 0: none */
	__u64 second;        /* word of the frame that the last step has found, if it has two */
	__u32 seconds;       /* how many of `count` are such words */
	bool meets_new; /* an object of a runtime's, of which the receiver is to be told soon */

	/* While a runtime is asked what the loop that was left last has run: */
	__u32 interprets;  /* the runtime's number; 0: none is asked */
	__u32 told;        /* handle of its struct runtime_data of the process; of the range's
			      runtime while no other one is asked */
	__u64 loop;        /* the pc in the loop... */
	__u64 beyond;      /* ...whose frame on the stack ended below that address... */
	__u64 below;       /* ...and began there, */
	__u32 loop_piece;  /* in this piece of code (struct runtime_data) */
	bool loop_is_leaf; /* no frame lies below it */
	__u64 chains[4];   /* where runtimes that interpret go on; 0: they have not begun */
	__u64 ahead[UNWIND_AHEAD]; /* frames that the runtime has met in the wrong order... */
	__u32 ahead_count;         /* ...of which it gives the last one first */
	__u32 ahead_left;          /* how often it may do so */
	__u32 undo_count,
		undo_seconds; /* `count`, and `seconds`, that unwind_undo() goes back to */
	__u32 page;           /* handle of that of the last frame */
	__u64 page_number;

	__u64 window_start;
	__u64 window_bytes;
	__u64 window[UNWIND_WINDOW_WORDS];
	struct unwind_seen seen[UNWIND_SEEN];

	/* Where the leaves of processes lay lately: ranges | number of the range << 32. */
	__u64 leaves[UNWIND_LEAVES];

	/* Hashes of the objects met lately, a word each. */
	__u32 objects[UNWIND_OBJECTS];
};
