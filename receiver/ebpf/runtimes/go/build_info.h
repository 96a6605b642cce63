/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By which version of Go a file was built, as its build information says, since Go 1.13: section
 * .go.buildinfo (debug/buildinfo). Any thread.
 */
#pragma once

#include <stddef.h>

struct elf_view;

/* The version to @to, as "go1.26.8", what is not printable ASCII as '?', cut at @size - 1 bytes.
 * "": the file has none. */
void go_build_info_version(const struct elf_view *view, char *to, size_t size);
