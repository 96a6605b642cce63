// SPDX-License-Identifier: Apache-2.0
/* file_storage whose files somebody removes or empties while they are in use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "storage_fixture.h"

#include <profcol/status.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* What was stored is lost and counted, and what comes later is kept and sent. */
static void expect_new_life(struct storage *storage, struct profcol_storage_queue *queue,
			    uint64_t lost_records, uint64_t lost_samples)
{
	struct profcol_storage_figures figures;

	storage_append(storage, queue, "later");
	figures = storage_figures(storage, queue);
	assert_int_equal(figures.records, 1);
	assert_int_equal(figures.samples, 5);
	assert_int_equal(figures.damaged_records, lost_records);
	assert_int_equal(figures.damaged_samples, lost_samples);
	storage_expect_finish(storage, queue, "later");
	storage_expect(storage, queue, NULL);
	assert_int_equal(storage_figures(storage, queue).records, 0);
	assert_int_equal(atomic_load(&storage->fake.status), PROFCOL_STATUS_OK);
}

static void files_that_are_removed_are_lost_and_others_follow(void **state)
{
	struct profcol_storage_queue *queue;
	struct storage storage;
	char *path;

	(void)state;
	storage_init(&storage, 0);
	queue = storage_open(&storage, "q");
	storage_append(&storage, queue, "one");
	storage_append(&storage, queue, "three");
	path = storage_only_segment(&storage, "q");
	assert_int_equal(unlink(path), 0);
	free(path);
	expect_new_life(&storage, queue, 2, 8);
	storage_close(&storage, queue);
	storage_deinit(&storage);
}

static void files_that_are_emptied_are_lost_and_others_follow(void **state)
{
	struct profcol_storage_queue *queue;
	struct storage storage;
	char *path;

	(void)state;
	storage_init(&storage, 0);
	queue = storage_open(&storage, "q");
	storage_append(&storage, queue, "one");
	path = storage_only_segment(&storage, "q");
	assert_int_equal(truncate(path, 0), 0);
	free(path);
	expect_new_life(&storage, queue, 1, 3);
	storage_close(&storage, queue);
	storage_deinit(&storage);
}

static void a_directory_that_is_removed_is_made_anew(void **state)
{
	struct profcol_storage_queue *queue;
	struct storage storage;

	(void)state;
	storage_init(&storage, 0);
	queue = storage_open(&storage, "q");
	storage_append(&storage, queue, "one");
	remove_tree(storage.path);
	expect_new_life(&storage, queue, 1, 3);
	storage_append(&storage, queue, "kept");
	storage_close(&storage, queue);
	storage_restart(&storage);
	queue = storage_open(&storage, "q");
	storage_expect_finish(&storage, queue, "kept");
	storage_close(&storage, queue);
	storage_deinit(&storage);
}

static void the_figures_tell_of_it_without_another_request(void **state)
{
	struct profcol_storage_queue *queue;
	struct storage storage;

	(void)state;
	storage_init(&storage, 0);
	queue = storage_open(&storage, "q");
	storage_append(&storage, queue, "one");
	remove_tree(storage.path);
	// They are looked after once a second.
	while (storage_figures(&storage, queue).records)
		usleep(10000);
	assert_int_equal(storage_figures(&storage, queue).damaged_samples, 3);
	assert_int_equal(atomic_load(&storage.fake.status), PROFCOL_STATUS_RECOVERABLE_ERROR);
	storage_append(&storage, queue, "later");
	assert_int_equal(atomic_load(&storage.fake.status), PROFCOL_STATUS_OK);
	storage_close(&storage, queue);
	storage_deinit(&storage);
}

static void a_record_that_was_taken_ends_as_others_do(void **state)
{
	struct profcol_storage_queue *queue;
	struct storage storage;
	uint64_t first, second;

	(void)state;
	storage_init(&storage, 0);
	queue = storage_open(&storage, "q");
	storage_append(&storage, queue, "first");
	storage_append(&storage, queue, "second");
	first = storage_expect(&storage, queue, "first");
	second = storage_expect(&storage, queue, "second");
	remove_tree(storage.path);
	storage_append(&storage, queue, "later");
	// The one is delivered; the other would have to be read again.
	storage.operations->finish(queue, first);
	storage.operations->put_back(queue, second);
	assert_int_equal(storage_figures(&storage, queue).damaged_samples, 6);
	storage_expect_finish(&storage, queue, "later");
	assert_int_equal(storage_figures(&storage, queue).records, 0);
	storage_close(&storage, queue);
	storage_deinit(&storage);
}

static void an_empty_file_at_the_start_is_told(void **state)
{
	struct profcol_storage_queue *queue;
	struct storage storage;
	char *path;

	(void)state;
	storage_init(&storage, 0);
	queue = storage_open(&storage, "q");
	storage_append(&storage, queue, "one");
	storage_close(&storage, queue);
	storage_stop(&storage);
	path = storage_only_segment(&storage, "q");
	assert_int_equal(truncate(path, 0), 0);
	free(path);
	storage_again(&storage);
	queue = storage_open(&storage, "q");
	assert_int_equal(storage_figures(&storage, queue).damaged_records, 1);
	storage_close(&storage, queue);
	storage_deinit(&storage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_that_are_removed_are_lost_and_others_follow),
		cmocka_unit_test(files_that_are_emptied_are_lost_and_others_follow),
		cmocka_unit_test(a_directory_that_is_removed_is_made_anew),
		cmocka_unit_test(the_figures_tell_of_it_without_another_request),
		cmocka_unit_test(a_record_that_was_taken_ends_as_others_do),
		cmocka_unit_test(an_empty_file_at_the_start_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
