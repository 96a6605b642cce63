/* SPDX-License-Identifier: Apache-2.0 */
/* The text of an answer: strings one after the other, each with its NUL, behind a first NUL. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Make each string of @text printable UTF-8. False when one is too long, or the ends are not NUL.
 */
bool answer_text_check(char *text, size_t bytes);

/* Is @at 0 or where a string begins? Not its middle, where a cut UTF-8 sequence could come first.
 */
bool answer_text_begins_at(const char *text, size_t bytes, uint32_t at);
