// SPDX-License-Identifier: Apache-2.0
/* Files behind mappings: identity, the limit on descriptors, and what must not be opened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "file_tick.h"

#include "processes/files.h"
#include "processes/processes.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FILES_BYTES = 1 << 20, OPEN_MAX_FILES = 4, FILE_IDS = 1 << 20 };

struct fixture {
	char directory[PATH_MAX];
	struct files *files;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture)
		return -1;
	strcpy(fixture->directory, "/tmp/profcol-files-XXXXXX");
	fixture->files = files_create(OPEN_MAX_FILES, FILES_BYTES, FILE_IDS);
	*state = fixture;
	return mkdtemp(fixture->directory) && fixture->files ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	char command[PATH_MAX + 16];

	files_destroy(fixture->files);
	snprintf(command, sizeof(command), "rm -rf %s", fixture->directory);
	free(fixture);
	return system(command);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

/* The path of file @name, with @text in it if not NULL; what a mapping of it would show. */
static struct file_search make(struct fixture *fixture, const char *name, const char *text,
			       char path[PATH_MAX])
{
	struct stat stat_of;

	assert_true(snprintf(path, PATH_MAX, "%.200s/%s", fixture->directory, name) < PATH_MAX);
	if (text)
		write_file(path, text);
	assert_int_equal(lstat(path, &stat_of), 0);
	return (struct file_search){
		.mapped = { .path = path, .device = stat_of.st_dev, .inode = stat_of.st_ino }
	};
}

static void assert_content(struct files *files, uint32_t file, const char *text)
{
	char read_back[64] = "";
	int fd = files_open(files, file);

	assert_true(fd >= 0);
	assert_true(read(fd, read_back, sizeof(read_back) - 1) >= 0);
	assert_string_equal(read_back, text);
	close(fd);
}

static void a_file_keeps_its_id_until_it_changes(void **state)
{
	struct fixture *fixture = *state;
	struct files *files = fixture->files;
	char path[PATH_MAX], other[PATH_MAX];
	struct file_search search = make(fixture, "a", "old", path);
	struct file_search second = make(fixture, "b", "other", other);
	struct mapped_file known;
	char *known_path;
	uint32_t id = files_identify(files, &search), changed;

	assert_int_not_equal(id, PROCESS_NO_FILE);
	assert_int_equal(files_identify(files, &search), id);
	assert_int_not_equal(files_identify(files, &second), id);
	assert_true(files_lookup(files, id, &known, &known_path));
	assert_string_equal(known.path, path);
	free(known_path);
	// Read twice: each descriptor has a position of its own.
	assert_content(files, id, "old");
	assert_content(files, id, "old");
	// A package manager puts a new file in its place: another inode.
	assert_int_equal(rename(other, path), 0);
	assert_content(files, id, "old");
	search = make(fixture, "a", NULL, path);
	changed = files_identify(files, &search);
	assert_int_not_equal(changed, id);
	assert_content(files, changed, "other");
	// A compiler writes into it: the same inode.
	write_file(path, "longer than before");
	assert_int_not_equal(files_identify(files, &search), changed);
	assert_content(files, files_identify(files, &search), "longer than before");
}

static void recognizing_takes_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct files *files = fixture->files;
	char path[PATH_MAX];
	struct file_search search = make(fixture, "first", "text", path);
	uint32_t id;

	assert_int_equal(files_recognize(files, &search), PROCESS_NO_FILE);
	assert_int_equal(files_state(files).files, 0);
	assert_int_equal(files_state(files).open, 0);
	id = files_identify(files, &search);
	assert_int_equal(files_recognize(files, &search), id);
	// Others take its descriptor: still it is known, and they keep theirs.
	for (char name[] = "a"; name[0] < 'a' + OPEN_MAX_FILES; name[0]++) {
		char other[PATH_MAX];
		struct file_search search_other = make(fixture, name, name, other);

		files_identify(files, &search_other);
	}
	assert_int_equal(files_open(files, id), -ENOENT);
	search.mapped.path = path;
	assert_int_equal(files_recognize(files, &search), id);
	assert_int_equal(files_open(files, id), -ENOENT);
	assert_int_equal(files_state(files).files, 1 + OPEN_MAX_FILES);
	write_file(path, "another one");
	assert_int_equal(files_recognize(files, &search), PROCESS_NO_FILE);
}

/* What a mapping of @fd, which has no name, would show. */
static struct file_search search_of_memfd(int fd, void **memory, char path[64])
{
	struct stat stat_of;

	assert_true(fstat(fd, &stat_of) == 0);
	*memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(*memory, MAP_FAILED);
	snprintf(path, 64, "/memfd:program (deleted)");
	return (struct file_search){ .mapped = { .pid = (uint32_t)getpid(),
						 .start = (uintptr_t)*memory,
						 .limit = (uintptr_t)*memory + 4096,
						 .path = path,
						 .device = stat_of.st_dev,
						 .inode = stat_of.st_ino } };
}

static void a_file_that_grows_can_be_opened_as_such(void **state)
{
	struct fixture *fixture = *state;
	struct files *files = fixture->files;
	char path[PATH_MAX], text[16] = "";
	struct file_search search = make(fixture, "jit-1.dump", "head", path);
	uint32_t id = files_identify(files, &search);
	int fd;

	write_file(path, "head and more");
	assert_int_equal(files_open(files, id), -ESTALE);
	fd = files_open_grown(files, id);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, text, sizeof(text)), strlen("head and more"));
	close(fd);
	assert_int_equal(files_open_grown(files, id + 1), -ENOENT);
}

/* Compilers write code to it, at another place than that at which it is executed. */
static void memory_that_looks_like_a_file_is_none(void **state)
{
	struct fixture *fixture = *state;
	struct files *files = fixture->files;
	int fd = memfd_create("program", MFD_CLOEXEC);
	struct file_search search;
	char path[64];
	void *memory;

	assert_int_equal(ftruncate(fd, 4096), 0);
	search = search_of_memfd(fd, &memory, path);
	if (files_identify(files, &search) != PROCESS_NO_FILE) {
		print_message("skipped: /proc/PID/map_files needs CAP_CHECKPOINT_RESTORE\n");
		skip();
	}
	assert_int_equal(pwrite(fd, "\x55\x48\x89\xe5", 4, 0), 4);
	assert_int_equal(files_identify(files, &search), PROCESS_NO_FILE);
	assert_int_equal(files_state(files).files, 0);
	// A program that is written to it then is one.
	assert_int_equal(pwrite(fd, "\177ELF one", 8, 0), 8);
	assert_int_not_equal(files_identify(files, &search), PROCESS_NO_FILE);
	munmap(memory, 4096);
	close(fd);
}

static void a_program_without_a_name_is_another_when_it_is_written_anew(void **state)
{
	struct fixture *fixture = *state;
	struct files *files = fixture->files;
	int fd = memfd_create("program", MFD_CLOEXEC);
	struct file_search search;
	struct file_look look;
	uint32_t id, told[2];
	char path[64];
	void *memory;

	assert_int_equal(pwrite(fd, "\177ELF one", 8, 0), 8);
	// What was just written would be another file at each look.
	do
		assert_int_equal(file_look(fd, &look), 0);
	while (look.fresh && poll(NULL, 0, 1) == 0);
	search = search_of_memfd(fd, &memory, path);
	id = files_identify(files, &search);
	if (files_open(files, id) < 0) {
		print_message("skipped: /proc/PID/map_files needs CAP_CHECKPOINT_RESTORE\n");
		skip();
	}
	assert_int_equal(files_identify(files, &search), id);
	assert_int_equal(files_changed(files, told, 2), 0);
	assert_int_equal(pwrite(fd, "\177ELF two", 8, 0), 8);
	// Who has the old one's number gets nothing of the new one.
	assert_int_equal(files_open(files, id), -ESTALE);
	assert_int_equal(files_changed(files, told, 2), 1);
	assert_int_equal(told[0], id);
	assert_int_equal(files_changed(files, told, 2), 0);
	assert_int_not_equal(files_identify(files, &search), id);
	assert_content(files, files_identify(files, &search), "\177ELF two");
	munmap(memory, 4096);
	close(fd);
}

/* The hash of a file with @text in it, read back from memory. */
static void assert_hash_of(struct files *files, uint32_t id, const char *text)
{
	char hash[HTLHASH_HEX] = "", right[HTLHASH_HEX];
	uint8_t bytes[HTLHASH_BYTES];

	htlhash_of_memory(text, strlen(text), bytes);
	strings_hex(right, bytes, sizeof(bytes));
	assert_true(files_htlhash(files, id, hash));
	assert_string_equal(hash, right);
}

static void a_hash_outlives_its_file(void **state)
{
	struct fixture *fixture = *state;
	struct files *files = fixture->files;
	char path[PATH_MAX], names[OPEN_MAX_FILES][PATH_MAX], name[8];
	struct file_search search = make(fixture, "a", "text", path), others[OPEN_MAX_FILES];
	uint32_t id = files_identify(files, &search);

	assert_int_equal(unlink(path), 0);
	assert_hash_of(files, id, "text");
	// Not held open any more either.
	for (size_t i = 0; i < OPEN_MAX_FILES; i++) {
		snprintf(name, sizeof(name), "o%zu", i);
		others[i] = make(fixture, name, name, names[i]);
		assert_int_not_equal(files_identify(files, &others[i]), id);
	}
	assert_int_equal(files_open(files, id), -ENOENT);
	assert_hash_of(files, id, "text");
}

static void every_file_that_can_be_read_has_a_hash(void **state)
{
	struct fixture *fixture = *state;
	struct files *files = fixture->files;
	char path[PATH_MAX], away[PATH_MAX], hash[HTLHASH_HEX] = "";
	struct file_search search = make(fixture, "empty", "", path);
	uint32_t id = files_identify(files, &search);

	assert_hash_of(files, id, "");
	// Another file now.
	search = make(fixture, "empty", "no more", path);
	assert_hash_of(files, files_identify(files, &search), "no more");
	assert_hash_of(files, id, "");
	// One that could not be opened gets its hash when it can.
	search = make(fixture, "late", "late", path);
	snprintf(away, sizeof(away), "%.200s/away", fixture->directory);
	assert_int_equal(rename(path, away), 0);
	id = files_identify(files, &search);
	assert_false(files_htlhash(files, id, hash));
	assert_int_equal(rename(away, path), 0);
	assert_int_equal(files_reopen(files, id, &search, FILES_OPEN_NS), 0);
	assert_hash_of(files, id, "late");
	assert_false(files_htlhash(files, 4711, hash));
}

static void what_cannot_be_read_to_its_end_has_no_hash(void **state)
{
	struct fixture *fixture = *state;
	// It says that it has a page, and ends before.
	struct file_search search = { .mapped = { .path = "/sys/kernel/mm/ksm/run" } };
	// Such a file gets new times when the system has no room to remember those that it has.
	CLEANUP_FD int held = open(search.mapped.path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char hash[HTLHASH_HEX];
	struct stat stat_of;
	uint32_t id;

	if (held < 0 || fstat(held, &stat_of) || stat_of.st_size != 4096) {
		print_message("skipped: no such file here\n");
		skip();
	}
	// One that has changed a moment ago is met as another one once more.
	await_file_tick(search.mapped.path);
	search.mapped.device = stat_of.st_dev;
	search.mapped.inode = stat_of.st_ino;
	id = files_identify(fixture->files, &search);
	assert_int_not_equal(id, PROCESS_NO_FILE);
	if (files_htlhash(fixture->files, id, hash))
		fail_msg("it has one: %s", hash);
	// It is a file like others all the same.
	assert_int_equal(files_identify(fixture->files, &search), id);
}

static void descriptors_are_limited_and_had_again(void **state)
{
	struct fixture *fixture = *state;
	struct files *files = fixture->files;
	char paths[10][PATH_MAX], name[8], text[8];
	struct file_search searches[10];
	uint32_t ids[10];

	for (size_t i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "f%zu", i);
		snprintf(text, sizeof(text), "text%zu", i);
		searches[i] = make(fixture, name, text, paths[i]);
		ids[i] = files_identify(files, &searches[i]);
		assert_true(files_state(files).open <= OPEN_MAX_FILES);
		// Always in use, the first one is not closed for others.
		assert_content(files, ids[0], "text0");
	}
	assert_int_equal(files_open(files, ids[1]), -ENOENT);
	assert_int_equal(files_reopen(files, ids[1], &searches[1], FILES_OPEN_NS), 0);
	assert_content(files, ids[1], "text1");
	assert_true(files_state(files).open <= OPEN_MAX_FILES);
	assert_int_equal(files_identify(files, &searches[2]), ids[2]);
	// One that has changed cannot be had any more.
	write_file(paths[5], "changed");
	assert_int_equal(files_open(files, ids[5]), -ENOENT);
	assert_int_equal(files_reopen(files, ids[5], &searches[5], FILES_OPEN_NS), -ESTALE);
	assert_int_equal(files_open(files, 12345), -ENOENT);
}

static void ask_for_hash(struct files *files, uint32_t id)
{
	char hash[HTLHASH_HEX];

	assert_true(files_htlhash(files, id, hash));
}

static void ask_for_path(struct files *files, uint32_t id)
{
	char *path = files_path(files, id);

	assert_non_null(path);
	free(path);
}

/* Is a file held for which @ask asks again and again, whatever else comes? */
static void assert_held(struct fixture *fixture, void (*ask)(struct files *files, uint32_t id))
{
	struct files *files = fixture->files;
	char path[PATH_MAX], name[8];
	struct file_search search = make(fixture, "first", "text", path);
	uint32_t id = files_identify(files, &search);
	struct file_look look;

	await_file_tick(path);
	for (size_t i = 0; i < 10; i++) {
		ask(files, id);
		snprintf(name, sizeof(name), "f%zu", i);
		search = make(fixture, name, name, path);
		(void)files_identify(files, &search);
	}
	assert_true(files_look(files, id, &look));
}

static void what_batches_ask_for_is_held(void **state)
{
	assert_held(*state, ask_for_hash);
	assert_held(*state, ask_for_path);
}

static void those_in_use_that_are_not_held_have_their_turn(void **state)
{
	struct fixture *fixture = *state;
	struct files *files = fixture->files;
	char path[PATH_MAX], name[8];
	struct file_search search;
	uint32_t ids[8];

	for (size_t i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "f%zu", i);
		search = make(fixture, name, i == 2 ? "no program" : "\177ELF", path);
		ids[i] = files_identify(files, &search);
	}
	// The last four are held.
	assert_int_equal(files_unheld(files, ids, 8), ids[0]);
	assert_int_equal(files_unheld(files, ids, 8), ids[1]);
	ask_for_path(files, ids[0]); // behind what has been looked at
	assert_int_equal(files_unheld(files, ids, 8), ids[3]);
	assert_int_equal(files_unheld(files, ids, 8), PROCESS_NO_FILE);
	assert_int_equal(files_unheld(files, ids, 8), ids[0]);
	assert_int_equal(files_unheld(files, ids, 8), PROCESS_NO_FILE);
	assert_int_equal(files_unheld(files, ids, 8), PROCESS_NO_FILE);
	ask_for_path(files, ids[3]);
	assert_int_equal(files_unheld(files, ids, 8), ids[3]);
	assert_int_equal(files_unheld(files, ids, 8), PROCESS_NO_FILE);
	assert_int_equal(files_unheld(files, ids + 4, 4), PROCESS_NO_FILE);
}

static void what_a_path_leads_to_is_not_believed(void **state)
{
	struct fixture *fixture = *state;
	struct files *files = fixture->files;
	char path[PATH_MAX], other[PATH_MAX];
	struct file_search search = make(fixture, "real", "real", path);
	struct file_look ignored;
	uint32_t id;

	make(fixture, "secret", "secret", other);
	// A symbolic link, and another file, in the place of what was mapped.
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("secret", path), 0);
	assert_int_equal(mapped_file_open_path(&search.mapped, 0, &ignored), -ESTALE);
	search.mapped.path = other;
	assert_int_equal(mapped_file_open_path(&search.mapped, 0, &ignored), -ESTALE);
	search.mapped.path = path;
	id = files_identify(files, &search);
	// It is a file all the same, and told from others, only not to be read...
	assert_int_not_equal(id, PROCESS_NO_FILE);
	assert_int_equal(files_open(files, id), -ENOENT);
	assert_int_equal(files_identify(files, &search), id);
	search.mapped.path = "relative";
	assert_int_equal(mapped_file_open_path(&search.mapped, 0, &ignored), -ENOENT);
}

/* A path leads to what has the numbers of the file that was mapped, as one on a file system that
 * was mounted since may have. */
static void a_file_that_came_later_is_another_one(void **state)
{
	struct fixture *fixture = *state;
	char path[PATH_MAX];
	struct file_search search = make(fixture, "later", "later", path);
	struct file_look look;
	struct stat status;
	uint64_t changed_ns;
	int fd;

	assert_int_equal(stat(path, &status), 0);
	changed_ns = clock_monotonic_ns() - clock_realtime_ns() +
		     (uint64_t)status.st_ctim.tv_sec * 1000000000 +
		     (uint64_t)status.st_ctim.tv_nsec;
	search.mapped.begin_ns = changed_ns - 1000000000;
	assert_int_equal(mapped_file_open_path(&search.mapped, 0, &look), -ESTALE);
	// The clock of file systems ticks: it may be that much behind.
	search.mapped.begin_ns = changed_ns;
	assert_int_equal(mapped_file_open_path(&search.mapped, 0, &look), -ESTALE);
	search.mapped.begin_ns = changed_ns + 100000000;
	fd = mapped_file_open_path(&search.mapped, 0, &look);
	assert_true(fd >= 0);
	close(fd);
}

/* Nor is it later the one that could not be opened, when its time is not asked for. */
static void a_file_that_could_not_be_opened_is_none_that_came_later(void **state)
{
	struct fixture *fixture = *state;
	struct files *files = fixture->files;
	char path[PATH_MAX];
	struct file_search gone = make(fixture, "later", "later", path), search = gone;
	uint32_t id;

	gone.mapped.begin_ns = clock_monotonic_ns() - 1000000000;
	id = files_identify(files, &gone);
	assert_int_not_equal(id, PROCESS_NO_FILE);
	assert_int_equal(files_reopen(files, id, &search, FILES_OPEN_NS), -ESTALE);
	assert_int_equal(files_open(files, id), -ENOENT);
	assert_int_not_equal(files_identify(files, &search), id);
	assert_content(files, files_identify(files, &search), "later");
}

static void only_regular_files_are_opened(void **state)
{
	struct fixture *fixture = *state;
	char path[PATH_MAX];
	struct file_search search;

	snprintf(path, sizeof(path), "%.200s/pipe", fixture->directory);
	assert_int_equal(mkfifo(path, 0600), 0);
	// Were it opened, the test would hang here.
	search = make(fixture, "pipe", NULL, path);
	assert_int_equal(files_identify(fixture->files, &search), PROCESS_NO_FILE);
	snprintf(path, sizeof(path), "%.200s/directory", fixture->directory);
	assert_int_equal(mkdir(path, 0700), 0);
	search = make(fixture, "directory", NULL, path);
	assert_int_equal(files_identify(fixture->files, &search), PROCESS_NO_FILE);
	assert_int_equal(files_state(fixture->files).files, 0);
}

static void files_met_unopened_are_opened_later(void **state)
{
	struct fixture *fixture = *state;
	struct files *files = fixture->files;
	char path[PATH_MAX], away[PATH_MAX];
	struct file_search search = make(fixture, "x", "text", path);
	uint32_t id;

	snprintf(away, sizeof(away), "%.200s/away", fixture->directory);
	assert_int_equal(rename(path, away), 0);
	id = files_identify(files, &search);
	assert_int_equal(files_open(files, id), -ENOENT);
	assert_int_equal(rename(away, path), 0);
	assert_int_equal(files_identify(files, &search), id);
	assert_content(files, id, "text");
}

/* The program was removed before it could be opened, and the next one got its inode. */
static void another_file_does_not_get_the_id_of_one_never_opened(void **state)
{
	struct fixture *fixture = *state;
	struct files *files = fixture->files;
	char path[PATH_MAX];
	struct file_search search = make(fixture, "next", "text", path), gone = search;
	uint32_t first, second;

	gone.mapped.path = "/gone";
	first = files_identify(files, &gone);
	assert_int_not_equal(first, PROCESS_NO_FILE);
	assert_int_equal(files_identify(files, &gone), first);
	second = files_identify(files, &search);
	assert_int_not_equal(second, first);
	assert_content(files, second, "text");
	assert_int_equal(files_open(files, first), -ENOENT);
	// Nor by one that cannot be opened either.
	gone.mapped.inode = 4711;
	first = files_identify(files, &gone);
	gone.mapped.path = "/gone too";
	assert_int_not_equal(files_identify(files, &gone), first);
}

static void those_not_needed_make_room(void **state)
{
	struct fixture *fixture = *state;
	struct files *files = files_create(OPEN_MAX_FILES, 16 << 10, FILE_IDS);
	char path[PATH_MAX], name[8], hash[HTLHASH_HEX], *known_path;
	struct file_search kept = make(fixture, "kept", "kept", path), search;
	struct mapped_file known;
	uint32_t needed[2], ids[500], old;

	needed[0] = files_identify(files, &kept);
	for (size_t i = 0; i < 500; i++) {
		char other[PATH_MAX];

		snprintf(name, sizeof(name), "n%zu", i % 100);
		search = make(fixture, name, name, other);
		// All but the first hundred are met again, and may have been forgotten.
		ids[i] = needed[1] = files_identify(files, &search);
		assert_int_not_equal(ids[i], PROCESS_NO_FILE);
		assert_true(ids[i] > needed[0]);
		if (files_want_room(files)) {
			assert_true(files_evict(files, needed, 2) > 0);
			assert_false(files_want_room(files));
		}
		// More than there is room for lie between.
		old = i < 100 ? 4711 : ids[i - 100];
		assert_false(files_has(files, old, NULL));
		assert_false(files_lookup(files, old, &known, &known_path));
		assert_false(files_htlhash(files, old, hash));
		assert_int_equal(files_open(files, old), -ENOENT);
		assert_int_equal(files_reopen(files, old, &search, FILES_OPEN_NS), -ENOENT);
		assert_content(files, ids[i], name);
		assert_true(files_state(files).open <= OPEN_MAX_FILES);
		assert_true(files_state(files).memory <= 16 << 10);
	}
	assert_true(files_has(files, needed[0], NULL));
	assert_int_equal(files_identify(files, &kept), needed[0]);
	assert_content(files, needed[0], "kept");
	assert_int_equal(files_state(files).refused, 0);
	assert_int_equal(files_state(files).paths_refused, 0);
	assert_true(files_state(files).evicted > 300);
	files_destroy(files);
}

static void what_is_recognized_stays(void **state)
{
	struct fixture *fixture = *state;
	struct files *files = files_create(0, 16 << 10, FILE_IDS);
	struct file_search others = { .mapped = { .path = "/gone", .device = 1 } }, search;
	char path[PATH_MAX];
	uint32_t id;

	search = make(fixture, "library", "library", path);
	id = files_identify(files, &search);
	while (!files_want_room(files)) {
		others.mapped.inode++;
		files_identify(files, &others);
	}
	assert_int_equal(files_recognize(files, &search), id);
	assert_true(files_evict(files, NULL, 0) > 0);
	assert_true(files_has(files, id, NULL));
	files_destroy(files);
}

static void where_all_are_needed_there_is_no_room(void **state)
{
	struct files *files = files_create(OPEN_MAX_FILES, 16 << 10, FILE_IDS);
	struct file_search search = { .mapped = { .path = "/gone", .device = 1 } };
	uint32_t needed[1000];
	size_t count = 0;

	(void)state;
	while (!files_want_room(files)) {
		search.mapped.inode = count + 1;
		needed[count++] = files_identify(files, &search);
	}
	assert_false(files_want_room(files)); // once, even if nothing comes of it
	assert_int_equal(files_evict(files, needed, count), 0);
	assert_false(files_want_room(files)); // not all the time
	for (size_t i = 0; i < count; i++)
		assert_true(files_has(files, needed[i], NULL));
	files_destroy(files);
}

/* As much as the bound on memory allows, and far fewer ids than that would be in a lap. */
static void ids_are_given_again_to_nobody_who_could_be_mistaken(void **state)
{
	enum { IDS = 4096 };
	struct file_search search = { .mapped = { .path = "/gone", .device = 1 } };
	struct files *files = files_create(OPEN_MAX_FILES, 16 << 10, IDS);
	static uint64_t turns_of[IDS]; /* when the id was given last, + 1 */
	uint32_t needed[1], id;

	(void)state;
	search.mapped.inode = 1;
	needed[0] = files_identify(files, &search);
	for (uint64_t inode = 2; inode < 10 * IDS; inode++) {
		search.mapped.inode = inode;
		if (files_want_room(files))
			assert_true(files_evict(files, needed, 1) > 0);
		id = files_identify(files, &search);
		assert_true(id < IDS);
		assert_int_not_equal(id, needed[0]);
		if (turns_of[id])
			assert_true(files_state(files).turns >= turns_of[id] - 1 + 2);
		turns_of[id] = files_state(files).turns + 1;
	}
	assert_true(files_state(files).turns >= 18);
	assert_int_equal(files_state(files).refused, 0);
	files_destroy(files);
}

static void memory_is_bounded(void **state)
{
	struct fixture *fixture = *state;
	char path[PATH_MAX] = "/gone";
	struct file_search search = { .mapped = { .path = path, .device = 1 } };
	struct files_state all;

	memset(path + 5, 'x', 3000);
	for (uint64_t inode = 1; inode < 20000; inode++) {
		search.mapped.inode = inode;
		files_identify(fixture->files, &search);
	}
	all = files_state(fixture->files);
	assert_true(all.memory <= FILES_BYTES);
	assert_true(all.refused > 0);
	// Long paths run out before ids do.
	assert_true(all.files > 1000);
}

int main(void)
{
#define FILES_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		FILES_TEST(a_file_keeps_its_id_until_it_changes),
		FILES_TEST(recognizing_takes_nothing),
		FILES_TEST(a_file_that_grows_can_be_opened_as_such),
		FILES_TEST(memory_that_looks_like_a_file_is_none),
		FILES_TEST(a_program_without_a_name_is_another_when_it_is_written_anew),
		FILES_TEST(a_hash_outlives_its_file),
		FILES_TEST(every_file_that_can_be_read_has_a_hash),
		FILES_TEST(what_cannot_be_read_to_its_end_has_no_hash),
		FILES_TEST(descriptors_are_limited_and_had_again),
		FILES_TEST(what_batches_ask_for_is_held),
		FILES_TEST(those_in_use_that_are_not_held_have_their_turn),
		FILES_TEST(what_a_path_leads_to_is_not_believed),
		FILES_TEST(a_file_that_came_later_is_another_one),
		FILES_TEST(a_file_that_could_not_be_opened_is_none_that_came_later),
		FILES_TEST(only_regular_files_are_opened),
		FILES_TEST(files_met_unopened_are_opened_later),
		FILES_TEST(another_file_does_not_get_the_id_of_one_never_opened),
		FILES_TEST(those_not_needed_make_room),
		FILES_TEST(what_is_recognized_stays),
		FILES_TEST(where_all_are_needed_there_is_no_room),
		FILES_TEST(ids_are_given_again_to_nobody_who_could_be_mistaken),
		FILES_TEST(memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
