// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"
#include "client.h"
#include "probe.h"
#include "proxy.h"

#include "base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* Whoever retries waits on top of this: it must not grow to gRPC's two minutes. */
	RECONNECT_FIRST_MS = 500,
	RECONNECT_MAX_MS = 3000,
	RESOLVE_AGAIN_MS = 3000,
	/* A name server that drops questions for IPv6 addresses makes those of IPv4 wait for so
	   long. */
	RESOLVE_TIMEOUT_MS = 3000,
	/* How long calls wait for news of the peer's name while there is a channel. */
	NEWS_MS = 500,
};

static void arguments_add_keepalive(struct arguments *arguments,
				    const struct net_client_config *config)
{
	const struct net_keepalive_config *keepalive = &config->keepalive;

	if (!config->keepalive_named || !keepalive->time_ns)
		return;
	arguments_add_ms(arguments, GRPC_ARG_KEEPALIVE_TIME_MS, keepalive->time_ns);
	if (keepalive->timeout_ns)
		arguments_add_ms(arguments, GRPC_ARG_KEEPALIVE_TIMEOUT_MS, keepalive->timeout_ns);
	arguments_add_int(arguments, GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS,
			  keepalive->permit_without_stream);
	// Else the core stops after two pings without data in between.
	arguments_add_int(arguments, GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
}

static void arguments_add_all(struct arguments *arguments, const struct net_client *client)
{
	const struct net_client_config *config = client->config;

	arguments_add_text(arguments, GRPC_ARG_PRIMARY_USER_AGENT_STRING, client->user_agent);
	arguments_add_text(arguments, GRPC_ARG_SERVICE_CONFIG,
			   config->balancer == NET_ROUND_ROBIN
				   ? "{\"loadBalancingConfig\":[{\"round_robin\":{}}]}"
				   : "{\"loadBalancingConfig\":[{\"pick_first\":{}}]}");
	// Neither other settings out of DNS, nor retries, nor connections of other clients.
	arguments_add_int(arguments, GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
	arguments_add_int(arguments, GRPC_ARG_ENABLE_RETRIES, 0);
	arguments_add_int(arguments, GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
	arguments_add_int(arguments, GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, RECONNECT_FIRST_MS);
	arguments_add_int(arguments, GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, RECONNECT_MAX_MS);
	arguments_add_int(arguments, GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS,
			  RESOLVE_AGAIN_MS);
	arguments_add_int(arguments, GRPC_ARG_DNS_ARES_QUERY_TIMEOUT_MS, RESOLVE_TIMEOUT_MS);
	arguments_add_int(arguments, GRPC_ARG_ENABLE_CHANNELZ, 0);
	// Inflated by ourselves, under a limit; compressed by ourselves, too.
	arguments_add_int(arguments, GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
	arguments_add_int(arguments, GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, ANSWER_MAX_BYTES);
	arguments_add_keepalive(arguments, config);
	if (config->authority[0])
		arguments_add_text(arguments, GRPC_ARG_DEFAULT_AUTHORITY, config->authority);
	if (client->tls && config->tls.server_name_override[0])
		arguments_add_text(arguments, GRPC_SSL_TARGET_NAME_OVERRIDE_ARG,
				   config->tls.server_name_override);
	else if (client->tls && !config->authority[0] && !client->endpoint.path &&
		 (proxy_is_used(client->endpoint.host, client->endpoint.port) ||
		  strcmp(client->endpoint.host, client->endpoint.server_name) != 0))
		// The core would take the name as it is looked up, with a dot that peers refuse, or
		// the proxy's.
		arguments_add_text(arguments, GRPC_SSL_TARGET_NAME_OVERRIDE_ARG,
				   client->endpoint.server_name);
	arguments_add_buffers(arguments, config->read_buffer_bytes, config->write_buffer_bytes);
}

/* How a channel gets to its peer: straight, or by way of a proxy. */
struct route {
	char *target;    /* owned: of the channel */
	char *authority; /* owned: of the peer; NULL = what the target says */
	bool proxied;
	char *headers; /* owned: for the proxy; or NULL */
};

static void route_deinit(struct route *route)
{
	if (route->headers)
		explicit_bzero(route->headers, strlen(route->headers));
	free(route->target);
	free(route->authority);
	free(route->headers);
}

static bool print_authority(char **ret, const char *host, const char *port)
{
	const char *format = strchr(host, ':') ? "[%s]:%s" : "%s:%s";

	if (asprintf(ret, format, host, port) >= 0)
		return true;
	*ret = NULL;
	return false;
}

/* @addresses are those of the name on the way, if one is looked up by us. False without memory. */
static bool route_init(struct route *route, const struct endpoint *endpoint, const char *addresses)
{
	CLEANUP(proxy_deinit) struct proxy proxy = { 0 };
	CLEANUP_FREE char *address = NULL;

	*route = (struct route){
		.proxied = !endpoint->path && proxy_find(endpoint->host, endpoint->port, &proxy),
	};
	if ((addresses || route->proxied) &&
	    !print_authority(&route->authority, endpoint->host, endpoint->port))
		return false;
	if (addresses || !route->proxied) {
		route->target = strdup(addresses ? addresses : endpoint->target);
	} else if (!print_authority(&address, proxy.host, proxy.port) ||
		   asprintf(&route->target, "dns:///%s", address) < 0) {
		route->target = NULL;
	}
	if (proxy.authorization &&
	    asprintf(&route->headers, "Proxy-Authorization:%s", proxy.authorization) < 0) {
		route->headers = NULL;
		return false;
	}
	return route->target;
}

/*
 * The core's own reading of the environment is another one than the Collector's, so it is switched
 * off, and the core is told what it would have made of a proxy: whom to ask the proxy for.
 */
static void arguments_add_route(struct arguments *arguments, const struct net_client *client,
				const struct route *route)
{
	const struct net_client_config *config = client->config;

	arguments_add_int(arguments, GRPC_ARG_ENABLE_HTTP_PROXY, 0);
	if (route->proxied)
		arguments_add_text(arguments, "grpc.http_connect_server", route->authority);
	if (route->headers)
		arguments_add_text(arguments, "grpc.http_connect_headers", route->headers);
	if (route->authority && !config->authority[0])
		arguments_add_text(arguments, GRPC_ARG_DEFAULT_AUTHORITY, route->authority);
}

static struct client_channel *channel_create(const struct net_client *client, const char *addresses,
					     grpc_channel_credentials *credentials)
{
	struct client_channel *channel = calloc(1, sizeof(*channel));
	CLEANUP(route_deinit) struct route route = { 0 };
	struct arguments arguments = { 0 };
	grpc_channel_args list;

	if (!channel || !route_init(&route, &client->endpoint, addresses)) {
		free(channel);
		return NULL;
	}
	arguments_add_all(&arguments, client);
	arguments_add_route(&arguments, client, &route);
	list = (grpc_channel_args){ .num_args = arguments.count, .args = arguments.items };
	channel->channel = grpc_channel_create(route.target, credentials, &list);
	channel->users = 1;
	return channel;
}

/* A channel to @addresses, if they are looked up by us, from the files as they are now. */
static struct profcol_error *channel_make(struct net_client *client, const char *addresses,
					  struct tls_stamp *stamp_ret, struct client_channel **ret)
{
	CLEANUP(tls_material_deinit) struct tls_material material = { 0 };
	const struct net_tls_client_config *tls = &client->config->tls;
	grpc_channel_credentials *credentials;
	struct profcol_error *error;

	if (client->tls) {
		// Stamped first: a change while we read is seen the next time.
		*stamp_ret = tls_client_stamp(tls);
		error = tls_client_load(tls, &material);
		if (error)
			return error;
		credentials = tls_client_credentials(tls, &material);
	} else {
		credentials = grpc_insecure_credentials_create();
	}
	*ret = channel_create(client, addresses, credentials);
	grpc_channel_credentials_release(credentials);
	return *ret ? NULL : profcol_error_errno(ENOMEM, "create the channel");
}

struct profcol_error *channel_open(struct net_client *client)
{
	CLEANUP(tls_material_deinit) struct tls_material material = { 0 };
	const struct net_tls_client_config *tls = &client->config->tls;

	client->reload_after_ns = clock_monotonic_ns() + tls->reload_interval_ns;
	if (!client->name)
		return channel_make(client, NULL, &client->stamp, &client->channel);
	return client->tls ? tls_client_load(tls, &material) : NULL;
}

/* @fresh is the client's from now on. Under `making`. */
static void channel_replace(struct net_client *client, struct client_channel *fresh,
			    const struct tls_stamp *stamp)
{
	struct client_channel *old;

	pthread_mutex_lock(&client->lock);
	old = client->channel;
	client->channel = fresh;
	client->stamp = *stamp;
	client->complaint.made = false;
	pthread_mutex_unlock(&client->lock);
	channel_drop(client, old);
}

/* Are there other TLS files than those in use? Asked once per interval. Files that failed stay
 * other ones: what was wrong may be over. */
static bool channel_is_outdated(struct net_client *client)
{
	const struct net_tls_client_config *tls = &client->config->tls;
	struct tls_stamp stamp;
	bool outdated = false;
	uint64_t now;

	if (!client->tls || !tls->reload_interval_ns)
		return false;
	now = clock_monotonic_ns();
	pthread_mutex_lock(&client->lock);
	if (client->channel && now >= client->reload_after_ns) {
		client->reload_after_ns = now + tls->reload_interval_ns;
		stamp = tls_client_stamp(tls);
		outdated = !tls_stamp_equal(&stamp, &client->stamp);
		if (!outdated)
			client->complaint.made = false;
	}
	pthread_mutex_unlock(&client->lock);
	return outdated;
}

static void channel_complain(struct net_client *client, const struct tls_stamp *stamp,
			     const char *message)
{
	bool complains;

	pthread_mutex_lock(&client->lock);
	complains = tls_complaint_is_new(&client->complaint, stamp, message);
	pthread_mutex_unlock(&client->lock);
	if (complains)
		profcol_log_warn(client->logger,
				 "cannot reload the TLS files: %s; those read before stay in use",
				 message);
}

static void channel_renew(struct net_client *client)
{
	struct client_channel *fresh = NULL;
	struct tls_stamp stamp = { 0 };
	PROFCOL_CLEANUP_ERROR struct profcol_error *error =
		channel_make(client, client->addresses, &stamp, &fresh);

	if (error) {
		channel_complain(client, &stamp, profcol_error_message(error));
		return;
	}
	channel_replace(client, fresh, &stamp);
	diagnosis_forget(client);
	profcol_log_info(client->logger, "reloaded the TLS files");
}

/* The peer's name has other addresses: a channel goes to them. @fault_ret as channel_take has it.
 */
static void channel_move(struct net_client *client, uint64_t deadline_ns, char **fault_ret)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	CLEANUP_FREE char *addresses = NULL;
	struct client_channel *fresh = NULL;
	struct tls_stamp stamp = { 0 };

	if (!client_name_look_up(client, deadline_ns, &addresses, fault_ret))
		return;
	error = channel_make(client, addresses, &stamp, &fresh);
	if (error) {
		*fault_ret = strdup(profcol_error_message(error));
		return;
	}
	channel_replace(client, fresh, &stamp);
	free(client->addresses);
	client->addresses = TAKE(addresses);
}

/* Until when a call waits for the peer's addresses, which has @channel without them, or NULL. */
static uint64_t channel_news_ns(const struct client_channel *channel, uint64_t deadline_ns)
{
	uint64_t now_ns = clock_monotonic_ns(), until_ns = now_ns + UINT64_C(1000000) * NEWS_MS;

	if (!channel)
		return deadline_ns;
	if (grpc_channel_check_connectivity_state(channel->channel, 0) == GRPC_CHANNEL_READY)
		return now_ns;
	return until_ns < deadline_ns ? until_ns : deadline_ns;
}

/* The channel, for one more user; NULL when there is none yet. */
static struct client_channel *channel_use(struct net_client *client)
{
	struct client_channel *channel;

	pthread_mutex_lock(&client->lock);
	channel = client->channel;
	if (channel)
		channel->users++;
	pthread_mutex_unlock(&client->lock);
	return channel;
}

/* Lock `making`. While another thread has it, this one waits until @deadline_ns if it @waits, or
 * gets false at once. */
static bool making_begin(struct net_client *client, bool waits, uint64_t deadline_ns)
{
	struct timespec deadline = clock_timespec(deadline_ns);

	if (!waits)
		return !pthread_mutex_trylock(&client->making);
	return !pthread_mutex_clocklock(&client->making, CLOCK_MONOTONIC, &deadline);
}

struct client_channel *channel_take(struct net_client *client, uint64_t deadline_ns,
				    char **fault_ret)
{
	struct client_channel *channel = channel_use(client);
	CLEANUP_FREE char *fault = NULL;

	if (!making_begin(client, !channel, deadline_ns)) {
		*fault_ret = channel ? NULL : probe_explain_name(client->name, 0);
		return channel;
	}
	channel_drop(client, channel);
	channel = channel_use(client);
	if (client_name_is_due(client, channel ? channel->channel : NULL))
		channel_move(client, channel_news_ns(channel, deadline_ns), &fault);
	if (channel_is_outdated(client))
		channel_renew(client);
	pthread_mutex_unlock(&client->making);
	channel_drop(client, channel);
	channel = channel_use(client);
	*fault_ret = channel ? NULL : TAKE(fault);
	return channel;
}

void channel_drop(struct net_client *client, struct client_channel *channel)
{
	bool last;

	if (!channel)
		return;
	pthread_mutex_lock(&client->lock);
	last = !--channel->users;
	pthread_mutex_unlock(&client->lock);
	if (!last)
		return;
	grpc_channel_destroy(channel->channel);
	free(channel);
}
