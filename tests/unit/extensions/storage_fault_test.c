// SPDX-License-Identifier: Apache-2.0
/* file_storage on a device that does not give what is on it, for a while or for good. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "storage_fixture.h"

#include "base/base.h"

#include <profcol/options.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/types.h>

/* What fails; the linker puts the functions below in front of the real ones. */
static struct {
	off_t from, to;     /* reading these bytes of a file gives EIO */
	int open_errno;     /* 0 = files can be opened */
	uint64_t passed_ns; /* that the clock is ahead */
} faults;

ssize_t __real_pread(int fd, void *to, size_t length, off_t offset);
ssize_t __wrap_pread(int fd, void *to, size_t length, off_t offset);
int __real_openat(int directory_fd, const char *path, int flags, ...);
int __wrap_openat(int directory_fd, const char *path, int flags, ...);
uint64_t __real_clock_monotonic_ns(void);
uint64_t __wrap_clock_monotonic_ns(void);

ssize_t __wrap_pread(int fd, void *to, size_t length, off_t offset)
{
	if (offset >= faults.to || offset + (off_t)length <= faults.from)
		return __real_pread(fd, to, length, offset);
	errno = EIO;
	return -1;
}

int __wrap_openat(int directory_fd, const char *path, int flags, ...)
{
	unsigned int mode = 0;
	va_list arguments;

	va_start(arguments, flags);
	if (flags & O_CREAT)
		mode = va_arg(arguments, unsigned int);
	va_end(arguments);
	errno = faults.open_errno;
	return errno ? -1 : __real_openat(directory_fd, path, flags, mode);
}

uint64_t __wrap_clock_monotonic_ns(void)
{
	return __real_clock_monotonic_ns() + faults.passed_ns;
}

static void fail_reading(off_t from, off_t to)
{
	faults.from = from;
	faults.to = to;
}

static void expect_later(struct storage *storage, struct profcol_storage_queue *queue)
{
	struct profcol_record record;

	assert_int_equal(storage->operations->take(queue, &record), PROFCOL_TAKE_LATER);
}

/* A queue of "one", "two" and "three", of 56 bytes each behind the first 24. */
static struct profcol_storage_queue *three_init(struct storage *storage)
{
	struct profcol_storage_queue *queue;

	faults.from = faults.to = faults.open_errno = 0;
	faults.passed_ns = 0;
	storage_init(storage, 0);
	queue = storage_open(storage, "q");
	storage_append(storage, queue, "one");
	storage_append(storage, queue, "two");
	storage_append(storage, queue, "three");
	return queue;
}

static void a_passing_error_costs_nothing(void **state)
{
	static const int shortages[] = { EMFILE, ENFILE, ENOMEM, EIO };
	struct storage storage;
	struct profcol_storage_queue *queue = three_init(&storage);

	(void)state;
	for (int i = 0; i < 4; i++) {
		faults.open_errno = shortages[i];
		expect_later(&storage, queue);
		expect_later(&storage, queue);
	}
	faults.open_errno = 0;
	fail_reading(24, 80);
	expect_later(&storage, queue);
	assert_int_equal(storage_figures(&storage, queue).records, 3);
	assert_int_equal(fake_host_log_count(&storage.fake, "warn cannot read from '"), 1);
	fail_reading(0, 0);
	storage_expect_finish(&storage, queue, "one");
	storage_expect_finish(&storage, queue, "two");
	storage_expect_finish(&storage, queue, "three");
	storage_expect(&storage, queue, NULL);
	assert_int_equal(storage_figures(&storage, queue).damaged_records, 0);
	storage_close(&storage, queue);
	storage_deinit(&storage);
}

static void a_shortage_may_last(void **state)
{
	struct storage storage;
	struct profcol_storage_queue *queue = three_init(&storage);

	(void)state;
	faults.open_errno = EMFILE;
	for (int i = 0; i < 5; i++) {
		expect_later(&storage, queue);
		faults.passed_ns += PROFCOL_MINUTE;
	}
	faults.open_errno = 0;
	storage_expect(&storage, queue, "one");
	storage_close(&storage, queue);
	storage_deinit(&storage);
}

/* The rest of the queue is sent, and the record is there when the device gives it again. */
static void a_lasting_error_holds_the_queue_up_for_a_minute_only(void **state)
{
	struct storage storage;
	struct profcol_storage_queue *queue = three_init(&storage);

	(void)state;
	fail_reading(24, 80);
	expect_later(&storage, queue);
	faults.passed_ns += PROFCOL_MINUTE - 10 * PROFCOL_SECOND;
	expect_later(&storage, queue);
	assert_int_equal(storage_figures(&storage, queue).damaged_records, 0);
	faults.passed_ns += 10 * PROFCOL_SECOND;
	storage_expect_finish(&storage, queue, "two");
	storage_expect_finish(&storage, queue, "three");
	storage_expect(&storage, queue, NULL);
	assert_int_equal(storage_figures(&storage, queue).records, 0);
	assert_int_equal(storage_figures(&storage, queue).damaged_records, 1);
	assert_int_equal(storage_figures(&storage, queue).damaged_samples, 3);
	storage_close(&storage, queue);

	fail_reading(0, 0);
	storage_restart(&storage);
	queue = storage_open(&storage, "q");
	storage_expect_finish(&storage, queue, "one");
	storage_expect(&storage, queue, NULL);
	storage_close(&storage, queue);
	assert_int_equal(storage_count_segments(&storage, "q", NULL), 0);
	storage_deinit(&storage);
}

static void what_cannot_be_read_at_the_start_is_left_as_it_is(void **state)
{
	static const off_t places[][2] = { { 0, 24 }, { 24, 80 }, { 136, 140 } };
	struct storage storage;
	struct profcol_storage_queue *queue = three_init(&storage), *refused;

	(void)state;
	storage_close(&storage, queue);
	for (int i = 0; i < 3; i++) {
		uint64_t bytes;

		storage_restart(&storage);
		fail_reading(places[i][0], places[i][1]);
		expect_storage_error(storage.operations->open(storage.fake.instance, "q", &refused),
				     PROFCOL_SYSTEM, "Input/output error");
		fail_reading(0, 0);
		assert_int_equal(storage_count_segments(&storage, "q", &bytes), 1);
		assert_int_equal(bytes, 24 + 3 * 56);
	}
	queue = storage_open(&storage, "q");
	storage_expect(&storage, queue, "one");
	storage_expect(&storage, queue, "two");
	storage_expect(&storage, queue, "three");
	assert_int_equal(storage_figures(&storage, queue).damaged_records, 0);
	storage_close(&storage, queue);
	storage_deinit(&storage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_passing_error_costs_nothing),
		cmocka_unit_test(a_shortage_may_last),
		cmocka_unit_test(a_lasting_error_holds_the_queue_up_for_a_minute_only),
		cmocka_unit_test(what_cannot_be_read_at_the_start_is_left_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
