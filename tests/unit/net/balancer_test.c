// SPDX-License-Identifier: Apache-2.0
/* How calls spread over the addresses of a name. */
#include "client_fixture.h"
#include "name_server.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

enum { PEERS = 2, CALLS = 20 };

/* A name with two addresses, and a peer at each of them. */
struct spread {
	struct fixture fixture; /* its own server is the first peer */
	struct test_server second;
	bool second_is_up;
	struct name_server names;
};

static void spread_init(struct spread *spread, int balancer)
{
	static const char *const addresses[PEERS] = { "127.0.0.1", "127.0.0.2" };
	char second[64];

	fixture_init(&spread->fixture);
	fixture_serve(&spread->fixture, NULL, NULL);
	snprintf(second, sizeof(second), "127.0.0.2:%d", spread->fixture.server.port);
	test_server_start(&spread->second, second, NULL);
	spread->second_is_up = true;
	name_server_start(&spread->names, addresses, PEERS);
	snprintf(spread->fixture.endpoint, sizeof(spread->fixture.endpoint),
		 "dns://%s/two.profcol.test:%d", spread->names.address,
		 spread->fixture.server.port);
	spread->fixture.config.balancer = balancer;
	fixture_connect(&spread->fixture);
}

static void second_stop(struct spread *spread)
{
	if (spread->second_is_up)
		test_server_stop(&spread->second);
	spread->second_is_up = false;
}

static void spread_deinit(struct spread *spread)
{
	second_stop(spread);
	name_server_stop(&spread->names);
	fixture_deinit(&spread->fixture);
}

static void call_often(struct spread *spread)
{
	for (int i = 0; i < CALLS; i++) {
		CLEANUP(net_answer_deinit)
		struct net_answer answer = fixture_call(&spread->fixture, "x");

		if (answer.code != NET_OK)
			fail_msg("%s: %s", net_code_name(answer.code), answer.message);
	}
}

/* Calls until both peers are connected, which may take longer for one than for the other. */
static void call_until_both_answer(struct spread *spread)
{
	for (int i = 0; i < 500 && !(spread->fixture.server.calls && spread->second.calls); i++)
		call_often(spread);
	assert_true(spread->fixture.server.calls && spread->second.calls);
}

static void round_robin_takes_turns(void **state)
{
	CLEANUP(spread_deinit) struct spread spread;
	unsigned int first, second;

	(void)state;
	spread_init(&spread, NET_ROUND_ROBIN);
	call_until_both_answer(&spread);
	first = spread.fixture.server.calls;
	second = spread.second.calls;
	call_often(&spread);
	assert_int_equal(spread.fixture.server.calls - first, CALLS / 2);
	assert_int_equal(spread.second.calls - second, CALLS / 2);
}

static void round_robin_goes_on_with_who_is_left(void **state)
{
	CLEANUP(spread_deinit) struct spread spread;
	unsigned int good = 0;

	(void)state;
	spread_init(&spread, NET_ROUND_ROBIN);
	call_until_both_answer(&spread);
	second_stop(&spread);
	// The first call or two may still be meant for the one that has gone.
	for (int i = 0; i < CALLS; i++) {
		CLEANUP(net_answer_deinit)
		struct net_answer answer = fixture_call(&spread.fixture, "x");

		good += answer.code == NET_OK;
	}
	assert_in_range(good, CALLS - 2, CALLS);
}

static void pick_first_stays_with_one(void **state)
{
	static const int balancers[] = { NET_PICK_FIRST, NET_BALANCER_EMPTY };

	(void)state;
	for (size_t i = 0; i < sizeof(balancers) / sizeof(balancers[0]); i++) {
		CLEANUP(spread_deinit) struct spread spread;

		spread_init(&spread, balancers[i]);
		call_often(&spread);
		assert_int_equal(spread.fixture.server.calls + spread.second.calls, CALLS);
		assert_true(!spread.fixture.server.calls || !spread.second.calls);
	}
}

static void pick_first_finds_the_one_that_is_there(void **state)
{
	CLEANUP(spread_deinit) struct spread spread;

	(void)state;
	spread_init(&spread, NET_PICK_FIRST);
	second_stop(&spread);
	call_often(&spread);
	assert_int_equal(spread.fixture.server.calls, CALLS);
}

/* The system's name servers do not know the name: to ask them would only mislead. */
static void what_another_name_server_says_is_not_doubted(void **state)
{
	CLEANUP(spread_deinit) struct spread spread;
	CLEANUP(net_answer_deinit) struct net_answer answer = { 0 };

	(void)state;
	spread_init(&spread, NET_ROUND_ROBIN);
	second_stop(&spread);
	test_server_stop(&spread.fixture.server);
	spread.fixture.serving = false;
	answer = fixture_call(&spread.fixture, "x");
	assert_int_equal(answer.code, NET_UNAVAILABLE);
	assert_null(strstr(answer.message, "not found"));
	assert_non_null(strstr(answer.message, "Connection refused"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_robin_takes_turns),
		cmocka_unit_test(round_robin_goes_on_with_who_is_left),
		cmocka_unit_test(pick_first_stays_with_one),
		cmocka_unit_test(pick_first_finds_the_one_that_is_there),
		cmocka_unit_test(what_another_name_server_says_is_not_doubted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
