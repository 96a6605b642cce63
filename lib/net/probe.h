/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look at a peer by ourselves, for what gRPC's core tells in riddles ("empty update",
 * "handshaker shutdown"): one or two connections of our own, in which nothing is asked for. Private
 * to lib/net.
 */
#pragma once

#include "tls.h"

#include <stdbool.h>
#include <stdint.h>

struct probe {
	const char *host, *port; /* NULL for a unix socket */
	const char *path;        /* of a unix socket */
	/* Of @host, not NULL itself: one that a probe has given up and may still go on, for the
	 * next to wait for; the caller's to drop in the end. */
	struct lookup **lookup;
	bool tls; /* what we are configured to speak */
	const struct tls_material *material;
	const char *server_name; /* that the certificate has to have */
	bool skip_verify;
	int cancelled_fd;     /* readable = give up; -1 = none */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
};

/*
 * What keeps us from talking to the peer, and what to do about it: an owned text. NULL when
 * nothing is wrong, or for want of time or memory.
 */
char *probe_run(const struct probe *probe);

/* Why @host has no address: getaddrinfo's @error, or 0 when it is not known in time. free(); NULL
 * without memory. */
char *probe_explain_name(const char *host, int error);

/* ---- the parts, probe_tls.c and probe_plain.c; each uses up a connection ---- */

enum probe_talk {
	PROBE_SPEAKS_HTTP2, /* it answered as a gRPC server would */
	PROBE_SPEAKS_TLS,
	PROBE_SPEAKS_OTHER, /* something else, HTTP/1 for instance */
	PROBE_CLOSES,       /* it ended the connection without a word */
	PROBE_SILENT,
};

/* Is there anything of @events on @fd in time? False also when cancelled. */
bool probe_wait(const struct probe *probe, int fd, short events);

/* Say hello in plain HTTP/2 on @fd. */
enum probe_talk probe_talk_plain(const struct probe *probe, int fd);

/*
 * Shake hands on @fd. *@text_ret gets what is wrong with it for somebody who means to speak TLS,
 * or NULL. HTTP2 means "done". Other than TLS, HTTP2: the peer may not know TLS at all.
 */
enum probe_talk probe_talk_tls(const struct probe *probe, int fd, char **text_ret);

/* What a gRPC client begins with: HTTP/2's preface and empty settings. */
extern const char probe_hello[];
extern const size_t probe_hello_length;

/* What @bytes, the beginning of an answer to it, show. */
enum probe_talk probe_recognize(const uint8_t *bytes, size_t length);
