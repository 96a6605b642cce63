// SPDX-License-Identifier: Apache-2.0
/* Which events there are, by number and by name. */
#include "events.h"
#include "wait_reason.h"

#include <string.h>

static const struct event_kind kinds[SAMPLE_ORIGINS] = {
	[SAMPLE_CPU_CLOCK] = { "cpu", "samples", "count", NULL, NULL },
	[SAMPLE_PAGE_FAULTS] = { "page_faults", "page_faults", "count", NULL, NULL },
	[SAMPLE_MEMORY_GROWTH] = { "memory_growth", "memory_growth", "bytes", NULL, NULL },
	[SAMPLE_OFF_CPU] = { "off_cpu", "off_cpu", "nanoseconds", WAIT_REASON_KEY, wait_reason },
	[SAMPLE_WAKERS] = { "wakers", "wakers", "nanoseconds", WAIT_REASON_KEY, wait_reason },
	// What the report makes of the timer's samples and off-CPU time.
	[SAMPLE_WALL] = { "wall", "wall", "nanoseconds", WAIT_REASON_KEY, wait_reason },
};

enum { WALL_PARTS = 1u << SAMPLE_CPU_CLOCK | 1u << SAMPLE_OFF_CPU };

const struct event_kind *event_kind_of(uint32_t origin)
{
	return origin < SAMPLE_ORIGINS && kinds[origin].name ? &kinds[origin] : NULL;
}

/* 0: there is none. */
static uint32_t origin_called(const char *name)
{
	for (uint32_t origin = 1; origin < SAMPLE_ORIGINS; origin++)
		if (!strcmp(kinds[origin].name, name))
			return origin;
	return 0;
}

struct profcol_error *events_wanted(const struct profiling_config *config, uint32_t *ret)
{
	uint32_t wanted = config->events.count ? 0 : 1u << SAMPLE_CPU_CLOCK;

	for (size_t i = 0; i < config->events.count; i++) {
		const char *name = config->events.items[i];
		uint32_t origin = origin_called(name);

		if (!origin)
			return profcol_error_create(PROFCOL_CONFIG,
						    "events: '%.100s' is none; write cpu, off_cpu, "
						    "page_faults, memory_growth, wakers or wall",
						    name);
		wanted |= 1u << origin;
	}
	if (wanted & 1u << SAMPLE_WALL && wanted & WALL_PARTS)
		return profcol_error_create(PROFCOL_CONFIG,
					    "events: 'wall' has all that 'cpu' and 'off_cpu' have; "
					    "leave these out");
	if (wanted & 1u << SAMPLE_WALL)
		wanted |= WALL_PARTS;
	// Of the reference: above 0, it switches that on.
	if (config->off_cpu_threshold > 0)
		wanted |= 1u << SAMPLE_OFF_CPU;
	*ret = wanted;
	return NULL;
}
