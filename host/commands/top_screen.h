/* SPDX-License-Identifier: Apache-2.0 */
/* The screen of `top`: lines cut to the size of a terminal. */
#pragma once

#include "flame/flame.h"

#include <stdio.h>

struct top_size {
	unsigned int columns, rows; /* at least 1 */
};

/* Of the terminal @fd; 80 by 24 where it does not say. */
struct top_size top_size_of(int fd);

/*
 * Draw @head, one line without its end, and below it the hottest functions of @flame, as many as
 * fit into @size, over all that the terminal at @stream shows. A character counts as a column.
 * NO_MEMORY.
 */
PROFCOL_MUST_CHECK struct profcol_error *top_screen_draw(struct flame *flame, const char *head,
							 struct top_size size, FILE *stream);
