/* SPDX-License-Identifier: Apache-2.0 */
/* Protocol Buffers put together by hand, for tests of readers. Aborts without memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct wire_bytes {
	uint8_t *bytes; /* owned */
	size_t length;
};

void wire_bytes_deinit(struct wire_bytes *bytes);
#define CLEANUP_WIRE_BYTES __attribute__((cleanup(wire_bytes_deinit)))

/* Each appends to @to. */
void wire_raw(struct wire_bytes *to, const void *bytes, size_t length);
void wire_varint(struct wire_bytes *to, uint64_t value);
void wire_number(struct wire_bytes *to, uint32_t field, uint64_t value);
void wire_fixed64(struct wire_bytes *to, uint32_t field, uint64_t value);
void wire_text(struct wire_bytes *to, uint32_t field, const char *text);

/* Append @inner as a field; takes its bytes. */
void wire_message(struct wire_bytes *to, uint32_t field, struct wire_bytes *inner);
