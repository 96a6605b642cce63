// SPDX-License-Identifier: Apache-2.0
#include "probe.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { ADDRESSES_MAX = 4, MILLISECOND = 1000000 };

/* 0 or a positive errno; *@fd_ret, non-blocking, is the caller's on 0. */
static int connect_to(const struct probe *probe, const struct sockaddr *address, socklen_t length,
		      int *fd_ret)
{
	CLEANUP_FD int fd =
		socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t size = sizeof(int);
	int error = 0;

	if (fd < 0)
		return errno;
	if (connect(fd, address, length)) {
		// A full queue of a unix socket: EAGAIN.
		if (errno != EINPROGRESS)
			return errno;
		if (!probe_wait(probe, fd, POLLOUT))
			return ETIMEDOUT;
		if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size))
			return errno;
	}
	if (!error)
		*fd_ret = TAKE_FD(fd);
	return error;
}

static char *text_of_path(const struct probe *probe, int error)
{
	char *text;

	if (error == ENOENT)
		error = asprintf(&text, "there is no socket '%s'; does the peer run?", probe->path);
	else if (error == ECONNREFUSED)
		error = asprintf(&text,
				 "connection refused: nobody listens at '%s'; does the peer run?",
				 probe->path);
	else
		error = asprintf(&text, "cannot connect to '%s': %s", probe->path,
				 strerrordesc_np(error));
	return error < 0 ? NULL : text;
}

static char *text_of_address(const struct probe *probe, int error)
{
	char *text;

	if (error == ECONNREFUSED)
		error = asprintf(&text,
				 "connection refused: nobody listens at port %s of '%s'; does the "
				 "peer run?",
				 probe->port, probe->host);
	else if (error == ETIMEDOUT)
		error = asprintf(&text,
				 "no answer from '%s' at port %s; is it up, and does a firewall "
				 "let us through?",
				 probe->host, probe->port);
	else
		error = asprintf(&text, "cannot connect to '%s' at port %s: %s", probe->host,
				 probe->port, strerrordesc_np(error));
	return error < 0 ? NULL : text;
}

char *probe_explain_name(const char *host, int error)
{
	char *text;

	if (!error)
		error = asprintf(&text, "name '%s' could not be looked up in time; check DNS",
				 host);
	else if (error == EAI_NONAME || error == EAI_NODATA)
		error = asprintf(&text, "name '%s' not found; check the endpoint and DNS", host);
	else
		error = asprintf(&text, "name '%s' could not be looked up: %s", host,
				 gai_strerror(error));
	return error < 0 ? NULL : text;
}

/* Is there something to read at once? False for -1. */
static bool probe_poll(int fd)
{
	struct pollfd waiting = { .fd = fd, .events = POLLIN };

	return poll(&waiting, 1, 0) > 0;
}

static int connect_unix(const struct probe *probe, char **text_ret)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = -1, error;

	strncpy(address.sun_path, probe->path, sizeof(address.sun_path) - 1);
	error = connect_to(probe, (const struct sockaddr *)&address, sizeof(address), &fd);
	if (error)
		*text_ret = text_of_path(probe, error);
	return fd;
}

/* Wait for the name's addresses; false, maybe with a text, when there are none yet. */
static bool probe_look_up(const struct probe *probe, char **text_ret)
{
	// One that was given up and has ended since says how things were then.
	if (*probe->lookup && probe_poll(lookup_fd(*probe->lookup))) {
		lookup_drop(*probe->lookup);
		*probe->lookup = NULL;
	}
	if (!*probe->lookup)
		*probe->lookup = lookup_start(probe->host, probe->port);
	if (!*probe->lookup)
		return false;
	do {
		if (probe_wait(probe, lookup_fd(*probe->lookup), POLLIN))
			return true;
		if (probe_poll(probe->cancelled_fd))
			return false;
	} while (clock_monotonic_ns() + MILLISECOND < probe->deadline_ns);
	*text_ret = probe_explain_name(probe->host, 0);
	return false;
}

/* -1 and maybe a text when the peer is not there. */
static int probe_connect(const struct probe *probe, char **text_ret)
{
	const struct addrinfo *found = NULL;
	unsigned int tried = 0;
	int fd = -1, error;

	*text_ret = NULL;
	if (probe->path)
		return connect_unix(probe, text_ret);
	if (!probe_look_up(probe, text_ret))
		return -1;
	error = lookup_result(*probe->lookup, &found);
	if (error)
		*text_ret = probe_explain_name(probe->host, error);
	for (const struct addrinfo *at = found; at && fd < 0 && tried < ADDRESSES_MAX;
	     at = at->ai_next, tried++)
		error = connect_to(probe, at->ai_addr, at->ai_addrlen, &fd);
	if (found && fd < 0)
		*text_ret = text_of_address(probe, error);
	lookup_drop(*probe->lookup);
	*probe->lookup = NULL;
	return fd;
}

/* How the peer talks on a fresh connection; SILENT when it cannot be made any more. */
static enum probe_talk probe_again(const struct probe *probe, bool tls)
{
	CLEANUP_FREE char *text = NULL, *other = NULL;
	CLEANUP_FD int fd = probe_connect(probe, &text);

	if (fd < 0)
		return PROBE_SILENT;
	return tls ? probe_talk_tls(probe, fd, &other) : probe_talk_plain(probe, fd);
}

static char *probe_tls(const struct probe *probe, int fd)
{
	char *text;
	enum probe_talk talk = probe_talk_tls(probe, fd, &text), plain;

	if (talk == PROBE_SPEAKS_HTTP2 || talk == PROBE_SPEAKS_TLS)
		return text;
	// Whether it is closed or answered strangely, a plain hello tells.
	plain = probe_again(probe, false);
	// What answers, and not with TLS, does not use it, also where there was no time to ask
	// again.
	if (plain == PROBE_SPEAKS_HTTP2 || (talk == PROBE_SPEAKS_OTHER && plain == PROBE_SILENT))
		return strdup(
			"the peer does not use TLS, but we do; set tls.insecure: true if it is "
			"to stay so");
	if (plain == PROBE_SPEAKS_OTHER || talk == PROBE_SPEAKS_OTHER)
		return strdup(
			"the peer uses neither TLS nor gRPC; check the port, 4317 is usual for "
			"gRPC and 4318 for HTTP");
	return strdup(talk == PROBE_CLOSES
			      ? "the peer closes the connection during the TLS handshake"
			      : "the peer takes the connection, but does not answer");
}

static char *probe_plain(const struct probe *probe, int fd)
{
	enum probe_talk talk = probe_talk_plain(probe, fd), tls;

	if (talk == PROBE_SPEAKS_HTTP2)
		return NULL;
	if (talk == PROBE_SPEAKS_OTHER)
		return strdup("the peer does not answer as a gRPC server; check the port, 4317 is "
			      "usual for gRPC and 4318 for HTTP");
	// Servers of TLS often just close.
	tls = talk == PROBE_SPEAKS_TLS ? talk : probe_again(probe, true);
	if (tls == PROBE_SPEAKS_TLS || tls == PROBE_SPEAKS_HTTP2)
		return strdup("the peer uses TLS, but tls.insecure is true; set it to false");
	return strdup(talk == PROBE_CLOSES
			      ? "the peer closes the connection at once; is it a gRPC server?"
			      : "the peer takes the connection, but does not answer");
}

char *probe_run(const struct probe *probe)
{
	char *text;
	CLEANUP_FD int fd = probe_connect(probe, &text);

	if (fd < 0)
		return text;
	return probe->tls ? probe_tls(probe, fd) : probe_plain(probe, fd);
}
