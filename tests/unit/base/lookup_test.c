// SPDX-License-Identifier: Apache-2.0
/* Look-ups of names and addresses, with functions before the C library's that wait. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <string.h>

enum { PATIENCE_MS = 120000 };

/* How often the name server may answer. */
static sem_t answers, answered;

int getnameinfo(const struct sockaddr *restrict address, socklen_t length, char *restrict name,
		socklen_t size, char *restrict service, socklen_t service_size, int flags)
{
	const struct sockaddr_in *inet = (const void *)address;

	(void)service;
	(void)service_size;
	sem_wait(&answers);
	sem_post(&answered);
	if (length != sizeof(*inet) || flags != NI_NAMEREQD ||
	    inet->sin_addr.s_addr != htonl(INADDR_LOOPBACK))
		return EAI_NONAME;
	strncpy(name, "host.example", size);
	return 0;
}

/* All addresses of "slow.example" are there when the name server may answer; those of IPv4 at once,
 * and of "no-ipv4.example" never. */
int getaddrinfo(const char *restrict name, const char *restrict service,
		const struct addrinfo *restrict wanted, struct addrinfo **restrict ret)
{
	int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
	bool is_slow = strstr(name, ".example");

	*(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
	if (is_slow && wanted->ai_family == AF_UNSPEC) {
		sem_wait(&answers);
		sem_post(&answered);
	}
	if (is_slow && wanted->ai_family == AF_INET && !strcmp(name, "no-ipv4.example"))
		return EAI_NONAME;
	if (is_slow)
		name = wanted->ai_family == AF_INET ? "192.0.2.4" : "2001:db8::6";
	return real(name, service, wanted, ret);
}

static void wait_for(const struct lookup *lookup)
{
	struct pollfd ready = { .fd = lookup_fd(lookup), .events = POLLIN };

	assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
}

static void an_address_has_a_name(void **state)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct lookup *lookup = lookup_start_name((const struct sockaddr *)&address);
	const char *name = NULL;

	(void)state;
	assert_non_null(lookup);
	assert_int_equal(lookup_name_result(lookup, &name), EAI_AGAIN);
	sem_post(&answers);
	wait_for(lookup);
	assert_int_equal(lookup_name_result(lookup, &name), 0);
	assert_string_equal(name, "host.example");
	lookup_drop(lookup);

	address.sin_addr.s_addr = htonl(INADDR_ANY);
	lookup = lookup_start_name((const struct sockaddr *)&address);
	sem_post(&answers);
	wait_for(lookup);
	assert_int_equal(lookup_name_result(lookup, &name), EAI_NONAME);
	lookup_drop(lookup);
}

static void a_look_up_may_be_given_up(void **state)
{
	const struct sockaddr_in address = { .sin_family = AF_INET };

	(void)state;
	while (!sem_trywait(&answered))
		;
	lookup_drop(lookup_start_name((const struct sockaddr *)&address));
	// Its thread frees it; the sanitizer would tell.
	sem_post(&answers);
	sem_wait(&answered);
}

static void a_host_has_addresses_and_the_name_it_goes_by(void **state)
{
	struct lookup *lookup = lookup_start("127.0.0.1", "80");
	const struct addrinfo *found = NULL;

	(void)state;
	assert_non_null(lookup);
	wait_for(lookup);
	assert_int_equal(lookup_result(lookup, &found), 0);
	assert_non_null(found);
	assert_int_equal(found->ai_family, AF_INET);
	assert_string_equal(found->ai_canonname, "127.0.0.1");
	lookup_drop(lookup);
	lookup_drop(NULL);
}

static int family_of(const char *name, bool may_answer)
{
	struct lookup *lookup = lookup_start(name, "80");
	const struct addrinfo *found = NULL;
	int family;

	assert_non_null(lookup);
	if (may_answer)
		sem_post(&answers);
	wait_for(lookup);
	assert_int_equal(lookup_result(lookup, &found), 0);
	family = found->ai_family;
	lookup_drop(lookup);
	return family;
}

static void ipv4_does_not_wait_for_ipv6(void **state)
{
	(void)state;
	while (!sem_trywait(&answered))
		;
	assert_int_equal(family_of("slow.example", false), AF_INET);
	// Who asked for all finds its answer taken, and frees it.
	sem_post(&answers);
	sem_wait(&answered);
}

static void what_has_no_ipv4_waits(void **state)
{
	(void)state;
	assert_int_equal(family_of("no-ipv4.example", true), AF_INET6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_has_a_name),
		cmocka_unit_test(a_look_up_may_be_given_up),
		cmocka_unit_test(a_host_has_addresses_and_the_name_it_goes_by),
		cmocka_unit_test(ipv4_does_not_wait_for_ipv6),
		cmocka_unit_test(what_has_no_ipv4_waits),
	};

	sem_init(&answers, 0, 0);
	sem_init(&answered, 0, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
