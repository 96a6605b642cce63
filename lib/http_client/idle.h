/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that wait for the next request. Private to lib/http_client; any thread. */
#pragma once

#include <openssl/types.h>
#include <stdbool.h>
#include <stdint.h>

struct idle_connection {
	int fd;       /* -1 = none */
	SSL *session; /* NULL = plain */
};

void idle_connection_close(const struct idle_connection *connection);

struct idle_pool;

/* For @most connections, each for @idle_ns (0 = no bound). NULL without memory. */
struct idle_pool *idle_pool_create(unsigned int most, uint64_t idle_ns);

/* Closes what waits. Accepts NULL. */
void idle_pool_destroy(struct idle_pool *pool);

/*
 * Give the caller in *@ret the connection on @way that came last. Connections are closed that have
 * waited too long, or on which the server has sent something, if only that it hangs up. False when
 * there is none.
 */
bool idle_pool_take(struct idle_pool *pool, const char *way, struct idle_connection *ret);

/*
 * Takes @connection, whose session may have had another descriptor before. With too many, those
 * that have waited longest are closed. @way is copied.
 */
void idle_pool_put(struct idle_pool *pool, const char *way,
		   const struct idle_connection *connection);
