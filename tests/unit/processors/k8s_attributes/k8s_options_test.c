// SPDX-License-Identifier: Apache-2.0
/* The processor `k8s_attributes`: its configuration, and what it asks the source for. */
#include "cluster.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

static void what_makes_no_sense_is_refused(void **state)
{
	static const struct {
		const char *yaml, *text;
	} rows[] = {
		{ "auth_type: password",
		  "auth_type: invalid authType for kubernetes: password; it is serviceAccount" },
		{ "auth_type: tls", "auth_type: tls is not supported; use kubeConfig" },
		{ "kube_api_qps: -1", "kube_api_qps must be greater than 0" },
		{ "kube_api_burst: -1", "kube_api_burst must be greater than 0" },
		{ "extract: {metadata: [k8s.pod.name, k8s.cluster.name]}",
		  "extract::metadata::1: \"k8s.cluster.name\" is not a supported metadata field" },
		{ "extract: {metadata: [k8s.pod.nam]}", "did you mean 'k8s.pod.name'?" },
		{ "extract: {labels: [{key: a, key_regex: b}]}",
		  "extract::labels::0: Out of Key or KeyRegex only one option is expected to be "
		  "configured at a time, currently Key:a and KeyRegex:b" },
		{ "extract: {annotations: [{key: a}, {key: a, from: unknown}]}",
		  "extract::annotations::1: unknown is not a valid choice for From. Must be one "
		  "of: pod, namespace, deployment, statefulset, daemonset, job, node" },
		{ "extract: {labels: [{key_regex: '['}]}",
		  "extract::labels::0: error parsing regexp" },
		{ "extract: {labels: [{key_regex: '(?=a)'}]}",
		  "extract::labels::0: error parsing regexp" },
		{ "exclude: {pods: [{name: '*'}]}", "exclude::pods::0: error parsing regexp" },
		{ "filter: {labels: [{key: label, value: v1, op: unknown}]}",
		  "filter::labels::0: 'unknown' is not a valid label filter operation for "
		  "key=label, value=v1" },
		{ "filter: {fields: [{key: field, value: v1, op: exists}]}",
		  "filter::fields::0: 'exists' is not a valid label filter operation for "
		  "key=field, value=v1" },
		{ "filter: {namespace: 7}", "filter::namespace: expected a name" },
		{ "filter: {namespace: [a, 7]}", "filter::namespace: expected a name" },
		{ "filter: {node_from_env_var: NO_SUCH_NODE}",
		  "filter::node_from_env_var: `node_from_env_var` is configured but envvar "
		  "\"NO_SUCH_NODE\" is not set" },
		{ "filter: {node_from_env_var: EMPTY_NODE}", "envvar \"EMPTY_NODE\" is empty" },
		{ "pod_association: [{sources: [{from: connection}, {from: connection}, {from: "
		  "connection}, {from: connection}, {from: connection}]}]",
		  "pod_association::0::sources: too many association sources. limit is 4" },
		{ "pod_association: [{sources: [{from: label, name: a}]}]",
		  "pod_association::0::sources::0: from 'label' is neither" },
		{ "pod_association: [{sources: [{from: resource_attribute}]}]",
		  "pod_association::0::sources::0: name the attribute" },
		{ "source: apiserver", "api_server" },
		{ "pod_delete_grace_period: -1s", "pod_delete_grace_period" },
		{ "watch_sync_period: -1s", "watch_sync_period" },
		{ "kubelet: {poll_interval: 1ms}", "poll_interval" },
		{ "wait_for_metdata: true", "wait_for_metadata" },
	};

	(void)state;
	unsetenv("NO_SUCH_NODE");
	setenv("EMPTY_NODE", "", 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_refused(PROCESSOR, rows[i].yaml, rows[i].text);
}

static void all_faults_are_told_at_once(void **state)
{
	(void)state;
	assert_refused(PROCESSOR,
		       "{auth_type: x, extract: {metadata: [y], labels: [{from: z}]}, filter: "
		       "{labels: [{op: q}]}}",
		       "auth_type: invalid authType for kubernetes: x");
	assert_refused(PROCESSOR, "{auth_type: x, extract: {metadata: [y], labels: [{from: z}]}}",
		       "extract::metadata::0: \"y\"");
	assert_refused(PROCESSOR, "{auth_type: x, extract: {metadata: [y], labels: [{from: z}]}}",
		       "extract::labels::0: z is not");
}

static void the_source_is_asked_for_what_the_filter_says(void **state)
{
	const struct k8s_source_settings *settings;
	struct processor processor;

	(void)state;
	setenv("TEST_NODE", "node-7", 1);
	processor_start(
		&processor, PROCESSOR,
		"auth_type: kubeConfig\n"
		"kube_config_path: /etc/kube\n"
		"context: prod\n"
		"filter:\n"
		"  node: another\n"
		"  node_from_env_var: TEST_NODE\n"
		"  namespace: [shop, jobs, shop, jobs]\n"
		"  fields: [{key: status.phase, value: Running}]\n"
		"  labels: [{key: a, value: b, op: not-equals}, {key: c, op: exists},\n"
		"           {key: d, op: does-not-exist}, {key: e, value: f, op: equals}]\n");
	settings = cluster_settings();
	assert_int_equal(settings->origin, K8S_FROM_API_SERVER);
	assert_int_equal(settings->auth_type, K8S_AUTH_KUBE_CONFIG);
	assert_string_equal(settings->kube_config_path, "/etc/kube");
	assert_string_equal(settings->context, "prod");
	assert_string_equal(settings->node, "node-7");
	assert_int_equal(settings->namespace_count, 2);
	assert_string_equal(settings->namespaces[1], "jobs");
	assert_int_equal(settings->field_count, 1);
	assert_int_equal(settings->fields[0].relation, K8S_EQUALS);
	assert_string_equal(settings->fields[0].key, "status.phase");
	assert_int_equal(settings->label_count, 4);
	assert_int_equal(settings->labels[0].relation, K8S_NOT_EQUALS);
	assert_int_equal(settings->labels[1].relation, K8S_EXISTS);
	assert_int_equal(settings->labels[2].relation, K8S_DOES_NOT_EXIST);
	assert_int_equal(settings->labels[3].relation, K8S_EQUALS);
	assert_string_equal(settings->labels[3].value, "f");
	assert_int_equal(fake_host_log_count(&processor.fake, "pods of all nodes"), 0);
	processor_deinit(&processor);
}

static void without_a_filter_all_pods_are_asked_for(void **state)
{
	struct processor processor;

	(void)state;
	processor_start(&processor, PROCESSOR, "{}");
	assert_int_equal(cluster_settings()->auth_type, K8S_AUTH_SERVICE_ACCOUNT);
	assert_int_equal(cluster_settings()->namespace_count, 0);
	assert_string_equal(cluster_settings()->node, "");
	assert_int_equal(fake_host_log_count(&processor.fake, "info pods of all nodes"), 1);
	processor_deinit(&processor);
}

static void the_kubelet_can_be_asked_instead(void **state)
{
	const struct k8s_source_settings *settings;
	struct processor processor;

	(void)state;
	processor_start(
		&processor, PROCESSOR,
		"{source: kubelet, filter: {namespace: shop}, kubelet: {endpoint: "
		"'https://10.0.0.7:10250', poll_interval: 30s, insecure_skip_verify: true}}");
	settings = cluster_settings();
	assert_int_equal(settings->origin, K8S_FROM_KUBELET);
	assert_string_equal(settings->kubelet_endpoint, "https://10.0.0.7:10250");
	assert_int_equal(settings->kubelet_interval_ns, 30 * PROFCOL_SECOND);
	assert_true(settings->kubelet_insecure);
	assert_string_equal(settings->namespaces[0], "shop");
	assert_int_equal(fake_host_log_count(&processor.fake, "the kubelet knows"), 0);
	processor_deinit(&processor);
	processor_start(&processor, PROCESSOR,
			"{source: kubelet, extract: {metadata: [k8s.node.uid]}}");
	assert_int_equal(fake_host_log_count(&processor.fake, "warn the kubelet knows pods only"),
			 1);
	processor_deinit(&processor);
}

/* Replica sets and jobs are watched only for what cannot be known without. */
static void only_what_is_needed_is_watched(void **state)
{
	static const struct {
		const char *extract;
		uint32_t kinds;
	} rows[] = {
		{ "{metadata: [k8s.deployment.name, k8s.cronjob.name, service.name]}", 0 },
		{ "{deployment_name_from_replicaset: false}", 1u << K8S_REPLICASET },
		{ "{metadata: [k8s.deployment.uid]}", 1u << K8S_REPLICASET },
		{ "{metadata: [k8s.cronjob.uid]}", 1u << K8S_JOB },
		{ "{metadata: [k8s.cluster.uid]}", 1u << K8S_CLUSTER },
		{ "{metadata: [k8s.node.uid]}", 1u << K8S_NODE },
		{ "{labels: [{key: a, from: deployment}]}",
		  1u << K8S_DEPLOYMENT | 1u << K8S_REPLICASET },
		{ "{annotations: [{key: a, from: namespace}, {key: b, from: daemonset}]}",
		  1u << K8S_NAMESPACE | 1u << K8S_DAEMONSET },
	};
	struct processor processor;
	char yaml[256];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(yaml, sizeof(yaml), "extract: %s", rows[i].extract);
		processor_start(&processor, PROCESSOR, yaml);
		assert_int_equal(cluster_settings()->kinds, rows[i].kinds);
		processor_deinit(&processor);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_makes_no_sense_is_refused),
		cmocka_unit_test(all_faults_are_told_at_once),
		cmocka_unit_test(the_source_is_asked_for_what_the_filter_says),
		cmocka_unit_test(without_a_filter_all_pods_are_asked_for),
		cmocka_unit_test(the_kubelet_can_be_asked_instead),
		cmocka_unit_test(only_what_is_needed_is_watched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
