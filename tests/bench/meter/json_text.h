/* SPDX-License-Identifier: Apache-2.0 */
/* Names out of the kernel as JSON strings. */
#pragma once

#include <stddef.h>
#include <stdio.h>

/*
 * Write the text of at most @size bytes at @bytes, which a NUL may end earlier, in quotes.
 * Processes choose their names: what JSON does not take as it is becomes '?'.
 */
void json_text_write(FILE *out, const char *bytes, size_t size);
