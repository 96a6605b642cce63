// SPDX-License-Identifier: Apache-2.0
/* The peer's name: what becomes of calls while it has no address, and when it gets another one. */
#include "certificates.h"
#include "client_fixture.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

/* What getaddrinfo, here before the C library's, says of every name. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	const char *address; /* NULL: there is none */
	bool hangs;
	unsigned int calls, inside;
} names = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

int getaddrinfo(const char *restrict name, const char *restrict service,
		const struct addrinfo *restrict wanted, struct addrinfo **restrict ret)
{
	int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
	const char *address;

	*(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
	if (!strstr(name, ".example"))
		return real(name, service, wanted, ret);
	pthread_mutex_lock(&names.lock);
	names.calls++;
	names.inside++;
	pthread_cond_broadcast(&names.changed);
	while (names.hangs)
		pthread_cond_wait(&names.changed, &names.lock);
	address = names.address;
	names.inside--;
	pthread_cond_broadcast(&names.changed);
	pthread_mutex_unlock(&names.lock);
	return address ? real(address, service, wanted, ret) : EAI_NONAME;
}

static void names_say(const char *address, bool hangs)
{
	pthread_mutex_lock(&names.lock);
	names.address = address;
	names.hangs = hangs;
	names.calls = 0;
	pthread_cond_broadcast(&names.changed);
	pthread_mutex_unlock(&names.lock);
}

static void names_wait_asked(void)
{
	pthread_mutex_lock(&names.lock);
	while (!names.calls)
		pthread_cond_wait(&names.changed, &names.lock);
	pthread_mutex_unlock(&names.lock);
}

static int names_let_go(void **state)
{
	(void)state;
	names_say(NULL, false);
	pthread_mutex_lock(&names.lock);
	while (names.inside)
		pthread_cond_wait(&names.changed, &names.lock);
	pthread_mutex_unlock(&names.lock);
	return 0;
}

/* A server, and a client of it that knows its name alone. */
static void begin(struct fixture *fixture, bool waits)
{
	fixture_init(fixture);
	fixture_serve(fixture, NULL, NULL);
	snprintf(fixture->endpoint, sizeof(fixture->endpoint), "peer.example:%d",
		 fixture->server.port);
	fixture->config.wait_for_ready = waits;
	fixture_connect(fixture);
}

static void assert_called(struct fixture *fixture)
{
	CLEANUP(net_answer_deinit) struct net_answer answer = fixture_call(fixture, "x");

	if (answer.code != NET_OK)
		fail_msg("%s: %s", net_code_name(answer.code), answer.message);
}

static void the_peer_sees_the_name(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	names_say("127.0.0.1", false);
	begin(&fixture, false);
	assert_called(&fixture);
	assert_string_equal(fixture.server.method, TEST_METHOD);
	// One that is connected asks nobody.
	names_say(NULL, false);
	assert_called(&fixture);
	assert_int_equal(names.calls, 0);
}

static void the_certificate_is_for_the_name(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP(certificates_deinit) struct certificates certificates;

	(void)state;
	certificates_init(&certificates);
	certificates_found(&certificates, "ca");
	certificates_issue(&certificates, "peer", "ca", "DNS:peer.example", 2);
	names_say("127.0.0.1", false);
	fixture_init(&fixture);
	fixture_serve(&fixture, NULL, certificates_server(&certificates, "peer", NULL));
	fixture.config.tls.insecure = false;
	fixture.config.tls.ca_file = certificates_path(&certificates, "ca.pem");
	snprintf(fixture.endpoint, sizeof(fixture.endpoint), "peer.example:%d",
		 fixture.server.port);
	fixture_connect(&fixture);
	assert_called(&fixture);
}

static void a_name_without_an_address_is_said(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	begin(&fixture, false);
	{
		CLEANUP(net_answer_deinit) struct net_answer answer = fixture_call(&fixture, "x");

		assert_int_equal(answer.code, NET_UNAVAILABLE);
		assert_false(answer.from_peer);
		assert_string_equal(answer.message,
				    "name 'peer.example' not found; check the endpoint and DNS");
	}
	names_say("127.0.0.1", false);
	assert_called(&fixture);
}

static void *call(void *context)
{
	struct net_answer *answer = calloc(1, sizeof(*answer));

	*answer = fixture_call(context, "x");
	return answer;
}

static enum net_code take_code(pthread_t thread)
{
	struct net_answer *answer;
	enum net_code code;

	pthread_join(thread, (void **)&answer);
	code = answer->code;
	net_answer_deinit(answer);
	free(answer);
	return code;
}

static void who_waits_for_ready_waits_for_an_address(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	pthread_t thread;

	(void)state;
	begin(&fixture, true);
	assert_int_equal(pthread_create(&thread, NULL, call, &fixture), 0);
	names_wait_asked();
	names_say("127.0.0.1", false);
	assert_int_equal(take_code(thread), NET_OK);
}

static void calls_that_wait_for_an_address_can_be_cancelled(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	pthread_t threads[3];

	(void)state;
	names_say(NULL, true);
	begin(&fixture, true);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, call, &fixture), 0);
	names_wait_asked();
	net_client_cancel(fixture.client);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(take_code(threads[i]), NET_CANCELED);
}

static void a_peer_that_has_moved_is_found(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	struct test_server other;
	char address[64];

	(void)state;
	names_say("127.0.0.1", false);
	begin(&fixture, true);
	assert_called(&fixture);
	snprintf(address, sizeof(address), "127.0.0.2:%d", fixture.server.port);
	test_server_start(&other, address, NULL);
	test_server_stop(&fixture.server);
	fixture.serving = false;
	names_say("127.0.0.2", false);
	for (unsigned int calls = 0; !other.calls && calls < 1000; calls++) {
		CLEANUP(net_answer_deinit) struct net_answer answer = fixture_call(&fixture, "x");
	}
	assert_true(other.calls);
	net_client_destroy(TAKE(fixture.client));
	test_server_stop(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_peer_sees_the_name, names_let_go),
		cmocka_unit_test_teardown(the_certificate_is_for_the_name, names_let_go),
		cmocka_unit_test_teardown(a_name_without_an_address_is_said, names_let_go),
		cmocka_unit_test_teardown(who_waits_for_ready_waits_for_an_address, names_let_go),
		cmocka_unit_test_teardown(calls_that_wait_for_an_address_can_be_cancelled,
					  names_let_go),
		cmocka_unit_test_teardown(a_peer_that_has_moved_is_found, names_let_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
