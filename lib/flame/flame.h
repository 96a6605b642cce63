/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call trees: where the time went, for people. A tree is made of one or more batches, and
 * written as JSON for the page, as a picture (SVG), as the page with the data in it (HTML), or as
 * the hottest functions in a table. The one header that other folders include.
 *
 * One thread at a time; assets: any.
 */
#pragma once

#include <profcol/batch.h>
#include <profcol/errors.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct flame;

enum {
	FLAME_DEPTH_MAX = 2048,    /* frames of a stack; those nearer to the leaf are one frame */
	FLAME_NODES_MAX = 1 << 22, /* of a tree */
};

/* A tree has two values for each frame, for a difference. */
enum flame_side { FLAME_NOW, FLAME_BASE };

struct flame_settings {
	/* The kind of sample that counts: "samples" and "count". NULL: the first batch's largest
	 * kind by events; then flame_kind() says which. Copied. */
	const char *type, *unit;
	/* Key of an attribute of samples or resources, e.g. "service.name": its values are the
	 * frames next to the root. NULL = none. Copied. */
	const char *group;
};

struct flame *flame_create(const struct flame_settings *settings); /* NULL without memory */
void flame_destroy(struct flame *flame);                           /* accepts NULL */

static inline void flame_cleanup(struct flame **flame)
{
	flame_destroy(*flame);
}
#define FLAME_CLEANUP __attribute__((cleanup(flame_cleanup)))

/*
 * Add the samples of @batch, borrowed, that are of the flame's kind. NO_MEMORY, and REJECTED past
 * FLAME_NODES_MAX; UNAVAILABLE past @deadline_ns (CLOCK_MONOTONIC; UINT64_MAX = none): the flame is
 * then of no use.
 */
PROFCOL_MUST_CHECK struct profcol_error *flame_add(struct flame *flame,
						   const struct profcol_batch *batch,
						   enum flame_side side, uint64_t deadline_ns);

/* The sum of all samples; what does not fit is the nearest number. */
int64_t flame_total(const struct flame *flame, enum flame_side side);

/* The kind that is counted: borrowed; "" before the first batch that decides. */
const char *flame_type(const struct flame *flame);
const char *flame_unit(const struct flame *flame);

/* ---- JSON (json.c): docs/web.md has the format ---- */

struct flame_json_settings {
	size_t nodes_max; /* smaller frames beyond are added up by their caller; 0 = all */
	bool has_base;    /* write the values of FLAME_BASE, too */
	/* Members for the object: "\"from\":1,\"to\":2"; NULL = none. */
	const char *members;
};

/* NO_MEMORY; errors of @stream are its own. */
PROFCOL_MUST_CHECK struct profcol_error *
flame_write_json(struct flame *flame, const struct flame_json_settings *settings, FILE *stream);

/* @text in quotes, whatever its bytes are; what is not UTF-8 is '?'. No '<' is left, so that it may
 * stand in HTML. */
void flame_write_json_text(FILE *stream, const char *bytes, size_t length);

/* ---- pictures and pages (svg.c, html.c) ---- */

/* A picture with @title, 1200 wide; frames under a third of a pixel are left out. NO_MEMORY. */
PROFCOL_MUST_CHECK struct profcol_error *flame_write_svg(struct flame *flame, const char *title,
							 FILE *stream);

/* The page in one file, with the data of @settings in it. UNAVAILABLE when the program was built
 * without the page. */
PROFCOL_MUST_CHECK struct profcol_error *
flame_write_html(struct flame *flame, const struct flame_json_settings *settings, FILE *stream);

enum flame_asset { FLAME_SCRIPT, FLAME_STYLE };

/* Part of the page; {NULL, 0} when the program was built without it. */
struct profcol_text flame_asset(enum flame_asset asset);

/* ---- the hottest functions (top.c) ---- */

struct flame_function {
	struct profcol_text name, file; /* borrowed; the file is that of the code, "" unknown */
	int64_t self, total;            /* was running; or had called what was, once a stack */
};

/*
 * The functions of @side, the largest self first, then total, then by name. *@ret is the caller's
 * to free() and holds *@count_ret, at most @limit. NO_MEMORY.
 */
PROFCOL_MUST_CHECK struct profcol_error *flame_top(struct flame *flame, enum flame_side side,
						   size_t limit, struct flame_function **ret,
						   size_t *count_ret);
