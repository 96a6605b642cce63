// SPDX-License-Identifier: Apache-2.0
/* The pprof exporter on a healthy disk, driven through its descriptor. */
#include "pprof_directory.h"

#include "base/base.h"
#include "exporters/pprof/naming.h"
#include "profile/profile.h"
#include "tests/unit/own_descriptors.h"
#include "tests/unit/own_threads.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

/* 2026-11-21T09:30:00.123Z */
static const uint64_t window_ns = UINT64_C(1795253400123000000);
static const char window_name[] = "profcol-20261121T093000.123Z.pb.gz";

static void test_file_holds_what_was_consumed(void **state)
{
	struct pprof_directory directory;
	struct stat status;

	(void)state;
	pprof_directory_init(&directory);
	fake_host_start(&directory.fake);
	fake_host_consume(&directory.fake, test_batch(1, 100, window_ns + 5000000));
	fake_host_consume(&directory.fake, test_batch(2, 20, window_ns));
	fake_host_consume(&directory.fake, test_batch(3, 3, window_ns + 7000000));
	assert_int_equal(pprof_directory_count(&directory, ""), 0);
	umask(0277); // neither weakens nor breaks the mode
	fake_host_shutdown(&directory.fake);
	umask(022);
	assert_int_equal(pprof_directory_count(&directory, ""), 1);
	assert_int_equal(stat(pprof_directory_file(&directory, window_name), &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(pprof_directory_samples(&directory), 123);
	assert_int_equal(directory.fake.exported, 123);
	assert_int_equal(directory.fake.lost, 0);
	assert_int_equal(fake_host_metric(&directory.fake, "pprof_files_written"), 1);
	assert_int_equal(fake_host_metric(&directory.fake, "pprof_bytes_written"), status.st_size);
	assert_int_equal(fake_host_metric(&directory.fake, "pprof_pending_bytes"), 0);
	assert_int_equal(fake_host_log_count(&directory.fake, window_name), 2);
	pprof_directory_deinit(&directory);
}

static void test_directory_is_private(void **state)
{
	struct pprof_directory directory;
	struct stat status;

	(void)state;
	pprof_directory_init(&directory);
	fake_host_start(&directory.fake);
	assert_int_equal(stat(directory.path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
	fake_host_shutdown(&directory.fake);
	pprof_directory_deinit(&directory);
}

static void test_each_interval_has_its_file(void **state)
{
	struct pprof_directory directory;

	(void)state;
	pprof_directory_init(&directory);
	fake_host_set_int(&directory.fake, "interval", 100 * PROFCOL_MILLISECOND);
	fake_host_start(&directory.fake);
	for (unsigned int i = 0; i < 3; i++) {
		fake_host_consume(&directory.fake,
				  test_batch(i, 10, window_ns + i * UINT64_C(1000000000)));
		pprof_directory_wait(&directory, ".pb.gz", i + 1);
	}
	usleep(200000); // intervals without samples
	assert_int_equal(pprof_directory_count(&directory, ""), 3);
	fake_host_shutdown(&directory.fake);
	assert_int_equal(pprof_directory_count(&directory, ""), 3);
	assert_int_equal(pprof_directory_samples(&directory), 30);
	assert_int_equal(directory.fake.exported, 30);
	assert_int_equal(fake_host_log_count(&directory.fake, "info wrote '"), 1);
	assert_int_equal(fake_host_log_count(&directory.fake, "debug wrote '"), 2);
	pprof_directory_deinit(&directory);
}

static void test_level_zero_is_not_compressed(void **state)
{
	struct pprof_directory directory;
	CLEANUP_FREE char *bytes = NULL;

	(void)state;
	pprof_directory_init(&directory);
	fake_host_set_int(&directory.fake, "compression_level", 0);
	fake_host_start(&directory.fake);
	fake_host_consume(&directory.fake, test_batch(1, 5, window_ns));
	fake_host_shutdown(&directory.fake);
	assert_int_equal(
		file_read(AT_FDCWD,
			  pprof_directory_file(&directory, "profcol-20261121T093000.123Z.pb"),
			  1 << 20, &bytes, NULL),
		0);
	assert_memory_not_equal(bytes, "\x1f\x8b", 2);
	assert_int_equal(pprof_directory_samples(&directory), 5);
	pprof_directory_deinit(&directory);
}

static void test_two_instances_do_not_clobber_each_other(void **state)
{
	struct pprof_directory directory;
	struct fake_host other;

	(void)state;
	pprof_directory_init(&directory);
	fake_host_start(&directory.fake);
	fake_host_init(&other, &profcol_exporter_pprof);
	memcpy(other.config, directory.fake.config, profcol_exporter_pprof.config_size);
	fake_host_start(&other);
	fake_host_consume(&directory.fake, test_batch(1, 7, window_ns));
	fake_host_consume(&other, test_batch(2, 8, window_ns));
	fake_host_shutdown(&directory.fake);
	fake_host_shutdown(&other);
	assert_int_equal(pprof_directory_count(&directory, ""), 2);
	assert_int_equal(
		access(pprof_directory_file(&directory, "profcol-20261121T093000.123Z-1.pb.gz"),
		       F_OK),
		0);
	assert_int_equal(pprof_directory_samples(&directory), 15);
	fake_host_deinit(&other);
	pprof_directory_deinit(&directory);
}

static void test_samples_without_a_time_are_named_by_the_clock(void **state)
{
	struct pprof_directory directory;
	char name[256];
	unsigned int ordinal;
	uint64_t start_ms, before_ms = clock_realtime_ns() / 1000000;

	(void)state;
	pprof_directory_init(&directory);
	fake_host_start(&directory.fake);
	fake_host_consume(&directory.fake, test_batch(1, 1, 0));
	fake_host_shutdown(&directory.fake);
	pprof_directory_first(&directory, "", name);
	assert_true(naming_parse(name, "profcol", &start_ms, &ordinal));
	assert_in_range(start_ms, before_ms, clock_realtime_ns() / 1000000);
	pprof_directory_deinit(&directory);
}

/* ---- retention ---- */

static const char *const old_files[] = {
	"profcol-20200101T000000.000Z.pb.gz",    "profcol-20200101T000000.000Z-9.pb.gz",
	"profcol-20200101T000000.000Z-10.pb.gz", "profcol-20200102T000000.000Z.pb",
	"profcol-20200103T000000.000Z.pb.gz",
};

/* Alike, and none of them ours. */
static const char *const foreign_files[] = {
	"notes.txt",
	"profcol-20200101T000000.000Z.pb.gz.bak",
	"profcol-20200101T000000.000Z-0.pb.gz",
	"profcol-20200101T000000.000Z-01.pb.gz",
	"profcol-20201301T000000.000Z.pb.gz",
	"profcol-20200101T000000.00Z.pb.gz",
	"xprofcol-20200101T000000.000Z.pb.gz",
	"profcol-web-20200101T000000.000Z.pb.gz",
	".profcol-0123456789abcde.tmp",
	".profcol-0123456789abcdeg.tmp",
	".other-0123456789abcdef.tmp",
};

static void add_all(struct pprof_directory *directory, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		pprof_directory_add(directory, names[i], 1000);
}

static void assert_present(struct pprof_directory *directory, const char *name, bool present)
{
	if ((access(pprof_directory_file(directory, name), F_OK) == 0) != present)
		fail_msg("'%s' is%s there", name, present ? " not" : "");
}

/* Start, write one file, stop: of old_files those from @first_kept on are left, and all others. */
static void check_retention(const char *limit, int64_t value, size_t first_kept)
{
	struct pprof_directory directory;

	pprof_directory_init(&directory);
	add_all(&directory, old_files, 5);
	add_all(&directory, foreign_files, sizeof(foreign_files) / sizeof(foreign_files[0]));
	fake_host_set_int(&directory.fake, limit, value);
	fake_host_start(&directory.fake);
	fake_host_consume(&directory.fake, test_batch(1, 1, window_ns));
	fake_host_shutdown(&directory.fake);
	for (size_t i = 0; i < 5; i++)
		assert_present(&directory, old_files[i], i >= first_kept);
	for (size_t i = 0; i < sizeof(foreign_files) / sizeof(foreign_files[0]); i++)
		assert_present(&directory, foreign_files[i], true);
	assert_present(&directory, window_name, true);
	pprof_directory_deinit(&directory);
}

static void test_retention_without_limits_keeps_all(void **state)
{
	(void)state;
	check_retention("retention.max_files", 0, 0);
}

static void test_retention_by_number(void **state)
{
	(void)state;
	check_retention("retention.max_files", 3, 3);
	check_retention("retention.max_files", 1, 5);
}

static void test_retention_by_bytes(void **state)
{
	(void)state;
	check_retention("retention.max_bytes", 3500, 2); // the new file has less than 500
	check_retention("retention.max_bytes", 1, 5);    // smaller than any: the new one stays
}

static void test_retention_by_age(void **state)
{
	// Midnight of 2020-01-02, plus or minus an hour.
	uint64_t age_ns = clock_realtime_ns() - UINT64_C(1577923200) * 1000000000;

	(void)state;
	check_retention("retention.max_age", (int64_t)age_ns + PROFCOL_HOUR, 3);
	check_retention("retention.max_age", (int64_t)age_ns - PROFCOL_HOUR, 4);
}

static void test_retention_by_age_needs_no_new_file(void **state)
{
	struct pprof_directory directory;

	(void)state;
	pprof_directory_init(&directory);
	fake_host_set_int(&directory.fake, "retention.max_age", PROFCOL_HOUR);
	fake_host_set_int(&directory.fake, "interval", 100 * PROFCOL_MILLISECOND);
	fake_host_start(&directory.fake);
	pprof_directory_add(&directory, old_files[0], 10);
	pprof_directory_wait_gone(&directory, "profcol-");
	assert_int_equal(pprof_directory_count(&directory, ""), 0);
	fake_host_shutdown(&directory.fake);
	pprof_directory_deinit(&directory);
}

static void test_leftovers_of_a_crash_are_removed(void **state)
{
	static const char crashed[] = ".profcol-0123456789abcdef.tmp";
	static const char writing[] = ".profcol-fedcba9876543210.tmp";
	struct pprof_directory directory;
	int fd;

	(void)state;
	pprof_directory_init(&directory);
	pprof_directory_add(&directory, crashed, 10);
	pprof_directory_add(&directory, writing, 10);
	fd = open(pprof_directory_file(&directory, writing), O_RDWR);
	assert_int_equal(flock(fd, LOCK_EX), 0); // as another instance would hold it
	fake_host_start(&directory.fake);
	assert_present(&directory, crashed, false);
	assert_present(&directory, writing, true);
	fake_host_shutdown(&directory.fake);
	close(fd);
	pprof_directory_deinit(&directory);
}

/* ---- life ---- */

struct feeder {
	struct fake_host *fake;
	pthread_t thread;
	uint32_t seed;
};

enum { FEEDERS = 4, BATCHES_EACH = 60, EVENTS_EACH = 5 };

static void *feed(void *argument)
{
	struct feeder *feeder = argument;

	for (uint32_t i = 0; i < BATCHES_EACH; i++) {
		fake_host_consume(feeder->fake,
				  test_batch(feeder->seed, EVENTS_EACH, clock_realtime_ns()));
		if (i % 8 == 0)
			usleep(1000);
	}
	return NULL;
}

static void test_consume_from_four_threads(void **state)
{
	const uint64_t accepted = FEEDERS * BATCHES_EACH * EVENTS_EACH;
	struct feeder feeders[FEEDERS];
	struct pprof_directory directory;

	(void)state;
	pprof_directory_init(&directory);
	fake_host_set_int(&directory.fake, "interval", 100 * PROFCOL_MILLISECOND);
	fake_host_start(&directory.fake);
	for (uint32_t i = 0; i < FEEDERS; i++) {
		feeders[i] = (struct feeder){ .fake = &directory.fake, .seed = i };
		assert_int_equal(pthread_create(&feeders[i].thread, NULL, feed, &feeders[i]), 0);
	}
	for (uint32_t i = 0; i < FEEDERS; i++)
		pthread_join(feeders[i].thread, NULL);
	fake_host_shutdown(&directory.fake);
	assert_int_equal(directory.fake.exported, accepted);
	assert_int_equal(directory.fake.lost, 0);
	assert_int_equal(pprof_directory_samples(&directory), accepted);
	pprof_directory_deinit(&directory);
}

static void test_restarts_leave_nothing_open(void **state)
{
	size_t before = own_descriptors();
	struct pprof_directory directory;

	(void)state;
	for (uint32_t i = 0; i < 10; i++) {
		pprof_directory_init(&directory);
		fake_host_start(&directory.fake);
		fake_host_consume(&directory.fake, test_batch(i, 3, window_ns));
		fake_host_shutdown(&directory.fake);
		assert_int_equal(directory.fake.exported, 3);
		pprof_directory_deinit(&directory);
	}
	assert_int_equal(own_descriptors(), before);
}

static void test_consume_after_shutdown_is_refused(void **state)
{
	struct pprof_directory directory;
	struct profcol_error *error;

	(void)state;
	pprof_directory_init(&directory);
	fake_host_start(&directory.fake);
	fake_host_shutdown(&directory.fake);
	error = profcol_exporter_pprof.consume(directory.fake.instance,
					       test_batch(1, 3, window_ns));
	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_SHUTDOWN);
	assert_int_equal(directory.fake.lost, 0); // the host books what is refused
	profcol_error_destroy(error);
	pprof_directory_deinit(&directory);
}

static void test_shutdown_without_start(void **state)
{
	struct pprof_directory directory;

	(void)state;
	pprof_directory_init(&directory);
	assert_no_error(profcol_exporter_pprof.create(&directory.fake.host, directory.fake.config,
						      &directory.fake.instance));
	fake_host_shutdown(&directory.fake);
	pprof_directory_deinit(&directory);
}

static void test_late_shutdown_books_what_it_leaves(void **state)
{
	struct pprof_directory directory;
	size_t threads = settled_threads();

	(void)state;
	pprof_directory_init(&directory);
	fake_host_start(&directory.fake);
	for (uint32_t i = 0; i < 20; i++)
		fake_host_consume(&directory.fake, test_batch(i, 500, window_ns));
	assert_no_error(profcol_exporter_pprof.shutdown(directory.fake.instance, 1));
	assert_int_equal(directory.fake.exported + directory.fake.lost, 20 * 500);
	assert_int_equal(fake_host_lost_by(&directory.fake, "shutdown_deadline"),
			 directory.fake.lost);
	profcol_exporter_pprof.destroy(directory.fake.instance);
	directory.fake.instance = NULL;
	// The thread that was left behind ends by itself.
	for (int round = 0; round < 12000 && own_threads(NULL) > threads; round++)
		usleep(10000);
	assert_true(own_threads(NULL) <= threads);
	assert_int_equal(pprof_directory_count(&directory, ".tmp"), 0);
	pprof_directory_deinit(&directory);
}

/* Export as fast as it goes until killed. */
static void export_forever(struct pprof_directory *directory)
{
	fake_host_set_int(&directory->fake, "interval", 100 * PROFCOL_MILLISECOND);
	fake_host_start(&directory->fake);
	for (uint32_t i = 0;; i++) {
		fake_host_consume(&directory->fake, test_batch(i, 200, window_ns));
		usleep(500);
	}
}

static void test_kill_leaves_no_half_file(void **state)
{
	struct pprof_directory directory;
	unsigned int files;

	(void)state;
	pprof_directory_init(&directory);
	for (useconds_t round = 0; round < 8; round++) {
		pid_t child = fork();

		assert_true(child >= 0);
		if (!child)
			export_forever(&directory);
		pprof_directory_wait(&directory, ".pb.gz", (unsigned int)round + 1);
		usleep(7300 * round);
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, NULL, 0), child);
	}
	files = pprof_directory_count(&directory, ".pb.gz");
	assert_int_not_equal(files, 0);
	assert_true(pprof_directory_samples(&directory) >= files * UINT64_C(200)); // all are whole
	fake_host_start(&directory.fake);
	assert_int_equal(pprof_directory_count(&directory, ".tmp"), 0);
	fake_host_shutdown(&directory.fake);
	pprof_directory_deinit(&directory);
}

static void test_prefix_that_is_a_path_is_refused(void **state)
{
	static const char *const bad[] = { "", "../x", ".hidden", "a b", "a/b" };
	struct pprof_directory directory;

	(void)state;
	pprof_directory_init(&directory);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct profcol_error *error;

		fake_host_set_text(&directory.fake, "file_prefix", bad[i]);
		error = profcol_exporter_pprof.validate(directory.fake.config);
		assert_non_null(error);
		assert_int_equal(profcol_error_code(error), PROFCOL_CONFIG);
		assert_int_equal(strncmp(profcol_error_message(error), "file_prefix: ", 13), 0);
		profcol_error_destroy(error);
	}
	pprof_directory_deinit(&directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file_holds_what_was_consumed),
		cmocka_unit_test(test_directory_is_private),
		cmocka_unit_test(test_each_interval_has_its_file),
		cmocka_unit_test(test_level_zero_is_not_compressed),
		cmocka_unit_test(test_two_instances_do_not_clobber_each_other),
		cmocka_unit_test(test_samples_without_a_time_are_named_by_the_clock),
		cmocka_unit_test(test_retention_without_limits_keeps_all),
		cmocka_unit_test(test_retention_by_number),
		cmocka_unit_test(test_retention_by_bytes),
		cmocka_unit_test(test_retention_by_age),
		cmocka_unit_test(test_retention_by_age_needs_no_new_file),
		cmocka_unit_test(test_leftovers_of_a_crash_are_removed),
		cmocka_unit_test(test_consume_from_four_threads),
		cmocka_unit_test(test_restarts_leave_nothing_open),
		cmocka_unit_test(test_consume_after_shutdown_is_refused),
		cmocka_unit_test(test_shutdown_without_start),
		cmocka_unit_test(test_late_shutdown_books_what_it_leaves),
		cmocka_unit_test(test_kill_leaves_no_half_file),
		cmocka_unit_test(test_prefix_that_is_a_path_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
