// SPDX-License-Identifier: Apache-2.0
#include "store.h"

#include "extraction.h"
#include "store_index.h"

#include "base/base.h"

#include <pthread.h>
#include <string.h>

enum {
	PODS_MAX = 200000,
	OBJECTS_MAX = 500000,
	BYTES_MAX = 512 << 20,
	HEAP_OVERHEAD = 16, /* bytes of an allocation beside its own */
};

/* A list that began. */
struct listing {
	enum k8s_kind kind;
	struct text *namespace; /* NULL = all */
	uint32_t begun;
};

struct store {
	pthread_rwlock_t lock; /* protects the rest */
	const struct rules *rules;
	const struct association *association;
	struct store_settings settings;
	struct text_pool texts;
	struct pod_index pods;
	struct object_index objects;
	struct stored present; /* head of a ring */
	struct stored gone;    /* the one that goes first comes first */
	VECTOR(struct listing) listings;
	uint32_t begun; /* listings */
	struct store_figures figures;
};

static void ring_init(struct stored *head)
{
	head->previous = head->next = head;
}

static void ring_remove(struct stored *stored)
{
	stored->previous->next = stored->next;
	stored->next->previous = stored->previous;
}

static void ring_append(struct stored *head, struct stored *stored)
{
	stored->previous = head->previous;
	stored->next = head;
	head->previous->next = stored;
	head->previous = stored;
}

static struct stored_pod *pod_of(struct stored *stored)
{
	return (struct stored_pod *)(void *)stored;
}

static struct stored_object *object_of(struct stored *stored)
{
	return (struct stored_object *)(void *)stored;
}

/* ---- memory ---- */

static uint64_t array_bytes(size_t count, size_t item)
{
	return count ? count * item + HEAP_OVERHEAD : 0;
}

/* Without texts. */
static uint64_t pod_bytes(const struct stored_pod *pod)
{
	uint64_t bytes = sizeof(*pod) + HEAP_OVERHEAD;

	bytes += array_bytes(pod->attributes.count, sizeof(*pod->attributes.items));
	bytes += array_bytes(pod->container_count, sizeof(*pod->containers));
	bytes += array_bytes(pod->key_count + 1, sizeof(*pod->keys));
	for (uint32_t i = 0; i < pod->container_count; i++)
		bytes += array_bytes(pod->containers[i].attributes.count,
				     sizeof(*pod->attributes.items));
	return bytes;
}

static uint64_t object_bytes(const struct stored_object *object)
{
	return sizeof(*object) + HEAP_OVERHEAD +
	       array_bytes(object->attributes.count, sizeof(*object->attributes.items));
}

/* It is in neither list any more. */
static void forget_pod(struct store *store, struct stored_pod *pod)
{
	store->figures.bytes -= pod_bytes(pod);
	store->figures.pods--;
	pod_index_remove(&store->pods, pod);
	extraction_release_pod(&store->texts, pod);
	free(pod);
}

static void forget_object(struct store *store, struct stored_object *object)
{
	store->figures.bytes -= object_bytes(object);
	store->figures.objects--;
	object_index_remove(&store->objects, object);
	extraction_release_object(&store->texts, object);
	free(object);
}

static void forget(struct store *store, struct stored *stored)
{
	ring_remove(stored);
	if (stored->kind == K8S_POD)
		forget_pod(store, pod_of(stored));
	else
		forget_object(store, object_of(stored));
}

static void forget_all(struct store *store, struct stored *head)
{
	while (head->next != head)
		forget(store, head->next);
}

/* Those whose time has come. */
static void forget_gone(struct store *store)
{
	struct stored *head = &store->gone;
	uint64_t now_ns;

	if (head->next == head)
		return;
	now_ns = clock_monotonic_ns();
	while (head->next != head && head->next->gone_ns <= now_ns)
		forget(store, head->next);
}

/* It is no longer there, but remembered. */
static void let_go(struct store *store, struct stored *stored)
{
	if (stored->gone_ns)
		return;
	if (stored->kind == K8S_POD)
		store->figures.removed++;
	stored->gone_ns = clock_monotonic_ns() + store->settings.grace_ns;
	ring_remove(stored);
	ring_append(&store->gone, stored);
}

/* ---- its bounds ---- */

/* Without tables: they never shrink, and have at most a few bytes for each text and key. */
static uint64_t bytes_of(const struct store *store)
{
	return store->figures.bytes + store->texts.bytes;
}

static bool is_full(const struct store *store, enum k8s_kind kind)
{
	bool is_crowded = kind == K8S_POD ? store->figures.pods >= store->settings.pods_max
					  : store->figures.objects >= OBJECTS_MAX;

	return is_crowded || bytes_of(store) >= store->settings.bytes_max;
}

/* For one more of @kind: what is gone goes before its time. False when there is no room. */
static bool make_room(struct store *store, enum k8s_kind kind)
{
	while (is_full(store, kind) && store->gone.next != &store->gone)
		forget(store, store->gone.next);
	return !is_full(store, kind);
}

/* What has just been put may be larger than the room for it; @before: bytes, without it. */
static void bound(struct store *store, struct stored *stored, uint64_t before)
{
	uint64_t most = store->settings.bytes_max > before ? store->settings.bytes_max : before;

	while (bytes_of(store) > most && store->gone.next != &store->gone)
		forget(store, store->gone.next);
	if (bytes_of(store) <= most)
		return;
	forget(store, stored);
	store->figures.refused++;
}

/* ---- life ---- */

struct store *store_create(const struct rules *rules, const struct association *association,
			   const struct store_settings *settings)
{
	struct store *store = calloc(1, sizeof(*store));
	pthread_rwlockattr_t attributes;

	if (!store)
		return NULL;
	// Who has something new to say must not wait for ever.
	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&store->lock, &attributes);
	pthread_rwlockattr_destroy(&attributes);
	store->rules = rules;
	store->association = association;
	store->settings = *settings;
	if (!store->settings.pods_max)
		store->settings.pods_max = PODS_MAX;
	if (!store->settings.bytes_max)
		store->settings.bytes_max = BYTES_MAX;
	ring_init(&store->present);
	ring_init(&store->gone);
	return store;
}

void store_destroy(struct store *store)
{
	if (!store)
		return;
	forget_all(store, &store->present);
	forget_all(store, &store->gone);
	for (size_t i = 0; i < store->listings.count; i++)
		text_pool_release(&store->texts, store->listings.items[i].namespace);
	VECTOR_DEINIT(&store->listings);
	pod_index_deinit(&store->pods);
	object_index_deinit(&store->objects);
	text_pool_deinit(&store->texts);
	pthread_rwlock_destroy(&store->lock);
	free(store);
}

/* ---- lists ---- */

static bool text_is(const struct text *text, const char *bytes)
{
	return !strcmp(text ? text->bytes : "", bytes);
}

static struct listing *find_listing(struct store *store, const struct k8s_scope *scope)
{
	for (size_t i = 0; i < store->listings.count; i++)
		if (store->listings.items[i].kind == scope->kind &&
		    text_is(store->listings.items[i].namespace, scope->namespace))
			return &store->listings.items[i];
	return NULL;
}

static struct listing *add_listing(struct store *store, const struct k8s_scope *scope)
{
	struct listing listing = { .kind = scope->kind };

	if (scope->namespace[0]) {
		listing.namespace =
			text_pool_take(&store->texts, scope->namespace, strlen(scope->namespace));
		if (!listing.namespace)
			return NULL;
	}
	if (VECTOR_PUSH(&store->listings, listing))
		return &store->listings.items[store->listings.count - 1];
	text_pool_release(&store->texts, listing.namespace);
	return NULL;
}

void store_begin(struct store *store, const struct k8s_scope *scope)
{
	struct listing *listing;

	pthread_rwlock_wrlock(&store->lock);
	listing = find_listing(store, scope);
	if (!listing)
		listing = add_listing(store, scope);
	store->begun++;
	if (listing)
		listing->begun = store->begun;
	pthread_rwlock_unlock(&store->lock);
}

/* What was not put since the list began. */
static void let_go_unseen(struct store *store, const struct listing *listing)
{
	struct stored *stored = store->present.next, *next;

	for (; stored != &store->present; stored = next) {
		next = stored->next;
		if (stored->kind == listing->kind && stored->seen < listing->begun &&
		    (!listing->namespace || stored->namespace == listing->namespace))
			let_go(store, stored);
	}
}

void store_end(struct store *store, const struct k8s_scope *scope)
{
	struct listing *listing;

	pthread_rwlock_wrlock(&store->lock);
	listing = find_listing(store, scope);
	// Without memory for it nothing is forgotten: the next list will do it.
	if (listing)
		let_go_unseen(store, listing);
	forget_gone(store);
	pthread_rwlock_unlock(&store->lock);
}

/* ---- pods ---- */

static const struct stored_object *find_owner(void *context, enum k8s_kind kind, const char *uid)
{
	return store_find_object(context, kind, uid);
}

static struct extraction extraction_for(struct store *store)
{
	return (struct extraction){
		.rules = store->rules,
		.texts = &store->texts,
		.find = find_owner,
		.context = store,
	};
}

static struct stored_pod *find_by_uid(struct store *store, const char *uid)
{
	const struct profcol_text value = { uid, strlen(uid) };
	const struct stored_key *key =
		pod_index_find(&store->pods, store->association, SHAPE_UID, &value);

	return key ? key->pod : NULL;
}

static bool has_run(const struct stored_pod *pod, const struct text *id)
{
	for (uint32_t i = 0; i < pod->container_count; i++)
		for (int run = 0; run < RUNS; run++)
			if (pod->containers[i].runs[run].id == id)
				return true;
	return false;
}

/* Has @old a container that @pod no longer names? Its last profiles may be on their way. */
static bool has_lost_container(const struct stored_pod *old, const struct stored_pod *pod)
{
	for (uint32_t i = 0; i < old->container_count; i++) {
		const struct text *id = old->containers[i].runs[RUN_CURRENT].id;

		if (id && !has_run(pod, id))
			return true;
	}
	return false;
}

/* @has_room: for both. */
static void replace_pod(struct store *store, struct stored_pod *old, const struct stored_pod *pod,
			bool has_room)
{
	bool was_gone = old->stored.gone_ns;

	if (was_gone || !has_room || !has_lost_container(old, pod)) {
		forget(store, &old->stored);
	} else {
		let_go(store, &old->stored);
		store->figures.removed--;
	}
	if (was_gone)
		store->figures.added++;
	else
		store->figures.updated++;
}

static void put_pod(struct store *store, const struct k8s_pod *view)
{
	const struct extraction extraction = extraction_for(store);
	bool has_room = make_room(store, K8S_POD);
	uint64_t before = bytes_of(store);
	struct stored_pod *old = find_by_uid(store, view->metadata.uid);
	struct stored_pod *pod;

	pod = view->metadata.uid[0] && (old || has_room) ? calloc(1, sizeof(*pod)) : NULL;
	if (!pod || !extraction_of_pod(&extraction, view, pod) ||
	    !pod_index_add(&store->pods, store->association, pod)) {
		if (pod)
			extraction_release_pod(&store->texts, pod);
		free(pod);
		store->figures.refused++;
		return;
	}
	pod->stored.seen = store->begun;
	if (old)
		replace_pod(store, old, pod, has_room);
	else
		store->figures.added++;
	ring_append(&store->present, &pod->stored);
	store->figures.pods++;
	store->figures.bytes += pod_bytes(pod);
	bound(store, &pod->stored, before);
}

void store_put_pod(struct store *store, const struct k8s_pod *pod)
{
	pthread_rwlock_wrlock(&store->lock);
	forget_gone(store);
	put_pod(store, pod);
	pthread_rwlock_unlock(&store->lock);
}

/* ---- objects ---- */

static const char *key_of(enum k8s_kind kind, const struct k8s_metadata *metadata)
{
	if (kind == K8S_CLUSTER)
		return "";
	return kind == K8S_NODE || kind == K8S_NAMESPACE ? metadata->name : metadata->uid;
}

static void put_object(struct store *store, const struct k8s_object *view)
{
	const struct extraction extraction = extraction_for(store);
	bool has_room = make_room(store, view->kind);
	uint64_t before = bytes_of(store);
	struct stored_object *old =
		object_index_find(&store->objects, view->kind, key_of(view->kind, &view->metadata));
	struct stored_object *object = old || has_room ? calloc(1, sizeof(*object)) : NULL;

	if (!object || !extraction_of_object(&extraction, view, object) ||
	    !object_index_add(&store->objects, object)) {
		if (object)
			extraction_release_object(&store->texts, object);
		free(object);
		store->figures.refused++;
		return;
	}
	object->stored.seen = store->begun;
	if (old)
		forget(store, &old->stored);
	ring_append(&store->present, &object->stored);
	store->figures.objects++;
	store->figures.bytes += object_bytes(object);
	bound(store, &object->stored, before);
}

void store_put_object(struct store *store, const struct k8s_object *object)
{
	pthread_rwlock_wrlock(&store->lock);
	forget_gone(store);
	put_object(store, object);
	pthread_rwlock_unlock(&store->lock);
}

void store_remove(struct store *store, enum k8s_kind kind, const struct k8s_metadata *metadata)
{
	struct stored_object *object;
	struct stored_pod *pod;

	pthread_rwlock_wrlock(&store->lock);
	if (kind == K8S_POD) {
		pod = find_by_uid(store, metadata->uid);
		if (pod)
			let_go(store, &pod->stored);
	} else {
		object = object_index_find(&store->objects, kind, key_of(kind, metadata));
		if (object)
			let_go(store, &object->stored);
	}
	forget_gone(store);
	pthread_rwlock_unlock(&store->lock);
}

/* ---- reading ---- */

void store_lock(struct store *store)
{
	pthread_rwlock_rdlock(&store->lock);
}

bool store_try_lock(struct store *store)
{
	return pthread_rwlock_tryrdlock(&store->lock) == 0;
}

void store_unlock(struct store *store)
{
	pthread_rwlock_unlock(&store->lock);
}

const struct stored_key *store_find(const struct store *store, size_t shape,
				    const struct profcol_text *values)
{
	return pod_index_find(&store->pods, store->association, shape, values);
}

const struct stored_object *store_find_object(const struct store *store, enum k8s_kind kind,
					      const char *key)
{
	return object_index_find(&store->objects, kind, key);
}

/* Asked for now and then, so that what is gone is forgotten even when the source has nothing to
 * say.
 */
struct store_figures store_figures(struct store *store)
{
	struct store_figures figures;

	pthread_rwlock_wrlock(&store->lock);
	forget_gone(store);
	figures = store->figures;
	figures.bytes += text_pool_memory(&store->texts);
	figures.bytes += store->pods.bucket_count * sizeof(struct stored_key *);
	figures.bytes += store->objects.bucket_count * sizeof(struct stored_object *);
	pthread_rwlock_unlock(&store->lock);
	return figures;
}
