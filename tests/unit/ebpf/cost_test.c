// SPDX-License-Identifier: Apache-2.0
/* The own cost as it is shown and logged. */
#include "cost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define SECOND 1000000000ull
#define MIB    (1ull << 20)

enum { METRICS = 16 };

static struct {
	struct profcol_metric metric;
	char name[80];
} metrics[METRICS];
static char log_text[4096];
static struct cost cost;
static struct profiling_config config;

static struct profcol_metric *find_metric(const struct profcol_host *host,
					  enum profcol_metric_kind kind, const char *name,
					  const char *label, const char *doc)
{
	char wanted[80];
	size_t i = 0;

	(void)host;
	(void)kind;
	(void)doc;
	snprintf(wanted, sizeof(wanted), "%s{%s}", name, label);
	while (i < METRICS && *metrics[i].name && strcmp(metrics[i].name, wanted) != 0)
		i++;
	assert_true(i < METRICS);
	strcpy(metrics[i].name, wanted);
	return &metrics[i].metric;
}

static int64_t value_of(const char *name)
{
	for (size_t i = 0; i < METRICS; i++)
		if (!strcmp(metrics[i].name, name))
			return profcol_metric_get(&metrics[i].metric);
	fail_msg("no metric %s", name);
	return 0;
}

static void keep(const struct profcol_logger *logger, enum profcol_level level, const char *format,
		 va_list arguments)
{
	size_t length = strlen(log_text);

	(void)logger;
	(void)level;
	vsnprintf(log_text + length, sizeof(log_text) - length, format, arguments);
	length = strlen(log_text);
	snprintf(log_text + length, sizeof(log_text) - length, "\n");
}

static const struct profcol_logger logger = { sizeof(logger), PROFCOL_INFO, keep };
static const struct profcol_host host = {
	.size = sizeof(host),
	.logger = &logger,
	.metric = find_metric,
};

static struct cost_reading reading_at(uint64_t seconds)
{
	return (struct cost_reading){
		.now_ns = (1000 + seconds) * SECOND,
		.cpu_ns = { seconds * SECOND / 100, seconds * SECOND / 1000,
			    seconds * SECOND / 200 },
		.memory_bytes = { 20 * MIB, 5 * MIB / 2, 8 * MIB },
		.tables_bytes = 4 * MIB,
	};
}

static int set_up(void **state)
{
	struct cost_reading reading = reading_at(0);

	(void)state;
	memset(metrics, 0, sizeof(metrics));
	*log_text = '\0';
	config = (struct profiling_config){ .samples_per_second = 50,
					    .unwind_memory_bytes = 32 * MIB,
					    .overhead = { .cpu = "" } };
	cost_init(&cost, &host, &config, &reading);
	return 0;
}

static bool check_at(uint64_t seconds, uint64_t *period_ns_ret)
{
	struct cost_reading reading = reading_at(seconds);
	uint64_t tables_bytes;

	return cost_check(&cost, &reading, period_ns_ret, &tables_bytes);
}

static void each_part_is_a_metric(void **state)
{
	uint64_t period_ns;

	(void)state;
	assert_false(check_at(1000, &period_ns));
	assert_int_equal(period_ns, 20000000);
	assert_int_equal(value_of("overhead_cpu_seconds{of=agent}"), 10 * SECOND);
	assert_int_equal(value_of("overhead_cpu_seconds{of=workers}"), SECOND);
	assert_int_equal(value_of("overhead_cpu_seconds{of=bpf}"), 5 * SECOND);
	assert_int_equal(value_of("overhead_memory_bytes{of=agent}"), 20 * MIB);
	assert_int_equal(value_of("overhead_memory_bytes{of=bpf}"), 8 * MIB);
	assert_int_equal(value_of("sampling_period_seconds{}"), 20000000);
	assert_string_equal(log_text, "");
}

static void a_line_an_hour_says_what_it_was(void **state)
{
	static const char line[] =
		"cost of the last hour: 1.00 % of a CPU in profcol, 0.10 % in its workers, 0.50 % "
		"in "
		"BPF programs; memory now: 20.0 MiB in profcol, 2.5 MiB in its workers, 8.0 MiB in "
		"BPF maps; 50 samples a second on each CPU\n";
	uint64_t period_ns;

	(void)state;
	for (uint64_t seconds = 5; seconds < 3600; seconds += 5)
		check_at(seconds, &period_ns);
	assert_string_equal(log_text, "");
	check_at(3600, &period_ns);
	assert_string_equal(log_text, line);
	for (uint64_t seconds = 3605; seconds < 7200; seconds += 5)
		check_at(seconds, &period_ns);
	assert_string_equal(log_text, line);
	check_at(7200, &period_ns);
	assert_int_equal(strlen(log_text), 2 * strlen(line));
}

/* Between the end of a worker and its reaping its time is in neither figure. */
static void the_time_of_workers_never_falls(void **state)
{
	struct cost_reading reading = reading_at(10);
	uint64_t period_ns, tables_bytes;

	(void)state;
	cost_check(&cost, &reading, &period_ns, &tables_bytes);
	reading.now_ns += 5 * SECOND;
	reading.cpu_ns[COST_WORKERS] = 0;
	cost_check(&cost, &reading, &period_ns, &tables_bytes);
	assert_int_equal(value_of("overhead_cpu_seconds{of=workers}"), SECOND / 100);
}

static void a_lower_rate_is_logged_and_counted(void **state)
{
	struct cost_reading reading = reading_at(0);
	uint64_t period_ns = 0;
	bool changed = false;

	(void)state;
	config.overhead.cpu = "1%";
	cost_init(&cost, &host, &config, &reading);
	for (uint64_t seconds = 5; !changed && seconds < 120; seconds += 5)
		changed = check_at(seconds, &period_ns);
	assert_true(changed);
	assert_true(period_ns > 20000000);
	assert_int_equal(value_of("sampling_period_seconds{}"), (int64_t)period_ns);
	assert_int_equal(value_of("overhead_rate_changes{direction=lower}"), 1);
	assert_non_null(strstr(log_text, "lowering the rate from 50 to "));
	assert_non_null(
		strstr(log_text, "profiling takes 1.60 % of a CPU, overhead::cpu allows 1.00 %"));
}

/* The limit that is broken, and no figure of the other. */
static void at_the_lowest_rate_the_limit_in_question_is_named(void **state)
{
	struct cost_reading reading = reading_at(0);
	uint64_t period_ns;

	(void)state;
	config.overhead.memory_bytes = 8 * MIB;
	config.samples_per_second = 1;
	cost_init(&cost, &host, &config, &reading);
	for (uint64_t seconds = 5; seconds < 600; seconds += 5)
		check_at(seconds, &period_ns);
	assert_int_equal(period_ns, SECOND);
	assert_non_null(strstr(log_text, "profiling takes 30.5 MiB at the lowest rate, "
					 "overhead::memory allows 8.0 MiB; raise it"));
	assert_null(strstr(log_text, "of a CPU"));
}

static void a_rate_that_was_lowered_in_vain_comes_back_with_a_warning(void **state)
{
	struct cost_reading reading = reading_at(0);
	uint64_t period_ns;

	(void)state;
	config.overhead.memory_bytes = 8 * MIB;
	cost_init(&cost, &host, &config, &reading);
	for (uint64_t seconds = 5; seconds < 600; seconds += 5)
		check_at(seconds, &period_ns);
	assert_int_equal(period_ns, SECOND / 50);
	assert_int_equal(value_of("overhead_rate_changes{direction=lower}"), 2);
	assert_int_equal(value_of("overhead_rate_changes{direction=raise}"), 1);
	assert_non_null(strstr(log_text, "fewer free too little memory; profiling takes 30.5 MiB, "
					 "overhead::memory allows 8.0 MiB; raise it"));
	assert_null(strstr(log_text, "of a CPU"));
}

static void of_tables_what_is_beyond_the_least_of_each_kind_can_be_taken(void **state)
{
	const struct cost_bpf both = { .tables_bytes = 10 * MIB, .index_bytes = 30 * MIB };
	const struct cost_bpf one = { .tables_bytes = 10 * MIB, .index_bytes = 2 * MIB };
	const struct cost_bpf none = { .tables_bytes = 3 * MIB, .index_bytes = 12 * MIB };
	const struct worker_use workers = { 0 };

	(void)state;
	assert_int_equal(cost_read(&both, &workers).tables_bytes, (20 + 6 + 18) * MIB);
	assert_int_equal(cost_read(&one, &workers).tables_bytes, (20 + 6) * MIB);
	assert_int_equal(cost_read(&none, &workers).tables_bytes, 20 * MIB);
}

static void this_process_costs_something(void **state)
{
	struct cost_bpf bpf = { .run_ns = 7, .map_bytes = 4096 };
	struct worker_use workers = { .cpu_ns = 5, .memory_bytes = 6 };
	struct cost_reading reading = cost_read(&bpf, &workers);

	(void)state;
	assert_true(reading.cpu_ns[COST_AGENT] > 0);
	assert_true(reading.cpu_ns[COST_WORKERS] >= 5);
	assert_int_equal(reading.cpu_ns[COST_BPF], 7);
	assert_in_range(reading.memory_bytes[COST_AGENT], 1 * MIB, 4096 * MIB);
	assert_int_equal(reading.memory_bytes[COST_WORKERS], 6);
}

static void tables_are_divided_as_configured_but_no_less_than_makes_sense(void **state)
{
	const struct profiling_config usual = { .unwind_memory_bytes = 32 * MIB,
						.symbol_memory_bytes = 64 * MIB };
	const struct profiling_config small = { .unwind_memory_bytes = MIB,
						.symbol_memory_bytes = 2 * MIB };
	struct cost_tables parts;

	(void)state;
	parts = cost_divide_tables(&usual, 96 * MIB);
	assert_int_equal(parts.unwind_bytes, 32 * MIB);
	assert_int_equal(parts.symbol_bytes, 64 * MIB);
	parts = cost_divide_tables(&usual, 48 * MIB);
	assert_int_equal(parts.unwind_bytes, 16 * MIB);
	assert_int_equal(parts.symbol_bytes, 32 * MIB);
	parts = cost_divide_tables(&usual, 0);
	assert_int_equal(parts.unwind_bytes, 4 * MIB);
	assert_int_equal(parts.symbol_bytes, 16 * MIB);
	parts = cost_divide_tables(&small, 0);
	assert_int_equal(parts.unwind_bytes, MIB);
	assert_int_equal(parts.symbol_bytes, 2 * MIB);
}

/* They lie in memory of no process: beyond the limit it is they that go first. */
static void indexes_of_functions_count(void **state)
{
	struct cost_reading reading = reading_at(10);
	uint64_t period_ns, tables_bytes;

	(void)state;
	config.symbol_memory_bytes = 64 * MIB;
	config.overhead.memory_bytes = 64 * MIB;
	cost_init(&cost, &host, &config, &reading);
	reading = reading_at(30);
	reading.memory_bytes[COST_WORKERS] = 80 * MIB;
	reading.tables_bytes = 48 * MIB;
	assert_true(cost_check(&cost, &reading, &period_ns, &tables_bytes));
	assert_int_equal(period_ns, 1000000000 / 50);
	assert_true(tables_bytes < 40 * MIB);
	assert_non_null(strstr(log_text, "unwind tables and names of functions"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_part_is_a_metric, set_up),
		cmocka_unit_test_setup(a_line_an_hour_says_what_it_was, set_up),
		cmocka_unit_test_setup(the_time_of_workers_never_falls, set_up),
		cmocka_unit_test_setup(a_lower_rate_is_logged_and_counted, set_up),
		cmocka_unit_test_setup(at_the_lowest_rate_the_limit_in_question_is_named, set_up),
		cmocka_unit_test_setup(a_rate_that_was_lowered_in_vain_comes_back_with_a_warning,
				       set_up),
		cmocka_unit_test_setup(of_tables_what_is_beyond_the_least_of_each_kind_can_be_taken,
				       set_up),
		cmocka_unit_test_setup(this_process_costs_something, set_up),
		cmocka_unit_test_setup(
			tables_are_divided_as_configured_but_no_less_than_makes_sense, set_up),
		cmocka_unit_test_setup(indexes_of_functions_count, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
