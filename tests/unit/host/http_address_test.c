// SPDX-License-Identifier: Apache-2.0
/* Where the HTTP server listens, and what is said when it cannot. */
#include "http_client.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GET "GET / HTTP/1.0\r\n\r\n"

static int setup(void **state)
{
	static struct http_fixture fixture;

	http_fixture_init(&fixture);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	http_fixture_deinit(*state);
	return 0;
}

static const char *port_of(const struct http_fixture *fixture)
{
	return strrchr(http_listener_address(fixture->listener), ':');
}

/* Is a page to be had at @host, on the fixture's port? */
static bool is_served_at(const struct http_fixture *fixture, const char *host)
{
	CLEANUP_FREE char *reply = NULL;
	CLEANUP_FD int fd = -1;
	char address[128];

	snprintf(address, sizeof(address), "%s%s", host, port_of(fixture));
	fd = http_client_connect_to(address);
	if (fd < 0)
		return false;
	assert_int_equal(http_client_send(fd, GET, strlen(GET)), 0);
	reply = http_client_read_all(fd, NULL);
	return http_reply_status(reply) == 200;
}

static void open_at(struct http_fixture *fixture, const char *endpoint)
{
	fixture->settings.endpoint = endpoint;
	http_fixture_open(fixture);
}

static bool has_ipv6(struct http_fixture *fixture)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	fixture->settings.endpoint = "[::1]:0";
	error = http_server_open(fixture->server, &fixture->settings, &fixture->listener);
	http_fixture_close(fixture);
	return !error;
}

static void localhost_is_the_loopback_of_both_families(void **state)
{
	struct http_fixture *fixture = *state;
	bool both = has_ipv6(fixture);

	open_at(fixture, "LocalHost:0");
	assert_int_equal(strncmp(http_listener_address(fixture->listener), "127.0.0.1:", 10), 0);
	assert_true(is_served_at(fixture, "127.0.0.1"));
	assert_int_equal(is_served_at(fixture, "[::1]"), both);
	// Not what comes from elsewhere.
	assert_false(is_served_at(fixture, "127.0.0.2"));
}

static void no_host_and_zeros_are_all_addresses(void **state)
{
	static const char *const endpoints[] = { ":0", "0.0.0.0:0", "[::]:0" };
	struct http_fixture *fixture = *state;
	bool both = has_ipv6(fixture);

	for (size_t i = 0; i < sizeof(endpoints) / sizeof(endpoints[0]); i++) {
		if (!both && endpoints[i][0] == '[')
			continue;
		open_at(fixture, endpoints[i]);
		assert_true(is_served_at(fixture, "127.0.0.1"));
		assert_true(is_served_at(fixture, "127.0.0.2"));
		assert_int_equal(is_served_at(fixture, "[::1]"), both);
		http_fixture_close(fixture);
	}
}

static void an_address_is_that_address(void **state)
{
	struct http_fixture *fixture = *state;

	open_at(fixture, "127.0.0.3:0");
	assert_true(is_served_at(fixture, "127.0.0.3"));
	assert_false(is_served_at(fixture, "127.0.0.1"));
	http_fixture_close(fixture);
	if (!has_ipv6(fixture))
		return;
	open_at(fixture, "[::1]:0");
	assert_true(is_served_at(fixture, "[::1]"));
	assert_false(is_served_at(fixture, "127.0.0.1"));
}

/* The error of opening a second listener. */
static void assert_refused(struct http_fixture *fixture, const char *endpoint, const char *message)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct profcol_http_settings settings = fixture->settings;
	struct profcol_http_listener *listener = NULL;

	settings.endpoint = endpoint;
	error = http_server_open(fixture->server, &settings, &listener);
	assert_non_null(error);
	assert_null(listener);
	assert_string_equal(profcol_error_message(error), message);
}

static void a_port_in_use_is_one_clear_line(void **state)
{
	static const char *const hosts[] = { "localhost", "127.0.0.1", "0.0.0.0", "" };
	struct http_fixture *fixture = *state;
	char endpoint[64], message[256];

	open_at(fixture, "localhost:0");
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		snprintf(endpoint, sizeof(endpoint), "%s%s", hosts[i], port_of(fixture));
		snprintf(message, sizeof(message),
			 "endpoint: cannot listen at '%s': Address already in use; something "
			 "listens there already: stop it, or choose another port",
			 endpoint);
		assert_refused(fixture, endpoint, message);
	}
}

static void what_is_no_address_here_is_said(void **state)
{
	static const struct {
		const char *endpoint, *message;
	} cases[] = {
		{ "192.0.2.1:0",
		  "endpoint: cannot listen at '192.0.2.1:0': Cannot assign requested address; this "
		  "machine does not have the address: use one of its own, or 0.0.0.0 for all" },
		{ "", "endpoint: requires a non-empty \"endpoint\"; write it as HOST:PORT" },
		{ "localhost", "endpoint: address localhost: missing port in address; write it as "
			       "HOST:PORT, e.g. localhost:13133" },
		{ "::1", "endpoint: address ::1: missing port in address; write it as HOST:PORT, "
			 "e.g. localhost:13133" },
		{ "[::1]", "endpoint: address [::1]: missing port in address; write it as "
			   "HOST:PORT, e.g. localhost:13133" },
		{ "localhost:", "endpoint: invalid port \"\"; write a number from 0 to 65535" },
		{ "localhost:http",
		  "endpoint: invalid port \"http\"; write a number from 0 to 65535" },
		{ "localhost:65536",
		  "endpoint: invalid port \"65536\"; write a number from 0 to 65535" },
		{ "localhost:-1", "endpoint: invalid port \"-1\"; write a number from 0 to 65535" },
		{ "http://localhost:80", "endpoint: \"http://localhost:80\" is no address to "
					 "listen at; write HOST:PORT" },
		{ "a b:80", "endpoint: \"a b\" is no host name or address; write the endpoint as "
			    "HOST:PORT" },
	};
	struct http_fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_refused(fixture, cases[i].endpoint, cases[i].message);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(localhost_is_the_loopback_of_both_families),
		TEST(no_host_and_zeros_are_all_addresses),
		TEST(an_address_is_that_address),
		TEST(a_port_in_use_is_one_clear_line),
		TEST(what_is_no_address_here_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
