// SPDX-License-Identifier: Apache-2.0
#include "thread_names.h"

#include "text.h"

#include "base/base.h"

void thread_names_deinit(struct thread_names *names)
{
	VECTOR_DEINIT(&names->comms);
	VECTOR_DEINIT(&names->threads);
}

/* A name is read again with each batch that is longer than that, and after a third of it else; one
 * that could not be is of no use when it is older. */
static const uint64_t NAME_MOST_NS = 30000000000;

/* The id of the attribute of thread number @thread; 0: its runtime does not tell. */
static uint32_t told_name(const struct capture *capture, uint32_t thread,
			  struct process_memory *memory, struct profcol_builder *builder)
{
	struct frame_question question = capture_thread_question(capture, thread);
	CLEANUP_FREE struct frame_name *name = NULL;

	if (process_memory_find(memory, &question, &name) != FRAME_NAMED || !name->line_count ||
	    clock_monotonic_ns() > name->read_ns + NAME_MOST_NS)
		return 0;
	return text_attribute(builder, "thread.name", name->lines[0].function);
}

/* A thread has none in the moment when an exec gives it the next program's (bpf/kernel.bpf.h). */
static uint32_t known_name(struct profcol_builder *builder, const char *text)
{
	return text[0] ? text_attribute(builder, "thread.name", text) : 0;
}

bool thread_names_build(struct thread_names *names, const struct capture *capture,
			struct process_memory *memory, struct profcol_builder *builder)
{
	names->comms.count = names->threads.count = 0;
	if (!VECTOR_RESERVE(&names->comms, capture->comms.count) ||
	    !VECTOR_RESERVE(&names->threads, capture->threads.count))
		return false;
	for (size_t i = 0; i < capture->comms.count; i++)
		names->comms.items[names->comms.count++] =
			known_name(builder, capture->comms.items[i].text);
	for (uint32_t i = 0; i < capture->threads.count; i++)
		names->threads.items[names->threads.count++] =
			told_name(capture, i, memory, builder);
	return true;
}

uint32_t thread_names_of(const struct thread_names *names, const struct capture *capture,
			 const struct capture_sample *sample)
{
	uint32_t thread = capture_find_thread(capture, sample);

	if (thread < names->threads.count && names->threads.items[thread])
		return names->threads.items[thread];
	return names->comms.items[sample->comm];
}
