/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a client. Private to lib/net. */
#pragma once

#include "endpoint.h"
#include "net.h"
#include "tls.h"

#include <grpc/grpc.h>

#include <pthread.h>

/*
 * OTLP lets a client discard larger answers. Not a round number: where gRPC refuses an answer it
 * says so in the peer's name, and in the words in which the peer refuses a request; the limit in
 * them tells that it is ours.
 */
enum { ANSWER_MAX_BYTES = (4 << 20) + 1 };

/* A channel and those who use it; the last one destroys it. */
struct client_channel {
	grpc_channel *channel;
	unsigned int users; /* under the client's lock; the client itself is one */
};

/* A call in progress, on its caller's stack. */
struct client_call {
	grpc_call *call;
	struct client_call *next, **link; /* in the client's list */
};

/* For looking into why a peer cannot be reached. */
#define NET_PROBE_TIME_NS (3 * PROFCOL_SECOND)

struct net_client {
	const struct net_client_config *config; /* borrowed */
	const struct profcol_logger *logger;    /* borrowed */
	struct endpoint endpoint;
	char *user_agent;
	grpc_metadata *headers; /* one spare for grpc-encoding */
	size_t header_count;
	bool gzip, tls;
	int cancelled_fd; /* eventfd: readable once cancelled */
	uint64_t probe_time_ns;
	/* The name on the way to the peer, its own or its proxy's, that is looked up by us; NULL:
	 * there is none, or gRPC's core looks it up. Both owned. */
	char *name, *name_port;

	pthread_mutex_t making; /* who makes channels has it; guards what follows */
	struct lookup *search;  /* for the name, under way; NULL = none is */
	uint64_t searched_ns;   /* CLOCK_MONOTONIC: when one has ended; 0 = none has */
	char *addresses;        /* that the channel goes to; NULL without a name */

	pthread_mutex_t lock; /* guards what follows */
	struct client_channel *channel;
	struct client_call *calls;
	bool cancelled;
	struct tls_stamp stamp;         /* of the files that the channel is made from */
	struct tls_complaint complaint; /* of changed files */
	uint64_t reload_after_ns;       /* CLOCK_MONOTONIC */

	pthread_mutex_t diagnosis_lock; /* guards what follows */
	pthread_cond_t diagnosed;       /* @diagnosing has become false */
	bool diagnosing;                /* somebody looks into a cause, without the lock */
	bool diagnosis_outdated;        /* it worked meanwhile */
	char *diagnosis;         /* what was found last; NULL = nothing is known to be wrong */
	uint64_t diagnosed_ns;   /* CLOCK_MONOTONIC; 0 = not at all */
	uint32_t diagnosed_text; /* hash of what gRPC had said */
	struct lookup *lookup;   /* given up; for who sets @diagnosing alone */
};

/* ---- channel.c ---- */

/*
 * The channel for one more call, made anew when the TLS files or the addresses of the peer's name
 * have changed. NULL, and why in *@fault_ret (free(); NULL without memory), while no address is
 * known; that takes until @deadline_ns at most. channel_drop.
 */
struct client_channel *channel_take(struct net_client *client, uint64_t deadline_ns,
				    char **fault_ret);
void channel_drop(struct net_client *client, struct client_channel *channel);

/* Read the TLS files, and make the first one unless a name is to be looked up for it. */
PROFCOL_MUST_CHECK struct profcol_error *channel_open(struct net_client *client);

/* ---- client_name.c: the C library looks names up, by /etc/hosts and all that other programs go
 * by. gRPC's core would ask name servers for what is in that file, and wait for them. ---- */

/* Is there a name to look up? False without memory. */
bool client_name_init(struct net_client *client);
void client_name_deinit(struct net_client *client);

/* Under `making`: has the name to be looked up, perhaps again? @channel is the one in use, or NULL.
 */
bool client_name_is_due(const struct net_client *client, grpc_channel *channel);

/*
 * Under `making`: look it up until @deadline_ns, or go on with that. True when there are other
 * addresses in *@ret (free()). Else *@fault_ret says why there are none, or is NULL.
 */
bool client_name_look_up(struct net_client *client, uint64_t deadline_ns, char **ret,
			 char **fault_ret);

/* ---- diagnosis.c ---- */

/*
 * Why could the peer not be reached? An owned text, NULL when nothing was found. @said is
 * gRPC's own text. Blocks for at most three seconds, and not once all calls are cancelled. Any
 * thread.
 */
char *diagnosis_find(struct net_client *client, const char *said);

/* Behind a proxy, or with a name server of its own, gRPC goes another way than we would. */
bool diagnosis_is_possible(const struct net_client *client);

/*
 * The look itself, for three seconds at most: what keeps us from talking to the peer, owned; NULL
 * when nothing is wrong, or for want of time or memory. One thread at a time; of @client it reads
 * the configuration, the endpoint, `tls` and `cancelled_fd`, and keeps `lookup`.
 */
char *diagnosis_make(struct net_client *client);

/* The peer has answered: whatever was wrong is over. Waits for nobody. Any thread. */
void diagnosis_forget(struct net_client *client);
