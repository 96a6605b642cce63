/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of lines, which names_draft.h writes, checked outside of the sandbox. One thread at a
 * time.
 */
#pragma once

#include "protocol.h"

/*
 * Check every byte of @body (aligned to 8), an answer to @asked_count places, and make its text
 * printable in place. @traces: what enum runtime_trace may be in it. @ret borrows from @body.
 * False: the worker broke the protocol. Sets neither `file` nor `offsets`.
 */
bool names_read(void *body, size_t bytes, size_t asked_count, uint32_t traces,
		struct worker_answer *ret);
