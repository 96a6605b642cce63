/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * The receiver describes to the kernel side the code that HotSpot, the JVM, makes, and where walks
 * find in a process what says which method a frame is of.
 */
#pragma once

#include "runtime_number.h"
#include "unwind_tables.h"

/*
 * Where the process itself says how the frames of this code look: JDK,
 * src/hotspot/share/memory/heap.hpp (CodeHeap) and code/codeBlob.hpp. The heap is made of segments,
 * and has blocks, each of some of them. Offsets count from a block's beginning on.
 */
struct hotspot_area {
	/* HOTSPOT_PAGE: of each segment a byte, how far back the one before it in the block is
	 * that is to be asked next. 0: it is the first one; 255: it is in no block. */
	__u64 segments : 35;
	/* The code cache, all heaps of it, begins so many HOTSPOT_PAGEs before `start`. This is
	 * exact, as a thread's stack may end where the cache begins. */
	__u64 below : 19;
	__u64 frame_words : 6; /* offset, in units of 4 bytes, of 4 bytes: words of a frame */
	__u64 shift : 4;       /* log2 of a segment's bytes */
	/* It ends so many HOTSPOT_UNITs after `start`, rounded up. */
	__u16 above;
	/* Offset, in units of 2 bytes, of a number: from which byte of the code on a frame is
	 * complete. */
	__u16 complete : 7;
	/* Offset, in units of 4 bytes, of the code's address, or of its offset from the blob on. */
	__u16 code : 6;
	/* HOTSPOT_PARTs from the interpreter's block on that hold nothing else. */
	__u16 interpreter_parts : 3;
	__u16 interpreter;    /* number of the segment that its block begins with; 65535: none */
	__u8 kind;            /* as the range's (struct unwind_range) */
	__u8 name : 5;        /* offset, in units of 8 bytes, of the address of what it is called */
	__u8 has_offsets : 1; /* `code` is of an offset, of 4 bytes */
	__u8 is_small : 1;    /* a blob lies 8 bytes into its block, else 16 */
	__u8 is_narrow : 1;   /* `complete` is of 2 bytes, else 4 */
} __attribute__((may_alias));

enum {
	HOTSPOT_SHIFT_MOST = 15,
	HOTSPOT_FREE = 255,
	HOTSPOT_NO_SEGMENT = 65535,
	/* Bytes. A cache has 2 GiB at most. A unit is short: words that lead into the cache are
	 * taken for return addresses. */
	HOTSPOT_PAGE = 1 << 12,
	HOTSPOT_PAGES = (1 << 19) - 1,
	HOTSPOT_UNIT = 1 << 16,
	HOTSPOT_UNITS = (1 << 16) - 1,
	HOTSPOT_PART = 1 << 14, /* bytes; the interpreter has some 100 KiB */
	HOTSPOT_PARTS = (1 << 3) - 1,
};

_Static_assert(sizeof(struct hotspot_area) == sizeof(((struct unwind_range *)0)->area),
	       "it is all of an area");
_Static_assert(__builtin_offsetof(struct hotspot_area, kind) == UNWIND_AREA_KIND, "one kind");

/* Kinds of frames (unwind_runtime_frame). */
enum hotspot_kind {
	/* Code in the cache: the object is its block. The position is how far in the block the pc
	 * is, the check word the number of its compilation, or what else lies there. */
	HOTSPOT_CALLS, /* the pc is a return address */
	HOTSPOT_RUNS,  /* execution stood there */
	/* A method that is interpreted: the object is its Method, the check word as
	 * hotspot_mix_method(). */
	HOTSPOT_INTERPRETS, /* the position is the low half of the bytecode's address */
	HOTSPOT_ENTERS,     /* it has not begun; the position is 0 */
	HOTSPOT_KINDS,
};

enum {
	/* Of a block, from its beginning on, what is read at once: all fields of an nmethod that
	 * are needed lie there. */
	HOTSPOT_HEAD_BYTES = 384,
};

/*
 * Walks get these offsets of a JVM, in bytes. Layouts: JDK, src/hotspot/share/code/nmethod.hpp,
 * oops/method.hpp, oops/constMethod.hpp, oops/constantPool.hpp, oops/klass.hpp.
 */
struct hotspot_data {
	struct runtime_data common; /* first; a JVM interprets in no code of its file */
	/* In a block, of which HOTSPOT_HEAD_BYTES are read: */
	__u16 compile_id; /* of 4 bytes */
	__u16 deopt[2];   /* where the pc is that deoptimised frames return to; both the same if
			     there is one */
	__u16 deopt_base; /* 0: these are addresses; else where the bytes that they count begin */
	__u16 original;   /* of 4 bytes: offset from the stack pointer of the pc that such a frame
			     had */
	__u16 bcp; /* in an interpreted frame, below its frame pointer: which bytecode runs */
	__u16 method_const;   /* in a Method: the address of its ConstMethod */
	__u16 const_pool;     /* in that: the address of its ConstantPool */
	__u16 const_identity; /* 8 bytes: how long its code is, and its numbers in its class */
	__u16 pool_holder;    /* in a ConstantPool: the address of its class, a Klass, */
	__u16 pool_version;   /* and 8 bytes: its entries, and how often it was redefined */
	__u16 klass_name;     /* in a Klass: the address of its name */
	__u16 saved_pc;       /* in a JavaThread: where a signal has found it; 0: not known */
	__u16 reserved[3];
};

_Static_assert(sizeof(struct hotspot_data) % 8 == 0, "it is words");
_Static_assert(sizeof(struct hotspot_data) <= RUNTIME_DATA_BYTES / 2, "there is more behind it");

/* One more word of what tells a method from others that were there before. */
static inline __u64 hotspot_mix(__u64 mixed, __u64 word)
{
	mixed = (mixed ^ word) * 0x9e3779b97f4a7c15ull;
	return mixed ^ mixed >> 29;
}

/* These words tell a Method from earlier and later ones at the same address. A JVM gives the memory
 * of an unloaded class to other classes, and that of a redefined class to its newer versions. */
struct hotspot_identity {
	__u64 const_method, pool; /* addresses, */
	__u64 class_name;         /* and that of its class's name */
	__u64 numbers;            /* hotspot_data.const_identity */
	__u64 version;            /* hotspot_data.pool_version */
};

static inline __u32 hotspot_mix_method(const struct hotspot_identity *identity)
{
	__u64 mixed = hotspot_mix(hotspot_mix(0, identity->const_method), identity->pool);

	mixed = hotspot_mix(hotspot_mix(mixed, identity->class_name), identity->numbers);
	return (__u32)hotspot_mix(mixed, identity->version);
}
