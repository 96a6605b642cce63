// SPDX-License-Identifier: Apache-2.0
/* Which peers are behind a proxy, as gRPC reads the environment. */
#include "client_fixture.h"

#include "base/base.h"
#include "net/proxy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static const char *const variables[] = { "grpc_proxy", "https_proxy", "http_proxy", "no_grpc_proxy",
					 "no_proxy" };

static int clear_environment(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		unsetenv(variables[i]);
	return 0;
}

static void without_variables_there_is_none(void **state)
{
	(void)state;
	assert_false(proxy_is_used("gateway.example"));
	setenv("no_proxy", "elsewhere.example", 1);
	assert_false(proxy_is_used("gateway.example"));
}

static void each_variable_sets_one(void **state)
{
	for (size_t i = 0; i < 3; i++) {
		clear_environment(state);
		setenv(variables[i], "http://proxy.example:3128", 1);
		assert_true(proxy_is_used("gateway.example"));
	}
}

static void the_first_that_is_set_counts(void **state)
{
	(void)state;
	setenv("http_proxy", "http://proxy.example:3128", 1);
	setenv("grpc_proxy", "", 1);
	assert_false(proxy_is_used("gateway.example"));
}

static void what_is_no_http_address_is_not_used(void **state)
{
	static const char *const others[] = { "proxy.example:3128", "https://proxy.example:3128",
					      "socks5://proxy.example", "http://" };

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		setenv("https_proxy", others[i], 1);
		assert_false(proxy_is_used("gateway.example"));
	}
}

static void peers_may_be_left_out_by_the_end_of_their_name(void **state)
{
	(void)state;
	setenv("https_proxy", "http://proxy.example:3128", 1);
	setenv("no_proxy", "10.0.0.1,,.Internal,gateway.example", 1);
	assert_false(proxy_is_used("gateway.example"));
	assert_false(proxy_is_used("my-GATEWAY.example"));
	assert_false(proxy_is_used("node7.internal"));
	assert_false(proxy_is_used("10.0.0.1"));
	assert_true(proxy_is_used("internal"));
	assert_true(proxy_is_used("10.0.0.2"));
	assert_true(proxy_is_used("example"));
	// It takes the place of the other one.
	setenv("no_grpc_proxy", "10.0.0.2", 1);
	assert_true(proxy_is_used("gateway.example"));
	assert_false(proxy_is_used("10.0.0.2"));
}

/* What is said of a peer that does not listen, with a proxy that does not either. */
static struct net_answer call_nobody(struct fixture *fixture)
{
	fixture_init(fixture);
	strcpy(fixture->endpoint, "127.0.0.1:1");
	setenv("https_proxy", "http://127.0.0.1:2", 1);
	fixture_connect(fixture);
	return fixture_call(fixture, "x");
}

static void peers_that_need_no_proxy_are_looked_into(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP(net_answer_deinit) struct net_answer answer = { 0 };

	(void)state;
	setenv("no_proxy", "localhost,127.0.0.1", 1);
	answer = call_nobody(&fixture);
	assert_non_null(strstr(answer.message, "nobody listens at port 1 of '127.0.0.1'"));
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
		cmocka_unit_test_setup_teardown(each_variable_sets_one, clear_environment,
						clear_environment),
		cmocka_unit_test_setup_teardown(the_first_that_is_set_counts, clear_environment,
						clear_environment),
		cmocka_unit_test_setup_teardown(what_is_no_http_address_is_not_used,
						clear_environment, clear_environment),
		cmocka_unit_test_setup_teardown(peers_may_be_left_out_by_the_end_of_their_name,
						clear_environment, clear_environment),
		cmocka_unit_test_setup_teardown(peers_that_need_no_proxy_are_looked_into,
						clear_environment, clear_environment),
		cmocka_unit_test_setup_teardown(peers_behind_a_proxy_are_not, clear_environment,
						clear_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
