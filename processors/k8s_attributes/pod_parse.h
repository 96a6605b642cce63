/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists and watches of the API server, and the kubelet's list, as they come, in pieces of any size:
 * one object after the other, of which at most one is in memory
 * (https://kubernetes.io/docs/reference/using-api/api-concepts/). The bytes are hostile. One
 * thread.
 */
#pragma once

#include "pod.h"

#include <profcol/errors.h>

enum {
	POD_PARSE_OBJECT_MAX = 1 << 20, /* bytes of JSON, without what is cut from long texts */
	POD_PARSE_DEPTH_MAX = 64,       /* as the next: of maps and lists in each other */
	POD_PARSE_DEPTH_REFUSED = 64 << 10,
	POD_PARSE_VERSION_MAX = 128,
	POD_PARSE_CONTINUE_MAX = 4 << 10,
};

enum pod_form {
	POD_FORM_LIST,  /* {"metadata": ..., "items": [...]} */
	POD_FORM_WATCH, /* {"type": ..., "object": ...} {"type": ... */
};

enum pod_event_type {
	POD_EVENT_PUT, /* an item of a list; ADDED, MODIFIED */
	POD_EVENT_REMOVED,
	POD_EVENT_BOOKMARK, /* there is a resource version, and nothing else */
	POD_EVENT_ERROR,
	POD_EVENT_OVERSIZED, /* an object was passed over: too large, or nested too deep */
	POD_EVENT_UNKNOWN,
};

/* Borrowed during the call. */
struct pod_event {
	enum pod_event_type type;
	const struct k8s_pod *pod;           /* put and removed, of pods */
	const struct k8s_metadata *metadata; /* put and removed, of all kinds */
	const char *resource_version;        /* "" = unknown */
	uint32_t code;                       /* of an error: as a status of HTTP; 0 = none */
	const char *message;
	bool incomplete; /* something of the object is left out: pod.h */
};

/* False: no more. */
typedef bool pod_event_function(void *context, const struct pod_event *event);

struct pod_parse;

/* @take and @context are borrowed until destroy. NULL without memory. */
struct pod_parse *pod_parse_create(enum pod_form form, enum k8s_kind kind, pod_event_function *take,
				   void *context);
void pod_parse_destroy(struct pod_parse *parse); /* accepts NULL */

/* BAD_DATA when it is not JSON of that form; nothing may be fed then, nor after @take said false.
 * Objects without a name or uid are passed over. */
PROFCOL_MUST_CHECK struct profcol_error *pod_parse_feed(struct pod_parse *parse, const char *bytes,
							size_t length);

/* Has @take said false? */
bool pod_parse_is_stopped(const struct pod_parse *parse);

/* No more will come: UNAVAILABLE when a list is not complete. */
PROFCOL_MUST_CHECK struct profcol_error *pod_parse_end(struct pod_parse *parse);

/* Of a list, "" until it has been there; borrowed until destroy. */
const char *pod_parse_version(const struct pod_parse *parse);
const char *pod_parse_continue(const struct pod_parse *parse); /* "" = that was all */

/* The message of the `Status` that @body (maybe not all of it) is, sanitized, in @to; "" when it is
 * none. */
void pod_parse_status(const char *body, size_t length, char *to, size_t size);
