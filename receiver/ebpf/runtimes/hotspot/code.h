/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code in a JVM's cache (JDK, src/hotspot/share/code/nmethod.hpp, pcDesc.hpp, scopeDesc.cpp): which
 * methods run at a place of it. One thread at a time.
 */
#pragma once

#include "hotspot.h"

/* As resolve, of a frame that is HOTSPOT_CALLS or HOTSPOT_RUNS. */
enum runtime_outcome hotspot_resolve_code(const struct runtime_process *process,
					  const struct runtime_memory *memory,
					  const struct runtime_frame *frame,
					  const struct runtime_lines *to);
