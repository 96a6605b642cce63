/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in the JSON of the API server the things lie that are kept, as a table; all else is passed
 * over. Private to the parser. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Maps, and lists whose elements are maps. */
enum pod_place {
	PLACE_NOWHERE, /* and all that is below */
	PLACE_LIST,    /* "PodList" and the like */
	PLACE_LIST_METADATA,
	PLACE_ITEMS,
	PLACE_EVENT, /* of a watch */
	PLACE_OBJECT,
	PLACE_METADATA,
	PLACE_LABELS,
	PLACE_ANNOTATIONS,
	PLACE_OWNERS,
	PLACE_OWNER,
	PLACE_SPEC,
	PLACE_CONTAINERS,
	PLACE_INIT_CONTAINERS,
	PLACE_EPHEMERAL_CONTAINERS,
	PLACE_CONTAINER,
	PLACE_STATUS,
	PLACE_CONTAINER_STATUSES,
	PLACE_INIT_CONTAINER_STATUSES,
	PLACE_EPHEMERAL_CONTAINER_STATUSES,
	PLACE_CONTAINER_STATUS,
	PLACE_STATE,
	PLACE_STATE_TERMINATED,
	PLACE_LAST_STATE,
	PLACE_LAST_STATE_TERMINATED,
	PLACES,
};

enum pod_value {
	VALUE_NONE,
	VALUE_TEXT,   /* const char * at the offset */
	VALUE_FLAG,   /* bool */
	VALUE_NUMBER, /* uint32_t, not negative */
	VALUE_EVENT_TYPE,
	VALUE_LIST_VERSION,
	VALUE_LIST_CONTINUE,
};

/* What follows a key. */
struct pod_step {
	enum pod_place place;
	const char *key;
	enum pod_place next; /* if it is a map or list */
	enum pod_value value;
	size_t offset; /* in what the draft has for @place */
};

/* NULL: nothing that is kept. */
const struct pod_step *pod_places_find(enum pod_place place, const char *key, size_t length);

/* Of the elements of @place, which is a list; NOWHERE when it is none. */
enum pod_place pod_places_element(enum pod_place place);
