/* SPDX-License-Identifier: Apache-2.0 */
/* The walls around a worker. Called once, by a process with a single thread. */
#pragma once

#include <profcol/errors.h>

#include <stdint.h>

/*
 * Give up everything but reading descriptors that arrive over @socket: other
 * descriptors are closed (stdin, stdout and stderr become /dev/null), then go all
 * capabilities, the user, new privileges, memory beyond a limit, and all system
 * calls but some twenty. The kernel kills the process when it tries one of the
 * others, or when its parent dies.
 *
 * The user and group become @uid, or "nobody" where the user namespace has no such
 * number; without CAP_SETUID, CAP_SETGID and CAP_KILL they stay.
 *
 * An error leaves the process in between: it should end.
 */
PROFCOL_MUST_CHECK struct profcol_error *sandbox_enter(int socket, uint32_t uid);
