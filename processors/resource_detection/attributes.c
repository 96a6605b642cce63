// SPDX-License-Identifier: Apache-2.0
#include "attributes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MEMORY_MAX_BYTES = 256 << 10, /* what a metadata service may make us keep */
	FOUND_MAX = 512,
	TEXT_MAX_BYTES = 4 << 10,
};

const char *attribute_key(enum attribute attribute)
{
	static const char *const keys[ATTRIBUTES] = {
		[AZURE_RESOURCEGROUP_NAME] = "azure.resourcegroup.name",
		[AZURE_VM_NAME] = "azure.vm.name",
		[AZURE_VM_SCALESET_NAME] = "azure.vm.scaleset.name",
		[AZURE_VM_SIZE] = "azure.vm.size",
		[CLOUD_ACCOUNT_ID] = "cloud.account.id",
		[CLOUD_AVAILABILITY_ZONE] = "cloud.availability_zone",
		[CLOUD_PLATFORM] = "cloud.platform",
		[CLOUD_PROVIDER] = "cloud.provider",
		[CLOUD_REGION] = "cloud.region",
		[FAAS_INSTANCE] = "faas.instance",
		[FAAS_NAME] = "faas.name",
		[FAAS_VERSION] = "faas.version",
		[GCP_CLOUD_RUN_JOB_EXECUTION] = "gcp.cloud_run.job.execution",
		[GCP_CLOUD_RUN_JOB_TASK_INDEX] = "gcp.cloud_run.job.task_index",
		[GCP_GCE_INSTANCE_HOSTNAME] = "gcp.gce.instance.hostname",
		[GCP_GCE_INSTANCE_NAME] = "gcp.gce.instance.name",
		[GCP_GCE_INSTANCE_GROUP_MANAGER_NAME] = "gcp.gce.instance_group_manager.name",
		[GCP_GCE_INSTANCE_GROUP_MANAGER_REGION] = "gcp.gce.instance_group_manager.region",
		[GCP_GCE_INSTANCE_GROUP_MANAGER_ZONE] = "gcp.gce.instance_group_manager.zone",
		[HOST_ARCH] = "host.arch",
		[HOST_CPU_CACHE_L2_SIZE] = "host.cpu.cache.l2.size",
		[HOST_CPU_FAMILY] = "host.cpu.family",
		[HOST_CPU_MODEL_ID] = "host.cpu.model.id",
		[HOST_CPU_MODEL_NAME] = "host.cpu.model.name",
		[HOST_CPU_STEPPING] = "host.cpu.stepping",
		[HOST_CPU_VENDOR_ID] = "host.cpu.vendor.id",
		[HOST_ID] = "host.id",
		[HOST_IMAGE_ID] = "host.image.id",
		[HOST_INTERFACE] = "host.interface",
		[HOST_IP] = "host.ip",
		[HOST_MAC] = "host.mac",
		[HOST_NAME] = "host.name",
		[HOST_TYPE] = "host.type",
		[K8S_CLUSTER_NAME] = "k8s.cluster.name",
		[K8S_CLUSTER_UID] = "k8s.cluster.uid",
		[K8S_NODE_NAME] = "k8s.node.name",
		[K8S_NODE_UID] = "k8s.node.uid",
		[OS_BUILD_ID] = "os.build.id",
		[OS_DESCRIPTION] = "os.description",
		[OS_NAME] = "os.name",
		[OS_TYPE] = "os.type",
		[OS_VERSION] = "os.version",
	};

	return keys[attribute];
}

void found_init(struct found *found, const struct attribute_switches *switches)
{
	*found = (struct found){
		.switches = switches,
		.memory = arena_create(MEMORY_MAX_BYTES),
	};
	found->no_memory = !found->memory;
}

void found_deinit(struct found *found)
{
	VECTOR_DEINIT(&found->attributes);
	arena_destroy(found->memory);
	found->memory = NULL;
}

bool found_wants(const struct found *found, enum attribute attribute)
{
	return !found->switches || found->switches->of[attribute].enabled;
}

static const char *found_copy(struct found *found, const char *text)
{
	size_t length = strnlen(text, TEXT_MAX_BYTES);
	char *copy = found->no_memory ? NULL : arena_strndup(found->memory, text, length);

	if (copy)
		strings_sanitize_utf8(copy, copy, length);
	else
		found->no_memory = true;
	return copy;
}

static struct found_attribute *found_find(const struct found *found, const char *key)
{
	for (size_t i = 0; i < found->attributes.count; i++)
		if (!strcmp(found->attributes.items[i].key, key))
			return &found->attributes.items[i];
	return NULL;
}

/* Takes what @value points to, which is in found's memory. */
static void found_put(struct found *found, const struct found_attribute *value)
{
	struct found_attribute *old;

	if (found->no_memory)
		return;
	old = found_find(found, value->key);
	if (old)
		*old = *value;
	else if (found->attributes.count == FOUND_MAX || !VECTOR_PUSH(&found->attributes, *value))
		found->no_memory = true;
}

void found_add_named(struct found *found, const char *key, const char *text)
{
	found_put(found, &(struct found_attribute){
				 .key = found_copy(found, key),
				 .type = FOUND_TEXT,
				 .text = found_copy(found, text),
			 });
}

void found_add(struct found *found, enum attribute attribute, const char *text)
{
	if (text && text[0] && found_wants(found, attribute))
		found_add_named(found, attribute_key(attribute), text);
}

void found_add_integer(struct found *found, enum attribute attribute, int64_t value)
{
	if (found_wants(found, attribute))
		found_put(found, &(struct found_attribute){
					 .key = attribute_key(attribute),
					 .type = FOUND_INTEGER,
					 .integer = value,
				 });
}

static void found_put_list(struct found *found, const char *key, const char *const *items,
			   size_t count)
{
	const char **list =
		found->no_memory ? NULL : arena_alloc(found->memory, count * sizeof(*list));

	if (!list) {
		found->no_memory = true;
		return;
	}
	for (size_t i = 0; i < count; i++)
		list[i] = found_copy(found, items[i]);
	found_put(found, &(struct found_attribute){
				 .key = key, .type = FOUND_LIST, .list = list, .count = count });
}

void found_add_list(struct found *found, enum attribute attribute, const char *const *items,
		    size_t count)
{
	if (count && found_wants(found, attribute))
		found_put_list(found, attribute_key(attribute), items, count);
}

void found_merge(struct found *found, const struct found *other)
{
	for (size_t i = 0; i < other->attributes.count; i++) {
		const struct found_attribute *one = &other->attributes.items[i];
		const char *key;

		if (found_find(found, one->key))
			continue;
		key = found_copy(found, one->key);
		if (one->type == FOUND_TEXT)
			found_add_named(found, one->key, one->text);
		else if (one->type == FOUND_LIST)
			found_put_list(found, key, one->list, one->count);
		else
			found_put(found, &(struct found_attribute){ .key = key,
								    .type = FOUND_INTEGER,
								    .integer = one->integer });
	}
}

static void print_attribute(const struct found_attribute *one, FILE *stream)
{
	if (one->type == FOUND_INTEGER)
		fprintf(stream, "%s=%" PRId64, one->key, one->integer);
	if (one->type == FOUND_TEXT)
		fprintf(stream, "%s=%s", one->key, one->text);
	if (one->type == FOUND_LIST)
		fprintf(stream, "%s=[", one->key);
	for (size_t i = 0; one->type == FOUND_LIST && i < one->count; i++)
		fprintf(stream, "%s%s", one->list[i], i + 1 < one->count ? " " : "]");
}

char *found_print(const struct found *found)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return NULL;
	for (size_t i = 0; i < found->attributes.count; i++) {
		fprintf(stream, "%s", i ? ", " : "");
		print_attribute(&found->attributes.items[i], stream);
	}
	if (fclose(stream)) {
		free(text);
		return NULL;
	}
	return text;
}
