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

struct locations {
	VECTOR(uint32_t) ids; /* location id of each frame of the capture */
	VECTOR(struct symbol_query) queries;
	VECTOR(uint32_t) query_frames; /* the frame each query is for */
};

void locations_deinit(struct locations *locations);

/* Resolve every frame of @capture into @builder, waiting for names until @deadline_ns. False
 * without memory; what the builder could not add shows when it is sealed. */
bool locations_build(struct locations *locations, const struct capture *capture,
		     struct processes *processes, struct symbols *symbols, uint64_t deadline_ns,
		     struct profcol_builder *builder);
