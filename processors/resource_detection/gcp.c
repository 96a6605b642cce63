// SPDX-License-Identifier: Apache-2.0
/* The detector `gcp`: Compute Engine, Kubernetes Engine, and Bare Metal Solution. */
#include "service.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST "169.254.169.254"

/* The variable is that of Google's own libraries. */
static const char *gcp_host(void)
{
	const char *host = getenv("GCE_METADATA_HOST");

	return host && host[0] ? host : HOST;
}

/*
 * The text at @path, without blanks at its ends, free(); NULL in *@ret when there is none.
 * *@is_google_ret: it is that service which has answered.
 */
static struct profcol_error *gcp_get(const struct detecting *detecting, const char *path,
				     char **ret, bool *is_google_ret)
{
	CLEANUP(http_client_response_deinit) struct http_client_response response = { 0 };
	CLEANUP_FREE char *url = NULL;
	struct service_request request = { .header = "Metadata-Flavor", .header_value = "Google" };
	struct profcol_error *error;
	const char *flavor;
	size_t length;

	*ret = NULL;
	*is_google_ret = false;
	if (asprintf(&url, "http://%s/computeMetadata/v1/%s", gcp_host(), path) < 0) {
		url = NULL;
		return profcol_error_errno(ENOMEM, "ask for metadata");
	}
	request.url = url;
	error = service_ask(detecting, &request, &response);
	if (error)
		return error;
	length = http_client_response_header(&response, "Metadata-Flavor", &flavor);
	*is_google_ret = length == 6 && !memcmp(flavor, "Google", 6);
	if (!*is_google_ret || response.status != 200)
		return NULL;
	response.body[strcspn(response.body, "\r\n")] = '\0';
	*ret = TAKE(response.body);
	return NULL;
}

/* Put the last part of the text at @path, or all of it, in @found as @attribute. */
static struct profcol_error *gcp_find(const struct detecting *detecting, const char *path,
				      enum attribute attribute, struct found *found)
{
	CLEANUP_FREE char *text = NULL;
	struct profcol_error *error;
	bool is_google;

	if (!found_wants(found, attribute))
		return NULL;
	error = gcp_get(detecting, path, &text, &is_google);
	if (!error)
		found_add(found, attribute, text);
	return error;
}

/* A zone is a region and a letter: "us-central1-a". */
static void find_location(const char *location, struct found *found)
{
	char region[64];
	const char *last = strrchr(location, '-');
	size_t length = last ? (size_t)(last - location) : 0;

	if (!last || strchr(location, '-') == last) {
		found_add(found, CLOUD_REGION, location);
		return;
	}
	found_add(found, CLOUD_AVAILABILITY_ZONE, location);
	if (length >= sizeof(region))
		return;
	memcpy(region, location, length);
	region[length] = '\0';
	found_add(found, CLOUD_REGION, region);
}

/* "projects/1/zones/us-central1-a/instanceGroupManagers/workers" */
static void find_group(const char *creator, struct found *found)
{
	char kind[16], location[64], name[128], end;

	if (!creator ||
	    sscanf(creator, "projects/%*[^/]/%15[^/]/%63[^/]/instanceGroupManagers/%127[^/]%c",
		   kind, location, name, &end) != 3)
		return;
	if (!strcmp(kind, "zones"))
		found_add(found, GCP_GCE_INSTANCE_GROUP_MANAGER_ZONE, location);
	else if (!strcmp(kind, "regions"))
		found_add(found, GCP_GCE_INSTANCE_GROUP_MANAGER_REGION, location);
	else
		return;
	found_add(found, GCP_GCE_INSTANCE_GROUP_MANAGER_NAME, name);
}

static struct profcol_error *find_instance(const struct detecting *detecting, struct found *found)
{
	static const struct {
		const char *path;
		enum attribute attribute;
	} rows[] = {
		{ "instance/machine-type", HOST_TYPE },
		{ "instance/id", HOST_ID },
		{ "instance/name", HOST_NAME },
		{ "instance/hostname", GCP_GCE_INSTANCE_HOSTNAME },
		{ "instance/name", GCP_GCE_INSTANCE_NAME },
	};
	CLEANUP_FREE char *zone = NULL, *creator = NULL;
	struct profcol_error *error = gcp_get(detecting, "instance/zone", &zone, &(bool){ false });

	found_add(found, CLOUD_PLATFORM, "gcp_compute_engine");
	for (size_t i = 0; !error && i < sizeof(rows) / sizeof(rows[0]); i++)
		error = gcp_find(detecting, rows[i].path, rows[i].attribute, found);
	if (!error)
		error = gcp_get(detecting, "instance/attributes/created-by", &creator,
				&(bool){ false });
	if (error)
		return error;
	// "projects/1/zones/us-central1-a"
	if (zone)
		find_location(strrchr(zone, '/') ? strrchr(zone, '/') + 1 : zone, found);
	find_group(creator, found);
	return NULL;
}

static struct profcol_error *find_cluster(const struct detecting *detecting, const char *location,
					  struct found *found)
{
	struct profcol_error *error;

	found_add(found, CLOUD_PLATFORM, "gcp_kubernetes_engine");
	find_location(location, found);
	error = gcp_find(detecting, "instance/attributes/cluster-name", K8S_CLUSTER_NAME, found);
	if (!error)
		error = gcp_find(detecting, "instance/id", HOST_ID, found);
	// Not there under workload identity.
	return error ? error : gcp_find(detecting, "instance/name", HOST_NAME, found);
}

/* Google sets these variables there. */
static bool find_bare_metal(struct found *found)
{
	const char *project = getenv("BMS_PROJECT_ID"), *region = getenv("BMS_REGION");
	const char *instance = getenv("BMS_INSTANCE_ID");

	if (!project || !project[0] || !region || !region[0] || !instance || !instance[0])
		return false;
	found_add(found, CLOUD_PROVIDER, "gcp");
	found_add(found, CLOUD_PLATFORM, "gcp_bare_metal_solution");
	found_add(found, CLOUD_ACCOUNT_ID, project);
	found_add(found, CLOUD_REGION, region);
	found_add(found, HOST_NAME, instance);
	return true;
}

struct profcol_error *detect_gcp(const struct detecting *detecting, struct found *found)
{
	CLEANUP_FREE char *project = NULL, *location = NULL;
	struct profcol_error *error;
	bool is_google;

	if (find_bare_metal(found))
		return NULL;
	error = gcp_get(detecting, "project/project-id", &project, &is_google);
	if (error || !is_google)
		return error;
	found_add(found, CLOUD_PROVIDER, "gcp");
	found_add(found, CLOUD_ACCOUNT_ID, project);
	if (service_is_in_cluster()) {
		error = gcp_get(detecting, "instance/attributes/cluster-location", &location,
				&is_google);
		if (error || location)
			return error ? error : find_cluster(detecting, location, found);
	}
	return find_instance(detecting, found);
}
