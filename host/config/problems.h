/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong with a configuration, collected while it is read, so that one
 * error can tell everything: `file:line:column: path: what is wrong; what to do`.
 *
 * One thread at a time.
 */
#pragma once

#include <profcol/errors.h>

#include <stdbool.h>
#include <stddef.h>

struct arena;

/* Counted from 1, columns in characters. Line 0: the whole of the source. */
struct place {
	unsigned int line, column;
	unsigned int source; /* of problems_add_source */
};

/*
 * Where in the tree a value stands, as a chain of stack variables from the value
 * to the root; NULL is the root. Rendered as "receivers::profiling::tracers::0".
 */
struct path {
	const struct path *parent;
	const char *key; /* NULL: an item of a list, at @index */
	size_t index;
};

struct problem {
	struct place place;
	size_t order;     /* of its discovery: decides between problems of one place */
	const char *text; /* with file, place and path in front */
};

struct problem_list {
	struct problem *items; /* owned */
	size_t count, capacity;
	size_t refused; /* beyond what is kept */
};

struct problems {
	struct arena *memory; /* holds the texts; borrowed until deinit */
	struct {
		const char **items; /* borrowed until deinit */
		size_t count, capacity;
	} sources; /* owned */
	struct problem_list errors, warnings;
	bool no_memory; /* the list is incomplete: nothing else counts */
};

enum { PROBLEMS_PLACE_MAX = 512 }; /* bytes of a place as text */

void problems_init(struct problems *problems, struct arena *memory);
void problems_deinit(struct problems *problems);

/*
 * What places of this number stand in: a file's path, "env:NAME", "--set a.b". The same
 * name has the same number. @name is borrowed until deinit.
 */
unsigned int problems_add_source(struct problems *problems, const char *name);

/* "pipeline.yaml:12:3"; only the source's name for line 0. An overlong name is cut. */
void problems_print_place(const struct problems *problems, struct place place,
			  char to[PROBLEMS_PLACE_MAX]);

/* The same for a message that is about @here: "line 12", or the above in another source. */
void problems_print_line(const struct problems *problems, struct place place, struct place here,
			 char to[PROBLEMS_PLACE_MAX]);

/* One more error. Control characters in it become '?', what is overlong is cut. */
void problems_add(struct problems *problems, struct place place, const struct path *path,
		  const char *format, ...) __attribute__((format(printf, 4, 5)));

/* As above, for what does not keep the configuration from being used. */
void problems_warn(struct problems *problems, struct place place, const struct path *path,
		   const char *format, ...) __attribute__((format(printf, 4, 5)));

/* No further error will be shown, only counted: effort for its text is wasted. */
bool problems_is_full(const struct problems *problems);

/* How many errors there are so far, those not kept included. */
size_t problems_count(const struct problems *problems);

/* All errors as one, in the order of the sources; NULL when there are none. */
PROFCOL_MUST_CHECK struct profcol_error *problems_error(struct problems *problems);

/* The warnings in the order of the sources, in the arena. False without memory. */
bool problems_take_warnings(struct problems *problems, const char *const **ret, size_t *count_ret);
