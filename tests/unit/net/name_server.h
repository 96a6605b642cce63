/* SPDX-License-Identifier: Apache-2.0 */
/* A name server at a port of 127.0.0.1: whatever name it is asked for has the addresses it is told,
 * of IPv4 only. One thread; init, deinit and what they are between from the test's. */
#pragma once

#include <pthread.h>
#include <stddef.h>

enum { NAME_SERVER_ADDRESSES_MAX = 4 };

struct name_server {
	char address[32]; /* where it listens: "127.0.0.1:4711" */
	int fd;
	pthread_t thread;
	size_t count;
	unsigned int addresses[NAME_SERVER_ADDRESSES_MAX]; /* network byte order */
};

/* @addresses: "127.0.0.1" and so on. */
void name_server_start(struct name_server *server, const char *const *addresses, size_t count);
void name_server_stop(struct name_server *server);
