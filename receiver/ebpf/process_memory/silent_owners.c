// SPDX-License-Identifier: Apache-2.0
#include "silent_owners.h"

#include <stddef.h>

enum { FREE_STRIKES = 2, DOUBLINGS_MOST = 6 };

static const uint64_t PAUSE_NS = 60000000000;

static struct silent_owner *place_for(struct silent_owners *owners, uint32_t uid)
{
	struct silent_owner *place = &owners->owners[0];

	for (size_t i = 0; i < SILENT_OWNERS; i++) {
		struct silent_owner *owner = &owners->owners[i];

		if (owner->strikes && owner->uid == uid)
			return owner;
		if (!owner->strikes || (place->strikes && owner->until_ns < place->until_ns))
			place = owner;
	}
	*place = (struct silent_owner){ .uid = uid };
	return place;
}

void silent_owners_note(struct silent_owners *owners, uint32_t uid, uint64_t now_ns)
{
	struct silent_owner *owner = place_for(owners, uid);
	uint32_t over;

	owner->strikes++;
	if (owner->strikes <= FREE_STRIKES)
		return;
	over = owner->strikes - FREE_STRIKES - 1;
	owner->until_ns = now_ns + (PAUSE_NS << (over < DOUBLINGS_MOST ? over : DOUBLINGS_MOST));
}

uint64_t silent_owners_until_ns(const struct silent_owners *owners, uint32_t uid)
{
	for (size_t i = 0; i < SILENT_OWNERS; i++)
		if (owners->owners[i].strikes && owners->owners[i].uid == uid)
			return owners->owners[i].until_ns;
	return 0;
}
