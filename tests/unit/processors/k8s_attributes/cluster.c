// SPDX-License-Identifier: Apache-2.0
#include "cluster.h"

#include "shop_batch.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

/* ---- in place of the source ---- */

struct k8s_source {
	struct k8s_source_settings settings;
	const struct k8s_source_callbacks *callbacks;
	void *context;
	bool started, stopped;
	uint32_t synced; /* kinds */
};

static struct k8s_source cluster;
bool cluster_answers_at_start;

struct profcol_error *__wrap_k8s_source_create(const struct k8s_source_settings *settings,
					       const struct k8s_source_callbacks *callbacks,
					       void *context, struct k8s_source **ret);
struct profcol_error *__wrap_k8s_source_start(struct k8s_source *source);
void __wrap_k8s_source_stop(struct k8s_source *source);
void __wrap_k8s_source_destroy(struct k8s_source *source);
struct k8s_source_counts __wrap_k8s_source_counts(const struct k8s_source *source);
bool __wrap_k8s_source_is_synced(const struct k8s_source *source, uint32_t kinds);

struct profcol_error *__wrap_k8s_source_create(const struct k8s_source_settings *settings,
					       const struct k8s_source_callbacks *callbacks,
					       void *context, struct k8s_source **ret)
{
	cluster = (struct k8s_source){ *settings, callbacks, context, false, false, 0 };
	*ret = &cluster;
	return NULL;
}

struct profcol_error *__wrap_k8s_source_start(struct k8s_source *source)
{
	source->started = true;
	if (cluster_answers_at_start)
		cluster_list(NULL, 0);
	return NULL;
}

void __wrap_k8s_source_stop(struct k8s_source *source)
{
	source->stopped = true;
}

void __wrap_k8s_source_destroy(struct k8s_source *source)
{
	// Who has begun it ends it.
	if (source && source->started)
		assert_true(source->stopped);
}

struct k8s_source_counts __wrap_k8s_source_counts(const struct k8s_source *source)
{
	(void)source;
	return (struct k8s_source_counts){ .lists = 7 };
}

bool __wrap_k8s_source_is_synced(const struct k8s_source *source, uint32_t kinds)
{
	bool of_kubelet = source->settings.origin == K8S_FROM_KUBELET;
	uint32_t wanted = (of_kubelet ? 0 : source->settings.kinds) | 1u << K8S_POD;

	return !(wanted & kinds & ~source->synced);
}

const struct k8s_source_settings *cluster_settings(void)
{
	return &cluster.settings;
}

void cluster_begin(enum k8s_kind kind, const char *namespace)
{
	const struct k8s_scope scope = { kind, namespace };

	cluster.callbacks->begin(cluster.context, &scope);
}

void cluster_end(enum k8s_kind kind, const char *namespace)
{
	const struct k8s_scope scope = { kind, namespace };

	cluster.synced |= 1u << kind;
	cluster.callbacks->end(cluster.context, &scope);
}

void cluster_put(const struct k8s_pod *pod)
{
	cluster.callbacks->put_pod(cluster.context, pod);
}

void cluster_put_object(const struct k8s_object *object)
{
	cluster.callbacks->put_object(cluster.context, object);
}

void cluster_remove(const struct k8s_pod *pod)
{
	cluster.callbacks->remove(cluster.context, K8S_POD, &pod->metadata);
}

void cluster_remove_object(const struct k8s_object *object)
{
	cluster.callbacks->remove(cluster.context, object->kind, &object->metadata);
}

void cluster_fail(const char *reason, const char *remedy)
{
	const struct k8s_scope scope = { K8S_POD, "" };

	cluster.callbacks->failed(cluster.context, &scope, reason, remedy);
}

void cluster_work(void)
{
	const struct k8s_scope scope = { K8S_POD, "" };

	cluster.callbacks->works(cluster.context, &scope);
}

void cluster_list(const struct k8s_pod *pods, size_t count)
{
	cluster_begin(K8S_POD, "");
	for (size_t i = 0; i < count; i++)
		cluster_put(&pods[i]);
	cluster_end(K8S_POD, "");
}

/* ---- a pod ---- */

static const struct k8s_pair pay_labels[] = {
	{ "app", "pay" },
	{ "pod-template-hash", "7d9f8c" },
	{ "example.com/team", "payments" },
	{ "example.com/empty", "" },
};

static const struct k8s_pair pay_annotations[] = {
	{ "example.com/owner", "ann" },
	{ "resource.opentelemetry.io/deployment.environment.name", "prod" },
};

static const struct k8s_owner pay_owners[] = {
	{ "apps/v1", "ReplicaSet", "pay-7d9f8c", "uid-rs", true },
};

static const struct k8s_container pay_containers[] = {
	{ K8S_CONTAINER_REGULAR, "server", "registry.example.com:5000/shop/pay:1.4",
	  "registry.example.com:5000/shop/pay@sha256:" ID("1"), ID("a"), ID("b"), 3 },
	{ K8S_CONTAINER_REGULAR, "sidecar", "envoy", "envoy@sha256:" ID("2"), ID("c"), "", 0 },
	{ K8S_CONTAINER_INIT, "migrate", "shop/migrate@sha256:" ID("3"), "", "", "", 0 },
};

const struct k8s_pod pod_pay = {
	.metadata = {
		.name = "pay-7d9f8c-x2x4z",
		.namespace = "shop",
		.uid = "uid-pay",
		.creation_time = "2026-11-20T10:00:00Z",
		.labels = pay_labels,
		.label_count = sizeof(pay_labels) / sizeof(pay_labels[0]),
		.annotations = pay_annotations,
		.annotation_count = sizeof(pay_annotations) / sizeof(pay_annotations[0]),
		.owners = pay_owners,
		.owner_count = 1,
	},
	.node_name = "node-7",
	.hostname = "pay-host",
	.ip = "10.1.2.3",
	.start_time = "2026-11-20T10:00:01Z",
	.phase = "Running",
	.containers = pay_containers,
	.container_count = sizeof(pay_containers) / sizeof(pay_containers[0]),
};

/* ---- batches ---- */

static void add_resource(struct profcol_builder *builder, const struct resource *resource)
{
	uint32_t list[RESOURCE_ATTRIBUTES_MAX], count = 0;

	while (count < RESOURCE_ATTRIBUTES_MAX && resource->attributes[count].key) {
		const struct attribute *attribute = &resource->attributes[count];

		list[count++] = profcol_builder_attribute_string(
			builder, attribute->key, attribute->value, strlen(attribute->value));
	}
	profcol_builder_add_resource(
		builder, &(struct profcol_resource){
				 .attributes = profcol_builder_attribute_list(builder, list, count),
			 });
	profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
	profcol_builder_add_profile(
		builder, &(struct profcol_profile){
				 .sample_type = profcol_builder_cstring(builder, "samples"),
				 .sample_unit = profcol_builder_cstring(builder, "count"),
			 });
	profcol_builder_add_sample(
		builder,
		&(struct profcol_sample){ .value_count = 1, .values = (const int64_t[]){ 5 } });
}

struct profcol_batch *batch_of(const struct resource *resources, size_t count)
{
	struct profcol_builder *builder = profcol_builder_create();
	struct profcol_batch *batch;

	assert_non_null(builder);
	for (size_t i = 0; i < count; i++)
		add_resource(builder, &resources[i]);
	assert_no_error(profcol_builder_seal(builder, &batch));
	return batch;
}

const struct profcol_batch *pass(struct processor *processor, const struct resource *resource)
{
	const struct profcol_batch *batch = processor_consume(processor, batch_of(resource, 1));

	assert_non_null(batch);
	return batch;
}

void expect_all(struct processor *processor, const struct resource *resource,
		const struct attribute *wanted, size_t count)
{
	const struct profcol_batch *batch = pass(processor, resource);

	for (size_t i = 0; i < count; i++)
		expect_text(batch, resource_list(batch, 0), wanted[i].key, wanted[i].value);
}

int64_t figure(struct processor *processor, const char *name, const char *label)
{
	return fake_host_metric_with(&processor->fake, name, label);
}
