/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Users whose processes' memory did not answer: after some of them no other one is read for a
 * while, longer each time. Who makes one such process can make many. One thread at a time.
 */
#pragma once

#include <stdint.h>

enum { SILENT_OWNERS = 64 };

struct silent_owners {
	struct silent_owner {
		uint32_t uid;
		uint32_t strikes;  /* 0: free */
		uint64_t until_ns; /* not to be read before */
	} owners[SILENT_OWNERS];
};

/* A process of @uid did not answer. When there is no room the one that is free soonest goes. */
void silent_owners_note(struct silent_owners *owners, uint32_t uid, uint64_t now_ns);

/* When processes of @uid may be read; 0: always. */
uint64_t silent_owners_until_ns(const struct silent_owners *owners, uint32_t uid);
