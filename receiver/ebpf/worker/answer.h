/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of an answer: written inside the sandbox, checked outside. One thread
 * at a time.
 */
#pragma once

#include "image.h"
#include "protocol.h"
#include "worker.h"

/*
 * Answer @offsets (at most WORKER_MAX_OFFSETS) from @image, whose symbols have been read, into
 * memory the caller frees. Returns 0 or -ENOMEM.
 */
int answer_write(const struct image *image, const uint64_t *offsets, size_t offset_count,
		 void **body_ret, size_t *bytes_ret);

/* The same for @pages (at most WORKER_MAX_PAGES), from an image whose source has been read. */
int answer_write_pages(const struct image *image, const uint64_t *pages, size_t page_count,
		       void **body_ret, size_t *bytes_ret);

/*
 * Check every byte of @body (aligned to 8) and make its text printable in place. @ret borrows from
 * @body. False: the worker broke the protocol, or left out an offset without saying so. Sets
 * neither `file` nor `offsets`.
 */
bool answer_read(void *body, size_t bytes, const uint64_t *offsets, size_t offset_count,
		 struct worker_answer *ret);

/* The same for an answer to @asked pages. @ret borrows from @pages, too. */
bool answer_read_pages(void *body, size_t bytes, const uint64_t *asked, size_t asked_count,
		       struct worker_page pages[WORKER_MAX_PAGES], struct worker_answer *ret);
