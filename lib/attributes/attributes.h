/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes of a batch as the Collector's processors treat them: properties that a list of
 * attributes matches, and actions that change it. Keys, rules and error texts are those of the
 * Collector 0.159 (its packages `attraction` and `filterconfig`); README.md has the differences.
 *
 * The only header of lib/attributes that other folders include.
 *
 * Threads: actions and matches are immutable once made, and may be used by several threads.
 */
#pragma once

#include "ottl/ottl.h"

#include <profcol/batch.h>
#include <profcol/errors.h>
#include <profcol/options.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whose attributes. Locations and mappings are entries of the dictionary, shared by all samples. */
enum attributes_level {
	ATTRIBUTES_RESOURCE,
	ATTRIBUTES_SAMPLE,
	ATTRIBUTES_LOCATION,
	ATTRIBUTES_MAPPING,
};

/* "resource", "sample", "location", "mapping"; for an option. */
extern const char *const attributes_level_names[];

/* ---- values (value.c) ---- */

enum { ATTRIBUTES_DOUBLE_MAX = 352 }; /* bytes of a double as text, NUL included */

/*
 * The text of a string, a boolean or a number, as patterns see it: doubles in the fewest digits,
 * without an exponent. It is the batch's, or in @space. False for other types.
 */
bool attributes_value_text(const struct profcol_batch *batch, const struct profcol_value *value,
			   char space[ATTRIBUTES_DOUBLE_MAX], struct profcol_text *ret);

/* ---- properties that match (match.c, match_config.c) ---- */

/* One of `attributes` or `resources`, and one of `libraries`. */
struct attributes_property_config {
	const char *key;
	struct profcol_any value;
};

struct attributes_library_config {
	const char *name;
	struct profcol_any version;
};

/* Accepted, without effect. */
struct attributes_regexp_config {
	bool cache_enabled;
	int64_t cache_max_entries;
};

/* Where `include` and `exclude` keep what is written in them. */
struct attributes_match_config {
	const char *match_type;
	struct attributes_regexp_config regexp;
	struct profcol_list services;
	struct profcol_sections attributes, resources; /* struct attributes_property_config */
	struct profcol_sections libraries;             /* struct attributes_library_config */
	/* Of other signals: an error. */
	struct profcol_list span_names, span_kinds, log_bodies, log_severity_texts, metric_names;
	bool log_severity_number_named;
};

extern const struct profcol_option attributes_match_options[];

struct attributes_match;

/*
 * CONFIG errors begin with @key, "include", and name what is meaningless at @level. *@ret is the
 * caller's to destroy, and written only on success.
 */
PROFCOL_MUST_CHECK struct profcol_error *
attributes_match_create(const struct attributes_match_config *config, enum attributes_level level,
			const char *key, struct attributes_match **ret);
void attributes_match_destroy(struct attributes_match *match); /* accepts NULL */

/*
 * Do resource and scope (rows of the batch) have what @match asks of them? At the level of
 * locations and mappings it asks nothing. OTTL_ERROR where a pattern cannot tell within its limit.
 */
enum ottl_result attributes_match_parents(const struct attributes_match *match,
					  const struct profcol_batch *batch, uint32_t resource,
					  uint32_t scope, struct ottl_budget *budget);

/* Does the attribute list of that id have it? */
enum ottl_result attributes_match_list(const struct attributes_match *match,
				       const struct profcol_batch *batch, uint32_t list,
				       struct ottl_budget *budget);

/* ---- actions (actions.c, edit.c) ---- */

struct attributes_action_config {
	const char *key, *action, *pattern, *from_attribute, *from_context, *converted_type;
	struct profcol_any value, default_value;
};

extern const struct profcol_option attributes_action_options[];

struct attributes_actions;

/*
 * The actions in @configs, of struct attributes_action_config, in their order. CONFIG errors, one
 * a line, begin with "KEY::INDEX". *@ret is the caller's to destroy, and written only on success.
 */
PROFCOL_MUST_CHECK struct profcol_error *
attributes_actions_create(const struct profcol_sections *configs, const char *key,
			  struct attributes_actions **ret);
void attributes_actions_destroy(struct attributes_actions *actions); /* accepts NULL */

/* Is one of them to make something unreadable: `delete` or `hash`? */
bool attributes_actions_hide(const struct attributes_actions *actions);

/* Does one of them ask for `from_context`, which no batch has? */
bool attributes_actions_use_context(const struct attributes_actions *actions);

/* ---- whole batches (transform.c) ---- */

struct attributes_transform {
	enum attributes_level level;
	const struct attributes_actions *actions;
	/* Which lists are changed: those that match @include, unless it is NULL, and do not match
	 * @exclude, unless it is NULL. Where a pattern cannot tell, actions that hide something
	 * change the list, and others do not. */
	const struct attributes_match *include, *exclude;
};

/*
 * *@ret is @batch with its attributes changed; a further reference to @batch itself when nothing
 * has changed. What was removed or replaced leaves no text behind: the result is then compact, or
 * marked for those who write it (profile_mark_unused()).
 */
PROFCOL_MUST_CHECK struct profcol_error *
attributes_transform(const struct attributes_transform *transform, struct profcol_batch *batch,
		     struct profcol_batch **ret);
