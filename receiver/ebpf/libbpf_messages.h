/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libbpf prints what went wrong instead of returning it. This keeps the warnings
 * of the calling thread so that an error can carry them; nothing reaches stderr.
 *
 * Threads: any; each has its own messages.
 */
#pragma once

#include <profcol/errors.h>

/* Take over libbpf's output (once for the process) and forget this thread's messages. */
void libbpf_messages_capture(void);

/* "@format: errno text: first warning, with a remedy where the cause is known." */
struct profcol_error *libbpf_messages_error(int errnum, const char *format, ...)
	__attribute__((format(printf, 2, 3), returns_nonnull, warn_unused_result));
