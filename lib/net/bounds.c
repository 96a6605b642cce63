// SPDX-License-Identifier: Apache-2.0
#include "server.h"

#define MIB       ((uint64_t)1 << 20)
#define SECOND_NS UINT64_C(1000000000)

enum {
	/* Memory for which a server has one of each: a connection with TLS takes some 64 KiB, a
	 * call that waits up to HEAD_MAX_BYTES and FIRST_BYTES. */
	MEMORY_OF_CONNECTION = 128 << 10,
	MEMORY_OF_CALL = 256 << 10,
	CONNECTIONS_LEAST = 128,
	CALLS_LEAST = 128,
	CALLS_MOST = 4096,
	ROOM_CALLS = 64,
	ROOM_MIB_LEAST = 8,
	ROOM_MIB_MOST = 256,
};

static uint64_t clamp(uint64_t value, uint64_t least, uint64_t most)
{
	return value < least ? least : value > most ? most : value;
}

struct server_bounds bounds_choose(uint64_t memory_bytes, size_t message_bytes)
{
	struct server_bounds bounds = { .message_bytes = message_bytes };

	bounds.connections =
		clamp(memory_bytes / MEMORY_OF_CONNECTION, CONNECTIONS_LEAST, NET_CONNECTIONS_MOST);
	bounds.connections_of_peer = bounds.connections / 2;
	bounds.calls = clamp(memory_bytes / MEMORY_OF_CALL, CALLS_LEAST, CALLS_MOST);
	bounds.calls_of_peer = bounds.calls / 2;
	bounds.room_bytes = clamp(memory_bytes / 8, ROOM_MIB_LEAST * MIB, ROOM_MIB_MOST * MIB);
	// However large the largest message may be: most are far smaller, and their bytes are
	// counted.
	bounds.room_calls = ROOM_CALLS;
	return bounds;
}

bool tokens_take(struct tokens *tokens, uint32_t wanted, uint32_t a_second, uint32_t most,
		 uint64_t now_ns)
{
	uint64_t earned;

	if (!tokens->at_ns)
		*tokens = (struct tokens){ .at_ns = now_ns, .left = most };
	// No product of these overflows: a second earns less than 2^32.
	if (now_ns - tokens->at_ns >= SECOND_NS) {
		earned = (now_ns - tokens->at_ns) / SECOND_NS * a_second;
		tokens->at_ns += (now_ns - tokens->at_ns) / SECOND_NS * SECOND_NS;
		tokens->left =
			earned >= most - tokens->left ? most : tokens->left + (uint32_t)earned;
	}
	if (tokens->left < wanted) {
		tokens->left = 0;
		return false;
	}
	tokens->left -= wanted;
	return true;
}
