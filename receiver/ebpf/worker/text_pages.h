/* SPDX-License-Identifier: Apache-2.0 */
/* Which pages of a file have rules, and which of them a request is about. Any thread. */
#pragma once

#include "worker.h"

/* Numbers of pages, limit exclusive. */
struct text_pages {
	uint32_t first, limit;
};

/*
 * From the first to the last byte of code in @segments; first = limit when there is none, or some
 * of it lies where no page number reaches (from 2^48 - 64 KiB on).
 */
struct text_pages text_pages_find(const struct worker_segment *segments, size_t count);

/* How many pages a request for @asked_count ones is about: with 0, those of a small file's text. */
size_t text_pages_wanted(const struct text_pages *text, size_t asked_count);
