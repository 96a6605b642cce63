/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What code an address space has at present: its own mappings, those of the parents it was forked
 * from where it has none of its own, put together to as few as possible.
 */
#pragma once

#include "processes.h"
#include "space.h"

/* As processes_code, where one space has @most mappings at most. The owner of @space locks. */
size_t code_list(const struct space *space, size_t most, struct process_code *ret, size_t count);
