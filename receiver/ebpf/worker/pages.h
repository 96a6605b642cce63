/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of an answer about pages that lies before its text (protocol.h: from tables to
 * contents). One thread at a time.
 */
#pragma once

#include "image.h"
#include "protocol.h"

/* As answer_write_pages, but that part only. */
int pages_write(const struct image *image, const uint64_t *asked, size_t asked_count, void **ret,
		size_t *bytes_ret);

/*
 * Check every byte of @tables (aligned to 8) into @ret, whose segments are there and sound; @ret
 * then borrows from @tables and @pages. False: the worker broke the protocol.
 */
bool pages_read(const void *tables, size_t bytes, const uint64_t *asked, size_t asked_count,
		struct worker_page pages[WORKER_MAX_PAGES], struct worker_answer *ret);
