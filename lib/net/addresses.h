/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as gRPC's core takes them: "ipv4:10.0.0.1:4317,10.0.0.2:4317". Private to lib/net.
 * Pure. */
#pragma once

#include <stdbool.h>

struct addrinfo;

/* Print the first 64 addresses of @found. free(); NULL without any, or without memory. */
char *addresses_print(const struct addrinfo *found);

/* Are these the same ones, in whatever order? */
bool addresses_are_same(const char *first, const char *second);
