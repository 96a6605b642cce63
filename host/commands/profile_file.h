/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of profiles, whoever wrote them: pprof (gzip or bare), OTLP (a request, or requests each
 * behind its length in 4 bytes), folded stacks. One thread.
 */
#pragma once

#include "flame/flame.h"

#include <profcol/errors.h>

/* Add what is in the file at @path to @flame. The message names the file. */
PROFCOL_MUST_CHECK struct profcol_error *profile_file_add(const char *path, struct flame *flame,
							  enum flame_side side);

enum profile_picture { PICTURE_HTML, PICTURE_SVG };

/* By the ending, ".html" or ".svg". False for another one. */
bool profile_picture_form(const char *path, enum profile_picture *ret);

/*
 * Write @flame as @form to a new file at @path, or over the one that is there. SYSTEM when that
 * fails; UNAVAILABLE for HTML without the page in the program.
 */
PROFCOL_MUST_CHECK struct profcol_error *profile_picture_write(struct flame *flame, bool has_base,
							       const char *title,
							       enum profile_picture form,
							       const char *path);

/* The @count functions with the largest self, as lines on @stream. NO_MEMORY. */
PROFCOL_MUST_CHECK struct profcol_error *profile_print_hottest(struct flame *flame, size_t count,
							       FILE *stream);
