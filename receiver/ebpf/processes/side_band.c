// SPDX-License-Identifier: Apache-2.0
#include "side_band.h"

#include "ring.h"

#include "perf/perf.h"

#include "base/base.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

enum {
	/*
	 * An exec writes about 1 kB. The thread comes by ten times a second, so this is
	 * room for 2500 a second on one CPU, and the ring wakes it when it is a quarter full.
	 * Where there are more than 128 CPUs, not all of them are that busy.
	 */
	RING_BYTES_MOST = 256 * 1024,
	RING_BYTES_LEAST = 16 * 1024,
	RING_BYTES_OF_ALL = 32 << 20,
	WAKE_PART = 4,
	EVENTS_AT_ONCE = 16,
};

/* By how much what is written after the time up to which records are taken can be later: that of a
 * look at all rings, in which the thread may have to wait for a CPU. */
static const uint64_t LATE_MOST_NS = 60000000000;

/* What the epoll set knows descriptors by, that are no CPU's. */
static const uint64_t WAKE = UINT64_MAX, ADDED = UINT64_MAX - 1;

struct cpu_ring {
	struct ring ring;
	void *memory; /* owned: the head page and the data; NULL = not listened to */
	size_t bytes;
	bool pending;     /* scratch of side_band_take: a record is there... */
	uint64_t next_ns; /* ...of this time */
};

struct side_band {
	struct perf_events *events;
	size_t ring_bytes;             /* a power of two */
	VECTOR(struct cpu_ring) rings; /* by CPU number */
	int epoll_fd;
	int wake_fd;
	uint64_t scratch[RING_RECORD_MAX / sizeof(uint64_t)];
};

static struct profcol_error *ring_opened(void *context, unsigned int cpu, int fd);
static void ring_gone(void *context, unsigned int cpu, int fd);

/* Of each CPU's, for as many as there may be. */
static size_t ring_bytes(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	size_t bytes = RING_BYTES_MOST;

	while (cpus > 0 && bytes > RING_BYTES_LEAST && bytes * (size_t)cpus > RING_BYTES_OF_ALL)
		bytes /= 2;
	return bytes;
}

struct side_band *side_band_create(void)
{
	size_t bytes = ring_bytes();
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = RECORD_SAMPLE_TYPE,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.ksymbol = 1,
		.sample_id_all = 1,
		.watermark = 1,
		.wakeup_watermark = (uint32_t)bytes / WAKE_PART,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	struct side_band *side_band = calloc(1, sizeof(*side_band));
	struct perf_events_hooks hooks = { ring_opened, ring_gone, side_band };
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = WAKE };

	if (!side_band)
		return NULL;
	side_band->ring_bytes = bytes;
	side_band->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	side_band->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	side_band->events = perf_events_create(&attr, &hooks);
	if (!side_band->events || side_band->epoll_fd < 0 || side_band->wake_fd < 0 ||
	    epoll_ctl(side_band->epoll_fd, EPOLL_CTL_ADD, side_band->wake_fd, &event)) {
		side_band_destroy(side_band);
		return NULL;
	}
	return side_band;
}

void side_band_destroy(struct side_band *side_band)
{
	if (!side_band)
		return;
	perf_events_destroy(side_band->events);
	VECTOR_DEINIT(&side_band->rings);
	if (side_band->epoll_fd >= 0)
		close(side_band->epoll_fd);
	if (side_band->wake_fd >= 0)
		close(side_band->wake_fd);
	free(side_band);
}

/* Map @ring, of @size bytes, or of fewer where locked memory is limited. */
static struct profcol_error *ring_map(struct cpu_ring *ring, size_t size, unsigned int cpu, int fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), least;
	void *memory = MAP_FAILED;

	least = page > RING_BYTES_LEAST ? page : RING_BYTES_LEAST;
	if (size < page)
		size = page;
	for (; size >= least; size /= 2) {
		memory = mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (memory != MAP_FAILED || (errno != EPERM && errno != ENOMEM))
			break;
	}
	if (memory == MAP_FAILED && errno == EPERM)
		return profcol_error_create(PROFCOL_SYSTEM,
					    "map %zu bytes of perf ring buffer of CPU %u: "
					    "locked memory is limited; grant CAP_IPC_LOCK or raise "
					    "kernel.perf_event_mlock_kb",
					    least, cpu);
	if (memory == MAP_FAILED)
		return profcol_error_errno(errno, "map the perf ring buffer of CPU %u", cpu);
	ring->memory = memory;
	ring->bytes = page + size;
	ring_init(&ring->ring, memory, (uint8_t *)memory + page, size);
	return NULL;
}

static void ring_unmap(struct cpu_ring *ring)
{
	if (ring->memory)
		munmap(ring->memory, ring->bytes);
	*ring = (struct cpu_ring){ 0 };
}

static struct profcol_error *ring_opened(void *context, unsigned int cpu, int fd)
{
	struct side_band *side_band = context;
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = cpu };
	struct profcol_error *error;

	while (side_band->rings.count <= cpu)
		if (!VECTOR_PUSH(&side_band->rings, (struct cpu_ring){ 0 }))
			return profcol_error_create(PROFCOL_NO_MEMORY,
						    "no memory for the ring buffer of CPU %u", cpu);
	error = ring_map(&side_band->rings.items[cpu], side_band->ring_bytes, cpu, fd);
	if (error)
		return error;
	if (epoll_ctl(side_band->epoll_fd, EPOLL_CTL_ADD, fd, &event) ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)) {
		error = profcol_error_errno(errno, "listen to the perf event of CPU %u", cpu);
		epoll_ctl(side_band->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
		ring_unmap(&side_band->rings.items[cpu]);
	}
	return error;
}

static void ring_gone(void *context, unsigned int cpu, int fd)
{
	struct side_band *side_band = context;

	epoll_ctl(side_band->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	ring_unmap(&side_band->rings.items[cpu]);
}

struct profcol_error *side_band_follow_cpus(struct side_band *side_band, bool *changed_ret)
{
	return perf_events_follow(side_band->events, changed_ret);
}

unsigned int side_band_cpus(const struct side_band *side_band)
{
	return perf_events_count(side_band->events);
}

/* @count records are known not to have come; 0: it is not known whether any. */
static void report_lost(side_band_function take, void *context, uint64_t time_ns, uint64_t count)
{
	struct record record = { .kind = RECORD_LOST, .time_ns = time_ns, .lost = count };

	take(context, &record);
}

static void ring_look(struct cpu_ring *ring, uint64_t until_ns, side_band_function take,
		      void *context)
{
	bool broken = false;

	// What is there has been written by now: one that comes later would keep all others back.
	while ((ring->pending = ring_peek(&ring->ring, &ring->next_ns, &broken)) &&
	       ring->next_ns > until_ns + LATE_MOST_NS) {
		ring_pass(&ring->ring);
		broken = true;
	}
	ring->pending = ring->pending && ring->next_ns <= until_ns;
	if (broken)
		report_lost(take, context, until_ns, 1);
}

static struct cpu_ring *ring_with_oldest(struct side_band *side_band)
{
	struct cpu_ring *oldest = NULL;

	for (size_t i = 0; i < side_band->rings.count; i++) {
		struct cpu_ring *ring = &side_band->rings.items[i];

		if (ring->pending && (!oldest || ring->next_ns < oldest->next_ns))
			oldest = ring;
	}
	return oldest;
}

void side_band_take(struct side_band *side_band, uint64_t until_ns, side_band_function take,
		    void *context)
{
	struct cpu_ring *ring;
	bool was_full = false;

	for (size_t i = 0; i < side_band->rings.count; i++) {
		ring = &side_band->rings.items[i];
		if (!ring->memory)
			continue;
		ring_refresh(&ring->ring);
		ring_look(ring, until_ns, take, context);
	}
	// Merged straight from the rings: nothing is copied, and nothing can outgrow them.
	while ((ring = ring_with_oldest(side_band))) {
		struct record record;
		size_t length;
		const void *bytes = ring_record(&ring->ring, side_band->scratch, &length);

		if (record_decode(bytes, length, &record))
			take(context, &record);
		else
			report_lost(take, context, until_ns, 1);
		ring_pass(&ring->ring);
		// A burst goes on while it is taken in.
		if (ring_passed(&ring->ring) > ring->ring.size / WAKE_PART)
			was_full |= ring_release(&ring->ring);
		ring_look(ring, until_ns, take, context);
	}
	for (size_t i = 0; i < side_band->rings.count; i++)
		if (side_band->rings.items[i].memory)
			was_full |= ring_release(&side_band->rings.items[i].ring);
	if (was_full)
		report_lost(take, context, until_ns, 0);
}

int side_band_add(struct side_band *side_band, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = ADDED };

	return epoll_ctl(side_band->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

bool side_band_wait(struct side_band *side_band, uint64_t timeout_ns)
{
	struct pollfd pollfd = { .fd = side_band->epoll_fd, .events = POLLIN };
	struct timespec timeout = clock_timespec(timeout_ns);
	struct epoll_event events[EVENTS_AT_ONCE];
	bool called = false;
	int count;

	// epoll_wait() knows milliseconds only, and epoll_pwait2() came with 5.11.
	if (ppoll(&pollfd, 1, &timeout, NULL) <= 0)
		return false;
	count = epoll_wait(side_band->epoll_fd, events, EVENTS_AT_ONCE, 0);
	for (int i = 0; i < count; i++) {
		eventfd_t ignored;

		if (events[i].data.u64 == WAKE)
			called = !eventfd_read(side_band->wake_fd, &ignored);
	}
	return called;
}

void side_band_rest(struct side_band *side_band, uint64_t timeout_ns)
{
	struct pollfd pollfd = { .fd = side_band->wake_fd, .events = POLLIN };
	struct timespec timeout = clock_timespec(timeout_ns);

	if (ppoll(&pollfd, 1, &timeout, NULL) > 0)
		eventfd_read(side_band->wake_fd, &(eventfd_t){ 0 });
}

void side_band_wake(struct side_band *side_band)
{
	// Fails only when the counter is full, that is, when a wake-up is pending already.
	eventfd_write(side_band->wake_fd, 1);
}
