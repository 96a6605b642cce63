// SPDX-License-Identifier: Apache-2.0
/*
 * What a sample costs inside of the kernel when its process is not selected, in ns a run:
 *
 *   select_cost [SAMPLES A SECOND]     as root; 1000 by default
 *
 * A timer on this process's own CPU time runs one program at a time for ROUND_NS of it, and the
 * kernel's statistics of BPF programs count; rounds take turns, and of each row the least disturbed
 * one counts. In between the process either stays in its cache ("warm") or reads through more
 * memory than fits there ("cold"), as whatever runs on a real machine does between two samples.
 */
#include "empty.skel.h"
#include "perf_event.skel.h"
#include "sample.h"

#include "base/base.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

enum { ROUNDS = 7, SLABS = 64, DEFAULT_RATE = 1000, COLD_BYTES = 64 << 20 };

static const uint64_t ROUND_NS = 1000000000;

enum row { ROW_EMPTY, ROW_UNSELECTED, ROW_COUNT };

static const char *const names[ROW_COUNT] = {
	[ROW_EMPTY] = "an empty program",
	[ROW_UNSELECTED] = "a sample of an unselected process",
};

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Use the CPU for ROUND_NS; going through @memory when there is one. */
static void burn(volatile uint64_t *memory)
{
	uint64_t end = cpu_ns() + ROUND_NS, at = 0;

	while (cpu_ns() < end)
		for (int i = 0; i < 10000; i++) {
			at = at * 6364136223846793005u + 1442695040888963407u;
			if (memory)
				memory[(at >> 20) % (COLD_BYTES / sizeof(*memory))]++;
		}
}

static int open_timer(uint64_t rate)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000 / rate,
		.disabled = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static struct bpf_prog_info info_of(int program)
{
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof(info);

	if (bpf_obj_get_info_by_fd(program, &info, &size))
		memset(&info, 0, sizeof(info));
	return info;
}

/* ns a run of @program in one round, or a negative errno. */
static double measure(int program, uint64_t rate, volatile uint64_t *memory)
{
	struct bpf_prog_info before, after;
	CLEANUP_FD int timer = open_timer(rate);

	if (timer < 0 || ioctl(timer, PERF_EVENT_IOC_SET_BPF, program))
		return -errno;
	before = info_of(program);
	if (ioctl(timer, PERF_EVENT_IOC_ENABLE, 0))
		return -errno;
	burn(memory);
	ioctl(timer, PERF_EVENT_IOC_DISABLE, 0);
	after = info_of(program);
	if (after.run_cnt == before.run_cnt)
		return -ENODATA;
	return (double)(after.run_time_ns - before.run_time_ns) /
	       (double)(after.run_cnt - before.run_cnt);
}

/* Have the sampler drop samples of @who. */
static bool drop(struct perf_event_bpf *sampler, __u64 who)
{
	struct select_bucket bucket = { .slots = { who } };
	__u32 number = (__u32)who & (SELECT_BUCKETS - 1);

	sampler->bss->select_active = 1;
	return !bpf_map_update_elem(bpf_map__fd(sampler->maps.select_unselected), &number, &bucket,
				    BPF_ANY);
}

/* Has the sampler dropped anything, and nothing but that happened? */
static bool has_only_dropped(struct perf_event_bpf *sampler)
{
	size_t bytes = bpf_map__value_size(sampler->maps.buffers);
	uint64_t taken = 0, unselected = 0;
	CLEANUP_FREE struct sample_buffer *buffer = malloc(bytes);
	__u32 cpus = (__u32)libbpf_num_possible_cpus();

	for (__u32 cpu = 0; buffer && cpu < cpus; cpu++) {
		if (bpf_map_lookup_elem(bpf_map__fd(sampler->maps.buffers), &cpu, buffer))
			return false;
		taken += buffer->counters.of[SAMPLE_COUNTER_TAKEN];
		unselected += buffer->counters.of[SAMPLE_COUNTER_UNSELECTED];
	}
	return taken && taken == unselected;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

static bool show(const char *heat, double found[ROW_COUNT][ROUNDS])
{
	for (int row = 0; row < ROW_COUNT; row++) {
		qsort(found[row], ROUNDS, sizeof(double), compare);
		if (found[row][0] < 0)
			return false;
		printf("%s\t%-45s\t%6.0f ns\t%+6.0f ns\n", heat, names[row], found[row][0],
		       found[row][0] - found[ROW_EMPTY][0]);
	}
	return true;
}

static bool run_rounds(struct perf_event_bpf *sampler, struct empty_bpf *empty, uint64_t rate,
		       volatile uint64_t *memory)
{
	int program = bpf_program__fd(sampler->progs.sample_cpu_clock);
	int nothing = bpf_program__fd(empty->progs.do_nothing);
	double found[ROW_COUNT][ROUNDS];

	for (int round = 0; round < ROUNDS; round++) {
		found[ROW_EMPTY][round] = measure(nothing, rate, memory);
		found[ROW_UNSELECTED][round] = measure(program, rate, memory);
	}
	return show(memory ? "cold" : "warm", found);
}

static int fail(const char *what)
{
	fprintf(stderr, "select_cost: %s: %s; run it as root\n", what, strerror(errno));
	return 1;
}

int main(int argc, char **argv)
{
	uint64_t rate = argc > 1 ? strtoull(argv[1], NULL, 10) : DEFAULT_RATE;
	struct perf_event_bpf *sampler = perf_event_bpf__open();
	struct empty_bpf *empty = empty_bpf__open_and_load();
	volatile uint64_t *memory = malloc(COLD_BYTES);

	if (!sampler || !empty || !memory || !rate)
		return fail("begin");
	memset((void *)(uintptr_t)memory, 1, COLD_BYTES);
	bpf_map__set_max_entries(sampler->maps.unwind_slabs, SLABS);
	bpf_map__set_max_entries(sampler->maps.buffers, (__u32)libbpf_num_possible_cpus());
	if (perf_event_bpf__load(sampler) || bpf_enable_stats(BPF_STATS_RUN_TIME) < 0)
		return fail("load the sampler");
	if (measure(bpf_program__fd(empty->progs.note_who), rate, NULL) < 0 || !empty->bss->who)
		return fail("sample this process");
	if (!drop(sampler, empty->bss->who))
		return fail("unselect this process");
	if (!run_rounds(sampler, empty, rate, NULL) || !run_rounds(sampler, empty, rate, memory))
		return fail("measure");
	if (!has_only_dropped(sampler))
		return fail("this process was not dropped");
	return 0;
}
