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
	/* Of each frame: it lies in nothing executable of a process whose mappings are known. As a
	 * return address it is a piece of data that a frame pointer gone astray led to. */
	VECTOR(bool) not_code;
	VECTOR(struct symbol_query) queries;
	VECTOR(uint32_t) query_frames; /* the frame each query is for */
};

void locations_deinit(struct locations *locations);

/* The location that ends a cut stack and says why. */
uint32_t locations_add_reason(struct profcol_builder *builder, const char *reason);

/* Resolve every frame of @capture into @builder, waiting for names until @deadline_ns. False
 * without memory; what the builder could not add shows when it is sealed. */
bool locations_build(struct locations *locations, const struct capture *capture,
		     struct processes *processes, struct symbols *symbols, uint64_t deadline_ns,
		     struct profcol_builder *builder);
