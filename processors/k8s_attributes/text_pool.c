// SPDX-License-Identifier: Apache-2.0
#include "text_pool.h"

#include "base/base.h"

#include <string.h>

enum { BUCKETS_AT_FIRST = 64, HEAP_OVERHEAD = 16 };

void text_pool_deinit(struct text_pool *texts)
{
	free(texts->buckets);
	*texts = (struct text_pool){ 0 };
}

static bool grow(struct text_pool *texts)
{
	size_t count = texts->bucket_count ? 2 * texts->bucket_count : BUCKETS_AT_FIRST;
	struct text **buckets = calloc(count, sizeof(struct text *));

	if (!buckets)
		return false;
	for (size_t i = 0; i < texts->bucket_count; i++) {
		struct text *text = texts->buckets[i], *next;

		for (; text; text = next) {
			struct text **bucket = &buckets[text->hash & (count - 1)];

			next = text->next;
			text->next = *bucket;
			*bucket = text;
		}
	}
	free(texts->buckets);
	texts->buckets = buckets;
	texts->bucket_count = count;
	return true;
}

static size_t text_bytes(size_t length)
{
	return sizeof(struct text) + length + 1 + HEAP_OVERHEAD;
}

static struct text *add(struct text_pool *texts, const char *bytes, size_t length, uint32_t hash)
{
	struct text **bucket, *text;

	if (texts->count >= texts->bucket_count && !grow(texts))
		return NULL;
	text = malloc(sizeof(*text) + length + 1);
	if (!text)
		return NULL;
	bucket = &texts->buckets[hash & (texts->bucket_count - 1)];
	*text = (struct text){
		.next = *bucket, .references = 1, .hash = hash, .length = (uint32_t)length
	};
	memcpy(text->bytes, bytes, length);
	text->bytes[length] = '\0';
	*bucket = text;
	texts->count++;
	texts->bytes += text_bytes(length);
	return text;
}

struct text *text_pool_take(struct text_pool *texts, const char *bytes, size_t length)
{
	uint32_t hash = intern_hash(bytes, length);
	struct text *text =
		texts->bucket_count ? texts->buckets[hash & (texts->bucket_count - 1)] : NULL;

	while (text &&
	       (text->hash != hash || text->length != length || memcmp(text->bytes, bytes, length)))
		text = text->next;
	return text ? text_pool_share(text) : add(texts, bytes, length, hash);
}

struct text *text_pool_share(struct text *text)
{
	if (text)
		text->references++;
	return text;
}

void text_pool_release(struct text_pool *texts, struct text *text)
{
	struct text **link;

	if (!text || --text->references)
		return;
	link = &texts->buckets[text->hash & (texts->bucket_count - 1)];
	while (*link != text)
		link = &(*link)->next;
	*link = text->next;
	texts->count--;
	texts->bytes -= text_bytes(text->length);
	free(text);
}

size_t text_pool_memory(const struct text_pool *texts)
{
	return texts->bytes + texts->bucket_count * sizeof(struct text *);
}
