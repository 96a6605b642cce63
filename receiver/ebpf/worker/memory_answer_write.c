// SPDX-License-Identifier: Apache-2.0
#include "memory_answer.h"

#include "code_map.h"
#include "foreign_memory.h"
#include "names_draft.h"

#include "base/base.h"

#include <errno.h>
#include <string.h>

/* @memory is a foreign_memory. */
static void draft_frame(struct names_draft *draft, const struct memory_asked *asked,
			const struct runtime_memory *memory, const struct runtime_frame *frame)
{
	const struct runtime *runtime = asked->process.runtime;
	const struct foreign_memory *foreign = memory->context;
	const struct runtime_lines to = { names_draft_line, draft };
	enum runtime_outcome outcome = RUNTIME_MALFORMED;

	names_draft_open(draft);
	if (frame->kind == RUNTIME_THREAD && runtime->name_thread)
		outcome = runtime->name_thread(&asked->process, memory, frame->position, &to);
	else if (frame->kind == RUNTIME_PROGRAM && runtime->describe)
		outcome = runtime->describe(&asked->process, memory, &to);
	else if (frame->kind < RUNTIME_THREAD && runtime->resolve)
		outcome = runtime->resolve(&asked->process, memory, frame, &to);
	if (outcome != RUNTIME_NAMED && foreign->ended)
		outcome = RUNTIME_ENDED;
	names_draft_close(draft, outcome, 0);
}

static int write_names(const struct memory_asked *asked, const struct runtime_memory *memory,
		       void **body_ret, size_t *bytes_ret)
{
	CLEANUP(names_draft_deinit) struct names_draft draft = { 0 };

	if (names_draft_begin(&draft, asked->frame_count))
		return -ENOMEM;
	for (size_t i = 0; i < asked->frame_count && !draft.no_memory; i++)
		draft_frame(&draft, asked, memory, &asked->frames[i]);
	return draft.no_memory ? -ENOMEM : names_draft_finish(&draft, body_ret, bytes_ret);
}

static void draft_place(struct names_draft *draft, int fd, const struct code_place *place)
{
	char name[CODE_MAP_NAME];
	const struct runtime_line line = {
		.function = name,
		.function_bytes = place->name_at ? code_place_name(fd, place, name) : 0,
		.line = place->line,
	};
	bool named;

	names_draft_open(draft);
	named = line.function_bytes && names_draft_line(draft, &line);
	names_draft_close(draft, named ? RUNTIME_NAMED : RUNTIME_GONE, 0);
}

static int write_places(const struct memory_asked *asked, int fd, void **body_ret,
			size_t *bytes_ret)
{
	CLEANUP(names_draft_deinit) struct names_draft draft = { 0 };
	CLEANUP_FREE struct code_place *places = calloc(asked->frame_count + 1, sizeof(*places));

	if (!places || names_draft_begin(&draft, asked->frame_count))
		return -ENOMEM;
	for (size_t i = 0; i < asked->frame_count; i++)
		places[i].address = asked->frames[i].object;
	if (jitdump_is(fd))
		jitdump_find(fd, places, asked->frame_count);
	else
		perf_map_find(fd, places, asked->frame_count);
	for (size_t i = 0; i < asked->frame_count && !draft.no_memory; i++)
		draft_place(&draft, fd, &places[i]);
	return draft.no_memory ? -ENOMEM : names_draft_finish(&draft, body_ret, bytes_ret);
}

/* What is not there yet is an answer of no bytes. */
static int write_found(const struct memory_asked *asked, const struct runtime_memory *memory,
		       void **body_ret, size_t *bytes_ret)
{
	struct runtime_found *found = calloc(1, sizeof(*found));
	const struct runtime_process *process = &asked->process;
	const struct foreign_memory *foreign = memory->context;

	if (!found)
		return -ENOMEM;
	if (!process->runtime->attach ||
	    !process->runtime->attach(process->layout, process->base, memory, found)) {
		free(found);
		return foreign->ended ? -ESRCH : 0;
	}
	*body_ret = found;
	*bytes_ret = sizeof(*found);
	return 0;
}

int memory_answer_write(enum protocol_kind kind, const struct memory_asked *asked, int fd,
			void **body_ret, size_t *bytes_ret)
{
	static struct foreign_memory foreign; // 256 KiB; of the worker, which has one thread
	struct runtime_memory memory;

	*body_ret = NULL;
	*bytes_ret = 0;
	if (kind == PROTOCOL_MAP)
		return write_places(asked, fd, body_ret, bytes_ret);
	memory = foreign_memory_begin(&foreign, fd);
	return kind == PROTOCOL_NAMES ? write_names(asked, &memory, body_ret, bytes_ret)
				      : write_found(asked, &memory, body_ret, bytes_ret);
}
