// SPDX-License-Identifier: Apache-2.0
#include "memory_answer.h"

#include "names_read.h"

#include <string.h>

static bool read_places(const uint64_t *asked, size_t asked_count, struct memory_asked *ret)
{
	*ret = (struct memory_asked){
		.frames = (const void *)asked,
		.frame_count = asked_count * sizeof(*asked) / sizeof(*ret->frames),
	};
	return asked_count * sizeof(*asked) == ret->frame_count * sizeof(*ret->frames) &&
	       ret->frame_count <= WORKER_MAX_FRAMES;
}

static bool read_process(const uint64_t *asked, size_t asked_count, struct memory_asked *ret)
{
	const struct protocol_process *about = (const void *)asked;
	size_t bytes = asked_count * sizeof(*asked), before;
	const char *from = (const char *)(about + 1);
	const struct runtime *runtime;

	if (bytes < sizeof(*about))
		return false;
	runtime = runtime_find(about->number);
	if (!runtime || about->layout_bytes != runtime->layout_bytes ||
	    about->data_bytes > RUNTIME_DATA_BYTES || about->data_bytes % sizeof(*asked))
		return false;
	before = sizeof(*about) + about->layout_bytes + about->data_bytes;
	if (before > bytes || (bytes - before) % sizeof(*ret->frames))
		return false;
	*ret = (struct memory_asked){
		.process = { .runtime = runtime,
			     .base = about->base,
			     .data_bytes = about->data_bytes },
		.frames = (const void *)(from + about->layout_bytes + about->data_bytes),
		.frame_count = (bytes - before) / sizeof(*ret->frames),
	};
	memcpy(ret->process.layout, from, about->layout_bytes);
	memcpy(ret->process.data, from + about->layout_bytes, about->data_bytes);
	return ret->frame_count <= WORKER_MAX_FRAMES;
}

bool memory_asked_read(enum protocol_kind kind, const uint64_t *asked, size_t asked_count,
		       struct memory_asked *ret)
{
	return kind == PROTOCOL_MAP ? read_places(asked, asked_count, ret)
				    : read_process(asked, asked_count, ret);
}

bool memory_answer_read_found(void *body, size_t bytes, struct worker_answer *ret)
{
	struct runtime_found *found = body;

	*ret = (struct worker_answer){ .outcome = WORKER_ANSWERED };
	if (!bytes)
		return true;
	if (bytes != sizeof(*found) || !runtime_found_check(found))
		return false;
	ret->found = found;
	return true;
}

bool memory_answer_read_names(enum protocol_kind kind, void *body, size_t bytes,
			      const uint64_t *asked, size_t asked_count, struct worker_answer *ret)
{
	struct memory_asked about;

	return memory_asked_read(kind, asked, asked_count, &about) &&
	       names_read(body, bytes, about.frame_count, 0, ret);
}
