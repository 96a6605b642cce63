/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to a metadata service and to the API server of a cluster, whose answers are hostile.
 * Private to the processor.
 */
#pragma once

#include "detectors.h"

#include "http_client/http_client.h"

#include <jansson.h>

struct service_request {
	const char *method; /* NULL = GET */
	const char *url;
	const char *header; /* name of one; NULL = none */
	const char *header_value;
};

/*
 * Ask a service of the machine. An answer with status 5xx or 429 is an error like none
 * (UNAVAILABLE); with any other, @response is the caller's to deinit.
 */
PROFCOL_MUST_CHECK struct profcol_error *service_ask(const struct detecting *detecting,
						     const struct service_request *request,
						     struct http_client_response *response);

/* @response as a JSON object, the caller's; BAD_DATA, naming @what, when it is none. */
PROFCOL_MUST_CHECK struct profcol_error *service_parse(const struct http_client_response *response,
						       const char *what, json_t **ret);

/* Text of member @key, whatever its case; borrowed; NULL when there is none. */
const char *service_text(const json_t *object, const char *key);

/* Does this process run in a cluster? */
bool service_is_in_cluster(void);

struct service_kube {
	const char *directory; /* of the service account; NULL = where Kubernetes puts it */
	bool anonymous;        /* no token, any certificate */
};

/*
 * GET @path of the API server. An answer other than 200 is an error; *@status_ret (0 = none) has
 * it then. *@ret is the caller's.
 */
PROFCOL_MUST_CHECK struct profcol_error *service_ask_kube(const struct detecting *detecting,
							  const struct service_kube *kube,
							  const char *path, int *status_ret,
							  json_t **ret);

/* The node called @name; like service_ask_kube. */
PROFCOL_MUST_CHECK struct profcol_error *service_ask_node(const struct detecting *detecting,
							  const struct service_kube *kube,
							  const char *name, int *status_ret,
							  json_t **ret);
