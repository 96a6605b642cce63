// SPDX-License-Identifier: Apache-2.0
#include "pod_draft.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

static const struct pod_draft_container no_container = {
	.name = "",
	.image = "",
	.image_id = "",
	.id = "",
	.ended_id = "",
	.previous_id = "",
};

struct pod_draft *pod_draft_create(void)
{
	struct pod_draft *draft = calloc(1, sizeof(*draft));

	if (draft)
		pod_draft_reset(draft);
	return draft;
}

void pod_draft_destroy(struct pod_draft *draft)
{
	if (!draft)
		return;
	arena_destroy(draft->texts);
	free(draft);
}

void pod_draft_reset(struct pod_draft *draft)
{
	draft->pod = (struct k8s_pod){
		.metadata = { .name = "", .namespace = "", .uid = "", .creation_time = "" },
		.node_name = "",
		.hostname = "",
		.ip = "",
		.start_time = "",
		.phase = "",
	};
	draft->resource_version = "";
	draft->refusal = (struct pod_draft_refusal){ .message = "" };
	draft->incomplete = false;
	draft->described_count = draft->observed_count = 0;
	arena_destroy(TAKE(draft->texts));
}

const char *pod_draft_keep(struct pod_draft *draft, const char *bytes, size_t length)
{
	char *copy = NULL;

	if (!draft->texts)
		draft->texts = arena_create(POD_DRAFT_TEXT_BYTES);
	if (draft->texts && length <= K8S_TEXT_MAX)
		copy = arena_alloc(draft->texts, length + 1);
	if (copy)
		strings_sanitize_utf8(copy, bytes, length);
	else
		draft->incomplete = true;
	return copy;
}

/* ---- parts ---- */

struct k8s_owner *pod_draft_add_owner(struct pod_draft *draft)
{
	struct k8s_metadata *metadata = &draft->pod.metadata;
	struct k8s_owner *owner;

	if (metadata->owner_count == K8S_OWNERS_MAX) {
		draft->incomplete = true;
		return NULL;
	}
	owner = &draft->owners[metadata->owner_count++];
	*owner = (struct k8s_owner){ .api_version = "", .kind = "", .name = "", .uid = "" };
	return owner;
}

static struct pod_draft_container *add_container(struct pod_draft *draft,
						 struct pod_draft_container *containers,
						 size_t *count, enum k8s_container_role role)
{
	struct pod_draft_container *container;

	if (*count == K8S_CONTAINERS_MAX) {
		draft->incomplete = true;
		return NULL;
	}
	container = &containers[(*count)++];
	*container = no_container;
	container->role = role;
	return container;
}

struct pod_draft_container *pod_draft_add_described(struct pod_draft *draft,
						    enum k8s_container_role role)
{
	return add_container(draft, draft->described, &draft->described_count, role);
}

struct pod_draft_container *pod_draft_add_observed(struct pod_draft *draft,
						   enum k8s_container_role role)
{
	return add_container(draft, draft->observed, &draft->observed_count, role);
}

static void add_pair(struct pod_draft *draft, struct k8s_pair *pairs, size_t *count,
		     const char *key, const char *value)
{
	if (*count == K8S_LABELS_MAX)
		draft->incomplete = true;
	else
		pairs[(*count)++] = (struct k8s_pair){ key, value };
}

void pod_draft_add_label(struct pod_draft *draft, const char *key, const char *value)
{
	add_pair(draft, draft->labels, &draft->pod.metadata.label_count, key, value);
}

void pod_draft_add_annotation(struct pod_draft *draft, const char *key, const char *value)
{
	add_pair(draft, draft->annotations, &draft->pod.metadata.annotation_count, key, value);
}

/* ---- the whole ---- */

/* "containerd://4f1d..." without its runtime. */
static const char *bare_id(const char *id)
{
	const char *found = strstr(id, "://");

	return found ? found + 3 : id;
}

static bool is_same(const struct pod_draft_container *one, const struct pod_draft_container *other)
{
	return one->role == other->role && !strcmp(one->name, other->name);
}

/* @observed: NULL when nothing is known of it yet. */
static struct k8s_container join(const struct pod_draft_container *described,
				 const struct pod_draft_container *observed)
{
	struct k8s_container container = {
		.role = described->role,
		.name = described->name,
		.image = described->image,
		.image_id = "",
		.id = "",
		.previous_id = "",
	};

	if (!observed)
		return container;
	if (!container.image[0])
		container.image = observed->image;
	container.image_id = observed->image_id;
	container.id = bare_id(observed->id[0] ? observed->id : observed->ended_id);
	container.previous_id = bare_id(observed->previous_id);
	container.restart_count = observed->restart_count;
	// One that waits for its next start has only that which has ended.
	if (!strcmp(container.previous_id, container.id))
		container.previous_id = "";
	return container;
}

static const struct pod_draft_container *find_same(const struct pod_draft_container *containers,
						   size_t count,
						   const struct pod_draft_container *wanted)
{
	for (size_t i = 0; i < count; i++)
		if (is_same(&containers[i], wanted))
			return &containers[i];
	return NULL;
}

void pod_draft_finish(struct pod_draft *draft)
{
	struct k8s_pod *pod = &draft->pod;

	pod->metadata.labels = draft->labels;
	pod->metadata.annotations = draft->annotations;
	pod->metadata.owners = draft->owners;
	pod->containers = draft->containers;
	pod->container_count = 0;
	for (size_t i = 0; i < draft->described_count; i++) {
		const struct pod_draft_container *described = &draft->described[i];

		draft->containers[pod->container_count++] = join(
			described, find_same(draft->observed, draft->observed_count, described));
	}
	for (size_t i = 0; i < draft->observed_count; i++) {
		const struct pod_draft_container *observed = &draft->observed[i];

		if (find_same(draft->described, draft->described_count, observed))
			continue;
		if (pod->container_count == K8S_CONTAINERS_MAX) {
			draft->incomplete = true;
			break;
		}
		draft->containers[pod->container_count++] = join(observed, observed);
	}
}
