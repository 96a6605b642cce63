/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as the Collector's configurations write them. Private to lib/net. Pure. */
#pragma once

#include <profcol/errors.h>

#include <stdbool.h>

struct endpoint {
	char *target;      /* owned: as gRPC's core takes it, "dns:///host:port" or "unix:/path" */
	char *host;        /* owned; NULL for a unix socket; without brackets */
	char *server_name; /* owned; NULL for a unix socket: `host` as TLS has it, without the dot
			    * at the end of a name that is complete */
	char *port;        /* owned; NULL for a unix socket */
	char *path;        /* owned; of a unix socket, else NULL */
	char *name_server; /* owned: ADDRESS:PORT that is asked for `host`; NULL = the system's */
	bool forces_tls;   /* it began with https:// */
};

/* Parse @text. CONFIG, starting with "endpoint: ", when it is none. On success, the caller's. */
PROFCOL_MUST_CHECK struct profcol_error *endpoint_init(struct endpoint *endpoint, const char *text);

/*
 * The same of an address to listen at: the port may be 0, the host empty (all addresses). With
 * @is_unix, @text is a path. The target has no meaning.
 */
PROFCOL_MUST_CHECK struct profcol_error *endpoint_init_listening(struct endpoint *endpoint,
								 const char *text, bool is_unix);
void endpoint_deinit(struct endpoint *endpoint);
