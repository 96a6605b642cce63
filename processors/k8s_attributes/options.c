// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#include <limits.h>

static const struct profcol_option field_options[] = {
	PROFCOL_OPTION_STRING("tag_name", struct field_config, tag_name, NULL,
			      "the attribute; with key_regex, $1 and ${name} stand for its groups; "
			      "without, k8s.pod.labels.KEY or the like"),
	PROFCOL_OPTION_STRING("key", struct field_config, key, NULL, "its name"),
	PROFCOL_OPTION_STRING("key_regex", struct field_config, key_regex, NULL,
			      "or a regular expression for all of its name"),
	PROFCOL_OPTION_STRING("from", struct field_config, from, NULL,
			      "whose it is: pod (if empty), namespace, node, deployment, "
			      "statefulset, daemonset, job"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option extract_options[] = {
	PROFCOL_OPTION_LIST("metadata", struct extract_config, metadata,
			    "[k8s.namespace.name, k8s.pod.name, k8s.pod.uid, k8s.pod.start_time, "
			    "k8s.deployment.name, k8s.node.name, container.image.name, "
			    "container.image.tag]",
			    "attributes to add"),
	PROFCOL_OPTION_SECTIONS("labels", struct extract_config, labels, struct field_config,
				field_options, "labels to add as attributes"),
	PROFCOL_OPTION_SECTIONS("annotations", struct extract_config, annotations,
				struct field_config, field_options,
				"annotations to add as attributes"),
	PROFCOL_OPTION_BOOL("otel_annotations", struct extract_config, otel_annotations, "false",
			    "add the pod's annotations resource.opentelemetry.io/KEY as KEY"),
	PROFCOL_OPTION_BOOL("deployment_name_from_replicaset", struct extract_config,
			    deployment_name_from_replicaset, "true",
			    "k8s.deployment.name by the replica set's name and the pod template "
			    "hash; else replica sets are watched for it"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option selector_options[] = {
	PROFCOL_OPTION_STRING("key", struct selector_config, key, NULL, "the label or field"),
	PROFCOL_OPTION_STRING("value", struct selector_config, value, NULL, "what it has to be"),
	PROFCOL_OPTION_STRING("op", struct selector_config, op, NULL,
			      "equals (if empty), not-equals; of labels also exists, "
			      "does-not-exist"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option filter_options[] = {
	PROFCOL_OPTION_STRING("node", struct filter_config, node, NULL,
			      "pods of this node; empty = of all"),
	PROFCOL_OPTION_STRING("node_from_env_var", struct filter_config, node_from_env_var, NULL,
			      "environment variable with the name of the node"),
	PROFCOL_OPTION_ANY("namespace", struct filter_config, namespace,
			   "pods of this namespace, or of one of a list of them"),
	PROFCOL_OPTION_SECTIONS("fields", struct filter_config, fields, struct selector_config,
				selector_options, "pods whose fields are so"),
	PROFCOL_OPTION_SECTIONS("labels", struct filter_config, labels, struct selector_config,
				selector_options, "pods whose labels are so"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option association_source_options[] = {
	PROFCOL_OPTION_STRING("from", struct association_source_config, from, NULL,
			      "resource_attribute, or connection, which profiles have none of"),
	PROFCOL_OPTION_STRING("name", struct association_source_config, name, NULL,
			      "the resource's attribute"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option association_options[] = {
	PROFCOL_OPTION_SECTIONS("sources", struct association_config, sources,
				struct association_source_config, association_source_options,
				"up to 4, all of which the pod has to have"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option exclude_pod_options[] = {
	PROFCOL_OPTION_STRING("name", struct exclude_pod_config, name, NULL,
			      "a regular expression that occurs in the pod's name"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option exclude_options[] = {
	PROFCOL_OPTION_SECTIONS("pods", struct exclude_config, pods, struct exclude_pod_config,
				exclude_pod_options,
				"without one: jaeger-agent and jaeger-collector"),
	PROFCOL_OPTION_END,
};

static const char *const source_names[] = {
	[SOURCE_API_SERVER] = "api_server",
	[SOURCE_KUBELET] = "kubelet",
	NULL,
};

static const struct profcol_option kubelet_options[] = {
	PROFCOL_OPTION_STRING("endpoint", struct kubelet_config, endpoint, NULL,
			      "https://HOST:PORT; if empty, port 10250 of filter.node, or of "
			      "localhost"),
	PROFCOL_OPTION_DURATION("poll_interval", struct kubelet_config, poll_interval_ns, "10s",
				PROFCOL_SECOND, PROFCOL_HOUR, "ask this often"),
	PROFCOL_OPTION_BOOL("insecure_skip_verify", struct kubelet_config, insecure_skip_verify,
			    "false", "take any certificate: many kubelets sign their own"),
	PROFCOL_OPTION_END,
};

const struct profcol_option k8s_attributes_options[] = {
	PROFCOL_OPTION_STRING("auth_type", struct k8s_attributes_config, auth_type,
			      "serviceAccount",
			      "serviceAccount = as this pod; kubeConfig = by a file, as kubectl; "
			      "none = no token, and any certificate"),
	PROFCOL_OPTION_STRING("kube_config_path", struct k8s_attributes_config, kube_config_path,
			      NULL, "that file; if empty, $KUBECONFIG, else ~/.kube/config"),
	PROFCOL_OPTION_STRING("context", struct k8s_attributes_config, context, NULL,
			      "of that file; if empty, its current one"),
	PROFCOL_OPTION_DOUBLE("kube_api_qps", struct k8s_attributes_config, kube_api_qps, "0", -1e9,
			      1e9, "no effect: there are few requests"),
	PROFCOL_OPTION_INT("kube_api_burst", struct k8s_attributes_config, kube_api_burst, "0",
			   INT_MIN, INT_MAX, "no effect"),
	PROFCOL_OPTION_BOOL("passthrough", struct k8s_attributes_config, passthrough, "false",
			    "add k8s.pod.ip only, and ask nobody"),
	PROFCOL_OPTION_NESTED("extract", struct k8s_attributes_config, extract, extract_options,
			      "what is added"),
	PROFCOL_OPTION_NESTED("filter", struct k8s_attributes_config, filter, filter_options,
			      "which pods are asked for; all of it has to fit"),
	PROFCOL_OPTION_SECTIONS("pod_association", struct k8s_attributes_config, pod_association,
				struct association_config, association_options,
				"how the pod of a resource is found: the first rule whose "
				"attributes the resource has"),
	PROFCOL_OPTION_NESTED("exclude", struct k8s_attributes_config, exclude, exclude_options,
			      "pods that nothing is added of"),
	PROFCOL_OPTION_BOOL("wait_for_metadata", struct k8s_attributes_config, wait_for_metadata,
			    "false", "start when all pods are known"),
	PROFCOL_OPTION_DURATION("wait_for_metadata_timeout", struct k8s_attributes_config,
				wait_for_metadata_timeout_ns, "10s", 0, 0,
				"do not start when it takes longer"),
	PROFCOL_OPTION_DURATION("watch_sync_period", struct k8s_attributes_config,
				watch_sync_period_ns, "5m", 0, 0,
				"no effect: a watch tells all changes"),
	PROFCOL_OPTION_DURATION("pod_delete_grace_period", struct k8s_attributes_config,
				pod_delete_grace_period_ns, "2m", 0, 0,
				"how long a pod that is gone is remembered"),
	PROFCOL_OPTION_ENUM("source", struct k8s_attributes_config, source, "api_server",
			    source_names, "who is asked for pods"),
	PROFCOL_OPTION_NESTED("kubelet", struct k8s_attributes_config, kubelet, kubelet_options,
			      "of the source kubelet"),
	PROFCOL_OPTION_END,
};
