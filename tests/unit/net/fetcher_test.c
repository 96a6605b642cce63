// SPDX-License-Identifier: Apache-2.0
/* What a peer shows at a URL: as a whole, within bounds, or why not. */
#include "server_fixture.h"
#include "stand_in.h"

#include "base/base.h"
#include "net/net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

enum { LARGE = 300000 };

struct fixture {
	struct net_http_config config;
	struct profcol_logger logger;
	struct stand_in *server;
	struct net_fetcher *fetcher;
	struct memory_budget budget;
	struct memory_share share;
	uint8_t *bytes; /* owned: of the last answer */
	size_t length;
	struct net_ends ends;
};

static void fixture_begin(struct fixture *fixture)
{
	char url[128];

	snprintf(url, sizeof(url), "http://%s/profile?x=1", stand_in_address(fixture->server));
	assert_null(net_fetcher_create(&fixture->config, url, "1.2", &fixture->logger,
				       &fixture->fetcher));
}

static void fixture_init(struct fixture *fixture, const struct stand_in_route *routes)
{
	static const char *const keys[] = { "authorization" }, *const values[] = { "Bearer x" };

	*fixture = (struct fixture){ .logger.size = sizeof(fixture->logger) };
	fixture->config = (struct net_http_config){
		.proxy_url = "",
		.tls = server_fixture_client_tls(),
		.headers = { keys, values, 1 },
		.auth.authenticator = "",
	};
	fixture->budget.most = 1 << 20;
	fixture->share.budget = &fixture->budget;
	fixture->server = stand_in_start(routes, NULL);
	fixture_begin(fixture);
}

static void fixture_deinit(struct fixture *fixture)
{
	net_fetcher_destroy(fixture->fetcher);
	stand_in_stop(fixture->server);
	free(fixture->bytes);
}

static struct profcol_error *fetch(struct fixture *fixture, size_t max_bytes)
{
	free(TAKE(fixture->bytes));
	return net_fetcher_fetch(fixture->fetcher, clock_monotonic_ns() + 120 * SECOND, max_bytes,
				 &fixture->share, &fixture->bytes, &fixture->length,
				 &fixture->ends);
}

/* Takes @error. */
static void assert_fails(struct profcol_error *error, enum profcol_code code, const char *text)
{
	assert_non_null(error);
	if (profcol_error_code(error) != code || !strstr(profcol_error_message(error), text))
		fail_msg("not '%s': %s", text, profcol_error_message(error));
	profcol_error_destroy(error);
}

static void an_answer_comes_whole_and_within_its_share(void **state)
{
	static const struct stand_in_route routes[] = {
		{ .request = "GET /profile?x=1 HTTP/1.1\r\n",
		  .needs = "authorization: Bearer x",
		  .status = 200,
		  .body = "pprof",
		  .padding = LARGE },
		{ 0 },
	};
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	fixture_init(&fixture, routes);
	assert_null(fetch(&fixture, LARGE + 5));
	assert_int_equal(fixture.length, LARGE + 5);
	assert_memory_equal(fixture.bytes, "pprof ", 6);
	assert_true(fixture.share.taken >= fixture.length);
}

/* By the ends callers look for whose the server is, which a proxy is not. */
static void ends_are_told_of_a_connection_to_the_server_itself(void **state)
{
	static const struct stand_in_route routes[] = {
		{ .request = "", .status = 200, .body = "pprof", .goes_on = true },
		{ 0 },
	};
	CLEANUP(fixture_deinit) struct fixture fixture;
	const struct sockaddr_in *peer = (const struct sockaddr_in *)&fixture.ends.peer;
	char proxy[64];

	(void)state;
	fixture_init(&fixture, routes);
	assert_null(fetch(&fixture, 100));
	assert_int_equal(fixture.ends.own.ss_family, AF_INET);
	assert_int_equal(peer->sin_family, AF_INET);
	assert_int_equal(ntohs(peer->sin_port), strtol(stand_in_port(fixture.server), NULL, 10));
	net_fetcher_destroy(TAKE(fixture.fetcher));
	snprintf(proxy, sizeof(proxy), "http://%s", stand_in_address(fixture.server));
	fixture.config.proxy_url = proxy;
	fixture_begin(&fixture);
	assert_null(fetch(&fixture, 100));
	assert_int_equal(fixture.ends.own.ss_family, AF_UNSPEC);
	assert_int_equal(fixture.ends.peer.ss_family, AF_UNSPEC);
}

static void too_long_an_answer_is_not_kept(void **state)
{
	static const struct stand_in_route routes[] = {
		{ .request = "", .status = 200, .padding = LARGE },
		{ 0 },
	};
	CLEANUP(fixture_deinit) struct fixture fixture;
	struct memory_share other = { 0 };

	(void)state;
	fixture_init(&fixture, routes);
	assert_fails(fetch(&fixture, LARGE - 1), PROFCOL_BAD_DATA, "more than 299999 bytes");
	memory_share_give(&fixture.share);
	other.budget = &fixture.budget;
	assert_true(memory_share_take(&other, 900 << 10));
	assert_fails(fetch(&fixture, LARGE), PROFCOL_NO_MEMORY, "no memory for the answer");
	memory_share_give(&fixture.share);
	memory_share_give(&other);
	assert_null(fetch(&fixture, LARGE));
}

static void other_statuses_say_why(void **state)
{
	static const struct stand_in_route missing[] = {
		{ .request = "", .status = 404, .body = "Unknown profile\n" },
		{ 0 },
	};
	static const struct stand_in_route moved[] = {
		{ .request = "", .status = 302, .headers = "Location: /there\r\n" },
		{ 0 },
	};
	static const struct stand_in_route mute[] = { { .request = "" }, { 0 } };
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	fixture_init(&fixture, missing);
	assert_fails(fetch(&fixture, 100), PROFCOL_UNAVAILABLE,
		     "/profile?...': HTTP status 404: Unknown profile");
	stand_in_change(fixture.server, moved);
	assert_fails(fetch(&fixture, 100), PROFCOL_UNAVAILABLE, "follows no redirects");
	stand_in_change(fixture.server, mute);
	// What a query may have in it is a token.
	assert_fails(fetch(&fixture, 100), PROFCOL_UNAVAILABLE, "/profile?...");
}

static void a_request_can_be_cancelled(void **state)
{
	static const struct stand_in_route routes[] = { { .request = "", .status = 200 }, { 0 } };
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	fixture_init(&fixture, routes);
	net_fetcher_cancel(fixture.fetcher);
	assert_fails(fetch(&fixture, 100), PROFCOL_SHUTDOWN, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_comes_whole_and_within_its_share),
		cmocka_unit_test(ends_are_told_of_a_connection_to_the_server_itself),
		cmocka_unit_test(too_long_an_answer_is_not_kept),
		cmocka_unit_test(other_statuses_say_why),
		cmocka_unit_test(a_request_can_be_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
