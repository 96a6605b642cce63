// SPDX-License-Identifier: Apache-2.0
/* The HTTP server inside TLS: whom it takes, and which files it does not. */
#include "certificates.h"
#include "http_client.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES "DNS:localhost,IP:127.0.0.1"

struct tls_fixture {
	struct http_fixture http;
	struct certificates certificates;
};

static int setup(void **state)
{
	static struct tls_fixture fixture;

	http_fixture_init(&fixture.http);
	certificates_init(&fixture.certificates);
	certificates_found(&fixture.certificates, "ca");
	certificates_issue(&fixture.certificates, "server", "ca", NAMES, 2);
	fixture.http.settings.cert_file = certificates_path(&fixture.certificates, "server.pem");
	fixture.http.settings.key_file = certificates_path(&fixture.certificates, "server.key");
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	struct tls_fixture *fixture = *state;

	http_fixture_deinit(&fixture->http);
	certificates_deinit(&fixture->certificates);
	return 0;
}

/* What a client trusts and shows. */
struct tls_client {
	const char *authority;   /* name of the authority of the server */
	const char *certificate; /* name of its own; NULL = none */
	int version;             /* the only one it speaks; 0 = any */
};

static SSL_CTX *create_context(const struct tls_fixture *fixture, const struct tls_client *client)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	char file[64];

	assert_non_null(context);
	snprintf(file, sizeof(file), "%s.pem", client->authority);
	assert_int_equal(
		SSL_CTX_load_verify_file(context, certificates_path(&fixture->certificates, file)),
		1);
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_min_proto_version(context, client->version);
	SSL_CTX_set_max_proto_version(context, client->version);
	if (!client->certificate)
		return context;
	snprintf(file, sizeof(file), "%s.pem", client->certificate);
	assert_int_equal(
		SSL_CTX_use_certificate_file(
			context, certificates_path(&fixture->certificates, file), SSL_FILETYPE_PEM),
		1);
	snprintf(file, sizeof(file), "%s.key", client->certificate);
	assert_int_equal(
		SSL_CTX_use_PrivateKey_file(
			context, certificates_path(&fixture->certificates, file), SSL_FILETYPE_PEM),
		1);
	return context;
}

/* The bytes of the reply to a request for @path; 0 when there is none. */
static size_t ask(const struct tls_fixture *fixture, const struct tls_client *client,
		  const char *path, char *start, size_t size)
{
	SSL_CTX *context = create_context(fixture, client);
	SSL *tls = SSL_new(context);
	CLEANUP_FD int fd = http_client_connect(&fixture->http);
	char request[128];
	static char bytes[1 << 16];
	size_t length = 0;
	int got;

	start[0] = '\0';
	assert_non_null(tls);
	SSL_set_fd(tls, fd);
	SSL_set1_host(tls, "localhost");
	snprintf(request, sizeof(request),
		 "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path);
	if (SSL_connect(tls) == 1 && SSL_write(tls, request, (int)strlen(request)) > 0) {
		while ((got = SSL_read(tls, bytes, sizeof(bytes))) > 0) {
			if (!length)
				snprintf(start, size, "%.*s", got, bytes);
			length += (size_t)got;
		}
		// The end was said inside TLS, not by cutting the connection.
		if (length)
			assert_int_equal(SSL_get_error(tls, got), SSL_ERROR_ZERO_RETURN);
	}
	SSL_free(tls);
	SSL_CTX_free(context);
	return length;
}

static int ask_status(const struct tls_fixture *fixture, const struct tls_client *client)
{
	char start[256];

	return ask(fixture, client, "/", start, sizeof(start)) ? http_reply_status(start) : 0;
}

static const struct tls_client anyone = { .authority = "ca" };

static void pages_come_through_tls(void **state)
{
	struct tls_fixture *fixture = *state;
	char start[256];

	http_fixture_open(&fixture->http);
	assert_int_equal(ask_status(fixture, &anyone), 200);
	assert_true(ask(fixture, &anyone, "/big", start, sizeof(start)) > BIG_PAGE_BYTES);
	assert_int_equal(http_reply_status(start), 200);
}

static void plain_text_gets_no_page(void **state)
{
	struct tls_fixture *fixture = *state;

	http_fixture_open(&fixture->http);
	assert_int_equal(http_client_status(&fixture->http, "GET / HTTP/1.0\r\n\r\n"), 0);
	assert_int_equal(fixture->http.handled, 0);
	assert_int_equal(ask_status(fixture, &anyone), 200);
}

static void versions_are_as_configured(void **state)
{
	static const struct tls_client old = { .authority = "ca", .version = TLS1_2_VERSION };
	static const struct tls_client young = { .authority = "ca", .version = TLS1_3_VERSION };
	struct tls_fixture *fixture = *state;

	http_fixture_open(&fixture->http);
	assert_int_equal(ask_status(fixture, &old), 200);
	assert_int_equal(ask_status(fixture, &young), 200);
	http_fixture_close(&fixture->http);
	fixture->http.settings.min_version = "1.3";
	http_fixture_open(&fixture->http);
	assert_int_equal(ask_status(fixture, &old), 0);
	assert_int_equal(ask_status(fixture, &young), 200);
	http_fixture_close(&fixture->http);
	fixture->http.settings.min_version = "1.2";
	fixture->http.settings.max_version = "1.2";
	http_fixture_open(&fixture->http);
	assert_int_equal(ask_status(fixture, &old), 200);
	assert_int_equal(ask_status(fixture, &young), 0);
}

static void clients_have_to_show_a_certificate_of_the_authority(void **state)
{
	static const struct tls_client known = { .authority = "ca", .certificate = "known" };
	static const struct tls_client stranger = { .authority = "ca", .certificate = "stranger" };
	struct tls_fixture *fixture = *state;

	certificates_found(&fixture->certificates, "clients");
	certificates_issue(&fixture->certificates, "known", "clients", "DNS:known", 2);
	certificates_found(&fixture->certificates, "others");
	certificates_issue(&fixture->certificates, "stranger", "others", "DNS:known", 2);
	fixture->http.settings.client_ca_file =
		certificates_path(&fixture->certificates, "clients.pem");
	http_fixture_open(&fixture->http);
	assert_int_equal(ask_status(fixture, &known), 200);
	assert_int_equal(ask_status(fixture, &stranger), 0);
	assert_int_equal(ask_status(fixture, &anyone), 0);
	assert_int_equal(fixture->http.handled, 1);
}

static void changed_files_are_taken_up(void **state)
{
	static const struct tls_client of_new = { .authority = "new" };
	struct tls_fixture *fixture = *state;

	fixture->http.settings.reload_interval_ns = 1;
	http_fixture_open(&fixture->http);
	assert_int_equal(ask_status(fixture, &anyone), 200);
	certificates_found(&fixture->certificates, "new");
	certificates_issue(&fixture->certificates, "server", "new", NAMES, 2);
	assert_int_equal(ask_status(fixture, &of_new), 200);
	// What cannot be used is not.
	assert_int_equal(truncate(certificates_path(&fixture->certificates, "server.pem"), 10), 0);
	assert_int_equal(ask_status(fixture, &of_new), 200);
}

static void changed_authorities_are_taken_up_with_them(void **state)
{
	static const struct tls_client known = { .authority = "ca", .certificate = "known" };
	struct tls_fixture *fixture = *state;

	certificates_found(&fixture->certificates, "clients");
	certificates_issue(&fixture->certificates, "known", "clients", "DNS:known", 2);
	fixture->http.settings.client_ca_file =
		certificates_path(&fixture->certificates, "clients.pem");
	fixture->http.settings.reload_interval_ns = 1;
	http_fixture_open(&fixture->http);
	assert_int_equal(ask_status(fixture, &known), 200);
	certificates_found(&fixture->certificates, "clients");
	assert_int_equal(ask_status(fixture, &known), 0);
	certificates_issue(&fixture->certificates, "known", "clients", "DNS:known", 2);
	assert_int_equal(ask_status(fixture, &known), 200);
}

static void without_an_interval_files_are_read_once(void **state)
{
	struct tls_fixture *fixture = *state;

	http_fixture_open(&fixture->http);
	certificates_found(&fixture->certificates, "new");
	certificates_issue(&fixture->certificates, "server", "new", NAMES, 2);
	assert_int_equal(ask_status(fixture, &anyone), 200);
}

static void texts_do_as_well_as_files(void **state)
{
	struct tls_fixture *fixture = *state;
	CLEANUP_FREE char *certificate = certificates_read(&fixture->certificates, "server.pem");
	CLEANUP_FREE char *key = certificates_read(&fixture->certificates, "server.key");

	fixture->http.settings.cert_file = fixture->http.settings.key_file = "";
	fixture->http.settings.cert_pem = certificate;
	fixture->http.settings.key_pem = key;
	http_fixture_open(&fixture->http);
	assert_int_equal(ask_status(fixture, &anyone), 200);
	fixture->http.settings.cert_pem = fixture->http.settings.key_pem = NULL;
}

static void unusable_files_are_named(void **state)
{
	struct tls_fixture *fixture = *state;
	const struct certificates *certificates = &fixture->certificates;
	const char *pem = certificates_path(certificates, "server.pem");
	const char *key = certificates_path(certificates, "server.key");
	const char *other = certificates_path(certificates, "ca.key");
	const struct {
		const char *cert_file, *key_file, *client_ca_file;
		const char *key, *file, *message;
	} cases[] = {
		{ "/nowhere.pem", key, NULL, "tls.cert_file: cannot read ", "/nowhere.pem",
		  "No such file or directory" },
		{ pem, "/nowhere.key", NULL, "tls.key_file: cannot read ", "/nowhere.key",
		  "No such file or directory" },
		{ pem, key, "/nowhere.ca", "tls.client_ca_file: cannot read ", "/nowhere.ca",
		  "No such file or directory" },
		{ key, key, NULL, "tls.cert_file: ", key, "holds no certificate" },
		{ pem, pem, NULL, "tls.key_file: ", pem, "holds no private key" },
		{ pem, other, NULL, "tls.key_file: ", other, "does not belong to" },
		{ pem, key, key, "tls.client_ca_file: ", key, "holds no certificate" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
		struct profcol_http_settings settings = fixture->http.settings;
		char start[512];

		settings.cert_file = cases[i].cert_file;
		settings.key_file = cases[i].key_file;
		settings.client_ca_file = cases[i].client_ca_file;
		error = http_server_open(fixture->http.server, &settings, &fixture->http.listener);
		assert_non_null(error);
		assert_int_equal(profcol_error_code(error), PROFCOL_CONFIG);
		snprintf(start, sizeof(start), "%s'%s'", cases[i].key, cases[i].file);
		if (strncmp(profcol_error_message(error), start, strlen(start)) != 0 ||
		    !strstr(profcol_error_message(error), cases[i].message))
			fail_msg("'%s' should begin with '%s' and say '%s'",
				 profcol_error_message(error), start, cases[i].message);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pages_come_through_tls),
		TEST(plain_text_gets_no_page),
		TEST(versions_are_as_configured),
		TEST(clients_have_to_show_a_certificate_of_the_authority),
		TEST(changed_files_are_taken_up),
		TEST(changed_authorities_are_taken_up_with_them),
		TEST(without_an_interval_files_are_read_once),
		TEST(texts_do_as_well_as_files),
		TEST(unusable_files_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
