/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of many lines, in memory, up to TEXT_MAX_BYTES; what does not fit is left out
 * and `cut` says so. One thread at a time.
 *
 * Foreign strings go in through text_add_string() only: names come from the
 * files of profiled programs and may hold anything.
 */
#pragma once

#include <profcol/batch.h>

#include <stdbool.h>
#include <stddef.h>

enum {
	TEXT_MAX_BYTES = 16 << 20,
	TEXT_STRING_MAX_BYTES = 1024, /* of one string; the rest is given as a count */
};

struct text {
	char *bytes; /* owned; not terminated */
	size_t length, capacity;
	bool cut;
};

void text_deinit(struct text *text);

void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * @string as it can be shown on a terminal: control characters (C0, DEL, C1) and
 * what is not UTF-8 as \n, \t or \xNN.
 */
void text_add_string(struct text *text, struct profcol_text string);
