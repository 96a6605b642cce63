// SPDX-License-Identifier: Apache-2.0
/* The detectors `ec2` and `eks`. */
#include "imds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAGS_PATH "/latest/meta-data/tags/instance"

enum { NODE_NAME_MAX = 253, TAG_NAME_MAX = 128 };

static void json_cleanup(json_t **value)
{
	json_decref(*value);
}

/* ---- ec2 ---- */

static struct profcol_error *find_tag(const struct imds *imds, const char *tag, struct found *found)
{
	CLEANUP_FREE char *path = NULL, *key = NULL, *value = NULL;
	struct profcol_error *error;

	if (asprintf(&path, "%s/%s", TAGS_PATH, tag) < 0) {
		path = NULL;
		return profcol_error_errno(ENOMEM, "ask for tags");
	}
	if (asprintf(&key, "ec2.tag.%s", tag) < 0) {
		key = NULL;
		return profcol_error_errno(ENOMEM, "ask for tags");
	}
	error = imds_get(imds, path, &value);
	if (!error && value)
		found_add_named(found, key, value);
	return error;
}

/* A name per line. What cannot be in a URL as it is cannot be a tag there either. */
static struct profcol_error *find_tags(const struct imds *imds, const struct profcol_list *patterns,
				       struct found *found)
{
	struct profcol_error *error;
	CLEANUP_FREE char *names = NULL;
	char *at, *name;

	if (!patterns->count)
		return NULL;
	error = imds_get(imds, TAGS_PATH, &names);
	if (!error && !names)
		profcol_log_warn(imds->detecting->logger,
				 "the instance's metadata has no tags, going on without them; "
				 "switch on InstanceMetadataTags");
	for (at = names; !error && (name = strsep(&at, "\n"));)
		if (name[0] && strlen(name) <= TAG_NAME_MAX && detectors_match(patterns, name))
			error = find_tag(imds, name, found);
	return error;
}

struct profcol_error *detect_ec2(const struct detecting *detecting, struct found *found)
{
	struct profcol_error *error;
	struct imds imds;
	bool is_instance;

	error = imds_init(&imds, detecting, &is_instance);
	if (error || !is_instance)
		return error;
	found_add(found, CLOUD_PROVIDER, "aws");
	found_add(found, CLOUD_PLATFORM, "aws_ec2");
	error = imds_find_identity(&imds, found);
	if (!error)
		error = find_tags(&imds, &detecting->config->ec2.tags, found);
	imds_deinit(&imds);
	return error;
}

/* ---- eks ---- */

static bool variable_has(const char *variable, const char *part)
{
	const char *value = getenv(variable);

	return value && strstr(value, part);
}

/* Does member @key of what the API server says at @path have @part in it? */
static struct profcol_error *server_has(const struct detecting *detecting, const char *path,
					const char *key, const char *part, bool *ret)
{
	const struct service_kube kube = { 0 };
	CLEANUP(json_cleanup) json_t *answer = NULL;
	struct profcol_error *error;
	const char *text;
	int status;

	error = service_ask_kube(detecting, &kube, path, &status, &answer);
	if (error)
		return error;
	text = service_text(answer, key);
	*ret = text && strstr(text, part);
	return NULL;
}

/*
 * What the service account is given there, then who issues its tokens, then the server's version. A
 * pod that has nothing to ask the server with is none that EKS has set up for it.
 */
static struct profcol_error *is_eks(const struct detecting *detecting, bool *ret)
{
	struct profcol_error *error;

	*ret = false;
	if (!service_is_in_cluster())
		return NULL;
	*ret = variable_has("AWS_WEB_IDENTITY_TOKEN_FILE", "eks.amazonaws.com") ||
	       variable_has("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "eks-pod-identity");
	if (*ret)
		return NULL;
	error = server_has(detecting, "/.well-known/openid-configuration", "issuer", "oidc.eks.",
			   ret);
	if (!error && *ret)
		return NULL;
	profcol_error_destroy(error);
	error = server_has(detecting, "/version", "gitVersion", "-eks-", ret);
	if (!error || profcol_error_code(error) != PROFCOL_CONFIG)
		return error;
	profcol_log_info(detecting->logger, "cannot tell EKS, taken for another platform: %s",
			 profcol_error_message(error));
	profcol_error_destroy(error);
	return NULL;
}

/* A cluster's tag has its name as the value, or, older ones, at the end of the key. */
static struct profcol_error *find_cluster(const struct imds *imds, struct found *found)
{
	static const char *const paths[] = { TAGS_PATH "/aws:eks:cluster-name",
					     TAGS_PATH "/eks:cluster-name" };

	for (size_t i = 0; i < 2 && found_wants(found, K8S_CLUSTER_NAME); i++) {
		CLEANUP_FREE char *name = NULL;
		struct profcol_error *error = imds_get(imds, paths[i], &name);

		if (error)
			return error;
		found_add(found, K8S_CLUSTER_NAME, name);
		if (name)
			break;
	}
	return NULL;
}

/* "aws:///us-west-2a/i-049ca2df511bec762": a zone is its region and a letter. */
static void find_provider_id(const char *id, struct found *found)
{
	const char *prefix = "aws:///", *instance;
	char zone[64];
	size_t length;

	if (!id || strncmp(id, prefix, strlen(prefix)))
		return;
	id += strlen(prefix);
	instance = strchr(id, '/');
	length = instance ? (size_t)(instance - id) : 0;
	if (length < 2 || length >= sizeof(zone))
		return;
	memcpy(zone, id, length);
	zone[length] = '\0';
	found_add(found, CLOUD_AVAILABILITY_ZONE, zone);
	zone[length - 1] = '\0';
	found_add(found, CLOUD_REGION, zone);
	found_add(found, HOST_ID, instance + 1);
}

/* Where a pod may not ask for the instance's metadata. */
static struct profcol_error *find_by_node(const struct detecting *detecting, struct found *found)
{
	const char *variable = detecting->config->eks.node_from_env_var;
	const char *name = variable[0] ? getenv(variable) : NULL;
	const struct service_kube kube = { 0 };
	CLEANUP(json_cleanup) json_t *node = NULL;
	struct profcol_error *error;
	int status;

	if (!name || !name[0])
		return profcol_error_create(PROFCOL_UNAVAILABLE,
					    "the instance's metadata is out of reach; let pods "
					    "reach it (hop limit 2), or set eks.node_from_env_var");
	error = service_ask_node(detecting, &kube, name, &status, &node);
	if (error)
		return profcol_error_prefix(error, "node '%s'", name);
	find_provider_id(service_text(json_object_get(node, "spec"), "providerID"), found);
	return NULL;
}

struct profcol_error *detect_eks(const struct detecting *detecting, struct found *found)
{
	struct detecting quick = *detecting;
	struct profcol_error *error;
	bool is_instance = false, is_here;
	uint64_t now;
	struct imds imds;

	error = is_eks(detecting, &is_here);
	if (error || !is_here)
		return error;
	found_add(found, CLOUD_PROVIDER, "aws");
	found_add(found, CLOUD_PLATFORM, "aws_eks");
	// A pod that is too far away gets no answer: leave time for the other way.
	now = clock_monotonic_ns();
	if (quick.deadline_ns > now)
		quick.deadline_ns = now + (quick.deadline_ns - now) / 2;
	error = imds_init(&imds, &quick, &is_instance);
	if (!is_instance) {
		profcol_error_destroy(error);
		return find_by_node(detecting, found);
	}
	imds.detecting = detecting;
	error = imds_find_identity(&imds, found);
	if (!error)
		error = find_cluster(&imds, found);
	imds_deinit(&imds);
	return error;
}
