// SPDX-License-Identifier: Apache-2.0
#include "peer_limit.h"

void peer_limit_init(struct peer_limit *limit, size_t most)
{
	*limit = (struct peer_limit){
		.most = most,
		.least = most < PEER_LIMIT_LEAST ? most : PEER_LIMIT_LEAST,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.bytes = most,
		.lowest_told = most,
		.patience = PEER_LIMIT_PATIENCE,
	};
}

void peer_limit_deinit(struct peer_limit *limit)
{
	pthread_mutex_destroy(&limit->lock);
}

size_t peer_limit_bytes(struct peer_limit *limit)
{
	size_t bytes;

	pthread_mutex_lock(&limit->lock);
	bytes = limit->bytes;
	pthread_mutex_unlock(&limit->lock);
	return bytes;
}

bool peer_limit_lower(struct peer_limit *limit, size_t refused, size_t taken, size_t *bytes_ret)
{
	size_t bytes = refused / 2;
	bool is_news = false;

	*bytes_ret = limit->least;
	if (refused <= limit->least)
		return false; // as small as they are made anyway
	if (taken > bytes && taken < refused)
		bytes = taken;
	if (bytes < limit->least)
		bytes = limit->least;
	pthread_mutex_lock(&limit->lock);
	// Another consumer may have learned it meanwhile.
	if (refused <= limit->bytes && bytes < limit->bytes) {
		limit->bytes = bytes;
		limit->taken = 0;
		is_news = bytes < limit->lowest_told;
		if (is_news)
			limit->lowest_told = bytes;
	}
	pthread_mutex_unlock(&limit->lock);
	*bytes_ret = bytes;
	return is_news;
}

void peer_limit_count(struct peer_limit *limit)
{
	pthread_mutex_lock(&limit->lock);
	if (limit->bytes < limit->most && ++limit->taken >= limit->patience) {
		limit->bytes = limit->bytes > limit->most / 2 ? limit->most : limit->bytes * 2;
		limit->taken = 0;
		if (limit->patience < PEER_LIMIT_PATIENCE_MOST)
			limit->patience *= 2;
	}
	pthread_mutex_unlock(&limit->lock);
}
