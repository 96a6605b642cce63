// SPDX-License-Identifier: Apache-2.0
#include "texts.h"

#include "base/base.h"

#include <string.h>

enum { FIRST_BUCKETS = 256 };

void texts_init(struct texts *texts, size_t max_bytes)
{
	*texts = (struct texts){ .max_bytes = max_bytes };
}

void texts_deinit(struct texts *texts)
{
	for (size_t i = 0; i < texts->bucket_count; i++) {
		for (struct text *text = texts->buckets[i], *next; text; text = next) {
			next = text->next;
			free(text);
		}
	}
	free(texts->buckets);
	*texts = (struct texts){ 0 };
}

static struct text **bucket_of(struct texts *texts, uint32_t hash)
{
	return &texts->buckets[hash & (texts->bucket_count - 1)];
}

static size_t text_memory(size_t length)
{
	return sizeof(struct text) + length + 1;
}

static bool texts_grow(struct texts *texts)
{
	size_t count = texts->bucket_count ? texts->bucket_count * 2 : FIRST_BUCKETS;
	struct texts grown = *texts;

	grown.buckets = calloc(count, sizeof(*grown.buckets));
	if (!grown.buckets)
		return false;
	grown.bucket_count = count;
	for (size_t i = 0; i < texts->bucket_count; i++) {
		for (struct text *text = texts->buckets[i], *next; text; text = next) {
			struct text **bucket = bucket_of(&grown, text->hash);

			next = text->next;
			text->next = *bucket;
			*bucket = text;
		}
	}
	grown.memory += (count - texts->bucket_count) * sizeof(*grown.buckets);
	free(texts->buckets);
	*texts = grown;
	return true;
}

struct text *texts_share(struct texts *texts, struct text *text)
{
	if (text && !text->references++) {
		texts->unused--;
		texts->unused_bytes -= text_memory(text->length);
	}
	return text;
}

struct text *texts_take(struct texts *texts, const char *bytes, size_t length)
{
	uint32_t hash = intern_hash(bytes, length);
	struct text *text, **bucket;

	if (texts->count >= texts->bucket_count && !texts_grow(texts))
		return NULL;
	bucket = bucket_of(texts, hash);
	for (text = *bucket; text; text = text->next)
		if (text->hash == hash && text->length == length &&
		    !memcmp(text->bytes, bytes, length))
			return texts_share(texts, text);
	if (length > INT32_MAX ||
	    (length && texts->memory + text_memory(length) > texts->max_bytes))
		return NULL;
	text = malloc(text_memory(length));
	if (!text)
		return NULL;
	*text = (struct text){
		.next = *bucket,
		.hash = hash,
		.references = 1,
		.length = (uint32_t)length & INT32_MAX,
	};
	memcpy(text->bytes, bytes, length);
	text->bytes[length] = '\0';
	*bucket = text;
	texts->count++;
	texts->memory += text_memory(length);
	return text;
}

void texts_release(struct texts *texts, struct text *text)
{
	if (!text || --text->references)
		return;
	texts->unused++;
	texts->unused_bytes += text_memory(text->length);
}

const char *text_lend(struct text *text)
{
	text->lent = true;
	return text->bytes;
}

/* Free what nobody refers to, of one bucket; what is lent out if @lent. */
static void sweep_bucket(struct texts *texts, struct text **link, bool lent)
{
	while (*link) {
		struct text *text = *link;

		if (lent)
			text->lent = false;
		if (text->references || text->lent) {
			link = &text->next;
			continue;
		}
		*link = text->next;
		texts->memory -= text_memory(text->length);
		texts->unused_bytes -= text_memory(text->length);
		texts->count--;
		texts->unused--;
		free(text);
	}
}

void texts_sweep(struct texts *texts)
{
	for (size_t i = 0; i < texts->bucket_count; i++)
		sweep_bucket(texts, &texts->buckets[i], true);
}

void texts_reclaim(struct texts *texts)
{
	for (size_t i = 0; texts->unused && i < texts->bucket_count; i++)
		sweep_bucket(texts, &texts->buckets[i], false);
}

size_t texts_used(const struct texts *texts)
{
	return texts->memory - texts->unused_bytes;
}
