// SPDX-License-Identifier: Apache-2.0
/* Where in the structures of asyncio what lies. */
#include "cpython.h"

/* struct Py_AsyncioModuleDebugOffsets of Modules/_asynciomodule.c, in words. */
enum {
	SAID_NAME = 1,
	SAID_AWAITED_BY = 2,
	SAID_IS_TASK = 3,
	SAID_AWAITED_BY_IS_SET = 4,
	SAID_COROUTINE = 5,
	SAID_INTERPRETER_BYTES = 7,
	SAID_RUNNING_TASK = 11,
};

enum { LEAST = 14, MOST = 15 };

static const struct known {
	/* Words of _Py_DebugOffsets: thread_state.size, interpreter_frame.stackpointer, and from
	 * gen_object.size on. */
	uint8_t thread, stack, generator;
	/* What no interpreter says: FRAME_SUSPENDED of enum _framestate, and in how many bytes
	 * `await` keeps what it waits for, on its frame's stack. */
	uint8_t waits, awaited;
	/* For interpreters whose module asyncio is another file: where the running task stands
	 * behind PyThreadState, and fields of struct TaskObj. */
	uint8_t running_task, awaited_by, is_task, coroutine, name;
} known[MOST - LEAST + 1] = {
	[14 - LEAST] = { 22, 37, 83, 0xfe, 8, 40, 96, 108, 128, 136 },
	[15 - LEAST] = { 22, 45, 99, 1, 16, 144, 96, 108, 128, 136 },
};

/* struct PyGenObject: nothing else is understood. */
enum { GENERATOR_BYTES = 160, GENERATOR_NAME = 24, GENERATOR_FRAME = 72 };

/* What the module itself says. False: that cannot be. */
static bool take_said(const uint64_t *said, uint64_t thread_bytes, struct cpython_tasks *tasks)
{
	for (size_t i = 0; i < CPYTHON_SAID_WORDS; i++)
		if (i != SAID_INTERPRETER_BYTES && said[i] > UINT16_MAX)
			return false;
	// The kernel side reads both of the marks at once.
	if (said[SAID_AWAITED_BY_IS_SET] != said[SAID_IS_TASK] + 1 ||
	    said[SAID_RUNNING_TASK] < thread_bytes)
		return false;
	tasks->awaiter = (uint16_t)said[SAID_AWAITED_BY];
	tasks->marks = (uint16_t)said[SAID_IS_TASK];
	tasks->coroutine = (uint16_t)said[SAID_COROUTINE];
	tasks->name = (uint16_t)said[SAID_NAME];
	tasks->thread = (uint16_t)said[SAID_RUNNING_TASK];
	return true;
}

/* Has the interpreter structures around tasks that are understood? */
static bool is_understood(const struct known *at, const uint64_t *words)
{
	return words[at->thread] && words[at->thread] <= UINT16_MAX - UINT8_MAX &&
	       words[at->stack] && words[at->stack] <= UINT8_MAX &&
	       words[at->generator] == GENERATOR_BYTES &&
	       words[at->generator + 1] == GENERATOR_NAME &&
	       words[at->generator + 2] == GENERATOR_FRAME &&
	       words[at->generator + 3] < GENERATOR_FRAME;
}

bool cpython_find_tasks(uint32_t minor, const uint64_t *words, size_t count, const uint64_t *said,
			struct cpython_tasks *ret)
{
	const struct known *at;
	struct cpython_tasks tasks;

	if (minor < LEAST || minor > MOST)
		return false;
	at = &known[minor - LEAST];
	if (count < at->generator + 4u || !is_understood(at, words))
		return false;
	tasks = (struct cpython_tasks){
		.thread = (uint16_t)(words[at->thread] + at->running_task),
		.awaiter = at->awaited_by,
		.marks = at->is_task,
		.coroutine = at->coroutine,
		.name = at->name,
		.coroutine_frame = GENERATOR_FRAME,
		.coroutine_state = (uint16_t)words[at->generator + 3],
		.coroutine_waits = at->waits,
		.frame_stack = (uint16_t)words[at->stack],
		.frame_awaited = at->awaited,
	};
	if (said && !take_said(said, words[at->thread], &tasks))
		return false;
	*ret = tasks;
	return true;
}
