// SPDX-License-Identifier: Apache-2.0
#include "client_fixture.h"

#include "base/base.h"
#include "net/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 3, 0))) static void keep_warning(const struct profcol_logger *logger,
							       enum profcol_level level,
							       const char *format,
							       va_list arguments)
{
	struct fixture *fixture =
		(struct fixture *)((uintptr_t)logger - offsetof(struct fixture, logger));

	if (level < PROFCOL_WARN)
		return;
	vsnprintf(fixture->warning, sizeof(fixture->warning), format, arguments);
	atomic_fetch_add(&fixture->warnings, 1);
}

void fixture_init(struct fixture *fixture)
{
	*fixture = (struct fixture){
		.config = {
			.endpoint = fixture->endpoint,
			.tls = {
				.insecure = true,
				.ca_file = "",
				.ca_pem = "",
				.cert_file = "",
				.cert_pem = "",
				.key_file = "",
				.key_pem = "",
				.server_name_override = "",
				.min_version = "1.2",
				.max_version = "",
			},
			.compression = NET_GZIP,
			.balancer = NET_ROUND_ROBIN,
			.authority = "",
			.user_agent = "",
			.auth.authenticator = "",
		},
		.logger = { .size = sizeof(fixture->logger), .write = keep_warning },
	};
}

void fixture_deinit(struct fixture *fixture)
{
	net_client_destroy(fixture->client);
	if (fixture->serving)
		test_server_stop(&fixture->server);
}

void fixture_serve(struct fixture *fixture, const char *address,
		   grpc_server_credentials *credentials)
{
	test_server_start(&fixture->server, address ? address : "127.0.0.1:0", credentials);
	fixture->serving = true;
	if (address)
		snprintf(fixture->endpoint, sizeof(fixture->endpoint), "%s", address);
	else
		snprintf(fixture->endpoint, sizeof(fixture->endpoint), "127.0.0.1:%d",
			 fixture->server.port);
}

static struct profcol_error *fixture_try(struct fixture *fixture)
{
	static const struct net_header header = { "X-Fixed", "1" };
	const struct net_client_settings settings = {
		.version = "1.2.3",
		.headers = &header,
		.header_count = 1,
		.logger = &fixture->logger,
	};
	struct profcol_error *error = net_client_validate(&fixture->config);

	return error ? error : net_client_create(&fixture->config, &settings, &fixture->client);
}

void fixture_connect(struct fixture *fixture)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = fixture_try(fixture);

	if (error)
		fail_msg("%s", profcol_error_message(error));
	// However long the machine stands still meanwhile.
	fixture->client->probe_time_ns = 120 * PROFCOL_SECOND;
}

struct profcol_error *fixture_refuse(struct fixture *fixture)
{
	struct profcol_error *error = fixture_try(fixture);

	assert_non_null(error);
	return error;
}

struct net_answer fixture_call(struct fixture *fixture, const char *bytes)
{
	struct net_answer answer;

	net_client_call(fixture->client, TEST_METHOD, (const uint8_t *)bytes, strlen(bytes),
			clock_monotonic_ns() + UINT64_C(120000000000), &answer);
	return answer;
}
