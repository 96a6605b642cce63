// SPDX-License-Identifier: Apache-2.0
#include "schedule.h"

#include "config.h"

#include "base/base.h"

#include <errno.h>
#include <sys/eventfd.h>

int schedule_init(struct schedule *schedule)
{
	*schedule = (struct schedule){ .wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	return schedule->wake_fd < 0 ? -errno : 0;
}

void schedule_deinit(struct schedule *schedule)
{
	cleanup_fd(&schedule->wake_fd);
}

void schedule_begin(struct schedule *schedule, const struct pprof_interval_config *config)
{
	schedule->interval_ns = config->collection_interval_ns;
	schedule->next_ns = clock_monotonic_ns() + config->initial_delay_ns;
}

bool schedule_wait(struct schedule *schedule)
{
	uint64_t now_ns;

	while (!schedule_has_ended(schedule) && clock_monotonic_ns() < schedule->next_ns)
		(void)wake_wait(schedule->wake_fd, 0, schedule->next_ns);
	// What was missed is not made up for.
	now_ns = clock_monotonic_ns();
	schedule->next_ns += schedule->interval_ns;
	if (schedule->next_ns < now_ns)
		schedule->next_ns = now_ns;
	return !schedule_has_ended(schedule);
}

void schedule_end(struct schedule *schedule)
{
	atomic_store(&schedule->ended, true);
	(void)eventfd_write(schedule->wake_fd, 1);
}

bool schedule_has_ended(const struct schedule *schedule)
{
	return atomic_load(&schedule->ended);
}
