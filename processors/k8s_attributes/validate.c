// SPDX-License-Identifier: Apache-2.0
#include "association.h"
#include "rules.h"

#include <stdlib.h>
#include <string.h>

static struct profcol_error *check_api(const struct k8s_attributes_config *config)
{
	static const char *const types[] = { "none", "serviceAccount", "kubeConfig" };
	struct profcol_error *error = NULL;
	size_t type = 0, count = sizeof(types) / sizeof(types[0]);

	while (type < count && strcmp(types[type], config->auth_type) != 0)
		type++;
	if (!strcmp(config->auth_type, "tls"))
		error = profcol_error_create(PROFCOL_CONFIG,
					     "auth_type: tls is not supported; use kubeConfig with "
					     "a client certificate");
	else if (type == count)
		error = profcol_error_create(PROFCOL_CONFIG,
					     "auth_type: invalid authType for kubernetes: %s; it "
					     "is serviceAccount, kubeConfig or none",
					     config->auth_type);
	if (config->kube_api_qps < 0)
		error = profcol_error_join(
			error, profcol_error_create(PROFCOL_CONFIG,
						    "kube_api_qps must be greater than 0"));
	if (config->kube_api_burst < 0)
		error = profcol_error_join(
			error, profcol_error_create(PROFCOL_CONFIG,
						    "kube_api_burst must be greater than 0"));
	return error;
}

static bool is_one_of(const char *word, const char *const *words)
{
	while (*words && strcmp(*words, word) != 0)
		words++;
	return *words;
}

static struct profcol_error *check_selectors(const struct profcol_sections *sections,
					     const char *key, const char *const *operators)
{
	const struct selector_config *selectors = sections->items;
	struct profcol_error *error = NULL;

	for (size_t i = 0; i < sections->count; i++) {
		if (is_one_of(selectors[i].op, operators))
			continue;
		error = profcol_error_join(
			error,
			profcol_error_create(PROFCOL_CONFIG,
					     "filter::%s::%zu: '%s' is not a valid label filter "
					     "operation for key=%s, value=%s",
					     key, i, selectors[i].op, selectors[i].key,
					     selectors[i].value));
	}
	return error;
}

static bool is_namespaces(const struct profcol_any *any)
{
	if (any->type == PROFCOL_ANY_NONE || any->type == PROFCOL_ANY_TEXT)
		return true;
	if (any->type != PROFCOL_ANY_LIST)
		return false;
	for (size_t i = 0; i < any->count; i++)
		if (any->items[i].type != PROFCOL_ANY_TEXT || !any->items[i].text[0])
			return false;
	return true;
}

static struct profcol_error *check_filter(const struct filter_config *filter)
{
	static const char *const of_labels[] = { "",       "equals",         "not-equals",
						 "exists", "does-not-exist", NULL };
	static const char *const of_fields[] = { "", "equals", "not-equals", NULL };
	const char *variable = filter->node_from_env_var;
	const char *node = variable[0] ? getenv(variable) : NULL;
	struct profcol_error *error = NULL;

	// An empty one would stand for all nodes.
	if (variable[0] && (!node || !node[0]))
		error = profcol_error_create(
			PROFCOL_CONFIG,
			"filter::node_from_env_var: `node_from_env_var` is configured but envvar "
			"\"%s\" is %s; set it in the pod, from the field spec.nodeName",
			variable, node ? "empty" : "not set");
	if (!is_namespaces(&filter->namespace))
		error = profcol_error_join(
			error, profcol_error_create(PROFCOL_CONFIG,
						    "filter::namespace: expected a name, or a list "
						    "of names"));
	error = profcol_error_join(error, check_selectors(&filter->labels, "labels", of_labels));
	return profcol_error_join(error, check_selectors(&filter->fields, "fields", of_fields));
}

static struct profcol_error *check_sources(const struct association_config *rule, size_t at)
{
	const struct association_source_config *sources = rule->sources.items;
	struct profcol_error *error = NULL;

	if (rule->sources.count > ASSOCIATION_SOURCES_MAX)
		error = profcol_error_create(
			PROFCOL_CONFIG,
			"pod_association::%zu::sources: too many association sources. limit is %d",
			at, ASSOCIATION_SOURCES_MAX);
	for (size_t i = 0; i < rule->sources.count; i++) {
		bool by_attribute = !strcmp(sources[i].from, "resource_attribute");

		if (!by_attribute && strcmp(sources[i].from, "connection") != 0)
			error = profcol_error_join(
				error, profcol_error_create(
					       PROFCOL_CONFIG,
					       "pod_association::%zu::sources::%zu: from '%s' is "
					       "neither resource_attribute nor connection",
					       at, i, sources[i].from));
		else if (by_attribute && !sources[i].name[0])
			error = profcol_error_join(
				error,
				profcol_error_create(PROFCOL_CONFIG,
						     "pod_association::%zu::sources::%zu: name the "
						     "attribute of the resource",
						     at, i));
	}
	return error;
}

static struct profcol_error *check_association(const struct profcol_sections *sections)
{
	const struct association_config *rules = sections->items;
	struct profcol_error *error = NULL;

	for (size_t i = 0; i < sections->count; i++)
		error = profcol_error_join(error, check_sources(&rules[i], i));
	return error;
}

struct profcol_error *k8s_attributes_config_validate(const struct k8s_attributes_config *config)
{
	struct profcol_error *error = check_api(config);
	struct rules *rules = NULL;

	error = profcol_error_join(error, check_filter(&config->filter));
	error = profcol_error_join(error, check_association(&config->pod_association));
	error = profcol_error_join(error, rules_create(config, &rules));
	rules_destroy(rules);
	return error;
}
