/* SPDX-License-Identifier: Apache-2.0 */
/* Failures to connect that were none. Private to lib/net. Pure. */
#pragma once

#include <stdbool.h>

/*
 * Was the connection still being made when gRPC gave it up? @said is the text of an Unavailable
 * that gRPC made itself.
 *
 * gRPC 1.51, in grpc_tcp_client_create_from_prepared_fd (tcp_client_posix.cc), calls connect(),
 * then builds strings and registers the descriptor, and only then looks at errno. Where something
 * of that has overwritten EINPROGRESS (the allocator, when it looks for files that are not there),
 * a connection on its way is taken for one that has failed, "No such file or directory". So an
 * error that connect() does not have on an IP address gives it away.
 */
bool connect_fault_is_false(const char *said);
