// SPDX-License-Identifier: Apache-2.0
/* file_storage on a full disk: a tmpfs of 1 MB in a mount namespace of our own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "storage_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

enum { PIECE = 50000 };

/* Skips the test where mounting is not allowed; before anything that would have to be freed. */
static void tmpfs_require(void)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		skip();
}

static void tmpfs_init(struct storage *storage)
{
	storage_prepare(storage, 0);
	assert_int_equal(mount("none", storage->path, "tmpfs", 0, "size=1m,mode=0700"), 0);
}

static void tmpfs_deinit(struct storage *storage)
{
	storage_stop(storage);
	assert_int_equal(umount(storage->path), 0);
	remove_tree(storage->path);
}

static void filler_path(const struct storage *storage, char *to, size_t size)
{
	snprintf(to, size, "%s/filler", storage->path);
}

static void fill_disk(const struct storage *storage)
{
	static const char block[4096];
	char path[128];
	int fd;

	filler_path(storage, path, sizeof(path));
	fd = open(path, O_CREAT | O_WRONLY | O_APPEND, 0600);
	assert_true(fd >= 0);
	while (write(fd, block, sizeof(block)) > 0)
		;
	assert_int_equal(errno, ENOSPC);
	close(fd);
}

static void free_disk(const struct storage *storage)
{
	char path[128];

	filler_path(storage, path, sizeof(path));
	assert_int_equal(unlink(path), 0);
}

static struct profcol_error *append_piece(struct storage *storage,
					  struct profcol_storage_queue *queue, unsigned int number)
{
	static uint8_t piece[PIECE];

	memset(piece, (int)number, sizeof(piece));
	return storage->operations->append(queue, piece, PIECE, number);
}

static void expect_piece(struct storage *storage, struct profcol_storage_queue *queue,
			 unsigned int number)
{
	struct profcol_record record;

	assert_int_equal(storage->operations->take(queue, &record), PROFCOL_TAKE_RECORD);
	assert_int_equal(record.length, PIECE);
	assert_int_equal(record.samples, number);
	assert_int_equal(record.bytes[0], number);
	assert_int_equal(record.bytes[PIECE - 1], number);
	free(record.bytes);
	storage->operations->finish(queue, record.id);
}

/* Append until the disk is full; the number that did not fit. */
static unsigned int append_until_full(struct storage *storage, struct profcol_storage_queue *queue,
				      unsigned int number)
{
	for (;; number++) {
		struct profcol_error *error = append_piece(storage, queue, number);

		assert_true(number < 100);
		if (!error)
			continue;
		expect_storage_error(error, PROFCOL_UNAVAILABLE,
				     "No space left on device; make room there");
		return number;
	}
}

static void a_full_disk_refuses_and_loses_nothing(void **state)
{
	struct storage storage;
	struct profcol_storage_queue *queue;
	unsigned int middle, end;

	(void)state;
	tmpfs_require();
	tmpfs_init(&storage);
	fake_host_start(&storage.fake);
	queue = storage_open(&storage, "q");
	for (middle = 0; middle < 5; middle++)
		assert_no_error(append_piece(&storage, queue, middle));
	fill_disk(&storage);
	append_until_full(&storage, queue, middle);
	expect_piece(&storage, queue, 0); // sending goes on
	free_disk(&storage);
	end = append_until_full(&storage, queue, middle);
	assert_in_range(end, 15, 22);
	storage_close(&storage, queue);

	storage_restart(&storage);
	queue = storage_open(&storage, "q");
	assert_int_equal(storage_figures(&storage, queue).damaged_records, 0);
	for (unsigned int i = 1; i < end; i++)
		expect_piece(&storage, queue, i);
	storage_expect(&storage, queue, NULL);
	storage_close(&storage, queue);
	assert_int_equal(storage_count_segments(&storage, "q", NULL), 0);
	tmpfs_deinit(&storage);
}

static void what_is_sent_makes_room_on_a_full_disk(void **state)
{
	struct storage storage;
	struct profcol_storage_queue *queue;
	unsigned int end;

	(void)state;
	tmpfs_require();
	tmpfs_init(&storage);
	fake_host_start(&storage.fake);
	queue = storage_open(&storage, "q");
	end = append_until_full(&storage, queue, 0);
	for (unsigned int i = 0; i < end; i++)
		expect_piece(&storage, queue, i);
	// Neither the limit of the queue nor that of a segment has come into play.
	assert_int_equal(append_until_full(&storage, queue, 0), end);
	for (unsigned int i = 0; i < end; i++)
		expect_piece(&storage, queue, i);
	// A segment that is open still gives its space when the rest of the disk is taken.
	for (unsigned int i = 0; i < 5; i++)
		assert_no_error(append_piece(&storage, queue, i));
	for (unsigned int i = 0; i < 5; i++)
		expect_piece(&storage, queue, i);
	fill_disk(&storage);
	assert_no_error(append_piece(&storage, queue, 1));
	expect_piece(&storage, queue, 1);
	storage_close(&storage, queue);
	tmpfs_deinit(&storage);
}

static void a_disk_full_from_the_start_is_no_reason_not_to_start(void **state)
{
	struct storage storage;
	struct profcol_storage_queue *queue;

	(void)state;
	tmpfs_require();
	tmpfs_init(&storage);
	fill_disk(&storage);
	fake_host_start(&storage.fake);
	queue = storage_open(&storage, "q");
	append_until_full(&storage, queue, 0);
	assert_int_equal(storage_count_segments(&storage, "q", NULL), 0);
	free_disk(&storage);
	assert_no_error(append_piece(&storage, queue, 1));
	expect_piece(&storage, queue, 1);
	storage_close(&storage, queue);
	tmpfs_deinit(&storage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_disk_refuses_and_loses_nothing),
		cmocka_unit_test(what_is_sent_makes_room_on_a_full_disk),
		cmocka_unit_test(a_disk_full_from_the_start_is_no_reason_not_to_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
