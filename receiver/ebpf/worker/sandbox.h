/* SPDX-License-Identifier: Apache-2.0 */
/* The walls around a worker. Called once, by a process with a single thread. */
#pragma once

#include <profcol/errors.h>

/*
 * Give up everything but reading descriptors that arrive over @socket: other
 * descriptors are closed (stdin and stdout become /dev/null), then go all
 * capabilities, the user (to "nobody", where the user namespace has one), new
 * privileges, memory beyond a limit, and all system calls but some twenty. The
 * kernel kills the process when it tries one of the others, or when its parent
 * dies.
 *
 * An error leaves the process in between: it should end.
 */
PROFCOL_MUST_CHECK struct profcol_error *sandbox_enter(int socket);
