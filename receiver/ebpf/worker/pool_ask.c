// SPDX-License-Identifier: Apache-2.0
/* What workers can be asked, as requests that wait for one. */
#include "pool_parts.h"

#include <string.h>

bool worker_pool_has_room(const struct worker_pool *pool, struct owner owner)
{
	return requests_have_room(&pool->requests, owner) && pool->refused.count < REQUESTS_MOST;
}

/* What all requests have, but @head. */
struct wanted {
	uint32_t file;
	struct origin origin;
	int fds[PROTOCOL_MAX_FILES]; /* taken; followed by -1s */
};

/* Queue a request with @head; what it asks for is still to be filled in. NULL: no room or no
 * memory. */
static struct worker_request *pool_add(struct worker_pool *pool, const struct wanted *wanted,
				       const struct protocol_request *head)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct worker_request *request = NULL;

	stuck_reap(&pool->stuck);
	if (worker_pool_has_room(pool, wanted->origin.owner))
		request = malloc(sizeof(*request) + head->asked_count * sizeof(*request->asked));
	if (!request) {
		for (size_t i = 0; i < PROTOCOL_MAX_FILES; i++)
			if (wanted->fds[i] >= 0)
				close_later(wanted->fds[i], wanted->origin.payer);
		return NULL;
	}
	*request = (struct worker_request){
		.file = wanted->file,
		.origin = wanted->origin,
		.since_ns = now_ns,
		.head = *head,
	};
	memcpy(request->fds, wanted->fds, sizeof(request->fds));
	if (!++pool->last_id) // 0 is the worker's first word
		pool->last_id++;
	request->head.magic = PROTOCOL_MAGIC;
	request->head.id = pool->last_id;
	requests_add(stuck_forbid(&pool->stuck, wanted->origin, now_ns) ? &pool->refused
									: &pool->requests,
		     request);
	profcol_metric_add(pool->asked, 1);
	return request;
}

/* The same with what it asks for: as many words of 8 bytes at @asked as @head says, 1 to @most. */
static bool pool_ask(struct worker_pool *pool, const struct wanted *wanted,
		     const struct protocol_request *head, size_t most, const void *asked)
{
	struct worker_request *request;

	if (!head->asked_count || head->asked_count > most) {
		close_later(wanted->fds[0], wanted->origin.payer);
		return false;
	}
	request = pool_add(pool, wanted, head);
	if (request)
		memcpy(request->asked, asked, head->asked_count * sizeof(*request->asked));
	return request;
}

/* How many words @count things take, @each; too many where the number does not fit. */
static uint32_t words(size_t count, size_t each)
{
	return count < UINT32_MAX / each ? (uint32_t)(count * each) : UINT32_MAX;
}

bool worker_pool_ask(struct worker_pool *pool, uint32_t file, struct origin origin, int fd,
		     const uint64_t *offsets, size_t count)
{
	const struct protocol_request head = {
		.asked_count = words(count, 1),
		.kind = PROTOCOL_FUNCTIONS,
	};
	const struct wanted wanted = { file, origin, { fd, -1, -1 } };

	return pool_ask(pool, &wanted, &head, WORKER_MAX_OFFSETS, offsets);
}

bool worker_pool_ask_index(struct worker_pool *pool, uint32_t file, struct origin origin,
			   const struct worker_index_files *files)
{
	const struct protocol_request head = {
		.asked_count = files->debug >= 0,
		.kind = PROTOCOL_INDEX,
	};
	const struct wanted wanted = { file, origin, { files->file, files->index, files->debug } };
	struct worker_request *request = pool_add(pool, &wanted, &head);

	if (request && head.asked_count)
		request->asked[0] = files->debug_found_by;
	return request;
}

bool worker_pool_ask_lines(struct worker_pool *pool, uint32_t file, struct origin origin,
			   uint64_t content, int fd, const uint64_t *addresses, size_t count)
{
	const struct protocol_request head = {
		.content = content,
		.asked_count = words(count, 1),
		.kind = PROTOCOL_LINES,
	};
	const struct wanted wanted = { file, origin, { fd, -1, -1 } };

	return pool_ask(pool, &wanted, &head, WORKER_MAX_PLACES, addresses);
}

bool worker_pool_ask_pages(struct worker_pool *pool, uint32_t file, struct origin origin,
			   uint64_t content, int fd, const uint32_t *pages, size_t count)
{
	const struct protocol_request head = {
		.content = content,
		.asked_count = (uint32_t)count,
		.kind = PROTOCOL_PAGES,
	};
	const struct wanted wanted = { file, origin, { fd, -1, -1 } };
	struct worker_request *request;

	if (count > WORKER_MAX_PAGES) {
		close_later(fd, origin.payer);
		return false;
	}
	request = pool_add(pool, &wanted, &head);
	for (size_t i = 0; request && i < count; i++)
		request->asked[i] = pages[i];
	return request;
}

static void *append(void *to, const void *from, size_t bytes)
{
	if (bytes)
		memcpy(to, from, bytes);
	return (char *)to + bytes;
}

/* A request of @kind about @process, with @frames. Takes @fd. */
static bool pool_ask_memory(struct worker_pool *pool, enum protocol_kind kind, uint32_t tag,
			    struct origin origin, int fd, const struct runtime_process *process,
			    const struct runtime_frame *frames, size_t count)
{
	const struct protocol_process about = {
		.base = process->base,
		.number = process->runtime->number,
		.layout_bytes = (uint16_t)process->runtime->layout_bytes,
		.data_bytes = (uint16_t)process->data_bytes,
	};
	size_t bytes =
		sizeof(about) + about.layout_bytes + about.data_bytes + count * sizeof(*frames);
	const struct protocol_request head = {
		.asked_count = (uint32_t)(bytes / sizeof(uint64_t)),
		.kind = kind,
	};
	const struct wanted wanted = { tag, origin, { fd, -1, -1 } };
	struct worker_request *request = pool_add(pool, &wanted, &head);
	void *to;

	if (!request)
		return false;
	to = append(request->asked, &about, sizeof(about));
	to = append(to, process->layout, about.layout_bytes);
	to = append(to, process->data, about.data_bytes);
	append(to, frames, count * sizeof(*frames));
	return true;
}

bool worker_pool_ask_attach(struct worker_pool *pool, uint32_t tag, struct origin origin, int fd,
			    const struct runtime_process *process)
{
	return pool_ask_memory(pool, PROTOCOL_ATTACH, tag, origin, fd, process, NULL, 0);
}

bool worker_pool_ask_names(struct worker_pool *pool, uint32_t tag, struct origin origin, int fd,
			   const struct runtime_process *process,
			   const struct runtime_frame *frames, size_t count)
{
	if (count && count <= WORKER_MAX_FRAMES)
		return pool_ask_memory(pool, PROTOCOL_NAMES, tag, origin, fd, process, frames,
				       count);
	close_later(fd, origin.payer);
	return false;
}

bool worker_pool_ask_map(struct worker_pool *pool, uint32_t tag, struct origin origin, int fd,
			 const struct runtime_frame *frames, size_t count)
{
	enum { WORDS = sizeof(*frames) / sizeof(uint64_t) };
	const struct protocol_request head = {
		.asked_count = words(count, WORDS),
		.kind = PROTOCOL_MAP,
	};
	const struct wanted wanted = { tag, origin, { fd, -1, -1 } };

	return pool_ask(pool, &wanted, &head, (size_t)WORKER_MAX_FRAMES * WORDS, frames);
}
