// SPDX-License-Identifier: Apache-2.0
#include "kept_pages.h"

#include <string.h>

_Static_assert((uint32_t)PAGES_WHOLE == (uint32_t)CACHE_PART_FACTS, "one word for all of a file");

/* A cache on a disk that hangs is not waited for. */
static const uint64_t look_interval_ns = 100000000;

void kept_pages_deinit(struct kept_pages *kept)
{
	page_cache_destroy(kept->cache);
	VECTOR_DEINIT(&kept->missed);
	kept->cache = NULL;
}

bool kept_pages_has_room(const struct kept_pages *kept)
{
	return !kept->cache || page_cache_has_room(kept->cache);
}

/* Complete @request for its file. False: there is no telling it from others that come later. */
static bool identify(struct processes *processes, struct page_cache_request *request)
{
	struct process_file_look look;

	if (!processes_file_htlhash(processes, request->file, request->key.htlhash) ||
	    !processes_look_at_file(processes, request->file, &look) || !look.place || look.fresh)
		return false;
	request->key.place = look.place;
	request->key.inode = look.inode;
	request->identity = (struct cache_identity){
		.modified_ns = look.modified_ns,
		.changed_ns = look.changed_ns,
		.born_ns = look.born_ns,
	};
	return true;
}

bool kept_pages_ask(struct kept_pages *kept, struct processes *processes,
		    const struct pages_request *request, int fd)
{
	struct page_cache_request asked = {
		.file = request->file,
		.payer = processes_file_origin(processes, request->file, false).payer,
		.key.part = request->group,
		.count = request->count,
	};

	// It has just been opened: what the kernel knows of it is as good as new.
	if (!kept->cache || !identify(processes, &asked))
		return false;
	memcpy(asked.numbers, request->numbers, request->count * sizeof(*request->numbers));
	return page_cache_ask(kept->cache, &asked, fd);
}

struct page_cache_reply *kept_pages_next(struct kept_pages *kept)
{
	struct page_cache_reply *reply = kept->cache ? page_cache_next(kept->cache) : NULL;

	// Without memory it is not kept.
	if (reply && !reply->found)
		(void)VECTOR_PUSH(&kept->missed, reply->request);
	return reply;
}

void kept_pages_keep(struct kept_pages *kept, struct processes *processes,
		     const struct worker_answer *answer)
{
	struct process_file_look ignored;
	size_t at = 0;

	// Of one file there is one request at a time.
	while (at < kept->missed.count && kept->missed.items[at].file != answer->file)
		at++;
	if (at == kept->missed.count)
		return;
	// It may have been written to while the worker read it.
	if (answer->outcome == WORKER_ANSWERED &&
	    processes_look_at_file(processes, answer->file, &ignored))
		page_cache_keep(kept->cache, &kept->missed.items[at], answer);
	kept->missed.items[at] = kept->missed.items[--kept->missed.count];
}

uint64_t kept_pages_deadline(const struct kept_pages *kept, uint64_t deadline_ns)
{
	uint64_t look_ns;

	if (!kept->cache || !page_cache_is_busy(kept->cache))
		return deadline_ns;
	look_ns = clock_monotonic_ns() + look_interval_ns;
	return look_ns < deadline_ns ? look_ns : deadline_ns;
}
