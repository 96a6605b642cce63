// SPDX-License-Identifier: Apache-2.0
/* Options whose value may be of any type, and lists of sections that may be texts. */
#include "config/decode.h"
#include "config/effective.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct group_config {
	const char *name;
	struct profcol_list words;
	struct profcol_any value;
};

struct any_config {
	struct profcol_sections groups;
};

static const char *const list_of_group[] = { "words", NULL };

static const struct profcol_option group_options[] = {
	PROFCOL_OPTION_STRING("name", struct group_config, name, NULL, "whose"),
	PROFCOL_OPTION_LIST("words", struct group_config, words, NULL, "what a text stands for"),
	PROFCOL_OPTION_ANY("value", struct group_config, value, "whatever"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option options[] = {
	PROFCOL_OPTION_SECTIONS_OR_TEXTS("groups", struct any_config, groups, struct group_config,
					 group_options, list_of_group, "groups, or words"),
	PROFCOL_OPTION_END,
};

/* Decode @yaml; the problems, or what is printed of the result, in @memory. */
static const char *decode_and_print(struct arena *memory, const char *yaml)
{
	struct problems problems;
	struct yaml_source source = { .memory = memory, .problems = &problems };
	const struct decoding decoding = { .memory = memory, .problems = &problems };
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct any_config config = { 0 };
	const struct yaml_node *body;

	problems_init(&problems, memory);
	problems_add_source(&problems, "test");
	body = yaml_parse(&source, &(struct yaml_text){ .bytes = yaml, .length = strlen(yaml) });
	assert_non_null(body);
	decode_options(&decoding, options, body, body->place, NULL, &config);
	error = problems_error(&problems);
	problems_deinit(&problems);
	return error ? arena_strdup(memory, profcol_error_message(error))
		     : effective_text(memory, options, &config);
}

static void expect(const char *yaml, const char *printed)
{
	CLEANUP_ARENA struct arena *memory = arena_create(0);
	const char *text;

	assert_non_null(memory);
	text = decode_and_print(memory, yaml);
	assert_string_equal(text, printed);
	// JSON is YAML: read back, it says the same.
	assert_string_equal(decode_and_print(memory, text), text);
}

static void expect_problem(const char *yaml, const char *problem)
{
	CLEANUP_ARENA struct arena *memory = arena_create(0);

	assert_non_null(memory);
	assert_string_equal(decode_and_print(memory, yaml), problem);
}

#define VALUE(text) "{\"groups\":[{\"name\":\"\",\"value\":" text ",\"words\":[]}]}"
#define WORDS(text) "{\"groups\":[{\"name\":\"\",\"value\":null,\"words\":[" text "]}]}"

static void values_keep_their_type(void **state)
{
	(void)state;
	expect("groups: [{value: text}]", VALUE("\"text\""));
	expect("groups: [{value: ''}]", VALUE("\"\""));
	expect("groups: [{value: '1'}]", VALUE("\"1\""));
	expect("groups: [{value: 1}]", VALUE("1"));
	expect("groups: [{value: -9223372036854775808}]", VALUE("-9223372036854775808"));
	expect("groups: [{value: 1.5}]", VALUE("1.5"));
	expect("groups: [{value: true}]", VALUE("true"));
	expect("groups: [{value: null}]", VALUE("null"));
	expect("groups: [{value: }]", VALUE("null"));
	expect("groups: [{}]", VALUE("null"));
	expect("groups: [{value: [a, 1, [true, null], {}]}]", VALUE("[\"a\",1,[true,null],{}]"));
	expect("groups: [{value: {b: 1, a: {c: []}}}]", VALUE("{\"b\":1,\"a\":{\"c\":[]}}"));
}

static void a_text_is_a_section_with_one_word(void **state)
{
	(void)state;
	expect("groups: [one]", WORDS("\"one\""));
	expect("groups: ['a, b']", WORDS("\"a, b\""));
	expect("groups: ['']", WORDS("\"\""));
	expect("groups: [{words: [a, b]}]", WORDS("\"a\",\"b\""));
	expect("groups: []", "{\"groups\":[]}");
	expect("groups: ", "{\"groups\":[]}");
}

static void texts_and_sections_do_not_mix(void **state)
{
	static const char text[] =
		"groups: configuring multiple configuration styles is not supported, please use "
		"only Basic configuration or only Advanced configuration: texts only, or maps "
		"with 'words' only";
	CLEANUP_FREE char *second = NULL, *third = NULL;

	(void)state;
	assert_true(asprintf(&second, "test:1:15: %s", text) > 0);
	assert_true(asprintf(&third, "test:1:18: %s", text) > 0);
	expect_problem("groups: [one, {words: [b]}]", second);
	expect_problem("groups: [{}, {}, one]", third);
}

static void other_items_are_refused(void **state)
{
	(void)state;
	expect_problem("groups: [1]", "test:1:10: groups::0: expected a map, got 'int'; write "
				      "'key: value' lines below it");
	expect_problem("groups: [{word: a}]",
		       "test:1:11: groups::0: has invalid keys: word; did you mean 'words'?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_keep_their_type),
		cmocka_unit_test(a_text_is_a_section_with_one_word),
		cmocka_unit_test(texts_and_sections_do_not_mix),
		cmocka_unit_test(other_items_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
