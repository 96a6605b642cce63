// SPDX-License-Identifier: Apache-2.0
#include "server_fixture.h"

#include "client_fixture.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 3, 0))) static void keep_line(const struct profcol_logger *logger,
							    enum profcol_level level,
							    const char *format, va_list arguments)
{
	struct server_fixture *fixture =
		(struct server_fixture *)((uintptr_t)logger -
					  offsetof(struct server_fixture, logger));
	char *line;

	if (level < PROFCOL_WARN || vasprintf(&line, format, arguments) < 0)
		return;
	pthread_mutex_lock(&fixture->lock);
	free(fixture->log);
	fixture->log = line;
	atomic_fetch_add(&fixture->warnings, 1);
	pthread_mutex_unlock(&fixture->lock);
}

static bool service_admit(void *context, struct net_call *call, struct net_answer *answer)
{
	struct server_fixture *fixture = context;

	if (!strcmp(net_call_method(call), TEST_METHOD) ||
	    !strcmp(net_call_method(call), TEST_PATH) || !strcmp(net_call_method(call), "/a.B/C")) {
		pthread_mutex_lock(&fixture->lock);
		fixture->admitted++;
		pthread_cond_broadcast(&fixture->changed);
		pthread_mutex_unlock(&fixture->lock);
		return true;
	}
	answer->code = NET_UNIMPLEMENTED;
	answer->message = strdup("what is that?");
	return false;
}

static void service_refused(void *context, enum net_refusal refusal, const char *peer)
{
	struct server_fixture *fixture = context;

	(void)peer;
	pthread_mutex_lock(&fixture->lock);
	fixture->refused[refusal]++;
	pthread_cond_broadcast(&fixture->changed);
	pthread_mutex_unlock(&fixture->lock);
}

static void service_handle(void *context, struct net_call *call, const uint8_t *bytes,
			   size_t length, struct memory_share *share, struct net_answer *answer)
{
	struct server_fixture *fixture = context;

	(void)call;
	(void)share;
	pthread_mutex_lock(&fixture->lock);
	fixture->entered++;
	fixture->inside++;
	fixture->bytes += length;
	pthread_cond_broadcast(&fixture->changed);
	while (fixture->hold)
		pthread_cond_wait(&fixture->changed, &fixture->lock);
	fixture->inside--;
	*answer = fixture->say;
	pthread_mutex_unlock(&fixture->lock);
	if (answer->message)
		answer->message = strdup(answer->message);
	// An echo shows that bytes came as they were sent.
	if (answer->code == NET_OK && length && length < 4096) {
		answer->bytes = malloc(length);
		if (!answer->bytes)
			abort();
		answer->length = length;
		memcpy(answer->bytes, bytes, length);
	}
}

void server_fixture_init(struct server_fixture *fixture)
{
	*fixture = (struct server_fixture){
		.config = {
			.endpoint = "127.0.0.1:0",
			.tls = {
				.cert_file = "",
				.cert_pem = "",
				.key_file = "",
				.key_pem = "",
				.client_ca_file = "",
				.ca_file = "",
				.ca_pem = "",
				.min_version = "1.2",
				.max_version = "",
			},
			.max_recv_msg_size_mib = 4,
			.auth.authenticator = "",
		},
		.http = {
			.endpoint = "127.0.0.1:0",
			.keep_alives_enabled = true,
			.auth.authenticator = "",
		},
		.logger = { .size = sizeof(fixture->logger), .write = keep_line },
	};
	pthread_mutex_init(&fixture->lock, NULL);
	pthread_cond_init(&fixture->changed, NULL);
}

void server_fixture_deinit(struct server_fixture *fixture)
{
	server_fixture_hold(fixture, false);
	net_server_destroy(fixture->server);
	free(fixture->log);
	pthread_cond_destroy(&fixture->changed);
	pthread_mutex_destroy(&fixture->lock);
}

static struct profcol_error *fixture_try(struct server_fixture *fixture)
{
	const struct net_service service = {
		.context = fixture,
		.admit = service_admit,
		.handle = service_handle,
		.refused = service_refused,
		.budget = fixture->budget.most ? &fixture->budget : NULL,
		.is_plain = fixture->is_plain,
	};
	struct profcol_error *error;

	if (fixture->is_http) {
		error = net_http_server_validate(&fixture->http);
		return error ? error
			     : net_http_server_create(&fixture->http, TEST_PATH, &service,
						      &fixture->logger, &fixture->server);
	}
	error = net_server_validate(&fixture->config);
	return error ? error
		     : net_server_create(&fixture->config, &service, &fixture->logger,
					 &fixture->server);
}

void server_fixture_start(struct server_fixture *fixture)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = fixture_try(fixture);
	const char *address;

	if (error)
		fail_msg("%s", profcol_error_message(error));
	address = net_server_address(fixture->server);
	snprintf(fixture->endpoint, sizeof(fixture->endpoint), "%s%s",
		 address[0] == '/' ? "unix:" : "", address);
	snprintf(fixture->target, sizeof(fixture->target), "%s", fixture->endpoint);
}

struct profcol_error *server_fixture_refuse(struct server_fixture *fixture)
{
	struct profcol_error *error = fixture_try(fixture);

	assert_non_null(error);
	return error;
}

void server_fixture_hold(struct server_fixture *fixture, bool hold)
{
	pthread_mutex_lock(&fixture->lock);
	fixture->hold = hold;
	pthread_cond_broadcast(&fixture->changed);
	pthread_mutex_unlock(&fixture->lock);
}

static unsigned int read_count(struct server_fixture *fixture, const unsigned int *count)
{
	unsigned int now;

	pthread_mutex_lock(&fixture->lock);
	now = *count;
	pthread_mutex_unlock(&fixture->lock);
	return now;
}

unsigned int server_fixture_entered(struct server_fixture *fixture)
{
	return read_count(fixture, &fixture->entered);
}

unsigned int server_fixture_admitted(struct server_fixture *fixture)
{
	return read_count(fixture, &fixture->admitted);
}

void server_fixture_wait_admitted(struct server_fixture *fixture, unsigned int admitted)
{
	pthread_mutex_lock(&fixture->lock);
	while (fixture->admitted < admitted)
		pthread_cond_wait(&fixture->changed, &fixture->lock);
	pthread_mutex_unlock(&fixture->lock);
}

void server_fixture_wait_refused(struct server_fixture *fixture, enum net_refusal refusal,
				 unsigned int count)
{
	pthread_mutex_lock(&fixture->lock);
	while (fixture->refused[refusal] < count)
		pthread_cond_wait(&fixture->changed, &fixture->lock);
	pthread_mutex_unlock(&fixture->lock);
}

void server_fixture_wait_inside(struct server_fixture *fixture, unsigned int inside)
{
	pthread_mutex_lock(&fixture->lock);
	while (fixture->inside < inside)
		pthread_cond_wait(&fixture->changed, &fixture->lock);
	pthread_mutex_unlock(&fixture->lock);
}

struct net_tls_client_config server_fixture_client_tls(void)
{
	return (struct net_tls_client_config){
		.ca_file = "",
		.ca_pem = "",
		.cert_file = "",
		.cert_pem = "",
		.key_file = "",
		.key_pem = "",
		.server_name_override = "",
		.min_version = "1.2",
		.max_version = "",
	};
}

static struct net_answer call_by(struct server_fixture *fixture,
				 const struct net_client_config *config, const void *bytes,
				 size_t length, unsigned int timeout_ms)
{
	const struct net_client_settings settings = { .version = "1", .logger = &fixture->logger };
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct net_client *client;
	struct net_answer answer;

	error = net_client_create(config, &settings, &client);
	if (error)
		fail_msg("%s", profcol_error_message(error));
	net_client_call(client, TEST_METHOD, bytes, length,
			clock_monotonic_ns() + timeout_ms * UINT64_C(1000000), &answer);
	net_client_destroy(client);
	return answer;
}

struct net_answer server_fixture_call(struct server_fixture *fixture, const char *endpoint,
				      const void *bytes, size_t length, int compression,
				      unsigned int timeout_ms)
{
	struct net_client_config config = {
		.endpoint = endpoint,
		.tls = server_fixture_client_tls(),
		.compression = compression,
		.balancer = NET_ROUND_ROBIN,
		.authority = "",
		.user_agent = "",
		.auth.authenticator = "",
	};

	config.tls.insecure = true;
	return call_by(fixture, &config, bytes, length, timeout_ms);
}

struct net_answer server_fixture_call_tls(struct server_fixture *fixture,
					  const struct net_tls_client_config *tls)
{
	const struct net_client_config config = {
		.endpoint = fixture->endpoint,
		.tls = *tls,
		.compression = NET_GZIP,
		.balancer = NET_ROUND_ROBIN,
		.authority = "",
		.user_agent = "",
		.auth.authenticator = "",
	};

	return call_by(fixture, &config, "ping", 4, CALL_PATIENCE_MS);
}
