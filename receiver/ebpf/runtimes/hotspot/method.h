/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods in the memory of a JVM (JDK, src/hotspot/share/oops/method.hpp, constMethod.hpp): what
 * they are called, and their lines. One thread at a time.
 */
#pragma once

#include "hotspot.h"

/* Bytecode of a method, where none is known, or runs. */
#define HOTSPOT_NO_BCI (~0u)

/*
 * Gives the line of the method at @method, whose bytecode @bci runs: of a native, and with
 * HOTSPOT_NO_BCI, none. What it says is that of whatever is there.
 */
enum runtime_outcome hotspot_tell_method(const struct runtime_process *process,
					 const struct runtime_memory *memory, uint64_t method,
					 uint32_t bci, const struct runtime_lines *to);

/* As resolve, of a frame that is HOTSPOT_INTERPRETS or HOTSPOT_ENTERS. */
enum runtime_outcome hotspot_resolve_method(const struct runtime_process *process,
					    const struct runtime_memory *memory,
					    const struct runtime_frame *frame,
					    const struct runtime_lines *to);
