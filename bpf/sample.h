/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * What the kernel side and the receiver say to each other: the one header both
 * include. Sizes are asserted on both sides, since each compiles this file.
 *
 * Fixed widths, no implicit padding, native byte order.
 */
#pragma once

#include "code_end_record.h"
#include "events/event_state.h"
#include "events/off_cpu_detail.h"
#include "events/off_cpu_pass.h"
#include "exec_record.h"
#include "unwind_cursor.h"
#include "unwind_tables.h"

#include <linux/types.h>

enum {
	SAMPLE_COMM_LENGTH = 16, /* TASK_COMM_LEN */
	/* Powers of two: used as an index mask + 1. The kernel's own walkers stop earlier, at
	 * kernel.perf_event_max_stack (default 127). */
	SAMPLE_MAX_KERNEL_FRAMES = 128,
	SAMPLE_MAX_USER_FRAMES = 1024,
	SAMPLE_MAX_USER_WORDS = 2048,   /* a language runtime's frame has two */
	SAMPLE_MAX_STACK_BYTES = 32768, /* of a deferred walk */
	SAMPLE_MAX_COPY_BYTES = 8192,   /* of a stack that is copied whole */
	/* Where a leaf's own words may lie below the stack pointer: System V ABI AMD64, 3.2.2.
	 * Where it has restored its caller's frame pointer, tables still say so of it. */
	SAMPLE_RED_ZONE_BYTES = 128,
	SAMPLE_REGISTERS = 32,
};

/* Why the thread was sampled: the numbers of events, of which 0 is none. */
enum sample_origin {
	SAMPLE_CPU_CLOCK = 1,     /* one tick of the timer of this CPU; its value is 1 */
	SAMPLE_PAGE_FAULTS = 2,   /* page faults, this one and those of before that it stands for */
	SAMPLE_OFF_CPU = 3,       /* a wait, or a part of one; nanoseconds */
	SAMPLE_MEMORY_GROWTH = 4, /* anonymous memory that was taken; bytes */
	SAMPLE_WAKERS = 5,        /* another thread's wait, which this one has ended; nanoseconds */
	SAMPLE_WALL = 6,          /* of no record: what a report makes of two others, nanoseconds */
	SAMPLE_ORIGINS,
};

/*
 * One sample, as it lies in a buffer: the head, then the kernel's frames,
 * then the user's, each leaf first, in words of 8 bytes, one or two a frame, then deferred_bytes,
 * then label_bytes.
 *
 * A kernel frame is an address: the first is where execution stood, the rest are return
 * addresses. A user frame is a place in a file, UNWIND_FRAME_FILE, one of a language runtime's,
 * UNWIND_FRAME_RUNTIME, or an address, which with
 * (pid, start, exec_id) says which code ran: they change with every address space. It is the
 * instruction that was executed; of a caller, a byte of its call.
 *
 * With UNWIND_END_NO_PROCESS the user frames are what the kernel's walker found by frame pointers:
 * addresses only, and but for the first one return addresses.
 */
struct sample_head {
	__u64 time_ns;           /* CLOCK_MONOTONIC */
	__u64 start_boottime_ns; /* of the thread group's leader, CLOCK_BOOTTIME */
	__u32 pid;               /* thread group, in the profiler's PID namespace */
	__u32 tid;
	__u32 exec_id; /* task_struct.self_exec_id, low half */
	__u16 cpu;
	__u16 detail;       /* of the event; 0: there is none */
	__u16 origin;       /* enum sample_origin */
	__u16 kernel_count; /* frames */
	__u16 user_words;   /* of frames */
	__u16 end;          /* enum unwind_end: of the user's part; 0 where there is none */
	char comm[SAMPLE_COMM_LENGTH]; /* of the thread; "": an exec was renaming it */
	__u32 uid; /* the thread's real user, in the initial user namespace; see SAMPLE_NO_UID */
	__u16 deferred_bytes; /* after the frames: struct sample_deferred and the stack; or 0 */
	__u16 label_bytes;    /* after those: struct sample_labels and what follows it; or 0 */
	__u64 value;          /* for how much this sample stands, in the unit of its origin */
};

/*
 * Where a walk stands that met code that is not in the tables yet, for whoever has read its rules
 * since. The stack follows, from `stack` upwards as far as it could be read, in whole words: from
 * the stack pointer, of a leaf SAMPLE_RED_ZONE_BYTES below it.
 */
struct sample_deferred {
	__u64 pc, sp, fp;
	__u64 stack;      /* address that the copy of the stack begins at; a multiple of 8 */
	__u64 link;       /* arm64: the link register, of the first frame */
	__u32 flags;      /* enum sample_deferred_flag */
	__u32 user_words; /* of the record's frames: these are true, the next one is that of pc */
	__u64 registers[SAMPLE_REGISTERS]; /* by DWARF number; of the first frame */
};

/* struct unwind_cursor, in bits. */
enum sample_deferred_flag {
	SAMPLE_DEFERRED_EXACT = 1,
	SAMPLE_DEFERRED_FIRST = 2,
	SAMPLE_DEFERRED_SP_IS_BOUND = 4,
	SAMPLE_DEFERRED_GUESSED = 8,
	/* The walk is not deferred: this is where it began, for a second one to be compared. */
	SAMPLE_DEFERRED_VERIFY = 16,
	/* Nothing is missing, as far as is known: all of the stack is there, to be walked
	   elsewhere. */
	SAMPLE_DEFERRED_WHOLE = 32,
	SAMPLE_DEFERRED_MARKED = 64, /* the leaf's caller was guessed */
	/* The stack is still to be read, while its thread sleeps: struct sample_unread follows in
	   its place. */
	SAMPLE_DEFERRED_UNREAD = 512,
	/* It was read later, as far as it can be; what is known of its code has not been asked. */
	SAMPLE_DEFERRED_READ = 1024,
	/* The word at the stack pointer is the return address, if a file's code without a table
	   runs. */
	SAMPLE_DEFERRED_CALLED = 2048,
	/* Two bits, enum unwind_frame: the code is not at hand later. */
	SAMPLE_DEFERRED_FRAME_SHIFT = 7,
	SAMPLE_DEFERRED_FRAME_MASK = 3,
};

/* Of a wait that has not ended: what is to be read of the stack, and how to tell whether that is
 * still the one that the thread waits with. */
struct sample_unread {
	__u64 runs;        /* how often the thread was given a CPU; SAMPLE_RUNS_UNKNOWN */
	__u64 stack_bytes; /* to read, from sample_deferred.stack on, at most */
};

/* The kernel does not count it. */
#define SAMPLE_RUNS_UNKNOWN (~0ull)

/*
 * Labels that the program has given what the thread runs, as the program's own runtime keeps them:
 * `count` labels follow, each a struct sample_label with its text, one after the other.
 */
struct sample_labels {
	__u16 count;
	__u16 flags; /* enum sample_labels_flag */
	__u32 reserved;
};

/* Flags tell what is missing of a sample's labels, and one what comes with them. */
enum sample_labels_flag {
	SAMPLE_LABELS_CUT = 1,        /* of a value, what is beyond SAMPLE_LABEL_VALUE_BYTES */
	SAMPLE_LABELS_LEFT_OUT = 2,   /* more than SAMPLE_LABELS, and keys that are too long */
	SAMPLE_LABELS_UNREADABLE = 4, /* they do not lie where the program says */
	/* Nothing is missing: struct wait_partner follows the labels. */
	SAMPLE_LABELS_PARTNER = 8,
	SAMPLE_LABELS_WOKEN = 16, /* that thread was woken; without it, it has ended the wait */
};

/* The key follows, then the value, then zeros up to a multiple of 8. No byte of it is text yet. */
struct sample_label {
	__u16 key_bytes; /* from 1 on */
	__u16 value_bytes;
	__u32 is_cut; /* 1: the value is longer */
};

enum {
	SAMPLE_LABELS = 12, /* of one sample, at most */
	SAMPLE_LABEL_KEY_BYTES = 64,
	SAMPLE_LABEL_VALUE_BYTES = 256,
	SAMPLE_LABEL_BYTES =
		sizeof(struct sample_label) + SAMPLE_LABEL_KEY_BYTES + SAMPLE_LABEL_VALUE_BYTES,
	SAMPLE_MAX_LABEL_BYTES = sizeof(struct sample_labels) + SAMPLE_LABELS * SAMPLE_LABEL_BYTES +
				 sizeof(struct wait_partner),
};

/* Nobody asked: nothing is selected by it. */
#define SAMPLE_NO_UID (~0u)

enum {
	SAMPLE_MAX_WORDS = SAMPLE_MAX_KERNEL_FRAMES + SAMPLE_MAX_USER_WORDS,
	SAMPLE_MAX_WALKED_BYTES = sizeof(struct sample_head) + SAMPLE_MAX_WORDS * sizeof(__u64),
	/* The same where no frame is a language runtime's. */
	SAMPLE_MAX_NATIVE_BYTES =
		sizeof(struct sample_head) +
		(SAMPLE_MAX_KERNEL_FRAMES + SAMPLE_MAX_USER_FRAMES) * sizeof(__u64),
	SAMPLE_MAX_DEFERRED_BYTES = sizeof(struct sample_deferred) + SAMPLE_MAX_STACK_BYTES,
	SAMPLE_MAX_BYTES =
		SAMPLE_MAX_WALKED_BYTES + SAMPLE_MAX_DEFERRED_BYTES + SAMPLE_MAX_LABEL_BYTES,
	/* Of user memory that is read at once. Such a piece more there must be room for: the
	 * verifier bounds where it goes and how long it is apart from each other. */
	SAMPLE_STACK_PIECE_BYTES = 4096,
};

/* Counters, each since load. taken = idle + unselected + emitted + ring_full. */
enum sample_counter {
	SAMPLE_COUNTER_TAKEN,      /* ticks the program saw */
	SAMPLE_COUNTER_IDLE,       /* of these on an idle CPU and therefore not emitted */
	SAMPLE_COUNTER_UNSELECTED, /* of a process that is not to be sampled */
	SAMPLE_COUNTER_EMITTED,
	SAMPLE_COUNTER_RING_FULL,    /* lost: user space was too slow */
	SAMPLE_COUNTER_NOT_DEFERRED, /* of those emitted: that should have been, but for the bounds
				      */
	SAMPLE_COUNTER_RUN_NS,       /* time inside the program, but for idle and unselected ones */
	SAMPLE_COUNTER_COUNT,
};

/* Of one CPU. */
struct sample_counters {
	__u64 of[SAMPLE_COUNTER_COUNT];
};

/*
 * What the program on one CPU shares with the receiver: an element of an array that both map. A
 * ring of bytes follows this head after SAMPLE_BUFFER_HEAD_BYTES. It is a power of two of bytes
 * long; the record that byte k begins lies at k modulo that, in one piece: beyond the ring's end
 * there is room for SAMPLE_MAX_BYTES.
 *
 * The program writes `written` after the record; the receiver reads up to `published`. They are
 * one but where other CPUs may see stores in another order (arm64): there `published` follows
 * with the next tick, long after. Once no program runs any more, `written` may be read.
 *
 * A receiver that sets `awaited` is woken by the next record, which clears it. Where others may see
 * stores in another order, it may miss one that is written at that moment.
 */
struct sample_buffer {
	__u64 written;   /* bytes since load */
	__u64 published; /* of these */
	__u64 awaited;   /* 0 or 1; in the line that the program writes anyway */
	struct sample_counters counters;
	__u64 consumed __attribute__((aligned(64))); /* of these, by the receiver */
	__u64 reserved[7];
};

enum { SAMPLE_BUFFER_HEAD_BYTES = 8192 };

enum {
	SELECT_BUCKETS = 1024, /* power of two */
	SELECT_SLOTS = 8,
};

/* One cache line: processes that are not to be sampled, whose pid ends in the bucket's number. */
struct select_bucket {
	__u64 slots[SELECT_SLOTS]; /* pid | unwind_identity() << 32; 0: free. One slot for a pid */
};

_Static_assert(sizeof(struct select_bucket) == 64, "layout of a bucket");
_Static_assert(sizeof(struct sample_head) == 72, "layout of a sample's head");
_Static_assert(sizeof(struct sample_head) % 8 == 0, "frames are aligned");
_Static_assert(sizeof(struct sample_labels) == 8, "layout of the head of labels");
_Static_assert(sizeof(struct sample_label) == 8, "layout of a label");
_Static_assert(SAMPLE_MAX_DEFERRED_BYTES < 1 << 16, "their number fits");
_Static_assert(sizeof(struct sample_deferred) == 304, "layout of a deferred walk");
_Static_assert((SAMPLE_MAX_KERNEL_FRAMES & (SAMPLE_MAX_KERNEL_FRAMES - 1)) == 0, "index mask");
