// SPDX-License-Identifier: Apache-2.0
/*
 * Who is let in: bounds of connections, for all and for each address. Beyond them the one goes that
 * has been silent for longest, so that many that say nothing keep nobody out.
 */
#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>

enum {
	/* Before others have their turn. */
	ACCEPT_AT_ONCE = 16,
	/* Without descriptors nobody is let in for so long. */
	PAUSE_MS = 200,
	/* Of an IPv6 address: what one client may choose freely is left out. */
	NETWORK_BYTES = 8,
};

void server_count_connection(struct net_server *server, int more)
{
	server->connection_count += (size_t)more;
	pthread_mutex_lock(&server->lock);
	server->open += (size_t)more;
	pthread_cond_broadcast(&server->quiet);
	pthread_mutex_unlock(&server->lock);
}

/*
 * Descriptors of connections have lower numbers: what profiles needs the others, whoever connects.
 * The kernel gives out the lowest number that is free, so a high one tells that there are as many.
 * Asked for each time: the limit may be raised meanwhile.
 */
static int descriptors_most(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur / 2 > NET_CONNECTIONS_MOST)
		return NET_CONNECTIONS_MOST;
	return (int)(limit.rlim_cur / 2);
}

/* ---- peers ---- */

/* An IPv4 address inside of an IPv6 one is the former. */
static bool unmap(const struct sockaddr_storage *address, struct in_addr *ret)
{
	const struct sockaddr_in6 *six = (const void *)address;

	if (address->ss_family == AF_INET) {
		*ret = ((const struct sockaddr_in *)(const void *)address)->sin_addr;
		return true;
	}
	if (address->ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
		return false;
	memcpy(ret, six->sin6_addr.s6_addr + 12, sizeof(*ret));
	return true;
}

static void print_peer(const struct sockaddr_storage *address, char to[static PEER_TEXT_MAX])
{
	const struct sockaddr_in6 *six = (const void *)address;
	char text[INET6_ADDRSTRLEN];
	struct in_addr four;

	// sin_port is in the same place.
	if (unmap(address, &four))
		snprintf(to, PEER_TEXT_MAX, "ipv4:%s:%u",
			 inet_ntop(AF_INET, &four, text, sizeof(text)), ntohs(six->sin6_port));
	else if (address->ss_family == AF_INET6)
		snprintf(to, PEER_TEXT_MAX, "ipv6:[%s]:%u",
			 inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof(text)),
			 ntohs(six->sin6_port));
	else
		snprintf(to, PEER_TEXT_MAX, "unix:");
}

static struct peer *find_peer(struct net_server *server, const struct sockaddr_storage *address)
{
	const struct sockaddr_in6 *six = (const void *)address;
	uint8_t network[NETWORK_BYTES] = { 0 };
	struct in_addr four;

	if (unmap(address, &four))
		memcpy(network, &four, sizeof(four));
	else if (address->ss_family == AF_INET6)
		memcpy(network, &six->sin6_addr, NETWORK_BYTES);
	return &server->peers[intern_hash_seeded(network, sizeof(network), server->seed) %
			      SERVER_PEERS];
}

/* ---- room for one more ---- */

/* End the connection, of @peer if that is not NULL, that has been without calls for longest. */
static bool displace(struct net_server *server, const struct peer *peer)
{
	struct connection *connection;

	TAILQ_FOREACH(connection, &server->connections, entry)
	{
		if (connection->call_count || connection->doomed ||
		    (peer && connection->peer != peer))
			continue;
		server_refused(server, NET_REFUSED_CONNECTION, connection->peer_text);
		connection->doomed = true;
		connection_settle_later(connection);
		connection_settle_all(server);
		return true;
	}
	return false;
}

static bool make_room(struct net_server *server, const struct peer *peer)
{
	const struct server_bounds *bounds = &server->bounds;
	size_t of_peer = bounds->connections_of_peer;

	// A socket file has no addresses.
	if (server->listener.endpoint.path)
		of_peer = bounds->connections;
	if (peer->connections >= of_peer && !displace(server, peer))
		return false;
	if (server->connection_count >= bounds->connections && !displace(server, NULL))
		return false;
	return true;
}

/*
 * Is the number of @fd one for a connection? Short of the bound somebody goes already, whose number
 * is free once the loop has come round.
 */
static bool is_low(struct net_server *server, int fd)
{
	int most = descriptors_most();

	if (fd >= most - ACCEPT_AT_ONCE)
		(void)displace(server, NULL);
	return fd < most;
}

static void welcome(struct net_server *server, int fd, const struct sockaddr_storage *address)
{
	struct peer *peer = find_peer(server, address);
	char text[PEER_TEXT_MAX];

	print_peer(address, text);
	if (make_room(server, peer) && is_low(server, fd)) {
		connection_create(server, fd, peer, text);
	} else {
		server_refused(server, NET_REFUSED_CONNECTION, text);
		close(fd);
	}
}

/* ---- events ---- */

static void pause_accepting(struct net_server *server, int errnum)
{
	const struct timeval pause = { .tv_usec = PAUSE_MS * 1000 };

	if (!server->complained)
		profcol_log_warn(server->logger,
				 "cannot accept connections: %s; trying again from time to time",
				 strerrordesc_np(errnum));
	// Once: as long as somebody takes what there is, it comes and goes.
	server->complained = true;
	if (!evtimer_add(server->resume, &pause))
		event_del(server->accepting);
}

static void on_resume(evutil_socket_t fd, short what, void *context)
{
	struct net_server *server = context;

	(void)fd;
	(void)what;
	event_add(server->accepting, NULL);
}

static void on_client(evutil_socket_t fd, short what, void *context)
{
	struct net_server *server = context;

	(void)what;
	for (int i = 0; i < ACCEPT_AT_ONCE; i++) {
		struct sockaddr_storage address = { 0 };
		socklen_t length = sizeof(address);
		int client = accept4(fd, (struct sockaddr *)&address, &length,
				     SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (client < 0 && (errno == ECONNABORTED || errno == EINTR))
			continue;
		if (client < 0 && errno == EMFILE && displace(server, NULL))
			break;
		if (client < 0 && errno != EAGAIN)
			pause_accepting(server, errno);
		if (client < 0)
			break;
		welcome(server, client, &address);
	}
	connection_settle_all(server);
}

struct profcol_error *server_accept_start(struct net_server *server)
{
	server->accepting = event_new(server->base, server->listener.sockets.fds[0],
				      EV_READ | EV_PERSIST, on_client, server);
	server->resume = evtimer_new(server->base, on_resume, server);
	if (!server->accepting || !server->resume || event_add(server->accepting, NULL))
		return profcol_error_errno(ENOMEM, "endpoint");
	return NULL;
}

void server_accept_stop(struct net_server *server)
{
	if (server->accepting)
		event_free(server->accepting);
	if (server->resume)
		event_free(server->resume);
	server->accepting = server->resume = NULL;
	sockets_close(&server->listener.sockets);
}
