// SPDX-License-Identifier: Apache-2.0
#include "lookup.h"

#include "cleanup.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

/* Modules of nsswitch are foreign code: what they need of the stack is theirs to say. */
enum {
	STACK_BYTES = 512 << 10,
	/* How long IPv4 addresses are not asked for alone. */
	HEAD_START_MS = 200,
};

struct lookup {
	atomic_uint users; /* who started it, and its threads: the last one frees */
	char *host, *port; /* both NULL: @address is asked for */
	struct sockaddr_storage address;
	int done_fd;
	atomic_bool is_taken; /* by the thread that has the result */

	/* Written by that one, before @is_done. */
	int result;
	struct addrinfo *found;
	char name[NI_MAXHOST];
	atomic_bool is_done;
};

bool lookup_is_address(const char *host)
{
	uint8_t address[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

static void lookup_free(struct lookup *lookup)
{
	if (lookup->found)
		freeaddrinfo(lookup->found);
	cleanup_fd(&lookup->done_fd);
	free(lookup->host);
	free(lookup->port);
	free(lookup);
}

void lookup_drop(struct lookup *lookup)
{
	if (lookup && atomic_fetch_sub(&lookup->users, 1) == 1)
		lookup_free(lookup);
}

static socklen_t address_length(const struct sockaddr *address)
{
	return address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					      : sizeof(struct sockaddr_in);
}

static void lookup_finish(struct lookup *lookup)
{
	atomic_store(&lookup->is_done, true);
	eventfd_write(lookup->done_fd, 1);
}

static int find_addresses(const struct lookup *lookup, int family, struct addrinfo **ret)
{
	const struct addrinfo wanted = { .ai_family = family,
					 .ai_socktype = SOCK_STREAM,
					 .ai_flags = AI_NUMERICSERV | AI_CANONNAME };

	*ret = NULL;
	return getaddrinfo(lookup->host, lookup->port, &wanted, ret);
}

static void *find_all(void *argument)
{
	struct lookup *lookup = argument;
	struct addrinfo *found;
	int result = find_addresses(lookup, AF_UNSPEC, &found);

	if (!atomic_exchange(&lookup->is_taken, true)) {
		lookup->result = result;
		lookup->found = found;
		lookup_finish(lookup);
	} else if (found) {
		freeaddrinfo(found);
	}
	lookup_drop(lookup);
	return NULL;
}

/*
 * Some name servers drop questions for IPv6 addresses, and the C library waits for an answer even
 * where it has IPv4 ones.
 */
static void *find_ipv4(void *argument)
{
	struct lookup *lookup = argument;
	struct pollfd done = { .fd = lookup->done_fd, .events = POLLIN };
	struct addrinfo *found = NULL;

	// Alone, it can only say that there are some: why there are none, the other one finds out.
	if (!poll(&done, 1, HEAD_START_MS) && !find_addresses(lookup, AF_INET, &found) &&
	    !atomic_exchange(&lookup->is_taken, true)) {
		lookup->found = TAKE(found);
		lookup_finish(lookup);
	}
	if (found)
		freeaddrinfo(found);
	lookup_drop(lookup);
	return NULL;
}

static void *find_name(void *argument)
{
	struct lookup *lookup = argument;
	const struct sockaddr *address = (const struct sockaddr *)&lookup->address;

	lookup->result = getnameinfo(address, address_length(address), lookup->name,
				     sizeof(lookup->name), NULL, 0, NI_NAMEREQD);
	lookup_finish(lookup);
	lookup_drop(lookup);
	return NULL;
}

/* 0 or a positive errno. */
static int lookup_begin(struct lookup *lookup, void *(*run)(void *lookup))
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int status;

	status = pthread_attr_init(&attributes);
	if (status)
		return status;
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	// Signals are for the threads that expect them.
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	atomic_fetch_add(&lookup->users, 1);
	status = pthread_create(&thread, &attributes, run, lookup);
	if (status)
		atomic_fetch_sub(&lookup->users, 1);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return status;
}

static struct lookup *lookup_create(void)
{
	struct lookup *lookup = calloc(1, sizeof(*lookup));

	if (!lookup)
		return NULL;
	atomic_store(&lookup->users, 1);
	lookup->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return lookup;
}

struct lookup *lookup_start(const char *host, const char *port)
{
	struct lookup *lookup = lookup_create();

	if (!lookup)
		return NULL;
	lookup->host = strdup(host);
	lookup->port = strdup(port);
	if (lookup->host && lookup->port && lookup->done_fd >= 0 &&
	    !lookup_begin(lookup, find_all)) {
		(void)lookup_begin(lookup, find_ipv4);
		return lookup;
	}
	lookup_free(lookup);
	return NULL;
}

struct lookup *lookup_start_name(const struct sockaddr *address)
{
	struct lookup *lookup = lookup_create();

	if (!lookup)
		return NULL;
	memcpy(&lookup->address, address, address_length(address));
	if (lookup->done_fd >= 0 && !lookup_begin(lookup, find_name))
		return lookup;
	lookup_free(lookup);
	return NULL;
}

int lookup_fd(const struct lookup *lookup)
{
	return lookup->done_fd;
}

int lookup_result(const struct lookup *lookup, const struct addrinfo **ret)
{
	if (!atomic_load(&lookup->is_done))
		return EAI_AGAIN;
	*ret = lookup->found;
	return lookup->result;
}

int lookup_name_result(const struct lookup *lookup, const char **ret)
{
	if (!atomic_load(&lookup->is_done))
		return EAI_AGAIN;
	*ret = lookup->name;
	return lookup->result;
}
