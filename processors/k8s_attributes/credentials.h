/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a server of the cluster is and who we are to it. Files (tokens, authorities, certificates)
 * are read again for each call: they change while we run. Private to the source.
 */
#pragma once

#include "source.h"

#include "http_client/http_client.h"

struct credentials;

/* By the settings' auth_type, as source.h says. CONFIG when something is missing; that includes
 * files that can be read only later, so that a wrong path is told at the start. */
PROFCOL_MUST_CHECK struct profcol_error *
credentials_create(const struct k8s_source_settings *settings, struct credentials **ret);
void credentials_destroy(struct credentials *credentials); /* accepts NULL */

/* "https://10.0.0.1:443", without a slash at its end; borrowed. For the kubelet, its own. */
const char *credentials_server(const struct credentials *credentials);

/* For one call. */
struct access {
	struct http_client *client; /* owned */
	char *authorization;        /* owned: "Bearer ..."; NULL = none */
};

/* CONFIG when a file is missing or broken. Any thread. */
PROFCOL_MUST_CHECK struct profcol_error *credentials_access(const struct credentials *credentials,
							    struct access *ret);
void access_deinit(struct access *access);
