/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between bytes and what gRPC's core carries. Private to lib/net. Pure. */
#pragma once

#include "inflate.h"

#include <grpc/byte_buffer.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * @bytes, copied, or compressed if @gzip; then the call's metadata have to say
 * `grpc-encoding: gzip`. NULL without memory. grpc_byte_buffer_destroy.
 */
grpc_byte_buffer *message_pack(const uint8_t *bytes, size_t length, bool gzip);

/*
 * The bytes of @buffer, at most @max_bytes, inflated if need be, into memory the caller frees;
 * *@bytes_ret is NULL when there are none. Takes @buffer.
 */
enum message_fault message_unpack(grpc_byte_buffer *buffer, size_t max_bytes, uint8_t **bytes_ret,
				  size_t *length_ret);
