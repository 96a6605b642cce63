/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owners whose processes' memory did not answer: after some of them no other one is read for a
 * while, longer each time. Who makes one such process can make many; all containers of a user are
 * that user's (owner_payer). One thread at a time.
 */
#pragma once

#include "processes/processes.h"

#include <stdint.h>

enum { SILENT_OWNERS = 64 };

struct silent_owners {
	struct silent_owner {
		struct owner owner;
		uint32_t strikes;  /* 0: free */
		uint64_t until_ns; /* not to be read before */
	} owners[SILENT_OWNERS];
};

/* A process of @owner's did not answer. When there is no room the one that is free soonest goes.
 * Processes of OWNER_UNKNOWN's user are nobody's: they do not count against each other. */
void silent_owners_note(struct silent_owners *owners, struct owner owner, uint64_t now_ns);

/* When processes of @owner's may be read; 0: always. */
uint64_t silent_owners_until_ns(const struct silent_owners *owners, struct owner owner);
