/* SPDX-License-Identifier: Apache-2.0 */
/* Is a file the build that an entry is of? Without reading it as an ELF file. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Do the first @bytes of a file, at @head, hold each of its build ids: @gnu in hexadecimal digits,
 * @go as text, "" for none? False when it has none, or one too short to say anything.
 */
bool build_ids_are_in(const void *head, size_t bytes, const char *gnu, const char *go);
