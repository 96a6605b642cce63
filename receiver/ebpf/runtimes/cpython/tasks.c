// SPDX-License-Identifier: Apache-2.0
#include "tasks.h"

#include "text.h"

#include <stdio.h>
#include <string.h>

static enum runtime_outcome add(const struct runtime_lines *to, const char *function, size_t bytes)
{
	const struct runtime_line line = { .function = function, .function_bytes = bytes };

	return to->add(to->context, &line) ? RUNTIME_NAMED : RUNTIME_MALFORMED;
}

/* The word by which the text at @address is told from others: as the kernel side has found it. */
static enum runtime_outcome read_check(const struct cpython_offsets *offsets,
				       const struct runtime_memory *memory, uint64_t address,
				       uint32_t *ret)
{
	__u64 words[CPYTHON_TEXT_WORDS] = { 0 };
	uint64_t bytes;
	struct cpython_text_place place;
	enum runtime_outcome outcome = cpython_find_text(offsets, memory, address, &place);

	if (outcome != RUNTIME_NAMED)
		return outcome;
	if (place.characters > CPYTHON_NAME_MOST)
		return RUNTIME_MALFORMED;
	bytes = place.characters * place.width;
	if (bytes >= sizeof(*words) &&
	    !memory->read(memory->context, place.data + bytes - sizeof(*words),
			  &words[CPYTHON_TEXT_WORDS - 1], sizeof(*words)))
		return RUNTIME_UNREADABLE;
	if (bytes > sizeof(words) - sizeof(*words))
		bytes = sizeof(words) - sizeof(*words);
	if (!memory->read(memory->context, place.data, words, bytes))
		return RUNTIME_UNREADABLE;
	*ret = cpython_text_check(place.characters, words);
	return RUNTIME_NAMED;
}

/* Is it the text that was sampled? */
static enum runtime_outcome expect(const struct cpython_offsets *offsets,
				   const struct runtime_memory *memory,
				   const struct runtime_frame *frame)
{
	uint32_t check;
	enum runtime_outcome outcome = read_check(offsets, memory, frame->object, &check);

	if (outcome == RUNTIME_UNREADABLE)
		return outcome;
	return outcome == RUNTIME_NAMED && check == frame->check &&
			       cpython_is_alive(offsets, memory, frame->object, "str")
		       ? RUNTIME_NAMED
		       : RUNTIME_GONE;
}

enum runtime_outcome cpython_resolve_task(const struct cpython_layout *layout,
					  const struct runtime_memory *memory,
					  const struct runtime_frame *frame,
					  const struct runtime_lines *to)
{
	static const char nameless[] = "<task>";
	char text[CPYTHON_TEXT_BYTES + sizeof("<task >")];
	enum runtime_outcome outcome;
	struct cpython_text name;
	int length;

	if (!frame->object)
		return add(to, nameless, strlen(nameless));
	outcome = expect(&layout->offsets, memory, frame);
	if (outcome == RUNTIME_NAMED)
		outcome = cpython_read_text(&layout->offsets, memory, frame->object, &name);
	if (outcome != RUNTIME_NAMED)
		return outcome;
	// It may have become another one while it was read.
	memory->renew(memory->context);
	outcome = expect(&layout->offsets, memory, frame);
	if (outcome != RUNTIME_NAMED)
		return outcome;
	length = snprintf(text, sizeof(text), "<task %.*s>", (int)name.length, name.bytes);
	return add(to, text, (size_t)length);
}

enum runtime_outcome cpython_resolve_remark(const struct runtime_frame *frame,
					    const struct runtime_lines *to)
{
	static const char *const remarks[CPYTHON_REMARKS] = {
		[CPYTHON_SEVERAL] = "<awaited by several tasks>",
		[CPYTHON_MORE_TASKS] = "<awaited by more tasks>",
		[CPYTHON_MORE_COROUTINES] = "<more coroutines>",
	};
	const char *remark = frame->object < CPYTHON_REMARKS ? remarks[frame->object] : NULL;

	return remark ? add(to, remark, strlen(remark)) : RUNTIME_MALFORMED;
}
