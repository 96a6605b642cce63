/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose a process is, so that nobody's processes cost others anything.
 *
 * A user may have many numbers in user namespaces that he made, so there the one counts who made
 * the outermost of them. A container counts beside its user: most run as root of the machine. A
 * user to whom cgroups were handed over may call them as containers are called; timed_calls.h
 * bounds what all containers of one user take together.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct owner {
	uint32_t uid;
	uint64_t container; /* a hash of its id; 0: none */
};

/* Of what several owners have, such as libraries; and of a process that was gone too soon. */
static const struct owner OWNER_SHARED = { UINT32_MAX, 0 }, OWNER_UNKNOWN = { UINT32_MAX - 1, 0 };

static inline bool owner_is(struct owner a, struct owner b)
{
	return a.uid == b.uid && a.container == b.container;
}

/* Whose it is what both have. Who is not known has no part in it; containers of one user are that
 * user's, but for root's, which are nobody's of their own. */
static inline struct owner owner_join(struct owner a, struct owner b)
{
	if (owner_is(a, b) || owner_is(b, OWNER_UNKNOWN))
		return a;
	if (owner_is(a, OWNER_UNKNOWN))
		return b;
	return a.uid == b.uid && a.uid ? (struct owner){ a.uid, 0 } : OWNER_SHARED;
}

/*
 * The user of the process whose directory in /proc is open as @process; OWNER_UNKNOWN.uid when it
 * cannot be found out. Never waits for the process. Any thread.
 */
uint32_t owner_uid(int process);

/* As owner.container. */
uint64_t owner_container(const char *id);
