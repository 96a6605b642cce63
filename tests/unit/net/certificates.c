// SPDX-License-Identifier: Apache-2.0
#include "certificates.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATHS_MAX = 64 };

#define NEW_KEY "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"

__attribute__((format(printf, 1, 2))) static void run(const char *format, ...)
{
	va_list arguments;
	char command[1024];

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	if (system(command))
		fail_msg("failed: %s", command);
}

void certificates_init(struct certificates *certificates)
{
	strcpy(certificates->directory, "/tmp/profcol-certificates-XXXXXX");
	assert_non_null(mkdtemp(certificates->directory));
}

void certificates_deinit(struct certificates *certificates)
{
	run("rm -r '%s'", certificates->directory);
}

void certificates_found(const struct certificates *certificates, const char *name)
{
	run("cd '%s' && openssl req -x509 " NEW_KEY " -days 2 -subj '/CN=%s' -keyout %s.key "
	    "-out %s.pem 2>/dev/null",
	    certificates->directory, name, name, name);
}

void certificates_issue(const struct certificates *certificates, const char *name,
			const char *authority, const char *names, int days)
{
	run("cd '%s' && openssl req " NEW_KEY " -subj '/CN=%s' -keyout %s.key -out %s.csr "
	    "2>/dev/null && echo 'subjectAltName=%s' >%s.ext && openssl x509 -req -in %s.csr "
	    "-CA %s.pem -CAkey %s.key -CAcreateserial -days %d -extfile %s.ext -out %s.pem.new "
	    "2>/dev/null && mv %s.pem.new %s.pem",
	    certificates->directory, name, name, name, names, name, name, authority, authority,
	    days, name, name, name, name);
}

const char *certificates_path(const struct certificates *certificates, const char *file)
{
	static char paths[PATHS_MAX][128];
	char wanted[sizeof(paths[0])];
	size_t i = 0;

	snprintf(wanted, sizeof(wanted), "%s/%s", certificates->directory, file);
	while (paths[i][0] && strcmp(paths[i], wanted))
		i++;
	assert_in_range(i, 0, PATHS_MAX - 2);
	return strcpy(paths[i], wanted);
}

char *certificates_read(const struct certificates *certificates, const char *file)
{
	char *text = NULL;

	assert_int_equal(
		file_read(AT_FDCWD, certificates_path(certificates, file), 1 << 20, &text, NULL),
		0);
	return text;
}

grpc_server_credentials *certificates_server(const struct certificates *certificates,
					     const char *name, const char *client_authority)
{
	char file[64];
	CLEANUP_FREE char *certificate = NULL, *key = NULL, *authority = NULL;
	grpc_ssl_pem_key_cert_pair pair;

	snprintf(file, sizeof(file), "%s.pem", name);
	certificate = certificates_read(certificates, file);
	snprintf(file, sizeof(file), "%s.key", name);
	key = certificates_read(certificates, file);
	if (client_authority) {
		snprintf(file, sizeof(file), "%s.pem", client_authority);
		authority = certificates_read(certificates, file);
	}
	pair = (grpc_ssl_pem_key_cert_pair){ .private_key = key, .cert_chain = certificate };
	return grpc_ssl_server_credentials_create_ex(
		authority, &pair, 1,
		authority ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
			  : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
		NULL);
}
