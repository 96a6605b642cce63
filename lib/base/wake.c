// SPDX-License-Identifier: Apache-2.0
#include "wake.h"

#include "clock.h"

#include <poll.h>
#include <stddef.h>
#include <sys/eventfd.h>

enum wake wake_wait(int event_fd, int end_fd, uint64_t deadline_ns)
{
	struct pollfd waking[] = {
		{ .fd = event_fd, .events = POLLIN },
		{ .fd = end_fd ? end_fd : -1, .events = POLLIN },
	};
	uint64_t now_ns = clock_monotonic_ns();
	struct timespec left = clock_timespec(deadline_ns > now_ns ? deadline_ns - now_ns : 0);
	eventfd_t events;
	int ready = ppoll(waking, 2, &left, NULL);

	if (ready == 0)
		return WAKE_TIMEOUT;
	if (ready > 0 && waking[1].revents)
		return WAKE_END;
	if (ready > 0)
		(void)eventfd_read(event_fd, &events);
	return WAKE_EVENT;
}
