/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what a cluster says of a pod to the attributes that the configuration asks for, by the rules
 * of the Collector's processor of this name (0.159). One thread at a time. Private.
 */
#pragma once

#include "rules.h"
#include "stored.h"

struct extraction {
	const struct rules *rules;
	struct text_pool *texts;
	/* The replica set or job with that uid, if it is known. */
	const struct stored_object *(*find)(void *context, enum k8s_kind kind, const char *uid);
	void *context;
};

/* Fill @ret, which is zeroed, but for the keys. False without memory; what is there then has to be
 * released all the same. */
bool extraction_of_pod(const struct extraction *extraction, const struct k8s_pod *pod,
		       struct stored_pod *ret);
bool extraction_of_object(const struct extraction *extraction, const struct k8s_object *object,
			  struct stored_object *ret);

/* Release what the above have filled in; the structure itself is the caller's. */
void extraction_release_pod(struct text_pool *texts, struct stored_pod *pod);
void extraction_release_object(struct text_pool *texts, struct stored_object *object);
