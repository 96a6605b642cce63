// SPDX-License-Identifier: Apache-2.0
#include "server.h"

#include "arguments.h"
#include "library.h"

#include "base/base.h"

#include <grpc/grpc_security.h>
#include <grpc/support/time.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/sysinfo.h>

enum {
	CALLS_MAX = 64,
	WORKERS_MIN = 4,
	/* For each connection, unless the configuration says otherwise. */
	STREAMS_DEFAULT = 100,
	/* How often we look for messages that take too long. */
	EXPIRY_TICK_MS = 1000,
};

#define SECOND_NS UINT64_C(1000000000)

/* Of messages that are taken in, compressed. */
#define RECEIVE_BUDGET_BYTES ((size_t)256 << 20)
/* For all else that gRPC holds: connections, and calls that wait. */
#define WAITING_BUDGET_BYTES ((size_t)64 << 20)

#define PATIENCE_NS          (60 * SECOND_NS)
#define PATIENCE_FULL_MIN_NS (5 * SECOND_NS)

/* Where the configuration has 0. */
#define IDLE_DEFAULT_NS              (600 * SECOND_NS)
#define KEEPALIVE_DEFAULT_NS         (7200 * SECOND_NS)
#define KEEPALIVE_TIMEOUT_DEFAULT_NS (20 * SECOND_NS)

/* ---- threads ---- */

static gpr_timespec server_tick(struct net_server *server)
{
	if (!call_expire(server))
		return gpr_inf_future(GPR_CLOCK_MONOTONIC);
	return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
			    gpr_time_from_millis(EXPIRY_TICK_MS, GPR_TIMESPAN));
}

static void *server_poll(void *argument)
{
	struct net_server *server = argument;

	pthread_setname_np(pthread_self(), "net-server");
	for (;;) {
		grpc_event event =
			grpc_completion_queue_next(server->queue, server_tick(server), NULL);
		const struct call_event *of_call = event.tag;

		if (event.type == GRPC_QUEUE_SHUTDOWN)
			return NULL;
		if (event.type == GRPC_QUEUE_TIMEOUT)
			continue;
		if (event.tag != server) {
			of_call->advance(of_call->call, event.success);
			continue;
		}
		pthread_mutex_lock(&server->lock);
		server->disconnected = true;
		pthread_cond_broadcast(&server->quiet);
		pthread_mutex_unlock(&server->lock);
	}
}

/* The next call to handle; NULL at the end. */
static struct net_call *server_take(struct net_server *server)
{
	struct net_call *call;

	pthread_mutex_lock(&server->lock);
	while (!server->ready && !server->ended)
		pthread_cond_wait(&server->work, &server->lock);
	call = server->ready;
	if (call) {
		server->ready = call->next_ready;
		if (!server->ready)
			server->ready_end = &server->ready;
	}
	pthread_mutex_unlock(&server->lock);
	return call;
}

static void *server_work(void *argument)
{
	struct net_server *server = argument;
	struct net_call *call;

	pthread_setname_np(pthread_self(), "net-worker");
	while ((call = server_take(server)))
		call_handle(call);
	return NULL;
}

static struct profcol_error *server_start_threads(struct net_server *server)
{
	int processors = get_nprocs(), wanted = WORKERS_MIN;
	int status;

	if (processors > wanted)
		wanted = processors < SERVER_WORKERS_MAX ? processors : SERVER_WORKERS_MAX;
	status = pthread_create(&server->poller, NULL, server_poll, server);
	server->polling = !status;
	for (int i = 0; i < wanted && !status; i++) {
		status = pthread_create(&server->workers[i], NULL, server_work, server);
		server->worker_count += !status;
	}
	return status ? profcol_error_errno(status, "start the server's threads") : NULL;
}

/* ---- creation ---- */

static void server_add_keepalive(struct arguments *arguments,
				 const struct net_server_keepalive_config *keepalive)
{
	const struct net_server_parameters_config *ours = &keepalive->server_parameters;
	const struct net_enforcement_policy_config *theirs = &keepalive->enforcement_policy;
	const struct {
		const char *key;
		uint64_t ns, default_ns; /* 0 = gRPC's */
	} times[] = {
		{ GRPC_ARG_MAX_CONNECTION_IDLE_MS, ours->max_connection_idle_ns, IDLE_DEFAULT_NS },
		{ GRPC_ARG_MAX_CONNECTION_AGE_MS, ours->max_connection_age_ns, 0 },
		{ GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, ours->max_connection_age_grace_ns, 0 },
		// gRPC's own, but only when they are named does it set TCP_USER_TIMEOUT, which
		// ends connections of clients that do not read.
		{ GRPC_ARG_KEEPALIVE_TIME_MS, ours->time_ns, KEEPALIVE_DEFAULT_NS },
		{ GRPC_ARG_KEEPALIVE_TIMEOUT_MS, ours->timeout_ns, KEEPALIVE_TIMEOUT_DEFAULT_NS },
		{ GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, theirs->min_time_ns, 0 },
	};

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		uint64_t ns = times[i].ns ? times[i].ns : times[i].default_ns;

		if (ns)
			arguments_add_ms(arguments, times[i].key, ns);
	}
	arguments_add_int(arguments, GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS,
			  theirs->permit_without_stream);
}

static void server_add_arguments(const struct net_server *server, struct arguments *arguments)
{
	const struct net_server_config *config = server->config;
	int64_t streams = config->max_concurrent_streams;

	// Two programs at one port would each get some of the connections.
	arguments_add_int(arguments, GRPC_ARG_ALLOW_REUSEPORT, 0);
	arguments_add_int(arguments, GRPC_ARG_ENABLE_CHANNELZ, 0);
	// Inflated by ourselves, under a limit.
	arguments_add_int(arguments, GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
	arguments_add_int(arguments, GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
			  (int)server->max_message_bytes);
	arguments_add_int(arguments, GRPC_ARG_MAX_CONCURRENT_STREAMS,
			  streams ? (int)streams : STREAMS_DEFAULT);
	server_add_keepalive(arguments, &config->keepalive);
	arguments_add_buffers(arguments, config->read_buffer_bytes, config->write_buffer_bytes);
}

static struct profcol_error *server_listen(struct net_server *server)
{
	const struct net_server_config *config = server->config;
	grpc_server_credentials *credentials;
	struct profcol_error *error;

	if (config->tls_named) {
		error = tls_server_create(&config->tls, server->logger, &server->tls, &credentials);
		if (error)
			return error;
	} else {
		credentials = grpc_insecure_server_credentials_create();
	}
	error = listener_open(&server->listener, server->server, credentials);
	grpc_server_credentials_release(credentials);
	return error;
}

/* Beyond what we hold ourselves, gRPC ends streams and connections when memory runs out. */
static grpc_resource_quota *server_create_quota(const struct net_server *server)
{
	grpc_resource_quota *quota = grpc_resource_quota_create("net-server");

	grpc_resource_quota_resize(quota, server->max_calls * server->max_message_bytes +
						  WAITING_BUDGET_BYTES);
	return quota;
}

static struct profcol_error *server_init(struct net_server *server)
{
	struct arguments arguments = { 0 };
	grpc_resource_quota *quota;
	grpc_channel_args list;
	struct profcol_error *error;

	error = listener_init(&server->listener, server->config->endpoint,
			      server->config->transport);
	if (error)
		return error;
	server_add_arguments(server, &arguments);
	quota = server_create_quota(server);
	arguments_add_pointer(&arguments, GRPC_ARG_RESOURCE_QUOTA, quota,
			      grpc_resource_quota_arg_vtable());
	list = (grpc_channel_args){ .num_args = arguments.count, .args = arguments.items };
	server->server = grpc_server_create(&list, NULL);
	grpc_resource_quota_unref(quota);
	server->queue = grpc_completion_queue_create_for_next(NULL);
	grpc_server_register_completion_queue(server->server, server->queue, NULL);
	error = server_listen(server);
	if (error)
		return error;
	grpc_server_start(server->server);
	error = server_start_threads(server);
	if (!error)
		call_await(server);
	return error;
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

static void server_set_bounds(struct net_server *server)
{
	// A client needs longer for a large message, also while others wait.
	uint64_t full_ns = (server->max_message_bytes >> 20) * SECOND_NS;

	server->max_calls = RECEIVE_BUDGET_BYTES / server->max_message_bytes;
	if (server->max_calls > CALLS_MAX)
		server->max_calls = CALLS_MAX;
	else if (!server->max_calls)
		server->max_calls = 1;
	if (full_ns < PATIENCE_FULL_MIN_NS)
		full_ns = PATIENCE_FULL_MIN_NS;
	server->patience = (struct server_patience){
		.receive_ns = PATIENCE_NS,
		.full_ns = full_ns < PATIENCE_NS ? full_ns : PATIENCE_NS,
		.answer_ns = PATIENCE_NS,
	};
}

struct profcol_error *net_server_create(const struct net_server_config *config,
					const struct net_service *service,
					const struct profcol_logger *logger,
					struct net_server **ret)
{
	struct net_server *server = calloc(1, sizeof(*server));
	struct profcol_error *error;

	if (!server)
		return profcol_error_errno(ENOMEM, "create the server");
	library_ref();
	server->config = config;
	server->service = *service;
	server->logger = logger;
	server->max_message_bytes = net_server_message_bytes(config);
	server_set_bounds(server);
	server->ready_end = &server->ready;
	pthread_mutex_init(&server->lock, NULL);
	pthread_cond_init(&server->work, NULL);
	pthread_cond_init(&server->quiet, NULL);
	error = server_init(server);
	if (error) {
		net_server_destroy(server);
		return error;
	}
	server_warn_ignored(server);
	*ret = server;
	return NULL;
}

const char *net_server_address(const struct net_server *server)
{
	return server->listener.address;
}

/* ---- the end ---- */

/* Wait, at most until @deadline_ns, for calls that have begun to end. */
static void server_let_end(struct net_server *server, uint64_t deadline_ns)
{
	struct timespec deadline = clock_timespec(deadline_ns);

	pthread_mutex_lock(&server->lock);
	while (server->call_count > server->awaiting &&
	       !pthread_cond_clockwait(&server->quiet, &server->lock, CLOCK_MONOTONIC, &deadline))
		;
	pthread_mutex_unlock(&server->lock);
}

static void server_end_threads(struct net_server *server)
{
	pthread_mutex_lock(&server->lock);
	server->ended = true;
	pthread_cond_broadcast(&server->work);
	pthread_mutex_unlock(&server->lock);
	for (; server->worker_count; server->worker_count--)
		pthread_join(server->workers[server->worker_count - 1], NULL);
	grpc_completion_queue_shutdown(server->queue);
	if (server->polling)
		pthread_join(server->poller, NULL);
	server->polling = false;
}

void net_server_shutdown(struct net_server *server, uint64_t deadline_ns)
{
	bool stopped;

	pthread_mutex_lock(&server->lock);
	stopped = server->stopping;
	server->stopping = true;
	pthread_mutex_unlock(&server->lock);
	if (stopped)
		return;
	grpc_server_shutdown_and_notify(server->server, server->queue, server);
	call_refuse_unreceived(server, "profcol is shutting down");
	server_let_end(server, deadline_ns);
	grpc_server_cancel_all_calls(server->server);
	// What gRPC has finished with may still be with us, and the other way round.
	pthread_mutex_lock(&server->lock);
	while (server->call_count || !server->disconnected)
		pthread_cond_wait(&server->quiet, &server->lock);
	pthread_mutex_unlock(&server->lock);
	server_end_threads(server);
}

/* A server that never got as far as having a poller. */
static void server_discard(struct net_server *server)
{
	grpc_server_shutdown_and_notify(server->server, server->queue, server);
	grpc_server_cancel_all_calls(server->server);
	while (grpc_completion_queue_next(server->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL)
		       .tag != server)
		;
	grpc_completion_queue_shutdown(server->queue);
	while (grpc_completion_queue_next(server->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL)
		       .type != GRPC_QUEUE_SHUTDOWN)
		;
}

void net_server_destroy(struct net_server *server)
{
	if (!server)
		return;
	if (server->polling)
		net_server_shutdown(server, clock_monotonic_ns());
	else if (server->server && !server->stopping)
		server_discard(server);
	if (server->server) {
		grpc_server_destroy(server->server);
		grpc_completion_queue_destroy(server->queue);
	}
	library_unref();
	tls_server_destroy(server->tls);
	listener_deinit(&server->listener);
	pthread_cond_destroy(&server->quiet);
	pthread_cond_destroy(&server->work);
	pthread_mutex_destroy(&server->lock);
	free(server);
}
