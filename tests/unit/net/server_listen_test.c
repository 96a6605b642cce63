// SPDX-License-Identifier: Apache-2.0
/* Where a server listens and to whom: addresses, socket files, certificates. */
#include "certificates.h"
#include "server_fixture.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static void assert_says(const struct profcol_error *error, const char *part)
{
	if (!strstr(profcol_error_message(error), part))
		fail_msg("'%s' is not in '%s'", part, profcol_error_message(error));
}

static enum net_code call(struct server_fixture *fixture)
{
	CLEANUP(net_answer_deinit)
	struct net_answer answer = server_fixture_call(fixture, fixture->endpoint, "ping", 4,
						       NET_GZIP, CALL_PATIENCE_MS);

	return answer.code;
}

/* ---- TCP ---- */

static void a_name_is_resolved_and_a_port_found(void **state)
{
	static const char *const endpoints[] = { "localhost:0", "0.0.0.0:0", ":0", "127.0.0.1:0" };

	(void)state;
	for (size_t i = 0; i < sizeof(endpoints) / sizeof(endpoints[0]); i++) {
		CLEANUP(server_fixture_deinit) struct server_fixture fixture;
		const char *port;

		server_fixture_init(&fixture);
		fixture.config.endpoint = endpoints[i];
		server_fixture_start(&fixture);
		port = strrchr(fixture.endpoint, ':');
		assert_string_not_equal(port, ":0");
		memmove(fixture.endpoint + strlen("127.0.0.1"), port, strlen(port) + 1);
		memcpy(fixture.endpoint, "127.0.0.1", strlen("127.0.0.1"));
		assert_int_equal(call(&fixture), NET_OK);
	}
}

static void a_port_in_use_is_said_so(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture first;
	CLEANUP(server_fixture_deinit) struct server_fixture second;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	(void)state;
	server_fixture_init(&first);
	server_fixture_start(&first);
	server_fixture_init(&second);
	second.config.endpoint = first.endpoint;
	error = server_fixture_refuse(&second);
	assert_int_equal(profcol_error_code(error), PROFCOL_SYSTEM);
	assert_says(error, first.endpoint);
	assert_says(error, "Address already in use; something listens there already");
}

static void an_address_of_another_machine_is_said_so(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	(void)state;
	server_fixture_init(&fixture);
	fixture.config.endpoint = "192.0.2.1:4317";
	error = server_fixture_refuse(&fixture);
	assert_int_equal(profcol_error_code(error), PROFCOL_SYSTEM);
	assert_says(error, "endpoint: cannot listen at '192.0.2.1:4317'");
	assert_says(error, "this machine does not have the address");
}

static void what_is_no_address_is_a_fault_of_the_configuration(void **state)
{
	static const struct {
		const char *endpoint, *text;
	} faults[] = {
		{ "", "requires a non-empty" },
		{ "localhost", "missing port" },
		{ "localhost:99999", "invalid port" },
		{ "http://localhost:4317", "no address to listen at" },
		{ "a b:4317", "no host name" },
		{ "unix:", "unix socket path cannot be empty" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		CLEANUP(server_fixture_deinit) struct server_fixture fixture;
		PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

		server_fixture_init(&fixture);
		fixture.config.endpoint = faults[i].endpoint;
		error = server_fixture_refuse(&fixture);
		assert_int_equal(profcol_error_code(error), PROFCOL_CONFIG);
		assert_says(error, "endpoint: ");
		assert_says(error, faults[i].text);
	}
}

/* ---- socket files ---- */

static char directory[64], path[96];

static int directory_create(void **state)
{
	(void)state;
	strcpy(directory, "/tmp/profcol-server-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/socket", directory);
	return 0;
}

static int directory_remove(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(directory);
}

static void a_socket_file_is_for_owner_and_group_and_goes_away(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	struct stat file;
	mode_t before = umask(0);

	(void)state;
	server_fixture_init(&fixture);
	fixture.config.endpoint = path;
	fixture.config.transport = NET_UNIX;
	server_fixture_start(&fixture);
	// What it needs for a moment it has to give back.
	assert_int_equal(umask(before), 0);
	assert_int_equal(call(&fixture), NET_OK);
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_mode & 0777, 0660);
	net_server_destroy(TAKE(fixture.server));
	assert_int_equal(stat(path, &file), -1);
}

static void a_stale_socket_file_is_replaced(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char endpoint[128];

	(void)state;
	strcpy(address.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
	server_fixture_init(&fixture);
	snprintf(endpoint, sizeof(endpoint), "unix://%s", path);
	fixture.config.endpoint = endpoint;
	server_fixture_start(&fixture);
	assert_int_equal(call(&fixture), NET_OK);
}

static void a_socket_that_is_in_use_is_left_alone(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture first;
	CLEANUP(server_fixture_deinit) struct server_fixture second;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	(void)state;
	server_fixture_init(&first);
	first.config.endpoint = path;
	first.config.transport = NET_UNIX;
	server_fixture_start(&first);
	server_fixture_init(&second);
	second.config = first.config;
	error = server_fixture_refuse(&second);
	assert_says(error, "Address already in use");
	assert_int_equal(call(&first), NET_OK);
}

static void another_file_is_left_alone(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	(void)state;
	close(fd);
	server_fixture_init(&fixture);
	fixture.config.endpoint = path;
	fixture.config.transport = NET_UNIX;
	error = server_fixture_refuse(&fixture);
	assert_says(error, "a file is there that is no socket");
	assert_int_equal(access(path, F_OK), 0);
}

/* ---- TLS ---- */

static struct certificates certificates;

static int certificates_make(void **state)
{
	(void)state;
	certificates_init(&certificates);
	certificates_found(&certificates, "ours");
	certificates_found(&certificates, "theirs");
	certificates_issue(&certificates, "server", "ours", "DNS:localhost,IP:127.0.0.1", 2);
	certificates_issue(&certificates, "client", "ours", "DNS:client", 2);
	certificates_issue(&certificates, "stranger", "theirs", "DNS:client", 2);
	return 0;
}

static int certificates_forget(void **state)
{
	(void)state;
	certificates_deinit(&certificates);
	return 0;
}

static void server_certify(struct server_fixture *fixture)
{
	fixture->config.tls_named = true;
	fixture->config.tls.cert_file = certificates_path(&certificates, "server.pem");
	fixture->config.tls.key_file = certificates_path(&certificates, "server.key");
}

/* A call of a client that trusts @authority and shows @certificate, if it is not NULL. */
static enum net_code call_tls(struct server_fixture *fixture, const char *authority,
			      const char *certificate, const char *key)
{
	struct net_tls_client_config tls = server_fixture_client_tls();

	tls.ca_file = certificates_path(&certificates, authority);
	if (certificate) {
		tls.cert_file = certificates_path(&certificates, certificate);
		tls.key_file = certificates_path(&certificates, key);
	}
	CLEANUP(net_answer_deinit)
	struct net_answer answer = server_fixture_call_tls(fixture, &tls);
	return answer.code;
}

static void clients_of_other_authorities_are_refused(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;

	(void)state;
	server_fixture_init(&fixture);
	server_certify(&fixture);
	fixture.config.tls.client_ca_file = certificates_path(&certificates, "ours.pem");
	server_fixture_start(&fixture);
	assert_int_equal(call_tls(&fixture, "ours.pem", "client.pem", "client.key"), NET_OK);
	assert_int_equal(call_tls(&fixture, "ours.pem", "stranger.pem", "stranger.key"),
			 NET_UNAVAILABLE);
	assert_int_equal(call_tls(&fixture, "ours.pem", NULL, NULL), NET_UNAVAILABLE);
	assert_int_equal(call(&fixture), NET_UNAVAILABLE);
	assert_int_equal(fixture.entered, 1);
}

static void changed_certificates_are_taken_up_and_broken_ones_are_not(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	int fd;

	(void)state;
	server_fixture_init(&fixture);
	server_certify(&fixture);
	fixture.config.tls.reload_interval_ns = 1;
	server_fixture_start(&fixture);
	assert_int_equal(call_tls(&fixture, "ours.pem", NULL, NULL), NET_OK);
	certificates_issue(&certificates, "server", "theirs", "IP:127.0.0.1", 2);
	assert_int_equal(call_tls(&fixture, "theirs.pem", NULL, NULL), NET_OK);
	assert_int_equal(fixture.warnings, 0);
	fd = open(fixture.config.tls.cert_file, O_WRONLY | O_TRUNC | O_CLOEXEC);
	close(fd);
	assert_int_equal(call_tls(&fixture, "theirs.pem", NULL, NULL), NET_OK);
	assert_int_equal(call_tls(&fixture, "theirs.pem", NULL, NULL), NET_OK);
	assert_int_equal(fixture.warnings, 1);
	assert_non_null(strstr(fixture.log, "going on with the old ones"));
	certificates_issue(&certificates, "server", "ours", "IP:127.0.0.1", 2);
	assert_int_equal(call_tls(&fixture, "ours.pem", NULL, NULL), NET_OK);
}

static void file_copy(const char *from, const char *to)
{
	CLEANUP_FREE char *text = certificates_read(&certificates, from);
	int fd = open(certificates_path(&certificates, to),
		      O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);

	assert_return_code(fd, errno);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void a_file_that_is_mended_with_its_old_date_is_taken_up(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	CLEANUP_FREE char *text = NULL;
	struct stat status;
	int fd;

	(void)state;
	certificates_issue(&certificates, "server", "ours", "IP:127.0.0.1", 2);
	server_fixture_init(&fixture);
	server_certify(&fixture);
	fixture.config.tls.reload_interval_ns = 1;
	server_fixture_start(&fixture);
	certificates_issue(&certificates, "server", "theirs", "IP:127.0.0.1", 2);
	text = certificates_read(&certificates, "server.key");
	fd = open(fixture.config.tls.key_file, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "#", 1, 0), 1);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(call_tls(&fixture, "ours.pem", NULL, NULL), NET_OK);
	assert_int_equal(fixture.warnings, 1);
	// As after chmod: only the time of the status change tells.
	assert_int_equal(pwrite(fd, text, 1, 0), 1);
	assert_int_equal(
		futimens(fd, (struct timespec[]){ { .tv_nsec = UTIME_OMIT }, status.st_mtim }), 0);
	close(fd);
	assert_int_equal(call_tls(&fixture, "theirs.pem", NULL, NULL), NET_OK);
	certificates_issue(&certificates, "server", "ours", "IP:127.0.0.1", 2);
}

static void a_removed_authority_goes_while_the_certificate_is_unusable(void **state)
{
	static const uint64_t intervals_ns[] = { 0, 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(intervals_ns) / sizeof(intervals_ns[0]); i++) {
		CLEANUP(server_fixture_deinit) struct server_fixture fixture;

		file_copy("ours.pem", "clients.pem");
		server_fixture_init(&fixture);
		server_certify(&fixture);
		fixture.config.tls.client_ca_file = certificates_path(&certificates, "clients.pem");
		fixture.config.tls.client_ca_file_reload = true;
		fixture.config.tls.reload_interval_ns = intervals_ns[i];
		server_fixture_start(&fixture);
		assert_int_equal(call_tls(&fixture, "ours.pem", "client.pem", "client.key"),
				 NET_OK);
		file_copy("client.key", "server.key");
		file_copy("theirs.pem", "clients.pem");
		// Authorities are looked at each second.
		for (int tries = 0; tries < 400 && call_tls(&fixture, "ours.pem", "client.pem",
							    "client.key") == NET_OK;
		     tries++)
			usleep(50000);
		assert_int_equal(call_tls(&fixture, "ours.pem", "client.pem", "client.key"),
				 NET_UNAVAILABLE);
		assert_int_equal(call_tls(&fixture, "ours.pem", "stranger.pem", "stranger.key"),
				 NET_OK);
		assert_int_equal(fixture.warnings, intervals_ns[i] ? 1 : 0);
		certificates_issue(&certificates, "server", "ours", "IP:127.0.0.1", 2);
	}
}

static void authorities_stay_unless_they_are_to_be_reloaded(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;

	(void)state;
	file_copy("ours.pem", "clients.pem");
	server_fixture_init(&fixture);
	server_certify(&fixture);
	fixture.config.tls.client_ca_file = certificates_path(&certificates, "clients.pem");
	fixture.config.tls.reload_interval_ns = 1;
	server_fixture_start(&fixture);
	assert_int_equal(unlink(fixture.config.tls.client_ca_file), 0);
	certificates_issue(&certificates, "server", "theirs", "IP:127.0.0.1", 2);
	assert_int_equal(call_tls(&fixture, "theirs.pem", "client.pem", "client.key"), NET_OK);
	file_copy("theirs.pem", "clients.pem");
	certificates_issue(&certificates, "server", "ours", "IP:127.0.0.1", 2);
	assert_int_equal(call_tls(&fixture, "ours.pem", "client.pem", "client.key"), NET_OK);
	assert_int_equal(call_tls(&fixture, "ours.pem", "stranger.pem", "stranger.key"),
			 NET_UNAVAILABLE);
	assert_int_equal(fixture.warnings, 0);
}

static void missing_certificates_are_a_fault_of_the_configuration(void **state)
{
	CLEANUP(server_fixture_deinit) struct server_fixture fixture;
	PROFCOL_CLEANUP_ERROR struct profcol_error *none = NULL, *missing = NULL, *other = NULL;

	(void)state;
	server_fixture_init(&fixture);
	fixture.config.tls_named = true;
	none = server_fixture_refuse(&fixture);
	assert_says(none, "tls.cert_file: a server needs a certificate");
	server_certify(&fixture);
	fixture.config.tls.cert_file = "/nowhere/at-all.pem";
	missing = server_fixture_refuse(&fixture);
	assert_says(missing, "/nowhere/at-all.pem");
	server_certify(&fixture);
	fixture.config.tls.key_file = certificates_path(&certificates, "client.key");
	other = server_fixture_refuse(&fixture);
	assert_says(other, "does not belong to the certificate");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_resolved_and_a_port_found),
		cmocka_unit_test(a_port_in_use_is_said_so),
		cmocka_unit_test(an_address_of_another_machine_is_said_so),
		cmocka_unit_test(what_is_no_address_is_a_fault_of_the_configuration),
		cmocka_unit_test_setup_teardown(a_socket_file_is_for_owner_and_group_and_goes_away,
						directory_create, directory_remove),
		cmocka_unit_test_setup_teardown(a_stale_socket_file_is_replaced, directory_create,
						directory_remove),
		cmocka_unit_test_setup_teardown(a_socket_that_is_in_use_is_left_alone,
						directory_create, directory_remove),
		cmocka_unit_test_setup_teardown(another_file_is_left_alone, directory_create,
						directory_remove),
		cmocka_unit_test(clients_of_other_authorities_are_refused),
		cmocka_unit_test(changed_certificates_are_taken_up_and_broken_ones_are_not),
		cmocka_unit_test(a_file_that_is_mended_with_its_old_date_is_taken_up),
		cmocka_unit_test(a_removed_authority_goes_while_the_certificate_is_unusable),
		cmocka_unit_test(authorities_stay_unless_they_are_to_be_reloaded),
		cmocka_unit_test(missing_certificates_are_a_fault_of_the_configuration),
	};

	return cmocka_run_group_tests(tests, certificates_make, certificates_forget);
}
