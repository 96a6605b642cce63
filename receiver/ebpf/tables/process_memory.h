/* SPDX-License-Identifier: Apache-2.0 */
/* What a runtime finds in the memory of a process, as it is now. Any thread. */
#pragma once

#include "attached.h"

/*
 * Look at @attached. With nothing found, or when its memory does not answer, the progress is 0. It
 * may wait: for the quarter of a second that one is let, and for the read that is under way then.
 */
void process_memory_look(struct processes *processes, const struct attached *attached,
			 struct runtime_found *ret);
