// SPDX-License-Identifier: Apache-2.0
/* Which peers are behind a proxy, as Go's programs read the environment, and how they are reached.
 */
#include "client_fixture.h"

#include "base/base.h"
#include "net/proxy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *const variables[] = {
	"HTTPS_PROXY", "https_proxy", "NO_PROXY",   "no_proxy",
	"HTTP_PROXY",  "http_proxy",  "grpc_proxy", "no_grpc_proxy"
};

static int clear_environment(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		unsetenv(variables[i]);
	return 0;
}

static bool is_used(const char *host)
{
	return proxy_is_used(host, "4317");
}

static void without_variables_there_is_none(void **state)
{
	(void)state;
	assert_false(is_used("gateway.example"));
	setenv("no_proxy", "elsewhere.example", 1);
	assert_false(is_used("gateway.example"));
	// These are for requests over http, and for gRPC's core.
	setenv("http_proxy", "http://proxy.example:3128", 1);
	setenv("grpc_proxy", "http://proxy.example:3128", 1);
	assert_false(is_used("gateway.example"));
}

static void either_case_of_the_variable_sets_one(void **state)
{
	struct proxy proxy;

	(void)state;
	setenv("https_proxy", "http://lower.example:3128", 1);
	assert_true(proxy_find("gateway.example", "4317", &proxy));
	assert_string_equal(proxy.host, "lower.example");
	proxy_deinit(&proxy);
	setenv("HTTPS_PROXY", "http://upper.example:3128", 1);
	assert_true(proxy_find("gateway.example", "4317", &proxy));
	assert_string_equal(proxy.host, "upper.example");
	proxy_deinit(&proxy);
	// An empty one is none.
	setenv("HTTPS_PROXY", "", 1);
	assert_true(proxy_find("gateway.example", "4317", &proxy));
	assert_string_equal(proxy.host, "lower.example");
	proxy_deinit(&proxy);
}

static void a_proxy_is_a_url_or_an_address(void **state)
{
	static const struct {
		const char *text, *host, *port, *authorization;
	} cases[] = {
		{ "http://proxy.example:3128", "proxy.example", "3128", NULL },
		{ "http://proxy.example/", "proxy.example", "80", NULL },
		{ "https://proxy.example", "proxy.example", "443", NULL },
		{ "127.0.0.1:3128", "127.0.0.1", "3128", NULL },
		{ "http://[2001:db8::1]:3128", "2001:db8::1", "3128", NULL },
		{ "http://me:s%40y@proxy.example:3128", "proxy.example", "3128", "Basic bWU6c0B5" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct proxy proxy;

		setenv("https_proxy", cases[i].text, 1);
		assert_true(proxy_find("gateway.example", "4317", &proxy));
		assert_string_equal(proxy.host, cases[i].host);
		assert_string_equal(proxy.port, cases[i].port);
		if (cases[i].authorization)
			assert_string_equal(proxy.authorization, cases[i].authorization);
		else
			assert_null(proxy.authorization);
		proxy_deinit(&proxy);
	}
	setenv("https_proxy", "http://", 1);
	assert_false(is_used("gateway.example"));
}

static void peers_are_left_out_as_go_has_it(void **state)
{
	static const struct {
		const char *list, *host;
		bool used;
	} cases[] = {
		{ "", "10.1.2.3", true },
		{ "*", "10.1.2.3", false },
		{ "*", "gw.example.com", false },
		{ "10.0.0.0/8", "10.1.2.3", false },
		{ "10.0.0.0/8", "11.1.2.3", true },
		{ "10.0.0.0/8", "ten.example", true },
		{ "10.128.0.0/9,fd00::/8", "10.1.2.3", true },
		{ "10.128.0.0/9,fd00::/8", "10.200.2.3", false },
		{ "fd00::/8", "fd12::1", false },
		{ "10.0.0.0/99,10.0.0.0/,/8,/", "10.1.2.3", true },
		{ "localhost, 10.1.2.3 ", "10.1.2.3", false },
		{ "10.1.2.3:4317", "10.1.2.3", false },
		{ "10.1.2.3:4318", "10.1.2.3", true },
		{ "[2001:db8::1]:4317", "2001:db8::1", false },
		{ "2001:db8::1", "2001:db8::1", false },
		{ "example.com", "example.com", false },
		{ "example.com", "gw.Example.com", false },
		{ "example.com", "notexample.com", true },
		{ ".example.com", "gw.example.com", false },
		{ ".example.com", "example.com", true },
		{ "*.example.com", "gw.example.com", false },
		{ "example.com:4318", "gw.example.com", true },
		{ ".svc,.cluster.local,gw", "gw", false },
		{ ",, ,", "gw", true },
	};

	(void)state;
	setenv("https_proxy", "http://proxy.example:3128", 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setenv("no_proxy", cases[i].list, 1);
		if (is_used(cases[i].host) != cases[i].used)
			fail_msg("'%s' for %s", cases[i].list, cases[i].host);
	}
	setenv("no_proxy", "", 1);
	assert_false(is_used("localhost"));
	assert_false(is_used("127.8.0.1"));
	assert_false(is_used("::1"));
	// The upper case goes before.
	setenv("NO_PROXY", "10.1.2.3", 1);
	assert_false(is_used("10.1.2.3"));
}

/* ---- connections ---- */

/* The first line that comes to @listener, to which "200" is the answer. */
static void *hear_connect(void *argument)
{
	static char heard[1024];
	static const char answer[] = "HTTP/1.1 200 OK\r\n\r\n";
	int *listener = argument, fd = accept4(*listener, NULL, NULL, SOCK_CLOEXEC);
	ssize_t length = fd >= 0 ? read(fd, heard, sizeof(heard) - 1) : 0;

	heard[length > 0 ? length : 0] = '\0';
	if (fd >= 0) {
		(void)!send(fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL);
		close(fd);
	}
	return heard;
}

static void a_proxy_is_asked_for_the_peer(void **state)
{
	struct sockaddr_in own = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP_FD int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(own);
	struct net_answer answer;
	char proxy[64];
	pthread_t thread;
	void *heard;

	(void)state;
	assert_int_equal(bind(listener, (struct sockaddr *)&own, size), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&own, &size), 0);
	assert_int_equal(listen(listener, 8), 0);
	snprintf(proxy, sizeof(proxy), "http://me:you@127.0.0.1:%d", ntohs(own.sin_port));
	setenv("HTTPS_PROXY", proxy, 1);
	fixture_init(&fixture);
	strcpy(fixture.endpoint, "gateway.example:4317");
	fixture.config.endpoint = fixture.endpoint;
	assert_int_equal(pthread_create(&thread, NULL, hear_connect, &listener), 0);
	fixture_connect(&fixture);
	answer = fixture_call(&fixture, "x");
	net_answer_deinit(&answer);
	pthread_join(thread, &heard);
	assert_non_null(strstr(heard, "CONNECT gateway.example:4317 HTTP/1."));
	assert_non_null(strcasestr(heard, "\r\nProxy-Authorization: Basic bWU6eW91\r\n"));
}

/* What is said of a peer that does not listen, with a proxy that does not either. */
static struct net_answer call_nobody(struct fixture *fixture)
{
	fixture_init(fixture);
	// An address of this machine that is no loopback address to the rules, nor to the kernel.
	strcpy(fixture->endpoint, "0.0.0.0:1");
	setenv("https_proxy", "http://127.0.0.1:2", 1);
	fixture_connect(fixture);
	return fixture_call(fixture, "x");
}

static void peers_that_need_no_proxy_are_looked_into(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP(net_answer_deinit) struct net_answer answer = { 0 };

	(void)state;
	setenv("no_proxy", "localhost,0.0.0.0", 1);
	answer = call_nobody(&fixture);
	assert_non_null(strstr(answer.message, "nobody listens at port 1 of '0.0.0.0'"));
}

static void peers_behind_a_proxy_are_not(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP(net_answer_deinit) struct net_answer answer = { 0 };

	(void)state;
	answer = call_nobody(&fixture);
	assert_null(strstr(answer.message, "nobody listens"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_variables_there_is_none, clear_environment,
						clear_environment),
		cmocka_unit_test_setup_teardown(either_case_of_the_variable_sets_one,
						clear_environment, clear_environment),
		cmocka_unit_test_setup_teardown(a_proxy_is_a_url_or_an_address, clear_environment,
						clear_environment),
		cmocka_unit_test_setup_teardown(peers_are_left_out_as_go_has_it, clear_environment,
						clear_environment),
		cmocka_unit_test_setup_teardown(a_proxy_is_asked_for_the_peer, clear_environment,
						clear_environment),
		cmocka_unit_test_setup_teardown(peers_that_need_no_proxy_are_looked_into,
						clear_environment, clear_environment),
		cmocka_unit_test_setup_teardown(peers_behind_a_proxy_are_not, clear_environment,
						clear_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
