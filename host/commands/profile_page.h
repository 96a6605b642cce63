/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call tree in the browser: the page, served at localhost under a path that nobody else of the
 * machine can guess, until SIGINT or SIGTERM.
 */
#pragma once

#include "flame/flame.h"

#include <profcol/errors.h>

/* Prints the address to @stream, and returns when a signal has come. Main thread; changes how it
 * takes signals, back at the end. UNAVAILABLE without the page in the program. */
PROFCOL_MUST_CHECK struct profcol_error *profile_page_serve(struct flame *flame, bool has_base,
							    FILE *stream);
