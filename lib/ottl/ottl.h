/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTTL conditions over a batch: "profile.period > 0 and resource.attributes["x"] != nil".
 * A condition is compiled once, with every path, function and literal resolved and checked, and
 * evaluated per resource, scope, profile or sample. README.md has the language: what it shares
 * with the OpenTelemetry Collector's, what it adds, and where they differ.
 *
 * The only header of lib/ottl that other folders include.
 *
 * Threads: a condition and a pattern are immutable once made; a run, and each pattern match,
 * belongs to one thread at a time. Any number of runs may evaluate one condition at once.
 */
#pragma once

#include <profcol/batch.h>
#include <profcol/errors.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- conditions ---- */

/* What a condition is evaluated for. Paths of outer levels can be used in inner ones. */
enum ottl_context {
	OTTL_RESOURCE,
	OTTL_SCOPE,
	OTTL_PROFILE,
	OTTL_SAMPLE,
	/* While rows are edited: one frame, or one mapping, of the dictionary, which all samples
	 * share. Such conditions and statements can use paths of frame and mapping only. */
	OTTL_FRAME,
	OTTL_MAPPING,
};

enum {
	OTTL_MAX_TEXT = 16 << 10,   /* bytes of a condition */
	OTTL_MAX_DEPTH = 64,        /* parentheses, arguments, lists and keys inside each other */
	OTTL_MAX_STRING = 64 << 10, /* bytes of a text that a converter makes */
	OTTL_MAX_ITEMS = 4096,      /* of a list or map that is looked into or made */
	OTTL_MESSAGE_SIZE = 256,    /* bytes of an evaluation's message, NUL included */
};

/* "resource", "scope" (also "instrumentation_scope"), "profile", "sample" (also "profilesample").
 * False for other names; *@ret is then not written. */
bool ottl_context_parse(const char *name, enum ottl_context *ret);

/* The name that the Collector uses: "resource", "scope", "profile", "profilesample"; or "frame",
 * "mapping". */
const char *ottl_context_name(enum ottl_context context);

struct ottl_condition;

/*
 * The condition @text for @context. In a path the name of the context may be left out:
 * `attributes["x"]` is that of @context itself. CONFIG errors begin with "LINE:COLUMN: ", the place
 * in @text, both from 1, the column in characters. *@ret is the caller's to destroy, and written
 * only on success.
 */
PROFCOL_MUST_CHECK struct profcol_error *ottl_compile(enum ottl_context context, const char *text,
						      struct ottl_condition **ret);

/*
 * As above where nothing says the context: the innermost one that a path of @text names. Every
 * path has to name one. A condition without paths is an error.
 */
PROFCOL_MUST_CHECK struct profcol_error *ottl_compile_inferred(const char *text,
							       struct ottl_condition **ret);

void ottl_condition_destroy(struct ottl_condition *condition); /* accepts NULL */

enum ottl_context ottl_condition_context(const struct ottl_condition *condition);

/* As it was given to ottl_compile(); borrowed from the condition. */
const char *ottl_condition_text(const struct ottl_condition *condition);

/* ---- evaluation ---- */

/*
 * Evaluates conditions over one batch. It remembers what they said of each stack, location,
 * mapping, function and attribute list, so that this is found out once per entry, whatever the
 * number of samples.
 */
struct ottl_run;

/* Borrows @batch until the destroy. NULL without memory. */
struct ottl_run *ottl_run_create(const struct profcol_batch *batch);
void ottl_run_destroy(struct ottl_run *run); /* accepts NULL */

static inline void ottl_run_cleanup(struct ottl_run **run)
{
	ottl_run_destroy(*run);
}
#define OTTL_CLEANUP_RUN __attribute__((cleanup(ottl_run_cleanup)))

/* Rows of the batch, each in the one before; those inside of the condition's context are unused. */
struct ottl_position {
	uint32_t resource, scope, profile, sample;
	/* Ids of one frame, for OTTL_FRAME; of OTTL_MAPPING the mapping alone. */
	uint32_t function, mapping;
	uint32_t location_attributes;
};

enum ottl_result {
	OTTL_FALSE,
	OTTL_TRUE,
	/* It has no value here: types that do not fit, a division by 0, a limit of a pattern. */
	OTTL_ERROR,
};

/*
 * @condition at @position. On OTTL_ERROR, and only then, ottl_run_message() says why. A condition
 * may be destroyed before a run that has evaluated it, unless another one is evaluated afterwards.
 */
enum ottl_result ottl_evaluate(const struct ottl_condition *condition, struct ottl_run *run,
			       const struct ottl_position *position);

/* Why the last evaluation was an OTTL_ERROR; at most OTTL_MESSAGE_SIZE bytes, borrowed until the
 * next evaluation. */
const char *ottl_run_message(const struct ottl_run *run);

/* ---- statements: editors that change rows of a builder ---- */

struct ottl_statement;

/*
 * The statement @text, `EDITOR(ARGUMENTS) where CONDITION`, for @context. With @needs_owner each
 * path has to name its context. Errors as ottl_compile()'s.
 */
PROFCOL_MUST_CHECK struct profcol_error *ottl_statement_compile(enum ottl_context context,
								bool needs_owner, const char *text,
								struct ottl_statement **ret);
void ottl_statement_destroy(struct ottl_statement *statement); /* accepts NULL */

/* As it was given to the compilation; borrowed from the statement. */
const char *ottl_statement_text(const struct ottl_statement *statement);

/* A condition that is asked between statements; otherwise as ottl_compile(). */
PROFCOL_MUST_CHECK struct profcol_error *ottl_compile_editing(enum ottl_context context,
							      bool needs_owner, const char *text,
							      struct ottl_condition **ret);

/*
 * The innermost context that a path of the statement (or condition) @text names, and that of what
 * the editor changes, which decides for frame and mapping. CONFIG where no path names one.
 */
PROFCOL_MUST_CHECK struct profcol_error *
ottl_statement_infer(const char *text, enum ottl_context *ret, enum ottl_context *target_ret);
PROFCOL_MUST_CHECK struct profcol_error *ottl_condition_infer(const char *text,
							      enum ottl_context *ret);

/* What of a batch a statement or condition depends on, or changes. */
enum ottl_part {
	OTTL_PART_PARENTS = 1 << 0, /* resource, scope or profile */
	OTTL_PART_SAMPLE = 1 << 1,  /* other than its attributes and its stack */
	OTTL_PART_SAMPLE_ATTRIBUTES = 1 << 2,
	OTTL_PART_STACK = 1 << 3,
	OTTL_PART_FUNCTION = 1 << 4, /* of OTTL_FRAME and OTTL_MAPPING, as what follows */
	OTTL_PART_LOCATION = 1 << 5,
	OTTL_PART_MAPPING = 1 << 6,
};

unsigned int ottl_statement_reads(const struct ottl_statement *statement);
unsigned int ottl_statement_writes(const struct ottl_statement *statement);
unsigned int ottl_condition_reads(const struct ottl_condition *condition);

/*
 * A run that changes rows of @builder (borrowed until the destroy), for what was compiled for
 * editing; ottl_evaluate() works with it, too. NULL without memory.
 */
struct ottl_run *ottl_run_create_editing(struct profcol_builder *builder);

/* Empty the `cache`: the next statements are for another row. */
void ottl_run_begin_row(struct ottl_run *run);

/* Has a statement removed or replaced something that was there? */
bool ottl_run_has_removed(const struct ottl_run *run);

/*
 * Carry @statement out at @position. OTTL_FALSE: its condition is not met. A statement of frames
 * gives a new @position->function instead of changing the function there is; whoever calls puts it
 * into the location (profile_set_line_function()). All else is changed in the builder.
 */
enum ottl_result ottl_execute(const struct ottl_statement *statement, struct ottl_run *run,
			      struct ottl_position *position);

/* ---- regular expressions: RE2's syntax, matched by PCRE2 under limits ---- */

struct ottl_pattern;

/*
 * The pattern @text of @length bytes. What RE2 lacks is refused: CONFIG, with the offset in the
 * pattern. *@ret is the caller's to destroy, and written only on success.
 */
PROFCOL_MUST_CHECK struct profcol_error *ottl_pattern_create(const char *text, size_t length,
							     struct ottl_pattern **ret);
void ottl_pattern_destroy(struct ottl_pattern *pattern); /* accepts NULL */

/*
 * Processor time that slow matches have taken: of all texts of a batch together, so zeroed before
 * the first. When it is used up each text still has a little. One thread at a time.
 */
struct ottl_budget {
	uint64_t spent_ns;
};

/*
 * Does @pattern occur in @bytes? OTTL_ERROR when that took too long, for more than OTTL_MAX_STRING
 * bytes, or without memory. @budget may be NULL: of one text alone. Any thread, several at once.
 */
enum ottl_result ottl_pattern_match(const struct ottl_pattern *pattern, const char *bytes,
				    size_t length, struct ottl_budget *budget);

/* Groups with a name, (?P<name>...), in the order of their numbers. */
size_t ottl_pattern_group_count(const struct ottl_pattern *pattern);
const char *ottl_pattern_group_name(const struct ottl_pattern *pattern, size_t group);

/*
 * As ottl_pattern_match(); when it is OTTL_TRUE, @groups_ret has ottl_pattern_group_count() texts
 * inside @bytes: those without a match are empty, with bytes NULL.
 */
enum ottl_result ottl_pattern_extract(const struct ottl_pattern *pattern, const char *bytes,
				      size_t length, struct ottl_budget *budget,
				      struct profcol_text *groups_ret);

/* All groups, with a name or without, count from 1; capture 0 is the whole match. The number of the
 * named group @group. */
size_t ottl_pattern_capture_count(const struct ottl_pattern *pattern);
size_t ottl_pattern_capture_number(const struct ottl_pattern *pattern, size_t group);

/* As ottl_pattern_extract(), of all groups: @captures_ret has one text more than there are. */
enum ottl_result ottl_pattern_capture(const struct ottl_pattern *pattern, const char *bytes,
				      size_t length, struct ottl_budget *budget,
				      struct profcol_text *captures_ret);
