// SPDX-License-Identifier: Apache-2.0
/* Whose ends of code are told, when the kernel side cannot tell of all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "processes/watch_ends.h"

#include "base/base.h"
#include "tell.h"

#include <errno.h>
#include <stdio.h>

enum { PID = 10, OTHER_PID = 20, FOLLOWED_MOST = 8 };

/* ---- the kernel side, made up ---- */

struct code_ends {
	int unused;
};

static struct {
	struct code_ends handle;
	int create_status, follow_status; /* what it answers */
	unsigned int created;
	uint32_t followed[FOLLOWED_MOST]; /* pids; 0: free */
	uint64_t lost;
	VECTOR(struct code_end_record) told;
} kernel;

int code_ends_create(struct code_ends **ret)
{
	kernel.created++;
	*ret = kernel.create_status ? NULL : &kernel.handle;
	return kernel.create_status;
}

void code_ends_destroy(struct code_ends *ends)
{
	(void)ends;
}

int code_ends_fd(const struct code_ends *ends)
{
	(void)ends;
	return -1;
}

uint64_t code_ends_map_bytes(const struct code_ends *ends)
{
	(void)ends;
	return 0;
}

static bool is_followed(uint32_t pid)
{
	for (size_t i = 0; i < FOLLOWED_MOST; i++)
		if (kernel.followed[i] == pid)
			return true;
	return false;
}

int code_ends_follow(struct code_ends *ends, uint32_t pid)
{
	(void)ends;
	if (kernel.follow_status)
		return kernel.follow_status;
	assert_false(is_followed(pid)); // an earlier user of the number was left first
	for (size_t i = 0; i < FOLLOWED_MOST; i++) {
		if (!kernel.followed[i]) {
			kernel.followed[i] = pid;
			return 0;
		}
	}
	return -E2BIG;
}

void code_ends_leave(struct code_ends *ends, uint32_t pid)
{
	(void)ends;
	for (size_t i = 0; i < FOLLOWED_MOST; i++)
		if (kernel.followed[i] == pid)
			kernel.followed[i] = 0;
}

uint64_t code_ends_take(struct code_ends *ends, code_ends_function take, void *context)
{
	uint64_t lost = kernel.lost;

	(void)ends;
	for (size_t i = 0; i < kernel.told.count; i++)
		take(context, &kernel.told.items[i]);
	kernel.told.count = 0;
	kernel.lost = 0;
	return lost;
}

int side_band_add(struct side_band *side_band, int fd)
{
	(void)side_band;
	(void)fd;
	return 0;
}

/* ---- time, and what is logged ---- */

static uint64_t now_ns;
static unsigned int lines;
static char last_line[256];

uint64_t __wrap_clock_monotonic_ns(void);

uint64_t __wrap_clock_monotonic_ns(void)
{
	return now_ns;
}

static void write_line(const struct profcol_logger *logger, enum profcol_level level,
		       const char *format, va_list arguments)
{
	(void)logger;
	assert_int_equal(level, PROFCOL_WARN);
	lines++;
	vsnprintf(last_line, sizeof(last_line), format, arguments);
}

static const struct profcol_logger logger = { .size = sizeof(logger),
					      .level = PROFCOL_INFO,
					      .write = write_line };
static const struct profcol_host host = { .size = sizeof(host), .logger = &logger };

/* ---- a watch without a thread ---- */

static int set_up(void **state)
{
	struct watch *watch = calloc(1, sizeof(*watch));

	if (!watch || !table_init(&watch->table, TABLE_BYTES, TEXT_BYTES))
		return -1;
	watch->host = &host;
	watch->table.boot_offset_ns = BOOT_OFFSET;
	pthread_mutex_init(&watch->table_lock, NULL);
	memset(&kernel, 0, sizeof(kernel));
	lines = 0;
	now_ns = 100 * S;
	*state = watch;
	return 0;
}

static int tear_down(void **state)
{
	struct watch *watch = *state;

	VECTOR_DEINIT(&watch->ended);
	VECTOR_DEINIT(&kernel.told);
	table_deinit(&watch->table);
	pthread_mutex_destroy(&watch->table_lock);
	free(watch);
	return 0;
}

/* @pid is sampled and was found to have given up code. */
static void begin(struct watch *watch, uint32_t pid)
{
	struct process_key key = key_of(pid, 1 * S);

	tell_fork(&watch->table, 1 * S, 1, pid);
	tell_name(&watch->table, RECORD_EXEC, 2 * S, pid, "prog");
	tell_mmap(&watch->table, 3 * S, pid, 0x10000, 0x4000, 11, "/lib/first");
	assert_non_null(table_note(&watch->table, &key, 4 * S));
	learn_code_end(&watch->table,
		       &(struct code_end_record){
			       .time_ns = 5 * S, .pid = pid, .start = 0x11000, .limit = 0x12000 });
	assert_true(table_newest(&watch->table, pid)->gives_up);
	assert_null(table_take_crowded(&watch->table));
}

/* The pid of the one process that is to be read; 0: none is. */
static uint32_t to_be_read(struct watch *watch)
{
	struct process *process = table_take_crowded(&watch->table);

	assert_null(table_take_crowded(&watch->table));
	return process ? process->pid : 0;
}

/* ---- tests ---- */

static void who_cannot_be_followed_is_tried_again(void **state)
{
	struct watch *watch = *state;

	begin(watch, PID);
	kernel.follow_status = -E2BIG;
	watch_follow_ends(watch, PID);
	assert_int_equal(lines, 1);
	assert_non_null(strstr(last_line, "process 10 "));
	watch_leave_ends(watch);
	watch_follow_again(watch);
	assert_int_equal(to_be_read(watch), 0);
	now_ns += 9 * S;
	watch_follow_again(watch);
	assert_int_equal(to_be_read(watch), 0);
	// Read, and followed if that goes now; it does not.
	now_ns += 1 * S;
	watch_follow_again(watch);
	assert_int_equal(to_be_read(watch), PID);
	watch_follow_ends(watch, PID);
	assert_int_equal(lines, 1); // said once
	now_ns += 10 * S;
	watch_follow_again(watch);
	assert_int_equal(to_be_read(watch), PID);
	kernel.follow_status = 0;
	watch_follow_ends(watch, PID);
	assert_true(is_followed(PID));
	// From now on nobody has to look.
	now_ns += 100 * S;
	watch_follow_again(watch);
	assert_int_equal(to_be_read(watch), 0);
	assert_int_equal(kernel.created, 1);
}

static void one_that_cannot_does_not_keep_the_others_from_it(void **state)
{
	struct watch *watch = *state;

	begin(watch, PID);
	begin(watch, OTHER_PID);
	kernel.follow_status = -ENOMEM;
	watch_follow_ends(watch, PID);
	kernel.follow_status = 0;
	watch_follow_ends(watch, OTHER_PID);
	assert_true(is_followed(OTHER_PID));
	watch_leave_ends(watch);
	assert_true(is_followed(OTHER_PID));
	now_ns += 10 * S;
	watch_follow_again(watch);
	assert_int_equal(to_be_read(watch), PID);
}

static void who_has_ended_meanwhile_is_not_tried_again(void **state)
{
	struct watch *watch = *state;

	begin(watch, PID);
	kernel.follow_status = -E2BIG;
	watch_follow_ends(watch, PID);
	tell_exit(&watch->table, 6 * S, PID, PID);
	now_ns += 10 * S;
	watch_follow_again(watch);
	assert_int_equal(to_be_read(watch), 0);
	kernel.follow_status = 0;
	watch_follow_ends(watch, PID);
	assert_false(is_followed(PID));
}

/* Kernels before 6.4: nothing is to be had by asking again. */
static void a_kernel_that_cannot_tell_is_asked_once(void **state)
{
	struct watch *watch = *state;

	begin(watch, PID);
	kernel.create_status = -EOPNOTSUPP;
	for (int i = 0; i < 3; i++) {
		watch_follow_ends(watch, PID);
		watch_collect_ends(watch);
		watch_leave_ends(watch);
		now_ns += 10 * S;
		watch_follow_again(watch);
		assert_int_equal(to_be_read(watch), 0);
	}
	assert_int_equal(kernel.created, 1);
	assert_int_equal(lines, 0);
	// Its ends need not be told: it has not been followed.
	tell_exit(&watch->table, 6 * S, PID, PID);
	watch_leave_ends(watch);
}

static void what_was_lost_is_read_once_a_second_at_most(void **state)
{
	struct watch *watch = *state;

	begin(watch, PID);
	watch_follow_ends(watch, PID);
	kernel.lost = 3;
	watch_collect_ends(watch);
	assert_int_equal(watch->table.lost, 3);
	assert_int_equal(to_be_read(watch), PID);
	now_ns += S / 2;
	kernel.lost = 2;
	watch_collect_ends(watch);
	assert_int_equal(watch->table.lost, 5);
	assert_int_equal(to_be_read(watch), 0);
	// That is not forgotten.
	now_ns += S / 2;
	watch_collect_ends(watch);
	assert_int_equal(to_be_read(watch), PID);
	now_ns += 10 * S;
	watch_collect_ends(watch);
	assert_int_equal(to_be_read(watch), 0);
}

static void ends_are_taken_in_by_time(void **state)
{
	static const uint64_t times[] = { 9 * (uint64_t)1000000000, 7 * (uint64_t)1000000000,
					  8 * (uint64_t)1000000000 };
	struct watch *watch = *state;

	begin(watch, PID);
	watch_follow_ends(watch, PID);
	for (size_t i = 0; i < 3; i++)
		assert_true(VECTOR_PUSH(
			&kernel.told,
			((struct code_end_record){ .time_ns = times[i], .pid = PID, .limit = 1 })));
	watch_collect_ends(watch);
	assert_int_equal(watch->ended.count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(watch->ended.items[i].time_ns == (7 + i) * S);
}

/* The kernel side has room for so many: an earlier user of a number must not keep it. */
static void a_number_used_again_is_followed_for_the_new_process(void **state)
{
	struct watch *watch = *state;

	begin(watch, PID);
	watch_follow_ends(watch, PID);
	tell_exit(&watch->table, 6 * S, PID, PID);
	tell_fork(&watch->table, 7 * S, 1, PID);
	watch_follow_ends(watch, PID);
	assert_true(is_followed(PID));
	watch_leave_ends(watch);
	assert_true(is_followed(PID));
	tell_exit(&watch->table, 8 * S, PID, PID);
	watch_leave_ends(watch);
	assert_false(is_followed(PID));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		CASE(who_cannot_be_followed_is_tried_again),
		CASE(one_that_cannot_does_not_keep_the_others_from_it),
		CASE(who_has_ended_meanwhile_is_not_tried_again),
		CASE(a_kernel_that_cannot_tell_is_asked_once),
		CASE(what_was_lost_is_read_once_a_second_at_most),
		CASE(ends_are_taken_in_by_time),
		CASE(a_number_used_again_is_followed_for_the_new_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
