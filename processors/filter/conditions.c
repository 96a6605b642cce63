// SPDX-License-Identifier: Apache-2.0
#include "conditions.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CONTEXTS = OTTL_SAMPLE + 1,
	SHOWN_MAX = 256, /* bytes of a condition in a message */
};

struct condition {
	struct ottl_condition *compiled; /* owned */
	enum error_mode error_mode;
};

struct conditions {
	VECTOR(struct condition) by_context[CONTEXTS];
};

/* Where a list of conditions stands, and what holds for all of it. */
struct group {
	const char *key; /* of the messages: "profiles::resource" */
	int context;     /* CONTEXT_NOT_GIVEN, or 1 + enum ottl_context */
	enum error_mode error_mode;
};

static struct profcol_error *no_memory(void)
{
	return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
}

void conditions_destroy(struct conditions *conditions)
{
	if (!conditions)
		return;
	for (size_t context = 0; context < CONTEXTS; context++) {
		for (size_t i = 0; i < conditions->by_context[context].count; i++)
			ottl_condition_destroy(conditions->by_context[context].items[i].compiled);
		VECTOR_DEINIT(&conditions->by_context[context]);
	}
	free(conditions);
}

/* ---- making them ---- */

static struct profcol_error *take_condition(struct conditions *conditions,
					    const struct group *group, const char *text)
{
	struct condition condition = { .error_mode = group->error_mode };
	struct profcol_error *error;
	int last = 1 + OTTL_SAMPLE;
	enum ottl_context context;

	if (group->context == CONTEXT_NOT_GIVEN) {
		error = ottl_compile_inferred(text, &condition.compiled);
	} else {
		// The last word of the option is another one for the same context.
		context = (enum ottl_context)((group->context < last ? group->context : last) - 1);
		error = ottl_compile(context, text, &condition.compiled);
	}
	if (error)
		return error;
	context = ottl_condition_context(condition.compiled);
	if (VECTOR_PUSH(&conditions->by_context[context], condition))
		return NULL;
	ottl_condition_destroy(condition.compiled);
	return no_memory();
}

/* A condition for a message, which is one line. */
static void print_condition(const char *text, char to[SHOWN_MAX])
{
	int length = snprintf(to, SHOWN_MAX, "%s", text);

	if (length >= SHOWN_MAX)
		memcpy(to + SHOWN_MAX - sizeof("..."), "...", sizeof("..."));
	for (char *c = to; *c; c++)
		if (*c == '\n')
			*c = ' ';
}

static struct profcol_error *take_list(struct conditions *conditions, const struct group *group,
				       const struct profcol_list *list)
{
	struct profcol_error *error = NULL;
	char shown[SHOWN_MAX];

	for (size_t i = 0; i < list->count; i++) {
		print_condition(list->items[i], shown);
		error = profcol_error_join(
			error,
			profcol_error_prefix(take_condition(conditions, group, list->items[i]),
					     "%s::%zu: unable to parse OTTL condition \"%s\"",
					     group->key, i, shown));
	}
	return error;
}

static struct profcol_error *take_group(struct conditions *conditions,
					const struct filter_config *config, size_t index)
{
	const struct filter_group_config *groups = config->profile_conditions.items;
	const struct filter_group_config *from = &groups[index];
	char key[64];
	const struct group group = {
		.key = key,
		.context = from->context,
		.error_mode = (enum error_mode)(from->error_mode == ERROR_MODE_NOT_GIVEN
							? config->error_mode
							: from->error_mode - 1),
	};

	snprintf(key, sizeof(key), "profile_conditions::%zu::conditions", index);
	return take_list(conditions, &group, &from->conditions);
}

static struct profcol_error *take_all(struct conditions *conditions,
				      const struct filter_config *config)
{
	const struct group resource = { "profiles::resource", 1 + OTTL_RESOURCE,
					(enum error_mode)config->error_mode };
	const struct group profile = { "profiles::profile", 1 + OTTL_PROFILE,
				       (enum error_mode)config->error_mode };
	struct profcol_error *error = NULL;

	if (config->profile_conditions.count &&
	    (config->profiles.resource.count || config->profiles.profile.count))
		return profcol_error_create(
			PROFCOL_CONFIG,
			"profile_conditions: cannot use context inferred profile conditions "
			"\"profile_conditions\" and the settings \"profiles.resource\", "
			"\"profiles.profile\" at the same time; write the older ones as groups "
			"with 'context'");
	for (size_t i = 0; i < config->profile_conditions.count; i++)
		error = profcol_error_join(error, take_group(conditions, config, i));
	error = profcol_error_join(error,
				   take_list(conditions, &resource, &config->profiles.resource));
	return profcol_error_join(error,
				  take_list(conditions, &profile, &config->profiles.profile));
}

struct profcol_error *conditions_create(const struct filter_config *config, struct conditions **ret)
{
	struct conditions *conditions = calloc(1, sizeof(*conditions));
	struct profcol_error *error;

	if (!conditions)
		return no_memory();
	error = take_all(conditions, config);
	if (error)
		conditions_destroy(conditions);
	else
		*ret = conditions;
	return error;
}

/* ---- using them ---- */

bool conditions_has(const struct conditions *conditions, enum ottl_context context)
{
	return conditions->by_context[context].count > 0;
}

static void note_failure(struct condition_failures *failures, const struct condition *condition,
			 const struct ottl_run *run)
{
	const char *text = ottl_condition_text(condition->compiled);

	if (condition->error_mode == ERROR_MODE_PROPAGATE) {
		failures->refused = text;
		snprintf(failures->reason, sizeof(failures->reason), "%s", ottl_run_message(run));
		return;
	}
	if (condition->error_mode == ERROR_MODE_SILENT || failures->count++)
		return;
	failures->text = text;
	snprintf(failures->message, sizeof(failures->message), "%s", ottl_run_message(run));
}

bool conditions_match(const struct conditions *conditions, enum ottl_context context,
		      struct ottl_run *run, const struct ottl_position *position,
		      struct condition_failures *failures)
{
	for (size_t i = 0; i < conditions->by_context[context].count && !failures->refused; i++) {
		const struct condition *condition = &conditions->by_context[context].items[i];

		switch (ottl_evaluate(condition->compiled, run, position)) {
		case OTTL_TRUE:
			return true;
		case OTTL_FALSE:
			break;
		case OTTL_ERROR:
			note_failure(failures, condition, run);
			break;
		}
	}
	return false;
}
