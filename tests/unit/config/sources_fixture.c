// SPDX-License-Identifier: Apache-2.0
#include "sources_fixture.h"

#include "base/base.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static char directory[64];

static size_t count_words(const char *const *words)
{
	size_t count = 0;

	while (words && words[count])
		count++;
	return count;
}

struct profcol_error *load_sources(const char *const *uris, const char *const *sets,
				   const char *const *gates, struct config **ret)
{
	const struct config_sources sources = {
		.uris = uris,
		.uri_count = count_words(uris),
		.sets = sets,
		.set_count = count_words(sets),
		.gates = gates,
		.gate_count = count_words(gates),
	};
	struct profcol_error *error;

	*ret = NULL;
	error = config_load(&sources, &sample_components, ret);
	assert_true(!error == !!*ret);
	return error;
}

struct config *must_load(const char *const *uris, const char *const *sets)
{
	struct config *config;
	struct profcol_error *error = load_sources(uris, sets, NULL, &config);

	if (error)
		fail_msg("%s", profcol_error_message(error));
	return config;
}

void must_refuse(const char *const *uris, const char *const *sets, const char *text)
{
	struct config *config;
	struct profcol_error *error = load_sources(uris, sets, NULL, &config);

	if (!error) {
		config_destroy(config);
		fail_msg("loads, instead of: %s", text);
	}
	assert_string_equal(profcol_error_message(error), text);
	assert_int_equal(profcol_error_code(error), PROFCOL_CONFIG);
	profcol_error_destroy(error);
}

void enter_directory(void)
{
	snprintf(directory, sizeof(directory), "/tmp/profcol-sources-XXXXXX");
	assert_non_null(mkdtemp(directory));
	assert_int_equal(chdir(directory), 0);
}

void leave_directory(void)
{
	DIR *stream = opendir(".");
	const struct dirent *entry;

	assert_non_null(stream);
	while ((entry = readdir(stream)))
		if (entry->d_name[0] != '.')
			assert_int_equal(unlink(entry->d_name), 0);
	closedir(stream);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(directory), 0);
}

void write_file(const char *name, const char *text)
{
	CLEANUP_FILE FILE *file = fopen(name, "w");

	assert_non_null(file);
	assert_non_null(text);
	assert_true(fputs(text, file) >= 0);
}
