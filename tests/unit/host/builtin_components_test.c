// SPDX-License-Identifier: Apache-2.0
/*
 * All components of ours, whether built in or built as plugins. Their READMEs, and the reference in
 * docs/, hold their option tables as the program describes them; run with UPDATE_README=1 to
 * rewrite them.
 */
#include "config/check.h"
#include "config/describe.h"
#include "plugins/note.h"
#include "plugins/object.h"
#include "registry.h"
#include "sending/sending.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static void their_option_tables_are_sound(void **state)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error =
		config_check_options(&builtin_components);

	(void)state;
	assert_true(builtin_components.count >= 3);
	if (error)
		fail_msg("%s", profcol_error_message(error));
}

/* What the host asks of a plugin before it runs. */
static void they_would_fit_as_plugins(void **state)
{
	const struct profcol_plugin_abi abi = PROFCOL_PLUGIN_ABI;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = note_check(&abi, object_build());

	(void)state;
	assert_null(error);
	for (size_t i = 0; i < builtin_components.count; i++) {
		assert_int_equal(builtin_components.components[i]->abi, abi.abi);
		assert_int_equal(builtin_components.components[i]->size, abi.component_size);
	}
}

/* Its README, from the top of the source tree: by kind and type, but for the one that has a better
 * name. */
static void readme_name(const struct profcol_component *component, char *name, size_t size)
{
	static const char *const folders[] = {
		[PROFCOL_RECEIVER] = "receiver",
		[PROFCOL_PROCESSOR] = "processors",
		[PROFCOL_EXPORTER] = "exporters",
		[PROFCOL_EXTENSION] = "extensions",
	};
	const char *folder = strcmp(component->type, "profiling") ? component->type : "ebpf";

	snprintf(name, size, "%s/%s/README.md", folders[component->kind], folder);
}

static char *describe(const struct profcol_component *component)
{
	CLEANUP_ARENA struct arena *memory = arena_create(0);
	const struct profcol_option *table;
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	assert_non_null(stream);
	assert_true(sending_compose(component, memory, &table, &size));
	describe_options(table, stream);
	fclose(stream);
	return text;
}

/* Put @table in place of the first table of @readme. */
static void rewrite_readme(const char *path, const char *readme, const char *table)
{
	const char *begin = strstr(readme, "\n## Options\n"), *end;
	FILE *file;

	assert_non_null(begin);
	begin = strstr(begin, "\n|");
	assert_non_null(begin);
	begin++;
	for (end = begin; *end == '|'; end++)
		end = strchrnul(end, '\n');
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "%.*s%s%s", (int)(begin - readme), readme, table, end);
	fclose(file);
}

static void their_readmes_hold_their_option_tables(void **state)
{
	(void)state;
	for (size_t i = 0; i < builtin_components.count; i++) {
		const struct profcol_component *component = builtin_components.components[i];
		CLEANUP_FREE char *table = describe(component);
		CLEANUP_FREE char *readme = NULL;
		char name[256], path[512];

		readme_name(component, name, sizeof(name));
		snprintf(path, sizeof(path), "%s/%s", PROFCOL_SOURCE_DIR, name);
		if (file_read(AT_FDCWD, path, 1 << 20, &readme, NULL))
			fail_msg("component '%s' has no %s", component->type, path);
		if (strstr(readme, table))
			continue;
		if (!getenv("UPDATE_README"))
			fail_msg("%s lacks this table (UPDATE_README=1 writes it):\n%s", path,
				 table);
		rewrite_readme(path, readme, table);
	}
}

static void print_reference_of(const struct profcol_component *component, FILE *to)
{
	CLEANUP_FREE char *table = describe(component);
	char name[256];

	readme_name(component, name, sizeof(name));
	fprintf(to, "\n### %s\n\n%s: [%s](../%s)", component->type, component->summary, name, name);
	for (size_t i = 0; component->aliases && component->aliases[i]; i++)
		fprintf(to, "%s`%s`", i ? ", " : "; also taken: ", component->aliases[i]);
	fprintf(to, "\n\n%s", table);
}

static char *print_reference(void)
{
	static const struct {
		enum profcol_kind kind;
		const char *title;
	} parts[] = {
		{ PROFCOL_RECEIVER, "Receivers" },
		{ PROFCOL_PROCESSOR, "Processors" },
		{ PROFCOL_EXPORTER, "Exporters" },
		{ PROFCOL_EXTENSION, "Extensions" },
	};
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	assert_non_null(stream);
	fputs("# Configuration reference\n\n"
	      "Every component with every option, as `profcol components` prints them: written "
	      "from "
	      "the same\n"
	      "tables, never by hand. How values are written, and the section `service`, is in\n"
	      "[configuration.md](configuration.md); a whole file with comments is\n"
	      "[pipeline.yaml.example](../pipeline.yaml.example).\n",
	      stream);
	for (size_t part = 0; part < sizeof(parts) / sizeof(parts[0]); part++) {
		fprintf(stream, "\n## %s\n", parts[part].title);
		for (size_t i = 0; i < builtin_components.count; i++)
			if (builtin_components.components[i]->kind == parts[part].kind)
				print_reference_of(builtin_components.components[i], stream);
	}
	fclose(stream);
	return text;
}

static void the_reference_holds_all_of_them(void **state)
{
	static const char path[] = PROFCOL_SOURCE_DIR "/docs/configuration-reference.md";
	CLEANUP_FREE char *wanted = print_reference();
	CLEANUP_FREE char *found = NULL;
	FILE *file;

	(void)state;
	if (!file_read(AT_FDCWD, path, 1 << 20, &found, NULL) && !strcmp(found, wanted))
		return;
	if (!getenv("UPDATE_README"))
		fail_msg("%s is not what the components say (UPDATE_README=1 writes it)", path);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(wanted, file);
	assert_int_equal(fclose(file), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(their_option_tables_are_sound),
		cmocka_unit_test(they_would_fit_as_plugins),
		cmocka_unit_test(their_readmes_hold_their_option_tables),
		cmocka_unit_test(the_reference_holds_all_of_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
