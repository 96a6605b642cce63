// SPDX-License-Identifier: Apache-2.0
/* TLS and mTLS of a client, its files, and their reload. */
#include "certificates.h"
#include "client_fixture.h"
#include "name_server.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ca signs server (127.0.0.1, localhost) and client; "other" is nobody's authority. */
static struct certificates certificates;

static int make_certificates(void **state)
{
	(void)state;
	certificates_init(&certificates);
	certificates_found(&certificates, "ca");
	certificates_found(&certificates, "other");
	certificates_issue(&certificates, "server", "ca", "DNS:localhost,IP:127.0.0.1", 2);
	certificates_issue(&certificates, "client", "ca", "DNS:client", 2);
	certificates_issue(&certificates, "stranger", "other", "DNS:client", 2);
	certificates_issue(&certificates, "expired", "ca", "DNS:localhost,IP:127.0.0.1", -1);
	certificates_issue(&certificates, "elsewhere", "ca", "DNS:gateway.example", 2);
	return 0;
}

static int remove_certificates(void **state)
{
	(void)state;
	certificates_deinit(&certificates);
	return 0;
}

/* A server with certificate @server and a client that trusts "ca", not connected yet. */
static void secure_init(struct fixture *fixture, const char *server, const char *client_authority)
{
	fixture_init(fixture);
	fixture_serve(fixture, NULL, certificates_server(&certificates, server, client_authority));
	fixture->config.tls.insecure = false;
	fixture->config.tls.ca_file = certificates_path(&certificates, "ca.pem");
}

static void use_client_certificate(struct fixture *fixture, const char *certificate,
				   const char *key)
{
	fixture->config.tls.cert_file = certificates_path(&certificates, certificate);
	fixture->config.tls.key_file = certificates_path(&certificates, key);
}

static void assert_works(struct fixture *fixture)
{
	CLEANUP(net_answer_deinit) struct net_answer answer = fixture_call(fixture, "x");

	if (answer.code != NET_OK)
		fail_msg("%s: %s", net_code_name(answer.code), answer.message);
}

static void assert_fails(struct fixture *fixture, const char *text)
{
	CLEANUP(net_answer_deinit) struct net_answer answer = fixture_call(fixture, "x");

	assert_int_equal(answer.code, NET_UNAVAILABLE);
	assert_false(answer.from_peer);
	if (!strstr(answer.message, text))
		fail_msg("'%s' is not in '%s'", text, answer.message);
}

static void a_server_that_the_ca_vouches_for_is_trusted(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	secure_init(&fixture, "server", NULL);
	fixture_connect(&fixture);
	assert_works(&fixture);
}

static void a_ca_means_tls_even_with_insecure(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	secure_init(&fixture, "server", NULL);
	fixture.config.tls.insecure = true;
	fixture_connect(&fixture);
	assert_works(&fixture);
}

static void texts_do_instead_of_files(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP_FREE char *ca = certificates_read(&certificates, "ca.pem");
	CLEANUP_FREE char *certificate = certificates_read(&certificates, "client.pem");
	CLEANUP_FREE char *key = certificates_read(&certificates, "client.key");

	(void)state;
	secure_init(&fixture, "server", "ca");
	fixture.config.tls.ca_file = "";
	fixture.config.tls.ca_pem = ca;
	fixture.config.tls.cert_pem = certificate;
	fixture.config.tls.key_pem = key;
	fixture_connect(&fixture);
	assert_works(&fixture);
}

static void a_client_shows_its_certificate(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	secure_init(&fixture, "server", "ca");
	use_client_certificate(&fixture, "client.pem", "client.key");
	fixture_connect(&fixture);
	assert_works(&fixture);
}

static void a_missing_client_certificate_is_named(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	secure_init(&fixture, "server", "ca");
	fixture_connect(&fixture);
	assert_fails(&fixture, "the peer demands a client certificate; set tls.cert_file");
}

static void a_client_certificate_that_is_refused_is_named(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	secure_init(&fixture, "server", "ca");
	use_client_certificate(&fixture, "stranger.pem", "stranger.key");
	fixture_connect(&fixture);
	assert_fails(&fixture, "the peer refused our client certificate");
}

static void an_unknown_authority_is_named(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	secure_init(&fixture, "server", NULL);
	fixture.config.tls.ca_file = certificates_path(&certificates, "other.pem");
	fixture_connect(&fixture);
	assert_fails(&fixture, "not signed by an authority that we trust");
}

static void an_expired_certificate_is_named(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	secure_init(&fixture, "expired", NULL);
	fixture_connect(&fixture);
	assert_fails(&fixture, "the peer's certificate has expired");
}

static void a_wrong_name_is_named_and_can_be_overridden(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	secure_init(&fixture, "elsewhere", NULL);
	fixture_connect(&fixture);
	assert_fails(&fixture, "the peer's certificate is not for the name '127.0.0.1'");
	net_client_destroy(fixture.client);
	fixture.client = NULL;
	fixture.config.tls.server_name_override = "gateway.example";
	fixture_connect(&fixture);
	assert_works(&fixture);
	assert_null(test_server_header(&fixture.server, "host"));
}

static void the_name_in_authority_is_the_one_that_counts(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	secure_init(&fixture, "server", NULL);
	fixture.config.authority = "gateway.example:4317";
	fixture_connect(&fixture);
	assert_fails(&fixture, "the peer's certificate is not for the name 'gateway.example'");
	fixture_deinit(&fixture);
	secure_init(&fixture, "elsewhere", NULL);
	fixture.config.authority = "gateway.example:4317";
	fixture_connect(&fixture);
	assert_works(&fixture);
}

static void verification_can_be_skipped(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	secure_init(&fixture, "expired", NULL);
	fixture.config.tls.ca_file = "";
	fixture.config.tls.insecure_skip_verify = true;
	fixture_connect(&fixture);
	assert_works(&fixture);
}

static void a_peer_without_tls_is_named(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	fixture_serve(&fixture, NULL, NULL);
	fixture.config.tls.ca_file = certificates_path(&certificates, "ca.pem");
	fixture_connect(&fixture);
	assert_fails(&fixture, "the peer does not use TLS, but we do; set tls.insecure: true");
}

static void a_peer_with_tls_is_named(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	secure_init(&fixture, "server", NULL);
	fixture.config.tls.insecure = true;
	fixture.config.tls.ca_file = "";
	fixture_connect(&fixture);
	assert_fails(&fixture, "the peer uses TLS, but tls.insecure is true; set it to false");
}

static void https_in_front_switches_tls_on(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	char endpoint[64];

	(void)state;
	fixture_init(&fixture);
	fixture_serve(&fixture, NULL, NULL);
	snprintf(endpoint, sizeof(endpoint), "https://127.0.0.1:%d", fixture.server.port);
	fixture.config.endpoint = endpoint;
	fixture_connect(&fixture);
	assert_fails(&fixture, "the peer does not use TLS");
}

static void copy(const char *from, const char *to)
{
	char command[512];

	// Renamed into place, as those who renew certificates do.
	snprintf(command, sizeof(command), "cp %s %s.new && mv %s.new %s",
		 certificates_path(&certificates, from), certificates_path(&certificates, to),
		 certificates_path(&certificates, to), certificates_path(&certificates, to));
	assert_int_equal(system(command), 0);
}

static void changed_files_are_taken_up(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	copy("stranger.pem", "changing.pem");
	copy("stranger.key", "changing.key");
	secure_init(&fixture, "server", "ca");
	use_client_certificate(&fixture, "changing.pem", "changing.key");
	fixture.config.tls.reload_interval_ns = 1;
	fixture_connect(&fixture);
	assert_fails(&fixture, "the peer refused our client certificate");
	copy("client.key", "changing.key");
	copy("client.pem", "changing.pem");
	assert_works(&fixture);
	assert_int_equal(fixture.warnings, 0);
}

static void files_that_break_leave_those_before_in_use(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	copy("client.pem", "changing.pem");
	copy("client.key", "changing.key");
	secure_init(&fixture, "server", "ca");
	use_client_certificate(&fixture, "changing.pem", "changing.key");
	fixture.config.tls.reload_interval_ns = 1;
	fixture_connect(&fixture);
	assert_works(&fixture);
	copy("stranger.key", "changing.key");
	assert_works(&fixture);
	assert_works(&fixture);
	assert_int_equal(fixture.warnings, 1);
	assert_non_null(strstr(fixture.warning, "cannot reload the TLS files"));
	assert_non_null(strstr(fixture.warning, "changing.key"));
}

/* Teardown of tests that say where the system's authorities are: gRPC has no threads any more. */
static int forget_system_roots(void **state)
{
	(void)state;
	unsetenv("SSL_CERT_FILE");
	return 0;
}

static void what_failed_once_is_tried_again(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	copy("stranger.pem", "changing.pem");
	copy("stranger.key", "changing.key");
	copy("other.pem", "system.pem");
	// Before gRPC has threads: they read the environment.
	setenv("SSL_CERT_FILE", certificates_path(&certificates, "system.pem"), 1);
	secure_init(&fixture, "server", "ca");
	use_client_certificate(&fixture, "changing.pem", "changing.key");
	fixture.config.tls.include_system_ca_certs_pool = true;
	fixture.config.tls.reload_interval_ns = 1;
	fixture_connect(&fixture);
	copy("client.key", "changing.key");
	copy("client.pem", "changing.pem");
	assert_int_equal(unlink(certificates_path(&certificates, "system.pem")), 0);
	assert_fails(&fixture, "system.pem': No such file or directory");
	assert_fails(&fixture, "system.pem': No such file or directory");
	assert_int_equal(fixture.warnings, 1);
	// The fault was elsewhere: the changed files look as they did when they failed.
	copy("other.pem", "system.pem");
	assert_works(&fixture);
	assert_int_equal(fixture.warnings, 1);
}

static void the_systems_authorities_are_trusted_when_none_are_named(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	setenv("SSL_CERT_FILE", certificates_path(&certificates, "ca.pem"), 1);
	secure_init(&fixture, "server", NULL);
	fixture.config.tls.ca_file = "";
	fixture_connect(&fixture);
	assert_works(&fixture);
}

static void other_peers_are_not_trusted_by_the_system(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	setenv("SSL_CERT_FILE", certificates_path(&certificates, "other.pem"), 1);
	secure_init(&fixture, "server", NULL);
	fixture.config.tls.ca_file = "";
	fixture_connect(&fixture);
	assert_fails(&fixture, "not signed by an authority that we trust");
}

static void the_systems_authorities_may_come_besides_those_named(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	setenv("SSL_CERT_FILE", certificates_path(&certificates, "ca.pem"), 1);
	secure_init(&fixture, "server", NULL);
	fixture.config.tls.ca_file = certificates_path(&certificates, "other.pem");
	fixture.config.tls.include_system_ca_certs_pool = true;
	fixture_connect(&fixture);
	assert_works(&fixture);
}

/* The client is not even created, for this reason. */
static void assert_refused(struct fixture *fixture, const char *text)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = fixture_refuse(fixture);

	assert_int_equal(profcol_error_code(error), PROFCOL_CONFIG);
	if (!strstr(profcol_error_message(error), text))
		fail_msg("'%s' is not in '%s'", text, profcol_error_message(error));
}

/* The reason names the file that is at fault, not another one. */
static void assert_refused_without(struct fixture *fixture, const char *text, const char *file)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = fixture_refuse(fixture);
	const char *message = profcol_error_message(error);

	if (!strstr(message, text) || strstr(message, file))
		fail_msg("'%s' should say '%s' and not '%s'", message, text, file);
}

static void unusable_files_are_named_at_the_start(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	struct net_tls_client_config *tls = &fixture.config.tls;

	(void)state;
	secure_init(&fixture, "server", NULL);
	tls->ca_file = "/nowhere/ca.pem";
	assert_refused(&fixture, "'/nowhere/ca.pem': No such file or directory; set tls.ca_file");
	tls->ca_file = certificates_path(&certificates, "ca.key");
	assert_refused(&fixture, "holds no certificate in PEM format");
	assert_refused(&fixture, "tls.ca_file: '");
	tls->ca_file = certificates_path(&certificates, "ca.pem");
	use_client_certificate(&fixture, "client.pem", "stranger.key");
	assert_refused(&fixture, "does not belong to the certificate");
	assert_refused(&fixture, "stranger.key");
	use_client_certificate(&fixture, "client.pem", "client.pem");
	assert_refused(&fixture, "holds no private key");
	use_client_certificate(&fixture, "ca.key", "client.key");
	assert_refused_without(&fixture, "ca.key' holds no certificate", "client.key");
	use_client_certificate(&fixture, "nowhere.pem", "client.key");
	assert_refused_without(&fixture, "nowhere.pem': No such file", "client.key");
	use_client_certificate(&fixture, "client.pem", "nowhere.key");
	assert_refused(&fixture, "nowhere.key': No such file or directory; set tls.key_file");
	tls->key_file = "";
	assert_refused(&fixture, "tls.key_file: for auth via TLS, provide both");
}

static void what_grpc_cannot_do_is_refused(void **state)
{
	static const char *const suite = "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA";
	CLEANUP(fixture_deinit) struct fixture fixture;
	struct net_tls_client_config *tls = &fixture.config.tls;

	(void)state;
	fixture_init(&fixture);
	strcpy(fixture.endpoint, "localhost:4317");
	tls->min_version = "1.3";
	assert_refused(&fixture, "tls.min_version: gRPC offers TLS 1.2 and 1.3");
	tls->min_version = "1.2";
	tls->max_version = "1.2";
	assert_refused(&fixture, "tls.max_version: ");
	tls->max_version = "";
	tls->cipher_suites = (struct profcol_list){ .items = &suite, .count = 1 };
	assert_refused(&fixture, "tls.cipher_suites: gRPC chooses");
	tls->cipher_suites.count = 0;
	tls->curve_preferences = (struct profcol_list){ .items = &suite, .count = 1 };
	assert_refused(&fixture, "tls.curve_preferences: ");
	tls->curve_preferences.count = 0;
	tls->tpm.enabled = true;
	assert_refused(&fixture, "tls.tpm: ");
}

/* ---- names with a dot at their end ---- */

/* What the first connection to @listener says, up to the end of its first record. */
static void *hear_hello(void *argument)
{
	static uint8_t hello[4096];
	int *listener = argument, fd = accept4(*listener, NULL, NULL, SOCK_CLOEXEC);
	size_t length = 0;

	memset(hello, 0, sizeof(hello));
	while (fd >= 0 && (length < 5 || length < 5u + hello[3] * 256u + hello[4])) {
		ssize_t part = read(fd, hello + length, sizeof(hello) - length);

		if (part <= 0)
			break;
		length += (size_t)part;
	}
	if (fd >= 0)
		close(fd);
	return hello;
}

/* A peer written in Go ends the handshake with a client that names it so. */
static void the_dot_that_ends_a_name_is_not_said_in_tls(void **state)
{
	static const char *const addresses[] = { "127.0.0.1" };
	struct sockaddr_in own = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP_FD int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(own);
	struct name_server names;
	struct net_answer answer;
	pthread_t thread;
	void *hello;

	(void)state;
	assert_int_equal(bind(listener, (struct sockaddr *)&own, size), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&own, &size), 0);
	assert_int_equal(listen(listener, 8), 0);
	name_server_start(&names, addresses, 1);
	fixture_init(&fixture);
	snprintf(fixture.endpoint, sizeof(fixture.endpoint), "dns://%s/gw.profcol.test.:%d",
		 names.address, ntohs(own.sin_port));
	fixture.config.endpoint = fixture.endpoint;
	fixture.config.tls.insecure = false;
	fixture.config.tls.ca_file = certificates_path(&certificates, "ca.pem");
	assert_int_equal(pthread_create(&thread, NULL, hear_hello, &listener), 0);
	fixture_connect(&fixture);
	answer = fixture_call(&fixture, "x");
	net_answer_deinit(&answer);
	pthread_join(thread, &hello);
	assert_non_null(memmem(hello, 4096, "gw.profcol.test", 15));
	assert_null(memmem(hello, 4096, "gw.profcol.test.", 16));
	name_server_stop(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_that_the_ca_vouches_for_is_trusted),
		cmocka_unit_test(a_ca_means_tls_even_with_insecure),
		cmocka_unit_test(texts_do_instead_of_files),
		cmocka_unit_test(a_client_shows_its_certificate),
		cmocka_unit_test(a_missing_client_certificate_is_named),
		cmocka_unit_test(a_client_certificate_that_is_refused_is_named),
		cmocka_unit_test(an_unknown_authority_is_named),
		cmocka_unit_test(an_expired_certificate_is_named),
		cmocka_unit_test(a_wrong_name_is_named_and_can_be_overridden),
		cmocka_unit_test(the_name_in_authority_is_the_one_that_counts),
		cmocka_unit_test(verification_can_be_skipped),
		cmocka_unit_test(a_peer_without_tls_is_named),
		cmocka_unit_test(a_peer_with_tls_is_named),
		cmocka_unit_test(https_in_front_switches_tls_on),
		cmocka_unit_test(changed_files_are_taken_up),
		cmocka_unit_test(files_that_break_leave_those_before_in_use),
		cmocka_unit_test_teardown(what_failed_once_is_tried_again, forget_system_roots),
		cmocka_unit_test_teardown(the_systems_authorities_are_trusted_when_none_are_named,
					  forget_system_roots),
		cmocka_unit_test_teardown(other_peers_are_not_trusted_by_the_system,
					  forget_system_roots),
		cmocka_unit_test_teardown(the_systems_authorities_may_come_besides_those_named,
					  forget_system_roots),
		cmocka_unit_test(unusable_files_are_named_at_the_start),
		cmocka_unit_test(what_grpc_cannot_do_is_refused),
		cmocka_unit_test(the_dot_that_ends_a_name_is_not_said_in_tls),
	};

	return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
