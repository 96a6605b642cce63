/* SPDX-License-Identifier: Apache-2.0 */
/* Whether gRPC connects through an HTTP proxy. Private to lib/net. */
#pragma once

#include <stdbool.h>

/*
 * Does a proxy stand between us and @host (a name or an address without brackets)? By the
 * environment, as gRPC's core reads it: `grpc_proxy`, `https_proxy` or `http_proxy`, the first that
 * is set, has to be an http:// address; `no_grpc_proxy`, else `no_proxy`, lists the ends of names
 * that it is not used for. Any thread, while nobody changes the environment.
 */
bool proxy_is_used(const char *host);
