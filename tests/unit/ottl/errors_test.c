// SPDX-License-Identifier: Apache-2.0
/* What is said of conditions that cannot be compiled, and where. */
#include "ottl/ottl.h"

#include "base/base.h"

// cmocka wants these before itself.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define R OTTL_RESOURCE
#define P OTTL_PROFILE
#define S OTTL_SAMPLE

static const struct expectation {
	enum ottl_context context;
	const char *text, *message;
} expectations[] = {
	{ R, "", "1:1: unexpected token \"<EOF>\" (expected a value or a condition)" },
	{ R, "attributes[\"x\"]",
	  "1:16: unexpected token \"<EOF>\" (expected a comparison: ==, !=, <, <=, > or >=)" },
	{ R, "attributes[\"x\"] ==",
	  "1:19: unexpected token \"<EOF>\" (expected a value or a condition)" },
	{ R, "attributes[\"x\"] = \"a\"",
	  "1:17: unexpected token \"=\" (expected a comparison: ==, !=, <, <=, > or >=)" },
	{ R, "attributes[\"x\"] == \"a\" and",
	  "1:27: unexpected token \"<EOF>\" (expected a value or a condition)" },
	{ R, "attributes[\"x\"] == \"a\" \"b\"",
	  "1:24: unexpected token \"\"b\"\" (expected \"and\", \"or\" or the end)" },
	{ R, "== 1", "1:1: unexpected token \"==\" (expected a value or a condition)" },
	{ R, "\"a\"",
	  "1:4: unexpected token \"<EOF>\" (expected a comparison: ==, !=, <, <=, > or >=)" },
	{ R, "(\"a\") == \"a\"",
	  "1:5: unexpected token \")\" (expected a comparison: ==, !=, <, <=, > or >=)" },
	{ R, "(true) == true",
	  "1:8: unexpected token \"==\" (expected \"and\", \"or\" or the end)" },
	{ R, "(1 == 1) == 1",
	  "1:10: unexpected token \"==\" (expected \"and\", \"or\" or the end)" },
	{ R, "1 == (1 == 1)", "1:6: unexpected token \"(\" (expected a value to compare with)" },
	{ R, "08 == 8",
	  "1:1: number 08 begins with 0, so its digits are octal: 8 and 9 are none; write it "
	  "without 0 in front" },
	{ R, "1 == 1 == 1", "1:8: unexpected token \"==\" (expected \"and\", \"or\" or the end)" },
	{ R, "(1 == 1) + 1 == 2",
	  "1:10: unexpected token \"+\" (expected a comparison, or the end)" },
	{ R, "1 + \"a\" == 1", "1:5: unexpected token \"\"a\"\" (expected a number)" },
	{ R, "\"a\" + 1 == 1", "1:5: unexpected token \"+\" (expected a comparison, or the end)" },
	{ R, "--1 == 1", "1:2: unexpected token \"-\" (expected a value or a condition)" },
	{ R, "not not true", "1:5: unexpected token \"not\" (expected a value or a condition)" },
	{ R, "true and or false",
	  "1:10: unexpected token \"or\" (expected a value or a condition)" },
	{ R, "(true", "1:6: unexpected token \"<EOF>\" (expected \")\")" },
	{ R, "true)", "1:5: unexpected token \")\" (expected \"and\", \"or\" or the end)" },
	{ R, "attributes[\"x\" == 1", "1:16: unexpected token \"==\" (expected \"]\")" },
	{ R, "attributes[] == 1",
	  "1:12: unexpected token \"]\" (expected a value or a condition)" },
	{ R, "attributes[nil] == 1",
	  "1:12: unexpected token \"nil\" (expected a key: a string, a number or a path)" },
	{ R, "attributes[\"x\"]. == 1",
	  "1:18: unexpected token \"==\" (expected the next name of the path)" },
	{ R, "attributes.\"x\" == 1",
	  "1:12: unexpected token \"\"x\"\" (expected the next name of the path)" },
	{ R, "[1, == 1", "1:5: unexpected token \"==\" (expected a value or a condition)" },
	{ R, "[1 2] == 1", "1:4: unexpected token \"2\" (expected \",\" or \"]\")" },
	{ R, "{\"a\" 1} == 1", "1:6: unexpected token \"1\" (expected \":\" and a value)" },
	{ R, "{a: 1} == 1",
	  "1:2: unexpected token \"a\" (expected a key in double quotes or \"}\")" },
	{ R, "{\"a\": 1, \"a\": 2} == 1", "1:10: the map has this key already" },
	{ R, "\"abc", "1:1: the string does not end; close it with \"" },
	{ R, "'a' == 'b'", "1:1: invalid input text \"'\"; strings are written in double quotes" },
	{ R, "\"\\d\" == \"a\"",
	  "1:2: invalid escape in the string \"\\d\": a backslash is written \\\\" },
	{ R, "\"a\" == \"ab\\q\"",
	  "1:11: invalid escape in the string \"ab\\q\": a backslash is written \\\\" },
	{ R, "\"é\" == $x", "1:8: invalid input text \"$\"" },
	{ R, "0x1 == 0x01", "1:1: bytes have two digits each; there is an odd number of them" },
	{ R, "9223372036854775808 == 1", "1:1: number 9223372036854775808 is out of range" },
	{ R, "attributs[\"x\"] == 1",
	  "1:1: segment \"attributs\" from path \"attributs\" is not a valid path nor a valid OTTL "
	  "keyword for the resource context; did you mean \"attributes\"?" },
	{ R, "resource.attribute[\"x\"] == 1",
	  "1:1: segment \"attribute\" from path \"resource.attribute\" is not a valid path nor a "
	  "valid OTTL keyword for the resource context; did you mean \"attributes\"?" },
	{ R, "foo == 1",
	  "1:1: segment \"foo\" from path \"foo\" is not a valid path nor a valid OTTL keyword for "
	  "the resource context; it has: attributes, dropped_attributes_count, schema_url" },
	{ R, "resource == 1",
	  "1:1: segment \"resource\" from path \"resource\" is not a valid path nor a valid OTTL "
	  "keyword for the resource context; it has: attributes, dropped_attributes_count, "
	  "schema_url" },
	{ R, "profile.period == 1",
	  "1:1: context \"profile\" from path \"profile.period\" is not valid: conditions of the "
	  "resource context cannot use it, those of the profile context can" },
	{ R, "scope.name == \"\"",
	  "1:1: context \"scope\" from path \"scope.name\" is not valid: conditions of the "
	  "resource context cannot use it, those of the scope context can" },
	{ P, "sample.values == nil",
	  "1:1: context \"sample\" from path \"sample.values\" is not valid: conditions of the "
	  "profile context cannot use it, those of the profilesample context can" },
	{ P, "frame.function == \"x\"",
	  "1:1: context \"frame\" from path \"frame.function\" is not valid: conditions of the "
	  "profile context cannot use it, those of the profilesample context can" },
	{ P, "sample_type.typ == \"\"",
	  "1:1: segment \"sample_type\" from path \"sample_type.typ\" is not a valid path nor a "
	  "valid OTTL keyword for the profile context; did you mean \"sample_type.type\"?" },
	{ P, "sample_type.foo == \"\"",
	  "1:1: segment \"sample_type\" from path \"sample_type.foo\" is not a valid path nor a "
	  "valid OTTL keyword for the profile context; did you mean \"sample_type\"?" },
	{ P, "period.x == 1",
	  "1:1: the path section \"x\" was not used by the context - this likely means you are "
	  "using extra path sections" },
	{ P, "period[\"x\"] == 1",
	  "1:1: the keys indexing \"period\" were not used by the context - this likely means you "
	  "are trying to index a path that does not support indexing" },
	{ P, "profile_id.strin == \"\"",
	  "1:1: segment \"profile_id\" from path \"profile_id.strin\" is not a valid path nor a "
	  "valid OTTL keyword for the profile context; did you mean \"profile_id.string\"?" },
	{ P, "profile.peroid == 1",
	  "1:1: segment \"peroid\" from path \"profile.peroid\" is not a valid path nor a valid "
	  "OTTL keyword for the profile context; did you mean \"period\"?" },
	{ S, "values[0] == 1",
	  "1:1: the keys indexing \"values\" were not used by the context - this likely means you "
	  "are trying to index a path that does not support indexing" },
	{ S, "frame.func == \"\"",
	  "1:1: segment \"func\" from path \"frame.func\" is not a valid path nor a valid OTTL "
	  "keyword for the frame context; it has: function, file, type" },
	{ S, "frame.name == \"\"",
	  "1:1: segment \"name\" from path \"frame.name\" is not a valid path nor a valid OTTL "
	  "keyword for the frame context; it has: function, file, type" },
	{ S, "stack.dept == 1",
	  "1:1: segment \"dept\" from path \"stack.dept\" is not a valid path nor a valid OTTL "
	  "keyword for the stack context; did you mean \"depth\"?" },
	{ S, "mapping.file == \"\"",
	  "1:1: segment \"file\" from path \"mapping.file\" is not a valid path nor a valid OTTL "
	  "keyword for the mapping context; it has: filename" },
	{ S, "resource.cache[\"a\"] == nil",
	  "1:1: access to cache must be performed using the same context, please replace "
	  "\"resource.cache\" with \"profilesample.cache\"" },
	{ S, "otelcol.client == nil",
	  "1:1: context \"otelcol\" is not available: a batch does not know the request it came "
	  "with" },
	{ S, "attributes[0] == nil",
	  "1:12: attributes are indexed by their keys, which are strings" },
	{ S, "attributes[\"x\"].y == 1",
	  "1:1: the path section \"y\" was not used by the context - this likely means you are "
	  "using extra path sections" },
	{ R, "isMatch(\"a\", \"b\")",
	  "1:1: converter names must start with an uppercase letter but got 'isMatch'; did you "
	  "mean \"IsMatch\"?" },
	{ R, "ismatch(\"a\", \"b\")",
	  "1:1: converter names must start with an uppercase letter but got 'ismatch'; did you "
	  "mean \"IsMatch\"?" },
	{ R, "IsMach(\"a\", \"b\")",
	  "1:1: undefined function \"IsMach\"; did you mean \"IsMatch\"?" },
	{ R, "UserAgent(\"a\") == \"a\"",
	  "1:1: undefined function \"UserAgent\"; there are: Bool, Coalesce, Concat, "
	  "ContainsValue, "
	  "ConvertCase, Double, ExtractPatterns, FNV, HasPrefix, HasSuffix, Hex, Index, Int, "
	  "IsBool, "
	  "IsDouble, IsEmpty, IsInt, IsList, IsMap, IsMatch, IsString, Keys, Len, MD5, SHA1, "
	  "SHA256, "
	  "SHA512, Split, String, Substring, ToLowerCase, ToUpperCase, Trim, TrimPrefix, "
	  "TrimSuffix" },
	{ R, "IsMatch(\"a\")",
	  "1:1: error while parsing arguments for call to \"IsMatch\": incorrect number of "
	  "arguments. Expected: 2 Received: 1" },
	{ R, "IsMatch(\"a\", \"b\", \"c\")",
	  "1:1: error while parsing arguments for call to \"IsMatch\": incorrect number of "
	  "arguments. Expected: 2 Received: 3" },
	{ R, "IsMatch(\"a\", 1)",
	  "1:14: error while parsing arguments for call to \"IsMatch\": invalid argument at "
	  "position 1: expected string but got int64" },
	{ R, "IsMatch(target=\"a\", \"b\")",
	  "1:21: error while parsing arguments for call to \"IsMatch\": unnamed argument used "
	  "after named argument" },
	{ R, "IsMatch(targt=\"a\", pattern=\"b\")",
	  "1:15: error while parsing arguments for call to \"IsMatch\": no such parameter: targt; "
	  "did you mean \"target\"?" },
	{ R, "IsMatch(\"a\", target=\"b\")",
	  "1:21: error while parsing arguments for call to \"IsMatch\": \"target\" is given "
	  "twice" },
	{ R, "IsMatch(\"a\", \"a(b\")",
	  "1:14: the regex pattern supplied to IsMatch is not valid: error parsing regexp: missing "
	  "closing ): `a(b` at offset 0" },
	{ R, "IsMatch(\"a\", \"(?=x)\")",
	  "1:14: the regex pattern supplied to IsMatch is not valid: error parsing regexp: invalid "
	  "or unsupported Perl syntax: `(?=` at offset 0" },
	{ R, "IsMatch(\"a\", \"(a)\\\\1\")",
	  "1:14: the regex pattern supplied to IsMatch is not valid: error parsing regexp: invalid "
	  "escape sequence: `\\1` at offset 3" },
	{ R, "IsMatch(\"a\", \"a++\")",
	  "1:14: the regex pattern supplied to IsMatch is not valid: error parsing regexp: invalid "
	  "nested repetition operator: `++` at offset 1" },
	{ R, "IsString(1)",
	  "1:10: error while parsing arguments for call to \"IsString\": invalid argument at "
	  "position 0: expected string but got int64" },
	{ R, "Double(\"x\") == 1",
	  "1:8: error while parsing arguments for call to \"Double\": invalid argument at position "
	  "0: expected what can be a float64 but got string" },
	{ R, "Concat(\"a\", \"b\") == \"a\"",
	  "1:8: error while parsing arguments for call to \"Concat\": invalid argument at position "
	  "0: expected a list in brackets but got string" },
	{ R, "Concat(attributes[\"x\"], \"b\") == \"a\"",
	  "1:8: error while parsing arguments for call to \"Concat\": invalid argument at position "
	  "0: must be a list in brackets" },
	{ R, "Substring(\"a\", \"b\", 1) == \"a\"",
	  "1:16: error while parsing arguments for call to \"Substring\": invalid argument at "
	  "position 1: expected int64 but got string" },
	{ R, "Substring(\"a\", 0, 1, attributes[\"x\"]) == \"a\"",
	  "1:22: error while parsing arguments for call to \"Substring\": invalid argument at "
	  "position 3: must be true or false" },
	{ R, "Len(\"x\")",
	  "1:1: value returned from Converter in constant expression must be bool but got int64" },
	{ R, "Split(\"a\", \"b\")",
	  "1:1: value returned from Converter in constant expression must be bool but got list" },
	{ R, "attributes[\"x\"] == FOO", "1:20: enum symbol, FOO, not found" },
	{ R, "IsMatch(FOO, \"a\")", "1:9: enum symbol, FOO, not found" },
	{ R, "(x) => x == 1",
	  "1:5: unexpected token \"=>\" (expected a comparison: ==, !=, <, <=, > or >=)" },
	{ R, "Foo() == 1",
	  "1:1: undefined function \"Foo\"; there are: Bool, Coalesce, Concat, ContainsValue, "
	  "ConvertCase, Double, ExtractPatterns, FNV, HasPrefix, HasSuffix, Hex, Index, Int, "
	  "IsBool, "
	  "IsDouble, IsEmpty, IsInt, IsList, IsMap, IsMatch, IsString, Keys, Len, MD5, SHA1, "
	  "SHA256, "
	  "SHA512, Split, String, Substring, ToLowerCase, ToUpperCase, Trim, TrimPrefix, "
	  "TrimSuffix" },
	{ R, "IsMatch((1 == 1), \"a\")", "1:10: an argument is a value, not a condition" },
	{ R, "a.b.c.d.e.f.g.h.i == 1", "1:1: a path has at most 8 names" },
	{ R, "IsMatch(\"a\", \"\\\\Z\")",
	  "1:14: the regex pattern supplied to IsMatch is not valid: error parsing regexp: invalid "
	  "escape sequence: `\\Z` at offset 0" },
	{ R, "IsMatch(\"a\", \"(?i\")",
	  "1:14: the regex pattern supplied to IsMatch is not valid: error parsing regexp: invalid "
	  "or unsupported Perl syntax: `(?i` at offset 0" },
	{ R, "IsMatch(\"a\", \"[a\")",
	  "1:14: the regex pattern supplied to IsMatch is not valid: error parsing regexp: missing "
	  "closing ]: `[a` at offset 0" },
	{ R, "IsMatch(\"a\", \"\\\\pX{\")",
	  "1:14: the regex pattern supplied to IsMatch is not valid: error parsing regexp: unknown "
	  "property after \\P or \\p" },
	{ R, "IsMatch(\"a\", \"x{1001}\")",
	  "1:14: the regex pattern supplied to IsMatch is not valid: error parsing regexp: invalid "
	  "repeat count: `{1001}` at offset 1" },
	{ R, "IsMatch(\"a\", \"*\")",
	  "1:14: the regex pattern supplied to IsMatch is not valid: error parsing regexp: missing "
	  "argument to repetition operator: `*` at offset 0" },
	{ R, "IsMatch(\"a\", \"a{2}{3}\")",
	  "1:14: the regex pattern supplied to IsMatch is not valid: error parsing regexp: invalid "
	  "nested repetition operator: `{2}{3}` at offset 1" },
	{ R, "IsMatch(\"a\", \"(?P=n)\")",
	  "1:14: the regex pattern supplied to IsMatch is not valid: error parsing regexp: invalid "
	  "or unsupported Perl syntax: `(?P` at offset 0" },
	{ R, "IsMatch(\"a\", \"(?R)\")",
	  "1:14: the regex pattern supplied to IsMatch is not valid: error parsing regexp: invalid "
	  "or unsupported Perl syntax: `(?R` at offset 0" },
	{ R, "IsMatch(\"a\", \"(?>a)\")",
	  "1:14: the regex pattern supplied to IsMatch is not valid: error parsing regexp: invalid "
	  "or unsupported Perl syntax: `(?>` at offset 0" },
	{ R, "IsMatch(\"a\", \"\\\\C\")",
	  "1:14: the regex pattern supplied to IsMatch is not valid: error parsing regexp: invalid "
	  "escape sequence: `\\C` at offset 0" },
	// ---- over several lines, and behind letters of two bytes
	{ R, "attributes[\"x\"] == 1 and\n  attributs == 2",
	  "2:3: segment \"attributs\" from path \"attributs\" is not a valid path nor a valid OTTL "
	  "keyword for the resource context; did you mean \"attributes\"?" },
	{ R, "schema_url == \"\xc3\x9c\" or foo()",
	  "1:22: converter names must start with an uppercase letter but got 'foo'" },
	{ R, "schema_url ==\n\n\"a\\q\"",
	  "3:3: invalid escape in the string \"a\\q\": a backslash is written \\\\" },
};

static const struct inferred {
	const char *text, *message;
} inferred[] = {
	{ "true", "1:1: unable to infer context from the condition: a path's first segment must be "
		  "a valid context name: resource, scope, profile, profilesample (or sample), "
		  "frame, mapping, stack" },
	{ "attributes[\"x\"] == nil",
	  "1:1: unable to infer context from the condition: a path's first segment must be a valid "
	  "context name: resource, scope, profile, profilesample (or sample), frame, mapping, "
	  "stack" },
	{ "resource.schema_url == \"\" and attributes[\"x\"] == nil",
	  "1:31: missing context name for path \"attributes\", possibly valid options are: "
	  "\"resource.attributes\", \"scope.attributes\", \"profile.attributes\", "
	  "\"profilesample.attributes\"" },
	{ "resource.schema_url = 1",
	  "1:21: unexpected token \"=\" (expected a comparison: ==, !=, <, <=, > or >=)" },
};

static void expect_message(struct profcol_error *error, const char *text, const char *message)
{
	if (!error)
		fail_msg("%s: compiles", text);
	assert_int_equal(profcol_error_code(error), PROFCOL_CONFIG);
	assert_string_equal(profcol_error_message(error), message);
	profcol_error_destroy(error);
}

static void an_error_says_where_and_what(void **state)
{
	struct ottl_condition *condition = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(expectations) / sizeof(expectations[0]); i++) {
		const struct expectation *expected = &expectations[i];

		expect_message(ottl_compile(expected->context, expected->text, &condition),
			       expected->text, expected->message);
		assert_null(condition);
	}
}

static void a_context_has_to_be_named_where_nothing_says_it(void **state)
{
	struct ottl_condition *condition = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(inferred) / sizeof(inferred[0]); i++)
		expect_message(ottl_compile_inferred(inferred[i].text, &condition),
			       inferred[i].text, inferred[i].message);
}

/* @count times @open, @inner, @count times @close; the caller's to free(). */
static char *nest(size_t count, const char *open, const char *inner, const char *close)
{
	char *text = malloc(count * (strlen(open) + strlen(close)) + strlen(inner) + 1), *at = text;

	assert_non_null(text);
	for (size_t i = 0; i < count; i++)
		at = stpcpy(at, open);
	at = stpcpy(at, inner);
	for (size_t i = 0; i < count; i++)
		at = stpcpy(at, close);
	return text;
}

static void expect_bound(const char *open, const char *inner, const char *close, bool compiles)
{
	CLEANUP_FREE char *text = nest(compiles ? 60 : 65, open, inner, close);
	struct ottl_condition *condition = NULL;
	struct profcol_error *error = ottl_compile(OTTL_RESOURCE, text, &condition);

	if (compiles) {
		assert_null(error);
		ottl_condition_destroy(condition);
		return;
	}
	assert_non_null(strstr(profcol_error_message(error), "nested deeper than 64"));
	profcol_error_destroy(error);
}

static void nesting_has_a_bound(void **state)
{
	static const char *const nests[][3] = {
		{ "(", "true", ")" },
		{ "not (", "true", ")" },
		{ "(1 + ", "1 == 1", ")" },
	};

	(void)state;
	expect_bound("(", "true", ")", true);
	expect_bound("not (", "1 == 1", ")", true);
	for (size_t i = 0; i < sizeof(nests) / sizeof(nests[0]); i++)
		expect_bound(nests[i][0], nests[i][1], nests[i][2], false);
	expect_bound("Len(", "1 == 1", ")", false);
	expect_bound("attributes[", "1 == 1", "]", false);
	expect_bound("[", "1 == 1", "]", false);
	expect_bound("{\"a\": ", "1 == 1", "}", false);
}

/* @part over and over, and @end, longer than a condition may be unless @fits. */
static struct profcol_error *compile_long(const char *part, const char *end, bool fits)
{
	size_t count = OTTL_MAX_TEXT / strlen(part) + (fits ? -2 : 1);
	CLEANUP_FREE char *text = nest(count, part, end, "");
	struct ottl_condition *condition = NULL;
	struct profcol_error *error = ottl_compile(OTTL_RESOURCE, text, &condition);

	if (!error)
		ottl_condition_destroy(condition);
	return error;
}

static void length_has_a_bound_and_chains_have_none(void **state)
{
	static const char *const chains[][2] = {
		{ "true or ", "true" },
		{ "schema_url == \"\" and ", "true" },
		{ "1 + ", "1 == 1" },
		{ "1 * ", "1 == 1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++) {
		struct profcol_error *error;

		assert_null(compile_long(chains[i][0], chains[i][1], true));
		error = compile_long(chains[i][0], chains[i][1], false);
		assert_non_null(error);
		assert_non_null(strstr(profcol_error_message(error), "is longer than 16384"));
		profcol_error_destroy(error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_error_says_where_and_what),
		cmocka_unit_test(a_context_has_to_be_named_where_nothing_says_it),
		cmocka_unit_test(nesting_has_a_bound),
		cmocka_unit_test(length_has_a_bound_and_chains_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
