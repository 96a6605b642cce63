/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a server. Private to lib/net.
 *
 * One thread, the poller, takes the events of the completion queue, so that connections live on
 * while all workers are busy; workers inflate messages and call the service.
 */
#pragma once

#include "listener.h"
#include "net.h"
#include "tls.h"

#include <grpc/grpc.h>

#include <pthread.h>

enum { SERVER_WORKERS_MAX = 8 };

enum net_call_phase {
	CALL_AWAITED,   /* gRPC has it, to be filled in with the next call that comes */
	CALL_BEGINNING, /* its head is looked at */
	CALL_RECEIVING, /* its message */
	CALL_READY,     /* for a worker, or with one */
	CALL_ANSWERING,
};

/* A tag in the completion queue: whom to tell. */
struct call_event {
	struct net_call *call;
	/* Poller: it is done, or has failed. @call may be gone afterwards. */
	void (*advance)(struct net_call *call, bool success);
};

struct net_call {
	struct net_server *server;
	struct call_event proceed, close; /* to the next phase; the end of the stream */
	grpc_call *call;
	grpc_call_details details;
	grpc_metadata_array headers;
	char *method, *peer;
	grpc_byte_buffer *request, *response;
	struct net_answer answer;
	grpc_slice message;
	grpc_metadata trailer; /* if there is a retry */
	int cancelled;

	/* Under the server's lock. */
	enum net_call_phase phase;
	unsigned int pending;          /* operations that gRPC will report the end of */
	bool closed, cut;              /* the stream has ended; we have cancelled the call */
	uint64_t began_ns;             /* to receive, or to answer: CLOCK_MONOTONIC */
	struct net_call *next, **link; /* of all calls of the server */
	struct net_call *next_ready;   /* that is for a worker */
};

/* How long clients may take. */
struct server_patience {
	uint64_t receive_ns; /* to send a message after its head */
	uint64_t full_ns;    /* the same while there is no room for others */
	uint64_t answer_ns;  /* to read the answer */
};

struct net_server {
	const struct net_server_config *config; /* borrowed */
	const struct profcol_logger *logger;    /* borrowed */
	struct net_service service;
	size_t max_message_bytes, max_calls;
	struct listener listener;
	struct tls_server *tls; /* NULL without TLS */
	grpc_server *server;
	grpc_completion_queue *queue;
	pthread_t poller, workers[SERVER_WORKERS_MAX];
	bool polling;
	size_t worker_count; /* that run */

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t work;  /* for workers */
	pthread_cond_t quiet; /* calls have ended */
	struct server_patience patience;
	struct net_call *calls;
	size_t call_count; /* the awaited one included */
	bool awaiting;     /* one is */
	struct net_call *ready, **ready_end;
	bool stopping;     /* no further calls */
	bool disconnected; /* gRPC is done with all connections */
	bool ended;        /* workers: go home */
};

/* ---- server_call.c: the phases of a call ---- */

/* Ask gRPC for one more call, unless one is awaited, there are enough, or it is the end. */
void call_await(struct net_server *server);

/* Worker: inflate, have it handled, and answer. */
void call_handle(struct net_call *call);

/*
 * Refuse the calls whose message takes too long, and cancel those whose answer is not read. Returns
 * whether any calls are left, which will have to be looked after again.
 */
bool call_expire(struct net_server *server);

/* Refuse the calls whose message is still on its way, with @reason. */
void call_refuse_unreceived(struct net_server *server, const char *reason);
