/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The walk finds the Python frames of one call of CPython's loop (InternalDocs/frames.md of its
 * sources; Objects/frameobject.c and Python/ceval.c up to 3.10).
 *
 * Addresses tell where one call's chain of frames ends and its caller's begins: the structure that
 * marks a chain's beginning is a variable of the loop's, and lies in its frame on the C stack. So a
 * loop that has not begun its chain yet is not given its caller's.
 */
#pragma once

#include "cpython.h"
#include "unwind_state.bpf.h"

enum {
	CPYTHON_THREADS_LOOKED_AT = 256, /* for the state of one */
	CPYTHON_OF_GENERATOR = 1,        /* owner of a frame */
	/* Owner of a frame from which on it marks a beginning (FRAME_OWNED_BY_CSTACK and the like,
	 * 3.12 and later). */
	CPYTHON_MARKS = 3,
	CPYTHON_SETUP_MOST = 32, /* instructions before a program begins, at most */
};

/* unwind_walk.chains */
enum {
	CPYTHON_FRAME,                    /* the next one; CPYTHON_NONE when there is none */
	CPYTHON_CFRAME,                   /* with CPYTHON_CFRAMES */
	CPYTHON_ASYNCIO = CPYTHON_CFRAME, /* without: of asyncio (cpython_tasks.bpf.h) */
	CPYTHON_STATE,
	CPYTHON_FIRST, /* of the chain at hand */
};

#define CPYTHON_NONE 1ull

/* unwind_walk.chains[CPYTHON_STATE]: the thread's state, to whose address is added: */
enum {
	CPYTHON_BETWEEN, /* the loop's chain has not begun */
	CPYTHON_WITHIN,
	CPYTHON_ENDED, /* it has no other frame */
	CPYTHON_STEPS, /* the bits of these */
};

static __always_inline __u32 cpython_step(const struct unwind_walk *walk)
{
	return walk->chains[CPYTHON_STATE] & CPYTHON_STEPS;
}

static __always_inline void cpython_set_step(struct unwind_walk *walk, __u32 step)
{
	walk->chains[CPYTHON_STATE] = (walk->chains[CPYTHON_STATE] & ~(__u64)CPYTHON_STEPS) | step;
}

static __always_inline __u64 cpython_read(__u64 address)
{
	__u64 word = 0;

	bpf_probe_read_user(&word, sizeof(word), (void *)address);
	return word;
}

/* ---- the state of the thread ---- */

/* Is @state in the list of its interpreter's threads, as that of the thread at @pointer? */
static __always_inline bool cpython_is_state(const struct cpython_data *data, __u64 state,
					     __u64 pointer)
{
	__u64 previous, interpreter;

	if (!state || cpython_read(state + data->thread_id) != pointer)
		return false;
	previous = cpython_read(state + data->thread_previous);
	if (previous)
		return cpython_read(previous + data->thread_next) == state;
	interpreter = cpython_read(state + data->thread_interpreter);
	return interpreter && cpython_read(interpreter + data->interpreter_threads) == state;
}

/*
 * The next state after @after, or the first one, of the thread at @pointer, that has a frame; 0. A
 * thread has one for each interpreter that it has run, of which the newest comes first: that runs
 * on top of the others. Global, so that the verifier follows its loop once; such a function takes
 * no pointers to maps.
 */
__noinline __u64 cpython_search(__u32 told, __u64 pointer, __u64 after)
{
	const struct cpython_data *data = runtimes_told(told, sizeof(*data));
	__u64 interpreter, state = 0;

	if (!data)
		return 0;
	interpreter = cpython_read(data->interpreters);
#pragma clang loop unroll(disable)
	for (int i = 0; i < CPYTHON_THREADS_LOOKED_AT; i++) {
		if (!state) {
			if (!interpreter)
				return 0;
			state = cpython_read(interpreter + data->interpreter_threads);
			interpreter = cpython_read(interpreter + data->interpreter_next);
			continue;
		}
		if (after) {
			if (state == after)
				after = 0;
		} else if (cpython_read(state + data->thread_id) == pointer &&
			   cpython_read(state + data->thread_frame)) {
			return state;
		}
		state = cpython_read(state + data->thread_next);
	}
	return 0;
}

static __always_inline bool cpython_has_one_interpreter(const struct cpython_data *data)
{
	__u64 interpreter = cpython_read(data->interpreters);

	return interpreter && !cpython_read(interpreter + data->interpreter_next);
}

/* That of this thread on whose frames the newest call of the loop has run; 0. */
static __always_inline __u64 cpython_state(__u32 told, struct cpython_data *data)
{
	__u64 pointer = kernel_thread_pointer(), state;
	struct cpython_thread *known =
		&data->threads[(pointer >> 12 ^ pointer >> 6) & (CPYTHON_THREADS - 1)];

	if (!pointer)
		return 0;
	if (!cpython_has_one_interpreter(data))
		return cpython_search(told, pointer, 0);
	// Several CPUs may write it at a time: what is read is checked.
	state = *(volatile __u64 *)&known->state;
	if (*(volatile __u64 *)&known->pointer == pointer &&
	    cpython_is_state(data, state, pointer) && cpython_read(state + data->thread_frame))
		return state;
	state = cpython_search(told, pointer, 0);
	known->pointer = pointer;
	known->state = state;
	return state;
}

/* ---- frames ---- */

/* The frame of @code at @position, if the code can be read. */
static __noinline bool cpython_give(struct unwind_walk *walk, const struct cpython_data *data,
				    __u64 code, __u32 position)
{
	__u64 words[CPYTHON_CHECK_WORDS], mixed = 0;

	if (bpf_probe_read_user(words, sizeof(words), (void *)(code + data->code_check)))
		return false;
#pragma unroll
	for (int i = 0; i < CPYTHON_CHECK_WORDS; i++)
		if (i < data->code_check_words)
			mixed = cpython_mix(mixed, words[i]);
	walk->of_runtime[0] = unwind_runtime_frame(RUNTIME_CPYTHON, 0, code);
	walk->second = unwind_runtime_second(position, (__u32)mixed);
	return true;
}

/* Where @instruction is in @code. From 3.13 on it may be in a copy of its thread's own. */
static __always_inline __u32 cpython_position(const struct cpython_data *data, __u64 code,
					      __u64 instruction)
{
	__s64 distance = (__s64)(instruction - code - data->code_instructions);

	if (distance < 0)
		return distance == -2 ? CPYTHON_NOT_BEGUN : CPYTHON_NO_POSITION;
	return distance < 1ll << 31 ? (__u32)distance >> 1 : CPYTHON_NO_POSITION;
}

/*
 * Has a frame at @position of @code not begun its program? The interpreter does not count it,
 * either
 * (_PyFrame_IsIncomplete): it is being set up, or one that cleans up behind an __init__.
 */
static __always_inline bool cpython_is_incomplete(const struct cpython_data *data, __u64 code,
						  __u32 position)
{
	return position == CPYTHON_NOT_BEGUN ||
	       (position < CPYTHON_SETUP_MOST &&
		position < (__u32)cpython_read(code + data->code_instructions - 16));
}

/* The frame of a chain that has @words, if it has begun. */
static __always_inline bool cpython_give_chained(struct unwind_walk *walk,
						 const struct cpython_data *data,
						 const __u64 words[CPYTHON_CHAIN_WORDS])
{
	// In 3.15 the lowest bits of references are tags.
	__u64 code = (data->flags & CPYTHON_ENTRIES ? words[4] : words[0]) & ~7ull;
	__u32 position = cpython_position(data, code, words[7]);

	return cpython_is_incomplete(data, code, position) ||
	       cpython_give(walk, data, code, position);
}

static __always_inline bool cpython_read_chained(const struct cpython_data *data, __u64 frame,
						 __u64 words[CPYTHON_CHAIN_WORDS])
{
	words[CPYTHON_CHAIN_WORDS - 1] = 0;
	// What lies behind its owner may be on a page that was never touched.
	return !(
		data->frame_owner & 8
			? bpf_probe_read_user(words, 8 * CPYTHON_CHAIN_WORDS, (void *)frame)
			: bpf_probe_read_user(words, 8 * (CPYTHON_CHAIN_WORDS - 1), (void *)frame));
}

/* The frame of a coroutine that waits. */
static __noinline bool cpython_give_suspended(struct unwind_walk *walk,
					      const struct cpython_data *data, __u64 frame)
{
	__u64 words[CPYTHON_CHAIN_WORDS];

	return cpython_read_chained(data, frame, words) && cpython_give_chained(walk, data, words);
}

#include "cpython_tasks.bpf.h"

/* ---- calls of the loop ---- */

/* Goes on with the frames of @state; 0: there are none. */
static __always_inline void cpython_begin(struct unwind_walk *walk, const struct cpython_data *data,
					  __u64 state)
{
	__u64 frame = 0;

	walk->chains[CPYTHON_STATE] = state & ~(__u64)CPYTHON_STEPS;
	if (state)
		frame = cpython_read(state + data->thread_frame);
	if (data->flags & CPYTHON_CFRAMES) {
		walk->chains[CPYTHON_CFRAME] = frame;
		if (frame)
			frame = cpython_read(frame + data->cframe_frame);
	} else {
		cpython_find_task(walk, data, state);
	}
	walk->chains[CPYTHON_FRAME] = frame ? frame : CPYTHON_NONE;
}

/* One frame object, if it has not been given yet. */
static __noinline int cpython_object(struct unwind_walk *walk, const struct cpython_data *data)
{
	__u64 words[CPYTHON_FRAME_WORDS], position;

	if (cpython_step(walk) == CPYTHON_ENDED) {
		cpython_set_step(walk, CPYTHON_BETWEEN);
		return RUNTIME_LEAVES;
	}
	if (walk->chains[CPYTHON_FRAME] == CPYTHON_NONE)
		return RUNTIME_LEAVES;
	if (bpf_probe_read_user(words, sizeof(words), (void *)walk->chains[CPYTHON_FRAME]))
		return UNWIND_END_UNREADABLE;
	// PyFrameObject.f_lasti is at 120, 104 or 96.
	position = data->frame_position == 120  ? words[15]
		   : data->frame_position == 96 ? words[12]
						: words[13];
	walk->chains[CPYTHON_FRAME] = words[3] ? words[3] : CPYTHON_NONE;
	cpython_set_step(walk, CPYTHON_ENDED);
	return cpython_give(walk, data, words[4], (__u32)position) ? RUNTIME_STAYS
								   : UNWIND_END_UNREADABLE;
}

/* A loop begins, whose frame on the C stack ends at walk->beyond: is a chain of its there? */
static __always_inline bool cpython_enter_chain(struct unwind_walk *walk,
						const struct cpython_data *data)
{
	if (walk->chains[CPYTHON_FRAME] == CPYTHON_NONE)
		return false;
	if (data->flags & CPYTHON_CFRAMES) {
		if (walk->chains[CPYTHON_CFRAME] >= walk->beyond)
			return false;
		walk->chains[CPYTHON_CFRAME] =
			cpython_read(walk->chains[CPYTHON_CFRAME] + data->cframe_previous);
	}
	walk->chains[CPYTHON_FIRST] = walk->chains[CPYTHON_FRAME];
	walk->undo_count = walk->count;
	walk->undo_seconds = walk->seconds;
	cpython_set_step(walk, CPYTHON_WITHIN);
	return true;
}

/* The mark of a chain's beginning is at @frame, and the caller's chain at @previous. */
static __always_inline int cpython_leave_chain(struct unwind_walk *walk, struct cpython_data *data,
					       __u64 frame, __u64 previous)
{
	cpython_set_step(walk, CPYTHON_BETWEEN);
	if (!previous && frame == walk->chains[CPYTHON_FIRST]) {
		// From 3.15 on a thread's state itself has a frame below all chains.
		walk->chains[CPYTHON_FRAME] = CPYTHON_NONE;
		return RUNTIME_STAYS;
	}
	if (data->flags & CPYTHON_CFRAMES || frame < walk->beyond) {
		walk->chains[CPYTHON_FRAME] = previous ? previous : CPYTHON_NONE;
		return RUNTIME_LEAVES;
	}
	// All of it was a caller's.
	walk->chains[CPYTHON_FRAME] = walk->chains[CPYTHON_FIRST];
	if (walk->undo_count <= walk->count) {
		walk->count = walk->undo_count;
		walk->seconds = walk->undo_seconds;
	}
	if (data->thread_task)
		cpython_find_task(walk, data, walk->chains[CPYTHON_STATE] & ~(__u64)CPYTHON_STEPS);
	return RUNTIME_LEAVES;
}

/* The next frame of a chain. */
static __noinline int cpython_chain(struct unwind_walk *walk, struct cpython_data *data)
{
	__u64 words[CPYTHON_CHAIN_WORDS], frame, previous;
	bool entries = data->flags & CPYTHON_ENTRIES;
	__u8 owner;

	walk->of_runtime[0] = 0;
	if (cpython_step(walk) == CPYTHON_ENDED) {
		cpython_set_step(walk, CPYTHON_BETWEEN);
		return RUNTIME_LEAVES;
	}
	if (cpython_step(walk) == CPYTHON_BETWEEN && !cpython_enter_chain(walk, data))
		return RUNTIME_LEAVES;
	frame = walk->chains[CPYTHON_FRAME];
	if (frame == CPYTHON_NONE) {
		cpython_set_step(walk, CPYTHON_BETWEEN);
		return RUNTIME_LEAVES;
	}
	if (!cpython_read_chained(data, frame, words))
		return UNWIND_END_UNREADABLE;
	previous = entries ? words[6] : words[1];
	owner = (data->frame_owner & 8 ? words[9] : words[8]) >> 8 * (data->frame_owner & 7);
	if (!entries && owner >= CPYTHON_MARKS)
		return cpython_leave_chain(walk, data, frame, previous);
	walk->chains[CPYTHON_FRAME] = previous ? previous : CPYTHON_NONE;
	if (entries && owner)
		cpython_set_step(walk, CPYTHON_ENDED);
	if (data->thread_task && owner == CPYTHON_OF_GENERATOR)
		cpython_meet_coroutine(walk, data, frame);
	return cpython_give_chained(walk, data, words) ? RUNTIME_STAYS : UNWIND_END_UNREADABLE;
}

/* As runtimes_interpret(). */
static __always_inline int cpython_interpret(struct unwind_walk *walk, __u64 *frame)
{
	struct cpython_data *data = (void *)runtimes_data(walk, sizeof(*data));
	int end;

	if (!data)
		return RUNTIME_LEAVES;
	if (!walk->chains[CPYTHON_FRAME])
		cpython_begin(walk, data, cpython_state(walk->told, data));
	else if (walk->chains[CPYTHON_FRAME] == CPYTHON_NONE &&
		 walk->chains[CPYTHON_STATE] > CPYTHON_STEPS &&
		 cpython_step(walk) == CPYTHON_BETWEEN)
		// What that interpreter was called by may have run in another one.
		cpython_begin(walk, data,
			      cpython_search(walk->told, kernel_thread_pointer(),
					     walk->chains[CPYTHON_STATE]));
	// Not called by cpython_chain(), whose stack it would have on top of its own.
	if (cpython_is_between_tasks(walk, data))
		end = cpython_tasks(walk, data);
	else
		end = data->flags & CPYTHON_OBJECTS ? cpython_object(walk, data)
						    : cpython_chain(walk, data);
	if (end == RUNTIME_STAYS)
		*frame = walk->of_runtime[0];
	return end;
}
