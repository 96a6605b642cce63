// SPDX-License-Identifier: Apache-2.0
/*
 * A file in the directory of the cache, whoever has written it. It is refused, or keeps every
 * promise that worker.h makes.
 *
 * The first byte says what is asked for, and whether the rest is all of the file or an answer, of
 * which a file is made that has a right head.
 */
#include "receiver/ebpf/page_cache/cache_entry.h"
#include "tests/unit/ebpf/worker/promises.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ASKED = 3, WHOLE_FILE = 0x80 };

static const struct {
	size_t count;
	uint64_t asked[MAX_ASKED];
} requests[] = {
	{ 0, { 0 } }, { 1, { 0 } }, { 1, { 1 } }, { 2, { 0, 1 } }, { 3, { 1, 3, 0x1000 } },
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void *as_it_is(const uint8_t *bytes, size_t size, size_t *size_ret)
{
	void *file = malloc(size ? size : 1);

	if (file)
		memcpy(file, bytes, size);
	*size_ret = size;
	return file;
}

static void *with_head(const struct cache_key *key, const uint64_t *asked, size_t count,
		       const uint8_t *body, size_t size, size_t *size_ret)
{
	const struct cache_identity identity = { .changed_ns = 2 };
	struct cache_entry_head head =
		cache_entry_head_make(key, &identity, asked, count, body, size);
	char *file;

	*size_ret = sizeof(head) + count * sizeof(*asked) + size;
	file = malloc(*size_ret);
	if (!file)
		return NULL;
	memcpy(file, &head, sizeof(head));
	memcpy(file + sizeof(head), asked, count * sizeof(*asked));
	memcpy(file + sizeof(head) + count * sizeof(*asked), body, size);
	return file;
}

static void expect(const char *broken)
{
	if (!broken)
		return;
	fprintf(stderr, "not so: %s\n", broken);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct worker_page pages[WORKER_MAX_PAGES];
	struct cache_identity identity;
	struct worker_answer answer;
	struct cache_key key = { .place = 0 };
	size_t request, count, length;
	void *file;

	if (!size)
		return 0;
	request = (bytes[0] & 0x7f) % (sizeof(requests) / sizeof(requests[0]));
	count = requests[request].count;
	key.part = count ? (uint32_t)requests[request].asked[0] : CACHE_PART_FACTS;
	// An answer begins with the hash of its file, of which the entry is to be.
	memcpy(key.htlhash, bytes + 1, size < 33 ? size - 1 : 32);
	if (bytes[0] & WHOLE_FILE)
		file = as_it_is(bytes + 1, size - 1, &length);
	else
		file = with_head(&key, requests[request].asked, count, bytes + 1, size - 1,
				 &length);
	if (file &&
	    cache_entry_read(file, length, &key, pages, &identity, &answer) == CACHE_ENTRY_SOUND)
		expect(promises_of_pages(&(struct promised){ &answer, answer.body,
							     answer.body_bytes, answer.offsets,
							     answer.offset_count }));
	free(file);
	return 0;
}
