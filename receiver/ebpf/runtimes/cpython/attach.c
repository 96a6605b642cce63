// SPDX-License-Identifier: Apache-2.0
/* The worker finds in a process what the kernel side needs to walk CPython's frames. */
#include "cpython.h"

#include <stdio.h>
#include <string.h>

enum { TYPE_SIZE = 32, LOOPS_TOLD = RUNTIME_LOOPS };

static bool read_word(const struct runtime_memory *memory, uint64_t address, uint64_t *ret)
{
	return memory->read(memory->context, address, ret, sizeof(*ret));
}

static void write_version(const struct cpython_layout *layout, struct runtime_found *ret)
{
	uint32_t version = layout->version;

	// Up to 3.10 only the first two numbers are known.
	if (version & 0xffff)
		snprintf(ret->version, sizeof(ret->version), "%u.%u.%u", version >> 24,
			 version >> 16 & 0xff, version >> 8 & 0xff);
	else
		snprintf(ret->version, sizeof(ret->version), "%u.%u", version >> 24,
			 version >> 16 & 0xff);
}

static bool refuse(struct runtime_found *ret, uint32_t why)
{
	ret->refused = why;
	ret->complete = 1;
	return true;
}

enum sound {
	SOUND,
	UNSOUND,
	NOT_YET, /* there are none */
};

/* Do the first interpreter and its newest thread lie where the offsets say? */
static enum sound look_at_threads(const struct cpython_offsets *offsets,
				  const struct runtime_memory *memory, uint64_t interpreters)
{
	uint64_t interpreter, thread, owner, previous;

	if (!read_word(memory, interpreters, &interpreter))
		return UNSOUND;
	if (!interpreter)
		return NOT_YET;
	if (!read_word(memory, interpreter + offsets->interpreter_threads, &thread))
		return UNSOUND;
	if (!thread)
		return NOT_YET;
	if (!read_word(memory, thread + offsets->thread_interpreter, &owner) ||
	    !read_word(memory, thread + offsets->thread_previous, &previous))
		return UNSOUND;
	return owner == interpreter && !previous ? SOUND : UNSOUND;
}

/* Are code objects as large as those that are known? Builds of one's own may have others. */
static bool has_known_code(const struct cpython_layout *layout, uint64_t base,
			   const struct runtime_memory *memory)
{
	uint64_t bytes;

	return !layout->offsets.code_bytes ||
	       (read_word(memory, base + layout->code_type + TYPE_SIZE, &bytes) &&
		bytes == layout->offsets.code_bytes);
}

static void tell_tasks(const struct cpython_layout *layout, uint64_t base,
		       struct cpython_data *data)
{
	const struct cpython_tasks *tasks = &layout->tasks;

	if (!tasks->thread)
		return;
	data->thread_task = tasks->thread;
	data->task_awaiter = tasks->awaiter;
	data->task_marks = tasks->marks;
	data->task_coroutine = tasks->coroutine;
	data->task_name = tasks->name;
	data->coroutine_frame = tasks->coroutine_frame;
	data->coroutine_state = tasks->coroutine_state;
	data->coroutine_waits = tasks->coroutine_waits;
	data->frame_stack = tasks->frame_stack;
	data->frame_awaited = tasks->frame_awaited;
	data->text_ascii = layout->offsets.text_ascii;
	data->text_compact = layout->offsets.text_compact;
	data->coroutine_type = base + layout->coroutine_type;
	data->generator_type = base + layout->generator_type;
	data->text_type = base + layout->text_type;
}

static void tell(const struct cpython_layout *layout, uint64_t base, struct runtime_found *ret)
{
	const struct cpython_offsets *offsets = &layout->offsets;
	uint64_t interpreters = base + layout->runtime + offsets->runtime_interpreters;
	struct cpython_data data = {
		.interpreters = interpreters,
		.interpreter_next = offsets->interpreter_next,
		.interpreter_threads = offsets->interpreter_threads,
		.thread_previous = offsets->thread_previous,
		.thread_next = offsets->thread_next,
		.thread_interpreter = offsets->thread_interpreter,
		.thread_id = offsets->thread_id,
		.thread_frame = offsets->thread_frame,
		.cframe_frame = offsets->cframe_frame,
		.cframe_previous = offsets->cframe_previous,
		.frame_owner = offsets->frame_owner,
		.frame_position = offsets->frame_position,
		.code_check = offsets->code_check,
		.code_check_words = offsets->code_check_words,
		.code_instructions = offsets->code_instructions,
		.flags = offsets->flags,
	};

	tell_tasks(layout, base, &data);
	memcpy(ret->data, &data, sizeof(data));
	ret->data_bytes = sizeof(data);
}

void cpython_foresee(const void *described, uint64_t base, struct runtime_found *ret)
{
	const struct cpython_layout *layout = described;

	*ret = (struct runtime_found){ .progress = 1, .complete = 1 };
	write_version(layout, ret);
	tell(layout, base, ret);
}

bool cpython_attach(const void *described, uint64_t base, const struct runtime_memory *memory,
		    struct runtime_found *ret)
{
	const struct cpython_layout *layout = described;
	const struct cpython_offsets *offsets = &layout->offsets;
	uint64_t interpreters = base + layout->runtime + offsets->runtime_interpreters;
	enum sound sound;

	*ret = (struct runtime_found){ 0 };
	write_version(layout, ret);
	if (layout->refused)
		return refuse(ret, layout->refused);
	if (!has_known_code(layout, base, memory))
		return refuse(ret, RUNTIME_REFUSED_LAYOUT);
	sound = look_at_threads(offsets, memory, interpreters);
	// While the list of threads changes it may not add up.
	if (sound != SOUND)
		return false;
	cpython_foresee(layout, base, ret);
	return true;
}
