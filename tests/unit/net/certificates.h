/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A certificate authority in a temporary directory, made by the command openssl: files NAME.pem
 * and NAME.key. One thread.
 */
#pragma once

#include <grpc/grpc_security.h>

struct certificates {
	char directory[64];
};

/* Empty. */
void certificates_init(struct certificates *certificates);
void certificates_deinit(struct certificates *certificates);

/* An authority of its own. Like the next, fails the test without openssl. */
void certificates_found(const struct certificates *certificates, const char *name);

/* A certificate @name signed by @authority for @names ("DNS:localhost,IP:127.0.0.1"), valid for
 * @days from now; negative = expired. */
void certificates_issue(const struct certificates *certificates, const char *name,
			const char *authority, const char *names, int days);

/* Path of a file in the directory; lives as long as the program. */
const char *certificates_path(const struct certificates *certificates, const char *file);

/* The file's text; free(). */
char *certificates_read(const struct certificates *certificates, const char *file);

/* Credentials of a server with certificate @name; it demands clients of @client_authority, or
 * none when that is NULL. */
grpc_server_credentials *certificates_server(const struct certificates *certificates,
					     const char *name, const char *client_authority);
