/* SPDX-License-Identifier: Apache-2.0 */
/*
 * silent_owners keeps owners from being read for a while when several of their processes did not
 * answer. Each further one makes that longer: who makes one such process can make many. All
 * containers of a user are that user's (owner_payer). One thread at a time.
 */
#pragma once

#include "processes/processes.h"

#include <stdint.h>

enum { SILENT_OWNERS = 64, SILENT_PROCESSES = 8 };

struct silent_owners {
	struct silent_owner {
		struct owner owner;
		uint32_t strikes;  /* 0: free */
		uint64_t until_ns; /* not to be read before */
		/* The latest that counted, and have not answered since. */
		struct silent_process {
			uint32_t pid; /* 0: free */
			uint64_t start_boottime_ns;
		} processes[SILENT_PROCESSES];
		size_t next_process; /* its place */
	} owners[SILENT_OWNERS];
};

/* The process of @key, which is @owner's, did not answer. It counts once until it has answered,
 * whatever it executes. Four hours in which none counts, after the last pause, forgive all. When
 * there is no room the owner that is free soonest goes. Processes of OWNER_UNKNOWN's user are
 * nobody's: they do not count against each other. */
void silent_owners_note(struct silent_owners *owners, struct owner owner,
			const struct process_key *key, uint64_t now_ns);

/* It has answered: when it does not, it counts again. */
void silent_owners_note_answer(struct silent_owners *owners, struct owner owner,
			       const struct process_key *key);

/* When processes of @owner's may be read; 0, or past: now. */
uint64_t silent_owners_until_ns(const struct silent_owners *owners, struct owner owner);
