// SPDX-License-Identifier: Apache-2.0
/*
 * A client of the OTLP server that sends anything: its connection ends when it leaves, no call and
 * no room stays behind, and what reaches the service is within its bounds. The first byte says
 * after how many of the others there is a pause, with its highest bit that HTTP/2's first words
 * are in the input, too, and with the next two that the server speaks OTLP over HTTP, and that it
 * is one of any body instead.
 */
#include "loop/loop.h"
#include "net/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROUNDS_MAX = 1000, MESSAGE_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static bool admit(void *context, struct net_call *call, struct net_answer *answer)
{
	const char *value = "";
	size_t length = 0;

	(void)context;
	if (net_call_header(call, "x", &value, &length) && length > HEAD_MAX_BYTES)
		abort();
	answer->code = NET_UNIMPLEMENTED;
	return net_call_method(call)[0] == '/';
}

static void handle(void *context, struct net_call *call, const uint8_t *bytes, size_t length,
		   struct memory_share *share, struct net_answer *answer)
{
	(void)context;
	(void)call;
	if (length > MESSAGE_MAX || (length && !bytes) || share->taken < length)
		abort();
	if (length > 16) {
		answer->code = NET_UNAVAILABLE;
		answer->message = strdup("n\xc3\xb6t now %");
		answer->has_retry = true;
		answer->retry_delay_ns = length;
	}
}

static void ignore(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	(void)context;
}

/* A server without threads: its loop and its workers run here. */
static struct net_server *create_server(bool is_http, bool is_plain)
{
	static const char *const origins[] = { "http://*.a" };
	static const struct confighttp_server_config http = {
		.keep_alives_enabled = true,
		.cors_named = true,
		.cors.allowed_origins = { origins, 1 },
	};
	static struct memory_budget budget = { .most = 8 << 20 };
	static struct net_server_config config;
	struct net_server *server = calloc(1, sizeof(*server));

	if (!server)
		abort();
	server->config = &config;
	if (is_http)
		server->http = (struct server_http){ .config = &http, .path = "/p" };
	server->service = (struct net_service){
		.admit = admit, .handle = handle, .budget = &budget, .is_plain = is_plain
	};
	server->bounds = bounds_choose(1 << 24, MESSAGE_MAX);
	server->patience = (struct server_patience){ UINT64_MAX / 4, UINT64_MAX / 4, UINT64_MAX / 4,
						     UINT64_MAX / 4 };
	TAILQ_INIT(&server->connections);
	TAILQ_INIT(&server->waiting);
	TAILQ_INIT(&server->unsettled);
	TAILQ_INIT(&server->ready);
	TAILQ_INIT(&server->answered);
	pthread_mutex_init(&server->lock, NULL);
	pthread_cond_init(&server->work, NULL);
	pthread_cond_init(&server->quiet, NULL);
	server->peers = calloc(1, sizeof(*server->peers));
	server->base = loop_create(EVENT_BASE_FLAG_NOLOCK);
	server->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!server->peers || !server->base || http2_prepare(server))
		abort();
	TAILQ_INIT(&server->peers->ready);
	server->tick = evtimer_new(server->base, ignore, NULL);
	return server;
}

/* One round of all that happens. */
static void run(struct net_server *server)
{
	struct net_call *call;

	event_base_loop(server->base, EVLOOP_NONBLOCK);
	while ((call = room_take_ready(server))) {
		call_handle(call);
		TAILQ_INSERT_TAIL(&server->answered, call, queue_entry);
	}
	call_take_answers(server);
	connection_settle_all(server);
}

static void take_replies(int fd)
{
	char bytes[4096];

	while (read(fd, bytes, sizeof(bytes)) > 0)
		;
}

static void talk(struct net_server *server, int fd, const void *from, size_t size)
{
	const uint8_t *bytes = from;

	for (size_t at = 0, rounds = 0; at < size && rounds < ROUNDS_MAX; rounds++) {
		ssize_t sent = send(fd, bytes + at, size - at, MSG_NOSIGNAL);

		if (sent < 0 && errno != EAGAIN)
			return;
		at += sent > 0 ? (size_t)sent : 0;
		run(server);
		take_replies(fd);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct net_server *servers[4];
	struct net_server **server_place, *server;
	int pair[2];
	size_t first;

	if (!size)
		return 0;
	server_place = &servers[bytes[0] >> 5 & 3];
	if (!*server_place)
		*server_place = create_server(bytes[0] & 0x40, bytes[0] & 0x20);
	server = *server_place;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return 0;
	connection_create(server, pair[0], &server->peers[0], "unix:");
	if (!(bytes[0] & 0x80))
		talk(server, pair[1], "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24);
	first = (bytes[0] & 0x1fu) < size ? bytes[0] & 0x1fu : size - 1;
	talk(server, pair[1], bytes + 1, first);
	talk(server, pair[1], bytes + 1 + first, size - 1 - first);
	shutdown(pair[1], SHUT_WR);
	for (size_t rounds = 0; server->connection_count && rounds < ROUNDS_MAX; rounds++) {
		run(server);
		take_replies(pair[1]);
	}
	if (server->connection_count || server->call_count || server->living ||
	    server->share.calls || server->share.bytes || server->peers->calls ||
	    server->peers->share.calls || server->peers->connections ||
	    !TAILQ_EMPTY(&server->waiting) || !TAILQ_EMPTY(&server->ready))
		abort();
	close(pair[1]);
	return 0;
}
