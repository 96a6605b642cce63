// SPDX-License-Identifier: Apache-2.0
#define PCRE2_CODE_UNIT_WIDTH 8
#include "pattern.h"

#include "ottl.h"

#include "base/base.h"

#include <pcre2.h>

#include <pthread.h>
#include <string.h>

/*
 * RE2 takes linear time, PCRE2 may take exponential time: these end a match that does. 500,000
 * steps are some 10 ms.
 */
enum {
	STEPS_MAX = 500000,
	HEAP_MAX_KIB = 16 << 10,
	GROUPS_MAX = 250,
};

struct ottl_pattern {
	pcre2_code *code;
	pcre2_match_context *limits;
	uint32_t *numbers; /* of groups with a name, ascending */
	const char **names;
	uint32_t name_count;
};

/* ---- making ---- */

static struct profcol_error *no_memory(void)
{
	return profcol_error_create(PROFCOL_NO_MEMORY, "no memory for a pattern");
}

static struct profcol_error *compile(struct ottl_pattern *pattern, const char *text, size_t length)
{
	/* ^ after the last newline, $ not before it: as RE2. */
	const uint32_t options = PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY |
				 PCRE2_ALT_CIRCUMFLEX | PCRE2_DUPNAMES;
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	PCRE2_UCHAR message[128] = "";
	PCRE2_SIZE offset;
	int code;

	if (!context)
		return no_memory();
	pcre2_set_newline(context, PCRE2_NEWLINE_LF);
	pcre2_set_parens_nest_limit(context, GROUPS_MAX);
	pattern->code = pcre2_compile((PCRE2_SPTR)(text ? text : ""), length, options, &code,
				      &offset, context);
	pcre2_compile_context_free(context);
	if (pattern->code)
		return NULL;
	if (code == PCRE2_ERROR_HEAP_FAILED)
		return no_memory();
	pcre2_get_error_message(code, message, sizeof(message));
	return profcol_error_create(PROFCOL_CONFIG, "error parsing regexp: %s", message);
}

/* The names as PCRE2 has them, sorted by name, into the order of their numbers. */
static struct profcol_error *collect_names(struct ottl_pattern *pattern)
{
	uint32_t count, size;
	PCRE2_SPTR table;

	pcre2_pattern_info(pattern->code, PCRE2_INFO_NAMECOUNT, &count);
	pcre2_pattern_info(pattern->code, PCRE2_INFO_NAMEENTRYSIZE, &size);
	pcre2_pattern_info(pattern->code, PCRE2_INFO_NAMETABLE, &table);
	if (!count)
		return NULL;
	pattern->numbers = calloc(count, sizeof(*pattern->numbers));
	pattern->names = calloc(count, sizeof(*pattern->names));
	if (!pattern->numbers || !pattern->names)
		return no_memory();
	for (uint32_t i = 0; i < count; i++) {
		PCRE2_SPTR entry = table + (size_t)i * size;
		uint32_t number = (uint32_t)entry[0] << 8 | entry[1], at = i;

		for (; at && pattern->numbers[at - 1] > number; at--) {
			pattern->numbers[at] = pattern->numbers[at - 1];
			pattern->names[at] = pattern->names[at - 1];
		}
		pattern->numbers[at] = number;
		// The translation put a '_' in front, since a name may begin with a digit.
		pattern->names[at] = (const char *)entry + 3;
	}
	pattern->name_count = count;
	return NULL;
}

static struct profcol_error *pattern_init(struct ottl_pattern *pattern, const char *text,
					  size_t length)
{
	CLEANUP_FREE char *translated = NULL;
	struct profcol_error *error = pattern_translate(text, length, &translated, &length);

	if (!error)
		error = compile(pattern, translated, length);
	if (error)
		return error;
	pattern->limits = pcre2_match_context_create(NULL);
	if (!pattern->limits)
		return no_memory();
	pcre2_set_match_limit(pattern->limits, STEPS_MAX);
	pcre2_set_heap_limit(pattern->limits, HEAP_MAX_KIB);
	// Where memory cannot be made executable, it is interpreted.
	pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE);
	return collect_names(pattern);
}

struct profcol_error *ottl_pattern_create(const char *text, size_t length,
					  struct ottl_pattern **ret)
{
	struct ottl_pattern *pattern = calloc(1, sizeof(*pattern));
	struct profcol_error *error = pattern ? pattern_init(pattern, text, length) : no_memory();

	if (error) {
		ottl_pattern_destroy(pattern);
		return error;
	}
	*ret = pattern;
	return NULL;
}

void ottl_pattern_destroy(struct ottl_pattern *pattern)
{
	if (!pattern)
		return;
	pcre2_code_free(pattern->code);
	pcre2_match_context_free(pattern->limits);
	free(pattern->numbers);
	free(pattern->names);
	free(pattern);
}

/* ---- matching ---- */

static int match_with(const struct ottl_pattern *pattern, const char *bytes, size_t length,
		      uint32_t options, pcre2_match_data *data)
{
	int code = pcre2_match(pattern->code, (PCRE2_SPTR)bytes, length, 0, options, data,
			       pattern->limits);

	// The machine code has a small stack; the interpreter has the heap.
	if (code == PCRE2_ERROR_JIT_STACKLIMIT)
		code = pcre2_match(pattern->code, (PCRE2_SPTR)bytes, length, 0,
				   options | PCRE2_NO_JIT, data, pattern->limits);
	return code;
}

/* Text that is not UTF-8, with each bad byte as '?': a part that was cut inside of a character. */
static int match_repaired(const struct ottl_pattern *pattern, struct profcol_text text,
			  pcre2_match_data *data)
{
	CLEANUP_FREE char *repaired = malloc(text.length + 1);

	if (!repaired)
		return PCRE2_ERROR_NOMEMORY;
	strings_sanitize_utf8(repaired, text.bytes, text.length);
	return match_with(pattern, repaired, text.length, 0, data);
}

static enum ottl_result match(const struct ottl_pattern *pattern, struct profcol_text text,
			      pcre2_match_data *data)
{
	int code = match_with(pattern, text.length ? text.bytes : "", text.length, 0, data);

	// Not by PCRE2_MATCH_INVALID_UTF: with it, machine code of 10.42 finds no "é" for \D.
	if (code <= PCRE2_ERROR_UTF8_ERR1 && code >= PCRE2_ERROR_UTF8_ERR21)
		code = match_repaired(pattern, text, data);
	if (code == PCRE2_ERROR_NOMATCH)
		return OTTL_FALSE;
	return code < 0 ? OTTL_ERROR : OTTL_TRUE;
}

enum ottl_result ottl_pattern_match(const struct ottl_pattern *pattern, const char *bytes,
				    size_t length)
{
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	enum ottl_result result = OTTL_ERROR;

	if (data)
		result = match(pattern, (struct profcol_text){ bytes, length }, data);
	pcre2_match_data_free(data);
	return result;
}

size_t ottl_pattern_group_count(const struct ottl_pattern *pattern)
{
	return pattern->name_count;
}

const char *ottl_pattern_group_name(const struct ottl_pattern *pattern, size_t group)
{
	return pattern->names[group];
}

enum ottl_result ottl_pattern_extract(const struct ottl_pattern *pattern, const char *bytes,
				      size_t length, struct profcol_text *groups_ret)
{
	pcre2_match_data *data = pcre2_match_data_create_from_pattern(pattern->code, NULL);
	enum ottl_result result = OTTL_ERROR;

	if (data)
		result = match(pattern, (struct profcol_text){ bytes, length }, data);
	for (uint32_t i = 0; result == OTTL_TRUE && i < pattern->name_count; i++) {
		const PCRE2_SIZE *ends =
			pcre2_get_ovector_pointer(data) + 2 * (size_t)pattern->numbers[i];

		groups_ret[i] = (struct profcol_text){ 0 };
		// Those behind the last group that took part are unset, too.
		if (ends[0] != PCRE2_UNSET)
			groups_ret[i] = (struct profcol_text){ bytes + ends[0], ends[1] - ends[0] };
	}
	pcre2_match_data_free(data);
	return result;
}

/* ---- lower case, from the tables of PCRE2 ---- */

static pthread_once_t all_once = PTHREAD_ONCE_INIT;
static pcre2_code *all; /* everything; NULL without memory */

static void compile_all(void)
{
	int code;
	PCRE2_SIZE offset;

	all = pcre2_compile((PCRE2_SPTR) ".+", 2, PCRE2_UTF | PCRE2_DOTALL, &code, &offset, NULL);
}

bool pattern_lower(struct profcol_text text, struct scratch *scratch, struct profcol_text *ret)
{
	/* A letter may take more bytes than the one it is made from, but not twice as many. */
	PCRE2_SIZE length = 2 * text.length + 1;
	PCRE2_UCHAR *lower = scratch_alloc(scratch, length);
	int count;

	pthread_once(&all_once, compile_all);
	if (!all || !lower)
		return false;
	count = pcre2_substitute(all, (PCRE2_SPTR)text.bytes, text.length, 0,
				 PCRE2_SUBSTITUTE_EXTENDED, NULL, NULL, (PCRE2_SPTR) "\\L$0",
				 PCRE2_ZERO_TERMINATED, lower, &length);
	if (count < 0)
		return false;
	*ret = (struct profcol_text){ (const char *)lower, length };
	return true;
}
