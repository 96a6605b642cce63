// SPDX-License-Identifier: Apache-2.0
#include "client.h"

#include "addresses.h"
#include "probe.h"
#include "proxy.h"

#include "base/base.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

/* As often as gRPC's core would ask again: while there is no connection, */
static const uint64_t again_ns = 3 * PROFCOL_SECOND;
/* and for peers that have come, or gone, among those that requests are spread over. */
static const uint64_t spread_ns = 30 * PROFCOL_SECOND;

static bool is_address(const char *host)
{
	struct in6_addr address;

	// One with a zone is no name either.
	return strchr(host, ':') || inet_pton(AF_INET, host, &address) == 1;
}

bool client_name_init(struct net_client *client)
{
	CLEANUP(proxy_deinit) struct proxy proxy = { 0 };
	const struct endpoint *endpoint = &client->endpoint;
	const char *host = endpoint->host, *port = endpoint->port;

	if (!host)
		return true;
	if (proxy_find(host, port, &proxy)) {
		host = proxy.host;
		port = proxy.port;
	} else if (endpoint->name_server) {
		return true;
	}
	if (is_address(host))
		return true;
	client->name = strdup(host);
	client->name_port = strdup(port);
	return client->name && client->name_port;
}

void client_name_deinit(struct net_client *client)
{
	lookup_drop(client->search);
	free(client->name);
	free(client->name_port);
	free(client->addresses);
}

bool client_name_is_due(const struct net_client *client, grpc_channel *channel)
{
	uint64_t age_ns = clock_monotonic_ns() - client->searched_ns;

	if (!client->name)
		return false;
	if (!channel || client->search)
		return true;
	if (grpc_channel_check_connectivity_state(channel, 0) != GRPC_CHANNEL_READY)
		return age_ns >= again_ns;
	return client->config->balancer == NET_ROUND_ROBIN && age_ns >= spread_ns;
}

/* Is the search over? Waits until @deadline_ns, or all calls are cancelled. */
static bool name_await(const struct net_client *client, uint64_t deadline_ns)
{
	struct pollfd waiting[] = {
		{ .fd = lookup_fd(client->search), .events = POLLIN },
		{ .fd = client->cancelled_fd, .events = POLLIN },
	};
	uint64_t now_ns;

	do {
		struct timespec left;

		now_ns = clock_monotonic_ns();
		left = clock_timespec(deadline_ns > now_ns ? deadline_ns - now_ns : 0);
		if (ppoll(waiting, 2, &left, NULL) < 0 && errno != EINTR)
			return false;
	} while (!waiting[0].revents && !waiting[1].revents && now_ns < deadline_ns);
	return waiting[0].revents;
}

bool client_name_look_up(struct net_client *client, uint64_t deadline_ns, char **ret,
			 char **fault_ret)
{
	CLEANUP_FREE char *addresses = NULL;
	const struct addrinfo *found = NULL;
	int error;

	*fault_ret = NULL;
	if (!client->search)
		client->search = lookup_start(client->name, client->name_port);
	if (!client->search)
		return false;
	if (!name_await(client, deadline_ns)) {
		*fault_ret = probe_explain_name(client->name, 0);
		return false;
	}
	error = lookup_result(client->search, &found);
	if (error)
		*fault_ret = probe_explain_name(client->name, error);
	else
		addresses = addresses_print(found);
	lookup_drop(client->search);
	client->search = NULL;
	client->searched_ns = clock_monotonic_ns();
	if (!addresses || (client->addresses && addresses_are_same(client->addresses, addresses)))
		return false;
	*ret = TAKE(addresses);
	return true;
}
