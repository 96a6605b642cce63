/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose bytes are read, and where they lie. Bytes can be made to take over who reads them: so what
 * has read those of one owner reads nobody else's, and what cannot be ended while it waits for one
 * file system costs that one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Whose a process is, or who can have written a file.
 *
 * A user may have many numbers in user namespaces that he made, so there the one counts who made
 * the outermost of them. A container counts beside its user: most run as root of the machine. A
 * user to whom cgroups were handed over may call them as containers are called; timed_calls.h
 * bounds what all containers of one user take together.
 */
struct owner {
	uint32_t uid;
	uint64_t container; /* a hash of its id; 0: none */
};

static const struct owner
	OWNER_MACHINE = { 0, 0 }, /* root's, outside of containers */
	/* Of what several owners have, such as libraries; of a process that was gone too soon; */
	OWNER_SHARED = { UINT32_MAX, 0 }, OWNER_UNKNOWN = { UINT32_MAX - 1, 0 },
	/* of nothing; and, with its number for a container, of one file that anybody may write. */
	OWNER_NOBODY = { UINT32_MAX - 2, 0 }, OWNER_OF_FILE = { UINT32_MAX - 3, 0 };

static inline bool owner_is(struct owner a, struct owner b)
{
	return a.uid == b.uid && a.container == b.container;
}

/* Who pays for what @owner takes: all containers of an ordinary user together, since a user to whom
 * cgroups were handed over can make any number of them. */
static inline struct owner owner_payer(struct owner owner)
{
	return owner.uid ? (struct owner){ owner.uid, 0 } : owner;
}

struct origin {
	struct owner owner;
	uint64_t device; /* st_dev; 0: on no file system, such as the memory of a process */
};
