// SPDX-License-Identifier: Apache-2.0
#include "client.h"

#include "probe.h"
#include "proxy.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

/* How long a finding holds, with gRPC's own text unchanged and with another. */
static const uint64_t keep_ns = 30 * PROFCOL_SECOND, keep_least_ns = 5 * PROFCOL_SECOND;

bool diagnosis_is_possible(const struct net_client *client)
{
	const struct endpoint *endpoint = &client->endpoint;

	return endpoint->path ||
	       (!endpoint->name_server && !proxy_is_used(endpoint->host, endpoint->port));
}

/* Whose certificate gRPC wants to see; *@owned_ret is to be freed, and may be what is returned. */
static const char *diagnosis_server_name(const struct net_client *client, char **owned_ret)
{
	const struct net_client_config *config = client->config;
	const char *end;

	*owned_ret = NULL;
	if (config->tls.server_name_override[0])
		return config->tls.server_name_override;
	if (config->authority[0]) {
		// Without the port, and an IPv6 address without its brackets.
		if (config->authority[0] == '[') {
			end = strchrnul(config->authority, ']');
			*owned_ret = strndup(config->authority + 1,
					     (size_t)(end - config->authority) - 1);
		} else {
			end = strchrnul(config->authority, ':');
			*owned_ret = strndup(config->authority, (size_t)(end - config->authority));
		}
		return *owned_ret;
	}
	return client->endpoint.path ? "localhost" : client->endpoint.server_name;
}

char *diagnosis_make(struct net_client *client)
{
	CLEANUP(tls_material_deinit) struct tls_material material = { 0 };
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	CLEANUP_FREE char *name = NULL;
	const struct probe probe = {
		.host = client->endpoint.host,
		.port = client->endpoint.port,
		.path = client->endpoint.path,
		.lookup = &client->lookup,
		.tls = client->tls,
		.material = &material,
		.server_name = diagnosis_server_name(client, &name),
		.skip_verify = client->config->tls.insecure_skip_verify,
		.cancelled_fd = client->cancelled_fd,
		.deadline_ns = clock_monotonic_ns() + client->probe_time_ns,
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

static bool diagnosis_is_cancelled(struct net_client *client)
{
	bool cancelled;

	pthread_mutex_lock(&client->lock);
	cancelled = client->cancelled;
	pthread_mutex_unlock(&client->lock);
	return cancelled;
}

/* Look into it. Under the lock, which is let go meanwhile. */
static void diagnosis_renew(struct net_client *client, uint32_t hash)
{
	char *made;

	client->diagnosing = true;
	client->diagnosis_outdated = false;
	pthread_mutex_unlock(&client->diagnosis_lock);
	made = diagnosis_make(client);
	pthread_mutex_lock(&client->diagnosis_lock);
	client->diagnosing = false;
	free(client->diagnosis);
	client->diagnosis = made;
	client->diagnosed_ns = client->diagnosis_outdated ? 0 : clock_monotonic_ns();
	client->diagnosed_text = hash;
	pthread_cond_broadcast(&client->diagnosed);
}

char *diagnosis_find(struct net_client *client, const char *said)
{
	uint32_t hash = intern_hash(said, strlen(said));
	char *copy;

	if (diagnosis_is_cancelled(client))
		return NULL;
	pthread_mutex_lock(&client->diagnosis_lock);
	if (client->diagnosing) {
		// Those who fail together fail for one reason.
		while (client->diagnosing)
			pthread_cond_wait(&client->diagnosed, &client->diagnosis_lock);
	} else if (!diagnosis_holds(client, hash)) {
		profcol_log_debug(client->logger, "gRPC says: %s", said);
		diagnosis_renew(client, hash);
	}
	copy = client->diagnosis ? strdup(client->diagnosis) : NULL;
	pthread_mutex_unlock(&client->diagnosis_lock);
	return copy;
}

void diagnosis_forget(struct net_client *client)
{
	pthread_mutex_lock(&client->diagnosis_lock);
	client->diagnosis_outdated = true;
	client->diagnosed_ns = 0;
	if (!client->diagnosing) {
		free(client->diagnosis);
		client->diagnosis = NULL;
	}
	pthread_mutex_unlock(&client->diagnosis_lock);
}
