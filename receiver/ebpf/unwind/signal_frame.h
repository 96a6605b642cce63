/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel leaves on the stack of a signal handler, and the code that returns from it. Any
 * thread.
 */
#pragma once

#include "rule.h"

#include <stddef.h>

/* The rule for code that returns from a signal handler: to what the signal interrupted. */
struct unwind_rule signal_frame_rule(const struct unwind_machine *machine);

/* How many bytes at @bytes are the two instructions that do so, the system call rt_sigreturn; 0. */
size_t signal_frame_match(const struct unwind_machine *machine, const uint8_t *bytes,
			  size_t length);
