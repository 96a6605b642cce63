/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose socket is at the other end of a connection: the container of the process that has it, if it
 * is one of this machine's. /proc/PID/net/tcp and tcp6 (proc(5)) say which socket that is, in each
 * network namespace, /proc/PID/fd who has it, and /proc/PID/cgroup in which container.
 *
 * Only namespaces count that belong to our user namespace: in one of his own, anybody may give
 * himself any address. It takes permission to look at all processes, and to see them.
 */
#pragma once

#include "base/base.h"

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

struct socket_owner {
	char container_id[CONTAINER_ID_SIZE]; /* "" when in none, or not known */
	char pod_uid[POD_UID_SIZE];           /* of Kubernetes; the same */
	pid_t pid;                            /* who has it; 0: not known */
};

/*
 * Who has the other end of the connection from @own to @peer, as of a directory like /proc. On
 * entry @owner->pid may be that of the last search, which is asked first. Nobody where several do
 * that are in different containers, where two namespaces have such a connection, or when it is not
 * found by @deadline_ns (CLOCK_MONOTONIC). Any thread.
 */
void socket_owner_find(const char *proc, const struct sockaddr_storage *own,
		       const struct sockaddr_storage *peer, uint64_t deadline_ns,
		       struct socket_owner *owner);

/*
 * The inode number of the socket whose own end is @peer and whose other one is @own in @text, which
 * is as /proc/net/tcp (@six: tcp6), not trusted, with a NUL at its end. 0: there is none. Pure.
 */
uint64_t socket_owner_parse(char *text, bool six, const struct sockaddr_storage *own,
			    const struct sockaddr_storage *peer);
