// SPDX-License-Identifier: Apache-2.0
/* Which converters there are, with their parameters. */
#include "calls.h"
#include "convert.h"

#include <string.h>

#define P(name_, kind_) { name_, PARAMETER_##kind_, false }
#define O(name_, kind_) { name_, PARAMETER_##kind_, true }

/* @pattern_: 1 + the parameter that is a regular expression; 0 = none. */
#define CONVERTER(name_, result_, call_, pattern_, ...)                                            \
	{ .name = (name_),                                                                         \
	  .result = VALUE_##result_,                                                               \
	  .parameters = { __VA_ARGS__ },                                                           \
	  .parameter_count =                                                                       \
		  sizeof((struct parameter[]){ __VA_ARGS__ }) / sizeof(struct parameter),          \
	  .pattern = (pattern_),                                                                   \
	  .call = (call_) }

static const struct function functions[] = {
	CONVERTER("IsMatch", BOOL, call_is_match, 2, P("target", TEXT), P("pattern", STRING)),
	CONVERTER("IsString", BOOL, call_is_string, 0, P("target", STRING)),
	CONVERTER("IsBool", BOOL, call_is_bool, 0, P("target", ANY)),
	CONVERTER("IsInt", BOOL, call_is_int, 0, P("target", ANY)),
	CONVERTER("IsDouble", BOOL, call_is_double, 0, P("target", ANY)),
	CONVERTER("IsMap", BOOL, call_is_map, 0, P("target", ANY)),
	CONVERTER("IsList", BOOL, call_is_list, 0, P("target", ANY)),
	CONVERTER("IsEmpty", BOOL, call_is_empty, 0, P("target", ANY)),
	CONVERTER("Bool", NIL, call_bool, 0, P("target", ANY)),
	CONVERTER("Int", INT, call_int, 0, P("target", INT_LIKE)),
	CONVERTER("Double", DOUBLE, call_double, 0, P("target", DOUBLE_LIKE)),
	CONVERTER("String", STRING, call_string, 0, P("target", TEXT)),
	CONVERTER("Len", INT, call_len, 0, P("target", ANY)),
	CONVERTER("Concat", STRING, call_concat, 0, P("vals", TEXT_LIST), P("delimiter", STRING)),
	CONVERTER("Substring", STRING, call_substring, 0, P("target", STRING), P("start", INT),
		  P("length", INT), O("utf8_safe", FLAG)),
	CONVERTER("ToLowerCase", STRING, call_to_lower_case, 0, P("target", STRING)),
	CONVERTER("ToUpperCase", STRING, call_to_upper_case, 0, P("target", STRING)),
	CONVERTER("ConvertCase", STRING, call_convert_case, 0, P("target", STRING),
		  P("to_case", LITERAL_TEXT)),
	CONVERTER("Trim", STRING, call_trim, 0, P("target", STRING),
		  O("replacement", LITERAL_TEXT)),
	CONVERTER("TrimPrefix", STRING, call_trim_prefix, 0, P("target", STRING),
		  P("prefix", STRING)),
	CONVERTER("TrimSuffix", STRING, call_trim_suffix, 0, P("target", STRING),
		  P("suffix", STRING)),
	CONVERTER("HasPrefix", BOOL, call_has_prefix, 0, P("target", STRING), P("prefix", STRING)),
	CONVERTER("HasSuffix", BOOL, call_has_suffix, 0, P("target", STRING), P("suffix", STRING)),
	CONVERTER("Split", LIST, call_split, 0, P("target", STRING), P("delimiter", STRING)),
	CONVERTER("Index", INT, call_index, 0, P("target", ANY), P("value", ANY)),
	CONVERTER("ExtractPatterns", MAP, call_extract_patterns, 2, P("target", STRING),
		  P("pattern", STRING)),
	CONVERTER("Keys", LIST, call_keys, 0, P("target", MAP)),
	CONVERTER("ContainsValue", BOOL, call_contains_value, 0, P("target", LIST), P("item", ANY)),
	CONVERTER("Coalesce", NIL, call_coalesce, 0, P("values", VALUE_LIST)),
	CONVERTER("MD5", STRING, call_md5, 0, P("value", STRING)),
	CONVERTER("SHA1", STRING, call_sha1, 0, P("value", STRING)),
	CONVERTER("SHA256", STRING, call_sha256, 0, P("value", STRING)),
	CONVERTER("SHA512", STRING, call_sha512, 0, P("value", STRING)),
	CONVERTER("FNV", INT, call_fnv, 0, P("value", STRING)),
	CONVERTER("Hex", STRING, call_hex, 0, P("target", ANY)),
};

enum { FUNCTION_COUNT = sizeof(functions) / sizeof(functions[0]) };

const struct function *function_find(const char *name)
{
	for (size_t i = 0; i < FUNCTION_COUNT; i++)
		if (!strcmp(functions[i].name, name))
			return &functions[i];
	return NULL;
}

const char *function_nearest(const char *name)
{
	const char *names[FUNCTION_COUNT];

	for (size_t i = 0; i < FUNCTION_COUNT; i++)
		names[i] = functions[i].name;
	return strings_nearest(name, names, FUNCTION_COUNT);
}

/* Names of converters, for messages. */
#define FUNCTION_NAMES                                                                             \
	"Bool, Coalesce, Concat, ContainsValue, ConvertCase, Double, "                             \
	"ExtractPatterns, FNV, HasPrefix, HasSuffix, Hex, Index, Int, IsBool, "                    \
	"IsDouble, IsEmpty, IsInt, IsList, IsMap, IsMatch, IsString, Keys, Len, "                  \
	"MD5, SHA1, SHA256, SHA512, Split, String, Substring, ToLowerCase, "                       \
	"ToUpperCase, Trim, TrimPrefix, TrimSuffix"

const char *function_names(void)
{
	return FUNCTION_NAMES;
}

static bool is_list_of_strings(const struct value *value)
{
	if (value->type != VALUE_LIST)
		return false;
	for (uint32_t i = 0; i < value->count; i++)
		if (value->items[i].type != VALUE_STRING)
			return false;
	return true;
}

bool parameter_takes(enum parameter_kind kind, const struct value *value, const char **expected_ret)
{
	struct value converted;

	switch (kind) {
	case PARAMETER_ANY:
	case PARAMETER_TEXT:
		return true;
	case PARAMETER_STRING:
		*expected_ret = "string";
		return value->type == VALUE_STRING;
	case PARAMETER_INT:
		*expected_ret = "int64";
		return value->type == VALUE_INT;
	case PARAMETER_INT_LIKE:
		*expected_ret = "what can be an int64";
		return convert_to_int(value, &converted);
	case PARAMETER_DOUBLE_LIKE:
		*expected_ret = "what can be a float64";
		return convert_to_double(value, &converted);
	case PARAMETER_TEXT_LIST:
		*expected_ret = "a list in brackets";
		return value->type == VALUE_LIST;
	case PARAMETER_FLAG:
		*expected_ret = "true or false";
		return value->type == VALUE_BOOL;
	case PARAMETER_MAP:
		*expected_ret = "a map";
		return value->type == VALUE_MAP;
	case PARAMETER_LIST:
	case PARAMETER_VALUE_LIST:
		*expected_ret = "a list";
		return value->type == VALUE_LIST;
	case PARAMETER_LITERAL_INT:
		*expected_ret = "a whole number";
		return value->type == VALUE_INT;
	case PARAMETER_LITERAL_TEXT:
		*expected_ret = "string";
		return value->type == VALUE_STRING;
	case PARAMETER_STRING_LIST:
	case PARAMETER_LITERAL_TEXTS:
		*expected_ret = "a list of strings in brackets";
		return is_list_of_strings(value);
	case PARAMETER_TARGET:
	case PARAMETER_MAP_TARGET:
		*expected_ret = "a path that can be changed";
		return false;
	case PARAMETER_FUNCTION:
		*expected_ret = "the name of a converter";
		return false;
	}
	return false;
}
