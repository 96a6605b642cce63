// SPDX-License-Identifier: Apache-2.0
#include "rules.h"

#include "processes/processes.h"

#include "base/base.h"
#include "ottl/ottl.h"

#include <inttypes.h>
#include <string.h>

/* Copies of one section of `values` and `regexes`. */
struct text_condition {
	VECTOR(char *) values;                  /* owned, each of them */
	VECTOR(struct ottl_pattern *) patterns; /* owned, each of them */
};

struct rule {
	struct text_condition executable, comm, cgroup, container_id;
	int64_t uid;   /* negative: any */
	int pid_index; /* negative: any */
};

struct rule_list {
	struct rule *items; /* owned */
	size_t count;
};

struct select_rules {
	struct rule_list include, exclude;
	unsigned int needs;
	uint32_t pids[SELECT_MAX_PIDS];
	size_t pid_count;
};

/* In three values: what is not known may be either. */
enum answer { NO, YES, UNKNOWN };

static struct profcol_error *no_memory(void)
{
	return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
}

/* ---- making them ---- */

static bool is_given(const struct select_text_config *config)
{
	return config->values.count || config->regexes.count;
}

/* Room for where something is wrong: "select::include::0". */
enum { KEY_SIZE = 48 };

static struct profcol_error *values_init(struct text_condition *condition,
					 const struct profcol_list *values, const char *key,
					 const char *name)
{
	struct profcol_error *error = NULL;

	if (!VECTOR_RESERVE(&condition->values, values->count))
		return no_memory();
	for (size_t i = 0; i < values->count; i++) {
		char *value = strdup(values->items[i]);

		if (!value)
			return profcol_error_join(error, no_memory());
		condition->values.items[condition->values.count++] = value;
		if (!*value)
			error = profcol_error_join(
				error, profcol_error_create(
					       PROFCOL_CONFIG,
					       "%s::%s::values::%zu: is empty; remove it, or use "
					       "the pattern '^$' for what has none",
					       key, name, i));
	}
	return error;
}

static struct profcol_error *text_init(struct text_condition *condition,
				       const struct select_text_config *config, const char *key,
				       const char *name)
{
	const struct profcol_list *regexes = &config->regexes;
	struct profcol_error *error = values_init(condition, &config->values, key, name);

	if (!VECTOR_RESERVE(&condition->patterns, regexes->count))
		return profcol_error_join(error, no_memory());
	for (size_t i = 0; i < regexes->count; i++) {
		struct ottl_pattern *pattern;
		struct profcol_error *fault =
			ottl_pattern_create(regexes->items[i], strlen(regexes->items[i]), &pattern);

		if (!fault)
			condition->patterns.items[condition->patterns.count++] = pattern;
		error = profcol_error_join(
			error, profcol_error_prefix(fault, "%s::%s::regexes::%zu", key, name, i));
	}
	return error;
}

/* The kernel cuts names: a longer one never matches. */
static struct profcol_error *check_comms(const struct profcol_list *values, const char *key)
{
	enum { COMM_LENGTH = 15 };
	struct profcol_error *error = NULL;

	for (size_t i = 0; i < values->count; i++)
		if (strlen(values->items[i]) > COMM_LENGTH)
			error = profcol_error_join(
				error, profcol_error_create(
					       PROFCOL_CONFIG,
					       "%s::comm::values::%zu: '%.100s' is longer than the "
					       "name of any process; write '%.15s'",
					       key, i, values->items[i], values->items[i]));
	return error;
}

/* A path is absolute, or else it is not one that is ever seen. */
static struct profcol_error *check_paths(const struct profcol_list *values, const char *key,
					 const char *name)
{
	struct profcol_error *error = NULL;

	for (size_t i = 0; i < values->count; i++)
		if (values->items[i][0] && values->items[i][0] != '/')
			error = profcol_error_join(
				error, profcol_error_create(
					       PROFCOL_CONFIG,
					       "%s::%s::values::%zu: '%.100s' does not begin with "
					       "'/'; write the whole path, or use regexes",
					       key, name, i, values->items[i]));
	return error;
}

static bool is_container_id(const char *value)
{
	char line[sizeof("0::/") + CONTAINER_ID_SIZE], found[CONTAINER_ID_SIZE];

	if (strlen(value) >= CONTAINER_ID_SIZE)
		return false;
	snprintf(line, sizeof(line), "0::/%s", value);
	return container_id_parse(line, strlen(line), found) && !strcmp(found, value);
}

static struct profcol_error *check_containers(const struct profcol_list *values, const char *key)
{
	struct profcol_error *error = NULL;

	for (size_t i = 0; i < values->count; i++)
		if (values->items[i][0] && !is_container_id(values->items[i]))
			error = profcol_error_join(
				error,
				profcol_error_create(
					PROFCOL_CONFIG,
					"%s::container_id::values::%zu: '%.100s' is no whole id, "
					"which has 64 hexadecimal digits, or 32, '-' and a number; "
					"for how one begins write regexes: ['^0123456789ab']",
					key, i, values->items[i]));
	return error;
}

static struct profcol_error *check_values(const struct select_rule_config *config, const char *key)
{
	struct profcol_error *error = check_paths(&config->executable.values, key, "executable");

	error = profcol_error_join(error, check_comms(&config->comm.values, key));
	error = profcol_error_join(error, check_paths(&config->cgroup.values, key, "cgroup"));
	return profcol_error_join(error, check_containers(&config->container_id.values, key));
}

static struct profcol_error *add_pid(struct select_rules *rules, uint32_t pid, const char *key,
				     int *ret)
{
	size_t at = 0;

	while (at < rules->pid_count && rules->pids[at] != pid)
		at++;
	if (at == SELECT_MAX_PIDS)
		return profcol_error_create(PROFCOL_CONFIG,
					    "%s::pid: there are more than %d different ones; "
					    "select them by something that they have in common",
					    key, SELECT_MAX_PIDS);
	if (at == rules->pid_count)
		rules->pids[rules->pid_count++] = pid;
	*ret = (int)at;
	return NULL;
}

static unsigned int needs_of(const struct select_rule_config *config)
{
	return (is_given(&config->executable) ? SELECT_EXECUTABLE : 0u) |
	       (is_given(&config->comm) ? SELECT_COMM : 0u) |
	       (is_given(&config->cgroup) || is_given(&config->container_id) ? SELECT_CGROUP : 0u) |
	       (config->uid >= 0 ? SELECT_UID : 0u) | (config->pid > 0 ? SELECT_LINEAGE : 0u);
}

static struct profcol_error *rule_init(struct select_rules *rules, struct rule *rule,
				       const struct select_rule_config *config, const char *key)
{
	struct {
		struct text_condition *condition;
		const struct select_text_config *config;
		const char *name;
	} texts[] = {
		{ &rule->executable, &config->executable, "executable" },
		{ &rule->comm, &config->comm, "comm" },
		{ &rule->cgroup, &config->cgroup, "cgroup" },
		{ &rule->container_id, &config->container_id, "container_id" },
	};
	struct profcol_error *error;

	*rule = (struct rule){ .uid = config->uid, .pid_index = -1 };
	if (!needs_of(config))
		return profcol_error_create(
			PROFCOL_CONFIG,
			"%s: no condition, so that it would hold for every process; "
			"add executable, comm, cgroup, container_id, uid or pid",
			key);
	rules->needs |= needs_of(config);
	error = check_values(config, key);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		error = profcol_error_join(
			error, text_init(texts[i].condition, texts[i].config, key, texts[i].name));
	if (config->pid > 0)
		error = profcol_error_join(
			error, add_pid(rules, (uint32_t)config->pid, key, &rule->pid_index));
	return error;
}

static struct profcol_error *list_init(struct select_rules *rules, struct rule_list *list,
				       const struct profcol_sections *configs, const char *name)
{
	const struct select_rule_config *items = configs->items;
	struct profcol_error *error = NULL;
	char key[KEY_SIZE];

	list->items = calloc(configs->count + 1, sizeof(*list->items));
	if (!list->items)
		return no_memory();
	for (size_t i = 0; i < configs->count; i++) {
		snprintf(key, sizeof(key), "select::%s::%zu", name, i);
		error = profcol_error_join(
			error, rule_init(rules, &list->items[list->count++], &items[i], key));
	}
	return error;
}

struct profcol_error *select_rules_create(const struct select_config *config,
					  struct select_rules **ret)
{
	struct select_rules *rules = calloc(1, sizeof(*rules));
	struct profcol_error *error;

	if (!rules)
		return no_memory();
	error = list_init(rules, &rules->include, &config->include, "include");
	error = profcol_error_join(error,
				   list_init(rules, &rules->exclude, &config->exclude, "exclude"));
	if (error)
		select_rules_destroy(rules);
	else
		*ret = rules;
	return error;
}

static void text_deinit(struct text_condition *condition)
{
	for (size_t i = 0; i < condition->values.count; i++)
		free(condition->values.items[i]);
	for (size_t i = 0; i < condition->patterns.count; i++)
		ottl_pattern_destroy(condition->patterns.items[i]);
	VECTOR_DEINIT(&condition->values);
	VECTOR_DEINIT(&condition->patterns);
}

static void list_deinit(struct rule_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		text_deinit(&list->items[i].executable);
		text_deinit(&list->items[i].comm);
		text_deinit(&list->items[i].cgroup);
		text_deinit(&list->items[i].container_id);
	}
	free(list->items);
}

void select_rules_destroy(struct select_rules *rules)
{
	if (!rules)
		return;
	list_deinit(&rules->include);
	list_deinit(&rules->exclude);
	free(rules);
}

bool select_rules_are_empty(const struct select_rules *rules)
{
	return !rules->include.count && !rules->exclude.count;
}

unsigned int select_rules_needs(const struct select_rules *rules)
{
	return rules->needs;
}

size_t select_rules_pid_count(const struct select_rules *rules)
{
	return rules->pid_count;
}

uint32_t select_rules_pid(const struct select_rules *rules, size_t index)
{
	return rules->pids[index];
}

uint64_t select_rules_translate(const struct select_rules *rules, uint64_t lineage,
				const struct select_rules *others)
{
	uint64_t translated = 0;

	for (size_t i = 0; i < rules->pid_count; i++)
		for (size_t j = 0; lineage >> i & 1 && j < others->pid_count; j++)
			if (rules->pids[i] == others->pids[j])
				translated |= 1ull << j;
	return translated;
}

/* ---- judging ---- */

static enum answer both(enum answer left, enum answer right)
{
	if (left == NO || right == NO)
		return NO;
	return left == YES ? right : left;
}

static enum answer either(enum answer left, enum answer right)
{
	if (left == YES || right == YES)
		return YES;
	return left == NO ? right : left;
}

static enum answer answer_of(bool holds)
{
	return holds ? YES : NO;
}

static bool is_asked(const struct text_condition *condition)
{
	return condition->values.count || condition->patterns.count;
}

/* Is @text the path @value, or does it lie below? */
static bool is_within(const char *text, size_t length, const char *value)
{
	size_t wanted = strlen(value);

	while (wanted > 1 && value[wanted - 1] == '/')
		wanted--;
	if (wanted == 1 && *value == '/')
		return true;
	return length >= wanted && !memcmp(text, value, wanted) &&
	       (length == wanted || text[wanted] == '/');
}

static enum answer text_holds(const struct text_condition *condition, const char *text,
			      size_t length, bool is_path)
{
	enum answer answer = NO;

	for (size_t i = 0; i < condition->values.count && answer != YES; i++) {
		const char *value = condition->values.items[i];

		answer = answer_of(is_path ? is_within(text, length, value)
					   : strlen(value) == length &&
						     !memcmp(text, value, length));
	}
	for (size_t i = 0; i < condition->patterns.count && answer != YES; i++) {
		enum ottl_result result =
			ottl_pattern_match(condition->patterns.items[i], text, length, NULL);

		answer = either(answer,
				result == OTTL_ERROR ? UNKNOWN : answer_of(result == OTTL_TRUE));
	}
	return answer;
}

/* One of the paths in lines of "hierarchy:controllers:path" is it. */
static enum answer cgroup_holds(const struct text_condition *condition, const char *text,
				size_t length)
{
	const char *end = text + length;
	enum answer answer = NO;

	while (text < end && answer != YES) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *line_end = newline ? newline : end, *path;

		path = memchr(text, ':', (size_t)(line_end - text));
		if (path)
			path = memchr(path + 1, ':', (size_t)(line_end - path - 1));
		if (path)
			answer = either(answer, text_holds(condition, path + 1,
							   (size_t)(line_end - path - 1), true));
		text = newline ? newline + 1 : end;
	}
	return answer;
}

static enum answer container_holds(const struct text_condition *condition,
				   const struct select_facts *facts)
{
	char id[CONTAINER_ID_SIZE];

	container_id_parse(facts->cgroups, facts->cgroups_length, id);
	return text_holds(condition, id, strlen(id), false);
}

static enum answer rule_holds(const struct rule *rule, const struct select_facts *facts)
{
	unsigned int known = facts->known;
	enum answer answer = YES;

	if (rule->pid_index >= 0)
		answer = known & SELECT_LINEAGE ? answer_of(facts->lineage >> rule->pid_index & 1)
						: UNKNOWN;
	if (rule->uid >= 0)
		answer = both(answer,
			      known & SELECT_UID ? answer_of(facts->uid == rule->uid) : UNKNOWN);
	if (is_asked(&rule->executable) && answer != NO)
		answer = both(answer, known & SELECT_EXECUTABLE
					      ? text_holds(&rule->executable, facts->executable,
							   strlen(facts->executable), false)
					      : UNKNOWN);
	if (is_asked(&rule->comm) && answer != NO)
		answer = both(answer, known & SELECT_COMM ? text_holds(&rule->comm, facts->comm,
								       strlen(facts->comm), false)
							  : UNKNOWN);
	if (is_asked(&rule->cgroup) && answer != NO)
		answer = both(answer, known & SELECT_CGROUP
					      ? cgroup_holds(&rule->cgroup, facts->cgroups,
							     facts->cgroups_length)
					      : UNKNOWN);
	if (is_asked(&rule->container_id) && answer != NO)
		answer = both(answer, known & SELECT_CGROUP
					      ? container_holds(&rule->container_id, facts)
					      : UNKNOWN);
	return answer;
}

static enum answer list_holds(const struct rule_list *list, const struct select_facts *facts)
{
	enum answer answer = NO;

	for (size_t i = 0; i < list->count && answer != YES; i++)
		answer = either(answer, rule_holds(&list->items[i], facts));
	return answer;
}

enum select_verdict select_rules_judge(const struct select_rules *rules,
				       const struct select_facts *facts)
{
	enum answer included = rules->include.count ? list_holds(&rules->include, facts) : YES;
	enum answer excluded = included == NO ? NO : list_holds(&rules->exclude, facts);

	if (included == NO || excluded == YES)
		return SELECT_UNSELECTED;
	return included == YES && excluded == NO ? SELECT_SELECTED : SELECT_UNDECIDABLE;
}
