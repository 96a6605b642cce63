// SPDX-License-Identifier: Apache-2.0
/* The detectors `k8s_api` and, by its old name, `k8snode`: the node as the API server has it. */
#include "service.h"

#include <stdlib.h>
#include <string.h>

static void json_cleanup(json_t **value)
{
	json_decref(*value);
}

static struct profcol_error *find_node(const struct detecting *detecting,
				       const struct service_kube *kube, const char *variable,
				       struct found *found)
{
	CLEANUP(json_cleanup) json_t *node = NULL;
	const char *name = getenv(variable);
	struct profcol_error *error;
	const json_t *metadata;
	int status;

	if (!name || !name[0])
		return profcol_error_create(PROFCOL_CONFIG,
					    "node name can't be found: the environment variable %s "
					    "is not set; set it in the pod, from the field "
					    "spec.nodeName",
					    variable);
	if (!found_wants(found, K8S_NODE_UID) && !found_wants(found, K8S_NODE_NAME))
		return NULL;
	error = service_ask_node(detecting, kube, name, &status, &node);
	if (error)
		return profcol_error_prefix(error, "node '%s'%s", name,
					    status == 403 ? ": let the service account get nodes"
							  : "");
	metadata = json_object_get(node, "metadata");
	found_add(found, K8S_NODE_UID, service_text(metadata, "uid"));
	found_add(found, K8S_NODE_NAME, service_text(metadata, "name"));
	return NULL;
}

static struct profcol_error *find_cluster(const struct detecting *detecting,
					  const struct service_kube *kube, struct found *found)
{
	CLEANUP(json_cleanup) json_t *namespace = NULL;
	struct profcol_error *error;
	int status;

	if (!found_wants(found, K8S_CLUSTER_UID))
		return NULL;
	error = service_ask_kube(detecting, kube, "/api/v1/namespaces/kube-system", &status,
				 &namespace);
	if (error && (status == 401 || status == 403)) {
		profcol_log_warn(detecting->logger,
				 "no permission to get kube-system namespace, skipping "
				 "k8s.cluster.uid; let the service account get it, or switch the "
				 "attribute off");
		profcol_error_destroy(error);
		return NULL;
	}
	if (error)
		return profcol_error_prefix(error, "namespace 'kube-system'");
	found_add(found, K8S_CLUSTER_UID,
		  service_text(json_object_get(namespace, "metadata"), "uid"));
	return NULL;
}

struct profcol_error *detect_k8s_api(const struct detecting *detecting, struct found *found)
{
	const struct k8s_api_config *config = strcmp(detecting->name, "k8snode")
						      ? &detecting->config->k8s_api
						      : &detecting->config->k8snode;
	const struct service_kube kube = { .anonymous = config->auth_type == KUBE_NONE };
	const char *variable =
		config->node_from_env_var[0] ? config->node_from_env_var : "K8S_NODE_NAME";
	struct profcol_error *error = find_node(detecting, &kube, variable, found);

	return error ? error : find_cluster(detecting, &kube, found);
}
