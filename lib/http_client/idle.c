// SPDX-License-Identifier: Apache-2.0
#include "idle.h"

#include "base/base.h"

#include <errno.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct waiting {
	struct waiting *next; /* has waited longer */
	char *way;            /* owned */
	struct idle_connection connection;
	uint64_t until_ns; /* CLOCK_MONOTONIC */
};

struct idle_pool {
	unsigned int most;
	uint64_t idle_ns;
	pthread_mutex_t lock; /* guards the rest */
	struct waiting *first;
};

void idle_connection_close(const struct idle_connection *connection)
{
	SSL_free(connection->session);
	if (connection->fd >= 0)
		close(connection->fd);
}

struct idle_pool *idle_pool_create(unsigned int most, uint64_t idle_ns)
{
	struct idle_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->most = most;
	pool->idle_ns = idle_ns;
	pthread_mutex_init(&pool->lock, NULL);
	return pool;
}

/* All of the list. */
static void waiting_close(struct waiting *first)
{
	while (first) {
		struct waiting *next = first->next;

		idle_connection_close(&first->connection);
		free(first->way);
		free(first);
		first = next;
	}
}

void idle_pool_destroy(struct idle_pool *pool)
{
	if (!pool)
		return;
	waiting_close(pool->first);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

/* A server says nothing between two requests: whatever has come, or its end, spoils a connection.
 */
static bool waiting_is_sound(const struct waiting *waiting, uint64_t now_ns)
{
	char byte;

	return now_ns < waiting->until_ns &&
	       recv(waiting->connection.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
	       (errno == EAGAIN || errno == EWOULDBLOCK);
}

/* Takes the first one on @way, and moves those that cannot be used any more to *@unsound; under the
 * lock. */
static struct waiting *pool_find(struct idle_pool *pool, const char *way, struct waiting **unsound)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct waiting **at = &pool->first, *found = NULL;

	while (*at) {
		struct waiting *waiting = *at;
		bool sound = waiting_is_sound(waiting, now_ns);

		if (sound && (found || strcmp(waiting->way, way))) {
			at = &waiting->next;
			continue;
		}
		*at = waiting->next;
		if (sound) {
			found = waiting;
		} else {
			waiting->next = *unsound;
			*unsound = waiting;
		}
	}
	return found;
}

bool idle_pool_take(struct idle_pool *pool, const char *way, struct idle_connection *ret)
{
	struct waiting *found, *unsound = NULL;

	pthread_mutex_lock(&pool->lock);
	found = pool_find(pool, way, &unsound);
	pthread_mutex_unlock(&pool->lock);
	waiting_close(unsound);
	if (!found)
		return false;
	*ret = found->connection;
	free(found->way);
	free(found);
	return true;
}

/* The session reads and writes by the connection's own descriptor, and has nothing left to read. */
static bool connection_join(const struct idle_connection *connection)
{
	SSL *session = connection->session;

	return !session || (SSL_set_fd(session, connection->fd) == 1 && !SSL_has_pending(session));
}

static struct waiting *waiting_create(const struct idle_pool *pool, const char *way,
				      const struct idle_connection *connection)
{
	struct waiting *waiting = calloc(1, sizeof(*waiting));

	if (!waiting)
		return NULL;
	waiting->way = strdup(way);
	if (!waiting->way || !connection_join(connection)) {
		free(waiting->way);
		free(waiting);
		return NULL;
	}
	waiting->connection = *connection;
	waiting->until_ns = pool->idle_ns ? clock_monotonic_ns() + pool->idle_ns : UINT64_MAX;
	return waiting;
}

/* Cuts off those beyond the bound and returns them; under the lock. */
static struct waiting *pool_cut(struct idle_pool *pool)
{
	struct waiting **at = &pool->first, *rest;

	for (unsigned int i = 0; *at && i < pool->most; i++)
		at = &(*at)->next;
	rest = *at;
	*at = NULL;
	return rest;
}

void idle_pool_put(struct idle_pool *pool, const char *way,
		   const struct idle_connection *connection)
{
	struct waiting *waiting = waiting_create(pool, way, connection), *rest;

	if (!waiting) {
		idle_connection_close(connection);
		return;
	}
	pthread_mutex_lock(&pool->lock);
	waiting->next = pool->first;
	pool->first = waiting;
	rest = pool_cut(pool);
	pthread_mutex_unlock(&pool->lock);
	waiting_close(rest);
}
