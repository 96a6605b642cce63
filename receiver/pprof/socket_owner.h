/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A search for the process that has the other end of a connection, and for its container.
 * /proc/PID/net/tcp and tcp6 (proc(5)) name the socket, in each network namespace, /proc/PID/fd who
 * has it, and /proc/PID/cgroup the container.
 *
 * Only namespaces count that belong to our user namespace: in one of his own, anybody may give
 * himself any address. The search takes permission to look at all processes, and to see them.
 */
#pragma once

#include "base/base.h"

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

struct socket_owner {
	char container_id[CONTAINER_ID_SIZE]; /* "" when in none */
	char pod_uid[POD_UID_SIZE];           /* of Kubernetes; "" when in none */
	pid_t pid;                            /* one that has the socket... */
	uint64_t inode;                       /* ...which has this number */
};

struct socket_search {
	const char *proc;                          /* a directory as /proc */
	const struct sockaddr_storage *own, *peer; /* the ends of the connection as we have it */
	uint64_t deadline_ns;                      /* CLOCK_MONOTONIC */
	bool (*is_over)(void *context);            /* asked often: end early? NULL: no */
	void *context;
};

enum socket_finding {
	SOCKET_FOUND,
	SOCKET_NOBODYS,   /* nobody here has it, or several in different containers */
	SOCKET_UNDECIDED, /* there was no time, or something failed */
};

/*
 * Look for who has the other end; *@ret is written when it is found. Two namespaces with such a
 * connection mean nobody, but what is in our own namespace counts alone. Any thread.
 */
enum socket_finding socket_owner_find(const struct socket_search *search, struct socket_owner *ret);

/* Does the process still have the socket? Cheap. Any thread. */
bool socket_owner_stays(const struct socket_search *search, const struct socket_owner *owner);

/*
 * The inode number of the socket whose own end is @peer and whose other one is @own in @text: lines
 * as of /proc/net/tcp (@six: tcp6), not trusted, with a NUL at the end, and written to. 0: there is
 * none. Pure.
 */
uint64_t socket_owner_parse(char *text, bool six, const struct sockaddr_storage *own,
			    const struct sockaddr_storage *peer);
