// SPDX-License-Identifier: Apache-2.0
/* What becomes of samples of waits whose stacks are read when the batch is closed. */
#include "unread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

enum { KERNEL = 2, STACK = 0x7000 };

static struct {
	ssize_t answers[3]; /* of one reading after the other */
	struct stack_query asked[3];
	size_t count;
	uint32_t slow; /* process whose pages come after longer than an owner's turn */
} memory;

struct owner processes_memory_owner(struct processes *processes, uint32_t pid)
{
	(void)processes;
	return (struct owner){ 1000, pid };
}

ssize_t processes_read_stack(struct processes *processes, const struct stack_query *query, void *to)
{
	ssize_t answer = memory.answers[memory.count];

	(void)processes;
	memory.asked[memory.count++] = *query;
	for (uint64_t begin_ns = clock_monotonic_ns(); query->pid == memory.slow;)
		if (clock_monotonic_ns() - begin_ns > 51000000)
			break;
	if (answer > 0)
		memset(to, 5, (size_t)answer);
	return answer;
}

static struct profcol_metric *find_metric(const struct profcol_host *host,
					  enum profcol_metric_kind kind, const char *name,
					  const char *labels, const char *doc)
{
	static struct profcol_metric metrics[UNREAD_RESULTS];
	static size_t count;

	(void)host;
	(void)kind;
	(void)name;
	(void)labels;
	(void)doc;
	return &metrics[count++ % UNREAD_RESULTS];
}

static const struct profcol_host host = { .metric = find_metric };
static struct unread_metrics metrics;

/* As the kernel side writes it. */
struct told {
	struct sample_head head;
	uint64_t frames[KERNEL];
	struct sample_deferred deferred;
	struct sample_unread unread;
};

static struct told told(void)
{
	return (struct told){
		.head = { .value = 7,
			  .pid = 3,
			  .tid = 4,
			  .origin = SAMPLE_OFF_CPU,
			  .kernel_count = KERNEL,
			  .deferred_bytes =
				  sizeof(struct sample_deferred) + sizeof(struct sample_unread) },
		.frames = { 11, 12 },
		.deferred = { .stack = STACK - SAMPLE_RED_ZONE_BYTES,
			      .sp = STACK,
			      .flags = SAMPLE_DEFERRED_UNREAD | SAMPLE_DEFERRED_FIRST },
		.unread = { .runs = 9, .stack_bytes = 256 },
	};
}

static struct {
	struct told record; /* the stack in place of what was to be read, as far as it fits */
	size_t length, count;
} taken;

static void take(void *context, const void *record, size_t length)
{
	(void)context;
	memcpy(&taken.record, record,
	       length < sizeof(taken.record) ? length : sizeof(taken.record));
	taken.length = length;
	taken.count++;
}

static int set_up(void **state)
{
	(void)state;
	memset(&memory, 0, sizeof(memory));
	memset(&taken, 0, sizeof(taken));
	unread_register(&metrics, &host);
	for (size_t i = 0; i < UNREAD_RESULTS; i++)
		profcol_metric_set(metrics.of[i], 0);
	return 0;
}

/* Of one record, with answers of its process's memory. */
static void read_it(const struct told *record, ssize_t first, ssize_t second, uint64_t deadline_ns)
{
	struct unread_list list = { 0 };

	memory.answers[0] = first;
	memory.answers[1] = second;
	assert_true(unread_is(record, sizeof(*record)));
	assert_true(unread_add(&list, record, sizeof(*record)));
	unread_read(&list, NULL, deadline_ns, &metrics, take, NULL);
	assert_int_equal(list.words.count, 0);
	assert_int_equal(taken.count, 1);
	assert_int_equal(taken.record.head.value, 7);
	assert_false(unread_is(&taken.record, taken.length));
	unread_list_deinit(&list);
}

static int64_t result(enum unread_result which)
{
	return profcol_metric_get(metrics.of[which]);
}

static void the_stack_comes_in_its_place(void **state)
{
	struct told record = told();

	(void)state;
	read_it(&record, 203, 0, UINT64_MAX);
	assert_int_equal(memory.asked[0].pid, 3);
	assert_int_equal(memory.asked[0].tid, 4);
	assert_int_equal(memory.asked[0].runs, 9);
	assert_int_equal(memory.asked[0].address, STACK - SAMPLE_RED_ZONE_BYTES);
	assert_int_equal(memory.asked[0].bytes, 256);
	assert_true(taken.record.deferred.flags & SAMPLE_DEFERRED_READ);
	// Whole words of it.
	assert_int_equal(taken.record.head.deferred_bytes, sizeof(struct sample_deferred) + 200);
	assert_int_equal(taken.record.head.kernel_count, KERNEL);
	assert_int_equal(taken.record.frames[1], 12);
	assert_int_equal(taken.record.unread.runs, 0x0505050505050505);
	assert_int_equal(result(UNREAD_READ), 1);
}

static void below_the_stack_there_need_not_be_memory(void **state)
{
	struct told record = told();

	(void)state;
	read_it(&record, -EIO, 64, UINT64_MAX);
	assert_int_equal(memory.asked[1].address, STACK);
	assert_int_equal(taken.record.deferred.stack, STACK);
	assert_int_equal(result(UNREAD_READ), 1);
}

static void of_a_wait_that_is_over_the_time_is_left(void **state)
{
	struct told record = told();

	(void)state;
	read_it(&record, -ESTALE, 0, UINT64_MAX);
	assert_int_equal(taken.record.head.kernel_count, 0);
	assert_int_equal(taken.record.head.deferred_bytes, 0);
	assert_int_equal(taken.record.head.end, UNWIND_END_UNREADABLE);
	assert_int_equal(taken.length, sizeof(struct sample_head));
	assert_int_equal(result(UNREAD_ENDED), 1);
}

static void a_stack_that_cannot_be_read_has_the_kernel_s_part(void **state)
{
	struct told record = told();

	(void)state;
	read_it(&record, -EACCES, -EACCES, UINT64_MAX);
	assert_int_equal(taken.record.head.kernel_count, KERNEL);
	assert_int_equal(taken.record.head.deferred_bytes, sizeof(struct sample_deferred));
	assert_int_equal(result(UNREAD_REFUSED), 1);
}

static void of_what_nobody_can_tell_whether_it_sleeps_the_time_is_left(void **state)
{
	struct told record = told();

	(void)state;
	record.unread.runs = SAMPLE_RUNS_UNKNOWN;
	read_it(&record, 200, 0, UINT64_MAX);
	assert_int_equal(memory.count, 0);
	assert_int_equal(taken.record.head.kernel_count, 0);
	assert_int_equal(result(UNREAD_REFUSED), 1);
}

static void who_is_slow_goes_on_after_all_others(void **state)
{
	struct unread_list list = { 0 };
	struct told record = told();

	(void)state;
	memory.slow = record.head.pid;
	for (int i = 0; i < 3; i++) {
		memory.answers[i] = 64;
		record.head.pid = i < 2 ? memory.slow : memory.slow + 1;
		assert_true(unread_add(&list, &record, sizeof(record)));
	}
	unread_read(&list, NULL, UINT64_MAX, &metrics, take, NULL);
	assert_int_equal(memory.asked[1].pid, memory.slow + 1);
	assert_int_equal(memory.asked[2].pid, memory.slow);
	assert_int_equal(taken.count, 3);
	assert_int_equal(result(UNREAD_READ), 3);
	unread_list_deinit(&list);
}

static void without_time_nothing_is_read(void **state)
{
	struct told record = told();

	(void)state;
	read_it(&record, 200, 0, 0);
	assert_int_equal(memory.count, 0);
	assert_int_equal(taken.record.head.kernel_count, 0);
	assert_int_equal(result(UNREAD_NO_TIME), 1);
}

static void other_records_are_none(void **state)
{
	struct told record = told();

	(void)state;
	assert_false(unread_is(&record, sizeof(record) - 8));
	assert_false(unread_is(&record, 8));
	record.deferred.flags = 0;
	assert_false(unread_is(&record, sizeof(record)));
	record = told();
	record.head.kernel_count = UINT16_MAX;
	assert_false(unread_is(&record, sizeof(record)));
	record = told();
	record.head.user_words = 1;
	assert_false(unread_is(&record, sizeof(record)));
}

static void what_waits_is_bounded(void **state)
{
	struct unread_list list = { 0 };
	struct told record = told();
	size_t count = 0;

	(void)state;
	while (unread_add(&list, &record, sizeof(record)))
		count++;
	assert_true(count > 2000);
	assert_true(count * sizeof(record) < 5 << 20);
	unread_list_deinit(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_stack_comes_in_its_place, set_up),
		cmocka_unit_test_setup(below_the_stack_there_need_not_be_memory, set_up),
		cmocka_unit_test_setup(of_a_wait_that_is_over_the_time_is_left, set_up),
		cmocka_unit_test_setup(a_stack_that_cannot_be_read_has_the_kernel_s_part, set_up),
		cmocka_unit_test_setup(of_what_nobody_can_tell_whether_it_sleeps_the_time_is_left,
				       set_up),
		cmocka_unit_test_setup(who_is_slow_goes_on_after_all_others, set_up),
		cmocka_unit_test_setup(without_time_nothing_is_read, set_up),
		cmocka_unit_test_setup(other_records_are_none, set_up),
		cmocka_unit_test_setup(what_waits_is_bounded, set_up),
	};

	return cmocka_run_group_tests_name("stacks that are still to be read", tests, NULL, NULL);
}
