// SPDX-License-Identifier: Apache-2.0
/*
 * Who is taken in, and whose turn is next. A connection has no more than half of the room and an
 * address no more than three quarters of it, so that a client that fills its share leaves the
 * others theirs; among those that wait and among those that are ready, addresses take turns, and
 * then their connections.
 */
#include "server.h"

/* @part quarters of @whole, at least one of it. */
static size_t quarters(size_t whole, unsigned int part)
{
	size_t share = part == 4 ? whole : whole / 4 * part;

	return share ? share : 1;
}

/* Do @bytes more for one that has @taken of @share already leave it in @part quarters of all? */
static bool share_fits(const struct share *share, const struct share *taken, size_t bytes,
		       const struct server_bounds *bounds, unsigned int part)
{
	size_t most_bytes = quarters(bounds->room_bytes, part);
	size_t used_bytes = share->bytes - taken->bytes, own_bytes = taken->bytes + bytes;

	// One that is larger than the share goes alone.
	if (share->calls == taken->calls)
		return true;
	return share->calls - taken->calls < quarters(bounds->room_calls, part) &&
	       own_bytes <= most_bytes && used_bytes <= most_bytes - own_bytes;
}

static void share_add(struct share *share, size_t calls, size_t bytes)
{
	share->calls += calls;
	share->bytes += bytes;
}

static void share_remove(struct share *share, const struct share *taken)
{
	share->calls -= taken->calls;
	share->bytes -= taken->bytes;
}

static void room_book(struct net_call *call, size_t bytes)
{
	size_t calls = !call->taken.calls;

	if (!call->taken_ns)
		call->taken_ns = clock_monotonic_ns();
	share_add(&call->taken, calls, bytes);
	share_add(&call->connection->share, calls, bytes);
	share_add(&call->peer->share, calls, bytes);
	share_add(&call->server->share, calls, bytes);
}

bool room_take(struct net_call *call, size_t bytes)
{
	struct connection *connection = call->connection;
	struct net_server *server = call->server;

	if (!share_fits(&connection->share, &call->taken, bytes, &server->bounds, 2))
		connection->is_full = true;
	else if (!share_fits(&call->peer->share, &call->taken, bytes, &server->bounds, 3))
		call->peer->is_full = true;
	else if (!share_fits(&server->share, &call->taken, bytes, &server->bounds, 4))
		server->is_full = true;
	else {
		room_book(call, bytes);
		return true;
	}
	return false;
}

void room_give(struct net_call *call)
{
	share_remove(&call->server->share, &call->taken);
	share_remove(&call->peer->share, &call->taken);
	if (call->connection)
		share_remove(&call->connection->share, &call->taken);
	call->taken = (struct share){ 0 };
}

/* ---- for room ---- */

void room_wait(struct net_call *call)
{
	struct connection *connection = call->connection;
	struct peer *peer = connection->peer;

	if (call->waits)
		return;
	if (TAILQ_EMPTY(&peer->waiting))
		TAILQ_INSERT_TAIL(&call->server->waiting, peer, waiting_entry);
	if (TAILQ_EMPTY(&connection->waiting))
		TAILQ_INSERT_TAIL(&peer->waiting, connection, waiting_entry);
	TAILQ_INSERT_TAIL(&connection->waiting, call, queue_entry);
	call->waits = true;
	call->waits_ns = clock_monotonic_ns();
}

void room_forget(struct net_call *call)
{
	struct connection *connection = call->connection;
	struct peer *peer = call->peer;

	if (!call->waits)
		return;
	call->waits = false;
	// Nothing could come meanwhile.
	if (call->taken_ns)
		call->taken_ns += clock_monotonic_ns() - call->waits_ns;
	TAILQ_REMOVE(&connection->waiting, call, queue_entry);
	if (!TAILQ_EMPTY(&connection->waiting))
		return;
	connection->is_full = false;
	TAILQ_REMOVE(&peer->waiting, connection, waiting_entry);
	if (!TAILQ_EMPTY(&peer->waiting))
		return;
	peer->is_full = false;
	TAILQ_REMOVE(&call->server->waiting, peer, waiting_entry);
}

void room_forget_full(struct net_server *server)
{
	struct peer *peer;
	struct connection *connection;

	server->is_full = false;
	TAILQ_FOREACH(peer, &server->waiting, waiting_entry)
	{
		peer->is_full = false;
		TAILQ_FOREACH(connection, &peer->waiting, waiting_entry)
		connection->is_full = false;
	}
}

struct net_call *room_next(struct net_server *server)
{
	struct peer *peer = TAILQ_FIRST(&server->waiting);
	struct connection *connection;

	if (!peer)
		return NULL;
	connection = TAILQ_FIRST(&peer->waiting);
	TAILQ_REMOVE(&server->waiting, peer, waiting_entry);
	TAILQ_INSERT_TAIL(&server->waiting, peer, waiting_entry);
	TAILQ_REMOVE(&peer->waiting, connection, waiting_entry);
	TAILQ_INSERT_TAIL(&peer->waiting, connection, waiting_entry);
	return TAILQ_FIRST(&connection->waiting);
}

/* ---- for a worker: under the lock ---- */

void room_make_ready(struct net_call *call)
{
	struct connection *connection = call->connection;
	struct peer *peer = connection->peer;

	TAILQ_INSERT_TAIL(&connection->ready, call, queue_entry);
	call->is_ready = true;
	if (connection->is_ready)
		return;
	if (TAILQ_EMPTY(&peer->ready))
		TAILQ_INSERT_TAIL(&call->server->ready, peer, ready_entry);
	TAILQ_INSERT_TAIL(&peer->ready, connection, ready_entry);
	connection->is_ready = true;
}

/* @connection has no call for a worker any more. */
static void drop_connection(struct connection *connection)
{
	struct peer *peer = connection->peer;

	TAILQ_REMOVE(&peer->ready, connection, ready_entry);
	connection->is_ready = false;
	if (TAILQ_EMPTY(&peer->ready))
		TAILQ_REMOVE(&connection->server->ready, peer, ready_entry);
}

struct net_call *room_take_ready(struct net_server *server)
{
	struct peer *peer = TAILQ_FIRST(&server->ready);
	struct connection *connection;
	struct net_call *call;

	if (!peer)
		return NULL;
	connection = TAILQ_FIRST(&peer->ready);
	call = TAILQ_FIRST(&connection->ready);
	TAILQ_REMOVE(&connection->ready, call, queue_entry);
	call->is_ready = false;
	// To the end of the line, both of them.
	TAILQ_REMOVE(&peer->ready, connection, ready_entry);
	TAILQ_INSERT_TAIL(&peer->ready, connection, ready_entry);
	TAILQ_REMOVE(&server->ready, peer, ready_entry);
	TAILQ_INSERT_TAIL(&server->ready, peer, ready_entry);
	if (TAILQ_EMPTY(&connection->ready))
		drop_connection(connection);
	return call;
}

void room_withdraw(struct net_call *call)
{
	struct connection *connection = call->connection;

	if (!call->is_ready)
		return;
	TAILQ_REMOVE(&connection->ready, call, queue_entry);
	call->is_ready = false;
	if (TAILQ_EMPTY(&connection->ready))
		drop_connection(connection);
	TAILQ_INSERT_TAIL(&call->server->answered, call, queue_entry);
}
