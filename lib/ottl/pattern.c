// SPDX-License-Identifier: Apache-2.0
#define PCRE2_CODE_UNIT_WIDTH 8
#include "pattern.h"

#include "base/base.h"

#include <pcre2.h>

#include <stdatomic.h>
#include <string.h>

/*
 * RE2 takes linear time, PCRE2 may take exponential time. It counts steps, but anew wherever a
 * match may begin, and a step may be anything from 1.4 ns to a pass over the text. So a text is
 * tried twice: with few steps for each beginning, which is enough for nearly all; then some
 * beginnings at a time, with an eye on the clock, and with more steps as long as they are short
 * ones.
 */
enum {
	SUBJECT_MAX = OTTL_MAX_STRING,
	QUICK_STEPS = 64 << 10,      /* of all beginnings of a text together */
	QUICK_SUBJECT_MAX = 1 << 10, /* a pass over the rest from each beginning takes 1 ms */
	SHORT_SUBJECT_MAX = 4 << 10,
	STEPS_MAX = 500000, /* of one beginning */
	STEPS_LEAST = 16,
	STEPS_GROWTH = 4,
	STEPS_AT_FIRST = 64,
	WIDTH_MAX = 1024, /* beginnings of a call with more steps */
	WIDTH_GROWTH = 4,
	HEAP_MAX_KIB = 16 << 10,
	GROUPS_MAX = 250,
};

/* Processor time. Texts whose budget is used up have the least. */
enum {
	TEXT_NS = 100000000,
	TEXT_NS_LEAST = 1000000,
	BUDGET_NS = 500000000,
};

struct ottl_pattern {
	pcre2_code *code;
	bool is_anchored;  /* it can begin at the beginning of the text only */
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
				 PCRE2_ALT_CIRCUMFLEX | PCRE2_DUPNAMES | PCRE2_USE_OFFSET_LIMIT;
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
	uint32_t options = 0;

	if (!error)
		error = compile(pattern, translated, length);
	if (error)
		return error;
	pcre2_pattern_info(pattern->code, PCRE2_INFO_ALLOPTIONS, &options);
	pattern->is_anchored = options & PCRE2_ANCHORED;
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
	free(pattern->numbers);
	free(pattern->names);
	free(pattern);
}

/* ---- matching ---- */

/* One text with one pattern. */
struct matching {
	const struct ottl_pattern *pattern;
	struct profcol_text text;
	size_t begin; /* where a match may begin at first */
	uint32_t options;
	pcre2_match_data *data;
	pcre2_match_context *limits;
};

/* Matches that begin at @begin or behind it, up to @last, PCRE2_UNSET for the end of the text. */
static int match_between(struct matching *matching, size_t begin, size_t last, uint32_t steps)
{
	const PCRE2_UCHAR *bytes = (const PCRE2_UCHAR *)matching->text.bytes;
	size_t length = matching->text.length;
	const pcre2_code *code = matching->pattern->code;
	int result;

	pcre2_set_match_limit(matching->limits, steps);
	pcre2_set_offset_limit(matching->limits, last);
	result = pcre2_match(code, bytes, length, begin, matching->options, matching->data,
			     matching->limits);
	// The machine code has a small stack; the interpreter has the heap.
	if (result == PCRE2_ERROR_JIT_STACKLIMIT)
		result = pcre2_match(code, bytes, length, begin, matching->options | PCRE2_NO_JIT,
				     matching->data, matching->limits);
	return result;
}

static uint32_t steps_within(size_t steps)
{
	return steps < STEPS_LEAST ? STEPS_LEAST : steps > STEPS_MAX ? STEPS_MAX : (uint32_t)steps;
}

static int match_quickly(struct matching *matching)
{
	size_t length = matching->text.length;
	size_t steps = matching->pattern->is_anchored ? QUICK_STEPS : QUICK_STEPS / (length + 1);

	if (length > QUICK_SUBJECT_MAX)
		return PCRE2_ERROR_MATCHLIMIT;
	return match_between(matching, matching->begin, PCRE2_UNSET, steps_within(steps));
}

/* Where the next match may begin from @begin on: not inside of a character. */
static size_t next_beginning(const struct matching *matching, size_t begin)
{
	while (begin < matching->text.length && (matching->text.bytes[begin] & 0xc0) == 0x80)
		begin++;
	return begin;
}

/* How many beginnings a call is for, and what each of them is granted. */
struct pace {
	size_t steps;  /* of a call: half of the time, even if each is a pass over the text */
	size_t growth; /* times that: those of one beginning have turned out to be short */
	size_t width;  /* beginnings */
	bool is_short; /* the text: what has grown remains so */
};

static uint32_t pace_steps(const struct pace *pace)
{
	size_t steps = pace->steps * pace->growth;

	return steps_within(pace->growth > 1 ? steps : steps / pace->width);
}

/* After a call that went through, in @ns of the @all_ns of a text. Machine code remembers from one
 * beginning to the next what cannot match, so more at a time may take less. */
static void pace_widen(struct pace *pace, uint64_t ns, uint64_t all_ns)
{
	bool has_grown = pace->growth > 1;

	if (!pace->is_short)
		pace->growth = 1;
	if (!has_grown && 2 * pace->width < pace->steps / STEPS_LEAST)
		pace->width *= 2;
	else if (has_grown && pace->is_short && ns < all_ns / 8 && pace->width < WIDTH_MAX)
		pace->width *= WIDTH_GROWTH;
}

/* After a call that has ended at its limit. False when there is no hope for the text. */
static bool pace_narrow(struct pace *pace, uint64_t ns, uint64_t all_ns)
{
	if (pace->width == 1) {
		if (pace_steps(pace) == STEPS_MAX || ns > all_ns / 8)
			return false;
		pace->growth *= STEPS_GROWTH;
	}
	pace->width = (pace->width + 7) / 8;
	return true;
}

/* @ns is thread time: what others do on the machine does not count. */
static int match_for(struct matching *matching, uint64_t ns)
{
	size_t begin = matching->begin, length = matching->text.length;
	bool is_anchored = matching->pattern->is_anchored;
	struct pace pace = {
		.steps = ns / 2 / (length + 1) + STEPS_LEAST,
		.growth = 1,
		.is_short = length <= SHORT_SUBJECT_MAX,
	};
	uint64_t begin_ns = clock_thread_ns(), last_ns = begin_ns;

	pace.width = is_anchored ? 1 : pace.steps / STEPS_AT_FIRST + 1;
	while (begin <= length && last_ns - begin_ns <= ns) {
		int result =
			match_between(matching, begin, begin + pace.width - 1, pace_steps(&pace));
		uint64_t now_ns = clock_thread_ns();

		if (result == PCRE2_ERROR_MATCHLIMIT) {
			if (!pace_narrow(&pace, now_ns - last_ns, ns))
				return result;
		} else if (result != PCRE2_ERROR_NOMATCH || is_anchored) {
			return result;
		} else {
			// The first call has found that it is UTF-8.
			matching->options |= PCRE2_NO_UTF_CHECK;
			begin = next_beginning(matching, begin + pace.width);
			pace_widen(&pace, now_ns - last_ns, ns);
		}
		last_ns = now_ns;
	}
	return begin > length ? PCRE2_ERROR_NOMATCH : PCRE2_ERROR_MATCHLIMIT;
}

static int match_patiently(struct matching *matching, struct ottl_budget *budget)
{
	bool is_spent = budget && budget->spent_ns >= BUDGET_NS;
	uint64_t begin_ns = clock_thread_ns();
	int result = match_for(matching, is_spent ? TEXT_NS_LEAST : TEXT_NS);

	if (budget)
		budget->spent_ns += clock_thread_ns() - begin_ns;
	return result;
}

static int match_text(struct matching *matching, struct ottl_budget *budget)
{
	int result = match_quickly(matching);

	return result == PCRE2_ERROR_MATCHLIMIT ? match_patiently(matching, budget) : result;
}

/* Text that is not UTF-8, with each bad byte as '?': a part that was cut inside of a character. */
static int match_repaired(struct matching *matching, struct ottl_budget *budget)
{
	CLEANUP_FREE char *repaired = malloc(matching->text.length + 1);
	int result;

	if (!repaired)
		return PCRE2_ERROR_NOMEMORY;
	strings_sanitize_utf8(repaired, matching->text.bytes, matching->text.length);
	matching->text.bytes = repaired;
	result = match_text(matching, budget);
	matching->text.bytes = NULL;
	return result;
}

static enum pattern_outcome outcome_of(int result)
{
	if (result >= 0)
		return PATTERN_TRUE;
	if (result == PCRE2_ERROR_NOMATCH)
		return PATTERN_FALSE;
	return result == PCRE2_ERROR_NOMEMORY ? PATTERN_NO_MEMORY : PATTERN_TOO_SLOW;
}

/* With where the groups are in @data; it may be NULL, for lack of memory. */
static enum pattern_outcome match(const struct ottl_pattern *pattern, struct profcol_text text,
				  size_t begin, struct ottl_budget *budget, pcre2_match_data *data)
{
	struct matching matching = {
		.pattern = pattern,
		.text = text,
		.begin = begin,
		.data = data,
	};
	int result;

	if (text.length > SUBJECT_MAX)
		return PATTERN_TOO_LONG;
	matching.limits = data ? pcre2_match_context_create(NULL) : NULL;
	if (!matching.limits)
		return PATTERN_NO_MEMORY;
	if (!text.length)
		matching.text.bytes = "";
	pcre2_set_heap_limit(matching.limits, HEAP_MAX_KIB);
	result = match_text(&matching, budget);
	// Not by PCRE2_MATCH_INVALID_UTF: with it, machine code of 10.42 finds no "é" for \D.
	if (result <= PCRE2_ERROR_UTF8_ERR1 && result >= PCRE2_ERROR_UTF8_ERR21)
		result = match_repaired(&matching, budget);
	pcre2_match_context_free(matching.limits);
	return outcome_of(result);
}

enum pattern_outcome pattern_match(const struct ottl_pattern *pattern, struct profcol_text text,
				   struct ottl_budget *budget)
{
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	enum pattern_outcome outcome = match(pattern, text, 0, budget, data);

	pcre2_match_data_free(data);
	return outcome;
}

static enum ottl_result result_of(enum pattern_outcome outcome)
{
	return outcome == PATTERN_TRUE    ? OTTL_TRUE
	       : outcome == PATTERN_FALSE ? OTTL_FALSE
					  : OTTL_ERROR;
}

enum ottl_result ottl_pattern_match(const struct ottl_pattern *pattern, const char *bytes,
				    size_t length, struct ottl_budget *budget)
{
	return result_of(pattern_match(pattern, (struct profcol_text){ bytes, length }, budget));
}

size_t ottl_pattern_group_count(const struct ottl_pattern *pattern)
{
	return pattern->name_count;
}

const char *ottl_pattern_group_name(const struct ottl_pattern *pattern, size_t group)
{
	return pattern->names[group];
}

size_t ottl_pattern_capture_count(const struct ottl_pattern *pattern)
{
	uint32_t count = 0;

	pcre2_pattern_info(pattern->code, PCRE2_INFO_CAPTURECOUNT, &count);
	return count;
}

size_t ottl_pattern_capture_number(const struct ottl_pattern *pattern, size_t group)
{
	return pattern->numbers[group];
}

/* Those behind the last group that took part are unset, too. */
static struct profcol_text capture_of(pcre2_match_data *data, const char *bytes, size_t number)
{
	const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(data) + 2 * number;

	if (ends[0] == PCRE2_UNSET)
		return (struct profcol_text){ 0 };
	return (struct profcol_text){ bytes + ends[0], ends[1] - ends[0] };
}

enum pattern_outcome pattern_capture(const struct ottl_pattern *pattern, struct profcol_text text,
				     size_t begin, struct ottl_budget *budget,
				     struct profcol_text *captures_ret)
{
	pcre2_match_data *data = pcre2_match_data_create_from_pattern(pattern->code, NULL);
	enum pattern_outcome outcome = match(pattern, text, begin, budget, data);

	for (size_t i = 0; outcome == PATTERN_TRUE && i <= ottl_pattern_capture_count(pattern); i++)
		captures_ret[i] = capture_of(data, text.bytes, i);
	pcre2_match_data_free(data);
	return outcome;
}

enum ottl_result ottl_pattern_capture(const struct ottl_pattern *pattern, const char *bytes,
				      size_t length, struct ottl_budget *budget,
				      struct profcol_text *captures_ret)
{
	return result_of(pattern_capture(pattern, (struct profcol_text){ bytes, length }, 0, budget,
					 captures_ret));
}

enum ottl_result ottl_pattern_extract(const struct ottl_pattern *pattern, const char *bytes,
				      size_t length, struct ottl_budget *budget,
				      struct profcol_text *groups_ret)
{
	pcre2_match_data *data = pcre2_match_data_create_from_pattern(pattern->code, NULL);
	enum ottl_result result =
		result_of(match(pattern, (struct profcol_text){ bytes, length }, 0, budget, data));

	for (uint32_t i = 0; result == OTTL_TRUE && i < pattern->name_count; i++)
		groups_ret[i] = capture_of(data, bytes, pattern->numbers[i]);
	pcre2_match_data_free(data);
	return result;
}

/* ---- upper and lower case, from the tables of PCRE2 ---- */

/* A pattern for all that there is; NULL without memory. */
static const pcre2_code *everything(void)
{
	static _Atomic(pcre2_code *) known;
	pcre2_code *code = atomic_load(&known), *none = NULL;
	PCRE2_SIZE offset;
	int error;

	if (code)
		return code;
	code = pcre2_compile((PCRE2_SPTR) ".+", 2, PCRE2_UTF | PCRE2_DOTALL, &error, &offset, NULL);
	if (!code || atomic_compare_exchange_strong(&known, &none, code))
		return code;
	pcre2_code_free(code); // another thread was faster
	return none;
}

bool pattern_change_case(struct profcol_text text, bool to_upper, struct scratch *scratch,
			 struct profcol_text *ret)
{
	/* A letter may take more bytes than the one it is made from, but not twice as many. */
	PCRE2_SIZE length = 2 * text.length + 1;
	PCRE2_UCHAR *changed = scratch_alloc(scratch, length);
	const pcre2_code *all = everything();
	int count;

	scratch->is_exhausted |= !all;
	if (!all || !changed)
		return false;
	count = pcre2_substitute(all, (PCRE2_SPTR)text.bytes, text.length, 0,
				 PCRE2_SUBSTITUTE_EXTENDED, NULL, NULL,
				 (PCRE2_SPTR)(to_upper ? "\\U$0" : "\\L$0"), PCRE2_ZERO_TERMINATED,
				 changed, &length);
	scratch->is_exhausted |= count == PCRE2_ERROR_NOMEMORY;
	if (count < 0)
		return false;
	*ret = (struct profcol_text){ (const char *)changed, length };
	return true;
}
