/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths, names and attributes, each kept once and counted. A text that was lent out stays readable
 * until the next sweep, also when nobody refers to it any more. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
	struct text *next; /* in its bucket */
	uint32_t hash;
	uint32_t references;
	uint32_t length : 31;
	bool lent : 1;
	char bytes[]; /* NUL-terminated; attributes have NULs inside too */
};

struct texts {
	struct text **buckets; /* owned */
	size_t bucket_count;   /* power of two, or 0 */
	size_t count;
	size_t unused;       /* texts without references... */
	size_t unused_bytes; /* ...and their memory */
	size_t memory;       /* bytes */
	size_t max_bytes;    /* texts_take fails beyond */
};

void texts_init(struct texts *texts, size_t max_bytes);
void texts_deinit(struct texts *texts);

/* A new reference to the text of @length bytes; NULL without memory. For the empty text the budget
 * is not looked at. */
struct text *texts_take(struct texts *texts, const char *bytes, size_t length);
struct text *texts_share(struct texts *texts, struct text *text); /* one more; accepts NULL */
void texts_release(struct texts *texts, struct text *text);       /* accepts NULL */

/* Its bytes, which can be read until the next sweep. */
const char *text_lend(struct text *text);

/* Free what nobody refers to; what is lent out, too, or not. */
void texts_sweep(struct texts *texts);
void texts_reclaim(struct texts *texts);

/* Memory that was taken for texts which are referred to, bytes. */
size_t texts_used(const struct texts *texts);
