// SPDX-License-Identifier: Apache-2.0
/* Where sockets listen, on machines with and without IPv6, and what is left of them. */
#include "sockets/sockets.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int __real_socket(int family, int type, int protocol);
int __wrap_socket(int family, int type, int protocol);

static int absent_family, failure; /* 0 = neither is wanted */

int __wrap_socket(int family, int type, int protocol)
{
	if (failure || family == absent_family) {
		errno = failure ? failure : EAFNOSUPPORT;
		return -1;
	}
	return __real_socket(family, type, protocol);
}

static int forget(void **state)
{
	(void)state;
	absent_family = failure = 0;
	return 0;
}

static struct sockets_place place_of(const char *host, int family)
{
	return (struct sockets_place){
		.text = "as configured", .host = host, .port = "0", .family = family
	};
}

static void open_at(const struct sockets_place *place, struct sockets *sockets)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = sockets_open(place, sockets);

	if (error)
		fail_msg("'%s': %s", place->host, profcol_error_message(error));
}

static bool has_ipv6(void)
{
	const struct sockets_place place = place_of("::1", AF_INET6);
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	CLEANUP(sockets_deinit) struct sockets sockets;

	error = sockets_open(&place, &sockets);
	return !error;
}

static void assert_at(const struct sockets *sockets, const char *host)
{
	if (strncmp(sockets->address, host, strlen(host)) != 0 ||
	    sockets->address[strlen(host)] != ':')
		fail_msg("%s, not at %s", sockets->address, host);
}

static bool is_v6_only(int fd)
{
	int only = -1;
	socklen_t length = sizeof(only);

	assert_return_code(getsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, &length), errno);
	return only;
}

static void no_host_and_zeros_are_both_families(void **state)
{
	static const char *const hosts[] = { "", "0.0.0.0", "::" };

	(void)state;
	for (size_t i = 0; has_ipv6() && i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		const struct sockets_place place = place_of(hosts[i], AF_UNSPEC);
		CLEANUP(sockets_deinit) struct sockets sockets;

		open_at(&place, &sockets);
		assert_int_equal(sockets.count, 1);
		assert_at(&sockets, "[::]");
		assert_false(is_v6_only(sockets.fds[0]));
	}
}

static void without_ipv6_they_are_ipv4(void **state)
{
	static const char *const hosts[] = { "", "0.0.0.0" };

	(void)state;
	absent_family = AF_INET6;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		const struct sockets_place place = place_of(hosts[i], AF_UNSPEC);
		CLEANUP(sockets_deinit) struct sockets sockets;

		open_at(&place, &sockets);
		assert_at(&sockets, "0.0.0.0");
	}
}

static void a_family_that_is_chosen_is_the_only_one(void **state)
{
	const struct sockets_place four = place_of("", AF_INET), six = place_of("", AF_INET6);
	CLEANUP(sockets_deinit) struct sockets sockets;
	struct sockets second = { 0 };

	(void)state;
	open_at(&four, &sockets);
	assert_at(&sockets, "0.0.0.0");
	if (!has_ipv6())
		return;
	open_at(&six, &second);
	assert_at(&second, "[::]");
	assert_true(is_v6_only(second.fds[0]));
	sockets_deinit(&second);
}

static void localhost_is_one_address_unless_both_are_wanted(void **state)
{
	struct sockets_place place = place_of("localhost", AF_UNSPEC);
	CLEANUP(sockets_deinit) struct sockets one;
	struct sockets both;

	(void)state;
	open_at(&place, &one);
	assert_int_equal(one.count, 1);
	assert_at(&one, "127.0.0.1");
	place.both_loopbacks = true;
	for (int i = 0; i < 3; i++) {
		static const int without[] = { 0, AF_INET6, AF_INET };

		absent_family = without[i];
		if (without[i] != AF_INET6 && !has_ipv6())
			continue;
		open_at(&place, &both);
		assert_int_equal(both.count, without[i] ? 1 : 2);
		assert_at(&both, without[i] == AF_INET ? "[::1]" : "127.0.0.1");
		sockets_deinit(&both);
	}
}

/* The error of opening @place, which fails for @errnum. */
static void assert_fails(const struct sockets_place *place, int errnum, enum profcol_code code,
			 const char *text)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct sockets sockets;

	failure = errnum;
	error = sockets_open(place, &sockets);
	failure = 0;
	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), code);
	assert_int_equal(sockets.count, 0);
	if (!strstr(profcol_error_message(error), text))
		fail_msg("'%s' is not in '%s'", text, profcol_error_message(error));
}

static void what_is_missing_is_said_with_a_way_out(void **state)
{
	struct sockets_place place = place_of("127.0.0.1", AF_UNSPEC);
	const struct sockets_place file = { .text = "/nowhere/at/all", .path = "/nowhere/at/all" };

	(void)state;
	assert_fails(&place, EMFILE, PROFCOL_SYSTEM,
		     "endpoint: cannot listen at 'as configured': Too many open files; raise the "
		     "limit of open files");
	assert_fails(&place, ENOMEM, PROFCOL_NO_MEMORY, "endpoint");
	assert_fails(&file, 0, PROFCOL_SYSTEM,
		     "endpoint: cannot listen at '/nowhere/at/all': No such file or directory; "
		     "create the directory first");
	place.host = "192.0.2.1";
	assert_fails(&place, 0, PROFCOL_SYSTEM, "this machine does not have the address");
}

/* A process that is being forked has copies of all sockets until it executes. */
static void what_is_let_go_is_free_at_once(void **state)
{
	struct sockets_place place = place_of("127.0.0.1", AF_UNSPEC);
	struct sockets sockets;
	CLEANUP_FD int copy = -1;
	char address[SOCKETS_ADDRESS_MAX];

	(void)state;
	open_at(&place, &sockets);
	strcpy(address, sockets.address);
	copy = dup(sockets.fds[0]);
	assert_true(copy >= 0);
	sockets_deinit(&sockets);
	place.port = strrchr(address, ':') + 1;
	open_at(&place, &sockets);
	assert_string_equal(sockets.address, address);
	sockets_deinit(&sockets);
}

static void a_probe_keeps_the_port_as_long_as_it_is_wanted(void **state)
{
	struct sockets_place place = place_of("127.0.0.1", AF_UNSPEC);
	struct sockets probed, sockets;
	char port[8];

	(void)state;
	assert_null(sockets_probe(&place, &probed));
	snprintf(port, sizeof(port), "%s", strrchr(probed.address, ':') + 1);
	place.port = port;
	assert_fails(&place, 0, PROFCOL_SYSTEM, "something listens there already");
	sockets_deinit(&probed);
	open_at(&place, &sockets);
	sockets_deinit(&sockets);
}

/* ---- socket files ---- */

static void a_socket_file_is_removed_while_it_is_ours(void **state)
{
	char directory[] = "/tmp/profcol-sockets-XXXXXX", path[64], other[64];
	const struct sockets_place place = { .text = path, .path = path };
	const struct sockets_place beside = { .text = other, .path = other };
	struct sockets first, second;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/socket", directory);
	snprintf(other, sizeof(other), "%s/other", directory);
	assert_null(sockets_probe(&place, &first));
	assert_int_equal(first.count, 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_null(sockets_open(&place, &first));
	assert_string_equal(first.address, path);
	assert_null(sockets_open(&beside, &second));
	assert_int_equal(rename(other, path), 0);
	sockets_deinit(&first);
	assert_int_equal(access(path, F_OK), 0);
	sockets_deinit(&second);
	// Nobody listens there any more.
	assert_null(sockets_open(&place, &first));
	sockets_deinit(&first);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(rmdir(directory), 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_host_and_zeros_are_both_families),
		TEST(without_ipv6_they_are_ipv4),
		TEST(a_family_that_is_chosen_is_the_only_one),
		TEST(localhost_is_one_address_unless_both_are_wanted),
		TEST(what_is_missing_is_said_with_a_way_out),
		TEST(what_is_let_go_is_free_at_once),
		TEST(a_probe_keeps_the_port_as_long_as_it_is_wanted),
		TEST(a_socket_file_is_removed_while_it_is_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
