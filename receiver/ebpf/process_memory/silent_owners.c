// SPDX-License-Identifier: Apache-2.0
#include "silent_owners.h"

#include <stddef.h>

enum { FREE_STRIKES = 2, DOUBLINGS_MOST = 6 };

static const uint64_t PAUSE_NS = 60000000000, FORGIVEN_NS = 14400000000000;

static struct silent_owner *place_for(struct silent_owners *owners, struct owner owner)
{
	struct silent_owner *place = &owners->owners[0];

	for (size_t i = 0; i < SILENT_OWNERS; i++) {
		struct silent_owner *at = &owners->owners[i];

		if (at->strikes && owner_pays_with(at->owner, owner))
			return at;
		if (!at->strikes || (place->strikes && at->until_ns < place->until_ns))
			place = at;
	}
	*place = (struct silent_owner){ .owner = owner };
	return place;
}

/* NULL: it has not counted, or so many others have since. */
static struct silent_process *find_process(struct silent_owner *owner,
					   const struct process_key *key)
{
	for (size_t i = 0; i < SILENT_PROCESSES; i++)
		if (owner->processes[i].pid == key->pid &&
		    owner->processes[i].start_boottime_ns == key->start_boottime_ns)
			return &owner->processes[i];
	return NULL;
}

void silent_owners_note(struct silent_owners *owners, struct owner owner,
			const struct process_key *key, uint64_t now_ns)
{
	struct silent_owner *place;
	uint32_t over;

	// Whose they are is not known: they need not have anything in common.
	if (owner.uid == OWNER_UNKNOWN.uid)
		return;
	place = place_for(owners, owner);
	// A mishap a day does not add up.
	if (place->strikes && now_ns > place->until_ns + FORGIVEN_NS)
		*place = (struct silent_owner){ .owner = owner };
	if (find_process(place, key))
		return;
	place->processes[place->next_process++ % SILENT_PROCESSES] =
		(struct silent_process){ key->pid, key->start_boottime_ns };
	place->strikes++;
	place->until_ns = now_ns;
	if (place->strikes <= FREE_STRIKES)
		return;
	over = place->strikes - FREE_STRIKES - 1;
	place->until_ns += PAUSE_NS << (over < DOUBLINGS_MOST ? over : DOUBLINGS_MOST);
}

void silent_owners_note_answer(struct silent_owners *owners, struct owner owner,
			       const struct process_key *key)
{
	for (size_t i = 0; i < SILENT_OWNERS; i++) {
		struct silent_owner *at = &owners->owners[i];
		struct silent_process *process;

		if (!at->strikes || !owner_pays_with(at->owner, owner))
			continue;
		process = find_process(at, key);
		if (process)
			*process = (struct silent_process){ 0 };
		return;
	}
}

uint64_t silent_owners_until_ns(const struct silent_owners *owners, struct owner owner)
{
	for (size_t i = 0; i < SILENT_OWNERS; i++)
		if (owners->owners[i].strikes && owner_pays_with(owners->owners[i].owner, owner))
			return owners->owners[i].until_ns;
	return 0;
}
