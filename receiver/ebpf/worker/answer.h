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
 * Answer @offsets (at most WORKER_MAX_OFFSETS) from @image into memory the caller frees. Returns 0
 * or -ENOMEM.
 */
int answer_write(const struct image *image, const uint64_t *offsets, size_t offset_count,
		 void **body_ret, size_t *bytes_ret);

/*
 * Check every byte of @body (aligned to 8) and make its text printable in place. @ret borrows from
 * @body. False: the worker broke the protocol, or left out an offset without saying so. Sets
 * neither `file` nor `offsets`.
 */
bool answer_read(void *body, size_t bytes, const uint64_t *offsets, size_t offset_count,
		 struct worker_answer *ret);
