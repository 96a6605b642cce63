// SPDX-License-Identifier: Apache-2.0
/*
 * The code that decides which waits become samples, on waits that are made up: sums are right
 * whatever the budget, and the budget is kept. The numbers drawn are the same in each run.
 */
#include "events/event_budget.h"
#include "events/off_cpu_detail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static double uniform(uint64_t *state)
{
	return (double)(draw(state) >> 11) / (double)(1ull << 53);
}

/* Each decade is as likely as any other: 10 us to 10 s. */
enum { DECADES = 6 };
static const double shortest_ns = 1e4, longest_ns = 1e10;

/* What is known of the waits of a kind, and what their samples say. */
struct kind {
	double sum, estimate, variance;
	uint64_t count, kept;
};

/* One CPU. */
struct machine {
	struct event_budget budget;
	struct event_budget_limits limits;
	uint64_t random, now_ns, kept;
};

static struct machine machine_of(uint32_t rate, uint64_t seed)
{
	return (struct machine){
		.limits = { .rate = rate, .first = 5000000, .least = 1000 },
		.random = seed,
		.now_ns = 1000000000,
	};
}

/* A wait that ends now; what its sample says, or 0. */
static uint64_t end_wait(struct machine *machine, uint64_t wait_ns, struct kind *kind)
{
	uint64_t threshold =
		machine->budget.threshold ? machine->budget.threshold : machine->limits.first;
	uint64_t weight = event_budget_weigh(&machine->budget, &machine->limits, wait_ns,
					     (uint32_t)draw(&machine->random));

	kind->sum += (double)wait_ns;
	kind->count++;
	kind->kept += weight != 0;
	kind->estimate += (double)weight;
	if (wait_ns < threshold)
		kind->variance += (double)wait_ns * ((double)threshold - (double)wait_ns);
	machine->kept += weight != 0;
	event_budget_note(&machine->budget, &machine->limits, machine->now_ns, weight != 0);
	return weight;
}

static void assert_unbiased(const struct kind *kind)
{
	double error = kind->estimate - kind->sum;

	if (fabs(error) > 3 * sqrt(kind->variance) + 1e-9 * kind->sum)
		fail_msg("%g instead of %g, standard error %g, of %lu waits", kind->estimate,
			 kind->sum, sqrt(kind->variance), (unsigned long)kind->count);
}

static void sums_are_right_for_waits_of_all_lengths_and_each_budget(void **state)
{
	static const uint32_t rates[] = { 10, 50, 200, 1000 };
	enum { WAITS = 1000000 };

	(void)state;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct machine machine = machine_of(rates[i], 1 + i);
		struct kind decades[DECADES] = { 0 }, all = { 0 };

		for (int n = 0; n < WAITS; n++) {
			double share = uniform(&machine.random);
			double wait_ns = shortest_ns * pow(longest_ns / shortest_ns, share);
			struct kind *kind = &decades[(size_t)(share * DECADES)];

			// 10,000 a second, one after the other by chance.
			machine.now_ns += (uint64_t)(-log(1 - uniform(&machine.random)) * 100000);
			end_wait(&machine, (uint64_t)wait_ns, kind);
		}
		for (size_t k = 0; k < DECADES; k++) {
			assert_unbiased(&decades[k]);
			all.sum += decades[k].sum;
			all.estimate += decades[k].estimate;
			all.variance += decades[k].variance;
		}
		assert_unbiased(&all);
		// In a hundred seconds, the first of which are for finding the threshold.
		assert_in_range(machine.kept, rates[i] * 100 * 3 / 4, rates[i] * 100 * 5 / 4);
	}
}

/* Its own end ends the window, so that a threshold of its own making would show. */
static void one_thread_that_sleeps_is_known_exactly(void **state)
{
	struct machine machine = machine_of(10, 7);
	struct kind sleeps = { 0 };

	(void)state;
	for (int n = 0; n < 1000; n++) {
		uint64_t wait_ns = 100000000 + draw(&machine.random) % 10000000000ull;

		machine.now_ns += wait_ns;
		end_wait(&machine, wait_ns, &sleeps);
	}
	assert_int_equal(sleeps.kept, sleeps.count);
	assert_true(sleeps.estimate == sleeps.sum);
}

static void where_there_are_few_all_are_kept(void **state)
{
	struct machine machine = machine_of(200, 8);
	struct kind early = { 0 }, late = { 0 };

	(void)state;
	// 100 a second, of 1 to 10 us each.
	for (int n = 0; n < 10000; n++) {
		machine.now_ns += 10000000;
		end_wait(&machine, 1000 + draw(&machine.random) % 9000, n < 5000 ? &early : &late);
	}
	assert_unbiased(&early);
	assert_int_equal(late.kept, late.count);
	assert_true(late.estimate == late.sum);
}

static void a_storm_is_over_the_budget_for_a_moment_only(void **state)
{
	struct machine machine = machine_of(200, 9);
	struct kind calm = { 0 }, storm = { 0 }, after = { 0 };
	uint64_t end_ns;

	(void)state;
	for (int n = 0; n < 1000; n++) {
		machine.now_ns += 10000000;
		end_wait(&machine, 9000000, &calm);
	}
	// A thousand threads, of which each wakes after a second.
	end_ns = machine.now_ns + 10000000000ull;
	while (machine.now_ns < end_ns) {
		machine.now_ns += 1000000;
		end_wait(&machine, 900000000 + draw(&machine.random) % 200000000, &storm);
	}
	// Ten seconds of them, and what it takes to raise the threshold a thousandfold.
	assert_in_range(storm.kept, 1000, 10 * 200 + 800);
	assert_unbiased(&storm);
	for (int n = 0; n < 2000; n++) {
		machine.now_ns += 10000000;
		end_wait(&machine, 9000000, &after);
	}
	assert_unbiased(&after);
	assert_true(after.kept > 1000);
}

static void a_budget_of_nothing_keeps_nothing(void **state)
{
	struct machine machine = machine_of(0, 10);
	struct kind waits = { 0 };

	(void)state;
	for (int n = 0; n < 1000; n++) {
		machine.now_ns += 1000000;
		end_wait(&machine, 5000000000ull, &waits);
	}
	assert_int_equal(waits.kept, 0);
}

static void no_time_however_long_makes_it_overflow(void **state)
{
	struct machine machine = machine_of(1, 11);
	struct kind waits = { 0 };

	(void)state;
	for (int n = 0; n < 100000; n++) {
		machine.now_ns += 1000;
		end_wait(&machine, 1ull << 62, &waits);
		assert_true(machine.budget.threshold <= EVENT_BUDGET_MOST);
	}
	assert_int_equal(waits.kept, waits.count);
}

static void a_fixed_share_counts_for_those_that_are_left_out(void **state)
{
	static const double shares[] = { 0.001, 0.1, 0.5, 1 };
	uint64_t random = 12;

	(void)state;
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		double wanted = shares[i] * 4294967296.0;
		uint32_t share = wanted >= UINT32_MAX ? UINT32_MAX : (uint32_t)wanted;
		struct kind waits = { 0 };

		for (int n = 0; n < 1000000; n++) {
			uint64_t wait_ns = 10000 + draw(&random) % 10000000;
			uint64_t weight =
				off_cpu_weigh_fixed(share, wait_ns, (uint32_t)draw(&random));

			waits.sum += (double)wait_ns;
			waits.estimate += (double)weight;
			waits.variance += (double)wait_ns * (double)wait_ns * (1 / shares[i] - 1);
			waits.kept += weight != 0;
			waits.count++;
		}
		assert_unbiased(&waits);
		assert_in_range(waits.kept, (uint64_t)(shares[i] * 900000),
				(uint64_t)(shares[i] * 1100000));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_right_for_waits_of_all_lengths_and_each_budget),
		cmocka_unit_test(one_thread_that_sleeps_is_known_exactly),
		cmocka_unit_test(where_there_are_few_all_are_kept),
		cmocka_unit_test(a_storm_is_over_the_budget_for_a_moment_only),
		cmocka_unit_test(a_budget_of_nothing_keeps_nothing),
		cmocka_unit_test(no_time_however_long_makes_it_overflow),
		cmocka_unit_test(a_fixed_share_counts_for_those_that_are_left_out),
	};

	return cmocka_run_group_tests_name("event budget", tests, NULL, NULL);
}
