// SPDX-License-Identifier: Apache-2.0
/*
 * The thread: an event loop that other threads give orders to. Everything that libevent knows of
 * is touched by this thread alone, so that libevent needs no locks.
 */
#include "http.h"

#include "later.h"
#include "listener.h"

#include "base/base.h"
#include "loop/loop.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>

/* Lives on the stack of who waits for it. */
struct order {
	enum order_kind { ORDER_ATTACH, ORDER_DETACH, ORDER_END } kind;
	struct profcol_http_listener *listener; /* of ATTACH and DETACH */
	bool succeeded, done;
	struct order *next;
};

TAILQ_HEAD(listener_queue, profcol_http_listener);

struct http_server {
	pthread_mutex_t lock; /* protects the next four */
	pthread_cond_t done;
	struct order *orders;
	bool running;
	int wake; /* owned, as the next four: an eventfd that the loop looks at */
	struct event_base *base;
	struct event *woken;
	struct http_later *later;
	pthread_t thread;
	/* The thread's own. */
	struct listener_queue listeners;
	struct http_connection_list leaving;
};

/* ---- on the thread ---- */

static void detach(struct http_server *server, struct profcol_http_listener *listener)
{
	TAILQ_REMOVE(&server->listeners, listener, entry);
	http_listener_detach(listener, &server->leaving);
}

static void obey(struct http_server *server, struct order *order)
{
	order->succeeded = true;
	switch (order->kind) {
	case ORDER_ATTACH:
		TAILQ_INSERT_TAIL(&server->listeners, order->listener, entry);
		order->succeeded = http_listener_attach(order->listener, server->base);
		if (!order->succeeded)
			detach(server, order->listener);
		break;
	case ORDER_DETACH:
		detach(server, order->listener);
		break;
	case ORDER_END:
		event_base_loopbreak(server->base);
		break;
	}
}

static void on_wake(evutil_socket_t fd, short what, void *context)
{
	struct http_server *server = context;
	struct order *orders;
	eventfd_t count;

	(void)what;
	eventfd_read(fd, &count);
	pthread_mutex_lock(&server->lock);
	orders = server->orders;
	server->orders = NULL;
	pthread_mutex_unlock(&server->lock);
	http_later_deliver(server->later);
	while (orders) {
		struct order *order = orders;

		orders = order->next;
		obey(server, order);
		// Done, it may vanish at once.
		pthread_mutex_lock(&server->lock);
		order->done = true;
		pthread_cond_broadcast(&server->done);
		pthread_mutex_unlock(&server->lock);
	}
}

static void *server_thread(void *context)
{
	struct http_server *server = context;
	struct profcol_http_listener *listener;
	struct http_connection *connection;

	event_base_loop(server->base, EVLOOP_NO_EXIT_ON_EMPTY);
	while ((listener = TAILQ_FIRST(&server->listeners))) {
		detach(server, listener);
		http_listener_destroy(listener);
	}
	while ((connection = TAILQ_FIRST(&server->leaving.queue)))
		http_connection_destroy(connection);
	return NULL;
}

/* ---- from elsewhere ---- */

/* Hand @order over and wait until it is done. The thread runs. */
static void command(struct http_server *server, struct order *order)
{
	pthread_mutex_lock(&server->lock);
	order->next = server->orders;
	server->orders = order;
	eventfd_write(server->wake, 1);
	while (!order->done)
		pthread_cond_wait(&server->done, &server->lock);
	pthread_mutex_unlock(&server->lock);
}

static int start_thread(struct http_server *server)
{
	int status = thread_start(&server->thread, server_thread, server);

	if (!status)
		pthread_setname_np(server->thread, "http");
	return status;
}

/* Under the lock. Returns 0 or a positive errno; what is half made is used at the next try. */
static int server_run(struct http_server *server)
{
	int status;

	if (server->running)
		return 0;
	if (server->wake < 0)
		server->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (server->wake < 0)
		return errno;
	// Only the thread uses it.
	if (!server->base)
		server->base = loop_create(EVENT_BASE_FLAG_NOLOCK);
	if (server->base && !server->woken)
		server->woken = event_new(server->base, server->wake, EV_READ | EV_PERSIST, on_wake,
					  server);
	if (!server->later)
		server->later = http_later_create(server->wake);
	if (!server->later || !server->woken || event_add(server->woken, NULL))
		return ENOMEM;
	status = start_thread(server);
	server->running = !status;
	return status;
}

struct profcol_error *http_server_create(struct http_server **ret)
{
	struct http_server *server = calloc(1, sizeof(*server));

	if (!server)
		return profcol_error_errno(ENOMEM, "http");
	server->wake = -1;
	pthread_mutex_init(&server->lock, NULL);
	pthread_cond_init(&server->done, NULL);
	TAILQ_INIT(&server->listeners);
	http_connection_list_init(&server->leaving);
	*ret = server;
	return NULL;
}

void http_server_destroy(struct http_server *server)
{
	struct order end = { .kind = ORDER_END };

	if (!server)
		return;
	if (server->running) {
		command(server, &end);
		pthread_join(server->thread, NULL);
	}
	if (server->woken)
		event_free(server->woken);
	loop_destroy(server->base);
	http_later_destroy(server->later);
	if (server->wake >= 0)
		close(server->wake);
	pthread_cond_destroy(&server->done);
	pthread_mutex_destroy(&server->lock);
	free(server);
}

struct profcol_error *http_server_open(struct http_server *server,
				       const struct profcol_http_settings *settings,
				       struct profcol_http_listener **ret)
{
	struct order attach = { .kind = ORDER_ATTACH };
	struct profcol_http_listener *listener;
	struct profcol_error *error;
	int status;

	pthread_mutex_lock(&server->lock);
	status = server_run(server);
	pthread_mutex_unlock(&server->lock);
	if (status)
		return profcol_error_errno(status, "cannot start the HTTP server");
	error = http_listener_create(settings, &listener);
	if (error)
		return error;
	listener->server = server;
	listener->connection.later = server->later;
	attach.listener = listener;
	command(server, &attach);
	if (!attach.succeeded) {
		http_listener_destroy(listener);
		return profcol_error_errno(ENOMEM, "endpoint");
	}
	*ret = listener;
	return NULL;
}

void http_listener_close(struct profcol_http_listener *listener)
{
	struct order order = { .kind = ORDER_DETACH, .listener = listener };

	if (!listener)
		return;
	command(listener->server, &order);
	http_listener_destroy(listener);
}
