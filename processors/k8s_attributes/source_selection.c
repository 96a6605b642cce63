// SPDX-License-Identifier: Apache-2.0
#include "source_selection.h"

#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static struct k8s_selector *copy_selectors(const struct k8s_selector *selectors, size_t count,
					   bool *fine)
{
	struct k8s_selector *copies = calloc(count + 1, sizeof(*copies));

	for (size_t i = 0; copies && i < count; i++) {
		copies[i].key = strdup(selectors[i].key);
		copies[i].value = strdup(selectors[i].value ? selectors[i].value : "");
		copies[i].relation = selectors[i].relation;
		*fine &= copies[i].key && copies[i].value;
	}
	*fine &= copies != NULL;
	return copies;
}

struct selection *source_selection_create(const struct k8s_source_settings *settings)
{
	struct selection *selection = calloc(1, sizeof(*selection));
	bool fine = true;

	if (!selection)
		return NULL;
	selection->fields = copy_selectors(settings->fields, settings->field_count, &fine);
	selection->field_count = selection->fields ? settings->field_count : 0;
	selection->labels = copy_selectors(settings->labels, settings->label_count, &fine);
	selection->label_count = selection->labels ? settings->label_count : 0;
	selection->node = strdup(settings->node ? settings->node : "");
	selection->namespaces =
		calloc(settings->namespace_count + 1, sizeof(*selection->namespaces));
	for (size_t i = 0; selection->namespaces && i < settings->namespace_count; i++) {
		selection->namespaces[i] = strdup(settings->namespaces[i]);
		fine &= selection->namespaces[i] != NULL;
		selection->namespace_count++;
	}
	if (fine && selection->node && selection->namespaces)
		return selection;
	source_selection_destroy(selection);
	return NULL;
}

static void free_selectors(struct k8s_selector *selectors, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free((void *)(uintptr_t)selectors[i].key);
		free((void *)(uintptr_t)selectors[i].value);
	}
	free(selectors);
}

void source_selection_destroy(struct selection *selection)
{
	if (!selection)
		return;
	free_selectors(selection->fields, selection->field_count);
	free_selectors(selection->labels, selection->label_count);
	for (size_t i = 0; i < selection->namespace_count; i++)
		free(selection->namespaces[i]);
	free(selection->namespaces);
	free(selection->node);
	free(selection);
}

/* ---- as a query ---- */

void source_selection_encode(FILE *to, const char *before, const char *text)
{
	fputs(before, to);
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if (isalnum(byte) || strchr("-._~", byte))
			fputc(byte, to);
		else
			fprintf(to, "%%%02X", byte);
	}
}

/* Values of fields may have what separates them. */
static void print_field_value(FILE *to, const char *value)
{
	for (; *value; value++) {
		if (strchr("\\,=", *value))
			fputc('\\', to);
		fputc(*value, to);
	}
}

/* "key=value,key!=value,key,!key" */
static void print_selector(FILE *to, const struct k8s_selector *selector, bool field)
{
	const char *separator = ftell(to) ? "," : "";

	switch (selector->relation) {
	case K8S_EXISTS:
		fprintf(to, "%s%s", separator, selector->key);
		return;
	case K8S_DOES_NOT_EXIST:
		fprintf(to, "%s!%s", separator, selector->key);
		return;
	default:
		break;
	}
	fprintf(to, "%s%s%s", separator, selector->key,
		selector->relation == K8S_NOT_EQUALS ? "!=" : "=");
	if (field)
		print_field_value(to, selector->value);
	else
		fputs(selector->value, to);
}

/* What the API server calls a field selector; free(), NULL without memory. */
static char *print_fields(const struct selection *selection, enum k8s_kind kind)
{
	struct k8s_selector only = { .key = "metadata.name" };
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	if (kind == K8S_POD && selection->node[0])
		only = (struct k8s_selector){ "spec.nodeName", selection->node, K8S_EQUALS };
	else if (kind == K8S_NODE && selection->node[0])
		only.value = selection->node;
	else if (kind == K8S_CLUSTER)
		only.value = "kube-system";
	else if (kind == K8S_NAMESPACE && selection->namespace_count == 1)
		only.value = selection->namespaces[0];
	if (only.value)
		print_selector(to, &only, true);
	for (size_t i = 0; kind == K8S_POD && i < selection->field_count; i++)
		print_selector(to, &selection->fields[i], true);
	if (fclose(to)) {
		free(text);
		return NULL;
	}
	return text;
}

static char *print_labels(const struct selection *selection, enum k8s_kind kind)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	for (size_t i = 0; kind == K8S_POD && i < selection->label_count; i++)
		print_selector(to, &selection->labels[i], false);
	if (fclose(to)) {
		free(text);
		return NULL;
	}
	return text;
}

char *source_selection_query(const struct selection *selection, enum k8s_kind kind)
{
	CLEANUP_FREE char *fields = print_fields(selection, kind);
	CLEANUP_FREE char *labels = print_labels(selection, kind);
	char *query = NULL;
	size_t size;
	FILE *to;

	if (!fields || !labels)
		return NULL;
	to = open_memstream(&query, &size);
	if (!to)
		return NULL;
	if (fields[0])
		source_selection_encode(to, "&fieldSelector=", fields);
	if (labels[0])
		source_selection_encode(to, "&labelSelector=", labels);
	if (fclose(to)) {
		free(query);
		return NULL;
	}
	return query;
}

/* ---- as a test ---- */

/* NULL: no such field, or none that can be told from what is kept of a pod. */
static const char *field_of(const struct k8s_pod *pod, const char *key)
{
	const struct {
		const char *key, *value;
	} fields[] = {
		{ "metadata.name", pod->metadata.name },
		{ "metadata.namespace", pod->metadata.namespace },
		{ "spec.nodeName", pod->node_name },
		{ "spec.hostNetwork", pod->host_network ? "true" : "false" },
		{ "status.phase", pod->phase },
		{ "status.podIP", pod->ip },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (!strcmp(fields[i].key, key))
			return fields[i].value;
	return NULL;
}

struct profcol_error *source_selection_check(const struct selection *selection)
{
	const struct k8s_pod pod = {
		.metadata = { .name = "", .namespace = "" },
		.node_name = "",
		.ip = "",
		.phase = "",
	};

	for (size_t i = 0; i < selection->field_count; i++)
		if (!field_of(&pod, selection->fields[i].key))
			return profcol_error_create(PROFCOL_CONFIG,
						    "field '%s' cannot be selected by with source: "
						    "kubelet, but metadata.name, "
						    "metadata.namespace, spec.nodeName, "
						    "spec.hostNetwork, status.phase and "
						    "status.podIP; remove it, or use the API "
						    "server",
						    selection->fields[i].key);
	return NULL;
}

static const char *label_of(const struct k8s_pod *pod, const char *key)
{
	for (size_t i = 0; i < pod->metadata.label_count; i++)
		if (!strcmp(pod->metadata.labels[i].key, key))
			return pod->metadata.labels[i].value;
	return NULL;
}

/* @value: NULL = is not there. */
static bool selector_fits(const struct k8s_selector *selector, const char *value)
{
	switch (selector->relation) {
	case K8S_EQUALS:
		return value && !strcmp(value, selector->value);
	case K8S_NOT_EQUALS:
		return !value || strcmp(value, selector->value);
	case K8S_EXISTS:
		return value;
	default:
		return !value;
	}
}

static bool namespace_fits(const struct selection *selection, const char *namespace)
{
	for (size_t i = 0; i < selection->namespace_count; i++)
		if (!strcmp(selection->namespaces[i], namespace))
			return true;
	return !selection->namespace_count;
}

bool source_selection_fits(const struct selection *selection, const struct k8s_pod *pod)
{
	if (!namespace_fits(selection, pod->metadata.namespace))
		return false;
	for (size_t i = 0; i < selection->field_count; i++)
		if (!selector_fits(&selection->fields[i], field_of(pod, selection->fields[i].key)))
			return false;
	for (size_t i = 0; i < selection->label_count; i++)
		if (!selector_fits(&selection->labels[i], label_of(pod, selection->labels[i].key)))
			return false;
	return true;
}
