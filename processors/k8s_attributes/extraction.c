// SPDX-License-Identifier: Apache-2.0
#include "extraction.h"

#include "draft.h"
#include "image.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- owners ---- */

static const char *label_of(const struct k8s_metadata *metadata, const char *key)
{
	for (size_t i = 0; i < metadata->label_count; i++)
		if (!strcmp(metadata->labels[i].key, key))
			return metadata->labels[i].value;
	return NULL;
}

/* @name without "-SUFFIX" at its end, which is the caller's; NULL when it does not end so, or
 * without memory. */
static char *without_suffix(const char *name, const char *suffix)
{
	size_t length = strlen(name), cut = strlen(suffix) + 1;

	if (cut == 1 || length <= cut || name[length - cut] != '-' ||
	    strcmp(name + length - cut + 1, suffix) != 0)
		return NULL;
	return strndup(name, length - cut);
}

/* Unix seconds of a time in RFC 3339, in UTC; 0 for another one. */
static int64_t seconds_of(const char *text)
{
	struct tm parts = { 0 };
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);

	return end && *end == 'Z' ? (int64_t)timegm(&parts) : 0;
}

/*
 * The cron job that has made a job is seen from the job's name, which ends with the minute it was
 * due at; a date at the end of somebody's own name is another number.
 */
static char *cron_job_of(const char *job, const char *creation_time)
{
	enum { DIGITS = 8, SKEW_MINUTES = 24 * 60 };
	size_t length = strlen(job);
	int64_t minute = 0, created = seconds_of(creation_time) / 60;

	if (length <= DIGITS || job[length - DIGITS - 1] != '-' || created <= 0)
		return NULL;
	for (const char *at = job + length - DIGITS; *at; at++) {
		if (*at < '0' || *at > '9')
			return NULL;
		minute = 10 * minute + (*at - '0');
	}
	if (created - minute > SKEW_MINUTES || minute - created > SKEW_MINUTES)
		return NULL;
	return strndup(job, length - DIGITS - 1);
}

struct pod_drafting {
	const struct extraction *extraction;
	const struct rules *rules;
	struct draft *draft;
	const struct k8s_pod *pod;
};

/* The service is called as the last of its owners that is known. */
static void put_owner(const struct pod_drafting *drafting, enum metadata_field name_field,
		      enum metadata_field uid_field, const char *name, const char *uid)
{
	draft_put_field(drafting->draft, drafting->rules, name_field, name);
	draft_put_field(drafting->draft, drafting->rules, uid_field, uid);
	draft_put_field(drafting->draft, drafting->rules, SERVICE_NAME, name);
}

static const char *text_of(const struct text *text)
{
	return text ? text->bytes : "";
}

static void put_replicaset(const struct pod_drafting *drafting, const struct k8s_owner *owner)
{
	const struct extraction *extraction = drafting->extraction;
	const struct stored_object *known =
		extraction->find(extraction->context, K8S_REPLICASET, owner->uid);
	const char *hash = label_of(&drafting->pod->metadata, "pod-template-hash");
	CLEANUP_FREE char *deployment = hash ? without_suffix(owner->name, hash) : NULL;

	put_owner(drafting, K8S_REPLICASET_NAME, K8S_REPLICASET_UID, owner->name, owner->uid);
	if (known)
		put_owner(drafting, K8S_DEPLOYMENT_NAME, K8S_DEPLOYMENT_UID,
			  text_of(known->owner_name), text_of(known->owner_uid));
	else
		put_owner(drafting, K8S_DEPLOYMENT_NAME, K8S_DEPLOYMENT_UID, deployment, NULL);
}

static void put_job(const struct pod_drafting *drafting, const struct k8s_owner *owner)
{
	const struct extraction *extraction = drafting->extraction;
	const struct stored_object *known =
		extraction->find(extraction->context, K8S_JOB, owner->uid);
	CLEANUP_FREE char *cron_job =
		cron_job_of(owner->name, drafting->pod->metadata.creation_time);

	put_owner(drafting, K8S_JOB_NAME, K8S_JOB_UID, owner->name, owner->uid);
	if (known)
		put_owner(drafting, K8S_CRONJOB_NAME, K8S_CRONJOB_UID, text_of(known->owner_name),
			  text_of(known->owner_uid));
	else
		put_owner(drafting, K8S_CRONJOB_NAME, K8S_CRONJOB_UID, cron_job, NULL);
}

static void put_owners(const struct pod_drafting *drafting)
{
	const struct k8s_metadata *metadata = &drafting->pod->metadata;

	for (size_t i = 0; i < metadata->owner_count; i++) {
		const struct k8s_owner *owner = &metadata->owners[i];

		if (!strcmp(owner->kind, "ReplicaSet"))
			put_replicaset(drafting, owner);
		else if (!strcmp(owner->kind, "DaemonSet"))
			put_owner(drafting, K8S_DAEMONSET_NAME, K8S_DAEMONSET_UID, owner->name,
				  owner->uid);
		else if (!strcmp(owner->kind, "StatefulSet"))
			put_owner(drafting, K8S_STATEFULSET_NAME, K8S_STATEFULSET_UID, owner->name,
				  owner->uid);
		else if (!strcmp(owner->kind, "Job"))
			put_job(drafting, owner);
	}
}

/* ---- pods ---- */

/*
 * Later ones replace earlier ones: annotations go before labels, these before owners. True when the
 * service is still called as an owner is.
 */
static bool put_pod(const struct pod_drafting *drafting)
{
	const struct k8s_metadata *metadata = &drafting->pod->metadata;
	const struct rules *rules = drafting->rules;
	const struct k8s_pod *pod = drafting->pod;
	const char *service = metadata_field_key(SERVICE_NAME);
	struct draft *draft = drafting->draft;
	struct text *owner;
	bool is_same;

	draft_put_field(draft, rules, K8S_POD_NAME, metadata->name);
	draft_put_field(draft, rules, SERVICE_NAME, metadata->name);
	draft_put_field(draft, rules, K8S_POD_HOSTNAME, pod->hostname);
	draft_put_field(draft, rules, K8S_POD_IP, pod->ip);
	draft_put_field(draft, rules, K8S_NAMESPACE_NAME, metadata->namespace);
	draft_put_field(draft, rules, SERVICE_NAMESPACE, metadata->namespace);
	draft_put_field(draft, rules, K8S_POD_START_TIME, metadata->creation_time);
	draft_put_field(draft, rules, K8S_POD_UID, metadata->uid);
	put_owners(drafting);
	owner = text_pool_share(draft_find(draft, service));
	draft_put_field(draft, rules, K8S_NODE_NAME, pod->node_name);
	draft_put_pairs(draft, &rules->labels, K8S_POD, false, metadata->labels,
			metadata->label_count);
	draft_put_field(draft, rules, SERVICE_NAME, label_of(metadata, "app.kubernetes.io/name"));
	draft_put_field(draft, rules, SERVICE_NAME,
			label_of(metadata, "app.kubernetes.io/instance"));
	draft_put_field(draft, rules, SERVICE_VERSION,
			label_of(metadata, "app.kubernetes.io/version"));
	draft_put_pairs(draft, &rules->annotations, K8S_POD, true, metadata->annotations,
			metadata->annotation_count);
	is_same = owner && draft_find(draft, service) == owner;
	text_pool_release(draft->texts, owner);
	return is_same;
}

/* NULL for "". False without memory. */
static bool keep(struct text_pool *texts, const char *bytes, struct text **ret)
{
	*ret = bytes[0] ? text_pool_take(texts, bytes, strlen(bytes)) : NULL;
	return *ret || !bytes[0];
}

static bool keep_owner(struct text_pool *texts, const struct k8s_owner *owner,
		       struct stored_pod *ret)
{
	const struct {
		const char *kind;
		struct text **uid;
	} rows[] = {
		{ "ReplicaSet", &ret->replicaset_uid },
		{ "StatefulSet", &ret->statefulset_uid },
		{ "DaemonSet", &ret->daemonset_uid },
		{ "Job", &ret->job_uid },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].kind, owner->kind) && !*rows[i].uid)
			return keep(texts, owner->uid, rows[i].uid);
	return true;
}

static bool keep_identity(const struct extraction *extraction, const struct k8s_pod *pod,
			  struct stored_pod *ret)
{
	const struct k8s_metadata *metadata = &pod->metadata;
	struct text_pool *texts = extraction->texts;
	bool kept = keep(texts, metadata->uid, &ret->stored.uid);

	kept &= keep(texts, metadata->name, &ret->name);
	kept &= keep(texts, metadata->namespace, &ret->stored.namespace);
	kept &= keep(texts, pod->node_name, &ret->node);
	kept &= keep(texts, pod->ip, &ret->ip);
	for (size_t i = 0; extraction->rules->kinds && i < metadata->owner_count; i++)
		kept &= keep_owner(texts, &metadata->owners[i], ret);
	ret->host_network = pod->host_network;
	ret->started = seconds_of(pod->start_time);
	return kept;
}

/* By an annotation, or by the configuration. */
static bool is_excluded(const struct rules *rules, const struct k8s_metadata *metadata)
{
	for (size_t i = 0; i < metadata->annotation_count; i++) {
		const struct k8s_pair *pair = &metadata->annotations[i];
		const char *value = pair->value + strspn(pair->value, " \t\r\n");

		if (!strcmp(pair->key, "opentelemetry.io/k8s-processor/ignore") &&
		    !strncasecmp(value, "true", 4) && !value[4 + strspn(value + 4, " \t\r\n")])
			return true;
	}
	// What a pattern cannot tell within its limit stays outside, as who excludes wants it.
	for (size_t i = 0; i < rules->exclude_count; i++)
		if (ottl_pattern_match(rules->excludes[i], metadata->name, strlen(metadata->name),
				       NULL) != OTTL_FALSE)
			return true;
	return false;
}

/* ---- containers ---- */

static void put_image(struct draft *draft, const struct rules *rules, const struct image *image)
{
	CLEANUP_FREE char *name = strndup(image->repository.bytes, image->repository.length);
	CLEANUP_FREE char *tag =
		image->tag.length ? strndup(image->tag.bytes, image->tag.length) : strdup("latest");
	char version[IMAGE_MAX];

	draft->no_memory |= !name || !tag;
	image_version(image, version);
	draft_put_field(draft, rules, CONTAINER_IMAGE_NAME, name);
	draft_put_field(draft, rules, CONTAINER_IMAGE_TAG, tag);
	draft_put_field(draft, rules, SERVICE_VERSION, version);
}

static bool keep_tag(const struct extraction *extraction, const struct image *image,
		     struct text **ret)
{
	struct profcol_text tag =
		image->tag.length ? image->tag : (struct profcol_text){ "latest", 6 };

	if (!extraction->rules->wants[CONTAINER_IMAGE_TAGS])
		return true;
	*ret = text_pool_take(extraction->texts, tag.bytes, tag.length);
	return *ret;
}

static bool keep_runs(const struct extraction *extraction, const struct k8s_container *container,
		      struct stored_container *ret)
{
	bool has_digest = extraction->rules->wants[CONTAINER_IMAGE_REPO_DIGESTS];
	char digest[IMAGE_MAX];
	struct stored_run *current = &ret->runs[RUN_CURRENT], *previous = &ret->runs[RUN_PREVIOUS];
	bool kept = keep(extraction->texts, container->id, &current->id) &&
		    keep(extraction->texts, container->previous_id, &previous->id);

	current->restart_count = container->restart_count;
	previous->restart_count = container->restart_count - !!container->restart_count;
	if (kept && has_digest && image_canonical(container->image_id, digest))
		kept = keep(extraction->texts, digest, &current->digest);
	return kept;
}

static bool keep_container(const struct extraction *extraction,
			   const struct k8s_container *container, struct stored_container *ret)
{
	const struct rules *rules = extraction->rules;
	CLEANUP(draft_deinit) struct draft draft;
	struct image image;

	draft_init(&draft, extraction->texts);
	draft_put_field(&draft, rules, K8S_CONTAINER_NAME, container->name);
	if (image_parse(container->image, &image)) {
		put_image(&draft, rules, &image);
		draft.no_memory |= !keep_tag(extraction, &image, &ret->image_tag);
	}
	return keep(extraction->texts, container->name, &ret->name) &&
	       keep_runs(extraction, container, ret) && draft_finish(&draft, &ret->attributes);
}

static bool keep_containers(const struct extraction *extraction, const struct k8s_pod *pod,
			    struct stored_pod *ret)
{
	if (!pod->container_count)
		return true;
	ret->containers = calloc(pod->container_count, sizeof(*ret->containers));
	if (!ret->containers)
		return false;
	for (size_t i = 0; i < pod->container_count; i++) {
		ret->container_count++;
		if (!keep_container(extraction, &pod->containers[i], &ret->containers[i]))
			return false;
	}
	return true;
}

bool extraction_of_pod(const struct extraction *extraction, const struct k8s_pod *pod,
		       struct stored_pod *ret)
{
	CLEANUP(draft_deinit) struct draft draft;
	const struct pod_drafting drafting = { extraction, extraction->rules, &draft, pod };

	draft_init(&draft, extraction->texts);
	ret->stored.kind = K8S_POD;
	ret->ignored = is_excluded(extraction->rules, &pod->metadata);
	if (!ret->ignored)
		ret->service_of_owner = put_pod(&drafting);
	return keep_identity(extraction, pod, ret) && keep_containers(extraction, pod, ret) &&
	       draft_finish(&draft, &ret->attributes);
}

/* ---- others ---- */

static bool keep_owner_of_object(struct text_pool *texts, const struct k8s_object *object,
				 struct stored_object *ret)
{
	const char *kind = object->kind == K8S_REPLICASET ? "Deployment" : "CronJob";

	for (size_t i = 0; i < object->metadata.owner_count; i++) {
		const struct k8s_owner *owner = &object->metadata.owners[i];

		if (owner->controller && !strcmp(owner->kind, kind))
			return keep(texts, owner->name, &ret->owner_name) &&
			       keep(texts, owner->uid, &ret->owner_uid);
	}
	return true;
}

bool extraction_of_object(const struct extraction *extraction, const struct k8s_object *object,
			  struct stored_object *ret)
{
	const struct k8s_metadata *metadata = &object->metadata;
	const struct rules *rules = extraction->rules;
	struct text_pool *texts = extraction->texts;
	CLEANUP(draft_deinit) struct draft draft;

	draft_init(&draft, texts);
	ret->stored.kind = object->kind;
	draft_put_pairs(&draft, &rules->labels, object->kind, false, metadata->labels,
			metadata->label_count);
	draft_put_pairs(&draft, &rules->annotations, object->kind, true, metadata->annotations,
			metadata->annotation_count);
	if ((object->kind == K8S_REPLICASET || object->kind == K8S_JOB) &&
	    !keep_owner_of_object(texts, object, ret))
		return false;
	return keep(texts, metadata->uid, &ret->stored.uid) &&
	       keep(texts, metadata->namespace, &ret->stored.namespace) &&
	       keep(texts, metadata->name, &ret->name) && draft_finish(&draft, &ret->attributes);
}

/* ---- the end ---- */

static void release_stored(struct text_pool *texts, struct stored *stored)
{
	text_pool_release(texts, stored->namespace);
	text_pool_release(texts, stored->uid);
}

static void release_container(struct text_pool *texts, struct stored_container *container)
{
	text_pool_release(texts, container->name);
	text_pool_release(texts, container->image_tag);
	draft_release(texts, &container->attributes);
	for (int run = 0; run < RUNS; run++) {
		text_pool_release(texts, container->runs[run].id);
		text_pool_release(texts, container->runs[run].digest);
	}
}

void extraction_release_pod(struct text_pool *texts, struct stored_pod *pod)
{
	release_stored(texts, &pod->stored);
	text_pool_release(texts, pod->name);
	text_pool_release(texts, pod->node);
	text_pool_release(texts, pod->ip);
	text_pool_release(texts, pod->replicaset_uid);
	text_pool_release(texts, pod->statefulset_uid);
	text_pool_release(texts, pod->daemonset_uid);
	text_pool_release(texts, pod->job_uid);
	draft_release(texts, &pod->attributes);
	for (uint32_t i = 0; i < pod->container_count; i++)
		release_container(texts, &pod->containers[i]);
	free(pod->containers);
	free(pod->keys);
}

void extraction_release_object(struct text_pool *texts, struct stored_object *object)
{
	release_stored(texts, &object->stored);
	text_pool_release(texts, object->name);
	text_pool_release(texts, object->owner_name);
	text_pool_release(texts, object->owner_uid);
	draft_release(texts, &object->attributes);
}
