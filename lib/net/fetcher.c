// SPDX-License-Identifier: Apache-2.0
/* A fetcher takes what a peer says at a URL, as a whole. */
#include "http_peer.h"
#include "net.h"
#include "status.h"

#include "base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	FIRST_BYTES = 64 << 10,
	WORDS_MAX_BYTES = 256, /* shown of what a server says of an error */
};

struct net_fetcher {
	struct http_peer peer;
};

/* A body as it comes. */
struct collected {
	struct memory_share *share; /* borrowed */
	uint8_t *bytes;             /* owned */
	size_t length, capacity, max_bytes;
	bool is_long, no_memory;
};

static void collected_deinit(struct collected *collected)
{
	free(collected->bytes);
}

/* Room for @length in all: memory that is moved is there twice for a moment, hence the factor. */
static bool collected_reserve(struct collected *collected, size_t length)
{
	size_t grown = collected->capacity ? collected->capacity : FIRST_BYTES;
	uint8_t *bytes;

	while (grown < length)
		grown *= 2;
	if (grown == collected->capacity)
		return true;
	if (!memory_share_take(collected->share, grown))
		return false;
	bytes = realloc(collected->bytes, grown);
	if (!bytes)
		return false;
	collected->bytes = bytes;
	collected->capacity = grown;
	return true;
}

/* http_client_request.take: only of a success. */
static bool collected_take(void *context, const char *bytes, size_t length)
{
	struct collected *collected = context;

	collected->is_long = length > collected->max_bytes - collected->length;
	if (collected->is_long)
		return false;
	collected->no_memory = !collected_reserve(collected, collected->length + length);
	if (collected->no_memory)
		return false;
	memcpy(collected->bytes + collected->length, bytes, length);
	collected->length += length;
	return true;
}

static struct profcol_error *refusal(const struct http_client_response *response)
{
	CLEANUP_FREE char *words = status_copy_text(response->body, response->length);
	const char *hint =
		response->status >= 300 && response->status < 400
			? "; profcol follows no redirects: write the URL that it leads to"
			: "";

	for (size_t end = words ? strlen(words) : 0; end && words[end - 1] == ' '; end--)
		words[end - 1] = '\0';
	return profcol_error_create(PROFCOL_UNAVAILABLE, "HTTP status %d%s%s%s", response->status,
				    words && words[0] ? ": " : "", words ? words : "", hint);
}

static struct profcol_error *judge(const struct collected *collected,
				   const struct http_client_response *response)
{
	if (response->status != 200)
		return refusal(response);
	if (collected->no_memory)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory for the answer: %s",
					    memory_share_reason(collected->share));
	if (collected->is_long)
		return profcol_error_create(PROFCOL_BAD_DATA, "the answer has more than %zu bytes",
					    collected->max_bytes);
	return NULL;
}

struct profcol_error *net_fetcher_fetch(struct net_fetcher *fetcher, uint64_t deadline_ns,
					size_t max_bytes, struct memory_share *share,
					uint8_t **bytes_ret, size_t *length_ret,
					struct net_ends *ends_ret)
{
	CLEANUP(collected_deinit)
	struct collected collected = { .share = share, .max_bytes = max_bytes };
	const struct http_client_request request = {
		.deadline_ns = deadline_ns,
		.max_bytes = WORDS_MAX_BYTES,
		.take = collected_take,
		.context = &collected,
	};
	struct http_client_response response = { 0 };
	struct net_ends ends;
	struct profcol_error *error = http_peer_call(&fetcher->peer, &request, &response);

	// The client's errors name the URL themselves.
	if (error)
		return error;
	ends = (struct net_ends){ response.own_end, response.server_end };
	error = judge(&collected, &response);
	http_client_response_deinit(&response);
	if (error)
		return profcol_error_prefix(error, "'%s'", fetcher->peer.shown);
	*bytes_ret = TAKE(collected.bytes);
	*length_ret = collected.length;
	*ends_ret = ends;
	return NULL;
}

struct profcol_error *net_fetcher_create(const struct net_http_config *config, const char *url,
					 const char *version, const struct profcol_logger *logger,
					 struct net_fetcher **ret)
{
	struct net_fetcher *fetcher = calloc(1, sizeof(*fetcher));
	struct profcol_error *error;

	if (!fetcher)
		return profcol_error_errno(ENOMEM, "create the client");
	error = http_peer_init(&fetcher->peer, config, url, version, logger);
	if (error) {
		net_fetcher_destroy(fetcher);
		return error;
	}
	*ret = fetcher;
	return NULL;
}

const char *net_fetcher_url(const struct net_fetcher *fetcher)
{
	return fetcher->peer.shown;
}

void net_fetcher_cancel(struct net_fetcher *fetcher)
{
	http_peer_cancel(&fetcher->peer);
}

void net_fetcher_destroy(struct net_fetcher *fetcher)
{
	if (!fetcher)
		return;
	http_peer_deinit(&fetcher->peer);
	free(fetcher);
}
