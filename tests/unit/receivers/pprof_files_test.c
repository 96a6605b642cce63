// SPDX-License-Identifier: Apache-2.0
/* Which files a pattern finds, which of them are remembered, and what URLs stand for. */
#include "glob.h"
#include "seen_file.h"
#include "target.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- patterns ---- */

struct tree {
	char directory[64];
	char found[1024]; /* paths in it, each behind a blank, in any order */
	unsigned int count, stop_after;
};

static void tree_make(const struct tree *tree, const char *path)
{
	CLEANUP_FREE char *whole = NULL;
	CLEANUP_FD int fd = -1;

	assert_true(asprintf(&whole, "%s/%s", tree->directory, path) > 0);
	for (char *slash = strchr(whole + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(whole, 0700);
		*slash = '/';
	}
	if (path[strlen(path) - 1] == '/')
		return;
	fd = open(whole, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
}

static void tree_init(struct tree *tree)
{
	*tree = (struct tree){ .directory = "/tmp/profcol-glob-XXXXXX" };
	assert_non_null(mkdtemp(tree->directory));
	tree_make(tree, "a.pb");
	tree_make(tree, "b.pb.gz");
	tree_make(tree, ".hidden.pb");
	tree_make(tree, "one/c.pb");
	tree_make(tree, "one/two/d.pb");
	tree_make(tree, "other/e.txt");
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status;
	(void)type;
	(void)place;
	return remove(path);
}

static void tree_deinit(struct tree *tree)
{
	assert_int_equal(nftw(tree->directory, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void note(void *context, const char *path)
{
	struct tree *tree = context;

	assert_int_equal(strncmp(path, tree->directory, strlen(tree->directory)), 0);
	strcat(tree->found, " ");
	strcat(tree->found, path + strlen(tree->directory) + 1);
	strcat(tree->found, " ");
	tree->count++;
}

static bool is_not_over(void *context)
{
	const struct tree *tree = context;

	return !tree->stop_after || tree->count < tree->stop_after;
}

static enum glob_end look(struct tree *tree, const char *pattern)
{
	const struct glob_visitor visitor = { note, is_not_over, tree };

	return glob_visit(pattern, &visitor);
}

/* @expected: paths with a blank between. */
static void assert_finds(struct tree *tree, const char *pattern, const char *expected)
{
	CLEANUP_FREE char *whole = NULL, *names = strdup(expected);
	unsigned int count = 0;

	tree->found[0] = '\0';
	tree->count = 0;
	assert_true(asprintf(&whole, "%s/%s", tree->directory, pattern) > 0);
	assert_int_equal(look(tree, whole), GLOB_DONE);
	for (char *name = strtok(names, " "); name; name = strtok(NULL, " "), count++) {
		CLEANUP_FREE char *part = NULL;

		assert_true(asprintf(&part, " %s ", name) > 0);
		if (!strstr(tree->found, part))
			fail_msg("%s does not find %s, but%s", pattern, name, tree->found);
	}
	if (tree->count != count)
		fail_msg("%s finds%s", pattern, tree->found);
}

static void a_pattern_finds_what_it_names(void **state)
{
	CLEANUP(tree_deinit) struct tree tree;

	(void)state;
	tree_init(&tree);
	assert_finds(&tree, "a.pb", "a.pb");
	assert_finds(&tree, "*.pb", "a.pb .hidden.pb");
	assert_finds(&tree, "[ab].pb*", "a.pb b.pb.gz");
	assert_finds(&tree, "?.pb", "a.pb");
	assert_finds(&tree, "*/*.pb", "one/c.pb");
	assert_finds(&tree, "o*/?.*", "one/c.pb other/e.txt");
	assert_finds(&tree, "**/*.pb", "a.pb .hidden.pb one/c.pb one/two/d.pb");
	assert_finds(&tree, "one/**/d.pb", "one/two/d.pb");
	assert_finds(&tree, "one//**", "one/c.pb one/two one/two/d.pb");
	assert_finds(&tree, "nowhere/*.pb", "");
}

static void links_are_followed_but_not_round_in_circles(void **state)
{
	CLEANUP(tree_deinit) struct tree tree;
	CLEANUP_FREE char *loop = NULL, *other = NULL;

	(void)state;
	tree_init(&tree);
	assert_true(asprintf(&loop, "%s/one/loop", tree.directory) > 0);
	assert_true(asprintf(&other, "%s/link", tree.directory) > 0);
	assert_int_equal(symlink("..", loop), 0);
	assert_int_equal(symlink("one", other), 0);
	assert_finds(&tree, "**/*.pb", "a.pb .hidden.pb one/c.pb one/two/d.pb");
	assert_finds(&tree, "link/*.pb", "link/c.pb");
}

static void a_look_can_be_stopped(void **state)
{
	CLEANUP(tree_deinit) struct tree tree;
	CLEANUP_FREE char *whole = NULL;

	(void)state;
	tree_init(&tree);
	tree.stop_after = 2;
	assert_true(asprintf(&whole, "%s/**/*", tree.directory) > 0);
	assert_int_equal(look(&tree, whole), GLOB_STOPPED);
	assert_int_equal(tree.count, 2);
}

static void what_cannot_be_reached_may_be_there(void **state)
{
	CLEANUP(tree_deinit) struct tree tree;
	CLEANUP_FREE char *loop = NULL, *pattern = NULL;

	(void)state;
	tree_init(&tree);
	assert_true(asprintf(&loop, "%s/loop", tree.directory) > 0);
	assert_true(asprintf(&pattern, "%s/loop/a.pb", tree.directory) > 0);
	assert_int_equal(symlink("loop", loop), 0);
	assert_int_equal(look(&tree, pattern), GLOB_INCOMPLETE);
	assert_int_equal(tree.count, 0);
	assert_finds(&tree, "a.pb/b", "");
}

static void braces_are_no_pattern(void **state)
{
	(void)state;
	assert_non_null(glob_fault("/tmp/{a,b}.pb"));
	assert_null(glob_fault("/tmp/**/[ab]*.pb"));
}

/* ---- memory ---- */

static struct stat status_of(uint64_t inode, int64_t bytes)
{
	return (struct stat){ .st_dev = 7, .st_ino = inode, .st_size = bytes };
}

static void a_file_is_known_until_it_changes_or_goes(void **state)
{
	CLEANUP(seen_deinit) struct seen seen;
	struct stat first = status_of(1, 10), grown = status_of(1, 11), second = status_of(2, 10);

	(void)state;
	assert_true(seen_init(&seen));
	seen_begin(&seen);
	assert_false(seen_find(&seen, &first));
	assert_true(seen_add(&seen, &first));
	assert_true(seen_add(&seen, &second));
	assert_true(seen_find(&seen, &first));
	assert_false(seen_find(&seen, &grown));
	seen_end(&seen);
	seen_begin(&seen);
	assert_true(seen_find(&seen, &second));
	seen_end(&seen);
	assert_int_equal(seen.count, 1);
	seen_begin(&seen);
	assert_false(seen_find(&seen, &first));
	assert_true(seen_find(&seen, &second));
	seen_end(&seen);
}

static void memory_is_bounded(void **state)
{
	CLEANUP(seen_deinit) struct seen seen;
	struct stat status;

	(void)state;
	assert_true(seen_init(&seen));
	seen_begin(&seen);
	for (uint64_t i = 0; i < SEEN_MOST; i++) {
		status = status_of(i, 1);
		assert_true(seen_add(&seen, &status));
	}
	status = status_of(SEEN_MOST, 1);
	assert_false(seen_add(&seen, &status));
	seen_end(&seen);
	seen_begin(&seen);
	seen_end(&seen);
	assert_int_equal(seen.count, 0);
	assert_true(seen_add(&seen, &status));
}

static void the_next_start_knows_what_has_been_read(void **state)
{
	CLEANUP(tree_deinit) struct tree tree;
	CLEANUP(seen_deinit) struct seen seen, again, other;
	CLEANUP(seen_file_deinit) struct seen_file file, of_other;
	struct stat first = status_of(1, 10), second = status_of(UINT64_MAX, INT64_MAX);

	(void)state;
	tree_init(&tree);
	first.st_mtim = (struct timespec){ .tv_sec = 1, .tv_nsec = 2 };
	assert_true(seen_init(&seen) && seen_init(&again) && seen_init(&other));
	assert_null(seen_file_init(&file, tree.directory, "pprof/a b"));
	assert_null(seen_file_init(&of_other, tree.directory, "pprof"));
	assert_null(seen_file_load(&file, &seen));
	seen_begin(&seen);
	assert_true(seen_add(&seen, &first) && seen_add(&seen, &second));
	assert_null(seen_file_save(&file, &seen));
	assert_null(seen_file_save(&file, &seen));
	assert_null(seen_file_load(&file, &again));
	assert_int_equal(again.count, 2);
	assert_true(seen_find(&again, &first) && seen_find(&again, &second));
	assert_null(seen_file_load(&of_other, &other));
	assert_int_equal(other.count, 0);
}

static void assert_damaged(const struct tree *tree, const char *text)
{
	CLEANUP(seen_deinit) struct seen seen;
	CLEANUP(seen_file_deinit) struct seen_file file;
	CLEANUP_FREE char *path = NULL;
	struct profcol_error *error;
	FILE *stream;

	assert_true(asprintf(&path, "%s/pprof.seen", tree->directory) > 0);
	stream = fopen(path, "w");
	assert_non_null(stream);
	fputs(text, stream);
	assert_int_equal(fclose(stream), 0);
	assert_true(seen_init(&seen));
	assert_null(seen_file_init(&file, tree->directory, "pprof"));
	error = seen_file_load(&file, &seen);
	if (!error)
		fail_msg("'%s' is taken", text);
	profcol_error_destroy(error);
}

static void what_is_damaged_is_no_knowledge(void **state)
{
	CLEANUP(tree_deinit) struct tree tree;

	(void)state;
	tree_init(&tree);
	assert_damaged(&tree, "");
	assert_damaged(&tree, "1 2 3 4\n");
	assert_damaged(&tree, "profcol pprof files 1\n1 2 3\n");
	assert_damaged(&tree, "profcol pprof files 1\n1 2 3 4");
	assert_damaged(&tree, "profcol pprof files 1\n1 2 3 -4\n");
	assert_damaged(&tree, "profcol pprof files 1\n1 2 18446744073709551616 4\n");
	assert_damaged(&tree, "profcol pprof files 1\n1 2 18446744073709551615 4\n");
}

/* ---- URLs ---- */

static void assert_target(const struct pprof_remote_config *config, size_t index, const char *url,
			  const char *name, const char *address, const char *port)
{
	CLEANUP(target_deinit) struct target target;

	assert_true(target_init(&target, config, index));
	assert_string_equal(target.url, url);
	assert_string_equal(target.name, name);
	assert_string_equal(target.address, address);
	assert_string_equal(target.port, port);
}

static void urls_are_asked_for_as_they_are(void **state)
{
	const char *more[] = { "https://[::1]/x/mutex?debug=0", "http://h", "http://h:1?a=/b" };
	const struct pprof_remote_config config = {
		.http.endpoint = "http://shop:6060/debug/pprof/heap",
		.endpoints = { more, 3 },
	};

	(void)state;
	assert_int_equal(target_count(&config), 4);
	assert_target(&config, 0, config.http.endpoint, "heap", "shop", "6060");
	assert_target(&config, 1, more[0], "mutex", "::1", "443");
	assert_target(&config, 2, more[1], "", "h", "80");
	assert_target(&config, 3, more[2], "", "h", "1");
}

static void servers_are_asked_for_each_profile(void **state)
{
	const char *servers[] = { "http://a:1", "http://b:2/debug/pprof/" };
	const char *names[] = { "heap", "profile" };
	const struct pprof_remote_config config = {
		.http.endpoint = "",
		.endpoints = { servers, 2 },
		.profiles = { names, 2 },
		.duration_ns = 5 * PROFCOL_SECOND,
	};

	(void)state;
	assert_int_equal(target_count(&config), 4);
	assert_target(&config, 0, "http://a:1/debug/pprof/heap", "heap", "a", "1");
	assert_target(&config, 1, "http://a:1/debug/pprof/profile?seconds=5", "profile", "a", "1");
	assert_target(&config, 2, "http://b:2/debug/pprof/heap", "heap", "b", "2");
	assert_target(&config, 3, "http://b:2/debug/pprof/profile?seconds=5", "profile", "b", "2");
}

static void assert_path(const char *url, const char *path)
{
	const struct pprof_remote_config config = { .http.endpoint = url };
	CLEANUP(target_deinit) struct target target;

	assert_true(target_init(&target, &config, 0));
	assert_string_equal(target.path, path);
}

static void servers_behind_one_gateway_are_told_apart(void **state)
{
	(void)state;
	assert_path("http://gw/app1/debug/pprof/heap?debug=0", "/app1");
	assert_path("http://gw/app2/heap", "/app2");
	assert_path("http://a/debug/pprof/heap", "");
	assert_path("http://a/debug/pprof/?x=/b/c", "");
	assert_path("http://a/heap", "");
	assert_path("http://a", "");
}

static void assert_duration(const char *url, uint64_t seconds)
{
	const struct pprof_remote_config config = { .http.endpoint = url };
	CLEANUP(target_deinit) struct target target;

	assert_true(target_init(&target, &config, 0));
	assert_int_equal(target.duration_ns / PROFCOL_SECOND, seconds);
}

static void a_server_that_samples_is_waited_for(void **state)
{
	(void)state;
	assert_duration("http://a/debug/pprof/heap", 0);
	assert_duration("http://a/debug/pprof/heap?seconds=120", 120);
	assert_duration("http://a/debug/pprof/profile", 30);
	assert_duration("http://a/debug/pprof/profile?x=1&seconds=5", 5);
	assert_duration("http://a/?seconds=99999999999999999999", 3600);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pattern_finds_what_it_names),
		cmocka_unit_test(links_are_followed_but_not_round_in_circles),
		cmocka_unit_test(a_look_can_be_stopped),
		cmocka_unit_test(what_cannot_be_reached_may_be_there),
		cmocka_unit_test(braces_are_no_pattern),
		cmocka_unit_test(a_file_is_known_until_it_changes_or_goes),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(the_next_start_knows_what_has_been_read),
		cmocka_unit_test(what_is_damaged_is_no_knowledge),
		cmocka_unit_test(urls_are_asked_for_as_they_are),
		cmocka_unit_test(servers_are_asked_for_each_profile),
		cmocka_unit_test(servers_behind_one_gateway_are_told_apart),
		cmocka_unit_test(a_server_that_samples_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
