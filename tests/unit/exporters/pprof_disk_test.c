// SPDX-License-Identifier: Apache-2.0
/* The pprof exporter when its directory is full, wrong or gone. */
#include "pprof_directory.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cmocka.h>

static const uint64_t window_ns = UINT64_C(1795253400123000000);

/* ---- directories that cannot work are an error at the start ---- */

static void check_start_fails(const char *path, const char *expected)
{
	struct pprof_directory directory;
	struct profcol_error *error;

	pprof_directory_init(&directory);
	fake_host_set_text(&directory.fake, "directory", path);
	error = fake_host_try_start(&directory.fake);
	assert_non_null(error);
	assert_string_equal(profcol_error_message(error), expected);
	profcol_error_destroy(error);
	fake_host_shutdown(&directory.fake);
	pprof_directory_deinit(&directory);
}

static void test_start_names_what_is_wrong_and_the_remedy(void **state)
{
	(void)state;
	check_start_fails("/nowhere/at/all",
			  "cannot write to directory '/nowhere/at/all': No such file or directory; "
			  "create its parent directory or set another one as 'directory'");
	check_start_fails("/dev/null",
			  "cannot write to directory '/dev/null': Not a directory; set a directory "
			  "as 'directory'");
	check_start_fails("", "directory: must not be empty; name the directory that the files go "
			      "to");
}

static void test_start_without_permission(void **state)
{
	struct pprof_directory directory;
	struct profcol_error *error;

	(void)state;
	if (!geteuid())
		skip(); // root may write anywhere
	pprof_directory_init(&directory);
	assert_int_equal(mkdir(directory.path, 0500), 0);
	error = fake_host_try_start(&directory.fake);
	assert_non_null(error);
	assert_non_null(strstr(profcol_error_message(error), "Permission denied; let the user "));
	profcol_error_destroy(error);
	pprof_directory_deinit(&directory);
}

/* ---- a directory that fails for a while ---- */

/* Put a file where the directory was: every attempt to write fails. */
static void directory_break(struct pprof_directory *directory)
{
	char moved[80];
	int fd;

	snprintf(moved, sizeof(moved), "%s.moved", directory->path);
	assert_int_equal(rename(directory->path, moved), 0);
	fd = open(directory->path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static void directory_repair(struct pprof_directory *directory)
{
	char moved[80];

	snprintf(moved, sizeof(moved), "%s.moved", directory->path);
	// In one step: the exporter makes a directory that is missing.
	assert_int_equal(renameat2(AT_FDCWD, moved, AT_FDCWD, directory->path, RENAME_EXCHANGE), 0);
	assert_int_equal(unlink(moved), 0);
}

static void wait_for_failures(struct pprof_directory *directory, int64_t count)
{
	for (int round = 0; round < 12000; round++) {
		if (fake_host_metric(&directory->fake, "pprof_write_failures") >= count)
			return;
		usleep(10000);
	}
	fail_msg("writing did not fail %lld times", (long long)count);
}

static void test_samples_wait_for_the_directory_to_come_back(void **state)
{
	struct pprof_directory directory;

	(void)state;
	pprof_directory_init(&directory);
	fake_host_set_int(&directory.fake, "interval", 100 * PROFCOL_MILLISECOND);
	fake_host_start(&directory.fake);
	directory_break(&directory);
	fake_host_consume(&directory.fake, test_batch(1, 10, window_ns));
	wait_for_failures(&directory, 1);
	fake_host_consume(&directory.fake, test_batch(2, 10, window_ns));
	wait_for_failures(&directory, 5);
	assert_int_equal(fake_host_log_count(&directory.fake, "warn "), 1); // not one an attempt
	assert_int_equal(directory.fake.status, PROFCOL_STATUS_RECOVERABLE_ERROR);
	directory_repair(&directory);
	pprof_directory_wait(&directory, ".pb.gz", 2); // a file for each interval
	fake_host_shutdown(&directory.fake);
	assert_int_equal(directory.fake.status, PROFCOL_STATUS_OK);
	assert_int_equal(fake_host_log_count(&directory.fake, "again; 0 samples were lost"), 1);
	assert_int_equal(pprof_directory_samples(&directory), 20);
	assert_int_equal(directory.fake.exported, 20);
	assert_int_equal(directory.fake.lost, 0);
	pprof_directory_deinit(&directory);
}

static void test_oldest_go_when_the_budget_is_used_up(void **state)
{
	struct pprof_directory directory;
	const uint32_t batches = 120, events = 200;

	(void)state;
	pprof_directory_init(&directory);
	fake_host_set_int(&directory.fake, "interval", 100 * PROFCOL_MILLISECOND);
	fake_host_set_int(&directory.fake, "max_pending_bytes", 1 << 20);
	fake_host_start(&directory.fake);
	directory_break(&directory);
	fake_host_consume(&directory.fake, test_batch(0, events, window_ns));
	wait_for_failures(&directory, 1);
	for (uint32_t i = 1; i < batches; i++) {
		fake_host_consume(&directory.fake, test_batch(i, events, window_ns + i));
		assert_true(fake_host_metric(&directory.fake, "pprof_pending_bytes") <=
			    (1 << 20) + (1 << 18));
	}
	assert_int_not_equal(directory.fake.lost, 0);
	assert_int_equal(fake_host_log_count(&directory.fake, "dropping the oldest samples"), 1);
	directory_repair(&directory);
	fake_host_shutdown(&directory.fake);
	assert_int_not_equal(directory.fake.exported, 0);
	assert_int_equal(directory.fake.exported + directory.fake.lost, batches * events);
	assert_int_equal(fake_host_lost_by(&directory.fake, "write_failed"), directory.fake.lost);
	assert_int_equal(pprof_directory_samples(&directory), directory.fake.exported);
	pprof_directory_deinit(&directory);
}

static void test_big_windows_are_written_before_the_interval_ends(void **state)
{
	struct pprof_directory directory;

	(void)state;
	pprof_directory_init(&directory);
	fake_host_set_int(&directory.fake, "max_pending_bytes", 1 << 20);
	fake_host_start(&directory.fake);
	for (uint32_t i = 0; fake_host_metric(&directory.fake, "pprof_pending_bytes") <= 1 << 19;
	     i++)
		fake_host_consume(&directory.fake, test_batch(i, 100, window_ns));
	pprof_directory_wait(&directory, ".pb.gz", 1);
	fake_host_shutdown(&directory.fake);
	assert_int_equal(directory.fake.lost, 0);
	pprof_directory_deinit(&directory);
}

static void test_removed_directory_is_made_again(void **state)
{
	struct pprof_directory directory;

	(void)state;
	pprof_directory_init(&directory);
	fake_host_start(&directory.fake);
	fake_host_consume(&directory.fake, test_batch(1, 10, window_ns));
	assert_int_equal(rmdir(directory.path), 0);
	fake_host_shutdown(&directory.fake);
	assert_int_equal(directory.fake.exported, 10);
	assert_int_equal(pprof_directory_samples(&directory), 10);
	pprof_directory_deinit(&directory);
}

static void test_shutdown_books_what_it_cannot_write(void **state)
{
	struct pprof_directory directory;

	(void)state;
	pprof_directory_init(&directory);
	fake_host_set_int(&directory.fake, "interval", 100 * PROFCOL_MILLISECOND);
	fake_host_start(&directory.fake);
	directory_break(&directory);
	fake_host_consume(&directory.fake, test_batch(1, 10, window_ns));
	wait_for_failures(&directory, 1);
	fake_host_consume(&directory.fake, test_batch(2, 10, window_ns)); // a second window
	fake_host_shutdown(&directory.fake);
	assert_int_equal(directory.fake.exported, 0);
	assert_int_equal(fake_host_lost_by(&directory.fake, "write_failed"), 20);
	assert_int_equal(fake_host_log_count(&directory.fake, "20 samples could not be written"),
			 1);
	pprof_directory_deinit(&directory);
}

/* ---- a full disk: a tmpfs of 1 MB in a mount namespace of our own ---- */

/* Skips the test where mounting is not allowed; before anything that would have to be freed. */
static void tmpfs_require(void)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		skip();
}

static void tmpfs_mount(const struct pprof_directory *directory)
{
	assert_int_equal(mkdir(directory->path, 0700), 0);
	assert_int_equal(mount("none", directory->path, "tmpfs", 0, "size=1m,mode=0700"), 0);
}

static void tmpfs_fill(const struct pprof_directory *directory)
{
	static const char block[4096];
	int fd = open(pprof_directory_file(directory, "filler"), O_CREAT | O_WRONLY, 0600);

	assert_true(fd >= 0);
	while (write(fd, block, sizeof(block)) > 0)
		;
	assert_int_equal(errno, ENOSPC);
	close(fd);
}

static void test_full_disk_is_survived_and_counted(void **state)
{
	struct pprof_directory directory;

	(void)state;
	tmpfs_require();
	pprof_directory_init(&directory);
	tmpfs_mount(&directory);
	fake_host_set_int(&directory.fake, "interval", 100 * PROFCOL_MILLISECOND);
	fake_host_set_int(&directory.fake, "max_pending_bytes", 1 << 20);
	tmpfs_fill(&directory);
	fake_host_start(&directory.fake); // full already: no reason not to start
	fake_host_consume(&directory.fake, test_batch(0, 200, window_ns));
	wait_for_failures(&directory, 1);
	for (uint32_t i = 1; i < 100; i++)
		fake_host_consume(&directory.fake, test_batch(i, 200, window_ns + i));
	wait_for_failures(&directory, 2);
	// Nor does a temporary stay; that of an attempt under way is there for a moment.
	pprof_directory_wait_gone(&directory, "profcol");
	assert_int_not_equal(fake_host_lost_by(&directory.fake, "disk_full"), 0);
	assert_int_equal(fake_host_log_count(&directory.fake, "No space left on device; "), 1);
	assert_int_equal(unlink(pprof_directory_file(&directory, "filler")), 0);
	pprof_directory_wait(&directory, ".pb.gz", 1);
	fake_host_consume(&directory.fake, test_batch(100, 200, window_ns + 100));
	fake_host_shutdown(&directory.fake);
	assert_int_equal(directory.fake.exported + directory.fake.lost, 101 * 200);
	assert_int_equal(fake_host_lost_by(&directory.fake, "disk_full"), directory.fake.lost);
	assert_int_equal(pprof_directory_samples(&directory), directory.fake.exported);
	assert_int_equal(umount(directory.path), 0);
	pprof_directory_deinit(&directory);
}

static void test_retention_makes_room_before_writing(void **state)
{
	struct pprof_directory directory;

	(void)state;
	tmpfs_require();
	pprof_directory_init(&directory);
	tmpfs_mount(&directory);
	pprof_directory_add(&directory, "profcol-20200101T000000.000Z.pb.gz", 1000000);
	fake_host_set_int(&directory.fake, "retention.max_bytes", 1000000);
	fake_host_set_int(&directory.fake, "compression_level", 0);
	fake_host_start(&directory.fake);
	fake_host_consume(&directory.fake, test_batch(0, 2000, window_ns));
	fake_host_shutdown(&directory.fake);
	assert_int_equal(directory.fake.exported, 2000);
	assert_int_equal(pprof_directory_count(&directory, ".pb"), 1);
	assert_int_equal(fake_host_metric(&directory.fake, "pprof_files_removed"), 1);
	assert_int_equal(umount(directory.path), 0);
	pprof_directory_deinit(&directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start_names_what_is_wrong_and_the_remedy),
		cmocka_unit_test(test_start_without_permission),
		cmocka_unit_test(test_samples_wait_for_the_directory_to_come_back),
		cmocka_unit_test(test_oldest_go_when_the_budget_is_used_up),
		cmocka_unit_test(test_big_windows_are_written_before_the_interval_ends),
		cmocka_unit_test(test_removed_directory_is_made_again),
		cmocka_unit_test(test_shutdown_books_what_it_cannot_write),
		cmocka_unit_test(test_full_disk_is_survived_and_counted),
		cmocka_unit_test(test_retention_makes_room_before_writing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
