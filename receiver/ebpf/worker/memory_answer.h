/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of requests and answers about the memory of a process (protocol.h: ATTACH, NAMES):
 * answered inside the sandbox, checked outside. One thread at a time.
 */
#pragma once

#include "protocol.h"
#include "worker.h"

#include "runtimes/runtime.h"

/* What a request asks for; borrows from it. */
struct memory_asked {
	struct runtime_process process; /* not of MAP */
	const struct runtime_frame *frames;
	size_t frame_count;
};

/* Read what @asked_count words at @asked ask. False: that is no request. */
bool memory_asked_read(enum protocol_kind kind, const uint64_t *asked, size_t asked_count,
		       struct memory_asked *ret);

/*
 * In the worker: answer @asked, of @kind, from @fd, into memory the caller frees. Returns 0,
 * -ENOMEM, or -ESRCH of a process to look at whose memory has gone.
 */
int memory_answer_write(enum protocol_kind kind, const struct memory_asked *asked, int fd,
			void **body_ret, size_t *bytes_ret);

/*
 * Check every byte of @body (aligned to 8) and make its text printable in place. @ret borrows from
 * @body. False: the worker broke the protocol. They set neither `file` nor `offsets`.
 */
bool memory_answer_read_found(void *body, size_t bytes, struct worker_answer *ret);
bool memory_answer_read_names(enum protocol_kind kind, void *body, size_t bytes,
			      const uint64_t *asked, size_t asked_count, struct worker_answer *ret);
