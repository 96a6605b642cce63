/* SPDX-License-Identifier: Apache-2.0 */
/* How a call tree lies in memory. Private to lib/flame. */
#pragma once

#include "flame.h"

#include "base/base.h"

/* String ids, but for the line. Without padding: it is hashed and compared as bytes. */
struct flame_frame {
	uint32_t name;    /* of the function; 0 = unknown */
	uint32_t file;    /* of the code: the mapping's */
	uint32_t source;  /* where the function is written */
	uint32_t line;    /* where it begins there; 0 = unknown */
	uint32_t kind;    /* profile.frame.type; or one of those below */
	uint32_t inlined; /* 1 = into the frame above it */
};

/* Kinds of frames that are none of a program. */
#define FLAME_KIND_GROUP "group" /* a value of the attribute that samples are grouped by */
#define FLAME_KIND_CUT   "cut"   /* what is left out, added up */

struct flame_node {
	uint32_t parent; /* before it in the table; of the root itself */
	uint32_t frame;
	int64_t self[2]; /* by enum flame_side */
};

struct flame {
	char *type, *unit, *group; /* owned; the first two NULL until they are known */
	struct arena *texts;       /* owned */
	VECTOR(struct profcol_text) strings;
	VECTOR(struct flame_frame) frames; /* 0 is the root's */
	VECTOR(struct flame_node) nodes;   /* 0 is the root */
	struct intern string_index, frame_index, node_index;
	uint64_t hash_seed; /* random: names come from hostile files */
	int64_t total[2];
	bool out_of_memory;
};

/* Each gives the id, 0 without memory, which out_of_memory then says. */
uint32_t flame_string(struct flame *flame, const char *bytes, size_t length);
uint32_t flame_frame(struct flame *flame, const struct flame_frame *frame);
uint32_t flame_child(struct flame *flame, uint32_t parent, uint32_t frame);

int64_t flame_sum(int64_t left, int64_t right); /* the nearest number where it does not fit */

/* For each node its own and its children's values; the caller's to free(). NULL without memory. */
int64_t *flame_totals(const struct flame *flame, enum flame_side side);
