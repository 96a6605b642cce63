/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a reader calls a frame: the function, and the file that its code came
 * from, so that two programs' `main` stay apart. Pure; any thread.
 */
#pragma once

#include <profcol/batch.h>

struct text;

/* Equal frames have equal ids: strings of a batch are interned. */
struct frame {
	uint32_t name; /* string id: of the function, or what stands for one; 0 = unknown */
	uint32_t file; /* string id; 0 = unknown */
};

/* Line @line of @location (0 = the innermost inlined call); one without lines has no name. */
struct frame frame_of_location(const struct profcol_batch *batch,
			       const struct profcol_location *location, uint32_t line);

/* "name (file)", the file without its directory; for what has no name "[file]", or "[unknown]". */
void frame_add(struct text *text, const struct profcol_batch *batch, struct frame frame);
