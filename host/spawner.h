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
 * spawner, forks them all, whoever asks. The thread has a table of descriptors of its own, made
 * before the host opens anything: a file of the host that cannot be closed, or a listener that
 * has to be free at once, has no copy in a child.
 *
 * The helper of a component that was loaded inherits the very file that the host has loaded, and
 * loads it by the same rules: an upgrade of the plugin under a running host changes nothing.
 */
#pragma once

#include "registry.h"

#include <sys/types.h>

struct plugins;
struct spawner;

/* Starts the thread: before the host opens files that a helper must not have. */
PROFCOL_MUST_CHECK struct profcol_error *spawner_create(struct spawner **ret);

/* Where the components come from that are not built in; borrowed until destroy. Before the first
 * spawn. */
void spawner_set_plugins(struct spawner *spawner, const struct plugins *plugins);

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
 * The other side: what main does with the hidden command `helper KIND TYPE [plugin]`. Returns the
 * exit code. @registry has what is built in.
 */
int spawner_run_helper(int argc, char *const *argv, const struct component_registry *registry);
