// SPDX-License-Identifier: Apache-2.0
/* Files that are looked for by name in roots of processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "processes/debug_files.h"
#include "processes/file_rows.h"
#include "processes/root_files.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const uint64_t limit_ns = 60000000000;

struct fixture {
	char directory[64];
	struct timed_calls *calls;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	strcpy(fixture->directory, "/tmp/profcol-roots-XXXXXX");
	fixture->calls = timed_calls_create();
	*state = fixture;
	return mkdtemp(fixture->directory) && fixture->calls ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	char command[128];

	timed_calls_destroy(fixture->calls);
	snprintf(command, sizeof(command), "rm -rf %s", fixture->directory);
	free(fixture);
	return system(command);
}

static char *path_in(const struct fixture *fixture, const char *name, char to[PATH_MAX])
{
	snprintf(to, PATH_MAX, "%s/%s", fixture->directory, name);
	return to;
}

static void write_file(const struct fixture *fixture, const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *file = fopen(path_in(fixture, name, path), "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void assert_content(int fd, const char *text)
{
	char got[64] = "";

	assert_true(fd >= 0);
	assert_true(read(fd, got, sizeof(got) - 1) >= 0);
	assert_string_equal(got, text);
	close(fd);
}

static void the_first_regular_file_is_opened(void **state)
{
	struct fixture *fixture = *state;
	char paths[5][PATH_MAX];
	const char *items[5];
	struct root_files_search search = { .pid = (uint32_t)getpid(), .paths = items, .count = 5 };
	size_t next = 0;

	assert_true(process_root_read(search.pid, &search.root));
	for (int i = 0; i < 5; i++) {
		char name[2] = { (char)('a' + i), 0 };

		items[i] = path_in(fixture, name, paths[i]);
	}
	assert_int_equal(mkdir(paths[0], 0700), 0);
	assert_int_equal(mkfifo(paths[1], 0600), 0); // nobody writes: an open would wait
	write_file(fixture, "d", "d");
	write_file(fixture, "e", "e");
	assert_content(root_files_open(fixture->calls, &search, &next, limit_ns), "d");
	assert_int_equal(next, 4);
	assert_content(root_files_open(fixture->calls, &search, &next, limit_ns), "e");
	assert_int_equal(next, 5);
	assert_int_equal(root_files_open(fixture->calls, &search, &next, limit_ns), -ENOENT);
	// The same in the machine's own root, if that is ours.
	next = 0;
	search.pid = 0;
	{
		struct process_root host;
		int fd = root_files_open(fixture->calls, &search, &next, limit_ns);

		if (process_root_of_host(&host) && process_root_equal(&host, &search.root))
			assert_content(fd, "d");
		else if (fd >= 0)
			close(fd);
	}
}

/* A process whose root is the fixture's directory; 0 where that may not be. */
static pid_t start_in_root(const struct fixture *fixture)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(ready[0]);
		if (!chroot(fixture->directory) && write(ready[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1) {
		waitpid(pid, NULL, 0);
		pid = 0;
	}
	close(ready[0]);
	return pid;
}

/* A file system whose server is silent, at @path. Returns its device; closed, it ends. */
static int mount_silent(const char *path)
{
	int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[128];

	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
	if (device >= 0 && mount("silent", path, "fuse", 0, options)) {
		close(device);
		device = -1;
	}
	return device;
}

/* Whoever has a directory of his own can have a look-up there wait for ever. */
static void a_place_that_does_not_answer_holds_up_no_other(void **state)
{
	const struct fixture *fixture = *state;
	char silent[PATH_MAX], hanging[PATH_MAX], there[PATH_MAX];
	const char *paths[] = { path_in(fixture, "silent/debug", hanging) };
	const char *others[] = { path_in(fixture, "debug", there) };
	struct root_files_search search = { .owner = OWNER_SHARED, .paths = paths, .count = 1 };
	size_t next = 0;
	int device;

	write_file(fixture, "debug", "debug");
	assert_int_equal(mkdir(path_in(fixture, "silent", silent), 0755), 0);
	device = mount_silent(silent);
	if (device < 0)
		skip();
	search.place = 1;
	assert_int_equal(root_files_open(fixture->calls, &search, &next, 50000000), -ETIMEDOUT);
	// It is not asked again...
	assert_int_equal(root_files_open(fixture->calls, &search, &next, limit_ns), -ETIMEDOUT);
	// ...but others are.
	search.paths = others;
	search.place = 0;
	next = 0;
	assert_content(root_files_open(fixture->calls, &search, &next, limit_ns), "debug");
	close(device);
	assert_int_equal(umount2(silent, MNT_DETACH), 0);
}

static void links_do_not_lead_out_of_a_root(void **state)
{
	struct fixture *fixture = *state;
	const char *items[] = { "/link" };
	struct root_files_search search = { .paths = items, .count = 1 };
	pid_t pid = start_in_root(fixture);
	struct process_root own;
	char path[PATH_MAX];
	size_t next = 0;

	if (!pid)
		skip();
	search.pid = (uint32_t)pid;
	assert_true(process_root_read(search.pid, &search.root));
	assert_true(process_root_read((uint32_t)getpid(), &own));
	assert_false(process_root_equal(&own, &search.root));
	assert_int_equal(symlink("/../../../etc/passwd", path_in(fixture, "link", path)), 0);
	assert_int_equal(root_files_open(fixture->calls, &search, &next, limit_ns), -ENOENT);
	assert_int_equal(mkdir(path_in(fixture, "etc", path), 0700), 0);
	write_file(fixture, "etc/passwd", "its own");
	next = 0;
	assert_content(root_files_open(fixture->calls, &search, &next, limit_ns), "its own");
	// What another process has is not looked at.
	next = 0;
	search.root = own;
	assert_int_equal(root_files_open(fixture->calls, &search, &next, limit_ns), -ESTALE);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	next = 0;
	assert_true(root_files_open(fixture->calls, &search, &next, limit_ns) < 0);
}

static void where_debug_files_may_lie(void **state)
{
	const char *const directories[] = { "/usr/lib/debug", "/srv/debug" };
	const struct debug_names names = {
		.path = "/usr/bin/program",
		.build_id = "abcdef",
		.link = "program.debug",
	};
	static const char *const wanted[] = {
		"/usr/lib/debug/.build-id/ab/cdef.debug",
		"/srv/debug/.build-id/ab/cdef.debug",
		"/usr/bin/program.debug",
		"/usr/bin/.debug/program.debug",
		"/usr/lib/debug/usr/bin/program.debug",
		"/srv/debug/usr/bin/program.debug",
	};
	struct debug_names odd = { .path = "memfd:x (deleted)", .build_id = "a", .link = "y" };
	struct debug_paths paths;

	(void)state;
	assert_true(debug_paths_init(&paths, &names, directories, 2));
	assert_int_equal(paths.count, 6);
	assert_int_equal(paths.by_build_id, 2);
	for (size_t i = 0; i < 6; i++)
		assert_string_equal(paths.paths[i], wanted[i]);
	debug_paths_deinit(&paths);
	assert_true(debug_paths_init(&paths, &odd, directories, 2));
	assert_int_equal(paths.count, 0);
	odd = (struct debug_names){ .path = "/a", .build_id = "../../x", .link = "../y" };
	assert_true(debug_paths_init(&paths, &odd, directories, 2));
	assert_int_equal(paths.count, 0);
}

static void a_file_of_several_roots_is_nobodys_own(void **state)
{
	const struct process_root one = { 1, 1, 1 }, other = { 2, 1, 1 }, unknown = { 0 };
	const struct mapped_file mapped = { .path = "/a", .device = 1, .inode = 1 };
	const struct owner owner = { 1000, 0 };
	struct file_rows rows;
	struct file *file;

	(void)state;
	file_rows_init(&rows, 4, 1 << 20, 1 << 20);
	file = file_rows_add(&rows, &mapped);
	assert_int_equal(file->root, FILE_ROOT_NONE);
	file_rows_note_root(&rows, file, 10, owner, &one);
	file_rows_note_root(&rows, file, 11, owner, &one);
	assert_int_equal(rows.roots.items[file->root].pid, 11);
	file_rows_note_root(&rows, file, 12, owner, &other);
	assert_int_equal(file->root, FILE_ROOT_SHARED);
	file_rows_note_root(&rows, file, 13, owner, &one);
	assert_int_equal(file->root, FILE_ROOT_SHARED);
	file = file_rows_add(&rows, &(struct mapped_file){ .path = "/b", .inode = 2 });
	file_rows_note_root(&rows, file, 10, owner, &one);
	assert_int_equal(file->root, 0);
	file_rows_note_root(&rows, file, 10, owner, &unknown);
	assert_int_equal(file->root, FILE_ROOT_SHARED);
	// Roots that no file is of make room for others.
	for (uint64_t i = 3; i < 10000; i++) {
		file = file_rows_add(&rows, &(struct mapped_file){ .path = "", .inode = i });
		if (!file)
			break;
		file_rows_note_root(&rows, file, 10, owner, &(struct process_root){ i, i, i });
		assert_true(file->root < rows.roots.count);
		file_rows_note_root(&rows, file, 10, owner, &one);
		assert_true(rows.roots.count <= 2048);
	}
	file_rows_deinit(&rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_first_regular_file_is_opened, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(links_do_not_lead_out_of_a_root, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_place_that_does_not_answer_holds_up_no_other,
						set_up, tear_down),
		cmocka_unit_test(where_debug_files_may_lie),
		cmocka_unit_test(a_file_of_several_roots_is_nobodys_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
