/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An origin says whose bytes a worker reads, and on which file system they lie. Crafted bytes can
 * take over the worker that reads them: so a worker reads the bytes of one owner only, and one that
 * cannot be ended while it waits for a file system counts against that file system.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * An owner is the user and the container that a process belongs to, or that can have written a
 * file.
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

/* The owner that @owner's share is counted for. All containers of an ordinary user count as that
 * user: one to whom cgroups were handed over can make any number of them. */
static inline struct owner owner_payer(struct owner owner)
{
	return owner.uid ? (struct owner){ owner.uid, 0 } : owner;
}

/* Does the same one pay for both? */
static inline bool owner_pays_with(struct owner a, struct owner b)
{
	return owner_is(owner_payer(a), owner_payer(b));
}

/* The payer that close_later() takes for a file of @owner. */
static inline uint64_t owner_close_payer(struct owner owner)
{
	struct owner payer = owner_payer(owner);

	return (uint64_t)payer.uid << 32 ^ payer.container;
}

/* The owner whom @payer stands for: a user, the machine, or root in a container. */
static inline struct owner owner_of_close_payer(uint64_t payer)
{
	if (payer & UINT32_MAX)
		return (struct owner){ 0, payer };
	return (struct owner){ (uint32_t)(payer >> 32), 0 };
}

struct origin {
	struct owner owner;
	uint64_t device; /* st_dev; 0: on no file system, such as the memory of a process */
	uint64_t payer;  /* for closing it: close_later.h */
};
