// SPDX-License-Identifier: Apache-2.0
/* Regular expressions: RE2's syntax and meaning, whatever PCRE2 would make of the same text. */
#include "ottl/ottl.h"

#include "base/base.h"

// cmocka wants these before itself.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <time.h>

static struct ottl_pattern *create(const char *text)
{
	struct ottl_pattern *pattern = NULL;
	struct profcol_error *error = ottl_pattern_create(text, strlen(text), &pattern);

	if (error)
		fail_msg("%s: %s", text, profcol_error_message(error));
	return pattern;
}

static enum ottl_result match(const char *text, const char *subject, size_t length)
{
	struct ottl_pattern *pattern = create(text);
	enum ottl_result result = ottl_pattern_match(pattern, subject, length, NULL);

	ottl_pattern_destroy(pattern);
	return result;
}

static void a_pattern_means_what_it_means_in_re2(void **state)
{
	static const struct {
		const char *pattern, *subject;
		bool matches;
	} cases[] = {
		{ "", "", true },
		{ "b", "abc", true },
		{ "^b", "abc", false },
		{ "a.c", "a\nc", false },
		{ "(?s)a.c", "a\nc", true },
		{ "(?s:a.)c", "a\nc", true },
		{ "a$", "a\n", false },
		{ "(?m)a$", "a\n", true },
		{ "(?m)^$", "a\n", true },
		{ "a\\z", "a\n", false },
		{ "\\Aa", "ba", false },
		{ "^*a", "ba", true },
		{ "\\b+a", "a", true },
		{ "(?i)ABC", "xabc", true },
		{ "(?i-s)A.", "a\n", false },
		{ "a{2}", "aa", true },
		{ "^a{2,3}$", "aaaa", false },
		{ "^a{,2}$", "a{,2}", true },
		{ "^a{$", "a{", true },
		{ "^{}$", "{}", true },
		{ "\\d", "\xd9\xa1", false }, // a digit, but not of ASCII
		{ "\\D", "\xc3\xa9", true },
		{ "\\W", "\xce\xbb", true },
		{ "\\w", "_", true },
		{ "\\s", "\v", false },
		{ "\\S", "\v", true },
		{ "[\\s]", "\v", false },
		{ "[^\\s]", "\v", true },
		{ "[\\S]", "\v", true },
		{ "[^\\S]", "\v", false },
		{ "\\v", "\n", false },
		{ "[]a]", "]", true },
		{ "[^]a]", "]", false },
		{ "[a-]", "-", true },
		{ "[-a]", "-", true },
		{ "[a-c-e]", "-", true },
		{ "[[:alpha:]_]", "_", true },
		{ "[[:^alpha:]]", "a", false },
		{ "[[a]", "[", true },
		{ "[[.a.]]", "a]", true },
		{ "[a&&b]", "&", true },
		{ "\\pL", "\xce\xbb", true },
		{ "\\p{Greek}", "\xce\xbb", true },
		{ "\\P{Greek}", "\xce\xbb", false },
		{ "\\p{^Greek}", "\xce\xbb", false },
		{ "[\\pN_]", "7", true },
		{ "\\x41\\x{42}\\103", "ABC", true },
		{ "\\x{1F600}", "\xf0\x9f\x98\x80", true },
		{ "\\Qa.b*\\E+", "a.b**", true },
		{ "\\Q[", "[", true },
		{ "\\.\\-\\_\\/", ".-_/", true },
		{ "a#b c", "a#b c", true },
		{ "(?P<x>a)(?<y>b)(?:c)", "abc", true },
		{ "(?P<n>a)|(?P<n>b)", "b", true },
		{ "a*?b", "aab", true },
		{ "(?U)a+b", "aab", true },
		{ "(|a)+b", "ab", true },
		{ "(a*)*$", "aaab", true },
		{ "^..$", "\xc3\xa9\xc3\xa9", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum ottl_result result =
			match(cases[i].pattern, cases[i].subject, strlen(cases[i].subject));

		if (result != (cases[i].matches ? OTTL_TRUE : OTTL_FALSE))
			fail_msg("%s on '%s': %d", cases[i].pattern, cases[i].subject, result);
	}
	// A NUL is a character, and what is no UTF-8 takes as many as it has bytes.
	assert_int_equal(match("^a.b$", "a\0b", 3), OTTL_TRUE);
	assert_int_equal(match("^a..b$",
			       "a\xff\xfe"
			       "b",
			       4),
			 OTTL_TRUE);
	assert_int_equal(match("^$", NULL, 0), OTTL_TRUE);
}

static void what_re2_lacks_is_refused(void **state)
{
	static const char *const patterns[][2] = {
		{ "(a)\\1", "invalid escape sequence: `\\1` at offset 3" },
		{ "(?P<n>a)(?P=n)", "invalid or unsupported Perl syntax: `(?P` at offset 8" },
		{ "(?P<n>a)\\k<n>", "invalid escape sequence: `\\k` at offset 8" },
		{ "\\g{1}", "invalid escape sequence: `\\g` at offset 0" },
		{ "a(?=b)", "invalid or unsupported Perl syntax: `(?=` at offset 1" },
		{ "a(?!b)", "invalid or unsupported Perl syntax: `(?!` at offset 1" },
		{ "(?<=a)b", "invalid or unsupported Perl syntax: `(?<` at offset 0" },
		{ "(?<!a)b", "invalid or unsupported Perl syntax: `(?<` at offset 0" },
		{ "(?>a)", "invalid or unsupported Perl syntax: `(?>` at offset 0" },
		{ "(?|a)", "invalid or unsupported Perl syntax: `(?|` at offset 0" },
		{ "(?R)", "invalid or unsupported Perl syntax: `(?R` at offset 0" },
		{ "(?1)", "invalid or unsupported Perl syntax: `(?1` at offset 0" },
		{ "(?&n)", "invalid or unsupported Perl syntax: `(?&` at offset 0" },
		{ "(?C1)", "invalid or unsupported Perl syntax: `(?C` at offset 0" },
		{ "(?#a)", "invalid or unsupported Perl syntax: `(?#` at offset 0" },
		{ "(?x)a", "invalid or unsupported Perl syntax: `(?x` at offset 0" },
		{ "(?^)a", "invalid or unsupported Perl syntax: `(?^` at offset 0" },
		{ "(?i-)a", "invalid or unsupported Perl syntax: `(?i-)` at offset 0" },
		{ "(*UTF)a", "missing argument to repetition operator: `*` at offset 1" },
		{ "a++", "invalid nested repetition operator: `++` at offset 1" },
		{ "a*+", "invalid nested repetition operator: `*+` at offset 1" },
		{ "a{2}{3}", "invalid nested repetition operator: `{2}{3}` at offset 1" },
		{ "a{1001}", "invalid repeat count: `{1001}` at offset 1" },
		{ "a{3,2}", "invalid repeat count: `{3,2}` at offset 1" },
		{ "*a", "missing argument to repetition operator: `*` at offset 0" },
		{ "a|{2}", "missing argument to repetition operator: `{2}` at offset 2" },
		{ "\\C", "invalid escape sequence: `\\C` at offset 0" },
		{ "\\Z", "invalid escape sequence: `\\Z` at offset 0" },
		{ "\\G", "invalid escape sequence: `\\G` at offset 0" },
		{ "\\K", "invalid escape sequence: `\\K` at offset 0" },
		{ "\\R", "invalid escape sequence: `\\R` at offset 0" },
		{ "\\X", "invalid escape sequence: `\\X` at offset 0" },
		{ "\\N", "invalid escape sequence: `\\N` at offset 0" },
		{ "\\h", "invalid escape sequence: `\\h` at offset 0" },
		{ "\\e", "invalid escape sequence: `\\e` at offset 0" },
		{ "\\cA", "invalid escape sequence: `\\c` at offset 0" },
		{ "\\xz", "invalid escape sequence: `\\x` at offset 0" },
		{ "\\x{110000}", "invalid escape sequence: `\\x{110000` at offset 0" },
		{ "\\\xc3\xa9", "invalid escape sequence: `\\\xc3\xa9` at offset 0" },
		{ "a\\", "trailing backslash at end of expression: `\\` at offset 1" },
		{ "[a", "missing closing ]: `[a` at offset 0" },
		{ "[]", "missing closing ]: `[]` at offset 0" },
		{ "[\\b]", "invalid escape sequence: `\\b` at offset 1" },
		{ "[b-a]", "invalid character class range: `b-a` at offset 1" },
		{ "[a-\\d]", "invalid escape sequence: `\\d` at offset 3" },
		{ "[[:foo:]]", "invalid character class range: `[:foo:]` at offset 1" },
		{ "\\p{", "invalid character class range: `\\p{` at offset 0" },
		{ "(a", "missing closing ): `(a` at offset 0" },
		{ "a)", "unexpected ): `)` at offset 1" },
		{ "(?P<>a)", "invalid named capture: `(?P<` at offset 0" },
		{ "\xff", "invalid UTF-8" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		struct ottl_pattern *pattern = NULL;
		struct profcol_error *error =
			ottl_pattern_create(patterns[i][0], strlen(patterns[i][0]), &pattern);

		if (!error)
			fail_msg("%s is taken", patterns[i][0]);
		assert_int_equal(profcol_error_code(error), PROFCOL_CONFIG);
		assert_null(pattern);
		if (!strstr(profcol_error_message(error), patterns[i][1]))
			fail_msg("%s: %s", patterns[i][0], profcol_error_message(error));
		profcol_error_destroy(error);
	}
}

static void what_pcre2_alone_refuses_is_an_error_too(void **state)
{
	static const char *const patterns[] = { "\\p{Klingon}", "((a{100}b){100}){100}",
						"\\x{d800}" };

	(void)state;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		struct ottl_pattern *pattern = NULL;
		struct profcol_error *error =
			ottl_pattern_create(patterns[i], strlen(patterns[i]), &pattern);

		assert_non_null(error);
		assert_non_null(strstr(profcol_error_message(error), "error parsing regexp: "));
		profcol_error_destroy(error);
	}
}

static void exponential_time_ends_at_the_limit(void **state)
{
	static const char *const patterns[] = {
		"(a+)+$", "(a|aa)+$", "(a|a?)+$", "(.*a){20}$", "(([a-z])+.)+[A-Z]([a-z])+$",
	};
	char letters[64];

	(void)state;
	memset(letters, 'a', sizeof(letters));
	letters[sizeof(letters) - 1] = '!';
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (match(patterns[i], letters, sizeof(letters)) != OTTL_ERROR)
			fail_msg("%s is no error", patterns[i]);
}

static void long_texts_of_usual_patterns_are_no_error(void **state)
{
	enum { LENGTH = 64 << 10 };
	CLEANUP_FREE char *letters = malloc(LENGTH);

	(void)state;
	assert_non_null(letters);
	memset(letters, 'a', LENGTH);
	assert_int_equal(match("(a|b)*b", letters, LENGTH / 64), OTTL_FALSE);
	assert_int_equal(match("^(a|b)*$", letters, LENGTH / 4), OTTL_TRUE);
	assert_int_equal(match("^.*b$", letters, LENGTH), OTTL_FALSE);
	assert_int_equal(match("b$", letters, LENGTH), OTTL_FALSE);
	assert_int_equal(match("(?i)^[a-z]+$", letters, LENGTH), OTTL_TRUE);
}

static uint64_t thread_time_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* @unit, over and over, then @end: a text of @length bytes, the caller's to free. */
static char *repeat(const char *unit, size_t length, const char *end)
{
	size_t unit_length = strlen(unit), end_length = strlen(end);
	char *text = malloc(length + 1);

	assert_non_null(text);
	for (size_t i = 0; i < length; i++)
		text[i] = unit[i % unit_length];
	memcpy(text + length - end_length, end, end_length + 1);
	return text;
}

/* Each beginning alone is quick, all of them together are not: 64 Ki times 64 Ki letters. */
static void quadratic_time_ends_at_the_limit_too(void **state)
{
	static const struct {
		const char *pattern, *unit, *end;
	} cases[] = {
		{ "\\pL+\\pL+z", "a", "!z" },   { "\\pL+\\pL+[yz]", "a", "!" },
		{ "\\pL+[0-9]", "a", "!" },     { "a.*b.*c.*[yz]$", "abc", "!" },
		{ "\\w+::\\w+<", "ab", "::a" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP_FREE char *text = repeat(cases[i].unit, OTTL_MAX_STRING, cases[i].end);
		uint64_t begin = thread_time_ns(), end;
		enum ottl_result result = match(cases[i].pattern, text, OTTL_MAX_STRING);

		end = thread_time_ns();
		if (result == OTTL_TRUE || end - begin > 600000000)
			fail_msg("%s: %d after %llu ns", cases[i].pattern, result,
				 (unsigned long long)(end - begin));
	}
}

static void texts_have_a_bound(void **state)
{
	CLEANUP_FREE char *text = repeat("a", OTTL_MAX_STRING + 1, "");

	(void)state;
	assert_int_equal(match("a", text, OTTL_MAX_STRING), OTTL_TRUE);
	assert_int_equal(match("a", text, OTTL_MAX_STRING + 1), OTTL_ERROR);
}

static void usual_patterns_are_answered_for_long_names(void **state)
{
	enum { LENGTH = 4096 };
	CLEANUP_FREE char *path = repeat("/directory", LENGTH, "/libc.so");
	CLEANUP_FREE char *other = repeat("/directory", LENGTH, "/libc.o");
	CLEANUP_FREE char *letters = repeat("abcdefghij", LENGTH, "yz");
	CLEANUP_FREE char *name = repeat("a::b<int>", 2007, "Secre");

	(void)state;
	assert_int_equal(match("/.*/.*/.*\\.so$", path, LENGTH), OTTL_TRUE);
	assert_int_equal(match("/.*/.*/.*\\.so$", other, LENGTH), OTTL_FALSE);
	assert_int_equal(match("a.*b.*c.*z$", letters, LENGTH), OTTL_TRUE);
	assert_int_equal(match("^.*::.*::Secret$", name, 2007), OTTL_FALSE);
}

/* Long texts are matched a part at a time: found wherever it is, the first one of them. */
static void a_match_is_found_anywhere_in_a_long_text(void **state)
{
	static const size_t places[] = { 0, 2, 4, 14, 1022, 20000, 30002 };
	struct ottl_pattern *pattern = create("(?P<all>\\bx(?P<one>\xc3\xa9?)|zz$)");
	struct profcol_text groups[2];

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		CLEANUP_FREE char *text = repeat("\xc3\xa9", 30006, "  ");

		memcpy(text + places[i], " x\xc3\xa9", 4);
		assert_int_equal(ottl_pattern_extract(pattern, text, 30006, NULL, groups),
				 OTTL_TRUE);
		assert_ptr_equal(groups[0].bytes, text + places[i] + 1);
		assert_int_equal(groups[0].length, 3);
		assert_int_equal(groups[1].length, 2);
	}
	ottl_pattern_destroy(pattern);
}

/* What others have used up leaves enough for what is usual. */
static void a_spent_budget_leaves_each_text_a_little(void **state)
{
	struct ottl_budget budget = { .spent_ns = UINT64_MAX / 2 };
	struct ottl_pattern *pattern = create("^.*::.*<.*>::.*Secret$");
	CLEANUP_FREE char *hostile = repeat("::<>", 2007, "Secre");
	static const char name[] = "std::vector<std::pair<int, Secret>>::operator=::Secret";
	uint64_t begin;

	(void)state;
	assert_int_equal(ottl_pattern_match(pattern, hostile, 2007, &budget), OTTL_FALSE);
	ottl_pattern_destroy(pattern);
	pattern = create("^.*::.*<.*>::.*Secre[st]$");
	begin = thread_time_ns();
	assert_int_equal(ottl_pattern_match(pattern, hostile, 2007, &budget), OTTL_ERROR);
	assert_true(thread_time_ns() - begin < 20000000);
	assert_int_equal(ottl_pattern_match(pattern, name, strlen(name), &budget), OTTL_TRUE);
	assert_true(budget.spent_ns > UINT64_MAX / 2);
	ottl_pattern_destroy(pattern);
	// Nor does length alone make a text slow.
	pattern = create("Secret.*::$");
	assert_int_equal(ottl_pattern_match(pattern, hostile, 2007, &budget), OTTL_FALSE);
	ottl_pattern_destroy(pattern);
}

static void assert_group(struct profcol_text group, const char *text)
{
	if (!text) {
		assert_null(group.bytes);
		return;
	}
	assert_int_equal(group.length, strlen(text));
	assert_memory_equal(group.bytes, text, group.length);
}

static void groups_are_found_by_name(void **state)
{
	const char *subject = "GET /cart HTTP/1.1";
	struct ottl_pattern *pattern =
		create("^(?P<method>\\w+) (/)(?P<1st>\\w+)(\\?(?P<query>.*))? (?:HTTP)(?P<z>.)");
	struct profcol_text groups[4];

	(void)state;
	assert_int_equal(ottl_pattern_group_count(pattern), 4);
	assert_string_equal(ottl_pattern_group_name(pattern, 0), "method");
	assert_string_equal(ottl_pattern_group_name(pattern, 1), "1st");
	assert_string_equal(ottl_pattern_group_name(pattern, 2), "query");
	assert_string_equal(ottl_pattern_group_name(pattern, 3), "z");
	assert_int_equal(ottl_pattern_extract(pattern, subject, strlen(subject), NULL, groups),
			 OTTL_TRUE);
	assert_group(groups[0], "GET");
	assert_group(groups[1], "cart");
	assert_group(groups[2], NULL);
	assert_group(groups[3], "/");
	assert_int_equal(ottl_pattern_extract(pattern, "no", 2, NULL, groups), OTTL_FALSE);
	ottl_pattern_destroy(pattern);
}

static void groups_lie_in_the_text_that_was_given(void **state)
{
	static const char subject[] = "\xff"
				      "ab";
	struct ottl_pattern *pattern = create("(?P<a>a)|(?P<none>x)");
	struct profcol_text groups[2];

	(void)state;
	assert_int_equal(ottl_pattern_extract(pattern, subject, 3, NULL, groups), OTTL_TRUE);
	assert_ptr_equal(groups[0].bytes, subject + 1);
	assert_group(groups[1], NULL);
	ottl_pattern_destroy(pattern);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pattern_means_what_it_means_in_re2),
		cmocka_unit_test(what_re2_lacks_is_refused),
		cmocka_unit_test(what_pcre2_alone_refuses_is_an_error_too),
		cmocka_unit_test(exponential_time_ends_at_the_limit),
		cmocka_unit_test(long_texts_of_usual_patterns_are_no_error),
		cmocka_unit_test(quadratic_time_ends_at_the_limit_too),
		cmocka_unit_test(texts_have_a_bound),
		cmocka_unit_test(usual_patterns_are_answered_for_long_names),
		cmocka_unit_test(a_match_is_found_anywhere_in_a_long_text),
		cmocka_unit_test(a_spent_budget_leaves_each_text_a_little),
		cmocka_unit_test(groups_are_found_by_name),
		cmocka_unit_test(groups_lie_in_the_text_that_was_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
