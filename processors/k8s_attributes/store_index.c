// SPDX-License-Identifier: Apache-2.0
#include "store_index.h"

#include "base/base.h"

#include <string.h>

enum { BUCKETS_AT_FIRST = 64 };

/* ---- parts of a pod ---- */

static struct profcol_text text_of(const struct text *text)
{
	return text ? (struct profcol_text){ text->bytes, text->length }
		    : (struct profcol_text){ "", 0 };
}

static struct profcol_text attribute_of(const struct stored_pod *pod, const char *key)
{
	for (uint32_t i = 0; i < pod->attributes.count; i++)
		if (!strcmp(pod->attributes.items[i].key->bytes, key))
			return text_of(pod->attributes.items[i].value);
	return text_of(NULL);
}

/* Empty when the pod does not have it. @key says which container is meant. */
static struct profcol_text part_of(const struct stored_key *key,
				   const struct association_shape *shape, size_t at)
{
	const struct stored_pod *pod = key->pod;

	switch (shape->parts[at]) {
	case PART_CONTAINER_ID:
		if (key->container >= pod->container_count)
			break;
		return text_of(pod->containers[key->container].runs[key->run].id);
	case PART_UID:
		return text_of(pod->stored.uid);
	case PART_IP:
		return text_of(pod->host_network ? NULL : pod->ip);
	case PART_NAMESPACE:
		return text_of(pod->stored.namespace);
	case PART_NAME:
		return text_of(pod->name);
	case PART_ATTRIBUTE:
		return attribute_of(pod, shape->keys[at]);
	}
	return text_of(NULL);
}

static bool values_equal(struct profcol_text left, struct profcol_text right)
{
	return left.length == right.length && !memcmp(left.bytes, right.bytes, left.length);
}

static uint32_t hash_values(size_t shape, const struct profcol_text *values, size_t count)
{
	uint32_t hash = (uint32_t)shape;

	for (size_t i = 0; i < count; i++)
		hash = intern_hash_seeded(values[i].bytes, values[i].length, hash);
	return hash;
}

/* ---- pods ---- */

void pod_index_deinit(struct pod_index *index)
{
	free(index->buckets);
	*index = (struct pod_index){ 0 };
}

static bool pod_index_reserve(struct pod_index *index, size_t extra)
{
	size_t count = index->bucket_count ? index->bucket_count : BUCKETS_AT_FIRST;
	struct stored_key **buckets;

	while (count < index->count + extra)
		count *= 2;
	if (count == index->bucket_count)
		return true;
	buckets = calloc(count, sizeof(struct stored_key *));
	if (!buckets)
		return false;
	for (size_t i = 0; i < index->bucket_count; i++) {
		struct stored_key *key = index->buckets[i], *next;

		for (; key; key = next) {
			struct stored_key **bucket = &buckets[key->hash & (count - 1)];

			next = key->next;
			key->next = *bucket;
			*bucket = key;
		}
	}
	free(index->buckets);
	index->buckets = buckets;
	index->bucket_count = count;
	return true;
}

/* The key at @to, if the pod has all of the shape. */
static bool make_key(struct stored_pod *pod, const struct association *association, size_t shape,
		     size_t container, int run, struct stored_key *to)
{
	const struct association_shape *parts = &association->shapes[shape];
	struct profcol_text values[ASSOCIATION_SOURCES_MAX];

	*to = (struct stored_key){
		.pod = pod,
		.shape = (uint16_t)shape,
		.container = (uint8_t)container,
		.run = (uint8_t)run,
	};
	for (size_t i = 0; i < parts->count; i++) {
		values[i] = part_of(to, parts, i);
		if (!values[i].length)
			return false;
	}
	to->hash = hash_values(shape, values, parts->count);
	return true;
}

static bool names_container(const struct association_shape *shape)
{
	for (size_t i = 0; i < shape->count; i++)
		if (shape->parts[i] == PART_CONTAINER_ID)
			return true;
	return false;
}

/* At @to, which is NULL to count them. */
static size_t make_keys(struct stored_pod *pod, const struct association *association,
			struct stored_key *to)
{
	struct stored_key spare;
	size_t count = 0;

	for (size_t shape = 0; shape < association->shape_count; shape++) {
		bool each = names_container(&association->shapes[shape]);
		size_t containers = each ? pod->container_count : 1;

		for (size_t i = 0; i < containers; i++)
			for (int run = 0; run < (each ? RUNS : 1); run++)
				count += make_key(pod, association, shape, i, run,
						  to ? &to[count] : &spare);
	}
	return count;
}

bool pod_index_add(struct pod_index *index, const struct association *association,
		   struct stored_pod *pod)
{
	size_t count = make_keys(pod, association, NULL);

	if (!pod_index_reserve(index, count))
		return false;
	// One more: the last attempt may fail after it was written.
	pod->keys = calloc(count + 1, sizeof(*pod->keys));
	if (!pod->keys)
		return false;
	pod->key_count = (uint32_t)make_keys(pod, association, pod->keys);
	for (uint32_t i = 0; i < pod->key_count; i++) {
		struct stored_key *key = &pod->keys[i];
		struct stored_key **bucket = &index->buckets[key->hash & (index->bucket_count - 1)];

		key->next = *bucket;
		*bucket = key;
	}
	index->count += pod->key_count;
	return true;
}

void pod_index_remove(struct pod_index *index, struct stored_pod *pod)
{
	for (uint32_t i = 0; i < pod->key_count; i++) {
		struct stored_key *key = &pod->keys[i];
		struct stored_key **link = &index->buckets[key->hash & (index->bucket_count - 1)];

		while (*link != key)
			link = &(*link)->next;
		*link = key->next;
	}
	index->count -= pod->key_count;
	pod->key_count = 0;
}

/* Of two pods with one address, or one container id, that say different things. */
static bool is_better(const struct stored_key *left, const struct stored_key *right)
{
	bool left_gone = left->pod->stored.gone_ns, right_gone = right->pod->stored.gone_ns;

	if (left_gone != right_gone)
		return right_gone;
	return left->pod->started > right->pod->started;
}

static bool has_values(const struct stored_key *key, const struct association_shape *shape,
		       const struct profcol_text *values)
{
	for (size_t i = 0; i < shape->count; i++)
		if (!values_equal(part_of(key, shape, i), values[i]))
			return false;
	return true;
}

const struct stored_key *pod_index_find(const struct pod_index *index,
					const struct association *association, size_t shape,
					const struct profcol_text *values)
{
	const struct association_shape *parts = &association->shapes[shape];
	uint32_t hash = hash_values(shape, values, parts->count);
	const struct stored_key *found = NULL, *key;

	if (!index->bucket_count)
		return NULL;
	for (key = index->buckets[hash & (index->bucket_count - 1)]; key; key = key->next)
		if (key->hash == hash && key->shape == shape && has_values(key, parts, values) &&
		    (!found || is_better(key, found)))
			found = key;
	return found;
}

/* ---- objects ---- */

/* What an object of that kind is found by. */
static const char *key_of(const struct stored_object *object)
{
	const struct text *text = object->stored.uid;

	if (object->stored.kind == K8S_CLUSTER)
		return "";
	if (object->stored.kind == K8S_NODE || object->stored.kind == K8S_NAMESPACE)
		text = object->name;
	return text ? text->bytes : "";
}

static uint32_t object_hash(enum k8s_kind kind, const char *key)
{
	return intern_hash_seeded(key, strlen(key), kind);
}

void object_index_deinit(struct object_index *index)
{
	free(index->buckets);
	*index = (struct object_index){ 0 };
}

static bool object_index_grow(struct object_index *index)
{
	size_t count = index->bucket_count ? 2 * index->bucket_count : BUCKETS_AT_FIRST;
	struct stored_object **buckets = calloc(count, sizeof(struct stored_object *));

	if (!buckets)
		return false;
	for (size_t i = 0; i < index->bucket_count; i++) {
		struct stored_object *object = index->buckets[i], *next;

		for (; object; object = next) {
			struct stored_object **bucket = &buckets[object->hash & (count - 1)];

			next = object->chain;
			object->chain = *bucket;
			*bucket = object;
		}
	}
	free(index->buckets);
	index->buckets = buckets;
	index->bucket_count = count;
	return true;
}

bool object_index_add(struct object_index *index, struct stored_object *object)
{
	struct stored_object **bucket;

	if (index->count >= index->bucket_count && !object_index_grow(index))
		return false;
	object->hash = object_hash(object->stored.kind, key_of(object));
	bucket = &index->buckets[object->hash & (index->bucket_count - 1)];
	object->chain = *bucket;
	*bucket = object;
	index->count++;
	return true;
}

void object_index_remove(struct object_index *index, struct stored_object *object)
{
	struct stored_object **link = &index->buckets[object->hash & (index->bucket_count - 1)];

	while (*link != object)
		link = &(*link)->chain;
	*link = object->chain;
	index->count--;
}

struct stored_object *object_index_find(const struct object_index *index, enum k8s_kind kind,
					const char *key)
{
	uint32_t hash = object_hash(kind, key);
	struct stored_object *object;

	if (!index->bucket_count)
		return NULL;
	object = index->buckets[hash & (index->bucket_count - 1)];
	while (object && (object->hash != hash || object->stored.kind != kind ||
			  strcmp(key_of(object), key) != 0))
		object = object->chain;
	return object;
}
