// SPDX-License-Identifier: Apache-2.0
#include "selection.h"

#include "attributes/attributes.h"
#include "base/base.h"
#include "ottl/ottl.h"

#include <stdlib.h>
#include <string.h>

enum { LEVELS = ATTRIBUTES_MAPPING + 1 };

/* What is found out of a list or a stack. */
enum { FLAG_KNOWN = 1, FLAG_INCLUDED = 2, FLAG_EXCLUDED = 4 };

struct rule {
	const struct filter_rule_config *config; /* borrowed */
	size_t key_length;
	VECTOR(struct ottl_pattern *) patterns; /* owned */
};

struct rules {
	struct rule *items; /* owned */
	size_t count;
};

struct selection {
	struct rules include, exclude;
	bool uses[LEVELS];
};

struct look {
	const struct selection *selection; /* borrowed */
	const struct profcol_batch *batch; /* borrowed */
	uint8_t *lists[LEVELS];            /* owned; flags by list, of the levels in use */
	uint8_t *stacks;                   /* owned; flags by stack */
	struct ottl_budget matches;
};

static struct profcol_error *no_memory(void)
{
	return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
}

/* ---- making one ---- */

static struct profcol_error *rule_init(struct rule *rule, const struct filter_rule_config *config)
{
	const struct profcol_list *regexes = &config->regexes;

	rule->config = config;
	rule->key_length = strlen(config->key);
	if (!VECTOR_RESERVE(&rule->patterns, regexes->count))
		return no_memory();
	for (size_t i = 0; i < regexes->count; i++) {
		struct ottl_pattern **pattern = &rule->patterns.items[rule->patterns.count];
		struct profcol_error *error =
			ottl_pattern_create(regexes->items[i], strlen(regexes->items[i]), pattern);

		if (error)
			return profcol_error_prefix(error, "regexes::%zu", i);
		rule->patterns.count++;
	}
	return NULL;
}

static void rules_deinit(struct rules *rules)
{
	for (size_t i = 0; i < rules->count; i++) {
		for (size_t j = 0; j < rules->items[i].patterns.count; j++)
			ottl_pattern_destroy(rules->items[i].patterns.items[j]);
		VECTOR_DEINIT(&rules->items[i].patterns);
	}
	free(rules->items);
}

static struct profcol_error *rules_init(struct rules *rules, const struct profcol_sections *configs,
					const char *key, bool uses[LEVELS])
{
	const struct filter_rule_config *items = configs->items;
	struct profcol_error *error = NULL;

	rules->items = calloc(configs->count + 1, sizeof(*rules->items));
	if (!rules->items)
		return no_memory();
	for (size_t i = 0; i < configs->count; i++) {
		uses[items[i].level] = true;
		rules->count++;
		error = profcol_error_join(
			error, profcol_error_prefix(rule_init(&rules->items[i], &items[i]),
						    "%s::%zu", key, i));
	}
	return error;
}

struct profcol_error *selection_create(const struct filter_config *config, struct selection **ret)
{
	struct selection *selection = calloc(1, sizeof(*selection));
	struct profcol_error *error;

	if (!selection)
		return no_memory();
	error = rules_init(&selection->include, &config->include_attributes, "include_attributes",
			   selection->uses);
	error = profcol_error_join(error,
				   rules_init(&selection->exclude, &config->exclude_attributes,
					      "exclude_attributes", selection->uses));
	if (error)
		selection_destroy(selection);
	else
		*ret = selection;
	return error;
}

void selection_destroy(struct selection *selection)
{
	if (!selection)
		return;
	rules_deinit(&selection->include);
	rules_deinit(&selection->exclude);
	free(selection);
}

bool selection_is_empty(const struct selection *selection)
{
	return !selection->include.count && !selection->exclude.count;
}

/* ---- looking ---- */

struct look *look_create(const struct selection *selection, const struct profcol_batch *batch)
{
	uint32_t lists = profcol_batch_count(batch, PROFCOL_ATTRIBUTE_LISTS);
	struct look *look = calloc(1, sizeof(*look));
	bool fine;

	if (!look)
		return NULL;
	look->selection = selection;
	look->batch = batch;
	look->stacks = calloc(profcol_batch_count(batch, PROFCOL_STACKS) + 1, 1);
	fine = look->stacks;
	for (size_t level = 0; level < LEVELS; level++) {
		if (!selection->uses[level])
			continue;
		look->lists[level] = calloc(lists + 1, 1);
		fine = fine && look->lists[level];
	}
	if (fine)
		return look;
	look_destroy(look);
	return NULL;
}

void look_destroy(struct look *look)
{
	if (!look)
		return;
	for (size_t level = 0; level < LEVELS; level++)
		free(look->lists[level]);
	free(look->stacks);
	free(look);
}

/* A pattern that cannot tell within its limit gives @doubtful. */
static bool rule_accepts(const struct rule *rule, const struct profcol_batch *batch,
			 const struct profcol_value *value, struct ottl_budget *budget,
			 bool doubtful)
{
	const struct profcol_list *values = &rule->config->values;
	char space[ATTRIBUTES_DOUBLE_MAX];
	struct profcol_text text;

	if (!values->count && !rule->patterns.count)
		return true;
	if (!attributes_value_text(batch, value, space, &text))
		return false;
	for (size_t i = 0; i < values->count; i++)
		if (strlen(values->items[i]) == text.length &&
		    !memcmp(values->items[i], text.bytes, text.length))
			return true;
	for (size_t i = 0; i < rule->patterns.count; i++) {
		enum ottl_result result = ottl_pattern_match(rule->patterns.items[i], text.bytes,
							     text.length, budget);

		if (result == OTTL_ERROR ? doubtful : result == OTTL_TRUE)
			return true;
	}
	return false;
}

static bool rules_match(struct look *look, const struct rules *rules, enum attributes_level level,
			const struct profcol_attribute *attribute, bool doubtful)
{
	struct profcol_text key = profcol_batch_string(look->batch, attribute->key);

	for (size_t i = 0; i < rules->count; i++) {
		const struct rule *rule = &rules->items[i];

		if (rule->config->level == (int)level && rule->key_length == key.length &&
		    !memcmp(rule->config->key, key.bytes, key.length) &&
		    rule_accepts(rule, look->batch, &attribute->value, &look->matches, doubtful))
			return true;
	}
	return false;
}

static uint8_t look_at_list(struct look *look, enum attributes_level level, uint32_t list)
{
	uint8_t *flags = look->lists[level] ? &look->lists[level][list] : NULL;
	const uint32_t *ids;
	uint32_t count;

	if (!flags)
		return 0;
	if (*flags)
		return *flags;
	*flags = FLAG_KNOWN;
	ids = profcol_batch_attribute_list(look->batch, list, &count);
	for (uint32_t i = 0; i < count; i++) {
		struct profcol_attribute attribute = profcol_batch_attribute(look->batch, ids[i]);

		if (rules_match(look, &look->selection->include, level, &attribute, false))
			*flags |= FLAG_INCLUDED;
		if (rules_match(look, &look->selection->exclude, level, &attribute, true))
			*flags |= FLAG_EXCLUDED;
	}
	return *flags;
}

static uint8_t look_at_stack(struct look *look, uint32_t stack)
{
	uint8_t flags = look->stacks[stack];
	const uint32_t *ids;
	uint32_t count;

	if (flags)
		return flags;
	flags = FLAG_KNOWN;
	ids = profcol_batch_stack(look->batch, stack, &count);
	for (uint32_t i = 0; i < count; i++) {
		struct profcol_location location = profcol_batch_location(look->batch, ids[i]);
		struct profcol_mapping mapping =
			profcol_batch_mapping(look->batch, location.mapping);

		flags |= look_at_list(look, ATTRIBUTES_LOCATION, location.attributes);
		if (location.mapping)
			flags |= look_at_list(look, ATTRIBUTES_MAPPING, mapping.attributes);
	}
	look->stacks[stack] = flags;
	return flags;
}

enum look_result look_at(struct look *look, uint32_t list, const struct profcol_sample *sample)
{
	const struct selection *selection = look->selection;
	uint8_t flags = look_at_list(look, ATTRIBUTES_RESOURCE, list) |
			look_at_list(look, ATTRIBUTES_SAMPLE, sample->attributes);

	if (selection->uses[ATTRIBUTES_LOCATION] || selection->uses[ATTRIBUTES_MAPPING])
		flags |= look_at_stack(look, sample->stack);
	if (flags & FLAG_EXCLUDED)
		return LOOK_EXCLUDED;
	return selection->include.count && !(flags & FLAG_INCLUDED) ? LOOK_NOT_INCLUDED : LOOK_KEPT;
}
