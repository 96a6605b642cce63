// SPDX-License-Identifier: Apache-2.0
#include "perf.h"

#include "cpu_list.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#define ONLINE   "/sys/devices/system/cpu/online"
#define POSSIBLE "/sys/devices/system/cpu/possible"

enum {
	/* Over less than this, clocks prove nothing. */
	LEAST_PROOF_NS = 1000000,
	/* The share of the time by which an event's clock and the machine's may differ. */
	CLOCK_TOLERANCE_SHARE = 16,
};

struct perf_slot {
	int fd;              /* -1: no event on this CPU */
	bool online;         /* scratch of one follow */
	uint64_t enabled_ns; /* time the event has been enabled, as read before... */
	uint64_t read_ns;    /* ...this CLOCK_MONOTONIC */
};

struct perf_events {
	struct perf_event_attr attr;
	struct perf_events_hooks hooks;
	VECTOR(struct perf_slot) slots; /* by CPU number */
	struct cpu_list online;
	unsigned int count;
};

struct perf_events *perf_events_create(const struct perf_event_attr *attr,
				       const struct perf_events_hooks *hooks)
{
	struct perf_events *events = calloc(1, sizeof(*events));

	if (!events)
		return NULL;
	events->attr = *attr;
	events->attr.read_format |= PERF_FORMAT_TOTAL_TIME_ENABLED;
	events->hooks = *hooks;
	return events;
}

static void event_close(struct perf_events *events, uint32_t cpu)
{
	struct perf_slot *slot = &events->slots.items[cpu];

	if (slot->fd < 0)
		return;
	if (events->hooks.gone)
		events->hooks.gone(events->hooks.context, cpu, slot->fd);
	close(TAKE_FD(slot->fd));
	events->count--;
}

void perf_events_destroy(struct perf_events *events)
{
	if (!events)
		return;
	for (uint32_t cpu = 0; cpu < events->slots.count; cpu++)
		event_close(events, cpu);
	VECTOR_DEINIT(&events->slots);
	cpu_list_deinit(&events->online);
	free(events);
}

static const char *open_remedy(int errnum)
{
	switch (errnum) {
	case EACCES:
	case EPERM:
		return "; run as root or grant CAP_PERFMON, and see kernel.perf_event_paranoid";
	case EMFILE:
	case ENFILE:
		return "; raise the limit on open files";
	case EINVAL:
	case EOPNOTSUPP:
	case ENOENT:
		return "; this kernel lacks this kind of event";
	default:
		return "";
	}
}

static bool event_read(struct perf_slot *slot)
{
	struct {
		uint64_t value, enabled_ns;
	} state;

	if (read(slot->fd, &state, sizeof(state)) != sizeof(state))
		return false;
	slot->enabled_ns = state.enabled_ns;
	slot->read_ns = clock_monotonic_ns();
	return true;
}

static struct profcol_error *event_open(struct perf_events *events, uint32_t cpu)
{
	struct perf_slot *slot = &events->slots.items[cpu];
	struct profcol_error *error = NULL;
	CLEANUP_FD int fd = -1;

	fd = (int)syscall(SYS_perf_event_open, &events->attr, -1, (int)cpu, -1,
			  PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		int errnum = errno;
		char reason[128];

		// The CPU has gone since the list was read.
		if (errnum == ENODEV)
			return NULL;
		return profcol_error_create(
			errnum == EACCES || errnum == EPERM ? PROFCOL_REJECTED : PROFCOL_SYSTEM,
			"open a perf event on CPU %u: %s%s", cpu,
			strerror_r(errnum, reason, sizeof(reason)), open_remedy(errnum));
	}
	if (events->hooks.opened)
		error = events->hooks.opened(events->hooks.context, cpu, fd);
	if (error)
		return error;
	*slot = (struct perf_slot){ .fd = TAKE_FD(fd), .online = slot->online };
	// Where that fails, the next look takes it for dead.
	event_read(slot);
	events->count++;
	return NULL;
}

/*
 * Has the event not counted for some of the time since the last look? Then its CPU went away,
 * be it that it has come back since. However long the two readings took, they are at least
 * `passed` apart.
 */
static bool event_is_dead(struct perf_slot *slot)
{
	uint64_t passed = clock_monotonic_ns() - slot->read_ns, enabled_ns = slot->enabled_ns;

	if (passed < LEAST_PROOF_NS)
		return false;
	if (!event_read(slot))
		return true;
	return slot->enabled_ns - enabled_ns < passed - passed / CLOCK_TOLERANCE_SHARE;
}

static struct profcol_error *read_online(struct perf_events *events)
{
	int status = cpu_list_read(&events->online, ONLINE);
	const uint32_t *cpus;
	size_t count;

	if (status)
		return profcol_error_errno(-status, "read the online CPUs from '%s'", ONLINE);
	cpus = events->online.cpus.items;
	count = events->online.cpus.count;
	for (size_t i = 0; i < events->slots.count; i++)
		events->slots.items[i].online = false;
	while (count && events->slots.count <= cpus[count - 1])
		if (!VECTOR_PUSH(&events->slots, ((struct perf_slot){ .fd = -1 })))
			return profcol_error_create(PROFCOL_NO_MEMORY,
						    "no memory for the events of %zu CPUs", count);
	for (size_t i = 0; i < count; i++)
		events->slots.items[cpus[i]].online = true;
	return NULL;
}

struct profcol_error *perf_cpus(bool online, uint32_t **ret, size_t *count_ret)
{
	const char *path = online ? ONLINE : POSSIBLE;
	struct cpu_list list = { 0 };
	int status = cpu_list_read(&list, path);

	if (!status && !list.cpus.count)
		status = -ENODATA;
	if (status) {
		cpu_list_deinit(&list);
		return profcol_error_errno(-status, "read the numbers of CPUs from '%s'", path);
	}
	*ret = list.cpus.items;
	*count_ret = list.cpus.count;
	return NULL;
}

struct profcol_error *perf_events_follow(struct perf_events *events, bool *changed_ret)
{
	struct profcol_error *error = read_online(events), *first = NULL;
	unsigned int failures = 0;
	bool changed = false;

	for (uint32_t cpu = 0; !error && cpu < events->slots.count; cpu++) {
		struct perf_slot *slot = &events->slots.items[cpu];
		struct profcol_error *failure;

		if (slot->fd >= 0 && (!slot->online || event_is_dead(slot))) {
			event_close(events, cpu);
			changed = true;
		}
		if (slot->fd >= 0 || !slot->online)
			continue;
		failure = event_open(events, cpu);
		changed |= slot->fd >= 0;
		if (!failure)
			continue;
		// One cause mostly hits all CPUs: say it once.
		if (failures++)
			profcol_error_destroy(failure);
		else
			first = failure;
	}
	if (changed_ret)
		*changed_ret = changed;
	if (failures > 1)
		first = profcol_error_prefix(first, "%u CPUs failed, the first", failures);
	return profcol_error_join(error, first);
}

void perf_events_pause(struct perf_events *events)
{
	for (uint32_t cpu = 0; cpu < events->slots.count; cpu++)
		if (events->slots.items[cpu].fd >= 0 &&
		    ioctl(events->slots.items[cpu].fd, PERF_EVENT_IOC_DISABLE, 0))
			event_close(events, cpu);
}

void perf_events_resume(struct perf_events *events, uint64_t period)
{
	events->attr.sample_period = period;
	for (uint32_t cpu = 0; cpu < events->slots.count; cpu++) {
		struct perf_slot *slot = &events->slots.items[cpu];

		if (slot->fd < 0)
			continue;
		if (ioctl(slot->fd, PERF_EVENT_IOC_PERIOD, &period) ||
		    ioctl(slot->fd, PERF_EVENT_IOC_ENABLE, 0))
			event_close(events, cpu);
		else
			event_read(slot); // the pause is no proof of a CPU that was away
	}
}

unsigned int perf_events_count(const struct perf_events *events)
{
	return events->count;
}
