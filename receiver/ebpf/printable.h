/* SPDX-License-Identifier: Apache-2.0 */
/* Text that profiled programs choose, for terminals. Any thread. */
#pragma once

#include <stddef.h>

/*
 * Replace each byte of a control character (C0, DEL, C1) in the @length bytes of UTF-8 at @text by
 * '?': they would move the cursor of whoever prints it.
 */
void printable_strip_controls(char *text, size_t length);
