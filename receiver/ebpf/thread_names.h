/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the threads of a batch are called: as their language runtime has it, if that can be read,
 * else as the system has it, which ends after 15 bytes. One thread at a time.
 */
#pragma once

#include "capture.h"

#include <profcol/batch.h>

/* All zero is an empty one. */
struct thread_names {
	VECTOR(uint32_t) comms;   /* ids of attributes: of each comm of a capture... */
	VECTOR(uint32_t) threads; /* ...and of each thread; 0: its name is not known */
};

void thread_names_deinit(struct thread_names *names);

/* Of @capture, once names were waited for (locations_build). False without memory. */
bool thread_names_build(struct thread_names *names, const struct capture *capture,
			struct process_memory *memory, struct profcol_builder *builder);

/* The id of the attribute thread.name of @sample; 0: an exec was giving it another name. */
uint32_t thread_names_of(const struct thread_names *names, const struct capture *capture,
			 const struct capture_sample *sample);
