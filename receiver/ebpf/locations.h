/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of a capture as locations of a batch: address to mapping, to file,
 * to function.
 *
 * Threads: the reporter's.
 */
#pragma once

#include "capture.h"
#include "symbols/symbols.h"

#include <profcol/batch.h>

/* A frame of the capture on its way to a location. */
struct located_frame {
	struct process_mapping mapping; /* that it lies in; limit 0 = none, or in the kernel */
	/* An address in nothing executable of a process whose mappings are known. If the kernel's
	 * walker took it for a return address, it is a piece of data. */
	bool not_code;
	bool is_placed; /* a stack has it */
};

struct locations {
	/* Location id of each frame of the capture. 0: it lies beyond locations_code_end() in every
	 * stack, so that nothing of it shows. */
	VECTOR(uint32_t) ids;
	VECTOR(struct located_frame) frames;
	VECTOR(struct symbol_query) queries;
	VECTOR(uint32_t) query_frames; /* the frame each query is for */
};

void locations_deinit(struct locations *locations);

/* The location that ends a cut stack and says why. */
uint32_t locations_add_reason(struct profcol_builder *builder, const char *reason);

/*
 * Where in stack_frames the frames of stack number @stack stop to be code. That is its limit,
 * unless the kernel's own walker made it: then the first return address of the user's that is none,
 * where a frame pointer had gone astray. After locations_build().
 */
uint32_t locations_code_end(const struct locations *locations, const struct capture *capture,
			    uint32_t stack);

/* Resolve every frame of @capture that a stack has into @builder, waiting for names until
 * @deadline_ns. False without memory; what the builder could not add shows when it is sealed. */
bool locations_build(struct locations *locations, const struct capture *capture,
		     struct processes *processes, struct symbols *symbols, uint64_t deadline_ns,
		     struct profcol_builder *builder);
