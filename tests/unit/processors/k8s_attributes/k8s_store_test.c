// SPDX-License-Identifier: Apache-2.0
/* The processor `k8s_attributes`: what it keeps of a cluster, for how long, and in how much memory.
 */
#include "cluster.h"
#include "shop_batch.h"

#include "processors/k8s_attributes/store.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define NAMED    { "k8s.pod.name", "pay-7d9f8c-x2x4z" }
#define NAMELESS { "k8s.pod.name", NULL }
#define SERVER   WITH({ "container.id", ID("a") })

static void a_list_forgets_who_is_not_on_it(void **state)
{
	struct k8s_pod other = pod_pay;
	struct processor processor;

	(void)state;
	other.metadata.uid = "uid-other";
	other.metadata.name = "other";
	other.container_count = 0;
	processor_start(&processor, PROCESSOR, "{pod_delete_grace_period: 0s}");
	cluster_list((const struct k8s_pod[]){ pod_pay, other }, 2);
	// A list that has not come to its end says nothing of who is missing.
	cluster_begin(K8S_POD, "");
	EXPECT(&processor, SERVER, NAMED);
	cluster_put(&other);
	EXPECT(&processor, SERVER, NAMED);
	cluster_end(K8S_POD, "");
	EXPECT(&processor, SERVER, NAMELESS);
	EXPECT(&processor, WITH({ "k8s.pod.uid", "uid-other" }), { "k8s.pod.name", "other" });
	assert_int_equal(figure(&processor, "k8s_pods", ""), 1);
	assert_int_equal(figure(&processor, "k8s_pod_changes", "event=added"), 2);
	assert_int_equal(figure(&processor, "k8s_pod_changes", "event=updated"), 1);
	assert_int_equal(figure(&processor, "k8s_pod_changes", "event=removed"), 1);
	assert_int_equal(figure(&processor, "k8s_lists", ""), 7);
	processor_deinit(&processor);
}

static void a_list_of_one_namespace_leaves_the_others_alone(void **state)
{
	struct processor processor;

	(void)state;
	processor_start(&processor, PROCESSOR,
			"{pod_delete_grace_period: 0s, filter: {namespace: [shop, jobs]}}");
	cluster_begin(K8S_POD, "shop");
	cluster_put(&pod_pay);
	cluster_end(K8S_POD, "shop");
	cluster_begin(K8S_POD, "jobs");
	cluster_end(K8S_POD, "jobs");
	EXPECT(&processor, SERVER, NAMED);
	cluster_begin(K8S_NAMESPACE, "");
	cluster_end(K8S_NAMESPACE, "");
	EXPECT(&processor, SERVER, NAMED);
	cluster_begin(K8S_POD, "shop");
	cluster_end(K8S_POD, "shop");
	EXPECT(&processor, SERVER, NAMELESS);
	processor_deinit(&processor);
}

static void who_is_gone_is_remembered_for_a_while(void **state)
{
	struct processor processor;

	(void)state;
	processor_start(&processor, PROCESSOR, "{}");
	cluster_list(&pod_pay, 1);
	cluster_remove(&pod_pay);
	cluster_remove(&pod_pay);
	EXPECT(&processor, SERVER, NAMED);
	EXPECT(&processor, WITH({ "k8s.pod.ip", "10.1.2.3" }), NAMED);
	cluster_put(&pod_pay); // back
	EXPECT(&processor, SERVER, NAMED);
	processor_deinit(&processor);

	processor_start(&processor, PROCESSOR, "{pod_delete_grace_period: 0s}");
	cluster_list(&pod_pay, 1);
	cluster_remove(&pod_pay);
	EXPECT(&processor, SERVER, NAMELESS);
	processor_deinit(&processor);
}

static void an_old_container_is_remembered_though_the_pod_lives_on(void **state)
{
	static const struct k8s_container fresh = {
		K8S_CONTAINER_REGULAR, "server", "new:2", "", ID("f"), "", 9
	};
	struct processor processor;
	struct k8s_pod pod = pod_pay;

	(void)state;
	pod.containers = &fresh;
	pod.container_count = 1;
	processor_start(&processor, PROCESSOR, "{}");
	cluster_list(&pod_pay, 1);
	cluster_put(&pod);
	EXPECT(&processor, WITH({ "container.id", ID("f") }), { "container.image.tag", "2" });
	EXPECT(&processor, SERVER, { "container.image.tag", "1.4" });
	processor_deinit(&processor);

	processor_start(&processor, PROCESSOR, "{pod_delete_grace_period: 0s}");
	cluster_list(&pod_pay, 1);
	cluster_put(&pod);
	cluster_put(&pod); // time passes
	EXPECT(&processor, SERVER, NAMELESS);
	processor_deinit(&processor);
}

static void objects_come_and_go(void **state)
{
	static const struct k8s_pair tier = { "tier", "gold" };
	const struct k8s_object namespace = {
		.kind = K8S_NAMESPACE,
		.metadata = { .name = "shop",
			      .namespace = "",
			      .uid = "u",
			      .creation_time = "",
			      .labels = &tier,
			      .label_count = 1 },
	};
	struct processor processor;

	(void)state;
	processor_start(&processor, PROCESSOR,
			"{pod_delete_grace_period: 0s, extract: {labels: [{key: tier, from: "
			"namespace, tag_name: tier}]}}");
	cluster_list(&pod_pay, 1);
	cluster_put_object(&namespace);
	cluster_put_object(&namespace);
	EXPECT(&processor, SERVER, { "tier", "gold" });
	cluster_remove_object(&namespace);
	EXPECT(&processor, SERVER, { "tier", NULL });
	cluster_remove_object(&namespace);
	processor_deinit(&processor);
}

static void a_pod_without_a_uid_is_refused(void **state)
{
	struct processor processor;
	struct k8s_pod pod = pod_pay;

	(void)state;
	pod.metadata.uid = "";
	processor_start(&processor, PROCESSOR, "{}");
	cluster_list(&pod, 1);
	EXPECT(&processor, SERVER, NAMELESS);
	assert_int_equal(figure(&processor, "k8s_objects_refused", ""), 1);
	processor_deinit(&processor);
}

/* ---- memory ---- */

enum { PODS = 110 }; /* as many as a node has */

/* The @number-th pod of a node, all of it told. */
static void put_numbered(unsigned int number)
{
	static const struct k8s_pair labels[] = {
		{ "app.kubernetes.io/name", "checkout" },
		{ "app.kubernetes.io/instance", "checkout-prod" },
		{ "app.kubernetes.io/version", "2026.11.3" },
		{ "app.kubernetes.io/part-of", "shop" },
		{ "pod-template-hash", "7d9f8c6b5d" },
		{ "topology.kubernetes.io/region", "eu-central-1" },
	};
	static const struct k8s_pair annotations[] = {
		{ "kubectl.kubernetes.io/last-applied-configuration",
		  "not asked for, however long it is: " ID("x") ID("y") ID("z") },
		{ "resource.opentelemetry.io/deployment.environment.name", "production" },
	};
	static const struct k8s_owner owner = { "apps/v1", "ReplicaSet", "checkout-7d9f8c6b5d",
						"6b1f5c9e-1d34-4f3a-9d57-0f8f0a3c1b22", true };
	char name[64], uid[64], ip[32], created[32], ids[4][65];
	struct k8s_container containers[2];
	struct k8s_pod pod = pod_pay;

	snprintf(name, sizeof(name), "checkout-7d9f8c6b5d-%05u", number);
	snprintf(uid, sizeof(uid), "0c1d2e3f-4a5b-4c6d-8e9f-%012u", number);
	snprintf(ip, sizeof(ip), "10.244.3.%u", number);
	snprintf(created, sizeof(created), "2026-11-20T10:%02u:%02uZ", number / 60, number % 60);
	for (unsigned int i = 0; i < 4; i++)
		snprintf(ids[i], sizeof(ids[i]), "%064u", 4 * number + i);
	for (unsigned int i = 0; i < 2; i++)
		containers[i] = (struct k8s_container){
			.name = i ? "istio-proxy" : "checkout",
			.image = i ? "docker.io/istio/proxyv2:1.24.0"
				   : "registry.example.com/shop/checkout:2026.11.3",
			.image_id = i ? "docker.io/istio/proxyv2@sha256:" ID("1")
				      : "registry.example.com/shop/checkout@sha256:" ID("2"),
			.id = ids[2 * i],
			.previous_id = ids[2 * i + 1],
			.restart_count = 1,
		};
	pod.metadata.name = name;
	pod.metadata.uid = uid;
	pod.metadata.creation_time = pod.start_time = created;
	pod.metadata.labels = labels;
	pod.metadata.label_count = sizeof(labels) / sizeof(labels[0]);
	pod.metadata.annotations = annotations;
	pod.metadata.annotation_count = 2;
	pod.metadata.owners = &owner;
	pod.containers = containers;
	pod.container_count = 2;
	pod.ip = ip;
	cluster_put(&pod);
}

static void put_node(void)
{
	cluster_begin(K8S_POD, "");
	for (unsigned int i = 1; i <= PODS; i++)
		put_numbered(i);
	cluster_end(K8S_POD, "");
}

static void a_pod_takes_less_than_two_kilobytes(void **state)
{
	struct processor processor;
	int64_t bytes;

	(void)state;
	processor_start(&processor, PROCESSOR,
			"extract:\n"
			"  metadata: [k8s.namespace.name, k8s.pod.name, k8s.pod.uid, k8s.pod.ip, "
			"k8s.pod.hostname, k8s.pod.start_time, k8s.deployment.name, "
			"k8s.replicaset.name, k8s.replicaset.uid, k8s.node.name, "
			"k8s.container.name, container.id, container.image.name, "
			"container.image.tag, container.image.tags, container.image.repo_digests, "
			"service.namespace, service.name, service.version, service.instance.id]\n"
			"  otel_annotations: true\n"
			"  labels: [{key_regex: '.*'}]\n"
			"pod_delete_grace_period: 0s\n");
	put_node();
	assert_int_equal(figure(&processor, "k8s_pods", ""), PODS);
	bytes = figure(&processor, "k8s_metadata_bytes", "");
	print_message("%" PRId64 " bytes a pod\n", bytes / PODS);
	assert_in_range(bytes / PODS, 256, 2048);
	// Told again, it takes no more.
	put_node();
	put_node();
	assert_in_range(figure(&processor, "k8s_metadata_bytes", ""), bytes - 64, bytes + 64);
	// And nothing is left of who is gone, but the tables.
	cluster_list(NULL, 0);
	assert_int_equal(figure(&processor, "k8s_pods", ""), 0);
	assert_in_range(figure(&processor, "k8s_metadata_bytes", ""), 0, 32 << 10);
	processor_deinit(&processor);
}

/* ---- bounds ---- */

struct bounded {
	struct rules *rules;
	struct association *association;
	struct store *store;
	struct k8s_container container;
	struct k8s_pod pod;
	char id[32];
};

static void bounded_init(struct bounded *bounded, const struct store_settings *settings)
{
	static const struct k8s_attributes_config config;

	*bounded = (struct bounded){ .pod = pod_pay, .container = pod_pay.containers[0] };
	assert_no_error(rules_create(&config, &bounded->rules));
	assert_no_error(association_create(&config, &bounded->association));
	bounded->store = store_create(bounded->rules, bounded->association, settings);
	bounded->container.id = bounded->id;
	bounded->container.previous_id = "";
	bounded->pod.containers = &bounded->container;
	bounded->pod.container_count = 1;
}

static void bounded_deinit(struct bounded *bounded)
{
	store_destroy(bounded->store);
	association_destroy(bounded->association);
	rules_destroy(bounded->rules);
}

/* The pod with @uid comes with a container of that number. */
static struct store_figures bounded_put(struct bounded *bounded, const char *uid, unsigned int id)
{
	snprintf(bounded->id, sizeof(bounded->id), "c%u", id);
	bounded->pod.metadata.uid = uid;
	store_put_pod(bounded->store, &bounded->pod);
	return store_figures(bounded->store);
}

static bool bounded_has(const struct bounded *bounded, const char *id)
{
	const struct profcol_text text = { id, strlen(id) };

	return store_find(bounded->store, SHAPE_CONTAINER_ID, &text);
}

#define HOUR_NS UINT64_C(3600000000000)

/* What is remembered of pods that are gone makes room for those that are there. */
static void a_pod_of_many_containers_takes_no_more_than_there_is(void **state)
{
	const struct store_settings settings = { .grace_ns = HOUR_NS, .pods_max = 4 };
	struct store_figures figures;
	struct bounded bounded;

	(void)state;
	bounded_init(&bounded, &settings);
	for (unsigned int i = 0; i < 100; i++)
		assert_true(bounded_put(&bounded, "u", i).pods <= 4);
	assert_true(bounded_has(&bounded, "c99"));
	assert_true(bounded_has(&bounded, "c98"));
	assert_false(bounded_has(&bounded, "c1"));
	for (unsigned int i = 0; i < 4; i++)
		bounded_put(&bounded, (const char *[]){ "p0", "p1", "p2", "u" }[i], 200 + i);
	assert_int_equal(store_figures(bounded.store).refused, 0);
	// Full of pods that are there: no other gets in, and old containers are not remembered.
	figures = bounded_put(&bounded, "p4", 300);
	assert_int_equal(figures.refused, 1);
	assert_int_equal(figures.pods, 4);
	assert_false(bounded_has(&bounded, "c300"));
	assert_int_equal(bounded_put(&bounded, "p1", 301).pods, 4);
	assert_true(bounded_has(&bounded, "c301"));
	assert_false(bounded_has(&bounded, "c201"));
	bounded_deinit(&bounded);
}

static void memory_has_a_bound(void **state)
{
	const struct store_settings settings = { .grace_ns = HOUR_NS, .bytes_max = 64 << 10 };
	struct store_figures figures = { 0 };
	struct bounded bounded;
	char uids[200][8];

	(void)state;
	bounded_init(&bounded, &settings);
	for (unsigned int i = 0; i < 200; i++) {
		snprintf(uids[i], sizeof(uids[i]), "u%u", i);
		figures = bounded_put(&bounded, uids[i], i);
		assert_true(figures.bytes <= (64 + 32) << 10); // tables included
	}
	assert_in_range(figures.refused, 1, 199);
	assert_int_equal(figures.pods + figures.refused, 200);
	// Who is known is told anew, within it, and what is gone makes room.
	assert_int_equal(bounded_put(&bounded, "u0", 0).refused, figures.refused);
	assert_true(bounded_has(&bounded, "c0"));
	for (unsigned int i = 0; i < 200; i++) {
		bounded.pod.metadata.uid = uids[i];
		store_remove(bounded.store, K8S_POD, &bounded.pod.metadata);
	}
	assert_int_equal(bounded_put(&bounded, "new", 999).refused, figures.refused);
	assert_true(bounded_has(&bounded, "c999"));
	bounded_deinit(&bounded);
}

/* ---- threads ---- */

static void *consume_again_and_again(void *argument)
{
	struct processor *processor = argument;

	for (int i = 0; i < 300; i++) {
		PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
		const struct resource resource = { { { "container.id", ID("a") } } };

		error = PROCESSOR->consume(processor->fake.instance, batch_of(&resource, 1));
		assert_null(error);
		PROCESSOR->knows(processor->fake.instance, "container.id", ID("a"));
	}
	return NULL;
}

static struct profcol_error *drop(const struct profcol_host *host, struct profcol_batch *batch)
{
	(void)host;
	profcol_batch_unref(batch);
	return NULL;
}

static void the_cluster_may_change_meanwhile(void **state)
{
	struct processor processor;
	pthread_t threads[2];

	(void)state;
	processor_start(&processor, PROCESSOR, "{pod_delete_grace_period: 0s}");
	processor.fake.host.consume_next = drop;
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, consume_again_and_again, &processor), 0);
	for (int i = 0; i < 200; i++) {
		cluster_list(&pod_pay, 1);
		cluster_remove(&pod_pay);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	processor_deinit(&processor);
}

/* ---- the source's faults, and the start ---- */

static void trouble_is_told_and_its_end(void **state)
{
	struct processor processor;

	(void)state;
	processor_start(&processor, PROCESSOR, "{}");
	cluster_fail("pods is forbidden", "add this rule:\n- apiGroups: [\"\"]\n  verbs: [list]");
	assert_int_equal(atomic_load(&processor.fake.status), PROFCOL_STATUS_RECOVERABLE_ERROR);
	assert_int_equal(fake_host_log_count(&processor.fake,
					     "warn cannot learn of pods: pods is forbidden; going "
					     "on with what is known, and trying again; add this "
					     "rule:\nwarn - apiGroups: [\"\"]\nwarn   verbs: "
					     "[list]\n"),
			 1);
	cluster_list(&pod_pay, 1);
	assert_int_equal(atomic_load(&processor.fake.status), PROFCOL_STATUS_OK);
	EXPECT(&processor, SERVER, NAMED);
	// It may end without a list.
	cluster_fail("connection refused", "");
	assert_int_equal(atomic_load(&processor.fake.status), PROFCOL_STATUS_RECOVERABLE_ERROR);
	cluster_work();
	assert_int_equal(atomic_load(&processor.fake.status), PROFCOL_STATUS_OK);
	// What was known stays known.
	cluster_fail("connection refused", "");
	EXPECT(&processor, SERVER, NAMED);
	processor_deinit(&processor);
}

static void the_start_waits_for_pods_if_told_to(void **state)
{
	struct processor processor;

	(void)state;
	assert_refused(PROCESSOR, "{wait_for_metadata: true, wait_for_metadata_timeout: 10ms}",
		       "failed to wait for caches to sync");
	cluster_answers_at_start = true;
	processor_start(&processor, PROCESSOR, "{wait_for_metadata: true}");
	processor_deinit(&processor);
	cluster_answers_at_start = false;
}

static void *begin_list(void *argument)
{
	store_begin(argument, &(struct k8s_scope){ .kind = K8S_POD, .namespace = "" });
	return NULL;
}

/* Who only asks whether something is known is not held up by who has news, nor holds him up. */
static void who_would_wait_is_told(void **state)
{
	struct rules rules = { .kinds = 0 };
	struct association association = { .lookup_count = 0 };
	struct store *store = store_create(&rules, &association, &(struct store_settings){ 0 });
	pthread_t writer;

	(void)state;
	assert_true(store_try_lock(store));
	assert_true(store_try_lock(store));
	store_unlock(store);
	assert_int_equal(pthread_create(&writer, NULL, begin_list, store), 0);
	for (int i = 0; store_try_lock(store); i++) {
		store_unlock(store);
		assert_true(i < 30000);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	store_unlock(store);
	pthread_join(writer, NULL);
	assert_true(store_try_lock(store));
	store_unlock(store);
	store_destroy(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_forgets_who_is_not_on_it),
		cmocka_unit_test(a_list_of_one_namespace_leaves_the_others_alone),
		cmocka_unit_test(who_is_gone_is_remembered_for_a_while),
		cmocka_unit_test(an_old_container_is_remembered_though_the_pod_lives_on),
		cmocka_unit_test(objects_come_and_go),
		cmocka_unit_test(a_pod_without_a_uid_is_refused),
		cmocka_unit_test(a_pod_takes_less_than_two_kilobytes),
		cmocka_unit_test(a_pod_of_many_containers_takes_no_more_than_there_is),
		cmocka_unit_test(memory_has_a_bound),
		cmocka_unit_test(the_cluster_may_change_meanwhile),
		cmocka_unit_test(who_would_wait_is_told),
		cmocka_unit_test(trouble_is_told_and_its_end),
		cmocka_unit_test(the_start_waits_for_pods_if_told_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
