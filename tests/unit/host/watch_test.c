// SPDX-License-Identifier: Apache-2.0
/* Files that change in all the ways that editors, scripts and Kubernetes know. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/lifecycle/watch.h"

#include <profcol/options.h>

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* No more than the order of things needs: what comes too late is waited for. */
static const struct watch_pace pace = {
	.quiet_ns = 20 * PROFCOL_MILLISECOND,
	.patience_ns = 200 * PROFCOL_MILLISECOND,
	.blind_ns = 20 * PROFCOL_MILLISECOND,
};

static char directory[] = "/tmp/profcol-watch-XXXXXX";
static struct events events;
static struct watch *watch;

static void path_in(char to[PATH_MAX], const char *name)
{
	snprintf(to, PATH_MAX, "%s/%s", directory, name);
}

static void write_with(int flags, const char *name, const char *text)
{
	char path[PATH_MAX];
	int fd;

	path_in(path, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void write_file(const char *name, const char *text)
{
	write_with(O_TRUNC, name, text);
}

static void make_directory(const char *name)
{
	char path[PATH_MAX];

	path_in(path, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void make_link(const char *target, const char *name)
{
	char path[PATH_MAX];

	path_in(path, name);
	assert_int_equal(symlink(target, path), 0);
}

static void rename_file(const char *from, const char *to)
{
	char from_path[PATH_MAX], to_path[PATH_MAX];

	path_in(from_path, from);
	path_in(to_path, to);
	assert_int_equal(rename(from_path, to_path), 0);
}

static void begin(const char *name)
{
	char path[PATH_MAX];
	const char *paths[] = { path };
	struct profcol_error *error;

	path_in(path, name);
	events_init(&events);
	error = watch_create(&events, &pace, paths, 1, &watch);
	assert_null(error);
}

static void end(void)
{
	watch_destroy(watch);
	events_deinit(&events);
}

/* The event of a change is next. */
static void expect_change(void)
{
	struct event event = events_wait(&events);

	assert_int_equal(event.kind, EVENT_FILES_CHANGED);
}

static void touch(const char *name)
{
	char path[PATH_MAX];

	path_in(path, name);
	assert_int_equal(utimensat(AT_FDCWD, path, NULL, 0), 0);
}

/* The watch compares contents; it is touched again where its thread does not see the file yet. */
static void make_it_look(const char *name)
{
	uint64_t before = watch_comparisons(watch);

	for (int i = 0; watch_comparisons(watch) == before; i++) {
		if (i % 50 == 0)
			touch(name);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

/*
 * Nothing comes, although the watch has looked at the watched file @name: twice, since the second
 * look has begun when the first had ended, after all that was done before.
 */
static void expect_nothing(const char *name)
{
	make_it_look(name);
	make_it_look(name);
	pthread_mutex_lock(&events.lock);
	assert_false(events.pending[EVENT_FILES_CHANGED]);
	pthread_mutex_unlock(&events.lock);
}

static int fresh_directory(void **state)
{
	(void)state;
	strcpy(directory, "/tmp/profcol-watch-XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command);
}

static void a_file_written_in_place(void **state)
{
	(void)state;
	write_file("a.yaml", "one");
	begin("a.yaml");
	write_file("a.yaml", "two");
	expect_change();
	write_file("a.yaml", "three");
	expect_change();
	end();
}

static void a_file_put_in_its_place(void **state)
{
	(void)state;
	write_file("a.yaml", "one");
	begin("a.yaml");
	write_file(".a.yaml.new", "two");
	rename_file(".a.yaml.new", "a.yaml");
	expect_change();
	end();
}

static void a_touch_is_no_change(void **state)
{
	(void)state;
	write_file("a.yaml", "one");
	begin("a.yaml");
	touch("a.yaml");
	// Cut short it would be another content for a moment.
	write_with(0, "a.yaml", "one");
	write_file("b.yaml", "of somebody else");
	expect_nothing("a.yaml");
	write_file("a.yaml", "two");
	expect_change();
	end();
}

/* As the kubelet does it: a new directory, and one link that is replaced. */
static void a_configmap(void **state)
{
	(void)state;
	make_directory("..2026_1");
	write_file("..2026_1/pipeline.yaml", "one");
	make_link("..2026_1", "..data");
	make_link("..data/pipeline.yaml", "pipeline.yaml");
	begin("pipeline.yaml");
	for (int i = 2; i < 4; i++) {
		char name[32], file[64];

		snprintf(name, sizeof(name), "..2026_%d", i);
		snprintf(file, sizeof(file), "%s/pipeline.yaml", name);
		make_directory(name);
		write_file(file, name);
		make_link(name, "..data_tmp");
		rename_file("..data_tmp", "..data");
		expect_change();
	}
	end();
}

static void a_link_far_away(void **state)
{
	char target[PATH_MAX];

	(void)state;
	make_directory("etc");
	make_directory("store");
	make_directory("other");
	write_file("store/a.yaml", "one");
	write_file("other/a.yaml", "two");
	path_in(target, "current/a.yaml");
	make_link("store", "current");
	make_link(target, "etc/a.yaml");
	begin("etc/a.yaml");
	make_link("other", "next");
	rename_file("next", "current");
	expect_change();
	write_file("other/a.yaml", "three");
	expect_change();
	end();
}

static void a_file_that_goes_and_comes(void **state)
{
	char path[PATH_MAX];

	(void)state;
	write_file("a.yaml", "one");
	begin("a.yaml");
	path_in(path, "a.yaml");
	assert_int_equal(unlink(path), 0);
	expect_change();
	write_file("a.yaml", "two");
	expect_change();
	end();
}

static void a_directory_that_is_not_there_yet(void **state)
{
	(void)state;
	begin("later/a.yaml");
	make_directory("soon");
	write_file("soon/a.yaml", "one");
	rename_file("soon", "later");
	expect_change();
	end();
}

static void other_files_instead(void **state)
{
	char path[PATH_MAX];
	const char *paths[] = { path };

	(void)state;
	write_file("a.yaml", "one");
	write_file("b.yaml", "one");
	begin("a.yaml");
	path_in(path, "b.yaml");
	watch_set_files(watch, paths, 1);
	write_file("a.yaml", "two");
	expect_nothing("b.yaml");
	write_file("b.yaml", "two");
	expect_change();
	end();
}

/* Which need not be there; and a change of before the thread has looked for the first time. */
static void one_more_file(void **state)
{
	char path[PATH_MAX];

	(void)state;
	write_file("a.yaml", "one");
	begin("a.yaml");
	path_in(path, "b.yaml");
	watch_add_file(watch, path);
	write_file("b.yaml", "one");
	expect_change();
	watch_add_file(watch, path);
	write_file("a.yaml", "two");
	expect_change();
	path_in(path, "a.yaml");
	write_file("a.yaml", "three");
	watch_add_file(watch, path); // which it has: that is a change from before
	expect_change();
	end();
}

#define WATCHED(test) cmocka_unit_test_setup_teardown(test, fresh_directory, remove_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WATCHED(a_file_written_in_place),
		WATCHED(a_file_put_in_its_place),
		WATCHED(a_touch_is_no_change),
		WATCHED(a_configmap),
		WATCHED(a_link_far_away),
		WATCHED(a_file_that_goes_and_comes),
		WATCHED(a_directory_that_is_not_there_yet),
		WATCHED(other_files_instead),
		WATCHED(one_more_file),
	};

	alarm(300); // a change that is not noticed would be waited for for ever
	return cmocka_run_group_tests(tests, NULL, NULL);
}
