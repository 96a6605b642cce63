// SPDX-License-Identifier: Apache-2.0
#include "apply.h"

#include "profile/profile.h"

#include <stdio.h>

const struct profcol_batch *applying_batch(const struct applying *applying)
{
	return profcol_builder_peek(applying->builder);
}

/* ---- one row ---- */

static void note_failure(struct applying *applying, const struct group *group, const char *text)
{
	struct failures *failures = applying->failures;

	applying->failed++;
	if (group->error_mode == ERROR_MODE_PROPAGATE) {
		failures->refused = text;
		snprintf(failures->reason, sizeof(failures->reason), "%s",
			 ottl_run_message(applying->run));
		return;
	}
	if (group->error_mode == ERROR_MODE_SILENT || failures->count++)
		return;
	failures->text = text;
	snprintf(failures->message, sizeof(failures->message), "%s",
		 ottl_run_message(applying->run));
}

/* Is one of the group's conditions true, or is there none? */
static bool is_wanted(struct applying *applying, const struct group *group,
		      const struct ottl_position *position)
{
	if (!group->conditions.count)
		return true;
	for (size_t i = 0; i < group->conditions.count && !applying->failures->refused; i++) {
		const struct ottl_condition *condition = group->conditions.items[i];

		switch (ottl_evaluate(condition, applying->run, position)) {
		case OTTL_TRUE:
			return true;
		case OTTL_FALSE:
			break;
		case OTTL_ERROR:
			note_failure(applying, group, ottl_condition_text(condition));
			break;
		}
	}
	return false;
}

void apply_row(struct applying *applying, const struct group *group, struct ottl_position *position)
{
	ottl_run_begin_row(applying->run);
	if (!is_wanted(applying, group, position))
		return;
	for (size_t i = 0; i < group->statements.count && !applying->failures->refused; i++) {
		const struct ottl_statement *statement = group->statements.items[i];

		switch (ottl_execute(statement, applying->run, position)) {
		case OTTL_TRUE:
			applying->has_changed = true;
			break;
		case OTTL_FALSE:
			break;
		case OTTL_ERROR:
			note_failure(applying, group, ottl_statement_text(statement));
			break;
		}
	}
}

/* ---- resources, scopes, profiles ---- */

static void apply_to_scope(struct applying *applying, const struct group *group,
			   struct ottl_position *position)
{
	struct profcol_range profiles;

	if (group->context == OTTL_SCOPE) {
		apply_row(applying, group, position);
		return;
	}
	profcol_batch_scope(applying_batch(applying), position->scope, &profiles);
	for (uint32_t row = profiles.begin; row < profiles.end && !applying->failures->refused;
	     row++) {
		position->profile = row;
		apply_row(applying, group, position);
	}
}

static void apply_to_resource(struct applying *applying, const struct group *group,
			      struct ottl_position *position)
{
	struct profcol_range scopes;

	if (group->context == OTTL_RESOURCE) {
		apply_row(applying, group, position);
		return;
	}
	profcol_batch_resource(applying_batch(applying), position->resource, &scopes);
	for (uint32_t row = scopes.begin; row < scopes.end && !applying->failures->refused; row++) {
		position->scope = row;
		apply_to_scope(applying, group, position);
	}
}

static void apply_tree(struct applying *applying, const struct group *group)
{
	uint32_t count = profcol_batch_count(applying_batch(applying), PROFCOL_RESOURCES);
	struct ottl_position position = { 0 };

	for (uint32_t row = 0; row < count && !applying->failures->refused; row++) {
		position.resource = row;
		apply_to_resource(applying, group, &position);
	}
}

/* ---- all of it ---- */

static void apply_group(struct applying *applying, const struct group *group)
{
	switch (group->context) {
	case OTTL_RESOURCE:
	case OTTL_SCOPE:
	case OTTL_PROFILE:
		apply_tree(applying, group);
		break;
	case OTTL_SAMPLE:
		apply_samples(applying, group);
		break;
	case OTTL_FRAME:
		apply_frames(applying, group);
		break;
	case OTTL_MAPPING:
		apply_mappings(applying, group);
		break;
	}
}

static void applying_deinit(struct applying *applying)
{
	ottl_run_destroy(applying->run);
	profcol_builder_destroy(applying->builder);
}

static struct profcol_error *no_memory(void)
{
	return profcol_error_create(PROFCOL_NO_MEMORY, "transform: out of memory");
}

static struct profcol_error *finish(struct applying *applying, bool is_of_dictionary,
				    struct profcol_batch **ret)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *edited = NULL;
	struct profcol_error *error;

	// What is gone is still in what the profiles were made from.
	if (ottl_run_has_removed(applying->run)) {
		profile_clear_payloads(applying->builder);
		profile_mark_unused(applying->builder);
	}
	error = profcol_builder_seal(TAKE(applying->builder), &edited);
	// Entries that have become equal have to become one.
	if (!error && is_of_dictionary)
		error = profile_compact(edited, ret);
	else if (!error)
		*ret = TAKE(edited);
	return profcol_error_prefix(error, "transform");
}

struct profcol_error *apply_groups(const struct groups *groups, struct profcol_batch *batch,
				   struct failures *failures, struct profcol_batch **ret)
{
	struct applying applying CLEANUP(applying_deinit) = {
		.builder = profcol_builder_from(batch),
		.failures = failures,
	};
	bool is_of_dictionary = false;

	*ret = NULL;
	if (applying.builder)
		applying.run = ottl_run_create_editing(applying.builder);
	if (!applying.run)
		return no_memory();
	for (size_t i = 0; i < groups->items.count && !failures->refused; i++) {
		const struct group *group = &groups->items.items[i];

		is_of_dictionary |= group->context == OTTL_FRAME || group->context == OTTL_MAPPING;
		apply_group(&applying, group);
	}
	if (applying.has_no_memory)
		return no_memory();
	if (failures->refused)
		return NULL;
	if (applying.has_changed)
		return finish(&applying, is_of_dictionary, ret);
	*ret = profcol_batch_ref(batch);
	return NULL;
}
