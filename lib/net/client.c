// SPDX-License-Identifier: Apache-2.0
#include "client.h"

#include "library.h"

#include "base/base.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/utsname.h>

static grpc_slice header_name(const char *key)
{
	grpc_slice slice = grpc_slice_from_copied_string(key);

	// HTTP/2 knows lower case only.
	for (size_t i = 0; i < GRPC_SLICE_LENGTH(slice); i++)
		GRPC_SLICE_START_PTR(slice)[i] = (uint8_t)tolower(GRPC_SLICE_START_PTR(slice)[i]);
	return slice;
}

static void client_add_header(struct net_client *client, const char *key, const char *value)
{
	client->headers[client->header_count++] = (grpc_metadata){
		.key = header_name(key),
		.value = grpc_slice_from_copied_string(value),
	};
}

static struct profcol_error *client_set_headers(struct net_client *client,
						const struct net_client_settings *settings)
{
	const struct profcol_map *own = &client->config->headers;

	client->headers = calloc(settings->header_count + own->count + 1, sizeof(grpc_metadata));
	if (!client->headers)
		return profcol_error_errno(ENOMEM, "create the client");
	for (size_t i = 0; i < settings->header_count; i++)
		client_add_header(client, settings->headers[i].key, settings->headers[i].value);
	for (size_t i = 0; i < own->count; i++)
		client_add_header(client, own->keys[i], own->values[i]);
	if (client->gzip)
		client_add_header(client, "grpc-encoding", "gzip");
	return NULL;
}

static struct profcol_error *client_set_user_agent(struct net_client *client, const char *version)
{
	const char *given = client->config->user_agent, *architecture;
	struct utsname system;

	if (given[0]) {
		client->user_agent = strdup(given);
	} else {
		architecture = uname(&system) ? "unknown" : system.machine;
		// As Go's programs call them.
		if (!strcmp(architecture, "x86_64"))
			architecture = "amd64";
		else if (!strcmp(architecture, "aarch64"))
			architecture = "arm64";
		if (asprintf(&client->user_agent, "profcol/%s (linux/%s)", version, architecture) <
		    0)
			client->user_agent = NULL;
	}
	return client->user_agent ? NULL : profcol_error_errno(ENOMEM, "create the client");
}

static struct profcol_error *client_init(struct net_client *client,
					 const struct net_client_settings *settings)
{
	const struct net_client_config *config = client->config;
	struct profcol_error *error = endpoint_init(&client->endpoint, config->endpoint);

	if (error)
		return error;
	client->tls = tls_client_is_on(&config->tls, client->endpoint.forces_tls);
	client->gzip = config->compression != NET_UNCOMPRESSED &&
		       config->compression != NET_COMPRESSION_EMPTY;
	client->cancelled_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (client->cancelled_fd < 0)
		return profcol_error_errno(errno, "create an eventfd");
	if (config->compression == NET_SNAPPY || config->compression == NET_ZSTD)
		profcol_log_warn(client->logger,
				 "gRPC has no compression '%s', requests are sent with gzip",
				 net_compression_names[config->compression]);
	error = client_set_user_agent(client, settings->version);
	if (!error && !client_name_init(client))
		error = profcol_error_errno(ENOMEM, "create the client");
	if (!error)
		error = client_set_headers(client, settings);
	return error ? error : channel_open(client);
}

struct profcol_error *net_client_create(const struct net_client_config *config,
					const struct net_client_settings *settings,
					struct net_client **ret)
{
	struct net_client *client = calloc(1, sizeof(*client));
	struct profcol_error *error;

	if (!client)
		return profcol_error_errno(ENOMEM, "create the client");
	library_ref();
	client->config = config;
	client->logger = settings->logger;
	client->cancelled_fd = -1;
	client->probe_time_ns = NET_PROBE_TIME_NS;
	pthread_mutex_init(&client->making, NULL);
	pthread_mutex_init(&client->lock, NULL);
	pthread_mutex_init(&client->diagnosis_lock, NULL);
	pthread_cond_init(&client->diagnosed, NULL);
	error = client_init(client, settings);
	if (error) {
		net_client_destroy(client);
		return error;
	}
	*ret = client;
	return NULL;
}

void net_client_destroy(struct net_client *client)
{
	if (!client)
		return;
	channel_drop(client, client->channel);
	for (size_t i = 0; i < client->header_count; i++) {
		grpc_slice_unref(client->headers[i].key);
		grpc_slice_unref(client->headers[i].value);
	}
	free(client->headers);
	library_unref();
	client_name_deinit(client);
	endpoint_deinit(&client->endpoint);
	cleanup_fd(&client->cancelled_fd);
	free(client->user_agent);
	free(client->diagnosis);
	lookup_drop(client->lookup);
	pthread_cond_destroy(&client->diagnosed);
	pthread_mutex_destroy(&client->diagnosis_lock);
	pthread_mutex_destroy(&client->lock);
	pthread_mutex_destroy(&client->making);
	free(client);
}

void net_client_cancel(struct net_client *client)
{
	uint64_t one = 1;

	pthread_mutex_lock(&client->lock);
	client->cancelled = true;
	for (struct client_call *call = client->calls; call; call = call->next)
		grpc_call_cancel(call->call, NULL);
	pthread_mutex_unlock(&client->lock);
	// Full or not, it is readable.
	(void)!write(client->cancelled_fd, &one, sizeof(one));
}
