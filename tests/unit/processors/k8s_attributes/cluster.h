/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cluster that a test makes up: it stands in for the source of the processor `k8s_attributes`
 * (the linker puts it in place of k8s_source_*), and what the test puts is delivered at once, on
 * the test's own thread. One processor at a time.
 */
#pragma once

#include "processor_fixture.h"

#include "processors/k8s_attributes/source.h"

#include <stdbool.h>

extern const struct profcol_component profcol_processor_k8s_attributes;
#define PROCESSOR (&profcol_processor_k8s_attributes)

/* Do nothing but begin and end: for a source that answers at once, during start. */
extern bool cluster_answers_at_start;

/* What the processor has asked the source for; valid while it runs. */
const struct k8s_source_settings *cluster_settings(void);

void cluster_begin(enum k8s_kind kind, const char *namespace);
void cluster_end(enum k8s_kind kind, const char *namespace);
void cluster_put(const struct k8s_pod *pod);
void cluster_put_object(const struct k8s_object *object);
void cluster_remove(const struct k8s_pod *pod);
void cluster_remove_object(const struct k8s_object *object);
void cluster_fail(const char *reason, const char *remedy);
void cluster_work(void); /* again, without a list */

/* A list of these pods alone. */
void cluster_list(const struct k8s_pod *pods, size_t count);

/* ids of containers */
#define ID(digit)                                                                                  \
	digit digit digit digit digit digit digit digit digit digit digit digit digit digit digit  \
		digit digit digit digit digit digit digit digit digit digit digit digit digit      \
			digit digit digit digit digit digit digit digit digit digit digit digit    \
				digit digit digit digit digit digit digit digit digit digit digit  \
					digit digit digit digit digit digit digit digit digit      \
						digit digit digit digit

/* Of the deployment `pay` in the namespace `shop`: containers `server` (id ID("a"), before that
 * ID("b")) and `sidecar` (ID("c")); its address is 10.1.2.3, its uid `uid-pay`. */
extern const struct k8s_pod pod_pay;

/* ---- batches ---- */

struct attribute {
	const char *key, *value; /* value NULL: it is not to be there */
};

enum { RESOURCE_ATTRIBUTES_MAX = 8, RESOURCES_MAX = 8 };

struct resource {
	struct attribute attributes[RESOURCE_ATTRIBUTES_MAX]; /* until a key is NULL */
};

/* With a sample each. */
struct profcol_batch *batch_of(const struct resource *resources, size_t count);

/* What becomes of a resource with @attributes; row 0 of the batch that is handed on, borrowed until
 * the next. */
const struct profcol_batch *pass(struct processor *processor, const struct resource *resource);

/* Fails unless the first resource of what becomes of @resource has all of @wanted. */
void expect_all(struct processor *processor, const struct resource *resource,
		const struct attribute *wanted, size_t count);
#define EXPECT(processor, resource, ...)                                                           \
	expect_all(processor, resource, (const struct attribute[]){ __VA_ARGS__ },                 \
		   sizeof((const struct attribute[]){ __VA_ARGS__ }) / sizeof(struct attribute))
#define WITH(...) (&(const struct resource){ { __VA_ARGS__ } })

/* The metric of the processor with that name and label. */
int64_t figure(struct processor *processor, const char *name, const char *label);
