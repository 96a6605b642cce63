/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How large requests may be: as the options say, or less where the peer has called that too
 * large. Since its limit may be raised, and since one odd refusal must not make requests small
 * for ever, larger ones are tried again after many small ones: twice as many each time that
 * was in vain. Private to the folder. Any thread.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/* Batches are never split into less beforehand: overhead would be most of a request. */
	PEER_LIMIT_LEAST = 64 << 10,
	PEER_LIMIT_PATIENCE = 256, /* requests before the first such try */
	PEER_LIMIT_PATIENCE_MOST = 1 << 16,
};

struct peer_limit {
	size_t most, least; /* bytes */

	pthread_mutex_t lock; /* guards what follows */
	size_t bytes;
	size_t lowest_told; /* to the user */
	uint32_t taken;     /* requests since `bytes` was changed, while it is not `most` */
	uint32_t patience;
};

void peer_limit_init(struct peer_limit *limit, size_t most);
void peer_limit_deinit(struct peer_limit *limit);

size_t peer_limit_bytes(struct peer_limit *limit);

/*
 * The peer refused @refused bytes, and took @taken. *@bytes_ret is the new limit. True when
 * that is news for the user; never for a request that is smaller than the least.
 */
bool peer_limit_lower(struct peer_limit *limit, size_t refused, size_t taken, size_t *bytes_ret);

/* The peer took a request that it had not refused before. */
void peer_limit_count(struct peer_limit *limit);
