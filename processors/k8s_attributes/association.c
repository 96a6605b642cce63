// SPDX-License-Identifier: Apache-2.0
#include "association.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static enum pod_part part_of(const char *attribute)
{
	static const struct {
		const char *attribute;
		enum pod_part part;
	} rows[] = {
		{ "container.id", PART_CONTAINER_ID },
		{ "k8s.pod.uid", PART_UID },
		{ "k8s.pod.ip", PART_IP },
		{ "host.name", PART_IP }, // some have the pod's address there
		{ "k8s.namespace.name", PART_NAMESPACE },
		{ "k8s.pod.name", PART_NAME },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].attribute, attribute))
			return rows[i].part;
	return PART_ATTRIBUTE;
}

static bool shapes_equal(const struct association_shape *left,
			 const struct association_shape *right)
{
	if (left->count != right->count)
		return false;
	for (size_t i = 0; i < left->count; i++)
		if (left->parts[i] != right->parts[i] ||
		    (left->parts[i] == PART_ATTRIBUTE &&
		     strcmp(left->keys[i], right->keys[i]) != 0))
			return false;
	return true;
}

/* There is room. */
static size_t add_shape(struct association *association, const struct association_shape *shape)
{
	size_t at = 0;

	while (at < association->shape_count && !shapes_equal(&association->shapes[at], shape))
		at++;
	if (at == association->shape_count)
		association->shapes[association->shape_count++] = *shape;
	return at;
}

static void add_lookup(struct association *association, const char *attribute, size_t shape)
{
	association->lookups[association->lookup_count++] =
		(struct association_lookup){ { attribute }, 1, shape };
}

static void add_rule(struct association *association, const struct association_config *rule)
{
	const struct association_source_config *sources = rule->sources.items;
	struct association_lookup lookup = { .count = rule->sources.count };
	struct association_shape shape = { .count = lookup.count };

	for (size_t i = 0; i < lookup.count; i++) {
		if (!strcmp(sources[i].from, "connection")) {
			association->by_connection = true;
			return;
		}
		lookup.attributes[i] = sources[i].name;
		shape.parts[i] = part_of(sources[i].name);
		shape.keys[i] = sources[i].name;
	}
	if (!lookup.count)
		return;
	lookup.shape = add_shape(association, &shape);
	association->lookups[association->lookup_count++] = lookup;
}

struct profcol_error *association_create(const struct k8s_attributes_config *config,
					 struct association **ret)
{
	static const struct association_shape always[SHAPES_AT_LEAST] = {
		[SHAPE_CONTAINER_ID] = { .parts = { PART_CONTAINER_ID }, .count = 1 },
		[SHAPE_UID] = { .parts = { PART_UID }, .count = 1 },
		[SHAPE_IP] = { .parts = { PART_IP }, .count = 1 },
	};
	enum { LOOKUPS_WITHOUT_RULES = 5 };
	const struct association_config *rules = config->pod_association.items;
	size_t count = config->pod_association.count;
	struct association *association = calloc(1, sizeof(*association));

	if (!association)
		return profcol_error_errno(ENOMEM, "read the configuration");
	association->is_configured = count;
	association->shapes = calloc(SHAPES_AT_LEAST + count, sizeof(*association->shapes));
	association->lookups = calloc(LOOKUPS_WITHOUT_RULES + count, sizeof(*association->lookups));
	if (!association->shapes || !association->lookups) {
		association_destroy(association);
		return profcol_error_errno(ENOMEM, "read the configuration");
	}
	for (size_t i = 0; i < SHAPES_AT_LEAST; i++)
		add_shape(association, &always[i]);
	for (size_t i = 0; i < count; i++)
		add_rule(association, &rules[i]);
	if (!count) {
		add_lookup(association, "container.id", SHAPE_CONTAINER_ID);
		add_lookup(association, "k8s.pod.uid", SHAPE_UID);
		add_lookup(association, "k8s.pod.ip", SHAPE_IP);
		add_lookup(association, "ip", SHAPE_IP);
		add_lookup(association, "host.name", SHAPE_IP);
	}
	*ret = association;
	return NULL;
}

void association_destroy(struct association *association)
{
	if (!association)
		return;
	free(association->shapes);
	free(association->lookups);
	free(association);
}
