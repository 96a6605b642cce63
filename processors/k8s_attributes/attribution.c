// SPDX-License-Identifier: Apache-2.0
#include "attribution.h"

#include "resource_view.h"

#include "base/base.h"
#include "proto/proto.h"

#include <stdio.h>
#include <string.h>

void attributing_deinit(struct attributing *attributing)
{
	VECTOR_DEINIT(&attributing->additions);
	VECTOR_DEINIT(&attributing->known);
	VECTOR_DEINIT(&attributing->list);
	intern_deinit(&attributing->known_index);
}

/* ---- finding the pod ---- */

struct profcol_text attribution_container_id(struct profcol_text id)
{
	const char *colon = id.length ? memmem(id.bytes, id.length, "://", 3) : NULL;
	size_t skip = colon ? (size_t)(colon - id.bytes) + 3 : 0;

	return (struct profcol_text){ id.bytes + skip, id.length - skip };
}

struct search {
	const struct stored_key *key; /* NULL = not found */
	enum attribution result;
	struct profcol_text address; /* that it was looked for by; empty without */
};

/* False when the resource lacks one of the lookup's attributes. */
static bool collect(const struct association_lookup *lookup, const struct association_shape *shape,
		    const struct resource_view *view, struct profcol_text *values)
{
	for (size_t i = 0; i < lookup->count; i++) {
		values[i] = resource_view_text(view, lookup->attributes[i]);
		if (!strcmp(lookup->attributes[i], "host.name") &&
		    !(values[i].length && lookup_is_address(values[i].bytes)))
			return false;
		if (shape->parts[i] == PART_CONTAINER_ID)
			values[i] = attribution_container_id(values[i]);
		if (!values[i].length)
			return false;
	}
	return true;
}

static void note_miss(struct attributing *attributing, struct search *search,
		      const struct association_lookup *lookup, const struct profcol_text *values)
{
	char *example;

	// The first attempt is the one that was meant to succeed.
	if (search->result != MISS_NO_ATTRIBUTE)
		return;
	search->result = !attributing->synced                  ? MISS_NOT_SYNCED
			 : lookup->shape == SHAPE_CONTAINER_ID ? MISS_CONTAINER
							       : MISS_POD;
	example = attributing->misses.examples[search->result];
	if (!example[0])
		snprintf(example, MISS_EXAMPLE_MAX, "%s=%.*s", lookup->attributes[0],
			 (int)(values[0].length < MISS_EXAMPLE_MAX ? values[0].length
								   : MISS_EXAMPLE_MAX),
			 values[0].bytes);
}

/*
 * A container may be newer than what is known of its pod, whose uid the receiver has seen in the
 * path of the control group. What the pod of that uid has not, it is not given; but the uid may be
 * nobody's: of a static pod it is that of its file, and the API server calls it by another.
 */
static const struct stored_key *find_by_uid(const struct attributing *attributing,
					    const struct resource_view *view)
{
	struct profcol_text uid = resource_view_text(view, "k8s.pod.uid");

	return uid.length ? store_find(attributing->store, SHAPE_UID, &uid) : NULL;
}

static struct search find_pod(struct attributing *attributing, const struct resource_view *view)
{
	const struct association *association = attributing->association;
	struct search search = { .result = MISS_NO_ATTRIBUTE, .address = { "", 0 } };

	for (size_t i = 0; i < association->lookup_count && !search.key; i++) {
		const struct association_lookup *lookup = &association->lookups[i];
		const struct association_shape *shape = &association->shapes[lookup->shape];
		struct profcol_text values[ASSOCIATION_SOURCES_MAX] = { { "", 0 } };
		const struct stored_key *by_uid = NULL;

		if (!collect(lookup, shape, view, values))
			continue;
		search.key = store_find(attributing->store, lookup->shape, values);
		if (!association->is_configured && lookup->shape == SHAPE_IP)
			search.address = values[0];
		if (lookup->shape == SHAPE_CONTAINER_ID &&
		    (!search.key || !association->is_configured))
			by_uid = find_by_uid(attributing, view);
		// Of one pod there may be two copies, of which one has an older container.
		if (by_uid &&
		    !(search.key && search.key->pod->stored.uid == by_uid->pod->stored.uid))
			search.key = by_uid;
		if (!search.key)
			note_miss(attributing, &search, lookup, values);
		if (association->is_configured)
			break;
	}
	if (search.key)
		search.result = search.key->pod->ignored ? MISS_EXCLUDED : ATTRIBUTED;
	return search;
}

/* ---- finding the container ---- */

static bool text_is(const struct text *text, struct profcol_text other)
{
	return text && text->length == other.length &&
	       !memcmp(text->bytes, other.bytes, other.length);
}

static const struct stored_container *container_by_name(const struct stored_pod *pod,
							struct profcol_text name)
{
	for (uint32_t i = 0; i < pod->container_count; i++)
		if (text_is(pod->containers[i].name, name))
			return &pod->containers[i];
	return NULL;
}

static const struct stored_container *container_by_id(const struct stored_pod *pod,
						      struct profcol_text id)
{
	for (uint32_t i = 0; i < pod->container_count; i++)
		for (int run = 0; run < RUNS; run++)
			if (text_is(pod->containers[i].runs[run].id, id))
				return &pod->containers[i];
	return NULL;
}

/* The only one that the pod has, or the only one that has begun. */
static const struct stored_container *single_container(const struct stored_pod *pod)
{
	const struct stored_container *begun = NULL;
	uint32_t count = 0;

	for (uint32_t i = 0; i < pod->container_count; i++) {
		if (pod->containers[i].runs[RUN_CURRENT].id) {
			begun = &pod->containers[i];
			count++;
		}
	}
	if (count == 1)
		return begun;
	return pod->container_count == 1 ? &pod->containers[0] : NULL;
}

static const struct stored_container *find_container(const struct stored_pod *pod,
						     const struct resource_view *view)
{
	struct profcol_text name = resource_view_text(view, "k8s.container.name");
	struct profcol_text id = attribution_container_id(resource_view_text(view, "container.id"));

	for (uint32_t i = 0; i < pod->attributes.count && !name.length; i++)
		if (!strcmp(pod->attributes.items[i].key->bytes, "k8s.container.name"))
			name = (struct profcol_text){ pod->attributes.items[i].value->bytes,
						      pod->attributes.items[i].value->length };
	if (name.length)
		return container_by_name(pod, name);
	return id.length ? container_by_id(pod, id) : single_container(pod);
}

/* The life of the container that the resource says it is of; else the one that it has now. */
static const struct stored_run *find_run(const struct stored_container *container,
					 const struct resource_view *view)
{
	struct profcol_text id = attribution_container_id(resource_view_text(view, "container.id"));
	struct profcol_value count;
	int64_t restarts = -1;

	if (resource_view_find(view, "k8s.container.restart_count", &count)) {
		if (count.type == PROFCOL_VALUE_INT)
			restarts = count.integer;
		else if (count.type == PROFCOL_VALUE_STRING)
			restarts = strtoll(profcol_batch_string(view->batch, count.string).bytes,
					   NULL, 10);
		for (int run = 0; run < RUNS; run++)
			if (container->runs[run].id &&
			    container->runs[run].restart_count == restarts)
				return &container->runs[run];
		return NULL;
	}
	for (int run = 0; run < RUNS && id.length; run++)
		if (text_is(container->runs[run].id, id))
			return &container->runs[run];
	return &container->runs[RUN_CURRENT];
}

/* ---- what they add ---- */

static void push(struct attributing *attributing, uint32_t key, uint32_t attribute)
{
	if (!VECTOR_PUSH(&attributing->additions, ((struct addition){ key, attribute })))
		attributing->no_memory = true;
}

static void add_value(struct attributing *attributing, uint32_t key, struct profcol_text value)
{
	struct profcol_builder *builder = attributing->builder;
	const struct profcol_attribute attribute = {
		.key = key,
		.value = { .type = PROFCOL_VALUE_STRING,
			   .string = profcol_builder_string(builder, value.bytes, value.length) },
	};

	push(attributing, key, profcol_builder_attribute(builder, &attribute));
}

static void add_text(struct attributing *attributing, const char *key, struct profcol_text value)
{
	if (value.length)
		add_value(attributing, profcol_builder_cstring(attributing->builder, key), value);
}

static void add_field(struct attributing *attributing, enum metadata_field field,
		      const struct text *value)
{
	if (value && attributing->rules->wants[field])
		add_text(attributing, metadata_field_key(field),
			 (struct profcol_text){ value->bytes, value->length });
}

static void add_all(struct attributing *attributing, const struct stored_attributes *attributes)
{
	struct profcol_builder *builder = attributing->builder;

	for (uint32_t i = 0; i < attributes->count; i++) {
		const struct text *key = attributes->items[i].key;
		const struct text *value = attributes->items[i].value;

		add_value(attributing, profcol_builder_string(builder, key->bytes, key->length),
			  (struct profcol_text){ value->bytes, value->length });
	}
}

/* Fields of AnyValue and ArrayValue (opentelemetry/proto/common/v1). */
enum { ANY_STRING = 1, ANY_ARRAY = 5, ARRAY_VALUES = 1 };

struct list_encoding {
	struct proto_writer writer;
	const struct text *item;
};

static void put_list(void *context)
{
	struct list_encoding *encoding = context;
	struct proto_writer *writer = &encoding->writer;
	struct proto_message array = proto_begin(writer, ANY_ARRAY);
	struct proto_message value = proto_begin(writer, ARRAY_VALUES);

	proto_put_string(writer, ANY_STRING, encoding->item->bytes, encoding->item->length);
	proto_end(writer, value);
	proto_end(writer, array);
}

/* A list of one text. */
static void add_list(struct attributing *attributing, enum metadata_field field,
		     const struct text *item)
{
	CLEANUP(proto_sizes_deinit) struct proto_sizes sizes = { 0 };
	struct list_encoding encoding = { .item = item };
	struct profcol_builder *builder = attributing->builder;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	CLEANUP_FREE uint8_t *bytes = NULL;
	struct profcol_attribute attribute;
	size_t length;

	if (!item || !attributing->rules->wants[field])
		return;
	error = proto_encode(&encoding.writer, &sizes, put_list, &encoding,
			     metadata_field_key(field), "leave it out", &bytes, &length);
	if (error) {
		attributing->no_memory = true;
		return;
	}
	attribute = (struct profcol_attribute){
		.key = profcol_builder_cstring(builder, metadata_field_key(field)),
		.value = { .type = PROFCOL_VALUE_ARRAY,
			   .blob = profcol_builder_blob(builder, bytes, length) },
	};
	push(attributing, attribute.key, profcol_builder_attribute(builder, &attribute));
}

/* "NAMESPACE.POD.CONTAINER", which is not kept: it would be a text for each container. */
static void add_instance(struct attributing *attributing, const struct known_container *known)
{
	const struct text *names[] = { known->pod->stored.namespace, known->pod->name,
				       known->container->name };
	CLEANUP_FREE char *instance = NULL;
	int length;

	if (!attributing->rules->wants[SERVICE_INSTANCE_ID])
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!names[i])
			return;
	length = asprintf(&instance, "%s.%s.%s", names[0]->bytes, names[1]->bytes, names[2]->bytes);
	if (length < 0) {
		instance = NULL;
		attributing->no_memory = true;
		return;
	}
	add_text(attributing, metadata_field_key(SERVICE_INSTANCE_ID),
		 (struct profcol_text){ instance, (size_t)length });
}

static void add_container(struct attributing *attributing, const struct known_container *known)
{
	if (!known->container)
		return;
	add_all(attributing, &known->container->attributes);
	add_instance(attributing, known);
	add_list(attributing, CONTAINER_IMAGE_TAGS, known->container->image_tag);
	if (!known->run)
		return;
	add_field(attributing, CONTAINER_ID, known->run->id);
	add_list(attributing, CONTAINER_IMAGE_REPO_DIGESTS, known->run->digest);
}

static void add_object(struct attributing *attributing, enum k8s_kind kind, const char *key)
{
	const struct stored_object *object =
		key[0] ? store_find_object(attributing->store, kind, key) : NULL;

	if (!object)
		return;
	add_all(attributing, &object->attributes);
	if (kind == K8S_NODE)
		add_field(attributing, K8S_NODE_UID, object->stored.uid);
}

static const char *text_or(const struct text *text, struct profcol_text other)
{
	return text ? text->bytes : other.bytes;
}

/* A replica set or job may have become known after the pod. */
static const char *add_owner_of(struct attributing *attributing, enum k8s_kind kind,
				const struct text *uid, enum metadata_field name_field,
				enum metadata_field uid_field)
{
	const struct stored_object *object =
		uid ? store_find_object(attributing->store, kind, uid->bytes) : NULL;

	if (!object)
		return "";
	add_field(attributing, name_field, object->owner_name);
	add_field(attributing, uid_field, object->owner_uid);
	return object->owner_uid ? object->owner_uid->bytes : "";
}

/* The pod's own was made of what was known then. */
static void add_service(struct attributing *attributing, const struct stored_pod *pod)
{
	const struct {
		enum k8s_kind kind;
		const struct text *uid;
	} owners[] = { { K8S_REPLICASET, pod->replicaset_uid }, { K8S_JOB, pod->job_uid } };

	for (size_t i = 0; pod->service_of_owner && i < sizeof(owners) / sizeof(owners[0]); i++) {
		const struct stored_object *owner =
			owners[i].uid ? store_find_object(attributing->store, owners[i].kind,
							  owners[i].uid->bytes)
				      : NULL;

		if (owner)
			add_field(attributing, SERVICE_NAME, owner->owner_name);
	}
}

static const struct text *member(const struct stored_pod *pod, size_t offset)
{
	return pod ? *(struct text *const *)(const void *)((const char *)pod + offset) : NULL;
}

/* What the pod belongs to; without a pod, what the resource says it belongs to. */
static void add_surroundings(struct attributing *attributing, const struct stored_pod *pod,
			     const struct resource_view *view)
{
	static const struct {
		enum k8s_kind kind;
		size_t offset;
		const char *attribute;
	} rows[] = {
		{ K8S_NAMESPACE, offsetof(struct stored_pod, stored.namespace),
		  "k8s.namespace.name" },
		{ K8S_NODE, offsetof(struct stored_pod, node), "k8s.node.name" },
		{ K8S_STATEFULSET, offsetof(struct stored_pod, statefulset_uid),
		  "k8s.statefulset.uid" },
		{ K8S_DAEMONSET, offsetof(struct stored_pod, daemonset_uid), "k8s.daemonset.uid" },
		{ K8S_JOB, offsetof(struct stored_pod, job_uid), "k8s.job.uid" },
	};
	const struct profcol_text none = { "", 0 };
	struct profcol_text namespace = resource_view_text(view, "k8s.namespace.name");
	const char *deployment = resource_view_text(view, "k8s.deployment.uid").bytes;

	if (!pod && attributing->rules->wants[SERVICE_NAMESPACE])
		add_text(attributing, metadata_field_key(SERVICE_NAMESPACE), namespace);
	if (!attributing->rules->kinds)
		return;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		add_object(attributing, rows[i].kind,
			   text_or(member(pod, rows[i].offset),
				   pod ? none : resource_view_text(view, rows[i].attribute)));
	if (pod) {
		deployment = add_owner_of(attributing, K8S_REPLICASET, pod->replicaset_uid,
					  K8S_DEPLOYMENT_NAME, K8S_DEPLOYMENT_UID);
		add_owner_of(attributing, K8S_JOB, pod->job_uid, K8S_CRONJOB_NAME, K8S_CRONJOB_UID);
	}
	add_object(attributing, K8S_DEPLOYMENT, deployment);
}

static void add_cluster(struct attributing *attributing)
{
	const struct stored_object *cluster =
		store_find_object(attributing->store, K8S_CLUSTER, "");

	if (cluster)
		add_field(attributing, K8S_CLUSTER_UID, cluster->stored.uid);
}

/* ---- once for each container of a batch ---- */

struct wanted_container {
	const struct attributing *attributing;
	const struct known_container *known;
};

static bool is_wanted(uint32_t id, const void *context)
{
	const struct wanted_container *wanted = context;
	const struct known_container *known = &wanted->attributing->known.items[id];

	return known->pod == wanted->known->pod && known->container == wanted->known->container &&
	       known->run == wanted->known->run;
}

static void make_additions(struct attributing *attributing, struct known_container *known,
			   const struct resource_view *view)
{
	known->begin = (uint32_t)attributing->additions.count;
	add_service(attributing, known->pod); // of a key the first counts
	add_all(attributing, &known->pod->attributes);
	add_container(attributing, known);
	if (attributing->rules->wants[K8S_CLUSTER_UID])
		add_cluster(attributing);
	add_surroundings(attributing, known->pod, view);
	known->end = (uint32_t)attributing->additions.count;
}

/* The additions of @known, which are made if it is the first time. */
static void know(struct attributing *attributing, struct known_container *known,
		 const struct resource_view *view)
{
	const struct wanted_container wanted = { attributing, known };
	const void *const identity[] = { known->pod, known->container, known->run };
	uint32_t hash = intern_hash(identity, sizeof(identity));
	uint32_t id = intern_find(&attributing->known_index, hash, is_wanted, &wanted);

	if (id != INTERN_MISSING) {
		*known = attributing->known.items[id];
		return;
	}
	make_additions(attributing, known, view);
	id = (uint32_t)attributing->known.count;
	if (!VECTOR_PUSH(&attributing->known, *known) ||
	    !intern_insert(&attributing->known_index, hash, id))
		attributing->no_memory = true;
}

/* ---- the resource ---- */

static bool list_has(const struct attributing *attributing, const struct profcol_batch *batch,
		     uint32_t key)
{
	for (size_t i = 0; i < attributing->list.count; i++)
		if (profcol_batch_attribute(batch, attributing->list.items[i]).key == key)
			return true;
	return false;
}

static bool is_empty_text(const struct profcol_attribute *attribute)
{
	return attribute->value.type == PROFCOL_VALUE_EMPTY ||
	       (attribute->value.type == PROFCOL_VALUE_STRING && !attribute->value.string);
}

/* The resource's own, without those that are empty and to be added. */
static void begin_list(struct attributing *attributing, const struct resource_view *view,
		       uint32_t begin, uint32_t end)
{
	attributing->list.count = 0;
	if (!VECTOR_RESERVE(&attributing->list, view->count + (size_t)(end - begin))) {
		attributing->no_memory = true;
		return;
	}
	for (uint32_t i = 0; i < view->count; i++) {
		struct profcol_attribute attribute =
			profcol_batch_attribute(view->batch, view->attributes[i]);
		uint32_t at = is_empty_text(&attribute) ? begin : end;

		while (at < end && attributing->additions.items[at].key != attribute.key)
			at++;
		if (at == end)
			attributing->list.items[attributing->list.count++] = view->attributes[i];
	}
}

/* Add rows @begin to @end of the additions to resource @row: what it has stays as it is. */
static void extend(struct attributing *attributing, uint32_t row, const struct resource_view *view,
		   uint32_t begin, uint32_t end)
{
	const struct profcol_batch *built = profcol_builder_peek(attributing->builder);
	size_t before;

	begin_list(attributing, view, begin, end);
	if (attributing->no_memory)
		return;
	before = attributing->list.count;
	for (uint32_t i = begin; i < end; i++) {
		const struct addition *addition = &attributing->additions.items[i];

		if (!list_has(attributing, built, addition->key))
			attributing->list.items[attributing->list.count++] = addition->attribute;
	}
	if (attributing->list.count == before)
		return;
	attributing->changed = true;
	profcol_builder_set_resource_attributes(
		attributing->builder, row,
		profcol_builder_attribute_list(attributing->builder, attributing->list.items,
					       (uint32_t)attributing->list.count));
}

/* What it gets without a pod. */
static void extend_without_pod(struct attributing *attributing, uint32_t row,
			       const struct resource_view *view, struct profcol_text address)
{
	uint32_t begin = (uint32_t)attributing->additions.count;

	if (attributing->passthrough || attributing->rules->wants[K8S_POD_IP])
		add_text(attributing, metadata_field_key(K8S_POD_IP), address);
	if (!attributing->passthrough)
		add_surroundings(attributing, NULL, view);
	if (attributing->additions.count > begin)
		extend(attributing, row, view, begin, (uint32_t)attributing->additions.count);
}

void attributing_edit(struct attributing *attributing, uint32_t row)
{
	const struct resource_view view = resource_view_of(attributing->batch, row);
	struct search search = find_pod(attributing, &view);
	struct known_container known = { 0 };

	attributing->misses.counts[search.result]++;
	if (search.result != ATTRIBUTED) {
		extend_without_pod(attributing, row, &view, search.address);
		return;
	}
	known.pod = search.key->pod;
	known.container = find_container(known.pod, &view);
	known.run = known.container ? find_run(known.container, &view) : NULL;
	know(attributing, &known, &view);
	extend(attributing, row, &view, known.begin, known.end);
}
