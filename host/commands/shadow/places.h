/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places in code as two profilers name them, so that one can be found again at the other: a file,
 * by whichever build id both know, an address in it and, if there is one, a name. Each once.
 * Bounded: what does not fit any more is PLACE_NONE, and counted. One thread at a time.
 */
#pragma once

#include "base/base.h"

enum {
	PLACE_NONE = 0,    /* nowhere: the first place */
	PLACE_NO_FILE = 0, /* of interpreters and compilers at run time */
	PLACE_KERNEL = 1,  /* the file that all code of the kernel is in; its addresses are 0 */
};

struct place {
	uint64_t address; /* in the file; 0 where there is no file, and in the kernel */
	uint32_t file;
	uint32_t name; /* text id; 0 = has none */
	bool own;      /* our own receiver has seen it */
};

struct places_text {
	const char *bytes; /* NUL-terminated, control characters replaced */
	uint32_t file;     /* of a text that names a file: which; else 0 */
};

struct places {
	struct arena *memory; /* owned, as all of it */
	VECTOR(struct places_text) texts;
	VECTOR(uint32_t) files; /* text id of the last part of its path */
	VECTOR(struct place) items;
	struct intern text_index, item_index;
	uint64_t seed;    /* of hashes: random, since names are a peer's */
	uint64_t refused; /* times that there was no room for a place, or its name */
};

/* False without memory. */
bool places_init(struct places *places);
void places_deinit(struct places *places);

/* Kept up to a length, control characters replaced. 0 for an empty text, and where there is no
 * room. */
uint32_t places_add_text(struct places *places, const char *bytes, size_t length);

const char *places_text(const struct places *places, uint32_t id);

enum { PLACES_FILE_IDS = 3 }; /* kinds of build ids */

struct places_file {
	/* Build ids, each with its kind in front, NUL-terminated; or NULL. */
	const char *ids[PLACES_FILE_IDS];
	const char *path; /* NUL-terminated; "" = not known */
};

/* The file with one of these build ids; without any, the one with that name. PLACE_NO_FILE if
 * nothing is known of it, and where there is no room. */
uint32_t places_add_file(struct places *places, const struct places_file *file);

uint32_t places_add(struct places *places, const struct place *place);
