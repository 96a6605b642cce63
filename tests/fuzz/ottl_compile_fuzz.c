// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as a condition in every context, and as a regular expression, which is then matched
 * with itself. An error names a place inside of the text.
 */
#include "ottl/ottl.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_place(const char *text, const char *message)
{
	unsigned int line, column, lines = 1;

	for (const char *at = text; *at; at++)
		lines += *at == '\n';
	check(sscanf(message, "%u:%u: ", &line, &column) == 2);
	check(line >= 1 && line <= lines);
	check(column >= 1 && column <= strlen(text) + 1);
}

static void compile(const char *text, struct profcol_error *error, struct ottl_condition *condition)
{
	check(!error == (condition != NULL));
	if (error) {
		check(profcol_error_code(error) == PROFCOL_CONFIG);
		check_place(text, profcol_error_message(error));
		profcol_error_destroy(error);
		return;
	}
	check(!strcmp(ottl_condition_text(condition), text));
	ottl_condition_destroy(condition);
}

static void fuzz_condition(const char *text)
{
	struct ottl_condition *condition = NULL;
	struct profcol_error *error;

	for (unsigned int context = OTTL_RESOURCE; context <= OTTL_SAMPLE; context++) {
		condition = NULL;
		error = ottl_compile((enum ottl_context)context, text, &condition);
		compile(text, error, condition);
	}
	condition = NULL;
	error = ottl_compile_inferred(text, &condition);
	compile(text, error, condition);
}

static void fuzz_pattern(const char *text, size_t length)
{
	struct ottl_pattern *pattern = NULL;
	struct profcol_error *error = ottl_pattern_create(text, length, &pattern);
	struct profcol_text *groups;
	size_t count;

	if (error) {
		check(profcol_error_code(error) == PROFCOL_CONFIG && !pattern);
		profcol_error_destroy(error);
		return;
	}
	count = ottl_pattern_group_count(pattern);
	groups = calloc(count + 1, sizeof(*groups));
	check(groups != NULL);
	if (ottl_pattern_extract(pattern, text, length, NULL, groups) == OTTL_TRUE) {
		check(ottl_pattern_match(pattern, text, length, NULL) != OTTL_FALSE);
		for (size_t i = 0; i < count; i++) {
			check(ottl_pattern_group_name(pattern, i)[0] != '\0');
			check(!groups[i].bytes ||
			      (groups[i].bytes >= text &&
			       groups[i].bytes + groups[i].length <= text + length));
		}
	}
	free(groups);
	ottl_pattern_destroy(pattern);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	CLEANUP_FREE char *text = malloc(length + 1);

	check(text != NULL);
	if (length)
		memcpy(text, bytes, length);
	text[length] = '\0';
	fuzz_pattern(text, length);
	fuzz_condition(text);
	return 0;
}
