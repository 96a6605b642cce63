/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry of a program, written in assembly by its C library: no frame stands above it. Any
 * thread.
 */
#pragma once

#include "elf_view.h"

#include <stddef.h>

/*
 * How many bytes from @view's entry on are of that form; 0: none. At least up to its first call,
 * and further only as long as every instruction is known from an entry.
 */
size_t entry_bytes(const struct elf_view *view);
