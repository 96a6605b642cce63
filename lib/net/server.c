// SPDX-License-Identifier: Apache-2.0
#include "server.h"

#include "loop/loop.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/sysinfo.h>
#include <sys/time.h>

enum {
	WORKERS_MIN = 4,
	/* How often we look for messages that take too long. */
	TICK_MS = 250,
};

#define SECOND_NS         UINT64_C(1000000000)
#define PATIENCE_NS       (60 * SECOND_NS)
#define PATIENCE_FULL_NS  (2 * SECOND_NS)
#define PATIENCE_STUCK_NS (5 * SECOND_NS)
#define PATIENCE_HEAD_NS  (10 * SECOND_NS)
#define ANSWERING_NS      (SECOND_NS / 5)

/* ---- for the other parts ---- */

void server_refused(struct net_server *server, enum net_refusal refusal, const char *peer)
{
	if (server->service.refused)
		server->service.refused(server->service.context, refusal, peer);
}

bool server_is_stopping(struct net_server *server)
{
	bool stopping;

	pthread_mutex_lock(&server->lock);
	stopping = server->stopping;
	pthread_mutex_unlock(&server->lock);
	return stopping;
}

struct server_patience server_patience(struct net_server *server)
{
	struct server_patience patience;

	pthread_mutex_lock(&server->lock);
	patience = server->patience;
	pthread_mutex_unlock(&server->lock);
	return patience;
}

void server_wake(struct net_server *server)
{
	// Full means that it is awake already.
	(void)eventfd_write(server->wake_fd, 1);
}

void server_tick(struct net_server *server)
{
	const struct timeval tick = { .tv_usec = TICK_MS * 1000 };

	if (!server->ticking)
		server->ticking = !evtimer_add(server->tick, &tick);
}

/* ---- the server's thread ---- */

static void on_tick(evutil_socket_t fd, short what, void *context)
{
	struct net_server *server = context;

	(void)fd;
	(void)what;
	server->ticking = false;
	call_expire(server);
	connection_settle_all(server);
	if (server->call_count)
		server_tick(server);
}

/* No further clients, no further calls. */
static void server_stop(struct net_server *server)
{
	struct connection *connection;

	server->stopped = true;
	server_accept_stop(server);
	TAILQ_FOREACH(connection, &server->connections, entry)
	connection_end(connection);
	call_refuse_unreceived(server);
}

static void on_wake(evutil_socket_t fd, short what, void *context)
{
	struct net_server *server = context;
	bool stopping, cutting;
	eventfd_t count;

	(void)what;
	(void)eventfd_read(fd, &count);
	pthread_mutex_lock(&server->lock);
	stopping = server->stopping;
	cutting = server->cutting;
	pthread_mutex_unlock(&server->lock);
	call_take_answers(server);
	if (stopping && !server->stopped)
		server_stop(server);
	connection_settle_all(server);
	if (cutting)
		event_base_loopbreak(server->base);
}

static void *server_run(void *argument)
{
	struct net_server *server = argument;

	pthread_setname_np(pthread_self(), "net-server");
	event_base_loop(server->base, EVLOOP_NO_EXIT_ON_EMPTY);
	return NULL;
}

/* ---- workers ---- */

/* The next call to handle; NULL at the end. */
static struct net_call *server_take(struct net_server *server)
{
	struct net_call *call = NULL;

	pthread_mutex_lock(&server->lock);
	while (!server->ended && !(call = room_take_ready(server)))
		pthread_cond_wait(&server->work, &server->lock);
	pthread_mutex_unlock(&server->lock);
	return call;
}

static void *server_work(void *argument)
{
	struct net_server *server = argument;
	struct net_call *call;

	pthread_setname_np(pthread_self(), "net-worker");
	while ((call = server_take(server))) {
		bool first;

		call_handle(call);
		pthread_mutex_lock(&server->lock);
		first = TAILQ_EMPTY(&server->answered);
		TAILQ_INSERT_TAIL(&server->answered, call, queue_entry);
		pthread_mutex_unlock(&server->lock);
		if (first)
			server_wake(server);
	}
	return NULL;
}

static struct profcol_error *server_start_threads(struct net_server *server)
{
	int processors = get_nprocs(), wanted = WORKERS_MIN;
	int status;

	if (processors > wanted)
		wanted = processors < SERVER_WORKERS_MAX ? processors : SERVER_WORKERS_MAX;
	status = thread_start(&server->thread, server_run, server);
	server->has_thread = !status;
	for (int i = 0; i < wanted && !status; i++) {
		status = thread_start(&server->workers[i], server_work, server);
		server->worker_count += !status;
	}
	return status ? profcol_error_errno(status, "start the server's threads") : NULL;
}

/* ---- creation ---- */

static struct profcol_error *server_make_loop(struct net_server *server)
{
	server->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (server->wake_fd < 0)
		return profcol_error_errno(errno, "create the server");
	// One thread has the loop and all that it knows of.
	server->base = loop_create(EVENT_BASE_FLAG_NOLOCK);
	if (!server->base)
		return profcol_error_errno(ENOMEM, "create the server");
	server->wake =
		event_new(server->base, server->wake_fd, EV_READ | EV_PERSIST, on_wake, server);
	server->tick = evtimer_new(server->base, on_tick, server);
	if (!server->wake || !server->tick || event_add(server->wake, NULL))
		return profcol_error_errno(ENOMEM, "create the server");
	return NULL;
}

static struct profcol_error *server_init_tls(struct net_server *server)
{
	struct tls_server_settings settings = tls_server_translate(&server->config->tls);

	settings.protocols = server->http.config ? "\x02h2\x08http/1.1" : "\x02h2";
	settings.logger = server->logger;
	return tls_server_create(&settings, &server->tls);
}

static struct profcol_error *server_listen(struct net_server *server)
{
	const struct sockets_place place = listener_place(&server->listener);

	return sockets_open(&place, &server->listener.sockets);
}

static struct profcol_error *server_init(struct net_server *server)
{
	const struct net_server_config *config = server->config;
	struct profcol_error *error =
		listener_init(&server->listener, config->endpoint, config->transport);

	if (!error)
		error = server_make_loop(server);
	if (!error)
		error = http2_prepare(server);
	if (!error && config->tls_named)
		error = server_init_tls(server);
	if (!error)
		error = server_listen(server);
	if (!error)
		error = server_accept_start(server);
	return error ? error : server_start_threads(server);
}

static void server_warn_ignored(const struct net_server *server)
{
	const struct net_server_config *config = server->config;

	if (config->tls_named && (config->tls.ca_file[0] || config->tls.ca_pem[0]))
		profcol_log_warn(server->logger,
				 "tls.ca_file has no effect on a server, clients need no "
				 "certificate%s",
				 config->tls.client_ca_file[0] ? " of these"
							       : "; set client_ca_file to "
								 "demand one");
	if (config->include_metadata)
		profcol_log_info(server->logger, "include_metadata has no effect: nothing here "
						 "makes use of what clients send along");
}

static void server_set_patience(struct net_server *server)
{
	const struct confighttp_server_config *http = server->http.config;

	server->patience = (struct server_patience){
		.receive_ns = PATIENCE_NS,
		.full_ns = PATIENCE_FULL_NS,
		.answer_ns = PATIENCE_NS,
		.head_ns = PATIENCE_HEAD_NS,
		.stuck_ns = PATIENCE_STUCK_NS,
	};
	if (http && http->read_timeout_ns)
		server->patience.receive_ns = http->read_timeout_ns;
	if (http && http->write_timeout_ns)
		server->patience.answer_ns = http->write_timeout_ns;
	if (http && http->read_header_timeout_ns)
		server->patience.head_ns = http->read_header_timeout_ns;
}

static struct profcol_error *server_make_peers(struct net_server *server)
{
	server->peers = calloc(SERVER_PEERS, sizeof(*server->peers));
	if (!server->peers)
		return profcol_error_errno(ENOMEM, "create the server");
	for (size_t i = 0; i < SERVER_PEERS; i++) {
		TAILQ_INIT(&server->peers[i].ready);
		TAILQ_INIT(&server->peers[i].waiting);
	}
	// Without it clients could choose addresses to share a place with others.
	if (getrandom(&server->seed, sizeof(server->seed), 0) != sizeof(server->seed))
		server->seed = clock_monotonic_ns();
	return NULL;
}

static struct net_server *server_allocate(const struct net_service *service,
					  const struct profcol_logger *logger)
{
	struct net_server *server = calloc(1, sizeof(*server));

	if (!server)
		return NULL;
	server->service = *service;
	server->logger = logger;
	server->wake_fd = -1;
	TAILQ_INIT(&server->connections);
	TAILQ_INIT(&server->waiting);
	TAILQ_INIT(&server->unsettled);
	TAILQ_INIT(&server->ready);
	TAILQ_INIT(&server->answered);
	pthread_mutex_init(&server->lock, NULL);
	pthread_cond_init(&server->work, NULL);
	pthread_cond_init(&server->quiet, NULL);
	return server;
}

/* Takes @server on error. */
static struct profcol_error *server_begin(struct net_server *server, size_t message_bytes)
{
	struct profcol_error *error = server_make_peers(server);

	server->bounds = bounds_choose(cgroup_memory_bytes(), message_bytes);
	server_set_patience(server);
	if (!error)
		error = server_init(server);
	if (error)
		net_server_destroy(server);
	return error;
}

struct profcol_error *net_server_create(const struct net_server_config *config,
					const struct net_service *service,
					const struct profcol_logger *logger,
					struct net_server **ret)
{
	struct net_server *server = server_allocate(service, logger);
	struct profcol_error *error;

	if (!server)
		return profcol_error_errno(ENOMEM, "create the server");
	server->config = config;
	error = server_begin(server, net_server_message_bytes(config));
	if (error)
		return error;
	server_warn_ignored(server);
	*ret = server;
	return NULL;
}

struct profcol_error *net_http_server_create(const struct confighttp_server_config *config,
					     const char *path, const struct net_service *service,
					     const struct profcol_logger *logger,
					     struct net_server **ret)
{
	struct net_server *server = server_allocate(service, logger);
	struct profcol_error *error;

	if (!server)
		return profcol_error_errno(ENOMEM, "create the server");
	server->http.config = config;
	server->http.path = path;
	server->config = &server->http.server;
	if (!http_translate(server)) {
		net_server_destroy(server);
		return profcol_error_errno(ENOMEM, "create the server");
	}
	error = server_begin(server, net_http_server_message_bytes(config));
	if (!error)
		*ret = server;
	return error;
}

const char *net_server_address(const struct net_server *server)
{
	return server->listener.sockets.address;
}

/* ---- the end ---- */

/*
 * Half of the time, for who comes after us in the pipelines has to send what it has got: an
 * exporter without a queue, which handles calls of ours until then (sending_stop_waiting). And a
 * little more, in which what it says in the end becomes an answer; a call that is cut off looks to
 * the client as if nobody knew what became of it.
 */
uint64_t net_server_last_answer_ns(uint64_t deadline_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
	uint64_t extra_ns = left_ns / 4 < ANSWERING_NS ? left_ns / 4 : ANSWERING_NS;

	return now_ns + left_ns / 2 + extra_ns;
}

/* Under the lock: wait, at most until @deadline_ns, until there is none of @left. */
static void server_let_end(struct net_server *server, const size_t *left, uint64_t deadline_ns)
{
	struct timespec deadline = clock_timespec(deadline_ns);

	while (*left &&
	       !pthread_cond_clockwait(&server->quiet, &server->lock, CLOCK_MONOTONIC, &deadline))
		;
}

/* Under the lock: calls first; their answers are soon with those who read them, and who does not
 * read keeps nobody from ending. */
static void server_let_all_end(struct net_server *server, uint64_t deadline_ns)
{
	uint64_t now_ns;

	server_let_end(server, &server->living, deadline_ns);
	now_ns = clock_monotonic_ns();
	server_let_end(server, &server->open,
		       deadline_ns < now_ns + SECOND_NS ? deadline_ns : now_ns + SECOND_NS);
}

static void server_end_threads(struct net_server *server)
{
	pthread_mutex_lock(&server->lock);
	server->cutting = true;
	pthread_mutex_unlock(&server->lock);
	server_wake(server);
	pthread_join(server->thread, NULL);
	server->has_thread = false;
	// All that follows is this thread's: who waits is told that nobody listens any more.
	connection_destroy_all(server);
	pthread_mutex_lock(&server->lock);
	server->ended = true;
	pthread_cond_broadcast(&server->work);
	pthread_mutex_unlock(&server->lock);
	for (; server->worker_count; server->worker_count--)
		pthread_join(server->workers[server->worker_count - 1], NULL);
	call_take_answers(server);
}

void net_server_stop(struct net_server *server)
{
	pthread_mutex_lock(&server->lock);
	server->stopping = true;
	pthread_mutex_unlock(&server->lock);
	server_wake(server);
}

void net_server_shutdown(struct net_server *server, uint64_t deadline_ns)
{
	if (!server->has_thread)
		return;
	net_server_stop(server);
	pthread_mutex_lock(&server->lock);
	server_let_all_end(server, deadline_ns);
	pthread_mutex_unlock(&server->lock);
	server_end_threads(server);
}

static void server_destroy_loop(struct net_server *server)
{
	server_accept_stop(server);
	if (server->wake)
		event_free(server->wake);
	if (server->tick)
		event_free(server->tick);
	loop_destroy(server->base);
	if (server->wake_fd >= 0)
		close(server->wake_fd);
}

void net_server_destroy(struct net_server *server)
{
	if (!server)
		return;
	net_server_shutdown(server, clock_monotonic_ns());
	server_destroy_loop(server);
	nghttp2_session_callbacks_del(server->callbacks);
	nghttp2_option_del(server->option);
	tls_server_destroy(server->tls);
	listener_deinit(&server->listener);
	pthread_cond_destroy(&server->quiet);
	pthread_cond_destroy(&server->work);
	pthread_mutex_destroy(&server->lock);
	for (size_t i = 0; i < server->http.extra_count; i++) {
		free((char *)(uintptr_t)server->http.extra[i].name);
		free(server->http.extra[i].value);
	}
	free(server->http.extra);
	free(server->peers);
	free(server);
}
