// SPDX-License-Identifier: Apache-2.0
/* Any text as a value; its lines before "%%" are the values of E_0, E_1, ... that it may name. */
#include "config/emit.h"
#include "config/expand.h"

#include "base/base.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VARIABLES_MAX = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* Set the variables; what is left is the value. */
static char *set_variables(char *text)
{
	char *separator = strstr(text, "\n%%\n"), *line, name[8];

	for (unsigned int i = 0; i < VARIABLES_MAX; i++) {
		snprintf(name, sizeof(name), "E_%u", i);
		unsetenv(name);
	}
	if (!separator)
		return text;
	*separator = '\0';
	for (unsigned int i = 0; i < VARIABLES_MAX && (line = strsep(&text, "\n")); i++) {
		snprintf(name, sizeof(name), "E_%u", i);
		if (setenv(name, line, 1))
			abort();
	}
	return separator + strlen("\n%%\n");
}

static void print_tree(const struct yaml_node *root)
{
	char *text = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&text, &length);
	struct emitter emitter;

	if (!stream)
		abort();
	emitter_init(&emitter, EMIT_YAML, stream);
	emit_node(&emitter, root);
	fclose(stream);
	free(text);
}

static void expand(const char *text, struct arena *memory)
{
	struct problems problems;
	struct yaml_source source = { .memory = memory, .problems = &problems };
	struct retriever retriever = { .memory = memory };
	struct yaml_node root = { .text = text, .place = { .line = 1, .column = 1 } };
	struct profcol_error *error;

	problems_init(&problems, memory);
	expand_tree(&source, &retriever, &root);
	error = problems_error(&problems);
	// A value that is left as it was has to have said why.
	if (root.broken && !error)
		abort();
	if (!error)
		print_tree(&root);
	profcol_error_destroy(error);
	problems_deinit(&problems);
	retriever_deinit(&retriever);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	char *text = strndup((const char *)bytes, length);
	struct arena *memory = arena_create(64 << 20);

	// What comes from a file is valid UTF-8: the reader has seen to it.
	if (text && memory && strings_is_utf8(text, strlen(text)))
		expand(set_variables(text), memory);
	arena_destroy(memory);
	free(text);
	return 0;
}
