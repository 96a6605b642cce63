// SPDX-License-Identifier: Apache-2.0
/* The processor `k8s_attributes`: what a resource is told of its pod. */
#include "cluster.h"
#include "shop_batch.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define ALL_METADATA                                                                               \
	"[k8s.namespace.name, k8s.pod.name, k8s.pod.uid, k8s.pod.hostname, k8s.pod.ip, "           \
	"k8s.pod.start_time, k8s.deployment.name, k8s.deployment.uid, k8s.replicaset.name, "       \
	"k8s.replicaset.uid, k8s.daemonset.name, k8s.daemonset.uid, k8s.statefulset.name, "        \
	"k8s.statefulset.uid, k8s.job.name, k8s.job.uid, k8s.cronjob.name, k8s.cronjob.uid, "      \
	"k8s.node.name, k8s.node.uid, k8s.cluster.uid, k8s.container.name, container.id, "         \
	"container.image.name, container.image.tag, container.image.tags, "                        \
	"container.image.repo_digests, service.namespace, service.name, service.version, "         \
	"service.instance.id]"

#define SERVER WITH({ "container.id", ID("a") })

static void start(struct processor *processor, const char *yaml, const struct k8s_pod *pod)
{
	processor_start(processor, PROCESSOR, yaml);
	cluster_list(pod, 1);
}

/* A pod with one owner. */
static struct k8s_pod owned_by(const struct k8s_owner *owner)
{
	struct k8s_pod pod = pod_pay;

	pod.metadata.owners = owner;
	pod.metadata.owner_count = 1;
	pod.metadata.label_count = 0;
	pod.metadata.name = "pod-1";
	return pod;
}

static void by_default_the_pod_and_its_image_are_told(void **state)
{
	struct processor processor;

	(void)state;
	start(&processor, "{}", &pod_pay);
	EXPECT(&processor, SERVER, { "k8s.namespace.name", "shop" },
	       { "k8s.pod.name", "pay-7d9f8c-x2x4z" }, { "k8s.pod.uid", "uid-pay" },
	       { "k8s.pod.start_time", "2026-11-20T10:00:00Z" }, { "k8s.deployment.name", "pay" },
	       { "k8s.node.name", "node-7" },
	       { "container.image.name", "registry.example.com:5000/shop/pay" },
	       { "container.image.tag", "1.4" }, { "k8s.replicaset.name", NULL },
	       { "k8s.container.name", NULL }, { "service.name", NULL });
	EXPECT(&processor, WITH({ "container.id", ID("c") }), { "container.image.name", "envoy" },
	       { "container.image.tag", "latest" });
	assert_int_equal(cluster_settings()->kinds, 0);
	processor_deinit(&processor);
}

static void expect_list(const struct profcol_batch *batch, const char *key, const char *text)
{
	struct profcol_value value = find_value(batch, resource_list(batch, 0), key);
	struct profcol_text blob = profcol_batch_blob(batch, value.blob);

	assert_int_equal(value.type, PROFCOL_VALUE_ARRAY);
	assert_non_null(memmem(blob.bytes, blob.length, text, strlen(text)));
}

static void every_field_can_be_told(void **state)
{
	const struct profcol_batch *batch;
	struct processor processor;

	(void)state;
	start(&processor, "extract: {metadata: " ALL_METADATA "}", &pod_pay);
	EXPECT(&processor, SERVER, { "k8s.pod.hostname", "pay-host" }, { "k8s.pod.ip", "10.1.2.3" },
	       { "k8s.replicaset.name", "pay-7d9f8c" }, { "k8s.replicaset.uid", "uid-rs" },
	       { "k8s.deployment.name", "pay" }, { "k8s.container.name", "server" },
	       { "container.id", ID("a") }, { "service.namespace", "shop" },
	       { "service.name", "pay" }, { "service.version", "1.4" },
	       { "service.instance.id", "shop.pay-7d9f8c-x2x4z.server" },
	       { "k8s.daemonset.name", NULL }, { "k8s.cluster.uid", NULL });
	batch = processor.passed;
	expect_list(batch, "container.image.tags", "1.4");
	expect_list(batch, "container.image.repo_digests",
		    "registry.example.com:5000/shop/pay@sha256:" ID("1"));
	batch = pass(&processor, WITH({ "container.id", ID("c") }));
	expect_list(batch, "container.image.repo_digests",
		    "docker.io/library/envoy@sha256:" ID("2"));
	expect_text(batch, resource_list(batch, 0), "service.version", NULL);
	assert_int_equal(cluster_settings()->kinds,
			 1u << K8S_NODE | 1u << K8S_CLUSTER | 1u << K8S_JOB | 1u << K8S_REPLICASET);
	processor_deinit(&processor);
}

static void what_a_resource_has_stays(void **state)
{
	struct processor processor;

	(void)state;
	start(&processor, "{}", &pod_pay);
	EXPECT(&processor,
	       WITH({ "container.id", ID("a") }, { "k8s.pod.name", "mine" },
		    { "k8s.namespace.name", "" }),
	       { "k8s.pod.name", "mine" }, { "k8s.namespace.name", "shop" },
	       { "container.id", ID("a") });
	processor_deinit(&processor);
}

static void resources_of_a_batch_get_each_their_own(void **state)
{
	const struct resource resources[] = {
		{ { { "container.id", ID("a") } } },
		{ { { "container.id", ID("c") } } },
		{ { { "process.pid", "1" } } },
		{ { { "container.id", ID("a") }, { "process.pid", "2" } } },
	};
	static const char *const images[] = { "registry.example.com:5000/shop/pay", "envoy", NULL,
					      "registry.example.com:5000/shop/pay" };
	const struct profcol_batch *batch;
	struct processor processor;

	(void)state;
	start(&processor, "{}", &pod_pay);
	batch = processor_consume(&processor, batch_of(resources, 4));
	for (uint32_t row = 0; row < 4; row++)
		expect_text(batch, resource_list(batch, row), "container.image.name", images[row]);
	expect_text(batch, resource_list(batch, 3), "process.pid", "2");
	processor_deinit(&processor);
}

static void the_container_is_named_or_the_only_one(void **state)
{
	struct processor processor;
	struct k8s_pod pod = pod_pay;

	(void)state;
	start(&processor, "{}", &pod_pay);
	EXPECT(&processor, WITH({ "k8s.pod.uid", "uid-pay" }, { "k8s.container.name", "sidecar" }),
	       { "container.image.name", "envoy" });
	EXPECT(&processor, WITH({ "k8s.pod.uid", "uid-pay" }, { "k8s.container.name", "other" }),
	       { "container.image.name", NULL }, { "k8s.node.name", "node-7" });
	EXPECT(&processor, WITH({ "k8s.pod.uid", "uid-pay" }), { "container.image.name", NULL });
	// A container that the cluster has not told of yet.
	EXPECT(&processor, WITH({ "k8s.pod.uid", "uid-pay" }, { "container.id", ID("e") }),
	       { "container.image.name", NULL }, { "k8s.node.name", "node-7" });
	pod.container_count = 1;
	cluster_put(&pod);
	EXPECT(&processor, WITH({ "k8s.pod.uid", "uid-pay" }),
	       { "container.image.name", "registry.example.com:5000/shop/pay" });
	processor_deinit(&processor);
}

static void the_restart_count_tells_which_container_it_was(void **state)
{
	struct processor processor;

	(void)state;
	start(&processor, "extract: {metadata: [container.id]}", &pod_pay);
	EXPECT(&processor, WITH({ "k8s.pod.uid", "uid-pay" }, { "k8s.container.name", "server" }),
	       { "container.id", ID("a") });
	EXPECT(&processor,
	       WITH({ "k8s.pod.uid", "uid-pay" }, { "k8s.container.name", "server" },
		    { "k8s.container.restart_count", "2" }),
	       { "container.id", ID("b") });
	EXPECT(&processor,
	       WITH({ "k8s.pod.uid", "uid-pay" }, { "k8s.container.name", "server" },
		    { "k8s.container.restart_count", "9" }),
	       { "container.id", NULL });
	processor_deinit(&processor);
}

static void labels_and_annotations_become_attributes(void **state)
{
	struct processor processor;

	(void)state;
	start(&processor,
	      "extract:\n"
	      "  metadata: []\n"
	      "  labels:\n"
	      "    - {key: app}\n"
	      "    - {tag_name: team, key: example.com/team}\n"
	      "    - {tag_name: none, key: missing}\n"
	      "    - {tag_name: empty, key: example.com/empty}\n"
	      "    - {tag_name: 'x.$1-${kind}$$', key_regex: 'example.(com)/(?P<kind>.+)'}\n"
	      "    - {key_regex: 'pod-.*-hash', tag_name: ignored}\n"
	      "    - {tag_name: part, key_regex: 'ap'}\n"
	      "  annotations:\n"
	      "    - {key: example.com/owner, from: pod}\n"
	      "  otel_annotations: true\n",
	      &pod_pay);
	EXPECT(&processor, SERVER, { "k8s.pod.labels.app", "pay" }, { "team", "payments" },
	       { "none", NULL }, { "empty", "" }, { "x.com-team$", "payments" },
	       { "x.com-empty$", NULL }, { "k8s.pod.labels.pod-template-hash", "7d9f8c" },
	       { "part", NULL }, { "k8s.pod.labels.part", NULL },
	       { "k8s.pod.annotations.example.com/owner", "ann" },
	       { "deployment.environment.name", "prod" }, { "k8s.pod.name", NULL });
	processor_deinit(&processor);
}

static void a_pod_is_called_after_what_runs_it(void **state)
{
	static const struct {
		struct k8s_owner owner;
		const char *key, *value, *service;
	} rows[] = {
		{ { "apps/v1", "DaemonSet", "agent", "u", true },
		  "k8s.daemonset.name",
		  "agent",
		  "agent" },
		{ { "apps/v1", "StatefulSet", "db", "u", true },
		  "k8s.statefulset.name",
		  "db",
		  "db" },
		{ { "batch/v1", "Job", "import", "u", true }, "k8s.job.name", "import", "import" },
		// Due at 2026-11-20 10:00.
		{ { "batch/v1", "Job", "nightly-29919480", "u", true },
		  "k8s.cronjob.name",
		  "nightly",
		  "nightly" },
		// A date that somebody has put there.
		{ { "batch/v1", "Job", "import-20261120", "u", true },
		  "k8s.cronjob.name",
		  NULL,
		  "import-20261120" },
		// Without the label there is no deployment.
		{ { "apps/v1", "ReplicaSet", "pay-7d9f8c", "u", true },
		  "k8s.deployment.name",
		  NULL,
		  "pay-7d9f8c" },
		{ { "v1", "Node", "node-7", "u", true }, "k8s.pod.name", "pod-1", "pod-1" },
	};
	struct processor processor;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct k8s_pod pod = owned_by(&rows[i].owner);

		start(&processor, "extract: {metadata: " ALL_METADATA "}", &pod);
		EXPECT(&processor, SERVER, { rows[i].key, rows[i].value },
		       { "service.name", rows[i].service });
		processor_deinit(&processor);
	}
}

static void services_are_named_by_labels_and_above_all_by_annotations(void **state)
{
	static const struct k8s_pair labels[] = {
		{ "app.kubernetes.io/name", "by-name" },
		{ "app.kubernetes.io/version", "2.0" },
		{ "app.kubernetes.io/instance", "by-instance" },
	};
	static const struct k8s_pair annotation = { "resource.opentelemetry.io/service.name",
						    "by-annotation" };
	struct processor processor;
	struct k8s_pod pod = pod_pay;

	(void)state;
	pod.metadata.labels = labels;
	pod.metadata.label_count = 1;
	pod.metadata.annotations = &annotation;
	pod.metadata.annotation_count = 0;
	start(&processor,
	      "extract: {metadata: [service.name, service.version], otel_annotations: true}", &pod);
	EXPECT(&processor, SERVER, { "service.name", "by-name" }, { "service.version", "1.4" });
	pod.metadata.label_count = 3;
	cluster_put(&pod);
	EXPECT(&processor, SERVER, { "service.name", "by-instance" }, { "service.version", "2.0" });
	pod.metadata.annotation_count = 1;
	cluster_put(&pod);
	EXPECT(&processor, SERVER, { "service.name", "by-annotation" });
	// The application knows best.
	EXPECT(&processor, WITH({ "container.id", ID("a") }, { "service.name", "own" }),
	       { "service.name", "own" });
	processor_deinit(&processor);
}

/* ---- what pods belong to ---- */

static const struct k8s_pair team = { "team", "platform" };

static struct k8s_object object_of(enum k8s_kind kind, const char *name, const char *uid)
{
	return (struct k8s_object){
		.kind = kind,
		.metadata = { .name = name,
			      .namespace = "",
			      .uid = uid,
			      .creation_time = "",
			      .labels = &team,
			      .label_count = 1,
			      .annotations = &team,
			      .annotation_count = 1 },
	};
}

static void namespaces_nodes_and_workloads_tell_too(void **state)
{
	static const struct k8s_owner deployment = { "apps/v1", "Deployment", "pay", "uid-dep",
						     true };
	struct k8s_object namespace = object_of(K8S_NAMESPACE, "shop", "uid-ns");
	struct k8s_object node = object_of(K8S_NODE, "node-7", "uid-node");
	struct k8s_object replicaset = object_of(K8S_REPLICASET, "pay-7d9f8c", "uid-rs");
	struct k8s_object deployment_object = object_of(K8S_DEPLOYMENT, "pay", "uid-dep");
	struct k8s_object cluster = object_of(K8S_CLUSTER, "kube-system", "uid-cluster");
	struct processor processor;

	(void)state;
	replicaset.metadata.owners = &deployment;
	replicaset.metadata.owner_count = 1;
	start(&processor,
	      "extract:\n"
	      "  metadata: [k8s.node.uid, k8s.cluster.uid, k8s.deployment.uid]\n"
	      "  labels:\n"
	      "    - {key: team, from: namespace}\n"
	      "    - {key: team, from: node, tag_name: node.team}\n"
	      "    - {key: team, from: deployment}\n"
	      "  annotations:\n"
	      "    - {key_regex: t(.*), from: deployment}\n",
	      &pod_pay);
	EXPECT(&processor, SERVER, { "k8s.node.uid", NULL }, { "k8s.deployment.uid", NULL });
	cluster_put_object(&namespace);
	cluster_put_object(&node);
	cluster_put_object(&replicaset); // after the pod
	cluster_put_object(&deployment_object);
	cluster_put_object(&cluster);
	EXPECT(&processor, SERVER, { "k8s.node.uid", "uid-node" },
	       { "k8s.cluster.uid", "uid-cluster" }, { "k8s.deployment.uid", "uid-dep" },
	       { "k8s.namespace.labels.team", "platform" }, { "node.team", "platform" },
	       { "k8s.deployment.label.team", "platform" },
	       { "k8s.deployment.annotation.team", "platform" });
	// Without a pod what the resource says of itself is enough.
	EXPECT(&processor,
	       WITH({ "k8s.namespace.name", "shop" }, { "k8s.node.name", "node-7" },
		    { "k8s.deployment.uid", "uid-dep" }),
	       { "k8s.namespace.labels.team", "platform" }, { "k8s.node.uid", "uid-node" },
	       { "k8s.deployment.label.team", "platform" }, { "k8s.cluster.uid", NULL });
	processor_deinit(&processor);
}

static void stateful_sets_daemon_sets_and_jobs_tell_too(void **state)
{
	static const struct {
		const char *owner_kind, *from;
		enum k8s_kind kind;
	} rows[] = {
		{ "StatefulSet", "statefulset", K8S_STATEFULSET },
		{ "DaemonSet", "daemonset", K8S_DAEMONSET },
		{ "Job", "job", K8S_JOB },
	};
	static const struct k8s_owner cron_job = { "batch/v1", "CronJob", "nightly", "uid-cron",
						   true };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct k8s_owner owner = { "v1", rows[i].owner_kind, "x", "uid-x", true };
		struct k8s_object object = object_of(rows[i].kind, "x", "uid-x");
		struct k8s_pod pod = owned_by(&owner);
		struct processor processor;
		char yaml[256], key[64];

		snprintf(yaml, sizeof(yaml),
			 "extract: {metadata: [k8s.cronjob.name, k8s.cronjob.uid], labels: [{key: "
			 "team, from: %s}]}",
			 rows[i].from);
		snprintf(key, sizeof(key), "k8s.%s.label.team", rows[i].from);
		object.metadata.owners = &cron_job;
		object.metadata.owner_count = 1;
		start(&processor, yaml, &pod);
		cluster_put_object(&object);
		EXPECT(&processor, SERVER, { key, "platform" },
		       { "k8s.cronjob.name", rows[i].kind == K8S_JOB ? "nightly" : NULL },
		       { "k8s.cronjob.uid", rows[i].kind == K8S_JOB ? "uid-cron" : NULL });
		processor_deinit(&processor);
	}
}

/* Whether the pods' list or that of what they belong to is there first is chance. */
static void a_service_is_called_the_same_whoever_comes_first(void **state)
{
	static const struct {
		const char *owner_kind, *owner, *service;
		enum k8s_kind kind;
	} rows[] = {
		{ "ReplicaSet", "Deployment", "web", K8S_REPLICASET },
		{ "Job", "CronJob", "web", K8S_JOB },
		{ "StatefulSet", "Deployment", "x", K8S_STATEFULSET },
	};
	static const struct k8s_pair label = { "app.kubernetes.io/name", "by-name" };

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		const struct k8s_owner owner = { "v1", rows[i / 2].owner_kind, "x", "uid-x", true };
		const struct k8s_owner above = { "v1", rows[i / 2].owner, "web", "uid-web", true };
		struct k8s_object object = object_of(rows[i / 2].kind, "x", "uid-x");
		struct k8s_pod pod = owned_by(&owner);
		struct processor processor;

		object.metadata.owners = &above;
		object.metadata.owner_count = 1;
		processor_start(&processor, PROCESSOR,
				"extract: {deployment_name_from_replicaset: false, metadata: "
				"[service.name, k8s.deployment.uid, k8s.cronjob.uid]}");
		if (i % 2)
			cluster_put_object(&object);
		cluster_list(&pod, 1);
		cluster_put_object(&object);
		EXPECT(&processor, SERVER, { "service.name", rows[i / 2].service });
		// Who says it himself is called so.
		pod.metadata.labels = &label;
		pod.metadata.label_count = 1;
		cluster_put(&pod);
		EXPECT(&processor, SERVER, { "service.name", "by-name" });
		processor_deinit(&processor);
	}
}

static void images_are_taken_apart(void **state)
{
	static const struct {
		const char *image, *name, *tag, *version;
	} rows[] = {
		{ "nginx", "nginx", "latest", NULL },
		{ "nginx:1.27", "nginx", "1.27", "1.27" },
		{ "localhost:5000/a/b", "localhost:5000/a/b", "latest", NULL },
		{ "Registry.Example.com/a:v1", "Registry.Example.com/a", "v1", "v1" },
		{ "a/b:v1@sha256:" ID("1"), "a/b", "v1", "v1@sha256:" ID("1") },
		{ "a/b@sha256:" ID("1"), "a/b", "latest", "sha256:" ID("1") },
		{ "a/b@sha256:1", NULL, NULL, NULL },
		{ "a//b", NULL, NULL, NULL },
		{ "UPPER", NULL, NULL, NULL },
		{ "a:", NULL, NULL, NULL },
		{ ":1", NULL, NULL, NULL },
		{ "@sha256:" ID("1"), NULL, NULL, NULL },
		{ "a b", NULL, NULL, NULL },
		{ "", NULL, NULL, NULL },
	};
	struct processor processor;
	struct k8s_container container = {
		.name = "x", .image_id = "", .id = ID("a"), .previous_id = ""
	};
	struct k8s_pod pod = pod_pay;

	(void)state;
	pod.containers = &container;
	pod.container_count = 1;
	processor_start(&processor, PROCESSOR,
			"extract: {metadata: [container.image.name, container.image.tag, "
			"service.version]}");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		container.image = rows[i].image;
		cluster_put(&pod);
		EXPECT(&processor, SERVER, { "container.image.name", rows[i].name },
		       { "container.image.tag", rows[i].tag },
		       { "service.version", rows[i].version });
	}
	processor_deinit(&processor);
}

static bool knows(const struct processor *processor, const char *key, const char *value)
{
	return PROCESSOR->knows(processor->fake.instance, key, value);
}

static void a_container_is_known_once_the_cluster_has_told_of_it(void **state)
{
	struct processor processor;

	(void)state;
	processor_start(&processor, PROCESSOR, "{}");
	assert_false(knows(&processor, "container.id", ID("a")));
	cluster_fail("no route to host", "");
	assert_false(knows(&processor, "container.id", ID("a"))); // it is asked again
	assert_true(knows(&processor, "host.name", "other"));
	cluster_put(&pod_pay);
	assert_true(knows(&processor, "container.id", ID("a")));
	assert_true(knows(&processor, "container.id", "containerd://" ID("c")));
	assert_false(knows(&processor, "container.id", ID("d")));
	processor_deinit(&processor);
}

static void where_nobody_goes_by_containers_all_are_known(void **state)
{
	static const char *const configurations[] = {
		"{passthrough: true}",
		"{pod_association: [{sources: [{from: resource_attribute, name: k8s.pod.uid}]}]}",
	};
	struct processor processor;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		processor_start(&processor, PROCESSOR, configurations[i]);
		assert_true(knows(&processor, "container.id", ID("a")));
		processor_deinit(&processor);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_default_the_pod_and_its_image_are_told),
		cmocka_unit_test(every_field_can_be_told),
		cmocka_unit_test(what_a_resource_has_stays),
		cmocka_unit_test(resources_of_a_batch_get_each_their_own),
		cmocka_unit_test(the_container_is_named_or_the_only_one),
		cmocka_unit_test(the_restart_count_tells_which_container_it_was),
		cmocka_unit_test(labels_and_annotations_become_attributes),
		cmocka_unit_test(a_pod_is_called_after_what_runs_it),
		cmocka_unit_test(services_are_named_by_labels_and_above_all_by_annotations),
		cmocka_unit_test(namespaces_nodes_and_workloads_tell_too),
		cmocka_unit_test(stateful_sets_daemon_sets_and_jobs_tell_too),
		cmocka_unit_test(a_service_is_called_the_same_whoever_comes_first),
		cmocka_unit_test(images_are_taken_apart),
		cmocka_unit_test(a_container_is_known_once_the_cluster_has_told_of_it),
		cmocka_unit_test(where_nobody_goes_by_containers_all_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
