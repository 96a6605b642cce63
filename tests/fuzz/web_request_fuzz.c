// SPDX-License-Identifier: Apache-2.0
/*
 * What a client of the exporter web says: a line each for Host, Authorization and the query.
 * Without the token nobody gets in; a query is taken or refused in words.
 */
#include "exporters/web/access.h"
#include "exporters/web/parameters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const char token[] = "0123456789abcdef0123456789abcdef";

static struct access *open_access(void)
{
	static const struct profcol_list hosts;
	char path[] = "/tmp/web_request_fuzz.XXXXXX";
	struct access *access = NULL;
	int fd = mkstemp(path);

	if (fd < 0 || write(fd, token, sizeof(token) - 1) != sizeof(token) - 1 || close(fd))
		abort();
	if (access_create(path, &hosts, &access))
		abort();
	unlink(path);
	return access;
}

/* Does anything in @authorization have the token, plain or as the password in base64? */
static void check_access(struct access *access, const char *host, const char *authorization)
{
	const struct profcol_http_call call = { .host = host, .authorization = authorization };

	if (access_check(access, &call) == ACCESS_GRANTED && !strstr(authorization, token) &&
	    strncasecmp(authorization, "basic ", 6) != 0)
		abort();
}

static void check_query(const char *query)
{
	struct parameters parameters;
	struct profcol_error *error =
		parameters_init(&parameters, query, UINT64_C(1795687200000000000));

	if (error) {
		if (!profcol_error_message(error)[0])
			abort();
		profcol_error_destroy(error);
		return;
	}
	if (parameters.now.range.from_ns >= parameters.now.range.to_ns || !parameters.nodes_max ||
	    parameters.nodes_max > PARAMETERS_NODES_MAX || !parameters.seconds ||
	    parameters.seconds > PARAMETERS_SECONDS_MAX)
		abort();
	parameters_deinit(&parameters);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct access *access;
	char *text, *rest;
	const char *host, *authorization;

	if (!access)
		access = open_access();
	if (size > 8192)
		return 0;
	text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, bytes, size);
	text[size] = '\0';
	rest = text;
	host = strsep(&rest, "\n");
	authorization = rest ? strsep(&rest, "\n") : "";
	check_access(access, host, authorization);
	check_query(rest ? rest : "");
	free(text);
	return 0;
}
