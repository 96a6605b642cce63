/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The walk goes on from a task of asyncio to the tasks that wait for it (struct TaskObj of
 * Modules/_asynciomodule.c, from 3.14 on).
 *
 * A task's coroutine is called by the event loop, whoever waits for it. Where the walk comes to the
 * frame of the coroutine that the thread's task runs, it gives the task's name, then the suspended
 * coroutines of the task that waits for this one, the innermost first, then that one's name, and so
 * on; then the callers, among them the event loop.
 */
#pragma once

#include "cpython.h"
#include "unwind_state.bpf.h"

_Static_assert(CPYTHON_AHEAD == UNWIND_AHEAD, "there is room for them");

/* unwind_walk.chains[CPYTHON_ASYNCIO]: the address of a task, to which is added: */
enum {
	CPYTHON_TASK_RUNS,       /* the walk has not come to its coroutine */
	CPYTHON_TASK_COROUTINES, /* it waits, and its coroutines come next; */
	CPYTHON_TASK_NAME,       /* its name does; */
	CPYTHON_TASK_AWAITER,    /* what waits for it does; */
	CPYTHON_TASK_CUT,        /* the remark that it has more coroutines does */
	CPYTHON_TASK_STEPS = 15, /* the bits of these */
};

static __always_inline void cpython_set_task(struct unwind_walk *walk, __u64 task, __u32 step)
{
	walk->chains[CPYTHON_ASYNCIO] = task ? (task & ~(__u64)CPYTHON_TASK_STEPS) | step : 0;
}

/* Notes which task runs, of the thread whose state @state is. */
static __always_inline void cpython_find_task(struct unwind_walk *walk,
					      const struct cpython_data *data, __u64 state)
{
	walk->ahead_count = 0;
	walk->ahead_left = CPYTHON_TASKS;
	cpython_set_task(walk,
			 data->thread_task && state ? cpython_read(state + data->thread_task) : 0,
			 CPYTHON_TASK_RUNS);
}

/* The frame of a generator or coroutine was given: is it that of the task that runs? */
static __always_inline void cpython_meet_coroutine(struct unwind_walk *walk,
						   const struct cpython_data *data, __u64 frame)
{
	__u64 task = walk->chains[CPYTHON_ASYNCIO];

	if (task && !(task & CPYTHON_TASK_STEPS) &&
	    cpython_read(task + data->task_coroutine) + data->coroutine_frame == frame)
		cpython_set_task(walk, task, CPYTHON_TASK_NAME);
}

static __always_inline bool cpython_is_between_tasks(const struct unwind_walk *walk,
						     const struct cpython_data *data)
{
	return data->thread_task && walk->chains[CPYTHON_ASYNCIO] & CPYTHON_TASK_STEPS;
}

static __always_inline void cpython_give_remark(struct unwind_walk *walk, __u32 remark)
{
	walk->of_runtime[0] = unwind_runtime_frame(RUNTIME_CPYTHON, CPYTHON_REMARK, remark);
	walk->second = unwind_runtime_second(0, 0);
}

/* ---- names ---- */

/* Is it one that asyncio has made up, of a number that goes on? */
static __always_inline bool cpython_is_numbered(__u64 word)
{
	__u8 digit = word >> 40;

	return (word & 0xffffffffffull) == 0x2d6b736154ull && digit >= '0' && digit <= '9';
}

/* The name of @task, if the program has given it one; a number is none (docs of asyncio). */
static __noinline void cpython_give_task(struct unwind_walk *walk, const struct cpython_data *data,
					 __u64 task)
{
	__u64 name = cpython_read(task + data->task_name), characters, bytes, from;
	__u64 words[CPYTHON_TEXT_WORDS] = { 0 };
	__u32 state, width;

	walk->of_runtime[0] = unwind_runtime_frame(RUNTIME_CPYTHON, CPYTHON_TASK, 0);
	walk->second = unwind_runtime_second(0, 0);
	if (!name || cpython_read(name + 8) != data->text_type)
		return;
	characters = cpython_read(name + 16);
	state = cpython_read(name + 32);
	width = state >> 2 & 7;
	bytes = characters * width;
	if (!bytes || characters > CPYTHON_NAME_MOST)
		return;
	from = name + (state & 1 << 6 ? data->text_ascii : data->text_compact);
	if (bytes >= 8)
		words[CPYTHON_TEXT_WORDS - 1] = cpython_read(from + bytes - 8);
	if (bytes > 8 * (CPYTHON_TEXT_WORDS - 1))
		bytes = 8 * (CPYTHON_TEXT_WORDS - 1);
	if (bpf_probe_read_user(words, bytes, (void *)from) || cpython_is_numbered(words[0]))
		return;
	walk->of_runtime[0] = unwind_runtime_frame(RUNTIME_CPYTHON, CPYTHON_TASK, name);
	walk->second = unwind_runtime_second(0, cpython_text_check(characters, words));
}

/* ---- who waits ---- */

/*
 * The coroutines of @task, which waits, to walk->ahead, the outermost first. False: it does not
 * wait, or runs something else.
 */
static __noinline bool cpython_look_ahead(struct unwind_walk *walk, const struct cpython_data *data,
					  __u64 task)
{
	__u64 coroutine = cpython_read(task + data->task_coroutine);
	__u32 count = 0;

	cpython_set_task(walk, task, CPYTHON_TASK_COROUTINES);
#pragma clang loop unroll(disable)
	for (; count < CPYTHON_AHEAD; count++) {
		__u64 type = cpython_read(coroutine + 8), stack;
		__u8 state = cpython_read(coroutine + data->coroutine_state), waits;

		waits = data->coroutine_waits;
		if (!coroutine || (type != data->coroutine_type && type != data->generator_type) ||
		    (state != waits && state != (__u8)(waits + 1)))
			break;
		coroutine += data->coroutine_frame;
		walk->ahead[count & (UNWIND_AHEAD - 1)] = coroutine;
		if (state == waits) {
			count++;
			break;
		}
		stack = cpython_read(coroutine + data->frame_stack);
		coroutine = cpython_read(stack - data->frame_awaited) & ~7ull;
	}
	if (count == CPYTHON_AHEAD)
		cpython_set_task(walk, task, CPYTHON_TASK_CUT);
	walk->ahead_count = count;
	return count;
}

/* From @task to the one that waits for it, by way of futures that are no tasks. */
static __noinline void cpython_find_awaiter(struct unwind_walk *walk,
					    const struct cpython_data *data, __u64 task)
{
	bool is_several = false, is_task = false;

	cpython_set_task(walk, 0, 0);
#pragma clang loop unroll(disable)
	for (int i = 0; i <= CPYTHON_FUTURES && !is_task; i++) {
		is_several = cpython_read(task + data->task_marks) & 0xff00;
		task = cpython_read(task + data->task_awaiter);
		if (!task)
			return;
		if (is_several) {
			cpython_give_remark(walk, CPYTHON_SEVERAL);
			return;
		}
		is_task = cpython_read(task + data->task_marks) & 0xff;
	}
	if (!is_task || !walk->ahead_left) {
		cpython_give_remark(walk, CPYTHON_MORE_TASKS);
		return;
	}
	walk->ahead_left--;
	if (!cpython_look_ahead(walk, data, task))
		cpython_set_task(walk, 0, 0);
}

/* ---- one frame at a time ---- */

/* The walk takes its next step through the waiting tasks; walk->of_runtime[0] is 0 if that step has
 * no frame. */
static __always_inline int cpython_tasks(struct unwind_walk *walk, const struct cpython_data *data)
{
	__u64 task = walk->chains[CPYTHON_ASYNCIO] & ~(__u64)CPYTHON_TASK_STEPS, frame;
	__u32 step = walk->chains[CPYTHON_ASYNCIO] & CPYTHON_TASK_STEPS;

	walk->of_runtime[0] = 0;
	if (step == CPYTHON_TASK_CUT) {
		cpython_set_task(walk, task, CPYTHON_TASK_COROUTINES);
		cpython_give_remark(walk, CPYTHON_MORE_COROUTINES);
		return RUNTIME_STAYS;
	}
	if (step == CPYTHON_TASK_AWAITER) {
		cpython_find_awaiter(walk, data, task);
		return RUNTIME_STAYS;
	}
	if (step == CPYTHON_TASK_COROUTINES && walk->ahead_count) {
		walk->ahead_count--;
		frame = walk->ahead[walk->ahead_count & (UNWIND_AHEAD - 1)];
		return cpython_give_suspended(walk, data, frame) ? RUNTIME_STAYS
								 : UNWIND_END_UNREADABLE;
	}
	cpython_set_task(walk, task, CPYTHON_TASK_AWAITER);
	cpython_give_task(walk, data, task);
	return RUNTIME_STAYS;
}
