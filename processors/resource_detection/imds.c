// SPDX-License-Identifier: Apache-2.0
#include "imds.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ENDPOINT "http://169.254.169.254"

enum { TOKEN_MAX_BYTES = 1024 };

static void json_cleanup(json_t **value)
{
	json_decref(*value);
}

void imds_deinit(struct imds *imds)
{
	free(imds->token);
	imds->token = NULL;
}

/* The variables are those of the AWS SDKs. */
static bool imds_set_endpoint(struct imds *imds)
{
	const char *endpoint = getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	const char *disabled = getenv("AWS_EC2_METADATA_DISABLED");
	size_t length;

	if (disabled && !strcasecmp(disabled, "true"))
		return false;
	if (!endpoint || !endpoint[0])
		endpoint = ENDPOINT;
	length = strlen(endpoint);
	while (length && endpoint[length - 1] == '/')
		length--;
	if (length >= sizeof(imds->endpoint))
		return false;
	memcpy(imds->endpoint, endpoint, length);
	imds->endpoint[length] = '\0';
	return true;
}

static bool is_token(const struct http_client_response *response)
{
	if (!response->length || response->length > TOKEN_MAX_BYTES)
		return false;
	for (size_t i = 0; i < response->length; i++)
		if (!isgraph((unsigned char)response->body[i]))
			return false;
	return true;
}

static struct profcol_error *imds_begin(struct imds *imds)
{
	CLEANUP(http_client_response_deinit) struct http_client_response response = { 0 };
	CLEANUP_FREE char *url = NULL;
	const struct service_request request = {
		.method = "PUT",
		.header = "X-aws-ec2-metadata-token-ttl-seconds",
		.header_value = "300",
	};
	struct service_request call = request;
	struct profcol_error *error;

	if (asprintf(&url, "%s/latest/api/token", imds->endpoint) < 0) {
		url = NULL;
		return profcol_error_errno(ENOMEM, "ask for metadata");
	}
	call.url = url;
	error = service_ask(imds->detecting, &call, &response);
	if (error || response.status != 200)
		return error; // An old service knows no tokens.
	if (!is_token(&response))
		return profcol_error_create(PROFCOL_BAD_DATA, "'%s' gives no token", url);
	imds->token = strdup(response.body);
	return imds->token ? NULL : profcol_error_errno(ENOMEM, "ask for metadata");
}

/* Google's service, at the same address, refuses whoever does not name its header. */
static bool is_foreign(const struct http_client_response *response)
{
	const char *flavor;

	return http_client_response_header(response, "Metadata-Flavor", &flavor) > 0;
}

struct profcol_error *imds_get(const struct imds *imds, const char *path, char **ret)
{
	CLEANUP(http_client_response_deinit) struct http_client_response response = { 0 };
	CLEANUP_FREE char *url = NULL;
	struct service_request request = {
		.header = imds->token ? "X-aws-ec2-metadata-token" : NULL,
		.header_value = imds->token,
	};
	struct profcol_error *error;

	*ret = NULL;
	if (asprintf(&url, "%s%s", imds->endpoint, path) < 0) {
		url = NULL;
		return profcol_error_errno(ENOMEM, "ask for metadata");
	}
	request.url = url;
	error = service_ask(imds->detecting, &request, &response);
	if (error)
		return error;
	if (response.status == 200)
		*ret = TAKE(response.body);
	// A token that is not taken, or a service that is switched off: not that there is nothing.
	if ((response.status == 401 || response.status == 403) && !is_foreign(&response))
		return profcol_error_create(PROFCOL_UNAVAILABLE, "'%s' answers with status %d", url,
					    response.status);
	return NULL;
}

struct profcol_error *imds_init(struct imds *imds, const struct detecting *detecting,
				bool *found_ret)
{
	CLEANUP_FREE char *instance = NULL;
	struct profcol_error *error;

	*imds = (struct imds){ .detecting = detecting };
	*found_ret = false;
	if (!imds_set_endpoint(imds))
		return NULL;
	error = imds_begin(imds);
	if (!error)
		error = imds_get(imds, "/latest/meta-data/instance-id", &instance);
	*found_ret = !error && instance;
	if (!*found_ret)
		imds_deinit(imds);
	return error;
}

struct profcol_error *imds_find_identity(const struct imds *imds, struct found *found)
{
	CLEANUP(http_client_response_deinit) struct http_client_response document = { 0 };
	CLEANUP(json_cleanup) json_t *identity = NULL;
	CLEANUP_FREE char *hostname = NULL;
	struct profcol_error *error =
		imds_get(imds, "/latest/dynamic/instance-identity/document", &document.body);

	if (!error)
		error = imds_get(imds, "/latest/meta-data/hostname", &hostname);
	if (error)
		return error;
	if (!document.body)
		return profcol_error_create(PROFCOL_BAD_DATA, "the instance has no identity");
	document.length = strlen(document.body);
	error = service_parse(&document, "the instance's identity", &identity);
	if (error)
		return error;
	found_add(found, CLOUD_REGION, service_text(identity, "region"));
	found_add(found, CLOUD_ACCOUNT_ID, service_text(identity, "accountId"));
	found_add(found, CLOUD_AVAILABILITY_ZONE, service_text(identity, "availabilityZone"));
	found_add(found, HOST_ID, service_text(identity, "instanceId"));
	found_add(found, HOST_IMAGE_ID, service_text(identity, "imageId"));
	found_add(found, HOST_TYPE, service_text(identity, "instanceType"));
	found_add(found, HOST_NAME, hostname);
	return NULL;
}
