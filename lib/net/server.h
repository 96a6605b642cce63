/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a server. Private to lib/net.
 *
 * One thread, the server's, has the loop, and with it all connections and what they say; workers
 * inflate messages and call the service. A call passes from the one to the others and back through
 * two queues under a lock. All functions here are for the server's thread, unless they say
 * otherwise.
 */
#pragma once

#include "inflate.h"
#include "listener.h"
#include "net.h"
#include "tls.h"

#include "base/base.h"
#include "confighttp/confighttp.h"

#include <event2/event.h>
#include <nghttp2/nghttp2.h>

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

enum {
	SERVER_WORKERS_MAX = 8,
	/* Peers by a hash of their address: those that share a place share its bounds. */
	SERVER_PEERS = 1024,
	PEER_TEXT_MAX = 64,
	/* Of the head of a request: names, values and 32 bytes for each field. */
	HEAD_MAX_BYTES = 8192,
	/* What a client may send of a message before there is room for it. */
	FIRST_BYTES = 16384,
};

/* Of a body whose length the head does not tell. */
#define LENGTH_UNKNOWN SIZE_MAX

struct connection;
struct http1;
struct http2;
struct net_call;

TAILQ_HEAD(connection_list, connection);
TAILQ_HEAD(call_list, net_call);

/* ---- bounds (bounds.c) ---- */

/* Set once. Those of a connection are half of what there is, those of a peer three quarters. */
struct server_bounds {
	size_t connections, connections_of_peer;
	size_t calls, calls_of_peer; /* that are under way, on all connections */
	size_t message_bytes;        /* of the largest one, before and after inflation */
	size_t room_calls;           /* that are taken in at once, */
	size_t room_bytes;           /* and their messages as they come */
};

/* For a process that may have @memory_bytes. Pure. */
struct server_bounds bounds_choose(uint64_t memory_bytes, size_t message_bytes);

/* How long clients may take. */
struct server_patience {
	uint64_t receive_ns; /* to send a message after its head */
	uint64_t full_ns;    /* for a call that has room others lack, from when it got it; and a
				second for each MiB that has come */
	uint64_t answer_ns;  /* to read the answer */
	uint64_t head_ns;    /* from the connection to the first frame, and for each head */
	uint64_t stuck_ns;   /* for a call that has such room and waits for more */
};

/* A budget of events a second, which may be saved up. Pure. */
struct tokens {
	uint64_t at_ns; /* CLOCK_MONOTONIC: when they were counted; 0 = not yet */
	uint32_t left;
};

/* Take @wanted of them; false when there are fewer. */
bool tokens_take(struct tokens *tokens, uint32_t wanted, uint32_t a_second, uint32_t most,
		 uint64_t now_ns);

/* ---- room (room.c): which calls are taken in, and which of them come next to a worker ---- */

/* What calls have taken of the server's bounds. */
struct share {
	size_t calls, bytes;
};

/* Those of one address. */
struct peer {
	size_t connections, calls; /* the latter under way */
	struct share share;
	struct connection_list waiting; /* that have calls without room */
	TAILQ_ENTRY(peer) waiting_entry;
	bool is_full; /* a waiting call lacks room in this peer's share */
	/* Under the server's lock. */
	struct connection_list ready; /* that have calls for a worker */
	TAILQ_ENTRY(peer) ready_entry;
};
TAILQ_HEAD(peer_list, peer);

/* ---- the server ---- */

enum { RESPONSE_FIELDS_MAX = 8, RESPONSE_EXTRA_MAX = 32 };

struct response_field {
	const char *name; /* borrowed */
	char *value;      /* owned */
};

/* What a server of OTLP over HTTP has besides; without `config` it speaks gRPC. */
struct server_http {
	const struct confighttp_server_config *config; /* borrowed, as the next */
	const char *path;                              /* of all requests that are heard */
	struct net_server_config server;               /* what the others find in a server's */
	struct response_field *extra;                  /* owned: for each answer */
	size_t extra_count;
};

struct net_server {
	const struct net_server_config *config; /* borrowed, or http.server */
	struct server_http http;
	const struct profcol_logger *logger; /* borrowed */
	struct net_service service;
	struct server_bounds bounds;
	struct listener listener;
	struct tls_server *tls; /* NULL without TLS */
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option;
	uint64_t seed; /* of the peers' hash */
	pthread_t thread, workers[SERVER_WORKERS_MAX];
	bool has_thread;
	size_t worker_count; /* that run */

	/* The server's thread. */
	struct event_base *base;
	struct event *accepting, *resume, *wake, *tick;
	int wake_fd; /* an eventfd: something is in `answered`, or an order is there */
	struct connection_list connections; /* who has said something last comes last */
	size_t connection_count, call_count;
	struct peer *peers; /* SERVER_PEERS */
	struct share share;
	struct peer_list waiting;         /* who has calls without room */
	struct connection_list unsettled; /* to be seen to before the loop goes on */
	bool ticking, complained, stopped;
	bool is_full; /* a waiting call lacks room of the server, not only of its peer's share */

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t work;  /* for workers */
	pthread_cond_t quiet; /* calls have ended */
	struct server_patience patience;
	struct peer_list ready;    /* who has calls for a worker */
	struct call_list answered; /* by a worker */
	size_t living;             /* calls that have begun and have no answer */
	size_t open;               /* connections */
	bool stopping;             /* no further calls */
	bool cutting;              /* and none that go on */
	bool ended;                /* workers: go home */
};

/* Something refused, for the service's books. */
void server_refused(struct net_server *server, enum net_refusal refusal, const char *peer);
bool server_is_stopping(struct net_server *server); /* any thread */
struct server_patience server_patience(struct net_server *server);
void server_wake(struct net_server *server); /* any thread */
void server_count_connection(struct net_server *server, int more);
/* See to it that the calls' patience is looked after. */
void server_tick(struct net_server *server);

/* ---- accepting (server_accept.c) ---- */

PROFCOL_MUST_CHECK struct profcol_error *server_accept_start(struct net_server *server);
void server_accept_stop(struct net_server *server);

/* ---- connections (server_connection.c) ---- */

struct connection {
	TAILQ_ENTRY(connection) entry;         /* of the server's */
	TAILQ_ENTRY(connection) waiting_entry; /* of the peer's, while it has calls without room */
	TAILQ_ENTRY(connection) settle_entry;
	TAILQ_ENTRY(connection) ready_entry; /* under the lock, while it has calls for a worker */
	struct net_server *server;
	struct peer *peer;
	char peer_text[PEER_TEXT_MAX]; /* "ipv4:127.0.0.1:4711" */
	struct bufferevent *stream;    /* owned, with the socket and TLS */
	struct event *timer;           /* owned */
	uint64_t timer_ns;             /* when it goes off */
	struct http1 *http1;           /* owned, as the next; NULL until the first bytes tell */
	struct http2 *http2;
	struct call_list calls; /* under way */
	size_t call_count;
	struct call_list waiting; /* for room */
	bool is_full;             /* a waiting call lacks room in this connection's share */
	struct share share;
	struct call_list ready; /* under the lock: for a worker */
	bool is_ready;          /* under the lock: among its peer's */
	bool is_unsettled;

	uint64_t begun_ns, idle_ns; /* since it is there, and without calls */
	uint64_t read_ns;           /* since when nothing came */
	uint64_t head_ns;           /* since when a head is incomplete; 0 = none is */
	uint64_t blocked_ns;        /* since when the client takes nothing; 0 = it does */
	uint64_t pinged_ns;         /* when we did, last */
	uint64_t age_ns;            /* when it is too old; UINT64_MAX = never */
	uint64_t cut_ns;            /* when it ends, whatever goes on; UINT64_MAX = never */
	bool greeted;               /* its protocol is known and its first frame is there */
	bool settled;               /* it knows our settings */
	bool ending;                /* no further calls; it ends after those that it has */
	bool pinged;                /* and the answer is not there */
	bool said_goodbye;          /* and the client knows which of its calls are taken */
	bool mute;                  /* it has broken the rules: what it says is not looked at */
	bool lingering;             /* all is said: only reads, so that what was said arrives */
	bool doomed;                /* it ends as soon as nobody is busy with it */
	size_t discarded;           /* bytes that were not looked at */
};

/* Serve @fd, which it takes, of @peer, through TLS if the server has any. */
void connection_create(struct net_server *server, int fd, struct peer *peer, const char *peer_text);

/* After anything was done with it: have what is to be sent go out, or end it if that is due. */
void connection_settle_later(struct connection *connection);
/* At the end of each event: connections end here, and nowhere else but at the server's end. */
void connection_settle_all(struct net_server *server);
void connection_destroy_all(struct net_server *server);

/* Tell the client that it gets no further calls, and end after those that there are. */
void connection_end(struct connection *connection);

/* ---- HTTP/2 (server_http2.c): one session ---- */

struct http2 *http2_create(struct connection *connection);
void http2_destroy(struct http2 *http2); /* accepts NULL */

/* False: the connection is of no use any more. */
bool http2_feed(struct http2 *http2, const uint8_t *bytes, size_t length);

/* Is there so much in the output of its connection that nothing more is put there? */
bool http2_is_full(const struct http2 *http2);

/* Put what is to be sent into the connection's output, as long as there is little in it. */
bool http2_flush(struct http2 *http2);

/* Has all been said, or nothing can be said any more? */
bool http2_is_over(const struct http2 *http2);

void http2_ping(struct http2 *http2);
/* @now: calls that the client has begun meanwhile are not taken any more. */
void http2_goodbye(struct http2 *http2, bool now);

/* The client may send @bytes of this call's body in all. */
void http2_grant(struct net_call *call, size_t bytes);
/* What has come of it is out of the way: as much may follow. */
void http2_consume(struct net_call *call);
void http2_respond(struct net_call *call);
void http2_reset(struct net_call *call, uint32_t code);

/* nghttp2's settings for a server. */
PROFCOL_MUST_CHECK struct profcol_error *http2_prepare(struct net_server *server);

/* ---- HTTP/1.1 (server_http1.c) ---- */

struct http1 *http1_create(struct connection *connection);
void http1_destroy(struct http1 *http1); /* accepts NULL */
/* Take what is there of the connection's input, and put answers into its output. */
void http1_advance(struct http1 *http1);
/* Is there as much input as may wait? */
bool http1_is_full(const struct http1 *http1);

/* ---- calls (server_call.c) ---- */

enum call_phase {
	CALL_HEAD,  /* its head comes */
	CALL_BODY,  /* its message comes */
	CALL_READY, /* for a worker, or with one */
	CALL_ANSWERING,
	CALL_ENDED, /* the client has the answer, or has gone */
};

struct call_field {
	uint16_t name, name_length, value, value_length; /* places in the head's text */
};

struct call_head {
	VECTOR(struct call_field) fields;
	VECTOR(char) text;
	size_t bytes; /* as HEAD_MAX_BYTES counts */
	bool too_large;
};

struct response {
	unsigned int status; /* of HTTP */
	struct response_field headers[RESPONSE_FIELDS_MAX], trailers[RESPONSE_FIELDS_MAX];
	size_t header_count, trailer_count;
	uint8_t *body; /* owned */
	size_t length, sent;
};

struct net_call {
	struct net_server *server;
	struct connection *connection; /* NULL once it has gone */
	int32_t stream;                /* of HTTP/2 */
	enum call_phase phase;         /* the server's thread */
	uint64_t began_ns;             /* to send its head, its message; to read the answer */
	struct call_head head;
	char *method;
	struct peer *peer;
	char peer_text[PEER_TEXT_MAX];
	uint64_t deadline_ns; /* the client's: CLOCK_MONOTONIC; UINT64_MAX = none */
	enum inflate_kind compression;

	/* The message. */
	uint8_t prefix[5];
	size_t prefix_length;
	uint8_t *bytes; /* owned */
	size_t length, expected, capacity;
	size_t unconsumed;  /* of HTTP/2's window */
	struct share taken; /* of the room... */
	uint64_t
		taken_ns; /* ...since then, without the times it waited for more; 0 = nothing yet */
	size_t granted;   /* what the client may send; 0 = what anybody may */
	bool waits;       /* for room... */
	uint64_t waits_ns; /* ...since then */
	bool complete;     /* the client has said all */
	bool is_ready;     /* under the lock: no worker has it yet */
	bool is_living;    /* it is among the server's that are living */
	bool is_displaced; /* it made room for a call of somebody else: not its client's fault */
	bool is_json;      /* its message and its answer */
	bool too_large;    /* and therefore refused */
	bool no_memory;    /* the same: a worker's, until it is answered */

	struct net_answer answer;
	struct response response;
	atomic_bool gone; /* nobody waits for the answer */

	TAILQ_ENTRY(net_call) entry;       /* of its connection's, unless it has gone */
	TAILQ_ENTRY(net_call) queue_entry; /* of those that wait, are ready, or answered */
};

/* NULL without memory, or when there are too many. */
struct net_call *call_create(struct connection *connection, int32_t stream);
/* Add to the head; what is too much makes it too_large. False without memory. */
bool call_add_field(struct net_call *call, const uint8_t *name, size_t name_length,
		    const uint8_t *value, size_t value_length);
/* The head is there. */
void call_begin(struct net_call *call);
/* Its response says why it is refused; nothing else is to be said. */
void call_refuse_plain(struct net_call *call);
/* The stream is closed, by whom ever. @call may be gone afterwards. */
void call_close(struct net_call *call);
/* Answers it, with @message (taken; NULL for want of memory), before a worker has it. */
void call_refuse(struct net_call *call, enum net_code code, char *message);
bool call_is_http(const struct net_call *call);

/* Room for what waits? */
void call_admit_waiting(struct net_server *server);
/* What workers have done. */
void call_take_answers(struct net_server *server);
/* Refuse the calls whose message takes too long, and end those whose answer is not read. */
void call_expire(struct net_server *server);
/* Refuse the calls whose message is still on its way, since the server stops. */
void call_refuse_unreceived(struct net_server *server);
/* A worker's: inflate, and have it handled. Any thread. */
void call_handle(struct net_call *call);

/* ---- messages (server_message.c) ---- */

/* The head of a request over HTTP has been read, and its body may come. */
void call_begin_body(struct net_call *call);
/* Some of the body. */
void call_receive(struct net_call *call, const uint8_t *bytes, size_t length);
/* The body is there. */
void call_complete(struct net_call *call);
/* The message is too large, @when: " after decompression". free(); NULL without memory. */
char *call_explain_size(struct net_call *call, const char *when);

/* ---- room.c ---- */

/* May @call have @bytes more? Books them if so. */
bool room_take(struct net_call *call, size_t bytes);
void room_give(struct net_call *call);
/* @call waits for room, or no longer. */
void room_wait(struct net_call *call);
void room_forget(struct net_call *call);
/* Before all that wait try again: room_take() says anew which shares have no room. */
void room_forget_full(struct net_server *server);
/* The next call that waits, fairly; NULL without. It goes to the end of the line. */
struct net_call *room_next(struct net_server *server);
/* Under the lock: to the workers, and from there. */
void room_make_ready(struct net_call *call);
struct net_call *room_take_ready(struct net_server *server);
/* Under the lock: unless a worker has got @call, it goes the way of those that were handled. */
void room_withdraw(struct net_call *call);

/* ---- gRPC (server_grpc.c) ---- */

/* What the head says: is it a call of gRPC's? Else the response says why not. */
bool grpc_call_read_head(struct net_call *call);
/* The answer as a response. False without memory. */
bool grpc_call_make_response(struct net_call *call);

/* ---- OTLP over HTTP (server_http.c, cors.c) ---- */

/* As grpc_call_read_head(). */
bool http_call_read_head(struct net_call *call);
bool http_call_make_response(struct net_call *call);
/* What a server of both kinds goes by; texts are @config's. */
struct net_server_config http_translate_config(const struct confighttp_server_config *config);
/* Fill in server->http from its configuration. False without memory. */
bool http_translate(struct net_server *server);
/* The head is too large. */
void http_call_refuse_head(struct net_call *call);
/* Adds to the response what the origin's scripts need. True when that is all of the answer. */
bool cors_read_head(struct net_call *call, bool is_options);

/* Is @call from no script, or from one of an origin that is allowed? */
bool cors_allows_sender(const struct net_call *call);

/* ---- responses (server_grpc.c) ---- */

void response_deinit(struct response *response);
bool response_add(struct response *response, bool trailer, const char *name, const char *format,
		  ...) __attribute__((format(printf, 4, 5)));
/* The value of field @name, of the first one if there are more; how many there are. */
size_t call_head_find(const struct net_call *call, const char *name, const char **value_ret,
		      size_t *length_ret);
