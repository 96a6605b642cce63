/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of a capture as locations of a batch: address to mapping, to file,
 * to function.
 *
 * Threads: the reporter's.
 */
#pragma once

#include "capture.h"
#include "config.h"
#include "process_memory/process_memory.h"
#include "symbols/symbols.h"

#include <profcol/batch.h>

/* A frame of the capture on its way to a location. */
struct located_frame {
	struct process_mapping mapping; /* that it lies in; limit 0 = none, or in the kernel */
	/* An address in nothing executable of a process whose mappings are known. If the kernel's
	 * walker took it for a return address, it is a piece of data. */
	bool not_code;
	bool is_queried; /* it is in a file, and its name is looked up */
	bool is_told;    /* the process alone may say what it is called */
	bool has_name;   /* a function is known for it, or why there is none */
	bool is_gap;     /* it stands for frames that are not here */
	bool is_shown;   /* a stack shows it; only of what stacks may leave out */
	uint32_t uses;   /* how often it stands in stacks */
	uint32_t trace;  /* of enum runtime_trace: how it stands in its runtime's own stacks */
	uint32_t file;   /* that it lies in; PROCESS_NO_FILE: none, or in the kernel */
};

/* A place says where a frame is: in which file, or in what else has addresses of its own, and where
 * in it. */
struct frame_place {
	uint64_t offset;
	uint32_t of; /* number of the file; PROCESS_NO_FILE: the kernel; one less: what has no file
		      */
	uint32_t frame;
	bool is_common; /* few others stand in stacks more often */
};

struct locations {
	/* Location id of each frame of the capture. 0: no stack shows it (locations_shown()). */
	VECTOR(uint32_t) ids;
	VECTOR(struct located_frame) frames;
	VECTOR(struct frame_place) places;   /* in whose order locations are made */
	VECTOR(uint32_t) counts;             /* how often each of these stands in stacks */
	VECTOR(struct kernel_symbol) kernel; /* of the kernel's frames; name NULL: not known */
	VECTOR(struct symbol_query) queries;
	VECTOR(uint32_t) query_frames; /* the frame each query is for */
	VECTOR(uint32_t) shown;        /* frames of one stack */
	size_t gaps;                   /* frames that stand for others */
};

void locations_deinit(struct locations *locations);

/* Samples of @capture in whose stacks a frame stands for others. After locations_build(). */
int64_t locations_count_gaps(const struct locations *locations, const struct capture *capture);

/* The location that ends a cut stack and says why. */
uint32_t locations_add_reason(struct profcol_builder *builder, const char *reason);

/*
 * Where in stack_frames the frames of stack number @stack stop to be code. That is its limit,
 * unless the kernel's own walker made it: then the first return address of the user's that is none,
 * where a frame pointer had gone astray. After locations_build().
 */
uint32_t locations_code_end(const struct locations *locations, const struct capture *capture,
			    uint32_t stack);

/*
 * The frames that stack number @stack shows, leaf first, to @frames_ret, which has room for all of
 * a stack's: those up to locations_code_end(), without the wrappers that its runtime's own stacks
 * leave out. Returns how many. After locations_build().
 */
uint32_t locations_shown(const struct locations *locations, const struct capture *capture,
			 uint32_t stack, uint32_t *frames_ret);

/* Who knows what of frames; all borrowed. */
struct location_parts {
	struct processes *processes;
	struct process_memory *memory;
	struct symbols *symbols;
	enum unnamed_functions unnamed; /* what becomes of functions without a name */
	bool system_names; /* functions have the names of symbol tables and runtimes, too */
};

/* Resolve every frame of @capture that a stack has into @builder, waiting for names until
 * @deadline_ns. False without memory; what the builder could not add shows when it is sealed. */
bool locations_build(struct locations *locations, const struct capture *capture,
		     const struct location_parts *parts, uint64_t deadline_ns,
		     struct profcol_builder *builder);
