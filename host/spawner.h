/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a component's helper: a fresh image of this program that runs nothing but
 * the component's `helper` function over a stream socket.
 *
 * What a helper has: the socket as descriptor 3, stdin from /dev/null, stdout and
 * stderr of the host, an empty environment, no other descriptor. Its signals are at
 * their defaults and unblocked, except that SIGINT, SIGTERM and SIGHUP are ignored:
 * a terminal's Ctrl-C and a service manager reach every process of the group, but
 * the host needs its helpers until it has drained. A helper ends when its socket
 * does, or by SIGKILL.
 *
 * The kernel kills it together with the host (PR_SET_PDEATHSIG). That signal comes
 * when the *thread* that forked ends, so one thread, which lives as long as the
 * spawner, forks them all, whoever asks.
 */
#pragma once

#include "registry.h"

#include <sys/types.h>

struct spawner;

PROFCOL_MUST_CHECK struct profcol_error *spawner_create(struct spawner **ret);

/* Ends the thread, and with it the helpers that still run. Accepts NULL. */
void spawner_destroy(struct spawner *spawner);

/*
 * Start the helper of the component @kind/@type. The caller owns *@socket_ret
 * (close-on-exec) and has to reap *@pid_ret. Any thread.
 */
PROFCOL_MUST_CHECK struct profcol_error *spawner_spawn(struct spawner *spawner,
						       enum profcol_kind kind, const char *type,
						       int *socket_ret, pid_t *pid_ret);

/*
 * The other side: what main does with the hidden command `helper KIND TYPE`. Returns the exit
 * code.
 */
int spawner_run_helper(int argc, char *const *argv, const struct component_registry *registry);
