// SPDX-License-Identifier: Apache-2.0
/* The limits on the own cost, against a machine whose cost is made up. */
#include "overhead.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#define SECOND 1000000000ull
#define MIB    (1ull << 20)

enum { STEP_S = 5, RATE = 99, LEAST_TABLES = 4 << 20 };

/* A machine on which time passes, and where profiling costs what the test says. */
struct machine {
	struct overhead overhead;
	struct overhead_cost cost;
	double fixed;      /* CPU seconds in a second, at any rate */
	double per_sample; /* CPU seconds for one a second */
	uint64_t other_bytes, wanted_tables_bytes, bytes_per_rate;
	unsigned int changes, table_changes, floors;
};

static void pay(struct machine *machine)
{
	const struct overhead *overhead = &machine->overhead;

	machine->cost.now_ns += STEP_S * SECOND;
	machine->cost.cpu_ns += (uint64_t)((machine->fixed + machine->per_sample * overhead->rate) *
					   STEP_S * SECOND);
	machine->cost.tables_bytes = machine->wanted_tables_bytes < overhead->tables_bytes
					     ? machine->wanted_tables_bytes
					     : overhead->tables_bytes;
	machine->cost.memory_bytes = machine->other_bytes + machine->cost.tables_bytes +
				     (uint64_t)((double)machine->bytes_per_rate * overhead->rate);
}

static void start(struct machine *machine, double cpu, uint64_t memory_bytes)
{
	const struct overhead_limits limits = {
		.cpu = cpu,
		.memory_bytes = memory_bytes,
		.most_rate = RATE,
		.most_tables = 32 * MIB,
		.least_tables = LEAST_TABLES,
	};

	machine->cost = (struct overhead_cost){ .now_ns = 1000 * SECOND, .cpu_ns = SECOND };
	overhead_init(&machine->overhead, &limits, &machine->cost);
}

static void run(struct machine *machine, unsigned int seconds)
{
	for (unsigned int i = 0; i < seconds; i += STEP_S) {
		struct overhead_decision decision;

		pay(machine);
		decision = overhead_check(&machine->overhead, &machine->cost);
		machine->changes += decision.rate_reason != OVERHEAD_STAYS;
		machine->table_changes += decision.tables_reason != OVERHEAD_STAYS;
		machine->floors += decision.floor_reason != OVERHEAD_STAYS;
	}
}

static double share(const struct machine *machine)
{
	return machine->fixed + machine->per_sample * machine->overhead.rate;
}

static void the_rate_stays_while_it_costs_less_than_allowed(void **state)
{
	struct machine machine = { .fixed = 0.001, .per_sample = 0.00003 };

	(void)state;
	start(&machine, 0.005, 0);
	run(&machine, 600);
	assert_int_equal(machine.changes, 0);
	assert_int_equal(overhead_period_ns(&machine.overhead), 1000000000 / RATE);
}

static void the_rate_goes_down_until_cpu_is_kept(void **state)
{
	struct machine machine = { .per_sample = 0.0001 };

	(void)state;
	start(&machine, 0.005, 0);
	run(&machine, 60);
	assert_true(machine.changes >= 1);
	assert_true(share(&machine) < 0.005);
	assert_true(share(&machine) > 0.8 * 0.005);
}

/* Not a step at a time for ever: two rates tell what the samples cost and what the rest does. */
static void what_no_rate_changes_is_told_apart(void **state)
{
	struct machine machine = { .fixed = 0.004, .per_sample = 0.0001 };

	(void)state;
	start(&machine, 0.005, 0);
	run(&machine, 120);
	assert_true(share(&machine) <= 0.005 * 1.001);
	assert_true(machine.changes <= 5);
	machine.changes = 0;
	run(&machine, 600);
	assert_true(machine.changes <= 1);
}

static void the_rate_comes_back_when_there_is_room(void **state)
{
	struct machine machine = { .per_sample = 0.0004 };

	(void)state;
	start(&machine, 0.005, 0);
	run(&machine, 120);
	assert_true(machine.overhead.rate < 15);
	machine.per_sample = 0.00001;
	run(&machine, 300);
	assert_true(machine.overhead.rate == RATE);
	assert_int_equal(overhead_period_ns(&machine.overhead), 1000000000 / RATE);
}

/* A load that comes and goes by a tenth is no reason to change anything. */
static void a_cost_that_wavers_changes_nothing(void **state)
{
	struct machine machine = { .per_sample = 0.0001 };

	(void)state;
	start(&machine, 0.005, 0);
	run(&machine, 120);
	machine.changes = 0;
	for (int i = 0; i < 60; i++) {
		machine.per_sample = i % 2 ? 0.000106 : 0.000094;
		run(&machine, 10);
	}
	assert_int_equal(machine.changes, 0);
}

static void the_start_is_not_held_against_the_rate(void **state)
{
	struct machine machine = { .per_sample = 0.00001 };

	(void)state;
	start(&machine, 0.005, 0);
	machine.cost.cpu_ns += SECOND;
	run(&machine, 120);
	assert_int_equal(machine.changes, 0);
}

static void the_lowest_rate_is_said_once(void **state)
{
	struct machine machine = { .fixed = 0.02, .per_sample = 0.0001 };

	(void)state;
	start(&machine, 0.005, 0);
	run(&machine, 600);
	assert_true(machine.overhead.rate == OVERHEAD_LEAST_RATE);
	assert_int_equal(machine.floors, 1);
}

static void memory_is_taken_from_the_tables_before_the_rate(void **state)
{
	struct machine machine = {
		.per_sample = 0.00001,
		.other_bytes = 50 * MIB,
		.wanted_tables_bytes = 30 * MIB,
	};

	(void)state;
	start(&machine, 0, 64 * MIB);
	run(&machine, 120);
	assert_true(machine.table_changes >= 1);
	assert_int_equal(machine.changes, 0);
	assert_true(machine.cost.memory_bytes <= 64 * MIB);
	assert_true(machine.overhead.tables_bytes >= LEAST_TABLES);
}

static void then_the_rate_goes_down(void **state)
{
	struct machine machine = {
		.other_bytes = 40 * MIB,
		.wanted_tables_bytes = 30 * MIB,
		.bytes_per_rate = MIB / 2,
	};

	(void)state;
	start(&machine, 0, 64 * MIB);
	run(&machine, 300);
	assert_int_equal(machine.overhead.tables_bytes, LEAST_TABLES);
	assert_true(machine.overhead.rate < RATE);
	assert_true(machine.cost.memory_bytes <= 64 * MIB);
}

static void both_come_back_when_memory_is_free(void **state)
{
	struct machine machine = {
		.other_bytes = 58 * MIB,
		.wanted_tables_bytes = 30 * MIB,
		.bytes_per_rate = MIB / 20,
	};

	(void)state;
	start(&machine, 0, 64 * MIB);
	run(&machine, 300);
	assert_true(machine.overhead.rate < RATE);
	machine.other_bytes = 10 * MIB;
	run(&machine, 1800);
	assert_int_equal(machine.overhead.tables_bytes, 32 * MIB);
	assert_true(machine.overhead.rate == RATE);
}

static void what_fewer_samples_do_not_free_lowers_no_rate(void **state)
{
	struct machine machine = { .other_bytes = 70 * MIB,
				   .wanted_tables_bytes = 3 * MIB,
				   .bytes_per_rate = MIB / 100 };

	(void)state;
	start(&machine, 0, 64 * MIB);
	run(&machine, 60);
	assert_true(machine.overhead.rate == RATE);
	assert_int_equal(machine.changes, 3);
	run(&machine, 540);
	assert_int_equal(machine.changes, 3);
	// It is tried again, since what takes the memory may be another thing by now.
	machine.other_bytes = 20 * MIB;
	machine.bytes_per_rate = MIB / 2;
	run(&machine, 300);
	assert_true(machine.overhead.rate < RATE);
	assert_true(machine.cost.memory_bytes <= 64 * MIB);
}

/* A worker reads a large file. */
static void a_moment_over_the_limit_lowers_no_rate(void **state)
{
	struct machine machine = { .other_bytes = 57 * MIB, .wanted_tables_bytes = 3 * MIB };

	(void)state;
	start(&machine, 0, 64 * MIB);
	for (int i = 0; i < 60; i++) {
		run(&machine, 55);
		machine.other_bytes = 67 * MIB;
		run(&machine, 5);
		machine.other_bytes = 57 * MIB;
	}
	assert_int_equal(machine.changes, 0);
}

/* An hour in which somebody else's memory is now over the limit, now below: no step of the rate is
 * kept that has freed nothing. */
static void what_wavers_about_the_limit_costs_few_samples(void **state)
{
	struct machine machine = { .wanted_tables_bytes = 3 * MIB };
	double sum = 0;

	(void)state;
	start(&machine, 0, 64 * MIB);
	for (int i = 0; i < 60; i++) {
		machine.other_bytes = 59 * MIB;
		run(&machine, 45);
		machine.other_bytes = 65 * MIB;
		run(&machine, 15);
		sum += machine.overhead.rate;
	}
	assert_true(sum / 60 > 0.7 * RATE);
	assert_true(machine.overhead.rate > 0.4 * RATE);
}

/* Each sample takes more memory while the rate goes down: the lower rate is not vain for that. */
static void samples_that_take_more_lower_the_rate_further(void **state)
{
	struct machine machine = { .other_bytes = 20 * MIB,
				   .wanted_tables_bytes = 3 * MIB,
				   .bytes_per_rate = MIB / 2 };

	(void)state;
	start(&machine, 0, 64 * MIB);
	run(&machine, 300);
	for (int i = 0; i < 30; i++) {
		machine.bytes_per_rate += MIB / 40;
		run(&machine, 10);
		assert_true(machine.cost.memory_bytes <= 64 * MIB / 100 * 130);
	}
	run(&machine, 120);
	assert_true(machine.cost.memory_bytes <= 64 * MIB);
	assert_true(machine.overhead.rate < RATE / 2.0);
}

/* Below the limit, but not so far below that there would be room for more. */
static void a_rate_lowered_for_memory_waits_for_memory(void **state)
{
	struct machine machine = {
		.other_bytes = 20 * MIB,
		.wanted_tables_bytes = 3 * MIB,
		.bytes_per_rate = MIB / 2,
	};
	double lowered;

	(void)state;
	start(&machine, 0, 64 * MIB);
	run(&machine, 60);
	lowered = machine.overhead.rate;
	assert_true(lowered < RATE);
	assert_true((double)machine.cost.memory_bytes > 0.8 * 64 * MIB);
	run(&machine, 900);
	assert_true(machine.overhead.rate == lowered);
	assert_int_equal(machine.changes, 1);
	machine.other_bytes = 2 * MIB;
	run(&machine, 900);
	assert_true(machine.overhead.rate == RATE);
}

/* Where all of the memory is for samples: it is not tried over and over whether more would do. */
static void the_rate_comes_to_rest_under_the_limit_of_memory(void **state)
{
	struct machine machine = { .wanted_tables_bytes = 3 * MIB,
				   .bytes_per_rate = MIB / 100 * 65 };

	(void)state;
	start(&machine, 0, 64 * MIB);
	run(&machine, 300);
	machine.changes = 0;
	run(&machine, 900);
	assert_int_equal(machine.changes, 0);
	assert_true(machine.cost.memory_bytes <= 64 * MIB);
	assert_true(machine.overhead.rate > RATE / 2.0);
}

static void cut_tables_do_not_hold_a_rate_that_cpu_has_lowered(void **state)
{
	struct machine machine = {
		.per_sample = 0.00001,
		.other_bytes = 50 * MIB,
		.wanted_tables_bytes = 30 * MIB,
	};

	(void)state;
	start(&machine, 0.005, 64 * MIB);
	run(&machine, 120);
	assert_true(machine.overhead.tables_bytes < 32 * MIB);
	machine.per_sample = 0.0004;
	run(&machine, 60);
	assert_true(machine.overhead.rate < 15);
	machine.per_sample = 0.00001;
	run(&machine, 300);
	assert_true(machine.overhead.tables_bytes < 32 * MIB);
	assert_true(machine.overhead.rate == RATE);
}

static void expect_cpu(const char *text, double wanted)
{
	double cpu = -1;

	assert_true(overhead_parse_cpu(text, &cpu));
	assert_true(fabs(cpu - wanted) < 1e-9);
}

static void a_share_of_a_cpu_is_a_percentage(void **state)
{
	static const char *const wrong[] = { "0.5",    "%",      "0%",    "-1%",    "+1%",  " 1%",
					     "1 %",    "1%%",    "0x10%", "nan%",   "inf%", "1e1%",
					     "1.2.3%", "0.001%", "half",  "10001%", "." };
	double cpu;

	(void)state;
	expect_cpu("", 0);
	expect_cpu("0.5%", 0.005);
	expect_cpu("25%", 0.25);
	expect_cpu("250%", 2.5);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(overhead_parse_cpu(wrong[i], &cpu));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rate_stays_while_it_costs_less_than_allowed),
		cmocka_unit_test(the_rate_goes_down_until_cpu_is_kept),
		cmocka_unit_test(what_no_rate_changes_is_told_apart),
		cmocka_unit_test(the_rate_comes_back_when_there_is_room),
		cmocka_unit_test(a_cost_that_wavers_changes_nothing),
		cmocka_unit_test(the_start_is_not_held_against_the_rate),
		cmocka_unit_test(the_lowest_rate_is_said_once),
		cmocka_unit_test(memory_is_taken_from_the_tables_before_the_rate),
		cmocka_unit_test(then_the_rate_goes_down),
		cmocka_unit_test(what_fewer_samples_do_not_free_lowers_no_rate),
		cmocka_unit_test(a_moment_over_the_limit_lowers_no_rate),
		cmocka_unit_test(what_wavers_about_the_limit_costs_few_samples),
		cmocka_unit_test(samples_that_take_more_lower_the_rate_further),
		cmocka_unit_test(both_come_back_when_memory_is_free),
		cmocka_unit_test(a_rate_lowered_for_memory_waits_for_memory),
		cmocka_unit_test(the_rate_comes_to_rest_under_the_limit_of_memory),
		cmocka_unit_test(cut_tables_do_not_hold_a_rate_that_cpu_has_lowered),
		cmocka_unit_test(a_share_of_a_cpu_is_a_percentage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
