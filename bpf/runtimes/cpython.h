/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * The receiver tells the kernel side where the structures of a CPython process lie, and at which
 * offsets their fields. Offsets are in bytes.
 *
 * From 3.11 on a call of the loop runs a chain of frames (struct _PyInterpreterFrame), up to one
 * that marks its beginning; before, one frame object (PyFrameObject).
 */
#pragma once

#include "runtime_number.h"

enum {
	CPYTHON_THREADS = 16, /* of which it is remembered where their state is; a power of two */
	CPYTHON_CHECK_WORDS = 11,    /* of a code object, which identify it */
	CPYTHON_FRAME_WORDS = 16,    /* that are read of a frame object */
	CPYTHON_CHAIN_WORDS = 10,    /* the same, of a frame in a chain */
	CPYTHON_TEXT_WORDS = 4,      /* the same, of a text: see cpython_text_check() */
	CPYTHON_AHEAD = 16,          /* coroutines of one task that wait for each other, at most */
	CPYTHON_TASKS = 16,          /* tasks that wait for each other, at most */
	CPYTHON_FUTURES = 4,         /* futures between two of them, at most */
	CPYTHON_NAME_MOST = 1 << 20, /* characters of a task's name */
};

/* Of frames: what their object is. */
enum cpython_kind {
	CPYTHON_CODE,   /* a code object */
	CPYTHON_TASK,   /* the name of a task of asyncio's, a text; 0: the program gave it none */
	CPYTHON_REMARK, /* enum cpython_remark */
	CPYTHON_KINDS,
};

/* Why the chain of tasks that wait for each other ends. */
enum cpython_remark {
	CPYTHON_SEVERAL = 1,     /* several wait for that one */
	CPYTHON_MORE_TASKS,      /* there are more than are followed */
	CPYTHON_MORE_COROUTINES, /* the same, of the coroutines of one */
	CPYTHON_REMARKS,
};

enum cpython_flag {
	CPYTHON_OBJECTS = 1, /* up to 3.10: each call of the loop runs one frame object */
	CPYTHON_CFRAMES = 2, /* 3.11, 3.12: a structure on the C stack leads to the frames */
	CPYTHON_ENTRIES = 4, /* 3.11: the first frame of a chain is marked, and is one itself */
	CPYTHON_FREE_THREADED = 8, /* a build without the GIL: objects begin otherwise */
};

/* Position in a code object, of a frame that has not begun, and of one that does not say. */
#define CPYTHON_NOT_BEGUN   0xffffffffu
#define CPYTHON_NO_POSITION 0xfffffffeu

struct cpython_data {
	struct runtime_data common; /* first */
	__u64 interpreters;         /* address of the pointer to the first interpreter */
	__u16 interpreter_next, interpreter_threads;
	__u16 thread_previous, thread_next, thread_interpreter, thread_id;
	__u16 thread_frame; /* the newest frame; with CFRAMES the newest of those */
	__u16 cframe_frame, cframe_previous;
	__u16 frame_owner;    /* of a chain: the byte that says whether it marks its beginning */
	__u16 frame_position; /* of an object: of an int */
	__u16 code_check, code_check_words;
	__u16 code_instructions;
	__u16 flags; /* enum cpython_flag */
	__u16 reserved;

	/* Tasks of asyncio (struct TaskObj of Modules/_asynciomodule.c), and what they run. */
	__u16 thread_task;  /* the task that runs; 0: nothing is known of them */
	__u16 task_awaiter; /* who waits for it: a task, a future, or a set of them */
	__u16 task_marks;   /* two bytes: is it a task, and is its awaiter a set */
	__u16 task_coroutine, task_name;
	__u16 coroutine_frame, coroutine_state;
	__u16 coroutine_waits; /* its state, a byte, when it has left by `yield`; the next one when
				  it waits for another coroutine... */
	__u16 frame_stack;     /* ...which lies below the pointer there in its frame... */
	__u16 frame_awaited;   /* ...by so many bytes */
	__u16 text_ascii, text_compact;
	__u64 coroutine_type, generator_type, text_type; /* addresses */

	/* The kernel side's own: by the thread pointer. */
	struct cpython_thread {
		__u64 pointer, state;
	} threads[CPYTHON_THREADS];
};

_Static_assert(sizeof(struct cpython_data) <= RUNTIME_DATA_BYTES, "there is room for it");
_Static_assert(sizeof(struct cpython_data) % 8 == 0, "it is words");

/* One more word of a code object to what tells it from others. */
static inline __u64 cpython_mix(__u64 mixed, __u64 word)
{
	mixed = (mixed ^ word) * 0x9e3779b97f4a7c15ull;
	return mixed ^ mixed >> 29;
}

/*
 * Mixes the number that tells a text from others. Into it go how many characters the text has,
 * three words of its first bytes, 0 where it is shorter, and its last 8 bytes; 0 where it has
 * fewer.
 */
static inline __u32 cpython_text_check(__u64 characters, const __u64 words[CPYTHON_TEXT_WORDS])
{
	__u64 mixed = cpython_mix(0, characters);

	for (int i = 0; i < CPYTHON_TEXT_WORDS; i++)
		mixed = cpython_mix(mixed, words[i]);
	return (__u32)mixed;
}
