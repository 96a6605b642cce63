// SPDX-License-Identifier: Apache-2.0
/* Which package has a file, by what lies in the root of a process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "processes/packages.h"

#include "base/base.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const uint64_t limit_ns = 60000000000;

struct fixture {
	char directory[64];
	struct timed_calls *calls;
	pid_t pid; /* a process whose root is the directory; 0: that may not be */
	struct root_files_search search;
};

/* A child that waits in the directory as its root. */
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

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	strcpy(fixture->directory, "/tmp/profcol-packages-XXXXXX");
	fixture->calls = timed_calls_create();
	*state = fixture;
	if (!mkdtemp(fixture->directory) || !fixture->calls)
		return -1;
	fixture->pid = start_in_root(fixture);
	fixture->search.pid = (uint32_t)fixture->pid;
	if (fixture->pid)
		assert_true(process_root_read(fixture->search.pid, &fixture->search.root));
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	char command[128];

	if (fixture->pid) {
		kill(fixture->pid, SIGKILL);
		waitpid(fixture->pid, NULL, 0);
	}
	timed_calls_destroy(fixture->calls);
	snprintf(command, sizeof(command), "rm -rf %s", fixture->directory);
	free(fixture);
	return system(command);
}

static void make_directory(const struct fixture *fixture, const char *name)
{
	char command[PATH_MAX];

	snprintf(command, sizeof(command), "mkdir -p %s/%s", fixture->directory, name);
	assert_int_equal(system(command), 0);
}

static char *path_of(const struct fixture *fixture, const char *name, char to[PATH_MAX])
{
	snprintf(to, PATH_MAX, "%s/var/lib/dpkg/info/%s", fixture->directory, name);
	return to;
}

static void write_list(const struct fixture *fixture, const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *file = fopen(path_of(fixture, name, path), "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static int find(struct fixture *fixture, const char *const *paths, size_t count,
		struct packages_found *ret)
{
	fixture->search.paths = paths;
	fixture->search.count = count;
	return packages_find(fixture->calls, &fixture->search, limit_ns, ret);
}

static void a_package_has_a_file_in_its_list(void **state)
{
	static const char *const paths[] = {
		"/usr/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/bin/gzip",
		"/usr/bin/none",
		"/usr/bin/gz",
		"/usr/share/doc/x",
	};
	struct fixture *fixture = *state;
	struct packages_found found;

	if (!fixture->pid)
		skip();
	assert_int_equal(find(fixture, paths, 5, &found), 0);
	assert_int_equal(found.manager, PACKAGES_UNKNOWN);
	make_directory(fixture, "var/lib/dpkg/info");
	// Packages have /lib where processes see /usr/lib.
	write_list(fixture, "libc6:amd64.list", "/.\n/lib/x86_64-linux-gnu/libc.so.6\n");
	write_list(fixture, "gzip.list", "/usr/bin/gzip\n/usr/share/doc/x");
	write_list(fixture, "gzip.md5sums", "/usr/bin/none\n");
	write_list(fixture, "../evil.list", "/usr/bin/none\n");
	write_list(fixture, "Evil.list", "/usr/bin/none\n");
	assert_int_equal(find(fixture, paths, 5, &found), 0);
	assert_int_equal(found.manager, PACKAGES_DPKG);
	assert_string_equal(found.names[0], "libc6");
	assert_string_equal(found.names[1], "gzip");
	assert_string_equal(found.names[2], "");
	assert_string_equal(found.names[3], "");
	assert_string_equal(found.names[4], "gzip");
}

static void of_rpm_only_that_it_is_there_is_known(void **state)
{
	static const char *const paths[] = { "/usr/bin/gzip" };
	struct fixture *fixture = *state;
	struct packages_found found;

	if (!fixture->pid)
		skip();
	make_directory(fixture, "usr/lib/sysimage/rpm");
	assert_int_equal(find(fixture, paths, 1, &found), 0);
	assert_int_equal(found.manager, PACKAGES_RPM);
	assert_string_equal(found.names[0], "");
}

/* What stands in a root was put there by anybody. */
static void what_is_no_list_is_left_alone(void **state)
{
	static const char *const paths[] = { "/usr/bin/gzip" };
	struct fixture *fixture = *state;
	struct packages_found found;
	char path[PATH_MAX], other[PATH_MAX];

	if (!fixture->pid)
		skip();
	make_directory(fixture, "var/lib/dpkg/info/directory.list");
	assert_int_equal(mkfifo(path_of(fixture, "fifo.list", path), 0600), 0);
	write_list(fixture, "text", "/usr/bin/gzip\n");
	assert_int_equal(symlink("text", path_of(fixture, "link.list", other)), 0);
	write_list(fixture, "huge.list", "/usr/bin/gzip\n");
	assert_int_equal(truncate(path_of(fixture, "huge.list", path), 5ll << 30), 0);
	assert_int_equal(find(fixture, paths, 1, &found), 0);
	assert_int_equal(found.manager, PACKAGES_DPKG);
	assert_string_equal(found.names[0], "");
	// In all, too, there is a bound.
	for (int i = 0; i < 80; i++) {
		char name[32];

		snprintf(name, sizeof(name), "large%d.list", i);
		write_list(fixture, name, "/usr/bin/other\n");
		assert_int_equal(truncate(path_of(fixture, name, path), 4 << 20), 0);
	}
	assert_int_equal(find(fixture, paths, 1, &found), -EFBIG);
}

static void names_are_those_of_packages(void **state)
{
	static const char *const wrong[] = { "a.list",    ".list",     "-ab.list",  "ab.lis",
					     "a b.list",  "ab:X.list", "ab\n.list", "ab:amd64",
					     "ab..listx", "" };
	char name[PACKAGES_NAME_BYTES], long_name[256];

	(void)state;
	assert_true(packages_name_of_list("libstdc++6:amd64.list", name));
	assert_string_equal(name, "libstdc++6");
	assert_true(packages_name_of_list("g++-12.2-x.list", name));
	assert_string_equal(name, "g++-12.2-x");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(packages_name_of_list(wrong[i], name));
	memset(long_name, 'a', sizeof(long_name));
	strcpy(long_name + 200, ".list");
	assert_false(packages_name_of_list(long_name, name));
}

static void lines_are_whole(void **state)
{
	static const char text[] = "/usr/bin/gzip.old\n/opt/usr/bin/gzip\n/bin/zcat";

	(void)state;
	assert_false(packages_list_has(text, sizeof(text) - 1, "/usr/bin/gzip"));
	assert_true(packages_list_has(text, sizeof(text) - 1, "/usr/bin/gzip.old"));
	assert_true(packages_list_has(text, sizeof(text) - 1, "/usr/bin/zcat"));
	assert_false(packages_list_has(text, sizeof(text) - 2, "/usr/bin/zcat"));
	assert_false(packages_list_has("", 0, "/usr/bin/gzip"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_package_has_a_file_in_its_list, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(of_rpm_only_that_it_is_there_is_known, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_no_list_is_left_alone, set_up, tear_down),
		cmocka_unit_test(names_are_those_of_packages),
		cmocka_unit_test(lines_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
