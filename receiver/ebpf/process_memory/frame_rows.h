/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of one program with their names, found by what they are. One thread at a time. */
#pragma once

#include "processes/processes.h"
#include "runtimes/runtime.h"

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum frame_state {
	FRAME_WANTED, /* to be read */
	FRAME_ASKED,  /* is being read */
	FRAME_NAMED,
	/* Not read, and why: */
	FRAME_GONE,       /* as enum runtime_outcome */
	FRAME_UNREADABLE, /* the same */
	FRAME_MALFORMED,  /* the same */
	FRAME_ENDED,      /* the program has ended before */
	FRAME_SILENT,     /* its memory does not answer, or that of others of its owner did not */
	FRAME_UNKNOWN,    /* the runtime is not known there any more */
	FRAME_CROWDED,    /* there was no room, or no time */
	FRAME_STATES,
};

struct frame_line {
	const char *function, *file, *system_name; /* "": not known */
	uint32_t line, start_line, column;
	bool is_gap; /* it stands for frames that are not here */
};

/* Of a frame, the innermost function first. */
struct frame_name {
	size_t bytes;       /* of all of it */
	uint64_t opened_ns; /* CLOCK_MONOTONIC: the memory was that of the program then, if it
			       still ran it */
	uint64_t read_ns;   /* it was read then or later: often long after that */
	size_t line_count;
	struct frame_line lines[];
};

struct named_frame {
	uint32_t runtime;
	enum frame_state state;
	uint64_t retry_ns;         /* not to be read again before */
	uint64_t last_ns;          /* when it was asked for last */
	struct code_map_state map; /* in which it was looked for last; all zero: in none yet */
	struct runtime_frame frame;
	struct frame_name *name; /* owned; with FRAME_NAMED, or while it is read anew; or NULL */
};

struct frame_rows {
	VECTOR(struct named_frame) frames;
	VECTOR(uint32_t) wanted; /* rows of `frames`, in the order they were asked for */
	struct intern index;     /* of `frames` */
};

enum {
	/* Of an index, for each row: see intern.h. */
	FRAME_SLOT_BYTES = 16,
	/* Of a frame without its name, with its row of `wanted`, and what grows by doubling. */
	FRAME_ROW_BYTES = 2 * (sizeof(struct named_frame) + sizeof(uint32_t) + FRAME_SLOT_BYTES),
};

/* Free the tables of @rows; names of frames stay the caller's to free(). */
void frame_rows_deinit(struct frame_rows *rows);

/* Find the row of a frame; INTERN_MISSING: it has none. @seed is the same for all calls. */
uint32_t frame_rows_find(const struct frame_rows *rows, uint64_t seed, uint32_t runtime,
			 const struct runtime_frame *frame);

/* Add the row of a frame that has none, CROWDED; INTERN_MISSING without memory. */
uint32_t frame_rows_add(struct frame_rows *rows, uint64_t seed, uint32_t runtime,
			const struct runtime_frame *frame);

/*
 * Forget the frames, with their names, that were last asked for in the first half of the time in
 * which any was, but for those that are wanted or being read. Returns how many, and in *@bytes_ret
 * how much they took; 0, also without memory: @rows has all still.
 */
size_t frame_rows_thin(struct frame_rows *rows, uint64_t seed, size_t *bytes_ret);
