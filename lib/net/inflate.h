/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that come compressed. Private to lib/net. Any thread. */
#pragma once

#include "base/base.h"

#include <stddef.h>
#include <stdint.h>

enum inflate_kind {
	INFLATE_NONE,
	INFLATE_GZIP, /* also several of them, one after the other */
	INFLATE_ZLIB, /* what HTTP and gRPC call deflate */
	INFLATE_ZSTD,
	INFLATE_UNKNOWN,
};

/* Returns the kind that a value of grpc-encoding or content-encoding names, in either case. */
enum inflate_kind inflate_recognize(const char *name, size_t length);

enum message_fault {
	MESSAGE_SOUND,
	MESSAGE_TOO_LARGE, /* before or after inflation */
	MESSAGE_BROKEN,    /* its compression is */
	MESSAGE_NO_MEMORY, /* now: all that there is for messages is used */
};

/* What a fault is, in a constant text. */
const char *message_fault_text(enum message_fault fault);

/*
 * @bytes, which are of @kind, into memory that the caller frees: at most @max_bytes, taken from
 * @share before they are allocated. *@bytes_ret is NULL when there are none.
 */
enum message_fault inflate_message(enum inflate_kind kind, const uint8_t *bytes, size_t length,
				   size_t max_bytes, struct memory_share *share,
				   uint8_t **bytes_ret, size_t *length_ret);
