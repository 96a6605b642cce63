// SPDX-License-Identifier: Apache-2.0
#include "rules.h"

#include "base/base.h"

#include <errno.h>
#include <string.h>

static const char *const keys[METADATA_FIELDS] = {
	[CONTAINER_ID] = "container.id",
	[CONTAINER_IMAGE_NAME] = "container.image.name",
	[CONTAINER_IMAGE_REPO_DIGESTS] = "container.image.repo_digests",
	[CONTAINER_IMAGE_TAG] = "container.image.tag",
	[CONTAINER_IMAGE_TAGS] = "container.image.tags",
	[K8S_CLUSTER_UID] = "k8s.cluster.uid",
	[K8S_CONTAINER_NAME] = "k8s.container.name",
	[K8S_CRONJOB_NAME] = "k8s.cronjob.name",
	[K8S_CRONJOB_UID] = "k8s.cronjob.uid",
	[K8S_DAEMONSET_NAME] = "k8s.daemonset.name",
	[K8S_DAEMONSET_UID] = "k8s.daemonset.uid",
	[K8S_DEPLOYMENT_NAME] = "k8s.deployment.name",
	[K8S_DEPLOYMENT_UID] = "k8s.deployment.uid",
	[K8S_JOB_NAME] = "k8s.job.name",
	[K8S_JOB_UID] = "k8s.job.uid",
	[K8S_NAMESPACE_NAME] = "k8s.namespace.name",
	[K8S_NODE_NAME] = "k8s.node.name",
	[K8S_NODE_UID] = "k8s.node.uid",
	[K8S_POD_HOSTNAME] = "k8s.pod.hostname",
	[K8S_POD_IP] = "k8s.pod.ip",
	[K8S_POD_NAME] = "k8s.pod.name",
	[K8S_POD_START_TIME] = "k8s.pod.start_time",
	[K8S_POD_UID] = "k8s.pod.uid",
	[K8S_REPLICASET_NAME] = "k8s.replicaset.name",
	[K8S_REPLICASET_UID] = "k8s.replicaset.uid",
	[K8S_STATEFULSET_NAME] = "k8s.statefulset.name",
	[K8S_STATEFULSET_UID] = "k8s.statefulset.uid",
	[SERVICE_INSTANCE_ID] = "service.instance.id",
	[SERVICE_NAME] = "service.name",
	[SERVICE_NAMESPACE] = "service.namespace",
	[SERVICE_VERSION] = "service.version",
};

const char *metadata_field_key(enum metadata_field field)
{
	return keys[field];
}

enum metadata_field metadata_field_find(const char *key)
{
	enum metadata_field field = 0;

	while (field < METADATA_FIELDS && strcmp(keys[field], key))
		field++;
	return field;
}

/* ---- metadata ---- */

static struct profcol_error *read_metadata(struct rules *rules, const struct profcol_list *list)
{
	struct profcol_error *error = NULL;

	for (size_t i = 0; i < list->count; i++) {
		enum metadata_field field = metadata_field_find(list->items[i]);
		const char *near;

		if (field < METADATA_FIELDS) {
			rules->wants[field] = true;
			continue;
		}
		near = strings_nearest(list->items[i], keys, METADATA_FIELDS);
		error = profcol_error_join(
			error, profcol_error_create(
				       PROFCOL_CONFIG,
				       "extract::metadata::%zu: \"%s\" is not a supported metadata "
				       "field%s%s%s",
				       i, list->items[i], near ? "; did you mean '" : "",
				       near ? near : "", near ? "'?" : ""));
	}
	return error;
}

/* ---- labels and annotations ---- */

static bool read_from(const char *from, enum k8s_kind *ret)
{
	static const struct {
		const char *name;
		enum k8s_kind kind;
	} rows[] = {
		{ "", K8S_POD },
		{ "pod", K8S_POD },
		{ "namespace", K8S_NAMESPACE },
		{ "deployment", K8S_DEPLOYMENT },
		{ "statefulset", K8S_STATEFULSET },
		{ "daemonset", K8S_DAEMONSET },
		{ "job", K8S_JOB },
		{ "node", K8S_NODE },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!strcmp(rows[i].name, from)) {
			*ret = rows[i].kind;
			return true;
		}
	}
	return false;
}

/* A pattern for a whole text. */
static struct profcol_error *whole_pattern(const char *text, struct ottl_pattern **ret)
{
	CLEANUP_ARENA struct arena *memory = arena_create(0);
	char *whole = memory ? arena_printf(memory, "^(?:%s)$", text) : NULL;

	if (!whole)
		return profcol_error_errno(ENOMEM, "compile a pattern");
	return ottl_pattern_create(whole, strlen(whole), ret);
}

static struct profcol_error *read_rule(const struct field_config *config, struct field_rule *rule)
{
	struct profcol_error *error;

	*rule = (struct field_rule){ .key = config->key, .tag_name = config->tag_name };
	if (config->key[0] && config->key_regex[0])
		return profcol_error_create(
			PROFCOL_CONFIG,
			"Out of Key or KeyRegex only one option is expected to be configured at a "
			"time, currently Key:%s and KeyRegex:%s",
			config->key, config->key_regex);
	if (!read_from(config->from, &rule->from))
		return profcol_error_create(
			PROFCOL_CONFIG,
			"%s is not a valid choice for From. Must be one of: pod, namespace, "
			"deployment, statefulset, daemonset, job, node",
			config->from);
	if (!config->key_regex[0])
		return NULL;
	error = whole_pattern(config->key_regex, &rule->pattern);
	if (!error)
		rule->captures = ottl_pattern_capture_count(rule->pattern);
	return error;
}

/* @otel_annotations: and those that say what attributes the pod is to have. */
static struct profcol_error *read_rules(const struct profcol_sections *sections, const char *key,
					bool otel_annotations, struct field_rules *rules)
{
	static const struct field_config otel = {
		.tag_name = "$1",
		.key = "",
		.key_regex = "resource\\.opentelemetry\\.io/(.+)",
		.from = "pod",
	};
	const struct field_config *configs = sections->items;
	size_t count = sections->count + otel_annotations;
	struct profcol_error *error = NULL, *one;

	rules->items = calloc(count + 1, sizeof(*rules->items));
	if (!rules->items)
		return profcol_error_errno(ENOMEM, "read the configuration");
	for (size_t i = 0; i < count; i++) {
		one = read_rule(i < sections->count ? &configs[i] : &otel, &rules->items[i]);
		error = profcol_error_join(error,
					   profcol_error_prefix(one, "extract::%s::%zu", key, i));
		rules->count++;
	}
	return error;
}

/* ---- excludes ---- */

static struct profcol_error *read_excludes(struct rules *rules,
					   const struct profcol_sections *sections)
{
	static const struct exclude_pod_config without[] = {
		{ "jaeger-agent" },
		{ "jaeger-collector" },
	};
	bool given = sections->count;
	const struct exclude_pod_config *pods = given ? sections->items : without;
	size_t count = given ? sections->count : sizeof(without) / sizeof(without[0]);
	struct profcol_error *error = NULL, *one;

	rules->excludes = calloc(count, sizeof(struct ottl_pattern *));
	if (!rules->excludes)
		return profcol_error_errno(ENOMEM, "read the configuration");
	rules->exclude_count = count;
	for (size_t i = 0; i < count; i++) {
		one = ottl_pattern_create(pods[i].name, strlen(pods[i].name), &rules->excludes[i]);
		error = profcol_error_join(error,
					   profcol_error_prefix(one, "exclude::pods::%zu", i));
	}
	return error;
}

/* ---- all ---- */

static uint32_t kinds_of_fields(const struct field_rules *rules)
{
	uint32_t kinds = 0;

	for (size_t i = 0; i < rules->count; i++)
		kinds |= 1u << rules->items[i].from;
	return kinds & ~(1u << K8S_POD);
}

static uint32_t kinds_of(const struct rules *rules, const struct extract_config *config)
{
	uint32_t kinds = kinds_of_fields(&rules->labels) | kinds_of_fields(&rules->annotations);
	bool by_replicaset =
		rules->wants[K8S_DEPLOYMENT_NAME] && !config->deployment_name_from_replicaset;

	if (rules->wants[K8S_NODE_UID])
		kinds |= 1u << K8S_NODE;
	if (rules->wants[K8S_CLUSTER_UID])
		kinds |= 1u << K8S_CLUSTER;
	if (rules->wants[K8S_CRONJOB_UID])
		kinds |= 1u << K8S_JOB;
	if (rules->wants[K8S_DEPLOYMENT_UID] || by_replicaset || kinds & 1u << K8S_DEPLOYMENT)
		kinds |= 1u << K8S_REPLICASET;
	return kinds;
}

static struct profcol_error *rules_init(struct rules *rules,
					const struct k8s_attributes_config *config)
{
	const struct extract_config *extract = &config->extract;
	struct profcol_error *error = read_metadata(rules, &extract->metadata);

	error = profcol_error_join(error,
				   read_rules(&extract->labels, "labels", false, &rules->labels));
	error = profcol_error_join(error,
				   read_rules(&extract->annotations, "annotations",
					      extract->otel_annotations, &rules->annotations));
	error = profcol_error_join(error, read_excludes(rules, &config->exclude.pods));
	rules->kinds = kinds_of(rules, extract);
	return error;
}

struct profcol_error *rules_create(const struct k8s_attributes_config *config, struct rules **ret)
{
	struct rules *rules = calloc(1, sizeof(*rules));
	struct profcol_error *error;

	if (!rules)
		return profcol_error_errno(ENOMEM, "read the configuration");
	error = rules_init(rules, config);
	if (error) {
		rules_destroy(rules);
		return error;
	}
	*ret = rules;
	return NULL;
}

static void field_rules_deinit(struct field_rules *rules)
{
	for (size_t i = 0; i < rules->count; i++)
		ottl_pattern_destroy(rules->items[i].pattern);
	free(rules->items);
}

void rules_destroy(struct rules *rules)
{
	if (!rules)
		return;
	field_rules_deinit(&rules->labels);
	field_rules_deinit(&rules->annotations);
	for (size_t i = 0; i < rules->exclude_count; i++)
		ottl_pattern_destroy(rules->excludes[i]);
	free(rules->excludes);
	free(rules);
}
