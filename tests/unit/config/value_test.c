// SPDX-License-Identifier: Apache-2.0
/* Texts to values: plain scalars as Go's yaml.v3 types them, durations, sizes, ids, near words. */
#include "config/id.h"
#include "config/quantity.h"
#include "config/scalar.h"

#include "base/base.h"

#include <profcol/options.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void plain_scalars_have_the_types_of_yaml_v3(void **state)
{
	static const struct {
		const char *text;
		enum scalar_type type;
		double number;
	} cases[] = {
		{ "", SCALAR_NULL },
		{ "~", SCALAR_NULL },
		{ "Null", SCALAR_NULL },
		{ "nULL", SCALAR_STRING },
		{ "true", SCALAR_BOOL },
		{ "FALSE", SCALAR_BOOL },
		{ "tRUE", SCALAR_STRING },
		{ "yes", SCALAR_STRING },
		{ "on", SCALAR_STRING },
		{ "off", SCALAR_STRING },
		{ "n", SCALAR_STRING },
		{ "0", SCALAR_INT, 0 },
		{ "-0", SCALAR_INT, 0 },
		{ "+12", SCALAR_INT, 12 },
		{ "1_000", SCALAR_INT, 1000 },
		{ "0x1F", SCALAR_INT, 31 },
		{ "-0xff", SCALAR_INT, -255 },
		{ "0o17", SCALAR_INT, 15 },
		{ "0b101", SCALAR_INT, 5 },
		{ "0755", SCALAR_INT, 493 },
		{ "089", SCALAR_FLOAT, 89 },
		{ "0x", SCALAR_STRING },
		{ "0x0x1", SCALAR_STRING },
		{ "0b2", SCALAR_STRING },
		{ "1e3", SCALAR_FLOAT, 1000 },
		{ "1e308", SCALAR_FLOAT, 1e308 },
		{ "1e-999", SCALAR_FLOAT, 0 },
		{ "61e9540", SCALAR_STRING },
		{ "-8e12345", SCALAR_STRING },
		{ "1.", SCALAR_FLOAT, 1 },
		{ ".5", SCALAR_FLOAT, .5 },
		{ "-1.5E-1", SCALAR_FLOAT, -.15 },
		{ ".", SCALAR_STRING },
		{ "-", SCALAR_STRING },
		{ "+-1", SCALAR_STRING },
		{ "1e", SCALAR_STRING },
		{ "1 2", SCALAR_STRING },
		{ "5s", SCALAR_STRING },
		{ "1.2.3", SCALAR_STRING },
		{ "2001-01-01", SCALAR_STRING },
		{ "9223372036854775807", SCALAR_INT, 9223372036854775807. },
		{ "-9223372036854775808", SCALAR_INT, -9223372036854775808. },
		{ "9223372036854775808", SCALAR_FLOAT, 9223372036854775808. },
		{ "-.INF", SCALAR_FLOAT, -INFINITY },
		{ ".inf", SCALAR_FLOAT, INFINITY },
		{ ".iNF", SCALAR_STRING },
		{ "inf", SCALAR_STRING },
		{ "_1", SCALAR_STRING },
		{ "1_", SCALAR_INT, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct scalar scalar = scalar_resolve(cases[i].text);

		if (scalar.type != cases[i].type)
			fail_msg("'%s' is of type %s", cases[i].text,
				 scalar_type_name(scalar.type));
		if ((scalar.type == SCALAR_INT || scalar.type == SCALAR_FLOAT) &&
		    scalar.number != cases[i].number)
			fail_msg("'%s' is %g", cases[i].text, scalar.number);
	}
	assert_true(isnan(scalar_resolve(".NaN").number));
	assert_true(scalar_resolve("True").boolean);
	assert_false(scalar_resolve("false").boolean);
	assert_int_equal(scalar_resolve("-9223372036854775808").integer, INT64_MIN);
}

static void durations_follow_go(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
		const char *printed;
	} cases[] = {
		{ "0", 0, "0s" },
		{ "-0", 0, "0s" },
		{ "300ms", 300 * PROFCOL_MILLISECOND, "300ms" },
		{ "1.5h", 90 * PROFCOL_MINUTE, "1h30m" },
		{ "2h45m", 165 * PROFCOL_MINUTE, "2h45m" },
		{ ".5s", 500 * PROFCOL_MILLISECOND, "500ms" },
		{ "1.s", PROFCOL_SECOND, "1s" },
		{ "-1m", -PROFCOL_MINUTE, "-1m" },
		{ "+5ns", 5, "5ns" },
		{ "7us", 7000, "7us" },
		{ "7\u00b5s", 7000, "7us" },
		{ "7\u03bcs", 7000, "7us" },
		{ "0.000000000000001h", 0, "0s" },
		{ "1s1s", 2 * PROFCOL_SECOND, "2s" },
		{ "2562047h47m16.854775807s", INT64_MAX, "2562047h47m16s854ms775us807ns" },
	};
	static const struct {
		const char *text, *why;
	} faults[] = {
		{ "", "time: invalid duration \"\"" },
		{ "-", "time: invalid duration \"-\"" },
		{ "5", "time: missing unit in duration \"5\"" },
		{ "1s5", "time: missing unit in duration \"1s5\"" },
		{ "3x", "time: unknown unit \"x\" in duration \"3x\"" },
		{ "1d", "time: unknown unit \"d\" in duration \"1d\"" },
		{ "s", "time: invalid duration \"s\"" },
		{ "--5s", "time: invalid duration \"--5s\"" },
		{ "2562047h47m16.854775808s",
		  "time: invalid duration \"2562047h47m16.854775808s\"" },
		{ "99999999999999999999s", "time: invalid duration \"99999999999999999999s\"" },
	};
	char text[QUANTITY_TEXT_MAX];
	int64_t ns;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (!quantity_parse_duration(cases[i].text, &ns, text))
			fail_msg("'%s': %s", cases[i].text, text);
		assert_int_equal(ns, cases[i].ns);
		quantity_print_duration(ns, text);
		assert_string_equal(text, cases[i].printed);
	}
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		assert_false(quantity_parse_duration(faults[i].text, &ns, text));
		assert_string_equal(text, faults[i].why);
	}
	quantity_print_duration(INT64_MIN, text);
	assert_string_equal(text, "-2562047h47m16s854ms775us808ns");
}

static void sizes_take_binary_units(void **state)
{
	char text[QUANTITY_TEXT_MAX];
	uint64_t bytes;

	(void)state;
	assert_true(quantity_parse_bytes("512KiB", &bytes, text));
	assert_int_equal(bytes, 512 << 10);
	assert_true(quantity_parse_bytes("1.5GiB", &bytes, text));
	assert_int_equal(bytes, 3ULL << 29);
	assert_true(quantity_parse_bytes("4096", &bytes, text));
	assert_int_equal(bytes, 4096);
	assert_true(quantity_parse_bytes("17B", &bytes, text));
	assert_int_equal(bytes, 17);
	assert_false(quantity_parse_bytes("5kb", &bytes, text));
	assert_string_equal(text, "unknown unit \"kb\" in size \"5kb\"");
	quantity_print_bytes(3 << 20, text);
	assert_string_equal(text, "3MiB");
	quantity_print_bytes(1025, text);
	assert_string_equal(text, "1025");
	quantity_print_bytes(0, text);
	assert_string_equal(text, "0");
}

static void ids_follow_the_grammar(void **state)
{
	static const char *const good[] = { "a",           "pprof/node",
					    "A_1/b-c.d/e", "x/\u00fc\u4e2d",
					    " x / y ",     "x/1" };
	static const char *const bad[] = { "",         "/",        "x/",      "/x",
					   "1x",       "x y",      "x/a b",   "x/a$",
					   "x/\u2028", "x/\u20ac", "x/\u00a0" };
	CLEANUP_ARENA struct arena *memory = arena_create(0);
	char why[ID_FAULT_MAX];
	struct id id;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(id_parse(memory, good[i], &id, why));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(id_parse(memory, bad[i], &id, why));
		assert_string_not_equal(why, "");
	}
	assert_true(id_parse(memory, " pprof /\ta/b ", &id, why));
	assert_string_equal(id.text, "pprof/a/b");
	assert_string_equal(id.type, "pprof");
	assert_string_equal(id.name, "a/b");
}

static void camel_case_suggests_snake_case(void **state)
{
	static const char *const keys[] = { "samples_per_second", "reporter_interval", "top" };

	(void)state;
	assert_string_equal(strings_nearest("SamplesPerSecond", keys, 3), keys[0]);
	assert_string_equal(strings_nearest("samplesPerSecnd", keys, 3), keys[0]);
	assert_string_equal(strings_nearest("Reporter-Interval", keys, 3), keys[1]);
	assert_string_equal(strings_nearest("TOP", keys, 3), keys[2]);
	assert_null(strings_nearest("verbosity", keys, 3));
	assert_null(strings_nearest("", keys, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_scalars_have_the_types_of_yaml_v3),
		cmocka_unit_test(durations_follow_go),
		cmocka_unit_test(sizes_take_binary_units),
		cmocka_unit_test(ids_follow_the_grammar),
		cmocka_unit_test(camel_case_suggests_snake_case),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
