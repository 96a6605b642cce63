// SPDX-License-Identifier: Apache-2.0
#include "pod_places.h"

#include "pod_draft.h"

#include <stddef.h>
#include <string.h>

#define LIST_OF(place, element) [place] = element

static const enum pod_place elements[PLACES] = {
	LIST_OF(PLACE_ITEMS, PLACE_OBJECT),
	LIST_OF(PLACE_OWNERS, PLACE_OWNER),
	LIST_OF(PLACE_CONTAINERS, PLACE_CONTAINER),
	LIST_OF(PLACE_INIT_CONTAINERS, PLACE_CONTAINER),
	LIST_OF(PLACE_EPHEMERAL_CONTAINERS, PLACE_CONTAINER),
	LIST_OF(PLACE_CONTAINER_STATUSES, PLACE_CONTAINER_STATUS),
	LIST_OF(PLACE_INIT_CONTAINER_STATUSES, PLACE_CONTAINER_STATUS),
	LIST_OF(PLACE_EPHEMERAL_CONTAINER_STATUSES, PLACE_CONTAINER_STATUS),
};

#define BELOW(place, key, next)    { place, key, next, VALUE_NONE, 0 }
#define SPECIAL(place, key, value) { place, key, PLACE_NOWHERE, value, 0 }
#define FIELD(place, key, value, structure, member)                                                \
	{ place, key, PLACE_NOWHERE, value, offsetof(struct structure, member) }

/* The commonest keys of a pod are those that are not here. */
static const struct pod_step steps[] = {
	BELOW(PLACE_LIST, "metadata", PLACE_LIST_METADATA),
	BELOW(PLACE_LIST, "items", PLACE_ITEMS),
	SPECIAL(PLACE_LIST_METADATA, "resourceVersion", VALUE_LIST_VERSION),
	SPECIAL(PLACE_LIST_METADATA, "continue", VALUE_LIST_CONTINUE),

	SPECIAL(PLACE_EVENT, "type", VALUE_EVENT_TYPE),
	BELOW(PLACE_EVENT, "object", PLACE_OBJECT),

	BELOW(PLACE_OBJECT, "metadata", PLACE_METADATA),
	BELOW(PLACE_OBJECT, "spec", PLACE_SPEC),
	BELOW(PLACE_OBJECT, "status", PLACE_STATUS),
	FIELD(PLACE_OBJECT, "code", VALUE_NUMBER, pod_draft, refusal.code),
	FIELD(PLACE_OBJECT, "message", VALUE_TEXT, pod_draft, refusal.message),

	FIELD(PLACE_METADATA, "name", VALUE_TEXT, pod_draft, pod.metadata.name),
	FIELD(PLACE_METADATA, "namespace", VALUE_TEXT, pod_draft, pod.metadata.namespace),
	FIELD(PLACE_METADATA, "uid", VALUE_TEXT, pod_draft, pod.metadata.uid),
	FIELD(PLACE_METADATA, "creationTimestamp", VALUE_TEXT, pod_draft,
	      pod.metadata.creation_time),
	FIELD(PLACE_METADATA, "resourceVersion", VALUE_TEXT, pod_draft, resource_version),
	BELOW(PLACE_METADATA, "labels", PLACE_LABELS),
	BELOW(PLACE_METADATA, "annotations", PLACE_ANNOTATIONS),
	BELOW(PLACE_METADATA, "ownerReferences", PLACE_OWNERS),

	FIELD(PLACE_OWNER, "apiVersion", VALUE_TEXT, k8s_owner, api_version),
	FIELD(PLACE_OWNER, "kind", VALUE_TEXT, k8s_owner, kind),
	FIELD(PLACE_OWNER, "name", VALUE_TEXT, k8s_owner, name),
	FIELD(PLACE_OWNER, "uid", VALUE_TEXT, k8s_owner, uid),
	FIELD(PLACE_OWNER, "controller", VALUE_FLAG, k8s_owner, controller),

	FIELD(PLACE_SPEC, "nodeName", VALUE_TEXT, pod_draft, pod.node_name),
	FIELD(PLACE_SPEC, "hostname", VALUE_TEXT, pod_draft, pod.hostname),
	FIELD(PLACE_SPEC, "hostNetwork", VALUE_FLAG, pod_draft, pod.host_network),
	BELOW(PLACE_SPEC, "containers", PLACE_CONTAINERS),
	BELOW(PLACE_SPEC, "initContainers", PLACE_INIT_CONTAINERS),
	BELOW(PLACE_SPEC, "ephemeralContainers", PLACE_EPHEMERAL_CONTAINERS),
	FIELD(PLACE_CONTAINER, "name", VALUE_TEXT, pod_draft_container, name),
	FIELD(PLACE_CONTAINER, "image", VALUE_TEXT, pod_draft_container, image),

	FIELD(PLACE_STATUS, "phase", VALUE_TEXT, pod_draft, pod.phase),
	FIELD(PLACE_STATUS, "podIP", VALUE_TEXT, pod_draft, pod.ip),
	FIELD(PLACE_STATUS, "startTime", VALUE_TEXT, pod_draft, pod.start_time),
	BELOW(PLACE_STATUS, "containerStatuses", PLACE_CONTAINER_STATUSES),
	BELOW(PLACE_STATUS, "initContainerStatuses", PLACE_INIT_CONTAINER_STATUSES),
	BELOW(PLACE_STATUS, "ephemeralContainerStatuses", PLACE_EPHEMERAL_CONTAINER_STATUSES),
	FIELD(PLACE_CONTAINER_STATUS, "name", VALUE_TEXT, pod_draft_container, name),
	FIELD(PLACE_CONTAINER_STATUS, "image", VALUE_TEXT, pod_draft_container, image),
	FIELD(PLACE_CONTAINER_STATUS, "imageID", VALUE_TEXT, pod_draft_container, image_id),
	FIELD(PLACE_CONTAINER_STATUS, "containerID", VALUE_TEXT, pod_draft_container, id),
	FIELD(PLACE_CONTAINER_STATUS, "restartCount", VALUE_NUMBER, pod_draft_container,
	      restart_count),
	BELOW(PLACE_CONTAINER_STATUS, "state", PLACE_STATE),
	BELOW(PLACE_CONTAINER_STATUS, "lastState", PLACE_LAST_STATE),
	BELOW(PLACE_STATE, "terminated", PLACE_STATE_TERMINATED),
	BELOW(PLACE_LAST_STATE, "terminated", PLACE_LAST_STATE_TERMINATED),
	FIELD(PLACE_STATE_TERMINATED, "containerID", VALUE_TEXT, pod_draft_container, ended_id),
	FIELD(PLACE_LAST_STATE_TERMINATED, "containerID", VALUE_TEXT, pod_draft_container,
	      previous_id),
};

const struct pod_step *pod_places_find(enum pod_place place, const char *key, size_t length)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (steps[i].place == place && strlen(steps[i].key) == length &&
		    !memcmp(steps[i].key, key, length))
			return &steps[i];
	return NULL;
}

enum pod_place pod_places_element(enum pod_place place)
{
	return elements[place];
}
