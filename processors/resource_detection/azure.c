// SPDX-License-Identifier: Apache-2.0
/* The detectors `azure` and `aks`. */
#include "service.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ENDPOINT "http://169.254.169.254"

static void json_cleanup(json_t **value)
{
	json_decref(*value);
}

/* What the machine's metadata service tells of it, the caller's; NULL in *@ret when something else
 * answers. */
static struct profcol_error *azure_ask(const struct detecting *detecting, json_t **ret)
{
	// That of Azure's own libraries where another host stands in for the service.
	const char *endpoint = getenv("AZURE_POD_IDENTITY_AUTHORITY_HOST");
	CLEANUP(http_client_response_deinit) struct http_client_response response = { 0 };
	CLEANUP_FREE char *url = NULL;
	struct service_request request = { .header = "Metadata", .header_value = "True" };
	struct profcol_error *error;

	*ret = NULL;
	if (!endpoint || !endpoint[0])
		endpoint = ENDPOINT;
	if (asprintf(&url, "%s/metadata/instance/compute?api-version=2020-09-01&format=json",
		     endpoint) < 0) {
		url = NULL;
		return profcol_error_errno(ENOMEM, "ask for metadata");
	}
	request.url = url;
	error = service_ask(detecting, &request, &response);
	if (error || response.status != 200)
		return error;
	return service_parse(&response, "the machine's metadata", ret);
}

static void find_tags(const json_t *compute, const struct profcol_list *patterns,
		      struct found *found)
{
	const json_t *list = json_object_get(compute, "tagsList"), *tag;
	size_t i;

	if (!patterns->count)
		return;
	json_array_foreach(list, i, tag)
	{
		const char *name = service_text(tag, "name"), *value = service_text(tag, "value");
		CLEANUP_FREE char *key = NULL;

		if (!name || !value || !detectors_match(patterns, name))
			continue;
		if (asprintf(&key, "azure.tag.%s", name) < 0)
			key = NULL;
		else
			found_add_named(found, key, value);
	}
}

struct profcol_error *detect_azure(const struct detecting *detecting, struct found *found)
{
	CLEANUP(json_cleanup) json_t *compute = NULL;
	struct profcol_error *error = azure_ask(detecting, &compute);
	const char *name, *computer;

	if (error || !compute)
		return error;
	name = service_text(compute, "name");
	// Machines made from a disk of their own have none.
	computer = service_text(json_object_get(compute, "osProfile"), "computerName");
	found_add(found, CLOUD_PROVIDER, "azure");
	found_add(found, CLOUD_PLATFORM, "azure.vm");
	found_add(found, HOST_NAME, computer && computer[0] ? computer : name);
	found_add(found, CLOUD_REGION, service_text(compute, "location"));
	found_add(found, HOST_ID, service_text(compute, "vmId"));
	found_add(found, CLOUD_ACCOUNT_ID, service_text(compute, "subscriptionId"));
	found_add(found, CLOUD_AVAILABILITY_ZONE, service_text(compute, "zone"));
	found_add(found, AZURE_VM_NAME, name);
	found_add(found, AZURE_VM_SIZE, service_text(compute, "vmSize"));
	found_add(found, AZURE_VM_SCALESET_NAME, service_text(compute, "vmScaleSetName"));
	found_add(found, AZURE_RESOURCEGROUP_NAME, service_text(compute, "resourceGroupName"));
	find_tags(compute, &detecting->config->azure.tags, found);
	return NULL;
}

/* AKS calls the group of a cluster's machines MC_GROUP_CLUSTER_REGION. */
static void find_cluster(const char *group, struct found *found)
{
	CLEANUP_FREE char *copy = group ? strdup(group) : NULL;
	char *at = copy, *parts[4];
	size_t count = 0;

	while (at && count < 4)
		parts[count++] = strsep(&at, "_");
	if (count == 4 && !at && !strcasecmp(parts[0], "mc"))
		found_add(found, K8S_CLUSTER_NAME, parts[2]);
	else
		found_add(found, K8S_CLUSTER_NAME, group);
}

struct profcol_error *detect_aks(const struct detecting *detecting, struct found *found)
{
	CLEANUP(json_cleanup) json_t *compute = NULL;
	struct profcol_error *error;

	if (!service_is_in_cluster())
		return NULL;
	error = azure_ask(detecting, &compute);
	if (error || !compute)
		return error;
	found_add(found, CLOUD_PROVIDER, "azure");
	found_add(found, CLOUD_PLATFORM, "azure.aks");
	find_cluster(service_text(compute, "resourceGroupName"), found);
	return NULL;
}
