// SPDX-License-Identifier: Apache-2.0
/* file_storage: its directory, who may have it, and what its options are checked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "storage_fixture.h"

#include <profcol/options.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static mode_t mode_of(const char *path, const char *part)
{
	struct stat status;
	char whole[160];

	snprintf(whole, sizeof(whole), "%s/%s", path, part);
	assert_int_equal(stat(whole, &status), 0);
	return status.st_mode & 07777;
}

static void a_missing_directory_is_created_for_its_owner_only(void **state)
{
	struct storage storage;
	char path[128];

	(void)state;
	storage_prepare(&storage, 0);
	snprintf(path, sizeof(path), "%s/a/b", storage.path);
	fake_host_set_text(&storage.fake, "directory", path);
	fake_host_start(&storage.fake);
	storage_close(&storage, storage_open(&storage, "otlp_grpc/node"));
	assert_int_equal(mode_of(storage.path, "a"), 0700);
	assert_int_equal(mode_of(storage.path, "a/b"), 0700);
	assert_int_equal(mode_of(storage.path, "a/b/otlp_grpc%2Fnode"), 0700);
	assert_int_equal(mode_of(storage.path, "a/b/.lock"), 0600);
	storage_deinit(&storage);
}

static void a_missing_directory_may_be_an_error(void **state)
{
	struct storage storage;

	(void)state;
	storage_prepare(&storage, 0);
	fake_host_set_text(&storage.fake, "directory", "/nowhere/at/all");
	fake_host_set_int(&storage.fake, "create_directory", false);
	expect_storage_error(fake_host_try_start(&storage.fake), PROFCOL_SYSTEM,
			     "cannot use directory '/nowhere/at/all': No such file or directory; "
			     "create it, or set 'create_directory: true'");
	storage_deinit(&storage);
	storage_prepare(&storage, 0);
	fake_host_set_text(&storage.fake, "directory", "/dev/null");
	expect_storage_error(fake_host_try_start(&storage.fake), PROFCOL_SYSTEM,
			     "cannot use directory '/dev/null': Not a directory; set another");
	storage_deinit(&storage);
}

static void rights_that_were_widened_are_taken_back(void **state)
{
	struct storage storage;
	struct profcol_storage_queue *queue;
	char path[128];

	(void)state;
	storage_init(&storage, 0);
	queue = storage_open(&storage, "otlp_grpc");
	storage_append(&storage, queue, "secret");
	storage_close(&storage, queue);
	snprintf(path, sizeof(path), "%s/otlp_grpc", storage.path);
	assert_int_equal(chmod(path, 02770), 0);
	assert_int_equal(chmod(storage.path, 0777), 0);
	storage_restart(&storage);
	assert_int_equal(fake_host_log_count(&storage.fake, "warn other users may write to"), 1);
	queue = storage_open(&storage, "otlp_grpc");
	assert_int_equal(mode_of(storage.path, "otlp_grpc"), 0700);
	storage_expect_finish(&storage, queue, "secret");
	storage_close(&storage, queue);
	storage_deinit(&storage);
}

static void somebody_elses_directory_is_refused(void **state)
{
	struct profcol_storage_queue *queue = NULL;
	struct storage storage;
	char path[128];

	(void)state;
	if (geteuid())
		skip(); // only root may give directories away
	storage_prepare(&storage, 0);
	assert_int_equal(chown(storage.path, 4711, 4711), 0);
	expect_storage_error(fake_host_try_start(&storage.fake), PROFCOL_SYSTEM,
			     "belongs to user 4711, not to root; chown root ");
	storage_deinit(&storage);

	storage_init(&storage, 0);
	snprintf(path, sizeof(path), "%s/otlp_grpc", storage.path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chown(path, 4711, 4711), 0);
	expect_storage_error(storage.operations->open(storage.fake.instance, "otlp_grpc", &queue),
			     PROFCOL_SYSTEM, "/otlp_grpc' belongs to user 4711; chown it");
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(symlink("/tmp", path), 0);
	expect_storage_error(storage.operations->open(storage.fake.instance, "otlp_grpc", &queue),
			     PROFCOL_SYSTEM, "cannot use directory");
	storage_deinit(&storage);
}

/* A process that has the directory, until it is killed. */
static pid_t start_holder(struct storage *storage)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		fake_host_start(&storage->fake);
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void a_directory_belongs_to_one_process(void **state)
{
	struct storage storage;
	char expected[64];
	pid_t holder;

	(void)state;
	storage_prepare(&storage, 0);
	holder = start_holder(&storage);
	snprintf(expected, sizeof(expected), "is locked by process %d; end it", (int)holder);
	fake_host_set_int(&storage.fake, "timeout", 30 * PROFCOL_MILLISECOND);
	expect_storage_error(fake_host_try_start(&storage.fake), PROFCOL_SYSTEM, expected);
	assert_int_equal(kill(holder, SIGKILL), 0);
	assert_int_equal(waitpid(holder, NULL, 0), holder);
	storage_restart(&storage); // what a killed process held is free
	storage_deinit(&storage);
}

static void two_instances_do_not_share_a_directory(void **state)
{
	struct storage storage, second;

	(void)state;
	storage_init(&storage, 0);
	storage_prepare(&second, 0);
	fake_host_set_text(&second.fake, "directory", storage.path);
	expect_storage_error(fake_host_try_start(&second.fake), PROFCOL_CONFIG,
			     "is already used by another file_storage of this process");
	storage_deinit(&second);
	storage_deinit(&storage);
}

static void options_are_checked(void **state)
{
	static const char *const wrong[] = { "", "700x", "0999", "01777", "0500", "rwx" };
	struct storage storage;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		storage_prepare(&storage, 0);
		fake_host_set_text(&storage.fake, "directory_permissions", wrong[i]);
		expect_storage_error(fake_host_try_start(&storage.fake), PROFCOL_CONFIG,
				     "directory_permissions: invalid value");
		storage_deinit(&storage);
	}
	storage_prepare(&storage, 0);
	fake_host_set_text(&storage.fake, "directory", "");
	expect_storage_error(fake_host_try_start(&storage.fake), PROFCOL_CONFIG,
			     "directory: must not be empty");
	storage_deinit(&storage);
}

static void what_has_no_effect_is_said_in_one_line(void **state)
{
	struct storage storage;

	(void)state;
	storage_init(&storage, 0);
	assert_int_equal(fake_host_log_count(&storage.fake, "no effect"), 0);
	storage_deinit(&storage);
	storage_prepare(&storage, 0);
	fake_host_set_int(&storage.fake, "compaction.on_start", true);
	fake_host_set_int(&storage.fake, "recreate", true);
	fake_host_start(&storage.fake);
	assert_int_equal(fake_host_log_count(&storage.fake, "info "), 1);
	assert_int_equal(fake_host_log_count(&storage.fake, "no effect"), 1);
	storage_deinit(&storage);
}

static void a_name_too_long_for_a_file_is_refused(void **state)
{
	struct profcol_storage_queue *queue = NULL;
	struct storage storage;
	char name[300];

	(void)state;
	memset(name, 'n', sizeof(name));
	name[299] = '\0';
	storage_init(&storage, 0);
	expect_storage_error(storage.operations->open(storage.fake.instance, name, &queue),
			     PROFCOL_CONFIG, "is too long for a file");
	name[250] = '\0';
	storage_close(&storage, storage_open(&storage, name));
	storage_close(&storage, storage_open(&storage, ".lock"));
	assert_int_equal(mode_of(storage.path, "%2Elock"), 0700);
	storage_deinit(&storage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_missing_directory_is_created_for_its_owner_only),
		cmocka_unit_test(a_missing_directory_may_be_an_error),
		cmocka_unit_test(rights_that_were_widened_are_taken_back),
		cmocka_unit_test(somebody_elses_directory_is_refused),
		cmocka_unit_test(a_directory_belongs_to_one_process),
		cmocka_unit_test(two_instances_do_not_share_a_directory),
		cmocka_unit_test(options_are_checked),
		cmocka_unit_test(what_has_no_effect_is_said_in_one_line),
		cmocka_unit_test(a_name_too_long_for_a_file_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
