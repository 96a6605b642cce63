// SPDX-License-Identifier: Apache-2.0
#include "housekeeping.h"

void housekeeping_note_work(struct housekeeping *housekeeping, uint64_t now_ns)
{
	housekeeping->work_ns = now_ns;
	if (housekeeping->due_ns > now_ns + HOUSEKEEPING_NS)
		housekeeping->due_ns = now_ns + HOUSEKEEPING_NS;
}

void housekeeping_note_look(struct housekeeping *housekeeping, uint64_t now_ns)
{
	uint64_t pause_ns = now_ns - housekeeping->work_ns;

	// What came up by work a moment ago is found soon, and nothing else comes up.
	if (pause_ns < HOUSEKEEPING_NS)
		pause_ns = HOUSEKEEPING_NS;
	if (pause_ns > HOUSEKEEPING_IDLE_NS)
		pause_ns = HOUSEKEEPING_IDLE_NS;
	housekeeping->due_ns = now_ns + pause_ns;
}

bool housekeeping_is_due(struct housekeeping *housekeeping, uint64_t now_ns)
{
	if (now_ns < housekeeping->due_ns)
		return false;
	housekeeping_note_look(housekeeping, now_ns);
	return true;
}
