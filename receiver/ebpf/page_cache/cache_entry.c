// SPDX-License-Identifier: Apache-2.0
#include "cache_entry.h"

#include "base/base.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static const char magic[8] = "PROFCOLU";
enum { HASH_DIGITS = 32 };

void cache_entry_name(const struct cache_key *key, char ret[CACHE_ENTRY_NAME_BYTES])
{
	if (key->part == CACHE_PART_FACTS)
		snprintf(ret, CACHE_ENTRY_NAME_BYTES, "%.32s-%" PRIx64 "-%" PRIx64 "-facts",
			 key->htlhash, key->place, key->inode);
	else
		snprintf(ret, CACHE_ENTRY_NAME_BYTES, "%.32s-%" PRIx64 "-%" PRIx64 "-%x",
			 key->htlhash, key->place, key->inode, key->part);
}

bool cache_entry_is_name(const char *name)
{
	return strspn(name, "0123456789abcdef") == HASH_DIGITS && name[HASH_DIGITS] == '-' &&
	       strlen(name) < CACHE_ENTRY_NAME_BYTES;
}

static uint64_t checksum(const struct cache_entry_head *head, const void *asked, const void *body)
{
	uint64_t sum = XXH64(head, offsetof(struct cache_entry_head, checksum), 0);

	sum = XXH64(asked, head->asked_count * sizeof(uint64_t), sum);
	return XXH64(body, head->body_bytes, sum);
}

struct cache_entry_head cache_entry_head_make(const struct cache_key *key,
					      const struct cache_identity *identity,
					      const uint64_t *asked, size_t asked_count,
					      const void *body, size_t body_bytes)
{
	struct cache_entry_head head = {
		.version = CACHE_ENTRY_VERSION,
		.machine = worker_machine(),
		.rules = cache_entry_rules,
		.place = key->place,
		.inode = key->inode,
		.part = key->part,
		.modified_ns = identity->modified_ns,
		.changed_ns = identity->changed_ns,
		.born_ns = identity->born_ns,
		.asked_count = (uint32_t)asked_count,
		.body_bytes = (uint32_t)body_bytes,
	};

	memcpy(head.magic, magic, sizeof(magic));
	memcpy(head.htlhash, key->htlhash, sizeof(head.htlhash));
	head.checksum = checksum(&head, asked, body);
	return head;
}

static bool is_of_key(const struct cache_entry_head *head, const struct cache_key *key)
{
	return !memcmp(head->htlhash, key->htlhash, sizeof(head->htlhash)) &&
	       head->place == key->place && head->inode == key->inode && head->part == key->part;
}

/* Pages ascend, as a request has them. */
static bool asked_check(const uint64_t *asked, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (asked[i] > UINT32_MAX || (i && asked[i] <= asked[i - 1]))
			return false;
	return true;
}

enum cache_entry_state cache_entry_read(void *entry, size_t bytes, const struct cache_key *key,
					struct worker_page pages[WORKER_MAX_PAGES],
					struct cache_identity *identity,
					struct worker_answer *answer)
{
	const struct cache_entry_head *head = entry;
	const uint64_t *asked = (const void *)(head + 1);
	void *body;

	if (bytes < sizeof(*head) || bytes > CACHE_ENTRY_MAX_BYTES ||
	    memcmp(head->magic, magic, sizeof(magic)))
		return CACHE_ENTRY_DAMAGED;
	if (head->version != CACHE_ENTRY_VERSION || head->machine != worker_machine() ||
	    head->rules != cache_entry_rules)
		return CACHE_ENTRY_OTHER;
	if (head->asked_count > WORKER_MAX_PAGES || head->body_bytes > CACHE_ENTRY_MAX_BYTES ||
	    bytes != sizeof(*head) + head->asked_count * sizeof(*asked) + head->body_bytes)
		return CACHE_ENTRY_DAMAGED;
	body = (char *)entry + sizeof(*head) + head->asked_count * sizeof(*asked);
	if (head->checksum != checksum(head, asked, body) || !is_of_key(head, key) ||
	    (key->part == CACHE_PART_FACTS) != !head->asked_count ||
	    !asked_check(asked, head->asked_count) ||
	    !worker_read_answer(body, head->body_bytes, asked, head->asked_count, pages, answer) ||
	    memcmp(answer->htlhash, head->htlhash, sizeof(head->htlhash)))
		return CACHE_ENTRY_DAMAGED;
	answer->offsets = asked;
	answer->offset_count = head->asked_count;
	*identity = (struct cache_identity){
		.modified_ns = head->modified_ns,
		.changed_ns = head->changed_ns,
		.born_ns = head->born_ns,
	};
	return CACHE_ENTRY_SOUND;
}
