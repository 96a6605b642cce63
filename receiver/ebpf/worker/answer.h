/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of an answer: written inside the sandbox, checked outside. One thread
 * at a time.
 */
#pragma once

#include "function_index.h"
#include "functions_make.h"
#include "image.h"
#include "protocol.h"
#include "worker.h"

/*
 * Answer @offsets (at most WORKER_MAX_OFFSETS) from @index into memory the caller frees. Returns 0
 * or -ENOMEM.
 */
int answer_write(struct function_index *index, const uint64_t *offsets, size_t offset_count,
		 void **body_ret, size_t *bytes_ret);

/* The same for an index that has been made. */
int answer_write_index(const struct functions_made *made, void **body_ret, size_t *bytes_ret);

/* The same for @pages (at most WORKER_MAX_PAGES), from an image whose source has been read. */
int answer_write_pages(const struct image *image, const uint64_t *pages, size_t page_count,
		       void **body_ret, size_t *bytes_ret);

/* The same for ELF @addresses (at most WORKER_MAX_PLACES), from an image whose lines have been
 * read. */
int answer_write_lines(const struct image *image, const uint64_t *addresses, size_t count,
		       void **body_ret, size_t *bytes_ret);

/*
 * Check every byte of @body (aligned to 8) and make its text printable in place. @ret borrows from
 * @body. False: the worker broke the protocol, or left out an offset without saying so. Sets
 * neither `file` nor `offsets`.
 */
bool answer_read(void *body, size_t bytes, const uint64_t *offsets, size_t offset_count,
		 struct worker_answer *ret);

/* The same for an answer about an index. */
bool answer_read_index(void *body, size_t bytes, struct worker_answer *ret);

/* The same for an answer to @asked pages. @ret borrows from @pages, too. */
bool answer_read_pages(void *body, size_t bytes, const uint64_t *asked, size_t asked_count,
		       struct worker_page pages[WORKER_MAX_PAGES], struct worker_answer *ret);

/* The same for an answer to @count addresses; it has no facts. */
bool answer_read_lines(void *body, size_t bytes, size_t count, struct worker_answer *ret);
