/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of a channel or a server, as gRPC's core takes them. Private to lib/net. Pure. */
#pragma once

#include <grpc/grpc.h>

#include <stddef.h>
#include <stdint.h>

enum { ARGUMENTS_MAX = 24 };

struct arguments {
	grpc_arg items[ARGUMENTS_MAX];
	size_t count;
};

/* @key and @value are borrowed until the core has copied them. */
void arguments_add_int(struct arguments *arguments, const char *key, int value);
void arguments_add_text(struct arguments *arguments, const char *key, const char *value);
/* @value likewise; @vtable says how it is copied. */
void arguments_add_pointer(struct arguments *arguments, const char *key, void *value,
			   const grpc_arg_pointer_vtable *vtable);

/* Bytes to read from a socket at once, and to hold back for one write; 0 = gRPC's choice. */
void arguments_add_buffers(struct arguments *arguments, uint64_t read_bytes, uint64_t write_bytes);

/* @ns in milliseconds, rounded up. */
void arguments_add_ms(struct arguments *arguments, const char *key, uint64_t ns);
