/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that is known by what it does, whatever it is called: where programs and threads begin. Any
 * thread.
 */
#pragma once

#include "function_ranges.h"

#include "unwind/unwind.h"

/* What number @known stands for; it is below the count of all. */
const char *known_code_name(uint32_t known);

/* Give the unnamed ones of @ranges such names, where it is certain. */
void known_code_mark(struct function_ranges *ranges, const struct elf_view *view);
