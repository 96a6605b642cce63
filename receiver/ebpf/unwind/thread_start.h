/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system call that starts a thread, in glibc's clone() and clone3(): their tables leave it out,
 * since the thread that starts there has no caller. The one that called does, and it may be there
 * for long; the system call's result tells the two apart. Any thread.
 */
#pragma once

#include "rule.h"

#include <stddef.h>

/* The rule for this code: to the caller of the function that has it. */
struct unwind_rule thread_start_rule(const struct unwind_machine *machine);

/* How many bytes at @bytes are the system call, what tells both threads apart, and the caller's
 * return; 0 when they are none. */
size_t thread_start_match(const struct unwind_machine *machine, const uint8_t *bytes,
			  size_t length);
