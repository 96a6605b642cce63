// SPDX-License-Identifier: Apache-2.0
/* The sampler on the running kernel; needs root. */
#include "sampler.h"

#include "runtimes/runtime.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

struct follower {
	struct sampler *sampler;
	atomic_bool ending;
};

static atomic_size_t records;
enum { CPUS = 1024 };
static uint64_t last_ns[CPUS]; /* when the last record of each CPU was taken */

static void count_record(void *context, const void *record, size_t length)
{
	const struct sample_head *head = record;

	(void)context;
	assert_true(length >= sizeof(struct sample_head));
	if (head->cpu < CPUS) {
		assert_true(head->time_ns >= last_ns[head->cpu]);
		last_ns[head->cpu] = head->time_ns;
	}
	records++;
}

static void log_nothing(const struct profcol_logger *logger, enum profcol_level level,
			const char *format, va_list arguments)
{
	(void)logger;
	(void)level;
	(void)format;
	(void)arguments;
}

/* As the reporter does once a second, only without rest. */
static void *follow(void *context)
{
	struct follower *follower = context;

	while (!follower->ending) {
		struct profcol_error *error = sampler_follow_cpus(follower->sampler);

		assert_null(error);
	}
	return NULL;
}

static void busy_ms(uint64_t milliseconds)
{
	uint64_t end = clock_monotonic_ns() + milliseconds * 1000000u;

	while (clock_monotonic_ns() < end)
		;
}

static struct sampler *start_sampler(const struct profiling_config *config)
{
	static const struct profcol_logger logger = { sizeof(logger), PROFCOL_ERROR, log_nothing };
	static const struct profcol_host host = { .size = sizeof(host), .logger = &logger };
	struct sampler *sampler = sampler_create(&host, config, count_record, NULL);
	struct profcol_error *error = sampler_start(sampler);

	if (error)
		fail_msg("%s", profcol_error_message(error));
	return sampler;
}

static const struct profiling_config usual = { .samples_per_second = 999,
					       .max_stack_depth = 1024,
					       .unwind_memory_bytes = 32 << 20 };

static void nothing_samples_once_detached_whoever_looks_after_cpus_meanwhile(void **state)
{
	(void)state;
	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	for (int round = 0; round < 10; round++) {
		struct follower follower = { .sampler = start_sampler(&usual) };
		uint64_t detached[SAMPLE_COUNTER_COUNT], later[SAMPLE_COUNTER_COUNT];
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, follow, &follower), 0);
		busy_ms(10);
		sampler_detach(follower.sampler);
		sampler_counters(follower.sampler, detached);
		busy_ms(20);
		sampler_counters(follower.sampler, later);
		follower.ending = true;
		pthread_join(thread, NULL);
		assert_true(detached[SAMPLE_COUNTER_TAKEN] > 0);
		assert_int_equal(later[SAMPLE_COUNTER_TAKEN], detached[SAMPLE_COUNTER_TAKEN]);

		// Each one emitted is there to be drained, no more and no less.
		records = 0;
		assert_int_equal(sampler_drain(follower.sampler), 0);
		assert_int_equal(records, later[SAMPLE_COUNTER_EMITTED]);
		sampler_destroy(follower.sampler);
	}
}

static void the_programs_tell_what_they_cost(void **state)
{
	uint64_t totals[SAMPLE_COUNTER_COUNT], runs;
	struct sampler *sampler;

	(void)state;
	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	sampler = start_sampler(&usual);
	busy_ms(50);
	sampler_detach(sampler);
	sampler_counters(sampler, totals);
	runs = totals[SAMPLE_COUNTER_TAKEN] - totals[SAMPLE_COUNTER_IDLE];
	assert_true(runs > 0);
	// No run takes less than the clock's reading, or anything like a tick's length.
	assert_in_range(totals[SAMPLE_COUNTER_RUN_NS], runs * 10, runs * 1000000);
	assert_in_range(sampler_map_bytes(sampler), 256 << 10, 1 << 30);
	sampler_destroy(sampler);
}

/* Instructions that the verifier has followed for the program @fd; 0: it is no program, or the
 * kernel is older than 5.16. */
static uint32_t verified(int fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t length = sizeof(info);
	char path[64], name[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, name, sizeof(name) - 1) < 0 || strcmp(name, "anon_inode:bpf-prog") != 0)
		return 0;
	assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &length), 0);
	return info.verified_insns;
}

/*
 * What the verifier follows is what the start waits for. A loop that it meets in many states
 * multiplies that at once.
 */
static void the_verifier_has_little_to_follow(void **state)
{
	struct sampler *sampler;
	uint64_t sum = 0;

	(void)state;
	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	sampler = start_sampler(&usual);
	for (int fd = 0; fd < 1024; fd++)
		sum += verified(fd);
	sampler_destroy(sampler);
	if (!sum) {
		print_message("needs Linux 5.16\n");
		skip();
	}
	assert_in_range(sum, 1000, 120000);
}

/* The array of programs that the sampler calls; it has one. */
static int programs_called(void)
{
	for (int fd = 0; fd < 1024; fd++) {
		struct bpf_map_info info = { 0 };
		uint32_t length = sizeof(info);

		if (!bpf_obj_get_info_by_fd(fd, &info, &length) &&
		    info.type == BPF_MAP_TYPE_PROG_ARRAY)
			return fd;
	}
	fail_msg("there is no array of programs");
	return -1;
}

/* What the verifier has followed for the program that walks stacks of processes with @runtimes; 0:
 * as above. */
static uint64_t verified_for(struct sampler *sampler, uint32_t runtimes)
{
	struct profcol_error *error = sampler_load_walk(sampler, runtimes, 1);
	uint32_t number = 1, id;
	uint64_t instructions;
	int fd;

	if (error)
		fail_msg("runtimes %x: %s", runtimes, profcol_error_message(error));
	assert_int_equal(bpf_map_lookup_elem(programs_called(), &number, &id), 0);
	fd = bpf_prog_get_fd_by_id(id);
	assert_true(fd >= 0);
	instructions = verified(fd);
	close(fd);
	return instructions;
}

/* Whoever has loaded one waits for it, and has its stacks cut until then. */
static void the_verifier_has_little_to_follow_for_runtimes(void **state)
{
	struct sampler *sampler;
	uint64_t sum = 0, alone;
	uint32_t all = 0;

	(void)state;
	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	sampler = start_sampler(&usual);
	for (size_t i = 0; i < RUNTIMES; i++) {
		if (!all_runtimes[i])
			continue;
		all |= 1u << i;
		alone = verified_for(sampler, 1u << i);
		assert_in_range(alone, 0, 120000);
		sum += alone;
	}
	// One that knows several has each of their steps once.
	assert_in_range(verified_for(sampler, all), 0, sum);
	sampler_destroy(sampler);
}

/* Nobody reads: what waits is never written over, and each sample is in the account. */
static void a_full_buffer_loses_the_new_ones_and_goes_on(void **state)
{
	static const struct profiling_config config = { .samples_per_second = 10000,
							.send_idle_frames = true,
							.max_stack_depth = 1024,
							.unwind_memory_bytes = 32 << 20 };
	uint64_t totals[SAMPLE_COUNTER_COUNT] = { 0 };
	struct sampler *sampler;

	(void)state;
	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	records = 0;
	sampler = start_sampler(&config);
	// Two laps of the ring, the second one read as it comes.
	while (totals[SAMPLE_COUNTER_RING_FULL] < 100) {
		busy_ms(20);
		sampler_counters(sampler, totals);
	}
	for (uint64_t emitted = totals[SAMPLE_COUNTER_EMITTED];
	     totals[SAMPLE_COUNTER_EMITTED] < 2 * emitted;) {
		assert_int_equal(sampler_drain(sampler), 0);
		busy_ms(5);
		sampler_counters(sampler, totals);
	}
	sampler_detach(sampler);
	assert_int_equal(sampler_drain(sampler), 0);
	sampler_counters(sampler, totals);
	assert_int_equal(records, totals[SAMPLE_COUNTER_EMITTED]);
	assert_int_equal(totals[SAMPLE_COUNTER_TAKEN],
			 totals[SAMPLE_COUNTER_EMITTED] + totals[SAMPLE_COUNTER_RING_FULL]);
	sampler_destroy(sampler);
}

static uint64_t latest_ns;

static void note_latest(void *context, const void *record, size_t length)
{
	const struct sample_head *head = record;

	(void)context;
	assert_true(length >= sizeof(*head));
	if (head->time_ns > latest_ns)
		latest_ns = head->time_ns;
	records++;
}

static void drain_between(void *context)
{
	struct sampler **sampler = context;

	assert_int_equal(sampler_drain(*sampler), 0);
}

/* What is drained while the period changes is all there is of the old one. */
static void a_period_changes_at_a_moment(void **state)
{
	static const struct profiling_config config = { .samples_per_second = 10000,
							.send_idle_frames = true,
							.max_stack_depth = 1024,
							.unwind_memory_bytes = 32 << 20 };
	static const struct profcol_logger logger = { sizeof(logger), PROFCOL_ERROR, log_nothing };
	static const struct profcol_host host = { .size = sizeof(host), .logger = &logger };
	uint64_t before[SAMPLE_COUNTER_COUNT], after[SAMPLE_COUNTER_COUNT], changed_ns, started_ns;
	struct sampler *sampler;
	uint64_t fewest, most;

	(void)state;
	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	latest_ns = 0;
	sampler = sampler_create(&host, &config, note_latest, NULL);
	assert_null(sampler_start(sampler));
	busy_ms(50);
	changed_ns = sampler_change_period(sampler, 20000000, drain_between, &sampler);
	started_ns = clock_monotonic_ns();
	assert_int_equal(sampler_period_ns(sampler), 20000000);
	assert_true(latest_ns > 0 && latest_ns < changed_ns);

	sampler_counters(sampler, before);
	busy_ms(400);
	assert_null(sampler_follow_cpus(sampler)); // the pause is no CPU that was away
	sampler_counters(sampler, after);
	most = ((clock_monotonic_ns() - started_ns) / 20000000 + 1) * (uint64_t)get_nprocs();
	fewest = 400 / 20 / 2;
	assert_in_range(after[SAMPLE_COUNTER_TAKEN] - before[SAMPLE_COUNTER_TAKEN], fewest, most);
	sampler_detach(sampler);
	sampler_destroy(sampler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_samples_once_detached_whoever_looks_after_cpus_meanwhile),
		cmocka_unit_test(the_programs_tell_what_they_cost),
		cmocka_unit_test(the_verifier_has_little_to_follow),
		cmocka_unit_test(the_verifier_has_little_to_follow_for_runtimes),
		cmocka_unit_test(a_full_buffer_loses_the_new_ones_and_goes_on),
		cmocka_unit_test(a_period_changes_at_a_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
