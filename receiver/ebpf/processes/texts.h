/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths, names and attributes, each kept once and counted. A text nobody refers to any more
 * stays readable until the next sweep, so that lookups can lend it out. One
 * thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct text {
	struct text *next; /* in its bucket */
	uint32_t hash;
	uint32_t references;
	uint32_t length;
	char bytes[]; /* NUL-terminated; attributes have NULs inside too */
};

struct texts {
	struct text **buckets; /* owned */
	size_t bucket_count;   /* power of two, or 0 */
	size_t count;
	size_t unused;    /* texts without references */
	size_t memory;    /* bytes */
	size_t max_bytes; /* texts_take fails beyond */
};

void texts_init(struct texts *texts, size_t max_bytes);
void texts_deinit(struct texts *texts);

/* A new reference to the text of @length bytes; NULL without memory. */
struct text *texts_take(struct texts *texts, const char *bytes, size_t length);
struct text *texts_share(struct texts *texts, struct text *text); /* one more; accepts NULL */
void texts_release(struct texts *texts, struct text *text);       /* accepts NULL */

/* Free what nobody refers to. */
void texts_sweep(struct texts *texts);
