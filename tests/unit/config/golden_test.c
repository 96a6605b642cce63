// SPDX-License-Identifier: Apache-2.0
/*
 * Broken configurations, each with the whole error a user gets to see:
 * tests/golden/config/CASE.yaml and CASE.err. GOLDEN_UPDATE=1 rewrites the latter. They are those
 * that tests/interop/verdicts has no case for.
 */
#include "sample_components.h"

#include "base/base.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define GOLDEN PROFCOL_SOURCE_DIR "/tests/golden/config"

enum { CASES_LEAST = 30, FILE_MAX = 1 << 20, PATH_SIZE = 4096 };

static int is_yaml(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && !strcmp(dot, ".yaml");
}

/* The error text of @name with the newline a file ends with; NULL when it loads. */
static char *load(const char *name)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	CLEANUP_FREE char *text = NULL;
	struct config *config = NULL;
	char path[PATH_SIZE];
	char *message;
	size_t length;

	snprintf(path, sizeof(path), GOLDEN "/%s", name);
	assert_int_equal(file_read(AT_FDCWD, path, FILE_MAX, &text, &length), 0);
	error = config_parse(name, text, length, &sample_components, &config);
	if (!error) {
		config_destroy(config);
		return NULL;
	}
	assert_null(config);
	assert_int_equal(profcol_error_code(error), PROFCOL_CONFIG);
	assert_true(asprintf(&message, "%s\n", profcol_error_message(error)) > 0);
	return message;
}

static void update(const char *path, const char *text)
{
	CLEANUP_FILE FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
}

static bool check_case(const char *name)
{
	CLEANUP_FREE char *got = load(name);
	CLEANUP_FREE char *expected = NULL;
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), GOLDEN "/%.*s.err", (int)(strlen(name) - strlen(".yaml")),
		 name);
	if (!got) {
		print_error("%s: loads, but is meant to be broken\n", name);
		return false;
	}
	if (getenv("GOLDEN_UPDATE"))
		update(path, got);
	if (file_read(AT_FDCWD, path, FILE_MAX, &expected, NULL)) {
		print_error("%s: cannot read %s\n", name, path);
		return false;
	}
	if (!strcmp(got, expected))
		return true;
	print_error("%s: expected\n%sgot\n%s", name, expected, got);
	return false;
}

/* One that is past every limit after few rounds. */
static const char *long_growing_text(void)
{
	static char text[100001];

	memset(text, 'x', sizeof(text) - 1);
	memcpy(text, "${env:GOLDEN_GROWING}", strlen("${env:GOLDEN_GROWING}"));
	return text;
}

static void broken_files_give_their_errors(void **state)
{
	struct dirent **names;
	int count, failed = 0;

	(void)state;
	setenv("GOLDEN_DEEP", "- ${env:GOLDEN_DEEP}", 1);
	setenv("GOLDEN_GROWING", long_growing_text(), 1);
	setenv("GOLDEN_WIDE", "- ${env:GOLDEN_WIDE}\n- ${env:GOLDEN_WIDE}", 1);
	setenv("GOLDEN_LATIN1", "caf\xe9", 1);
	unsetenv("GOLDEN_UNSET");
	count = scandir(GOLDEN, &names, is_yaml, alphasort);
	assert_true(count >= CASES_LEAST);
	for (int i = 0; i < count; i++) {
		failed += !check_case(names[i]->d_name);
		free(names[i]);
	}
	free(names);
	print_message("%d broken configurations, %d with another error than expected\n", count,
		      failed);
	assert_int_equal(failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(broken_files_give_their_errors) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
