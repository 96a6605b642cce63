// SPDX-License-Identifier: Apache-2.0
#include "client.h"

#include "probe.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

static const uint64_t probe_time_ns = 3 * SECOND;
/* How long a finding holds, with gRPC's own text unchanged and with another. */
static const uint64_t keep_ns = 30 * SECOND, keep_least_ns = 5 * SECOND;

/* Behind a proxy our own connection would go another way than gRPC's. */
static bool diagnosis_is_possible(const struct net_client *client)
{
	static const char *const variables[] = { "grpc_proxy", "https_proxy", "http_proxy" };

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		if (getenv(variables[i]) && !client->endpoint.path)
			return false;
	return true;
}

static const char *diagnosis_server_name(const struct net_client *client)
{
	if (client->config->tls.server_name_override[0])
		return client->config->tls.server_name_override;
	return client->endpoint.path ? "localhost" : client->endpoint.host;
}

static char *diagnosis_make(struct net_client *client)
{
	CLEANUP(tls_material_deinit) struct tls_material material = { 0 };
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	const struct probe probe = {
		.host = client->endpoint.host,
		.port = client->endpoint.port,
		.path = client->endpoint.path,
		.tls = client->tls,
		.material = &material,
		.server_name = diagnosis_server_name(client),
		.skip_verify = client->config->tls.insecure_skip_verify,
		.cancelled_fd = client->cancelled_fd,
		.deadline_ns = clock_monotonic_ns() + probe_time_ns,
	};

	if (!diagnosis_is_possible(client))
		return NULL;
	if (client->tls)
		error = tls_client_load(&client->config->tls, &material);
	if (error)
		return strdup(profcol_error_message(error));
	return probe_run(&probe);
}

/* Is what was found last good enough for this failure? Under the lock. */
static bool diagnosis_holds(const struct net_client *client, uint32_t hash)
{
	uint64_t age = clock_monotonic_ns() - client->diagnosed_ns;
	bool same = hash == client->diagnosed_text;

	if (!client->diagnosed_ns)
		return false;
	if (!client->diagnosis)
		return same && age < keep_least_ns;
	return age < (same ? keep_ns : keep_least_ns);
}

char *diagnosis_find(struct net_client *client, const char *said)
{
	uint32_t hash = intern_hash(said, strlen(said));
	char *copy;

	pthread_mutex_lock(&client->diagnosis_lock);
	if (!diagnosis_holds(client, hash)) {
		profcol_log_debug(client->logger, "gRPC says: %s", said);
		free(client->diagnosis);
		client->diagnosis = diagnosis_make(client);
		client->diagnosed_ns = clock_monotonic_ns();
		client->diagnosed_text = hash;
	}
	copy = client->diagnosis ? strdup(client->diagnosis) : NULL;
	pthread_mutex_unlock(&client->diagnosis_lock);
	return copy;
}

void diagnosis_forget(struct net_client *client)
{
	pthread_mutex_lock(&client->diagnosis_lock);
	free(client->diagnosis);
	client->diagnosis = NULL;
	client->diagnosed_ns = 0;
	pthread_mutex_unlock(&client->diagnosis_lock);
}
