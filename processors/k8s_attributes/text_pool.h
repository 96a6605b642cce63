/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that many pods share: each is kept once, as long as somebody refers to it. One thread at a
 * time, but for reading texts. Private.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct text {
	struct text *next; /* of its bucket */
	uint32_t references;
	uint32_t hash;
	uint32_t length;
	char bytes[]; /* and a NUL */
};

/* Zeroed at the beginning. */
struct text_pool {
	struct text **buckets; /* owned */
	size_t bucket_count;   /* 0 or a power of two */
	size_t count;
	size_t bytes; /* of all texts, with what they take of the heap */
};

/* All references have to be released before. */
void text_pool_deinit(struct text_pool *texts);

/* A reference to that text; NULL without memory. At most UINT32_MAX bytes. */
struct text *text_pool_take(struct text_pool *texts, const char *bytes, size_t length);
struct text *text_pool_share(struct text *text);                    /* accepts NULL */
void text_pool_release(struct text_pool *texts, struct text *text); /* accepts NULL */

/* Heap of the pool. */
size_t text_pool_memory(const struct text_pool *texts);
