/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a process is (origin.h), so that nobody's processes cost others anything. */
#pragma once

#include "origin.h"

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
 * cannot be found out. Newer kernels (6.18.44 does) have it wait for the process's exec: for
 * timed_calls.h. Any thread.
 */
uint32_t owner_uid(int process);

/*
 * The user who pays until owner_uid() has answered: the process's number, but all numbers that a
 * user of namespaces was lent count as one. Never waits. Any thread.
 */
uint32_t owner_presumed_uid(int process);

/* As owner.container. */
uint64_t owner_container(const char *id);
