/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames that stand for tasks of asyncio: where a task's coroutine ends, and those of the task that
 * waits for it begin. Any thread; no byte is believed.
 */
#pragma once

#include "cpython.h"

/* What the frames of kinds CPYTHON_TASK and CPYTHON_REMARK are called. */
enum runtime_outcome cpython_resolve_task(const struct cpython_layout *layout,
					  const struct runtime_memory *memory,
					  const struct runtime_frame *frame,
					  const struct runtime_lines *to);
enum runtime_outcome cpython_resolve_remark(const struct runtime_frame *frame,
					    const struct runtime_lines *to);
