// SPDX-License-Identifier: Apache-2.0
/* What is known of files: how much fits, and who goes first. */
#include "processes/file_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { OPEN_MAX_FILES = 4, BYTES = 1 << 20, FILE_IDS = 1 << 20 };

static int set_up(void **state)
{
	static struct file_rows rows;

	file_rows_init(&rows, OPEN_MAX_FILES, BYTES, FILE_IDS);
	*state = &rows;
	return 0;
}

static int tear_down(void **state)
{
	file_rows_deinit(*state);
	return 0;
}

/* The id of a new file. */
static uint32_t add(struct file_rows *rows, uint64_t inode)
{
	struct mapped_file mapped = { .path = "/gone", .device = 1, .inode = inode };
	struct file *file = file_rows_add(rows, &mapped);

	assert_non_null(file);
	file_rows_set_alias(rows, &mapped, file);
	return file->id;
}

static size_t evict(struct file_rows *rows, const uint32_t *needed, size_t count)
{
	int fds[OPEN_MAX_FILES];
	size_t fd_count;

	return file_rows_evict(rows, needed, count, fds, &fd_count);
}

static void no_part_of_the_memory_is_left(void **state)
{
	// What is kept elsewhere of each counts, too.
	enum { ROWS_BYTES = BYTES / 4 * 3, ELSEWHERE_BYTES = 256 };
	struct file_rows *rows = *state;
	struct mapped_file mapped = { .path = "", .device = 1 };
	struct file_look look = { .device = 1 };
	struct file *file;
	size_t taken;

	for (uint64_t inode = 1; rows->rows.count < rows->most; inode++) {
		mapped.inode = look.inode = inode;
		file = file_rows_add(rows, &mapped);
		assert_non_null(file);
		file_rows_set_alias(rows, &mapped, file);
		file_rows_see(rows, file, &look);
	}
	assert_null(file_rows_add(rows, &mapped));
	taken = file_rows_memory(rows) - rows->path_bytes + rows->most * ELSEWHERE_BYTES;
	assert_in_range(taken, ROWS_BYTES / 20 * 19, ROWS_BYTES + 4096);
}

/* A file that has been seen is found by that, however little memory is left by then. */
static void seeing_a_file_takes_no_memory(void **state)
{
	struct file_rows *rows = *state;
	struct mapped_file mapped = { .path = "/gone", .device = 1 };

	for (uint64_t inode = 1; inode <= 1000; inode++) {
		struct file_look look = { .device = 2, .inode = inode, .mount = 1 };
		struct file *file;
		size_t before;

		mapped.inode = inode;
		file = file_rows_add(rows, &mapped);
		assert_non_null(file);
		before = file_rows_memory(rows);
		file_rows_see(rows, file, &look);
		assert_int_equal(file_rows_memory(rows), before);
		assert_ptr_equal(file_rows_find_look(rows, &look), file);
	}
}

/* A library that is mapped for a week is not the first to go when its last process has ended. */
static void what_was_needed_lately_stays(void **state)
{
	struct file_rows *rows = *state;
	uint32_t library = add(rows, 1);
	uint64_t inode = 2;

	while (!file_rows_nearly_full(rows))
		add(rows, inode++);
	assert_true(evict(rows, &library, 1) > 0);
	while (!file_rows_nearly_full(rows))
		add(rows, inode++);
	assert_true(evict(rows, NULL, 0) > 0);
	assert_non_null(file_rows_find(rows, library));
	// But for ever it does not.
	for (int i = 0; i < 2; i++) {
		while (!file_rows_nearly_full(rows))
			add(rows, inode++);
		assert_true(evict(rows, NULL, 0) > 0);
	}
	assert_null(file_rows_find(rows, library));
}

static void one_refused_wants_room(void **state)
{
	struct file_rows *rows = *state;
	struct mapped_file mapped = { .path = "/gone", .device = 1 };
	uint32_t first;

	// Numbers are what there are too few of.
	file_rows_deinit(rows);
	file_rows_init(rows, OPEN_MAX_FILES, BYTES, 8);
	for (mapped.inode = 1; file_rows_add(rows, &mapped); mapped.inode++)
		;
	assert_true(rows->rows.count <= 8);
	assert_int_equal(rows->refused, 1);
	assert_true(file_rows_nearly_full(rows));
	first = rows->rows.items[0].id;
	assert_true(evict(rows, &first, 1) > 0);
	assert_false(file_rows_nearly_full(rows));
	assert_non_null(file_rows_find(rows, first));
}

int main(void)
{
#define ROWS_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		ROWS_TEST(no_part_of_the_memory_is_left),
		ROWS_TEST(seeing_a_file_takes_no_memory),
		ROWS_TEST(what_was_needed_lately_stays),
		ROWS_TEST(one_refused_wants_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
