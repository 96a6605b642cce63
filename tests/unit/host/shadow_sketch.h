/* SPDX-License-Identifier: Apache-2.0 */
/* What two profilers tell, as the tests of `shadow` sketch it. */
#pragma once

#include "host/commands/shadow/tally.h"

#include "base/base.h"

enum { FRAMES_MAX = 4 };

static const uint64_t second = 1000000000u;
static const uint64_t begin_ns = 1700000000 * second;

/* A frame; the leaf comes first. */
struct frame_sketch {
	const char *type, *build_id, *file, *name; /* NULL: has none */
	uint64_t address;
};

/* What a profiler tells in one batch: one stack, so often, from a time on. */
struct sketch {
	int64_t pid;
	const char *executable, *service;
	struct frame_sketch frames[FRAMES_MAX];
	uint32_t times;
	uint64_t from_ns, step_ns;
	const char *sample_type; /* NULL: samples/count */
	int64_t cpu_ns;          /* instead: a value of cpu/nanoseconds, without time stamps */
	int64_t period_ns;       /* of these; 0 = not said */
	bool same_resource;      /* as the one before */
};

/* Of @sketch its process only. */
void add_resource(struct profcol_builder *builder, const struct sketch *sketch);

/* @side tells @sketches. */
void tell_at(struct tally *tally, enum tally_side side, const struct sketch *sketches, size_t count,
	     uint64_t now_ns);
/* The same of one, at the moment that it ends. */
void tell(struct tally *tally, enum tally_side side, struct sketch sketch);

/* The other's first batch: from here on time is compared. */
struct tally *begun(void);

void cleanup_tally(struct tally **tally);
#define CLEANUP_TALLY CLEANUP(cleanup_tally)

/* A sample of the function @name at @address of the program `shop`, as ours and as one of a
 * profiler that has no names. */
struct sketch ours(const char *name, uint64_t address, uint32_t times);
struct sketch theirs(uint64_t address, uint32_t times);
