// SPDX-License-Identifier: Apache-2.0
#include "process_memory_parts.h"

#include <errno.h>

static void tell_look(struct process_memory *memory, const struct process_look *look,
		      const struct process_looked *looked)
{
	memory->tables.looked(memory->tables.context, look, looked);
}

/* How the look of @flight ends that no worker was asked for, by the negative errno of the try. */
static struct process_looked looked_in_vain(const struct process_memory *memory,
					    const struct flight *flight, int status)
{
	uint64_t now = clock_monotonic_ns();
	struct process_looked looked = { 0 };

	switch (-status) {
	case EACCES:
	case EPERM:
		looked.refused = RUNTIME_REFUSED_MEMORY;
		break;
	case EAGAIN:
		looked.again_ns = silent_owners_until_ns(&memory->silent, flight->origin.owner);
		break;
	case ENOENT: // it has ended
	case ESRCH:
		break;
	case ENOMEM:
	case EMFILE:
	case ENFILE:
		looked = process_looked_crowded(now);
		break;
	default:
		looked.unanswered = true;
	}
	looked.spent_ns = now - flight->begun_ns;
	return looked;
}

void looks_begin(struct process_memory *memory, const struct process_look *look)
{
	struct flight *flight = process_memory_flight(memory);
	struct process_looked looked;
	int fd;

	if (!flight) {
		looked = process_looked_crowded(clock_monotonic_ns());
		tell_look(memory, look, &looked);
		return;
	}
	*flight = (struct flight){
		.is_look = true,
		.look = *look,
		.key = look->key,
		.origin = processes_memory_origin(memory->processes, look->key.pid),
	};
	fd = process_memory_open(memory, flight);
	flight->used = true;
	if (fd >= 0 && worker_pool_ask_attach(memory->pool, (uint32_t)(flight - memory->flights),
					      flight->origin, fd, &look->process))
		return;
	flight->used = false;
	looked = looked_in_vain(memory, flight, fd < 0 ? fd : -ENOMEM);
	tell_look(memory, look, &looked);
}

void looks_take_answer(struct process_memory *memory, struct flight *flight,
		       const struct worker_answer *answer)
{
	uint64_t now = clock_monotonic_ns();
	struct process_looked looked = { 0 };

	if (answer->outcome == WORKER_MISSING)
		looked = process_looked_crowded(now);
	looked.found = answer->found;
	looked.unanswered = process_memory_is_unanswered(answer->outcome);
	looked.spent_ns = now - flight->begun_ns;

	if (answer->outcome == WORKER_TIMED_OUT)
		silent_owners_note(&memory->silent, flight->origin.owner, &flight->key, now);
	else if (answer->outcome == WORKER_ANSWERED)
		silent_owners_note_answer(&memory->silent, flight->origin.owner, &flight->key);
	tell_look(memory, &flight->look, &looked);
}
