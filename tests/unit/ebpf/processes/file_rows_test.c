// SPDX-License-Identifier: Apache-2.0
/* What is known of files: how much fits, and who goes first. */
#include "processes/file_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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

	for (uint64_t inode = 1;; inode++) {
		mapped.inode = look.inode = inode;
		file = file_rows_add(rows, &mapped);
		if (!file)
			break;
		file_rows_set_alias(rows, &mapped, file);
		file_rows_see(rows, file, &look);
	}
	assert_int_equal(rows->rows.count, rows->most - rows->most / 8); // all but what is kept
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

static struct file *add_owned(struct file_rows *rows, uint64_t inode, uint32_t uid)
{
	const struct mapped_file mapped = {
		.path = "/gone",
		.device = 1,
		.inode = inode,
		.owner = { uid, 0 },
	};

	return file_rows_add(rows, &mapped);
}

static size_t yield(struct file_rows *rows, uint32_t *ids, size_t most)
{
	int fds[OPEN_MAX_FILES];
	size_t fd_count;

	return file_rows_yield(rows, ids, most, fds, &fd_count);
}

/* One that has as many files mapped as it can. */
static void who_has_most_files_makes_room_for_others(void **state)
{
	struct file_rows *rows = *state;
	uint32_t gone[1000], least = rows->most / 4, others = 0;
	uint64_t inode = 1;

	while (add_owned(rows, inode, 1000))
		inode++;
	assert_int_equal(yield(rows, gone, 1000), 0);
	while (others < least) {
		if (add_owned(rows, ++inode, 1001)) {
			others++;
			continue;
		}
		assert_true(yield(rows, gone, 1000) > 0);
		assert_null(file_rows_find(rows, gone[0]));
	}
	assert_int_equal(shares_of(&rows->shares, (struct owner){ 1001, 0 }), least);
	assert_int_equal(rows->rows.count, rows->shares.all.items[0].held + least);
	// It does not come back for what is kept.
	yield(rows, gone, 1000);
	while (add_owned(rows, ++inode, 1000))
		;
	assert_non_null(add_owned(rows, ++inode, 1002));
}

static void who_has_long_paths_makes_room_for_others(void **state)
{
	struct file_rows *rows = *state;
	struct mapped_file mapped = { .device = 1, .owner = { 1000, 0 } };
	char path[1000];
	uint32_t gone[1];

	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	for (mapped.path = path; !rows->paths_refused; mapped.inode++)
		assert_non_null(file_rows_add(rows, &mapped));
	mapped.owner.uid = 1001;
	for (mapped.inode = 5000; rows->paths_refused < 2; mapped.inode++)
		assert_non_null(file_rows_add(rows, &mapped));
	yield(rows, gone, 0);
	assert_non_null(add_owned(rows, 9000, 1001)->path);
	assert_non_null(add_owned(rows, 9001, 1002)->path);
}

static void who_holds_most_descriptors_lets_go_of_them_for_others(void **state)
{
	struct file_rows *rows = *state;
	struct file *other;

	for (uint64_t inode = 1; inode <= 3 * OPEN_MAX_FILES; inode++)
		(void)file_rows_hold(rows, add_owned(rows, inode, 1000), 100 + (int)inode);
	other = add_owned(rows, 5000, 1001);
	assert_true(file_rows_hold(rows, other, 2000) >= 100);
	for (uint64_t inode = 6000; inode <= 6000 + 3 * OPEN_MAX_FILES; inode++)
		(void)file_rows_hold(rows, add_owned(rows, inode, 1000), 100 + (int)inode);
	assert_int_equal(file_rows_find(rows, other->id)->fd, 2000);
	assert_int_equal(rows->held.count, OPEN_MAX_FILES);
	for (size_t i = 0; i < rows->rows.count; i++)
		rows->rows.items[i].fd = -1; // none of these is open
}

/* The id of a new file that is held open, on a mount with this number. */
static uint32_t hold_on(struct file_rows *rows, uint64_t inode, uint64_t mount_number)
{
	struct file_look look = {
		.device = 1, .inode = inode, .links = 1, .mount_number = mount_number
	};
	uint32_t id = add(rows, inode);
	struct file *file = file_rows_find(rows, id);

	file_rows_see(rows, file, &look);
	assert_int_equal(file_rows_hold(rows, file, open("/dev/null", O_PATH | O_CLOEXEC)), -1);
	return id;
}

static void mounts_of_no_root_are_let_go_of(void **state)
{
	const struct process_root host = { .mount = 7 }, container = { .mount = 8 };
	struct file_rows *rows = *state;
	uint32_t machines = hold_on(rows, 1, 7), contained = hold_on(rows, 2, 8);
	uint32_t untold = hold_on(rows, 3, 0), passing = hold_on(rows, 4, 9);
	uint64_t before = rows->clock;
	struct file_let_go gone[OPEN_MAX_FILES];

	file_rows_note_root(rows, file_rows_find(rows, contained), 1, (struct owner){ 0, 1 },
			    &container);
	file_rows_find(rows, contained)->container = 1;
	// In use:
	file_rows_touch(rows, file_rows_find(rows, passing));
	assert_false(file_rows_has_passing(rows, &host, before));
	assert_int_equal(file_rows_let_go(rows, &host, before, NULL, 0, gone), 0);
	// Mapped:
	assert_true(file_rows_has_passing(rows, &host, rows->clock));
	assert_int_equal(file_rows_let_go(rows, &host, rows->clock, &passing, 1, gone), 0);
	assert_int_equal(file_rows_let_go(rows, &host, rows->clock, &machines, 1, gone), 1);
	assert_int_equal(close(gone[0].fd), 0);
	assert_int_equal(file_rows_find(rows, passing)->fd, -1);
	assert_true(file_rows_find(rows, machines)->fd >= 0);
	assert_true(file_rows_find(rows, contained)->fd >= 0);
	assert_true(file_rows_find(rows, untold)->fd >= 0);
	assert_int_equal(rows->held.count, 3);
	// There is room for another one.
	hold_on(rows, 5, 7);
	assert_int_equal(rows->held.count, 4);
}

/* Only by its descriptor is it seen that a file is written to while it runs. */
static void what_is_mapped_now_is_let_go_of_last(void **state)
{
	const struct process_root host = { .mount = 7 };
	struct file_rows *rows = *state;
	uint32_t library = hold_on(rows, 1, 7);
	struct file_let_go gone[OPEN_MAX_FILES];
	int fd;

	assert_int_equal(file_rows_let_go(rows, &host, 0, &library, 1, gone), 0);
	for (uint64_t inode = 2; inode <= OPEN_MAX_FILES; inode++)
		hold_on(rows, inode, 7);
	for (uint64_t inode = 100; inode < 100 + 3 * OPEN_MAX_FILES; inode++) {
		struct file *file = file_rows_find(rows, add(rows, inode));

		fd = file_rows_hold(rows, file, open("/dev/null", O_PATH | O_CLOEXEC));
		assert_int_equal(close(fd), 0);
	}
	assert_true(file_rows_find(rows, library)->fd >= 0);
	// Until it is mapped no longer.
	assert_int_equal(file_rows_let_go(rows, &host, 0, NULL, 0, gone), 0);
	fd = file_rows_hold(rows, file_rows_find(rows, add(rows, 200)),
			    open("/dev/null", O_PATH | O_CLOEXEC));
	assert_int_equal(close(fd), 0);
	assert_int_equal(file_rows_find(rows, library)->fd, -1);
}

/* Nor is it known yet which files living processes map, when they have just mapped them. */
static void what_has_just_been_mapped_is_not_let_go_of_first(void **state)
{
	const struct mapped_file mapped = { .path = "/gone", .device = 1, .inode = 1, .pid = 1 };
	struct file_rows *rows = *state;
	uint32_t library = hold_on(rows, 1, 7);

	file_rows_mapped_by(rows, file_rows_find(rows, library), &mapped);
	for (uint64_t inode = 2; inode <= OPEN_MAX_FILES; inode++)
		hold_on(rows, inode, 7);
	for (uint64_t inode = 100; inode < 100 + 3 * OPEN_MAX_FILES; inode++) {
		struct file *file = file_rows_find(rows, add(rows, inode));

		assert_int_equal(
			close(file_rows_hold(rows, file, open("/dev/null", O_PATH | O_CLOEXEC))),
			0);
	}
	assert_true(file_rows_find(rows, library)->fd >= 0);
}

/* The id of a new file that a process of @owner maps, whose root is on @mount. */
static uint32_t add_rooted(struct file_rows *rows, struct owner owner, uint64_t mount)
{
	struct process_root root = { .mount = mount, .inode = 2 };
	uint32_t id = add(rows, mount);

	file_rows_note_root(rows, file_rows_find(rows, id), 1, owner, &root);
	return id;
}

/* Is it known to be of that root alone? */
static bool is_rooted(const struct file_rows *rows, uint32_t id, uint64_t mount)
{
	struct process_root root = { .mount = mount, .inode = 2 };

	return file_rows_has_root(rows, file_rows_find(rows, id), &root);
}

static void who_has_most_roots_makes_room_for_others(void **state)
{
	enum { OWN_MOUNTS = 10000, SURE = 2048 / 4, KEPT = 2048 / 8 };
	const struct owner greedy = { 1000, 0 }, other = { 1001, 0 };
	struct file_rows *rows = *state;
	uint32_t common, last, own[SURE];

	file_rows_deinit(rows);
	file_rows_init(rows, OPEN_MAX_FILES, 16 * BYTES, FILE_IDS);
	// The machine's own, which the greedy one has first.
	common = add_rooted(rows, greedy, 1);
	file_rows_note_root(rows, file_rows_find(rows, common), 2, (struct owner){ 0, 0 },
			    &(struct process_root){ .mount = 1, .inode = 2 });
	for (uint64_t mount = 2; mount < 3000; mount++)
		last = add_rooted(rows, greedy, mount);
	assert_false(is_rooted(rows, last, 2999));
	assert_int_equal(rows->roots.count, 2048 - KEPT);
	assert_int_equal(rows->roots_refused, 2999 - (2048 - KEPT));
	for (uint64_t i = 0; i < SURE; i++)
		own[i] = add_rooted(rows, other, OWN_MOUNTS + i);
	for (uint64_t i = 0; i < SURE; i++)
		assert_true(is_rooted(rows, own[i], OWN_MOUNTS + i));
	assert_true(is_rooted(rows, common, 1));
	assert_true(rows->roots.count <= 2048);
}

int main(void)
{
#define ROWS_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		ROWS_TEST(no_part_of_the_memory_is_left),
		ROWS_TEST(seeing_a_file_takes_no_memory),
		ROWS_TEST(what_was_needed_lately_stays),
		ROWS_TEST(one_refused_wants_room),
		ROWS_TEST(who_has_most_files_makes_room_for_others),
		ROWS_TEST(who_has_long_paths_makes_room_for_others),
		ROWS_TEST(who_holds_most_descriptors_lets_go_of_them_for_others),
		ROWS_TEST(mounts_of_no_root_are_let_go_of),
		ROWS_TEST(what_is_mapped_now_is_let_go_of_last),
		ROWS_TEST(what_has_just_been_mapped_is_not_let_go_of_first),
		ROWS_TEST(who_has_most_roots_makes_room_for_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
