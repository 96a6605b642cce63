/* SPDX-License-Identifier: Apache-2.0 */
/* Names that are too long to be told in full stay apart when they are cut. Any thread. */
#pragma once

#include <stddef.h>

enum { CUT_NAME_MARK = 12 }; /* bytes: "...#0123abcd" */

/* Write over the last CUT_NAME_MARK bytes of the @length at @name, which are what was kept of the
 * @whole_bytes at @whole, or of what that means: a mark, and a hash of the whole. */
void cut_name_mark(char *name, size_t length, const char *whole, size_t whole_bytes);
