// SPDX-License-Identifier: Apache-2.0
#include "stuck.h"

#include <sys/wait.h>

void stuck_deinit(struct stuck_workers *stuck)
{
	VECTOR_DEINIT(&stuck->workers);
}

void stuck_add(struct stuck_workers *stuck, pid_t pid, struct origin origin, uint64_t now_ns)
{
	if (!VECTOR_PUSH(&stuck->workers, ((struct stuck_worker){ pid, origin, now_ns })))
		waitpid(pid, NULL, 0);
}

void stuck_reap(struct stuck_workers *stuck)
{
	for (size_t i = 0; i < stuck->workers.count;) {
		if (waitpid(stuck->workers.items[i].pid, NULL, WNOHANG))
			stuck->workers.items[i] = stuck->workers.items[--stuck->workers.count];
		else
			i++;
	}
}

bool stuck_forbid(const struct stuck_workers *stuck, struct origin origin, uint64_t now_ns)
{
	size_t of_payer = 0, of_device = 0;

	for (size_t i = 0; i < stuck->workers.count; i++) {
		const struct origin *other = &stuck->workers.items[i].origin;

		if (now_ns - stuck->workers.items[i].killed_ns < STUCK_AFTER_NS)
			continue;
		of_payer += owner_pays_with(other->owner, origin.owner);
		of_device += origin.device && other->device == origin.device;
	}
	return of_payer >= STUCK_OF_PAYER || of_device >= STUCK_OF_DEVICE;
}
